import type { KubeObject } from '../../src/cluster/objects.ts'
import { createRedactor } from '../../src/cluster/redact.ts'
import {
  comparableManifest,
  compareRecord,
  describeDifference,
  findDifferences,
  findDriftedFields,
} from '../../src/plan/manifest-equality.ts'
import type { ManifestObject } from '../../src/plan/target.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

type Fields = Readonly<Record<string, unknown>>

const redact = createRedactor()
const deployment = { apiVersion: 'apps/v1', kind: 'Deployment' }
redact.keepRecordsOf([{ ...deployment, name: 'a' }])

/** The differences of a live object from its manifest, as sentences. `of`: what both have. */
function differencesOf(manifest: Fields, live: Fields, of: Fields = { apiVersion: 'example.com/v1', kind: 'Thing' }) {
  const ours = { metadata: { name: 'a' }, ...of, ...manifest } as unknown as ManifestObject
  const theirs = { metadata: { name: 'a' }, ...of, ...live } as unknown as KubeObject
  return findDifferences(comparableManifest(ours, redact), redact(theirs)).map(describeDifference)
}

const pods = (spec: Fields) => ({ spec: { template: { spec } } })
const inPod = (ours: Fields, theirs: Fields) => differencesOf(pods(ours), pods(theirs), deployment)
const inContainer = (ours: Fields, theirs: Fields) =>
  inPod(
    { containers: [{ name: 'app', ...ours }] },
    { containers: [{ name: 'injected' }, { name: 'app', ...theirs }], initContainers: [{ name: 'injected' }] },
  )
const inCustom = (ours: unknown, theirs: unknown) => differencesOf({ spec: { x: ours } }, { spec: { x: theirs } })
const inKind = (apiVersion: string, kind: string) => (ours: Fields, theirs: Fields) =>
  differencesOf(ours, theirs, { apiVersion, kind })

describe('a container equals its manifest', () => {
  it.each(rows<[string, Fields, Fields]>(data, 'a container equals its manifest'))('%s', (_, ours, theirs) =>
    expect(inContainer(ours, theirs)).toEqual([]),
  )
})

describe('a container differs from its manifest', () => {
  it.each(rows<[string, Fields, Fields, string[]]>(data, 'a container differs from its manifest'))(
    '%s',
    (_, ours, theirs, expected) =>
      expect(inContainer(ours, theirs)).toEqual(expected.map((each) => `spec.template.spec.containers[app].${each}`)),
  )
})

describe('a pod template differs from its manifest', () => {
  it.each(rows<[string, Fields, Fields, string[]]>(data, 'a pod template differs from its manifest'))(
    '%s',
    (_, ours, theirs, expected) =>
      expect(inPod(ours, theirs)).toEqual(expected.map((each) => `spec.template.spec.${each}`)),
  )

  it('only in the time of its restart', () => {
    const restarted = (at: string) => ({
      spec: { template: { metadata: { annotations: { 'kubectl.kubernetes.io/restartedAt': at } } } },
    })
    expect(differencesOf(restarted('b'), restarted('a'), deployment)).toEqual([
      'spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"] is a, not b',
    ])
  })

  it('not in tolerations and pull secrets that admission adds, nor in their order', () => {
    const ours = { tolerations: [{ key: 'a' }], imagePullSecrets: [{ name: 'p' }] }
    const theirs = {
      tolerations: [{ key: 'x' }, { key: 'a' }],
      imagePullSecrets: [{ name: 'q' }, { name: 'p' }],
    }
    expect(inPod(ours, theirs)).toEqual([])
  })
})

