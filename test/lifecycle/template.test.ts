import type { PodTemplate } from '../../src/cluster/objects.ts'
import { isFollowedChange, isSameTemplate } from '../../src/lifecycle/workloads/template.ts'
import { make } from '../kit/objects.ts'

function withApp(container: object, rest: object = {}): PodTemplate {
  return make.template({ containers: [make.container(container)], ...rest })
}

const web = make.template()

describe('two templates are the same', () => {
  it.each<[string, unknown, boolean]>([
    ['but for the hash label of the controller', make.template({}, { 'pod-template-hash': '68889' }), true],
    ['where a field is empty in one and absent in the other', withApp({ env: [], resources: {}, command: null }), true],
    [
      'also in another order of their fields',
      { spec: web.spec, metadata: { creationTimestamp: null, labels: web.metadata?.labels } },
      true,
    ],
    ['but not with another label', make.template({}, { tier: 'front' }), false],
    ['but not with another image', withApp({ image: 'acme/web:v2' }), false],
    [
      'but not with one container more',
      make.template({ containers: [make.container(), make.container({ name: 'b' })] }),
      false,
    ],
    ['but not with the elements of a list in another order', withApp({ args: ['b', 'a'] }), false],
  ])('%s', (_, other, same) => {
    expect(isSameTemplate(web, other as PodTemplate)).toBe(same)
    expect(isSameTemplate(other as PodTemplate, web)).toBe(same)
  })

  it('if an element of a list is empty, only with the same number of elements', () => {
    expect(isSameTemplate(withApp({ args: [''] }), withApp({ args: [] }))).toBe(false)
  })

  it('if both are absent', () => {
    expect(isSameTemplate(undefined, {})).toBe(true)
  })
})

describe('a template that is no pod template', () => {
  const changed = (a: unknown, b: unknown) => isFollowedChange(a as PodTemplate, b as PodTemplate)

  it('is followed by its metadata alone', () => {
    const sealed = { metadata: { name: 'a' }, data: { password: '1' } }
    expect(changed(sealed, { ...sealed, metadata: { name: 'b' } })).toBe(true)
    expect(changed(sealed, { ...sealed, data: { password: '2' } })).toBe(false)
  })
})

describe('a later template is followed', () => {
  const before = withApp({ env: [{ name: 'A', value: '1' }] })
  const annotated = (annotations: Record<string, string>) => ({
    ...before,
    metadata: { ...before.metadata, annotations },
  })

  it.each<[string, PodTemplate, boolean]>([
    ['with an annotation (rollout restart)', annotated({ 'kubectl.kubernetes.io/restartedAt': 'now' }), true],
    ['with another label', make.template(before.spec, { stage: 'b' }), true],
    [
      'with an added variable (Reloader)',
      withApp({
        env: [
          { name: 'A', value: '1' },
          { name: 'HASH', value: 'x' },
        ],
      }),
      true,
    ],
    [
      'with the variables in another order',
      withApp({
        env: [
          { name: 'HASH', value: 'x' },
          { name: 'A', value: '1' },
        ],
      }),
      true,
    ],
    ['not with a changed variable', withApp({ env: [{ name: 'A', value: '2' }] }), false],
    ['not without a variable', withApp({}), false],
    ['not with another image', withApp({ env: [{ name: 'A', value: '1' }], image: 'acme/web:v2' }), false],
    [
      'not with another setting of the pod',
      withApp({ env: [{ name: 'A', value: '1' }] }, { serviceAccountName: 'x' }),
      false,
    ],
    [
      'not with another container',
      make.template({ ...before.spec, initContainers: [make.container({ name: 'i' })] }),
      false,
    ],
  ])('%s', (_, after, followed) => {
    expect(isFollowedChange(before, after)).toBe(followed)
  })

  it('not when one container of several lost a variable', () => {
    const two = (env: object[]) =>
      make.template({ containers: [make.container(), make.container({ name: 'b', env: env as never })] })
    expect(isFollowedChange(two([{ name: 'A', value: '1' }]), two([]))).toBe(false)
  })

  it('also with an added variable of an init container', () => {
    const init = (env: object[]) =>
      make.template({ initContainers: [make.container({ name: 'i', env: env as never })] })
    expect(isFollowedChange(init([]), init([{ name: 'HASH', value: 'x' }]))).toBe(true)
  })
})
