import { groupOf, isObject, type KubeObject } from './objects.ts'

/* Checks the types of the fields that rules read: an object in a recording or behind a proxy may have wrong types. */

/** Returns the path to the first value with a wrong type, or undefined. An empty path means the checked value itself. */
type FieldCheck = (value: unknown) => readonly string[] | undefined
type Fields = Readonly<Record<string, FieldCheck>>

const checkType =
  (...types: readonly string[]): FieldCheck =>
  (value) =>
    types.includes(typeof value) ? undefined : []

const checkListOf =
  (check: FieldCheck): FieldCheck =>
  (value) => {
    if (!Array.isArray(value)) return []
    for (let index = 0; index < value.length; index += 1) {
      const path = check(value[index])
      if (path !== undefined) return [`${index}`, ...path]
    }
    return undefined
  }

/** Accepts an object whose fields have the types in `fieldTypes`, or in `exceptions`. */
const checkObjectWith = (exceptions: Fields = {}): FieldCheck => {
  const own = new Map(Object.entries(exceptions))
  return (value) => {
    if (!isObject(value)) return []
    for (const name of Object.keys(value)) {
      const check = own.get(name) ?? fieldTypes.get(name)
      if (check === undefined) continue
      const field = value[name]
      // For the Kubernetes API, a null field is an absent field.
      if (field === null) delete value[name]
      const path = field === null || field === undefined ? undefined : check(field)
      if (path !== undefined) return [name, ...path]
    }
    return undefined
  }
}

/** Checks each object only once: versions of a pod share equal parts, such as their spec (`shareEqualParts`). */
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

const checkText = checkType('string')
const checkScalar = checkType('string', 'number')
const checkObject = checkObjectWith()
const checkObjects = checkListOf(checkObject)
/** Accepts a list of objects that all have these fields. */
const checkListOfObjectsWith = (...names: readonly string[]): FieldCheck =>
  checkListOf((value) => {
    const path = checkObject(value)
    if (path !== undefined) return path
    const missing = names.find((name) => (value as Record<string, unknown>)[name] === undefined)
    return missing === undefined ? undefined : [missing]
  })
const checkScalars = checkListOf(checkScalar)
/** Accepts a map of labels. Its keys are not names of fields. */
const checkLabels: FieldCheck = (value) => (isObject(value) ? checkScalars(Object.values(value)) : [])
const checkSelector: FieldCheck = (value) => (checkLabels(value) === undefined ? undefined : checkObject(value))

const types: readonly (readonly [FieldCheck, string])[] = [
  [
    checkText,
    `apiVersion creationTimestamp deletionTimestamp eventTime fieldPath finishedAt firstTimestamp hostname image imageID ip
     key ingressClassName kind lastTimestamp lastTransitionTime manager message name namespace nodeName operation operator phase reason
     secretName serviceName startedAt storageClassName subresource time type uid`,
  ],
  [
    checkType('number'),
    `active availableReplicas containerPort count exitCode failed failureThreshold initialDelaySeconds minReadySeconds
     periodSeconds readyReplicas replicas restartCount signal succeeded updatedReplicas`,
  ],
  // These fields are only compared, so a handwritten recording may contain either type.
  [checkScalar, 'completions generation observedGeneration resourceVersion targetPort'],
  [
    checkObject,
    `backend data exec http httpGet involvedObject lastState livenessProbe loadBalancer metadata readinessProbe resources running
     scaleTargetRef series service startupProbe state status strategy targetRef tcpSocket template terminated updateStrategy waiting`,
  ],
  [cachedCheck(checkObject), 'spec'],
  [
    checkObjects,
    `containerStatuses env envFrom ingress initContainerStatuses managedFields matchExpressions paths ports
     readinessGates rules schedulingGates taints tls tolerations volumeMounts`,
  ],
  [checkListOf(checkText), 'args command finalizers ownedFields values'],
  [checkLabels, 'annotations applied hard labels matchLabels'],
  [checkSelector, 'selector'],
  [checkObjectWith({ service: checkText }), 'grpc'],
  [checkListOf(checkObjectWith({ status: checkText })), 'conditions'],
  [checkListOf(checkObjectWith({ conditions: checkObject, addresses: checkListOf(checkText) })), 'endpoints'],
  [checkListOf(checkObjectWith({ image: checkObject })), 'volumes'],
  [checkListOfObjectsWith('name'), 'containers initContainers'],
  // The uid may be missing in a handwritten object. Then the object has no owner.
  [checkListOfObjectsWith('apiVersion', 'kind', 'name'), 'ownerReferences'],
]

/** The type check for each field that rules read, by name. A name has nearly always the same type in all kinds. */
const fieldTypes: ReadonlyMap<string, FieldCheck> = new Map(
  types.flatMap(([check, names]) => names.split(/\s+/).map((name) => [name, check] as const)),
)

/** The kinds to check, as group and kind. Other kinds are not checked, because their rules accept any type. */
const checkedKinds: ReadonlySet<string> = new Set([
  ...'/Event /Namespace /Node /PersistentVolumeClaim /Pod /ReplicationController /ResourceQuota /Service'.split(' '),
  ...['ControllerRevision', 'DaemonSet', 'Deployment', 'ReplicaSet', 'StatefulSet'].map((kind) => `apps/${kind}`),
  'autoscaling/HorizontalPodAutoscaler',
  'batch/Job',
  'discovery.k8s.io/EndpointSlice',
  'networking.k8s.io/Ingress',
])

/**
 * Explains the first field of an object with a wrong type. Undefined if all types are correct. Removes null fields.
 * Rules rely on the types of the Kubernetes API. With a wrong type, a rule may give a wrong verdict without an error:
 * `replicas: "three"` compares as NaN.
 */
export function explainWrongType(object: KubeObject): string | undefined {
  if (checkType('number', 'string')(object.metadata.generation) !== undefined) delete object.metadata.generation
  const isChecked = checkedKinds.has(`${groupOf(object.apiVersion)}/${object.kind}`)
  const path = isChecked ? (pathOfNullPart(object) ?? checkObject(object)) : checkObject({ metadata: object.metadata })
  return path === undefined ? undefined : `its object is invalid: ${path.join('.')} has the wrong type`
}

/** The path to a part that is null, such as `spec`. `spec` may be absent, but `spec: null` means a damaged object. */
function pathOfNullPart(object: KubeObject & { involvedObject?: unknown }): readonly string[] | undefined {
  const part = (['spec', 'status', 'involvedObject'] as const).find((name) => object[name] === null)
  return part && [part]
}

/** Whether a JSON value has the fields that identify an object. */
export function isKubeObject(value: unknown): value is KubeObject {
  const { apiVersion, kind, metadata } = (value ?? {}) as Partial<KubeObject>
  return typeof apiVersion === 'string' && typeof kind === 'string' && typeof metadata?.name === 'string'
}