describe('an object of Kubernetes', () => {
  const policy = inKind('networking.k8s.io/v1', 'NetworkPolicy')
  const hpa = inKind('autoscaling/v2', 'HorizontalPodAutoscaler')
  const definition = inKind('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
  const cpu = { type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 80 } } }
  const memory = { type: 'Resource', resource: { name: 'memory', target: { averageValue: '1Gi' } } }
  const schema = (properties: Fields) => ({
    spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema: { properties } } }] },
  })

  it('differs in a selector of all pods in place of some, and of namespaces in place of pods', () => {
    const peer = (selector: Fields) => ({ spec: { ingress: [{ from: [selector] }] } })
    expect(policy({ spec: { podSelector: {} } }, { spec: { podSelector: { matchLabels: { app: 'web' } } } })).toEqual([
      'spec.podSelector differs',
    ])
    expect(policy(peer({ podSelector: {} }), peer({ namespaceSelector: {} }))).toEqual([
      'spec.ingress[0].from[0].podSelector is missing',
      'spec.ingress[0].from[0].namespaceSelector is set, and not in the file',
    ])
    expect(policy({ spec: { ingress: [] } }, { spec: { ingress: [{}] } })).toEqual(['spec.ingress differs'])
    expect(policy({ spec: { ingress: [] } }, { spec: {} })).toEqual([])
  })

  it('differs in maxUnavailable: 0 against an absent one', () => {
    expect(inKind('policy/v1', 'PodDisruptionBudget')({ spec: { maxUnavailable: 0 } }, { spec: {} })).toEqual([
      'spec.maxUnavailable is missing, not 0',
    ])
  })

  it.each([
    ['Deployment', 'strategy', { maxSurge: '25%', maxUnavailable: 1 }],
    ['DaemonSet', 'updateStrategy', { maxSurge: 0, maxUnavailable: '25%' }],
  ])('of the kind %s differs in a removed limit that is the default of another kind', (kind, field, rollingUpdate) => {
    const object = { apiVersion: 'apps/v1', kind, metadata: { name: 'a' } }
    const live = { ...object, spec: { [field]: { type: 'RollingUpdate', rollingUpdate } } } as unknown as KubeObject
    expect(findDifferences({ ...object, spec: {} } as ManifestObject, live, ['/spec']).map(describeDifference)).toEqual(
      [`spec.${field} is set, and not in the file`],
    )
  })

  it('knows the metrics of an autoscaler by their names, in whatever order', () => {
    expect(hpa({ spec: { metrics: [cpu, memory] } }, { spec: { metrics: [memory, cpu] } })).toEqual([])
    const other = { ...cpu, resource: { name: 'cpu', target: { averageUtilization: 50 } } }
    expect(hpa({ spec: { metrics: [cpu] } }, { spec: { metrics: [other] } })).toEqual([
      'spec.metrics[Resource cpu ].resource.target.averageUtilization is 50, not 80',
    ])
  })

  it('knows no environment in the schema of a definition', () => {
    const env = {
      description: '',
      type: 'array',
      items: { properties: { name: { type: 'string' }, value: { type: 'string', default: '' } } },
    }
    const stored = {
      items: { properties: { value: { default: '', type: 'string' }, name: { type: 'string' } } },
      type: 'array',
    }
    expect(definition(schema({ env }), schema({ env: stored }))).toEqual([])
    expect(definition(schema({ env }), schema({ env: { ...stored, type: 'object' } }))).toHaveLength(1)
  })

  it('compares values of ConfigMaps and labels as texts, also empty ones', () => {
    const map = inKind('v1', 'ConfigMap')
    expect(map({ data: { a: '' } }, { data: {} })).toEqual(['data.a is missing, not empty'])
    expect(map({ data: { a: '' } }, { data: { a: 'old' } })).toEqual(['data.a differs'])
    expect(map({ data: { a: '', b: 'x: 1\n' } }, { data: { a: '', b: 'x: 1\n' } })).toEqual([])
    const labels = (version: string) => ({ metadata: { name: 'a', labels: { version } } })
    expect(map(labels('1.0'), labels('1'))).toEqual(['metadata.labels.version is 1, not 1.0'])
  })

  it('has the texts of a Secret in base64, without line breaks', () => {
    const secret = inKind('v1', 'Secret')
    const data = { a: 'aGVs\n  bG8=\n' }
    expect(secret({ data, stringData: { b: 'hello' } }, { data: { a: 'aGVsbG8=', b: 'aGVsbG8=' } })).toEqual([])
    expect(secret({ stringData: { k: 'hunter2' } }, { data: { k: 'aHVudGVyMw==' } })).toEqual(['data.k differs'])
  })

  it('is compared in nothing that others own: status, version, tools, authorities, encrypted values', () => {
    const metadata = {
      name: 'a',
      creationTimestamp: null,
      annotations: { 'deployment.kubernetes.io/revision': '3', 'rollout-gate/timeout': '5m' },
    }
    expect(differencesOf({ metadata, status: { x: 1 } }, { apiVersion: 'apps/v1beta1' }, deployment)).toEqual([])
    const webhook = inKind('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration')
    const hooks = (caBundle: string) => ({ webhooks: [{ name: 'a', clientConfig: { caBundle } }] })
    expect(webhook(hooks('Cg=='), hooks('LS0t'))).toEqual([])
  })
})

