import type { KubeObject } from '../cluster/objects.ts'
import { groupOf } from '../cluster/store.ts'

/**
 * Returns undefined if all types are correct, else the path of the first wrong value (empty: the checked value itself).
 */
type Check = (value: unknown) => readonly string[] | undefined
type Fields = Readonly<Record<string, Check>>

const isPresent = (value: unknown) => value !== undefined && value !== null
const isObjectValue = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Accepts a value that is absent, null or of one of these types. */
const anyOf =
  (...types: readonly string[]): Check =>
  (value) =>
    !isPresent(value) || types.includes(typeof value) ? undefined : []

const text = anyOf('string')
const number = anyOf('number')
const scalar = anyOf('string', 'number')

/**
 * Accepts an object whose fields pass; other fields are allowed. Also accepts `undefined`, and `null` unless `isPart`.
 */
const fieldsOf =
  (fields: Fields, isPart = false): Check =>
  (value) => {
    if (value === undefined || (value === null && !isPart)) return undefined
    if (!isObjectValue(value)) return []
    for (const name of Object.keys(fields)) {
      const path = fields[name]?.(value[name])
      if (path !== undefined) return [name, ...path]
    }
    return undefined
  }

/** Accepts a list whose elements all pass the check, or an object whose values all pass it. */
const each =
  (check: Check, isList: boolean): Check =>
  (value) => {
    if (!isPresent(value)) return undefined
    if (isList ? !Array.isArray(value) : !isObjectValue(value)) return []
    for (const [name, element] of Object.entries(value as object)) {
      const path = isPresent(element) || !isList ? check(element) : []
      if (path !== undefined) return [name, ...path]
    }
    return undefined
  }

const texts = each(scalar, false)
const textList = each(text, true)
const object = (fields: Fields) => fieldsOf(fields)
const list = (fields: Fields) => each(fieldsOf(fields), true)

const period = { startedAt: text, finishedAt: text }
const cause = { reason: text, message: text }
const conditions = list({ type: text, status: text, ...cause, lastTransitionTime: text })

const metadata = object({
  namespace: text,
  uid: text,
  // Numbers are allowed, as in handwritten recordings: these fields are only compared, so their type does not matter.
  resourceVersion: scalar,
  generation: scalar,
  creationTimestamp: text,
  deletionTimestamp: text,
  labels: texts,
  annotations: texts,
  ownerReferences: list({ apiVersion: text, kind: text, name: text, uid: text }),
  finalizers: textList,
  managedFields: list({ manager: text, operation: text, subresource: text, time: text }),
})

const selector = object({
  matchLabels: texts,
  matchExpressions: list({ key: text, operator: text, values: textList }),
})
const probe = object({
  initialDelaySeconds: number,
  periodSeconds: number,
  failureThreshold: number,
  httpGet: object({}),
})
const containers = list({
  name: text,
  image: text,
  command: textList,
  args: textList,
  env: list({ name: text }),
  envFrom: list({}),
  ports: list({ name: text, containerPort: number }),
  volumeMounts: list({ name: text }),
  resources: object({}),
  readinessProbe: probe,
  livenessProbe: probe,
  startupProbe: probe,
})
const podSpec = {
  containers,
  initContainers: containers,
  volumes: list({ name: text }),
  readinessGates: list({}),
  nodeName: text,
}
const state = object({
  waiting: object(cause),
  running: object(period),
  terminated: object({ exitCode: number, signal: number, ...cause, ...period }),
})
const containerStatuses = list({
  name: text,
  restartCount: number,
  image: text,
  imageID: text,
  state,
  lastState: state,
})
const template = object({ metadata: object({ labels: texts, annotations: texts }), spec: object(podSpec) })

/** `spec`, `status` and the involved object of an event may be absent, but never null. */
const part = (fields: Fields) => fieldsOf(fields, true)
const status = (fields: Fields = {}) => part({ ...fields, conditions })
const workload = {
  spec: part({
    replicas: number,
    minReadySeconds: number,
    selector,
    template,
    strategy: object({}),
    updateStrategy: object({}),
  }),
  status: status({ replicas: number, updatedReplicas: number, readyReplicas: number, availableReplicas: number }),
}
const balanced = status({ loadBalancer: object({ ingress: list({ ip: text, hostname: text }) }) })
const paths = list({ backend: object({ service: object({ name: text, port: object({}) }) }) })

/** The fields that rules read, by kind. */
const kinds: Readonly<Record<string, Fields>> = {
  '/Pod': {
    spec: part(podSpec),
    status: status({ phase: text, ...cause, containerStatuses, initContainerStatuses: containerStatuses }),
  },
  '/ReplicationController': { spec: part({ replicas: number, selector: texts, template }), status: status() },
  '/Service': { spec: part({ selector: texts, ports: list({ name: text, targetPort: scalar }) }), status: balanced },
  '/PersistentVolumeClaim': { spec: part({ storageClassName: text }), status: status({ phase: text }) },
  '/Node': { spec: part({ taints: list({ key: text }) }), status: status() },
  '/Namespace': { status: status({ phase: text }) },
  '/Event': {
    involvedObject: part({ kind: text, namespace: text, name: text, uid: text, fieldPath: text }),
    type: text,
    ...cause,
    count: number,
    series: object({ count: number }),
    firstTimestamp: text,
    lastTimestamp: text,
    eventTime: text,
  },
  'apps/Deployment': workload,
  'apps/ReplicaSet': workload,
  'apps/StatefulSet': workload,
  'apps/DaemonSet': workload,
  'batch/Job': {
    spec: part({ completions: number, selector, template }),
    status: status({ active: number, succeeded: number, failed: number }),
  },
  'discovery.k8s.io/EndpointSlice': {
    endpoints: list({ conditions: object({}), targetRef: object({ name: text, uid: text }) }),
    ports: list({ name: text, port: number }),
  },
  'networking.k8s.io/Ingress': { spec: part({ rules: list({ http: object({ paths }) }) }), status: balanced },
}

const anyKind = object({ metadata })
const schemas = new Map(
  Object.entries(kinds).map(([kind, fields]) => [
    kind,
    object({ metadata, spec: part({}), status: part({}), involvedObject: part({}), ...fields }),
  ]),
)

/**
 * Describes the first field of an object with a wrong type; undefined if all types are correct. Rules rely on the types of
 * fields, and a file can contain anything. For custom resources only the metadata is checked: their rules accept any type.
 */
export function objectMistake(object: KubeObject): string | undefined {
  const schema = schemas.get(`${groupOf(object.apiVersion)}/${object.kind}`) ?? anyKind
  const path = schema(object)
  return path === undefined ? undefined : `its object is invalid: ${path.join('.')} has the wrong type`
}

/** Whether a JSON value has the fields that identify an object. */
export function isObject(value: unknown): value is KubeObject {
  const { apiVersion, kind, metadata } = (value ?? {}) as Partial<KubeObject>
  return typeof apiVersion === 'string' && typeof kind === 'string' && typeof metadata?.name === 'string'
}
