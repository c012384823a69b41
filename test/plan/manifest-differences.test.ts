import type { KubeObject } from '../../src/cluster/objects.ts'
import { createRedactor } from '../../src/cluster/redact.ts'
import { describeDifference, findDifferences, normalizeManifest } from '../../src/plan/manifest-differences.ts'
import type { ManifestObject } from '../../src/plan/target.ts'

const redact = createRedactor()

/** The differences of a live object from its manifest, as sentences. `of`: the fields that both have. */
function differencesOf(
  manifest: object,
  live: object,
  of: object = { apiVersion: 'example.com/v1', kind: 'Thing' },
): string[] {
  const ours = { metadata: { name: 'a' }, ...of, ...manifest } as ManifestObject
  const theirs = { metadata: { name: 'a' }, ...of, ...live } as KubeObject
  const stripped = redact(normalizeManifest(ours) as unknown as KubeObject) as unknown as ManifestObject
  return findDifferences(stripped, redact(theirs)).map(describeDifference)
}

const inSpec = (ours: unknown, theirs: unknown) => differencesOf({ spec: { x: ours } }, { spec: { x: theirs } })
const inContainer = (ours: object, theirs: object) =>
  differencesOf(
    { spec: { containers: [{ name: 'app', ...ours }] } },
    { spec: { containers: [{ name: 'proxy' }, { name: 'app', ...theirs }] } },
  )

const same: [why: string, ours: unknown, theirs: unknown][] = [
  ['when the server added fields', { a: 1 }, { a: 1, b: 2 }],
  ['when the field is null', null, 'x'],
  ['when an empty text is left out', '', undefined],
  ['when the server fills in what is empty', '', '10.0.0.1'],
  ['when an empty object is left out', {}, undefined],
  ['when an empty object is filled with defaults', {}, { type: 'RollingUpdate' }],
  ['when an object of nothing is left out', { hostNetwork: false, a: [], b: { c: '' } }, undefined],
  ['when an empty list is left out', [], undefined],
  ['when false is left out', false, undefined],
  ['when 0 is left out', 0, undefined],
  ['in milli units', '1000m', '1'],
  ['in a number for a quantity', 1, '1'],
  ['in a fraction for a quantity', 0.5, '500m'],
  ['in binary units', '1Gi', '1024Mi'],
  ['in decimal units', '1e3', '1k'],
  ['in a fraction of binary units', '1.5Gi', '1536Mi'],
  ['in an integer for a string', 80, '80'],
  ['in a string for an integer', '80', 80],
  ['in a duration', '60m', '1h0m0s'],
  ['in a moment', '2024-01-01T01:00:00+01:00', '2024-01-01T00:00:00Z'],
  ['in another order of named elements', [{ name: 'a' }, { name: 'b' }], [{ name: 'b' }, { name: 'a' }]],
  ['with more named elements', [{ name: 'a' }], [{ name: 'injected' }, { name: 'a' }]],
  ['with more elements without a name', [{ key: 'a' }], [{ key: 'x' }, { key: 'a', effect: 'NoSchedule' }]],
  ['in a port with the default protocol', [{ containerPort: 80 }], [{ containerPort: 80, protocol: 'TCP' }]],
  [
    'in one port with two protocols',
    [{ port: 53, protocol: 'UDP' }, { port: 53 }],
    [
      { port: 53, protocol: 'TCP' },
      { port: 53, protocol: 'UDP' },
    ],
  ],
  [
    'in elements of which two have the same name',
    [
      { name: 'a', v: 1 },
      { name: 'a', v: 2 },
    ],
    [
      { name: 'a', v: 1 },
      { name: 'a', v: 2 },
    ],
  ],
  [
    'when the certificate is filled in',
    [{ name: 'a', clientConfig: { caBundle: 'Cg==' } }],
    [{ name: 'a', clientConfig: { caBundle: 'LS0t' } }],
  ],
]
it.each(same)('a live object matches its manifest %s', (_, ours, theirs) => expect(inSpec(ours, theirs)).toEqual([]))

it('a live object matches its manifest whatever its status, its version and the annotations of tools are', () => {
  const metadata = {
    name: 'a',
    creationTimestamp: null,
    uid: 'x',
    labels: { app: 'web' },
    annotations: {
      'kubectl.kubernetes.io/restartedAt': 'then',
      'deployment.kubernetes.io/revision': '3',
      'rollout-gate/timeout': '5m',
    },
  }
  const live = { metadata: { name: 'a', labels: { app: 'web', more: 'x' } }, apiVersion: 'example.com/v2' }
  expect(differencesOf({ metadata, status: { phase: 'x' } }, live)).toEqual([])
})