it('a variable without a value differs from one with a source', () => {
  const source = { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }
  const differs = ['spec.template.spec.containers[app].env[A].valueFrom is set, and not in the file']
  expect(inContainer({ env: [{ name: 'A', value: '' }] }, source)).toEqual(differs)
  expect(inContainer({ env: [{ name: 'A' }] }, source)).toEqual(differs)
})

it.each([
  ['a node selector', { nodeSelector: {} }, { nodeSelector: { disk: 'ssd' } }],
  [
    'an empty volume',
    { volumes: [{ name: 'v', emptyDir: {} }] },
    { volumes: [{ name: 'v', emptyDir: { medium: 'Memory' } }] },
  ],
])('a pod template differs from its manifest in %s that was emptied', (_, ours, theirs) => {
  expect(inPod(ours, theirs)).toHaveLength(1)
})

it.each(rows<[string, string, string, Fields, Fields, string[]]>(data, 'an object of Kubernetes differs in'))(
  'an object of Kubernetes differs in %s',
  (_, apiVersion, kind, ours, theirs, expected) => expect(inKind(apiVersion, kind)(ours, theirs)).toEqual(expected),
)

it.each<[string, Fields, Fields]>([
  ['a pull policy', { image: 'a:1', imagePullPolicy: '' }, { image: 'a:1', imagePullPolicy: 'Always' }],
  ['a path', { livenessProbe: { httpGet: { path: '' } } }, { livenessProbe: { httpGet: { path: '/old' } } }],
  ['limits', { resources: { limits: {} } }, { resources: { limits: { cpu: '1' } } }],
  ['resources', { resources: {} }, { resources: { limits: { cpu: '1' } } }],
])('a container differs in %s that was emptied, and not from the default', (_, ours, theirs) => {
  expect(inContainer(ours, theirs)).toHaveLength(1)
  const stored = {
    image: 'a:1',
    imagePullPolicy: 'IfNotPresent',
    livenessProbe: { httpGet: { path: '/' } },
    resources: { limits: {} },
  }
  expect(inContainer(ours, stored)).toEqual([])
})

it('a volume without a class equals its manifest, and a claim does not', () => {
  const spec = { spec: { storageClassName: '' } }
  expect(inKind('v1', 'PersistentVolume')(spec, { spec: {} })).toEqual([])
  expect(inKind('v1', 'PersistentVolumeClaim')(spec, { spec: {} })).toHaveLength(1)
})

it('an element of a list is compared by the same rules as a field', () => {
  const toleration = { key: 'a', storageClassName: '' }
  expect(inPod({ tolerations: [toleration] }, { tolerations: [toleration] })).toEqual([])
  expect(inPod({ tolerations: [toleration] }, { tolerations: [{ key: 'a' }] })).toHaveLength(1)
})

it('a file that SOPS has encrypted is not compared', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } }
  const ours = comparableManifest(
    { ...secret, data: { k: 'ENC[x]' }, sops: { mac: 'ENC[x]' } } as unknown as ManifestObject,
    redact,
  )
  expect(findDriftedFields(ours, redact({ ...secret, data: { k: 'aGk=' } } as unknown as KubeObject))).toEqual([])
})

describe('a custom resource equals its manifest', () => {
  it.each<[string, unknown, unknown]>([
    ['when the server added fields', { a: 1 }, { a: 1, b: 2 }],
    ['when a field is null', null, 'x'],
    ['in a duration that Go writes with all units', '8760h', '8760h0m0s'],
    ['in a quantity with a unit', '1Gi', '1024Mi'],
    ['in a moment of another notation', '2025-01-01T01:00:00+01:00', '2025-01-01T00:00:00Z'],
    ['when its controller left out what is empty', { a: '', b: 0, c: false, d: [], e: { f: '' } }, {}],
  ])('%s', (_, ours, theirs) => expect(inCustom(ours, theirs)).toEqual([]))
})

