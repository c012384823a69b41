import fc from 'fast-check'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { findEntries, loadCatalogue } from '../../src/lifecycle/custom/catalogue.ts'
import { catalogueFiles } from '../../src/lifecycle/custom/catalogue-files.ts'
import { targetRule } from '../../src/lifecycle/rules.ts'
import type { WaitFor } from '../../src/plan/target.ts'
import { messageOf } from '../../src/reasons/reasons.ts'
import { read } from '../kit/rule.ts'
import { runs } from '../support/thorough.ts'

/** Names and words that rules look for: with random ones only, no rule would read further. */
const names = [
  ...['conditions', 'observedGeneration', 'phase', 'state', 'health', 'replicas', 'readyReplicas', 'ready', 'desired'],
  ...['type', 'status', 'reason', 'message', 'lastTransitionTime', 'parents', 'parentRef', 'parentRefs', 'listeners'],
  ...['name', 'addresses', 'controllerName', 'suspend', 'paused', 'rules', 'backendRefs', 'components', 'nodes', 'url'],
]
const words = ['Ready', 'Accepted', 'Programmed', 'Stalled', 'True', 'False', 'Failed', 'Running', 'Pending', '7', '']

const scalar = fc.oneof(fc.constantFrom(...words), fc.constantFrom(null, true, false, 0, 3, -1, '2026-01-01T00:00:00Z'))
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...names), tie('value'), { maxKeys: 5, noNullPrototype: true }),
  ),
}))

const waitFors: readonly (WaitFor | undefined)[] = [
  undefined,
  { type: 'condition', condition: 'Ready', status: 'True' },
  { type: 'jsonpath', path: '{.status.phase}', value: 'Running' },
  { type: 'jsonpath', path: '{.status.conditions[?(@.type=="Ready")].status}' },
  { type: 'create' },
  { type: 'delete' },
]

/** Kinds whose fields no built-in schema guarantees. */
const customKinds = [
  ['example.com/v1', 'Widget'],
  ['gateway.networking.k8s.io/v1', 'Gateway'],
  ['gateway.networking.k8s.io/v1', 'HTTPRoute'],
  ['source.toolkit.fluxcd.io/v1', 'HelmRepository'],
] as const

// The schema of a CustomResourceDefinition may permit any field.
test('a custom resource with any spec and status gets an assessment with a message', async () => {
  const entries = (await Promise.all(catalogueFiles.map((file) => file.load()))).flat()
  const listed = entries.map(({ group, kind }) => ({
    apiVersion: `${group.replace('*', 'x')}/v1`,
    kind: kind === '*' ? 'Any' : kind,
  }))
  expect((await findEntries(listed)).length).toBeGreaterThan(20)
  const catalogue = await loadCatalogue(listed)
  const kinds = [...customKinds.map(([apiVersion, kind]) => ({ apiVersion, kind })), ...listed]
  const object = fc.record({
    identity: fc.constantFrom(...kinds),
    spec: value,
    status: fc.oneof(value, fc.record({ conditions: value, observedGeneration: value, parents: value, phase: value })),
    waitFor: fc.constantFrom(...waitFors),
  })
  const [apiVersion, kind] = customKinds[2]
  const unnamedParents = [{}, { name: [{}] }].map((parentRef) => ({
    identity: { apiVersion, kind },
    spec: { parentRefs: [parentRef] },
    status: 'Ready',
    waitFor: undefined,
  }))
  fc.assert(
    fc.property(object, ({ identity, spec, status, waitFor }) => {
      const metadata = { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 2, resourceVersion: '1' }
      const custom = { ...identity, metadata, spec, status } as KubeObject
      const rule = targetRule({ ...identity, namespace: 'shop', name: 'w', clocks: {}, waitFor }, { catalogue })
      const { status: result, message, problems } = read({ now: 0 }, rule, custom)
      expect(['ready', 'progressing', 'failed']).toContain(result)
      for (const text of [message, ...problems.map(messageOf)]) expect(text).not.toMatch(/undefined|\[object|NaN|^$/)
    }),
    {
      ...runs(300),
      examples: unnamedParents.map((example): [typeof example] => [example]),
    },
  )
})
