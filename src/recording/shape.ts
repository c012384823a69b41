import type { KubeObject } from '../cluster/objects.ts'
import { groupOf } from '../cluster/store.ts'

/** The type of a value: a scalar, `texts` by name, a list of something, or an object with fields that may be absent or null. */
type Shape = 'string' | 'number' | 'boolean' | 'scalar' | 'texts' | readonly [Shape] | Fields
interface Fields {
  readonly [field: string]: Shape
}

const moments = { startedAt: 'string', finishedAt: 'string' } as const
const reasons = { reason: 'string', message: 'string' } as const

const conditions: Shape = [{ type: 'string', status: 'string', ...reasons, lastTransitionTime: 'string' }]

const metadata: Fields = {
  namespace: 'string',
  uid: 'string',
  // Written by hand, these and labels are often of the other type, which does no harm: they are only compared.
  resourceVersion: 'scalar',
  generation: 'scalar',
  creationTimestamp: 'string',
  deletionTimestamp: 'string',
  labels: 'texts',
  annotations: 'texts',
  ownerReferences: [{ apiVersion: 'string', kind: 'string', name: 'string', uid: 'string' }],
  finalizers: ['string'],
  managedFields: [{ manager: 'string', operation: 'string', subresource: 'string', time: 'string' }],
}

const selector: Fields = {
  matchLabels: 'texts',
  matchExpressions: [{ key: 'string', operator: 'string', values: ['string'] }],
}

const probe: Fields = {
  initialDelaySeconds: 'number',
  periodSeconds: 'number',
  failureThreshold: 'number',
  httpGet: {},
}

const containers: Shape = [
  {
    name: 'string',
    image: 'string',
    command: ['string'],
    args: ['string'],
    env: [{ name: 'string' }],
    envFrom: [{}],
    ports: [{ name: 'string', containerPort: 'number' }],
    volumeMounts: [{ name: 'string' }],
    resources: {},
    readinessProbe: probe,
    livenessProbe: probe,
    startupProbe: probe,
  },
]

const podSpec: Fields = {
  containers,
  initContainers: containers,
  volumes: [{ name: 'string' }],
  readinessGates: [{}],
  nodeName: 'string',
}

const state: Fields = {
  waiting: reasons,
  running: moments,
  terminated: { exitCode: 'number', signal: 'number', ...reasons, ...moments },
}

const containerStatuses: Shape = [
  { name: 'string', restartCount: 'number', image: 'string', imageID: 'string', state, lastState: state },
]

const template: Fields = { metadata: { labels: 'texts', annotations: 'texts' }, spec: podSpec }

const workload: Fields = {
  spec: { replicas: 'number', minReadySeconds: 'number', selector, template, strategy: {}, updateStrategy: {} },
  status: {
    replicas: 'number',
    updatedReplicas: 'number',
    readyReplicas: 'number',
    availableReplicas: 'number',
    conditions,
  },
}

const balanced: Fields = { loadBalancer: { ingress: [{ ip: 'string', hostname: 'string' }] }, conditions }
const paths: Shape = [{ backend: { service: { name: 'string', port: {} } } }]

/** Of each kind that has a rule of its own or stands behind one: the fields that are read of it. */
const kinds: Readonly<Record<string, Fields>> = {
  '/Pod': {
    spec: podSpec,
    status: { phase: 'string', ...reasons, conditions, containerStatuses, initContainerStatuses: containerStatuses },
  },
  '/ReplicationController': { spec: { replicas: 'number', selector: 'texts', template }, status: { conditions } },
  '/Service': { spec: { selector: 'texts', ports: [{ name: 'string', targetPort: 'scalar' }] }, status: balanced },
  '/PersistentVolumeClaim': { spec: { storageClassName: 'string' }, status: { phase: 'string', conditions } },
  '/Node': { spec: { taints: [{ key: 'string' }] }, status: { conditions } },
  '/Namespace': { status: { phase: 'string', conditions } },
  '/Event': {
    involvedObject: { kind: 'string', namespace: 'string', name: 'string', uid: 'string', fieldPath: 'string' },
    type: 'string',
    ...reasons,
    count: 'number',
    series: { count: 'number' },
    firstTimestamp: 'string',
    lastTimestamp: 'string',
    eventTime: 'string',
  },
  'apps/Deployment': workload,
  'apps/ReplicaSet': workload,
  'apps/StatefulSet': workload,
  'apps/DaemonSet': workload,
  'batch/Job': {
    spec: { completions: 'number', selector, template },
    status: { active: 'number', succeeded: 'number', failed: 'number', conditions },
  },
  'discovery.k8s.io/EndpointSlice': {
    endpoints: [{ conditions: {}, targetRef: { name: 'string', uid: 'string' } }],
    ports: [{ name: 'string', port: 'number' }],
  },
  'networking.k8s.io/Ingress': { spec: { rules: [{ http: { paths } }] }, status: balanced },
}

/**
 * Why no API server can have served an object: the field that is of another type, by its path. Undefined where all are as
 * they should be. Rules rely on the types of what they read, and a file can hold anything; custom resources may be of any
 * shape but for their metadata, and are read with that in mind.
 */
export function whyMisshapen(object: KubeObject): string | undefined {
  const own = kinds[`${groupOf(object.apiVersion)}/${object.kind}`]
  // Fields may be null, but no API server writes a spec, a status or the subject of an event that is.
  const missing =
    own && ['spec', 'status', 'involvedObject'].find((field) => (object as unknown as Values)[field] === null)
  const path = missing ?? otherType(object, { metadata, ...own })
  return path === undefined ? undefined : `no API server wrote its object: ${path} is of another type`
}

type Values = Readonly<Record<string, unknown>>

/** The path of the first value that is not of its shape; empty for the value itself. */
function otherType(value: unknown, shape: Shape): string | undefined {
  if (typeof shape === 'string' && shape !== 'texts') {
    return typeof value === shape || (shape === 'scalar' && /^(?:string|number)$/.test(typeof value)) ? undefined : ''
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== Array.isArray(shape)) return ''
  for (const field of shape === 'texts' || Array.isArray(shape) ? Object.keys(value) : Object.keys(shape)) {
    const inner = (value as Values)[field]
    const expected =
      shape === 'texts' ? 'scalar' : Array.isArray(shape) ? (shape[0] as Shape) : (shape as Fields)[field]
    // In a list, nothing is missing; in an object, what is null is not there.
    if (expected === undefined || ((inner === undefined || inner === null) && !Array.isArray(value))) continue
    const path = otherType(inner, expected)
    if (path !== undefined) return path === '' ? field : `${field}.${path}`
  }
  return undefined
}
