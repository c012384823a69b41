import type { PodTemplate } from '../../src/cluster/objects.ts'
import { hasOnlyToolChanges, isSameTemplate } from '../../src/lifecycle/workloads/template.ts'
import { make } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'

function withApp(container: object): PodTemplate {
  return make.template({ containers: [make.container(container)] })
}

const data = import.meta.filename.replace('.test.ts', '.yaml')
const web = make.template()

describe('two templates are the same', () => {
  it.each(rows<[string, PodTemplate, boolean]>(data, 'two templates are the same'))('%s', (_, other, same) => {
    expect(isSameTemplate(web, other)).toBe(same)
    expect(isSameTemplate(other, web)).toBe(same)
  })

  it('but not with the elements of a list in another order', () => {
    expect(isSameTemplate(withApp({ args: ['a', 'b'] }), withApp({ args: ['b', 'a'] }))).toBe(false)
  })

  it('if an element of a list is empty, only with the same number of elements', () => {
    expect(isSameTemplate(withApp({ args: [''] }), withApp({ args: [] }))).toBe(false)
  })

  it('if both are absent', () => {
    expect(isSameTemplate(undefined, {})).toBe(true)
  })
})

describe('a template that is no pod template', () => {
  const changed = (a: unknown, b: unknown) => hasOnlyToolChanges(a as PodTemplate, b as PodTemplate)

  it('is followed by its metadata alone', () => {
    const sealed = { metadata: { name: 'a' }, data: { password: '1' } }
    expect(changed(sealed, { ...sealed, metadata: { name: 'b' } })).toBe(true)
    expect(changed(sealed, { ...sealed, data: { password: '2' } })).toBe(false)
  })
})

describe('a later template is followed', () => {
  const before = withApp({ env: [{ name: 'A', value: '1' }] })

  it.each(rows<[string, PodTemplate, boolean]>(data, 'a later template is followed'))('%s', (_, after, followed) => {
    expect(hasOnlyToolChanges(before, after)).toBe(followed)
  })

  it('not when one container of several lost a variable', () => {
    const two = (env: object[]) =>
      make.template({ containers: [make.container(), make.container({ name: 'b', env: env as never })] })
    expect(hasOnlyToolChanges(two([{ name: 'A', value: '1' }]), two([]))).toBe(false)
  })

  it('also with an added variable of an init container', () => {
    const init = (env: object[]) =>
      make.template({ initContainers: [make.container({ name: 'i', env: env as never })] })
    expect(hasOnlyToolChanges(init([]), init([{ name: 'HASH', value: 'x' }]))).toBe(true)
  })
})
