import type { PodTemplate } from '../../src/cluster/objects.ts'
import { hasOnlyToolChanges, isSameTemplate } from '../../src/lifecycle/workloads/pod-template.ts'
import { make } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'

function withApp(container: object): PodTemplate {
  return make.template({ containers: [make.container(container)] })
}

const data = import.meta.filename.replace('.test.ts', '.yaml')
const web = make.template()

describe('two templates', () => {
  it.each(rows<[string, PodTemplate, boolean]>(data, 'two templates'))('%s', (_, other, same) => {
    expect(isSameTemplate(web, other)).toBe(same)
    expect(isSameTemplate(other, web)).toBe(same)
  })

  it('differ if the elements of a list have another order', () => {
    expect(isSameTemplate(withApp({ args: ['a', 'b'] }), withApp({ args: ['b', 'a'] }))).toBe(false)
  })

  it('differ if one list has an empty element and the other has none', () => {
    expect(isSameTemplate(withApp({ args: [''] }), withApp({ args: [] }))).toBe(false)
  })

  it('are the same if both are absent', () => {
    expect(isSameTemplate(undefined, {})).toBe(true)
  })
})

describe('a template that is not a pod template', () => {
  const changed = (a: unknown, b: unknown) => hasOnlyToolChanges(a as PodTemplate, b as PodTemplate)

  it('is followed if only its metadata changes', () => {
    const sealed = { metadata: { name: 'a' }, data: { password: '1' } }
    expect(changed(sealed, { ...sealed, metadata: { name: 'b' } })).toBe(true)
    expect(changed(sealed, { ...sealed, data: { password: '2' } })).toBe(false)
  })
})

describe('a later pod template', () => {
  const before = withApp({ env: [{ name: 'A', value: '1' }] })

  it.each(rows<[string, PodTemplate, boolean]>(data, 'a later pod template'))('%s', (_, after, followed) => {
    expect(hasOnlyToolChanges(before, after)).toBe(followed)
  })

  it('is not followed if one of several containers lost a variable', () => {
    const two = (env: object[]) =>
      make.template({ containers: [make.container(), make.container({ name: 'b', env: env as never })] })
    expect(hasOnlyToolChanges(two([{ name: 'A', value: '1' }]), two([]))).toBe(false)
  })

  it('is followed if a variable was added to an init container', () => {
    const init = (env: object[]) =>
      make.template({ initContainers: [make.container({ name: 'i', env: env as never })] })
    expect(hasOnlyToolChanges(init([]), init([{ name: 'HASH', value: 'x' }]))).toBe(true)
  })
})
