import type { KubeObject } from '../../src/cluster/objects.ts'
import { Redactor } from '../../src/cluster/redact.ts'
import {
  comparableManifest,
  compareWithLastApplied,
  describeDifference,
  findDifferences,
  findDriftedFields,
} from '../../src/plan/manifest-equality.ts'
import type { ManifestObject } from '../../src/plan/target.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

type Fields = Readonly<Record<string, unknown>>

const redactor = new Redactor()
const deployment = { apiVersion: 'apps/v1', kind: 'Deployment' }
redactor.keepRecordsOf([{ ...deployment, name: 'a' }])

/** The differences of a live object from its manifest, as sentences. `of`: what both have. */
function differencesOf(manifest: Fields, live: Fields, of: Fields = { apiVersion: 'example.com/v1', kind: 'Thing' }) {
  const ours = { metadata: { name: 'a' }, ...of, ...manifest } as unknown as ManifestObject
  const theirs = { metadata: { name: 'a' }, ...of, ...live } as unknown as KubeObject
  return findDifferences(comparableManifest(ours, redactor), redactor.redact(theirs)).map(describeDifference)
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

/** An object in which each number and text of the spec is another. */
function differentFrom(object: KubeObject): KubeObject {
  const changed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(changed)
    if (typeof value !== 'object' || value === null) return typeof value === 'number' ? value + 7 : `${value}x`
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, changed(each)]))
  }
  return { ...object, spec: changed(object.spec) } as KubeObject
}

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
})

describe('an object of Kubernetes', () => {
  it.each([
    ['Deployment', 'strategy', { maxSurge: '25%', maxUnavailable: 1 }],
    ['DaemonSet', 'updateStrategy', { maxSurge: 0, maxUnavailable: '25%' }],
  ])(
    'of the kind %s differs if its manifest lacks a limit that is the default of another kind',
    (kind, field, rollingUpdate) => {
      const object = { apiVersion: 'apps/v1', kind, metadata: { name: 'a' } }
      const live = { ...object, spec: { [field]: { type: 'RollingUpdate', rollingUpdate } } } as unknown as KubeObject
      expect(
        findDifferences({ ...object, spec: {} } as ManifestObject, live, ['/spec']).map(describeDifference),
      ).toEqual([`spec.${field} is set, and not in the file`])
    },
  )
})

it('a definition differs if its manifest lacks an applied property, whatever the name of the property', () => {
  const definition = (properties: Fields) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'a' },
    spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema: { type: 'object', properties } } }] },
  })
  const type = { type: 'object' }
  const live = definition({ limits: type, requests: type, nodePort: type, size: type }) as unknown as KubeObject
  const found = findDifferences(definition({ limits: type }) as ManifestObject, live, ['/spec/versions'])
  const names = found.map(({ path }) => path.at(-1))
  expect(names).toEqual(['requests', 'nodePort', 'size'])
})

it.each(rows<[string, string, Fields, Fields]>(data, 'fields that the server adds are no difference'))(
  'fields that the server adds to %s %s are no difference, even if they belong to the writer of the manifest',
  (apiVersion, kind, ours, theirs) => {
    const object = { apiVersion, kind, metadata: { name: 'a' } }
    const live = { ...object, spec: theirs } as unknown as KubeObject
    expect(findDifferences({ ...object, spec: ours } as ManifestObject, live, ['/spec'])).toEqual([])
    expect(findDifferences({ ...object, spec: ours } as ManifestObject, differentFrom(live), ['/spec'])).not.toEqual([])
  },
)

it.each(rows<[string, string, string, Fields, Fields]>(data, 'an object of Kubernetes equals its manifest'))(
  'an object of Kubernetes equals its manifest %s',
  (_, apiVersion, kind, ours, theirs) => expect(inKind(apiVersion, kind)(ours, theirs)).toEqual([]),
)

it.each(rows<[string, string, string, Fields, Fields, string[]]>(data, 'an object of Kubernetes differs in'))(
  'an object of Kubernetes differs in %s',
  (_, apiVersion, kind, ours, theirs, expected) => expect(inKind(apiVersion, kind)(ours, theirs)).toEqual(expected),
)

