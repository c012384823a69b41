import { groupOf, isObject, type KubeObject } from './objects.ts'

/* Checks the types of the fields that rules read: a recording or a proxy may contain others than the API server. */

/** Returns undefined if all types are correct, else the path of the first wrong value (empty: the checked value itself). */
type FieldCheck = (value: unknown) => readonly string[] | undefined
type Fields = Readonly<Record<string, FieldCheck>>

const hasType =
  (...types: readonly string[]): FieldCheck =>
  (value) =>
    types.includes(typeof value) ? undefined : []

const listOf =
  (check: FieldCheck): FieldCheck =>
  (value) => {
    if (!Array.isArray(value)) return []
    for (let index = 0; index < value.length; index += 1) {
      const path = check(value[index])
      if (path !== undefined) return [`${index}`, ...path]
    }
    return undefined
  }

/** Accepts an object whose known fields have the correct types. */
const object = (exceptions: Fields = {}): FieldCheck => {
  const own = new Map(Object.entries(exceptions))
  return (value) => {
    if (!isObject(value)) return []
    for (const name of Object.keys(value)) {
      const check = own.get(name) ?? fieldTypes.get(name)
      if (check === undefined) continue
      const field = value[name]
      // For the API a field that is null is absent.
      if (field === null) delete value[name]
      const path = field === null || field === undefined ? undefined : check(field)
      if (path !== undefined) return [name, ...path]
    }
    return undefined
  }
}

/** Checks a value once: objects share equal parts (`shareEqualParts`), such as the specs of a pod's versions. */
function cachedCheck(check: FieldCheck): FieldCheck {
  const correct = new WeakSet<object>()
  return (value) => {
    if (!isObject(value)) return check(value)
    if (correct.has(value)) return undefined
    const path = check(value)
    if (path === undefined) correct.add(value)
    return path
  }
}

const text = hasType('string')
const scalar = hasType('string', 'number')
const checkObject = object()
const objects = listOf(checkObject)
/** Accepts a list of objects in which none of these fields is missing. */
const listOfObjectsWith = (...names: readonly string[]): FieldCheck =>
  listOf((value) => {
    const path = checkObject(value)
    if (path !== undefined) return path
    const missing = names.find((name) => (value as Record<string, unknown>)[name] === undefined)
    return missing === undefined ? undefined : [missing]
  })
/** Labels, and a selector that is a bare map of labels: their keys are no field names. */
const scalars = listOf(scalar)
const labels: FieldCheck = (value) => (isObject(value) ? scalars(Object.values(value)) : [])
const selector: FieldCheck = (value) => (labels(value) === undefined ? undefined : checkObject(value))

const types: readonly (readonly [FieldCheck, string])[] = [
  [
    text,
    `apiVersion creationTimestamp deletionTimestamp eventTime fieldPath finishedAt firstTimestamp hostname image imageID ip
     key ingressClassName kind lastTimestamp lastTransitionTime manager message name namespace nodeName operation operator phase reason
     secretName serviceName startedAt storageClassName subresource time type uid`,
  ],
  [
    hasType('number'),
    `active availableReplicas containerPort count exitCode failed failureThreshold initialDelaySeconds minReadySeconds
     periodSeconds readyReplicas replicas restartCount signal succeeded updatedReplicas`,
  ],
  // Handwritten recordings may contain either: these fields are only compared.
  [scalar, 'completions generation observedGeneration resourceVersion targetPort'],
  [
    checkObject,
    `backend data exec http httpGet involvedObject lastState livenessProbe loadBalancer metadata readinessProbe resources running
     scaleTargetRef series service startupProbe state status strategy targetRef tcpSocket template terminated updateStrategy waiting`,
  ],
  [cachedCheck(checkObject), 'spec'],
  [
    objects,
    `containerStatuses env envFrom ingress initContainerStatuses managedFields matchExpressions paths ports
     readinessGates rules schedulingGates taints tls tolerations volumeMounts`,
  ],
  [listOf(text), 'args command finalizers ownedFields values'],
  [labels, 'annotations applied hard labels matchLabels'],
  [selector, 'selector'],
  [object({ service: text }), 'grpc'],
  [listOf(object({ status: text })), 'conditions'],
  [listOf(object({ conditions: checkObject, addresses: listOf(text) })), 'endpoints'],
  [listOf(object({ image: checkObject })), 'volumes'],
  [listOfObjectsWith('name'), 'containers initContainers'],
  // A handwritten object may lack the uid of its owner: then nothing owns it.
  [listOfObjectsWith('apiVersion', 'kind', 'name'), 'ownerReferences'],
]

/** The types of the fields that rules read, by name. */
const fieldTypes: ReadonlyMap<string, FieldCheck> = new Map(
  types.flatMap(([check, names]) => names.split(/\s+/).map((name) => [name, check] as const)),
)

/** The kinds that rules read by their fields, by group and kind. The rules of custom resources accept any type. */
const checkedKinds: ReadonlySet<string> = new Set([
  ...[
    'Event',
    'Namespace',
    'Node',
    'PersistentVolumeClaim',
    'Pod',
    'ReplicationController',
    'ResourceQuota',
    'Service',
  ].map((kind) => `/${kind}`),
  ...['ControllerRevision', 'DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'].map((kind) => `apps/${kind}`),
  'autoscaling/HorizontalPodAutoscaler',
  'batch/Job',
  'discovery.k8s.io/EndpointSlice',
  'networking.k8s.io/Ingress',
])

/**
 * Describes the first field of an object with a wrong type; undefined if all types are correct. Removes fields that are
 * null, and a generation that is no number: the object is judged as one without.
 *
 * Rules rely on the types that the API server guarantees. A recording, an aggregated API server or a proxy may contain
 * other types. With few exceptions, a field name has the same type in all checked kinds, so one list of names is
 * enough. Rules read no other fields. The types are checked before rules read them: a wrong type may give a wrong
 * verdict without an error (`replicas: "three"` compares as NaN), and a defect of a rule must not look like a damaged
 * recording.
 */
export function explainWrongType(object: KubeObject): string | undefined {
  if (hasType('number', 'string')(object.metadata.generation) !== undefined) delete object.metadata.generation
  const isChecked = checkedKinds.has(`${groupOf(object.apiVersion)}/${object.kind}`)
  const path = isChecked ? (pathOfNullPart(object) ?? checkObject(object)) : checkObject({ metadata: object.metadata })
  return path === undefined ? undefined : `its object is invalid: ${path.join('.')} has the wrong type`
}

/** The path of a part that is null: an object may lack `spec`, but an object whose `spec` is null is damaged. */
function pathOfNullPart(object: KubeObject & { involvedObject?: unknown }): readonly string[] | undefined {
  const part = (['spec', 'status', 'involvedObject'] as const).find((name) => object[name] === null)
  return part && [part]
}

/** Whether a JSON value has the fields that identify an object. */
export function isKubeObject(value: unknown): value is KubeObject {
  const { apiVersion, kind, metadata } = (value ?? {}) as Partial<KubeObject>
  return typeof apiVersion === 'string' && typeof kind === 'string' && typeof metadata?.name === 'string'
}