describe('a custom resource differs from its manifest', () => {
  it.each(rows<[string, unknown, unknown, string[]]>(data, 'a custom resource differs from its manifest'))(
    '%s',
    (_, ours, theirs, expected) => expect(inCustom(ours, theirs)).toEqual(expected),
  )
})

describe('the record of the applier', () => {
  const file = (container: Fields, more: Fields = {}) =>
    ({
      ...deployment,
      metadata: { name: 'a', labels: { app: 'web' } },
      spec: { replicas: 2, template: { spec: { containers: [{ name: 'app', ...container }], ...more } } },
    }) as unknown as ManifestObject
  const v1 = file({ image: 'app:v1', env: [{ name: 'A', value: 'x' }] })
  const applied = (last: object, live: ManifestObject = v1, managedFields: object[] = []) =>
    redact({
      ...live,
      metadata: {
        ...live.metadata,
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(last) },
        managedFields,
      },
    } as unknown as KubeObject)
  const compare = (manifest: ManifestObject, live: KubeObject) => {
    const record = compareRecord(comparableManifest(manifest, redact), live)
    return record && [...record.differing, ...record.removed]
  }

  it('says the same as the file that was applied, whatever webhooks and autoscalers changed since', () => {
    const mutated = file({ image: 'mirror/app:v1', resources: { limits: { cpu: '1' } } })
    expect(compare(v1, applied(v1, mutated))).toEqual([])
  })

  it('contains no namespace, and labels that a tool added', () => {
    const tracked = {
      ...v1,
      metadata: {
        ...v1.metadata,
        namespace: 'shop',
        labels: { app: 'web', 'app.kubernetes.io/instance': 'web' },
        annotations: {},
      },
    }
    expect(compare(v1, applied(tracked))).toEqual([])
  })

  it.each<[string, ManifestObject, string]>([
    ['a variable', file({ image: 'app:v1' }), 'spec.template.spec.containers[app].env is set, and not in the file'],
    ['a sidecar', file({ image: 'app:v1', env: [{ name: 'A', value: 'x' }] }, {}), ''],
  ])('shows that %s was removed', (_, manifest, text) => {
    const withSidecar = {
      ...v1,
      spec: {
        replicas: 2,
        template: {
          spec: {
            containers: [
              { name: 'app', image: 'app:v1', env: [{ name: 'A', value: 'x' }] },
              { name: 'log', image: 'l' },
            ],
          },
        },
      },
    }
    expect(compare(manifest, applied(text === '' ? withSidecar : v1))).toEqual([
      text || 'spec.template.spec.containers[log] is set, and not in the file',
    ])
  })

  it('shows the order of init containers', () => {
    const ordered = (...names: string[]) => file({}, { initContainers: names.map((name) => ({ name })) })
    expect(compare(ordered('a', 'b'), applied(ordered('b', 'a')))).toHaveLength(2)
  })

  const owned = (manager: string, container: Fields, more: Fields = {}) => ({
    manager,
    operation: 'Apply',
    time: '2025-01-15T12:00:00Z',
    fieldsV1: {
      'f:metadata': { 'f:labels': { 'f:app': {} } },
      'f:spec': {
        'f:replicas': {},
        'f:template': {
          'f:spec': { 'f:containers': { 'k:{"name":"app"}': { '.': {}, 'f:name': {}, ...container } }, ...more },
        },
      },
    },
  })
  const env = { 'f:env': { 'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} } } }
  const serverSide = (...managedFields: object[]) =>
    redact({ ...v1, metadata: { ...v1.metadata, managedFields } } as unknown as KubeObject)

  it('of a server-side apply owns the fields of the file', () => {
    expect(compare(v1, serverSide(owned('kubectl', { 'f:image': {}, ...env })))).toEqual([])
  })

  it('of a server-side apply shows what was removed', () => {
    const live = serverSide(owned('kubectl', { 'f:image': {}, ...env }))
    expect(compare(file({ image: 'app:v1' }), live)).toEqual([
      'spec.template.spec.containers[app].env is set, and not in the file',
    ])
  })

  const created = (spec: Fields, manager = 'kubectl-create') =>
    redact({
      ...deployment,
      metadata: {
        name: 'a',
        managedFields: [
          {
            manager,
            operation: 'Update',
            time: '2025-01-15T12:00:00Z',
            fieldsV1: { 'f:metadata': { 'f:labels': { 'f:app': {} } }, 'f:spec': {} },
          },
          {
            manager: 'kubectl-replace',
            operation: 'Update',
            time: '2025-01-15T13:00:00Z',
            fieldsV1: { 'f:spec': fieldSetOf(spec) },
          },
        ],
        labels: { app: 'web' },
      },
      spec,
    } as unknown as KubeObject)
  const template = (container: Fields, more: Fields = {}) => ({
    replicas: 2,
    template: { spec: { containers: [{ name: 'app', image: 'app:v1', ...container }], ...more } },
  })
  const fieldSetOf = (value: unknown): Fields =>
    Object.fromEntries(
      Object.entries(value as Fields).map(([name, field]) => [
        `f:${name}`,
        Array.isArray(field)
          ? Object.fromEntries(field.map((each) => [`k:${JSON.stringify({ name: each.name })}`, fieldSetOf(each)]))
          : typeof field === 'object'
            ? fieldSetOf(field)
            : {},
      ]),
    )

  it.each(rows<[string, Fields, Fields, string]>(data, 'of a writer without values shows that was removed'))(
    'of a writer without values shows that %s was removed',
    (_, container, more, field) =>
      expect(compare(file({ image: 'app:v1' }), created(template(container, more)))).toEqual([
        `spec.template.spec.${field} is set, and not in the file`,
      ]),
  )

  it('of a writer without values does not count what the server stores where the file has nothing', () => {
    const container = {
      imagePullPolicy: 'IfNotPresent',
      terminationMessagePath: '/dev/termination-log',
      livenessProbe: { httpGet: { port: 80, scheme: 'HTTP', path: '/' }, timeoutSeconds: 1, failureThreshold: 3 },
      resources: { limits: { cpu: '1' }, requests: { cpu: '1' } },
    }
    const more = {
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
      securityContext: {},
      schedulerName: 'default-scheduler',
    }
    const live = created({
      ...template(container, more),
      progressDeadlineSeconds: 600,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
    })
    const ours = { image: 'app:v1', livenessProbe: { httpGet: { port: 80 } }, resources: { limits: { cpu: '1' } } }
    expect(compare(file(ours), live)).toEqual([])
  })

  it('is that of another tool that has applied since kubectl did', () => {
    const client = {
      manager: 'kubectl-client-side-apply',
      operation: 'Update',
      time: '2024-01-01T00:00:00Z',
      fieldsV1: { 'f:metadata': { 'f:annotations': { 'f:kubectl.kubernetes.io/last-applied-configuration': {} } } },
    }
    const old = file({ image: 'app:v0' })
    expect(compare(v1, applied(old, v1, [client, owned('argocd-controller', { 'f:image': {}, ...env })]))).toEqual([])
    expect(compare(v1, applied(old, v1, [client]))).not.toEqual([])
  })

  it('is absent if nothing was recorded', () => expect(compare(v1, serverSide())).toBeUndefined())

  it('explains what admission changed, and not what another writer changed', () => {
    const entry = (manager: string, fields: Fields) => ({
      ...owned(manager, fields),
      operation: 'Update',
      time: '2025-01-15T13:00:00Z',
    })
    const client = { ...entry('kubectl-client-side-apply', { 'f:resources': {}, ...env }) }
    Object.assign(client.fieldsV1['f:metadata'], {
      'f:annotations': { 'f:kubectl.kubernetes.io/last-applied-configuration': {} },
    })
    const manifest = file({ image: 'app:v1', resources: { limits: { cpu: '1' } } })
    const live = file({ image: 'app:v0', resources: { limits: { cpu: '2' } } })
    const drifted = findDriftedFields(comparableManifest(manifest, redact), applied(manifest, live, [client]))
    expect(drifted.map(describeDifference)).toEqual(['spec.template.spec.containers[app].image is app:v0, not app:v1'])
  })
})