it.each(rows<[string, Fields, Fields]>(data, 'a container differs in what was emptied'))(
  'a container differs if its manifest empties %s, but not if the container has the default',
  (_, ours, theirs) => {
    expect(inContainer(ours, theirs)).toHaveLength(1)
    const stored = {
      image: 'a:1',
      imagePullPolicy: 'IfNotPresent',
      livenessProbe: { httpGet: { path: '/' } },
      resources: { limits: {} },
    }
    expect(inContainer(ours, stored)).toEqual([])
  },
)

it('a file that is encrypted by SOPS is not compared', () => {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' } }
  const ours = comparableManifest(
    { ...secret, data: { k: 'ENC[x]' }, sops: { mac: 'ENC[x]' } } as unknown as ManifestObject,
    redactor,
  )
  expect(findDriftedFields(ours, redactor.redact({ ...secret, data: { k: 'aGk=' } } as unknown as KubeObject))).toEqual(
    [],
  )
})

describe('a custom resource equals its manifest', () => {
  it.each(rows<[string, unknown, unknown]>(data, 'a custom resource equals its manifest'))('%s', (_, ours, theirs) =>
    expect(inCustom(ours, theirs)).toEqual([]),
  )
})

describe('a custom resource differs from its manifest', () => {
  it.each(rows<[string, unknown, unknown, string[]]>(data, 'a custom resource differs from its manifest'))(
    '%s',
    (_, ours, theirs, expected) => expect(inCustom(ours, theirs)).toEqual(expected),
  )
})