it('a live object matches its manifest when environment variables are equal, empty, or have another source', () => {
  const env = [
    { name: 'A', value: 'x' },
    { name: 'B', value: '' },
    { name: 'C', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
  ]
  expect(inContainer({ env }, { env: [{ name: 'INJECTED', value: '1' }, env[0], { name: 'B' }, env[2]] })).toEqual([])
})

it('a live object matches its manifest when a Secret contains the texts of its manifest, whatever the line breaks of its base64 are', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret' }
  const data = { a: 'aGVs\n  bG8=\n' }
  expect(
    differencesOf({ data, stringData: { b: 'hello' } }, { data: { a: 'aGVsbG8=', b: 'aGVsbG8=' } }, secret),
  ).toEqual([])
})

it('a live object matches its manifest when a ConfigMap contains its texts', () => {
  const data = { 'a.conf': 'x: 1\n', empty: '' }
  expect(differencesOf({ data }, { data }, { apiVersion: 'v1', kind: 'ConfigMap' })).toEqual([])
})

const different: [what: string, ours: unknown, theirs: unknown, expected: string[]][] = [
  ['another number', 3, 5, ['spec.x is 5, not 3']],
  ['another text', 'a', 'b', ['spec.x is b, not a']],
  ['true for false', false, true, ['spec.x is true, not false']],
  ['a number for 0', 0, 3, ['spec.x is 3, not 0']],
  ['a field that is not known', { replcas: 3 }, {}, ['spec.x.replcas is missing']],
  ['an object that is not there', { a: { b: 1 } }, { c: 1 }, ['spec.x.a is missing']],
  ['another type', { a: 1 }, 'a', ['spec.x differs']],
  ['another quantity', '1Gi', '1G', ['spec.x is 1G, not 1Gi']],
  ['another duration', '5m0s', '6m0s', ['spec.x is 6m0s, not 5m0s']],
  ['a named element that is not there', [{ name: 'a', v: 1 }], [{ name: 'b', v: 1 }], ['spec.x[a] is missing']],
  [
    'a field of a named element',
    [{ name: 'a', v: 1 }, { name: 'b' }],
    [{ name: 'b' }, { name: 'a', v: 2 }],
    ['spec.x[a].v is 2, not 1'],
  ],
  ['an element without a name', [{ k: 1 }], [{ k: 2 }], ['spec.x[0].k is 2, not 1']],
  ['an element among more', [{ k: 1 }], [{ k: 2 }, { k: 3 }], ['spec.x[0] is missing']],
  ['arguments', ['a', 'b'], ['a'], ['spec.x differs']],
  ['one argument', ['a', 'b'], ['a', 'c'], ['spec.x[1] is c, not b']],
  ['a long text', 'x\ny', 'x\nz', ['spec.x differs']],
]
it.each(different)('a live object differs from its manifest %s', (_, ours, theirs, expected) =>
  expect(inSpec(ours, theirs)).toEqual(expected),
)

it('a live object differs from its manifest in labels and annotations, which are compared as text', () => {
  const metadata = { name: 'a', labels: { version: '1.0' }, annotations: { 'team/x': 'a' } }
  expect(differencesOf({ metadata }, { metadata: { name: 'a', labels: { version: '1' } } })).toEqual([
    'metadata.labels.version is 1, not 1.0',
    'metadata.annotations["team/x"] is missing',
  ])
})

it('a live object differs from its manifest in its image, by the name of the container', () => {
  expect(inContainer({ image: 'app:v2' }, { image: 'app:v1' })).toEqual([
    'spec.containers[app].image is app:v1, not app:v2',
  ])
})

it('a live object differs from its manifest in its environment and data, whose values are not shown', () => {
  const env = (value: string) => ({ env: [{ name: 'PASSWORD', value }] })
  const secret = { apiVersion: 'v1', kind: 'Secret' }
  const found = [
    ...inContainer(env('hunter2'), env('hunter3')),
    ...differencesOf({ stringData: { k: 'hunter2' } }, { data: { k: 'aHVudGVyMw==' } }, secret),
    ...differencesOf({ data: { k: 'hunter2' } }, { data: { k: 'hunter3' } }, { apiVersion: 'v1', kind: 'ConfigMap' }),
  ]
  expect(found).toEqual(['spec.containers[app].env[PASSWORD].value differs', 'data.k differs', 'data.k differs'])
})