describe('the last-applied annotation or the managed fields', () => {
  const file = (container: Fields, more: Fields = {}) =>
    ({
      ...deployment,
      metadata: { name: 'a', labels: { app: 'web' } },
      spec: { replicas: 2, template: { spec: { containers: [{ name: 'app', ...container }], ...more } } },
    }) as unknown as ManifestObject
  const v1 = file({ image: 'app:v1', env: [{ name: 'A', value: 'x' }] })
  const applied = (last: object, live: ManifestObject = v1, managedFields: object[] = []) =>
    redactor.redact({
      ...live,
      metadata: {
        ...live.metadata,
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(last) },
        managedFields,
      },
    } as unknown as KubeObject)
  const compare = (manifest: ManifestObject, live: KubeObject) => {
    const record = compareWithLastApplied(comparableManifest(manifest, redactor), live)
    return record && [...record.differing, ...record.removed]
  }

  it('equal the applied file, whatever webhooks and autoscalers changed since', () => {
    const mutated = file({ image: 'mirror/app:v1', resources: { limits: { cpu: '1' } } })
    expect(compare(v1, applied(v1, mutated))).toEqual([])
  })

  it('equal the applied file without its namespace and with labels of a tool', () => {
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

  it('show that a variable was removed', () => {
    expect(compare(file({ image: 'app:v1' }), applied(v1))).toEqual([
      'spec.template.spec.containers[app].env is set, and not in the file',
    ])
  })

  it('show that a sidecar was removed', () => {
    const [app] = (v1['spec'] as { template: { spec: { containers: object[] } } }).template.spec.containers
    const withSidecar = file({}, { containers: [app, { name: 'log', image: 'l' }] })
    expect(compare(v1, applied(withSidecar))).toEqual([
      'spec.template.spec.containers[log] is set, and not in the file',
    ])
  })

  it('show the order of init containers', () => {
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
    redactor.redact({ ...v1, metadata: { ...v1.metadata, managedFields } } as unknown as KubeObject)

  it('of a server-side apply contain the fields of the file', () => {
    expect(compare(v1, serverSide(owned('kubectl', { 'f:image': {}, ...env })))).toEqual([])
  })

  it('of a server-side apply show removed fields', () => {
    const live = serverSide(owned('kubectl', { 'f:image': {}, ...env }))
    expect(compare(file({ image: 'app:v1' }), live)).toEqual([
      'spec.template.spec.containers[app].env is set, and not in the file',
    ])
  })

  it('of several server-side applies that own all fields of the file show the removed fields of each', () => {
    const [some, all] = [owned('ci', { 'f:image': {} }), owned('argocd-controller', { 'f:image': {}, ...env })]
    for (const live of [serverSide(some, all), serverSide(all, some)])
      expect(compare(file({ image: 'app:v1' }), live)).toHaveLength(1)
  })

  const created = (spec: Fields, manager = 'kubectl-create') =>
    redactor.redact({
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
    'without values show that %s was removed',
    (_, container, more, field) =>
      expect(compare(file({ image: 'app:v1' }), created(template(container, more)))).toEqual([
        `spec.template.spec.${field} is set, and not in the file`,
      ]),
  )

  it('without values do not count what a webhook added to a map that the writer owns as an empty map', () => {
    const mutated = template({ resources: { limits: { cpu: '1' } } }, { securityContext: { fsGroup: 1337 } })
    const live = (container: Fields, more: Fields) => {
      const writer = { ...owned('helm', { 'f:image': {}, ...container }, more), operation: 'Update' }
      const metadata = { name: 'a', labels: { app: 'web' }, managedFields: [writer] }
      return redactor.redact({ ...deployment, metadata, spec: mutated } as unknown as KubeObject)
    }
    const ours = file({ image: 'app:v1' })
    expect(compare(ours, live({ 'f:resources': {} }, { 'f:securityContext': {} }))).toEqual([])
    const fieldSets = [{ 'f:resources': { 'f:limits': {} } }, { 'f:securityContext': { 'f:fsGroup': {} } }] as const
    expect(compare(ours, live(...fieldSets))).toHaveLength(2)
  })

  it('do not count annotations of others if the applied file has an empty map of annotations', () => {
    const writer = owned('kubectl', { 'f:image': {}, ...env })
    const fieldsV1 = { ...writer.fieldsV1, 'f:metadata': { 'f:annotations': {}, 'f:labels': { 'f:app': {} } } }
    const metadata = { ...v1.metadata, annotations: { team: 'a' }, managedFields: [{ ...writer, fieldsV1 }] }
    expect(compare(v1, redactor.redact({ ...v1, metadata } as unknown as KubeObject))).toEqual([])
  })

  it('do not count defaults in a map of a custom resource that was applied as an empty map', () => {
    const custom = { apiVersion: 'example.com/v1', kind: 'Thing' }
    redactor.keepRecordsOf([{ ...custom, name: 'a' }])
    const compareCustom = (ours: Fields, theirs: Fields, fieldSet: Fields) => {
      const manifest = { ...custom, metadata: { name: 'a' }, spec: ours } as unknown as ManifestObject
      const managedFields = [{ manager: 'kubectl', operation: 'Apply', fieldsV1: { 'f:spec': fieldSet } }]
      const live = { ...custom, metadata: { name: 'a', managedFields }, spec: theirs } as unknown as KubeObject
      return compare(manifest, redactor.redact(live))
    }
    expect(compareCustom({ x: {} }, { x: { mode: 'auto' } }, { 'f:x': {} })).toEqual([])
    expect(compareCustom({ x: {} }, { x: { mode: 'auto' } }, { 'f:x': { 'f:mode': {} } })).toHaveLength(1)
    expect(compareCustom({ selector: {} }, { selector: { matchLabels: {} } }, { 'f:selector': {} })).toHaveLength(1)
  })

  it('without values do not count a stored value where the file has none', () => {
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

  it('of another tool count if that tool applied after kubectl', () => {
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

  it('of a server-side apply hide only what admission may have changed', () => {
    const live = serverSide(owned('kubectl', { 'f:image': {}, 'f:resources': { 'f:limits': { 'f:cpu': {} } }, ...env }))
    const drift = (container: Fields) => {
      const manifest = file({ env: [{ name: 'A', value: 'x' }], resources: { limits: { cpu: '2' } }, ...container })
      return findDriftedFields(comparableManifest(manifest, redactor), live).map(describeDifference)
    }
    expect(drift({ image: 'app:v1' })).toEqual([])
    expect(drift({ image: 'app:v2', env: [{ name: 'A', value: 'y' }] })).toEqual([
      'spec.template.spec.containers[app].env[A].value differs',
      'spec.template.spec.containers[app].image is app:v1, not app:v2',
    ])
  })

  it('are absent if no tool recorded an apply', () => expect(compare(v1, serverSide())).toBeUndefined())

  it('explain a change by admission, but no change by another writer', () => {
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
    const drifted = findDriftedFields(comparableManifest(manifest, redactor), applied(manifest, live, [client]))
    expect(drifted.map(describeDifference)).toEqual(['spec.template.spec.containers[app].image is app:v0, not app:v1'])
  })
})
