import { isDeepStrictEqual } from 'node:util'
import { describePath, describePointer, type PathStep, stepsToElements, toPointer } from '../cluster/field-paths.ts'
import { desiredReplicasOf, type Fields, isObject, type KubeObject, type ManagedFields } from '../cluster/objects.ts'
import type { Redactor } from '../cluster/redact.ts'
import { durationToMs } from '../duration.ts'
import { isBuiltIn } from './kinds.ts'
import { wordSet } from './names.ts'
import type { Plan } from './resolve.ts'
import { type ManifestObject, nameKey } from './target.ts'

/*
 * Compares manifests with live objects. They are equal if the API server would store the manifest as the live object.
 * Built-in kinds follow the API types (https://github.com/kubernetes/api): most fields are pointers, which the server
 * stores as written. The server stores custom resources as they were sent.
 */

/** A field that differs: missing or different in the live object, or no longer in the manifest. */
export interface Difference {
  readonly path: readonly PathStep[]
  /** The value in the manifest. Undefined if the manifest does not contain the field. */
  readonly manifest: unknown
  /** The value in the live object. Undefined if the live object does not contain the field. */
  readonly live: unknown
}

type Path = readonly PathStep[]

/**
 * Finds the fields that differ between a manifest and a live object. Additional live fields count only if they are in
 * `owned`: the server or a webhook may have added others. Does not compare `status`, `apiVersion`, name and namespace.
 * @param manifest the result of {@link comparableManifest}
 * @param owned pointers to the fields that the writer of the live object owns
 */
export function findDifferences(
  manifest: ManifestObject,
  live: KubeObject,
  owned: readonly string[] = [],
): readonly Difference[] {
  const comparison = new Comparison(live, owned)
  comparison.compare(comparedContent(manifest), comparedContent(live as unknown as ManifestObject), [])
  return comparison.found
}

function comparedContent({ apiVersion: _, kind: __, status: ___, metadata, ...rest }: ManifestObject): Fields {
  const { labels = {}, annotations = {} } = metadata
  return { metadata: { labels, annotations }, ...rest }
}

/** Scalar fields (`omitempty`, no pointer) whose zero the server does not store: it stores the default, if any. */
const omittedZeros = wordSet(`
  readOnly stdin stdinOnce tty hostNetwork hostPID hostIPC publishNotReadyAddresses paused globalDefault minReadySeconds
  initialDelaySeconds hostPort value prefix subPath subPathExpr workingDir image medium fsType secretName hostname subdomain
  priorityClassName name host hostIP path key operator effect loadBalancerIP externalName apiGroup preserveUnknownFields
  nullable deprecated description format pattern priority singular listKind x-kubernetes-int-or-string
  x-kubernetes-embedded-resource partition title id uniqueItems exclusiveMaximum exclusiveMinimum nodeName serviceAccount
  serviceAccountName clusterIP nodePort healthCheckNodePort volumeName message reason container timeoutSeconds
  periodSeconds successThreshold failureThreshold protocol scheme type imagePullPolicy terminationMessagePath
  terminationMessagePolicy restartPolicy dnsPolicy schedulerName sessionAffinity podManagementPolicy concurrencyPolicy
  divisor targetPort`)

/** Fields whose value the server, admission or a controller of the control plane chooses. */
const chosenByServer = wordSet(`
  serviceAccount nodeName resizePolicy hostPort clusterIP clusterIPs ipFamilies ipFamilyPolicy nodePort healthCheckNodePort
  volumeName spec.storageClassName volumeClaimTemplates.status volumeLifecycleModes podReplacementPolicy behavior
  webhooks.namespaceSelector webhooks.objectSelector names.singular names.listKind conversion apiGroup finalizers
  creationTimestamp behavior.scaleUp behavior.scaleDown scaleUp.policies scaleDown.policies
  matchConstraints.namespaceSelector matchConstraints.objectSelector matchResources.namespaceSelector
  matchResources.objectSelector`)

/**
 * Default values: what the server stores if a manifest omits a field (pkg/apis, `defaults.go` of each group). A key
 * with dots contains parents of the field. A list contains the defaults of several kinds.
 */
const defaults: Readonly<Record<string, unknown>> = {
  // Defaults for pods
  restartPolicy: 'Always',
  dnsPolicy: 'ClusterFirst',
  schedulerName: 'default-scheduler',
  serviceAccountName: 'default',
  terminationGracePeriodSeconds: 30,
  enableServiceLinks: true,
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  timeoutSeconds: 1,
  periodSeconds: 10,
  successThreshold: 1,
  failureThreshold: 3,
  'httpGet.path': '/',
  scheme: 'HTTP',
  'grpc.service': '',
  protocol: 'TCP',
  defaultMode: 420,
  expirationSeconds: 3600,
  divisor: '0',
  'fieldRef.apiVersion': 'v1',
  // Defaults for workloads
  replicas: 1,
  revisionHistoryLimit: 10,
  progressDeadlineSeconds: 600,
  'strategy.type': 'RollingUpdate',
  'strategy.rollingUpdate.maxSurge': '25%',
  'strategy.rollingUpdate.maxUnavailable': '25%',
  'updateStrategy.type': 'RollingUpdate',
  'updateStrategy.rollingUpdate.maxSurge': 0,
  'updateStrategy.rollingUpdate.maxUnavailable': 1,
  partition: 0,
  podManagementPolicy: 'OrderedReady',
  whenDeleted: 'Retain',
  whenScaled: 'Retain',
  completions: 1,
  parallelism: 1,
  backoffLimit: 6,
  completionMode: 'NonIndexed',
  suspend: false,
  manualSelector: false,
  concurrencyPolicy: 'Allow',
  successfulJobsHistoryLimit: 3,
  failedJobsHistoryLimit: 1,
  'onPodConditions.status': 'True',
  minReplicas: 1,
  selectPolicy: 'Max',
  'scaleUp.stabilizationWindowSeconds': 0,
  // Defaults for Services and Secrets
  type: ['ClusterIP', 'Opaque', ''],
  sessionAffinity: 'None',
  'clientIP.timeoutSeconds': 10800,
  internalTrafficPolicy: 'Cluster',
  externalTrafficPolicy: 'Cluster',
  allocateLoadBalancerNodePorts: true,
  // Defaults for storage
  volumeMode: 'Filesystem',
  persistentVolumeReclaimPolicy: 'Retain',
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'Immediate',
  'volumeClaimTemplates.apiVersion': 'v1',
  'volumeClaimTemplates.kind': 'PersistentVolumeClaim',
  attachRequired: true,
  podInfoOnMount: false,
  storageCapacity: false,
  requiresRepublish: false,
  seLinuxMount: false,
  fsGroupPolicy: 'ReadWriteOnceWithFSType',
  // Defaults for webhooks and other kinds
  matchPolicy: 'Equivalent',
  failurePolicy: 'Fail',
  'webhooks.timeoutSeconds': 10,
  reinvocationPolicy: 'Never',
  scope: ['*', 'Cluster'],
  'service.port': 443,
  preemptionPolicy: 'PreemptLowerPriority',
  'ports.name': '',
  'iscsi.iscsiInterface': 'default',
  'azureDisk.cachingMode': 'ReadWrite',
  'azureDisk.fsType': 'ext4',
  'azureDisk.kind': 'Shared',
  'azureDisk.readOnly': false,
  allocationMode: 'ExactCount',
  count: 1,
  matchingPrecedence: 1000,
  nominalConcurrencyShares: 30,
  lendablePercent: 0,
  queues: 64,
  handSize: 8,
  queueLengthLimit: 50,
}

/** The default for the metrics of a HorizontalPodAutoscaler. */
const defaultMetrics = [
  { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } },
]

/** Whether the server may store this value if a manifest omits the field. `parent`: the live map with the field. */
function isDefault(name: string, value: unknown, parent: Fields, path: Path): boolean {
  const names = [...path.filter((step) => typeof step === 'string'), name]
  const fields = [3, 2, 1].map((length) => names.slice(-length).join('.'))
  if (fields.some((field) => chosenByServer.has(field))) return true
  const known = fields.find((field) => Object.hasOwn(defaults, field))
  if (known !== undefined && [defaults[known]].flat().includes(value)) return true
  if (name === 'imagePullPolicy') return value === defaultPullPolicy(String(parent['image']))
  if (name === 'targetPort') return value === parent['port']
  if (name === 'metrics') return isDeepStrictEqual(value, defaultMetrics)
  // Resource requests default to the limits.
  if (name === 'requests') return isObject(value) && isDefaultMap(value, [...path, name], parent)
  if (name === 'policyTypes') return String(value) === (parent['egress'] ? 'Ingress,Egress' : 'Ingress')
  if (Array.isArray(value)) return value.length === 0
  // A selector is not a default, because an empty selector selects everything.
  return isObject(value) && !/Selector$/.test(name) && isDefaultMap(value, [...path, name], parent)
}

/** @param parent the map that contains `value` */
function isDefaultMap(value: Fields, path: Path, parent: Fields): boolean {
  return Object.entries(value).every(
    ([name, field]) =>
      field === null || isDefaultRequest(name, value, path, parent) || isDefault(name, field, value, path),
  )
}

/** Whether this resource request may be the limit: the server stores the limit if a manifest omits the request. */
function isDefaultRequest(name: string, requests: Fields, path: Path, { limits }: Fields): boolean {
  return path.at(-1) === 'requests' && isObject(limits) && limits[name] === requests[name]
}

function defaultPullPolicy(image: string): string {
  const [, tag = 'latest'] = image.slice(image.lastIndexOf('/') + 1).split(':')
  return tag === 'latest' && !image.includes('@') ? 'Always' : 'IfNotPresent'
}

/** Maps and structs that are not pointers. If they are empty, the server omits them or fills them with defaults. */
const valueMaps =
  /^(?:labels|annotations|matchLabels|nodeSelector|selector|limits|requests|resources|metadata|spec|data|binaryData|stringData|strategy|updateStrategy|status|template|capacity|hard|parameters|properties)$/

/** Maps to which other writers add entries. So an empty map in the manifest equals a map with entries. */
const sharedMaps = /^(?:labels|annotations|metadata|spec)$/

/** Maps of texts that the server stores as written: an empty text differs from an absent value. */
const textMaps = /^(?:labels|annotations|matchLabels|nodeSelector|data|binaryData|parameters)$/

/** Fields with a Kubernetes quantity, and maps of quantities. */
const quantities =
  /^(?:limits|requests|hard|capacity|storage|sizeLimit|divisor|averageValue|overhead|podFixed|min|max|default|defaultRequest|maxLimitRequestRatio)$/

/** Lists to which controllers or admission add elements. */
const extendedLists = /^(?:tolerations|imagePullSecrets|finalizers|ownerReferences)$/

/** Pointers to maps to which webhooks and tools add fields: an owner of the whole map has written an empty map. */
const extendedMaps = /\/(?:resources|securityContext|labels|annotations)$/

/** Annotations that tools may change with each apply. */
const toolAnnotations =
  /^(?:kubectl\.kubernetes\.io\/last-applied|deployment\.kubernetes\.io\/|rollout-gate\/|argocd\.argoproj\.io\/tracking-id)/

/**
 * Compares a manifest with a live object. `ours`: a value in the manifest. `theirs`: the value in the live object. In
 * custom resources a zero differs from an absent field, and the order of lists matters.
 */
class Comparison {
  readonly found: Difference[] = []
  readonly #object: KubeObject
  readonly #isCustom: boolean
  readonly #isOwned: (pointer: string) => boolean

  constructor(object: KubeObject, owned: readonly string[] = []) {
    this.#object = object
    this.#isCustom = !isBuiltIn(object.apiVersion)
    this.#isOwned = createOwnershipTest(owned)
  }

  compare(ours: unknown, theirs: unknown, path: Path, parent: Fields = {}): void {
    if (ours === null || ours === undefined || (path.at(-1) === 'caBundle' && !this.#isSchema(path))) return
    const live = theirs === null ? undefined : theirs
    if (isObject(ours)) this.#compareMaps(ours, live, path, parent)
    else if (Array.isArray(ours)) this.#compareLists(ours, live, path)
    else if (!this.#isSame(ours, live, path, parent)) this.#addDifference(path, ours, live)
  }

  /** Whether a path is inside the schema of a CustomResourceDefinition. Properties there may have any name. */
  #isSchema(path: Path): boolean {
    return this.#object.kind === 'CustomResourceDefinition' && path.includes('openAPIV3Schema')
  }

  #addDifference(path: Path, manifest: unknown, live: unknown): void {
    const { applied = {} } = this.#object.metadata
    // In a custom resource, a controller or webhook may remove an empty field, so a missing one is no difference.
    const mayBeRemoved = this.#isCustom && live === undefined && (isZero(manifest) || isDeeplyEmpty(manifest))
    if (!mayBeRemoved || Object.hasOwn(applied, toPointer(path))) this.found.push({ path, manifest, live })
  }

  #compareMaps(ours: Fields, theirs: unknown, path: Path, parent: Fields): void {
    const fields = Object.entries(ours).filter(([, value]) => value !== null && value !== undefined)
    const live = theirs ?? {}
    const isOmittedIfEmpty = this.#isCustom
      ? path.length <= 1
      : path.length === 0 || valueMaps.test(String(path.at(-1)))
    const isAbsent = theirs === undefined && !isOmittedIfEmpty
    if (isAbsent || !isObject(live) || (fields.length === 0 && this.#hasAppliedContent(live, path, parent))) {
      this.#addDifference(path, ours, theirs)
      return
    }
    for (const [name, value] of fields)
      if (!isIgnoredField(path, name))
        this.compare(value, Object.hasOwn(live, name) ? live[name] : undefined, [...path, name], live)
    const known = new Set(fields.map(([name]) => name))
    if (fields.length === 0 && this.#isOwnedAsEmpty(path)) return
    for (const [name, value] of Object.entries(live))
      if (!known.has(name) && (value ?? undefined) !== undefined && !isDefaultRequest(name, live, path, parent))
        if (this.#isAppliedField(name, live, path, ours)) this.#addDifference([...path, name], undefined, value)
  }

  /** For a map that is empty in the manifest: whether the live map has content that only an apply can have added. */
  #hasAppliedContent(live: Fields, path: Path, parent: Fields): boolean {
    return !this.#isCustom && !sharedMaps.test(String(path.at(-1))) && !isDefaultMap(live, path, parent)
  }

  /** Whether an apply wrote this map of a custom resource as an empty map: the content is defaults of the schema. */
  #isOwnedAsEmpty(path: Path): boolean {
    // A field with another name is owned only if the map itself is owned. A selector is always owned as a whole.
    return this.#isCustom && !/selector$/i.test(String(path.at(-1))) && this.#isOwned(toPointer([...path, '']))
  }

  /** For a field that only the live object contains: whether only an apply can have added the field. */
  #isAppliedField(name: string, live: Fields, path: Path, ours: Fields): boolean {
    const isInAtomicList = path.some((step) => typeof step === 'number')
    const isOwned = this.#isOwned(toPointer([...path, name]))
    if (this.#isCustom) return !isInAtomicList && isOwned
    // The server never adds properties to a schema, but a property may have the name of a field that the server adds.
    if (path.at(-1) === 'properties' && this.#isSchema(path)) return isInAtomicList || isOwned
    // Only the live variable has a source. If the manifest's variable has no value either, an apply added the source.
    if (path.at(-2) === 'env' && name === 'valueFrom') return (ours['value'] ?? '') === ''
    return (isInAtomicList || isOwned) && !isDefault(name, live[name], live, path)
  }

  #compareLists(ours: readonly unknown[], theirs: unknown, path: Path): void {
    const live = theirs ?? (this.#isCustom ? undefined : [])
    if (!Array.isArray(live) || (!this.#isCustom && ours.length === 0 && live.length > 0))
      this.#addDifference(path, ours, theirs)
    else if (!this.#isCustom && extendedLists.test(String(path.at(-1)))) {
      for (const [index, each] of ours.entries())
        if (!live.some((other) => this.#isEqualElement(each, other, [...path, index])))
          this.#addDifference([...path, index], each, undefined)
    } else if (this.#isCustom || !this.#compareByKey(ours, live, path)) {
      if (ours.length !== live.length) this.#addDifference(path, ours, theirs)
      else for (const [index, each] of ours.entries()) this.compare(each, live[index], [...path, index])
    }
  }

  /** Compares elements by their identifying fields. Returns false if no fields identify the elements. */
  #compareByKey(ours: readonly unknown[], theirs: readonly unknown[], path: Path): boolean {
    const name = path.at(-1)
    const [steps, liveSteps] = [stepsToElements(name, ours), stepsToElements(name, theirs)]
    if (steps === undefined || liveSteps === undefined) return false
    const live = new Map(theirs.map((each, index) => [stepKey(liveSteps[index]), each]))
    for (const [index, each] of ours.entries())
      this.compare(each, live.get(stepKey(steps[index])), [...path, steps[index] ?? index])
    if (name === 'initContainers') this.#compareOrder(steps, liveSteps, path)
    const written = new Set(steps.map(stepKey))
    for (const [index, step] of liveSteps.entries())
      if (!written.has(stepKey(step)) && this.#isOwned(toPointer([...path, step])))
        this.#addDifference([...path, step], undefined, theirs[index])
    return true
  }

  /** Compares the order of init containers, which run one after another. Ignores containers that webhooks have added. */
  #compareOrder(ours: readonly PathStep[], theirs: readonly PathStep[], path: Path): void {
    const names = ours.map(stepText)
    const present = theirs.map(stepText).filter((name) => names.includes(name))
    if (present.length === names.length && present.join() !== names.join())
      this.#addDifference([...path, 'order'], names.join(', '), present.join(', '))
  }

  #isEqualElement(ours: unknown, theirs: unknown, path: Path): boolean {
    const other = new Comparison(this.#object)
    other.compare(ours, theirs, path)
    return other.found.length === 0
  }

  /** Whether the API server would store two scalars equally. `parent`: the map that contains the live value. */
  #isSame(ours: unknown, live: unknown, path: Path, parent: Fields): boolean {
    if (ours === live) return true
    if (this.#isCustom) {
      const isResource = /^(?:limits|requests)$/.test(String(path.at(-2)))
      return isSameWithUnit(ours, live) || (isResource && isSameQuantity(String(ours), String(live)))
    }
    const name = String(path.at(-1))
    const isSchema = this.#isSchema(path)
    // An empty class is not stored in a PersistentVolume. In a PersistentVolumeClaim, the field is a pointer.
    if (name === 'storageClassName' && this.#object.kind === 'PersistentVolume' && ours === '')
      return live === undefined
    const isInMap = !isSchema && path.length > 1 && textMaps.test(String(path.at(-2)))
    if (isZero(ours) && !isInMap && omittedZeros.has(name))
      // The server does not store a zero of these fields, but omits the field or stores its default.
      return live === undefined || isDefault(name, live, parent, path.slice(0, -1))
    if (live === undefined || typeof live === 'object' || isSchema) return false
    const isQuantity = !isInMap && path.slice(-2).some((step) => quantities.test(String(step)))
    const isMetric = name === 'value' && path.includes('target')
    if (isQuantity || isMetric) return isSameQuantity(String(ours), String(live))
    return /(?:Time|Timestamp|At)$/.test(name) && isSameMoment(ours, live)
  }
}

/** Whether two texts of a custom resource are equal times, quantities or durations. */
function isSameWithUnit(ours: unknown, live: unknown): boolean {
  if (typeof ours !== 'string' || typeof live !== 'string') return false
  const isMoment = /^\d{4}-\d\d-\d\dT/.test(ours) && isSameMoment(ours, live)
  return isMoment || (hasUnit(ours) && hasUnit(live) && isSameQuantity(ours, live)) || isSameDuration(ours, live)
}

function isIgnoredField(path: Path, name: string): boolean {
  if (path.at(-1) === 'annotations') return toolAnnotations.test(name)
  if (name === 'status') return path.includes('volumeClaimTemplates')
  return path.at(-1) === 'metadata' && name === 'creationTimestamp'
}

function stepKey(step: PathStep | undefined): string {
  return JSON.stringify(step)
}

function stepText(step: PathStep): string {
  return typeof step === 'object' ? Object.values(step).join(' ') : String(step)
}

function isZero(value: unknown): boolean {
  return value === '' || value === false || value === 0
}

function isDeeplyEmpty(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  if (!isObject(value)) return value === null || value === undefined || isZero(value)
  return Object.values(value).every(isDeeplyEmpty)
}

const powers: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

function hasUnit(text: string): boolean {
  return /\d(?:[KMGTPE]i|[kMGTPEmun])$/.test(text)
}

/** Whether two quantities are exactly equal (k8s.io/apimachinery pkg/api/resource, `Quantity`). */
function isSameQuantity(a: string, b: string): boolean {
  const [left, right] = [nanosOf(a), nanosOf(b)]
  return left !== undefined && left === right
}

/** A quantity in billionths, the smallest unit. Rounds smaller fractions up, like the server. Undefined if invalid. */
function nanosOf(text: string): bigint | undefined {
  const match = /^([+-]?)(\d{0,30})(?:\.(\d{0,30}))?(?:([KMGTPE]i|[kMGTPEmun])|[eE]([+-]?\d{1,2}))?$/.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '', decimals = '', unit = '', exponent = '0'] = match
  if (whole === '' && decimals === '') return undefined
  const factor = unit.endsWith('i') ? 1024n ** BigInt(binary.indexOf(unit)) : 1n
  const shift = 9 + (unit.endsWith('i') ? 0 : (powers[unit] ?? 0)) + Number(exponent) - decimals.length
  const digits = BigInt(`${whole}${decimals}`) * factor
  const divisor = 10n ** BigInt(Math.max(0, -shift))
  const value = shift >= 0 ? digits * 10n ** BigInt(shift) : (digits + divisor - 1n) / divisor
  return sign === '-' ? -value : value
}

/** Whether two durations are equal, in Go's notation: `8760h` equals `8760h0m0s`. */
function isSameDuration(a: string, b: string): boolean {
  const [left, right] = [durationToMs(a), durationToMs(b)]
  return left !== undefined && left === right
}

function isSameMoment(ours: unknown, theirs: unknown): boolean {
  const [left, right] = [Date.parse(String(ours)), Date.parse(String(theirs))]
  return !Number.isNaN(left) && left === right
}

/** Describes a difference for messages: `spec.replicas is 5, not 3`. Does not show hashed values. */
export function describeDifference({ path, manifest, live }: Difference): string {
  const field = describePath(path)
  const [ours, theirs] = [shownValue(manifest), shownValue(live)]
  if (manifest === undefined && live !== undefined) return removedFieldText(field)
  if (live === undefined) return ours === undefined ? `${field} is missing` : `${field} is missing, not ${ours}`
  return ours === undefined || theirs === undefined ? `${field} differs` : `${field} is ${theirs}, not ${ours}`
}

function removedFieldText(field: string): string {
  return `${field} is set, and not in the file`
}

const maxValueLength = 120

function shownValue(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value) && value.length === 0) return 'empty'
  if (typeof value !== 'string' || value.startsWith('hmac:') || value.includes('\n')) return undefined
  if (value === '') return 'empty'
  return value.length > maxValueLength ? `${value.slice(0, maxValueLength)}…` : value
}

/* The applier is the client that applied the manifest. The applier's record is in an annotation or in `managedFields`. */

/** Labels and annotations that tools or the server add when a manifest is applied. */
const toolMetadata =
  /^\/(?:metadata|spec\/template\/metadata)\/(?:labels|annotations)\/(?:app\.kubernetes\.io~1(?:instance|managed-by)$|argocd\.argoproj\.io~1|[\w.]+\.toolkit\.fluxcd\.io~1|meta\.helm\.sh~1|kapp\.k14s\.io~1|config\.k8s\.io~1|configmanagement\.gke\.io~1|kubernetes\.io~1metadata\.name$|deprecated\.daemonset|kubectl\.kubernetes\.io~1last|deployment\.kubernetes\.io~1|rollout-gate~1|objectset\.rio\.cattle\.io~1)/

/** Whether the applier's record is equal to the manifest. */
export function isEqualRecord({ differing, removed }: LastAppliedComparison): boolean {
  return differing.length === 0 && removed.length === 0
}

/** The differences between the applier's record and a manifest. */
interface LastAppliedComparison {
  /** Sentences about fields of the manifest with another value in the record. Empty if the record has no values. */
  readonly differing: readonly string[]
  /** Sentences about fields that were applied, but that the manifest does not contain. */
  readonly removed: readonly string[]
  /** Whether the record contains the values of the fields, not only their names. */
  readonly hasValues: boolean
  /** The applier's entry in `managedFields`. */
  readonly applier?: ManagedFields | undefined
}

/**
 * Compares a manifest with the applier's record: the annotation `last-applied-configuration`, else the fields that a
 * server-side apply owns, else the fields that an update owns (Helm 3, `kubectl replace`). Undefined if there is no
 * record, or if the manifest has no hashes of its values (`metadata.applied`).
 */
export function compareWithLastApplied(manifest: ManifestObject, live: KubeObject): LastAppliedComparison | undefined {
  const { applied: ours } = manifest.metadata as KubeObject['metadata']
  const { applied, managedFields = [] } = live.metadata
  if (ours === undefined) return undefined
  const writers = managedFields.filter(({ subresource, ownedFields }) => !subresource && ownedFields !== undefined)
  const appliers = writers.filter(({ operation }) => operation === 'Apply')
  const lastApplied = '/kubectl.kubernetes.io~1last-applied-configuration'
  const client = managedFields.find(
    ({ operation, ownedFields = [] }) =>
      operation === 'Update' && ownedFields.some((pointer) => pointer.endsWith(lastApplied)),
  )
  // The annotation is stale if another tool applied the object later than kubectl.
  const isStale = appliers.some(
    ({ time = '', ownedFields = [] }) =>
      time > (client?.time ?? '') && ownedFields.some((pointer) => !pointer.startsWith('/metadata/')),
  )
  if (applied !== undefined && !(client !== undefined && isStale))
    return { ...compareApplied(ours, applied), hasValues: true, applier: client }
  // In a custom resource or a Job, an update may come from the controller, so only server-side applies count.
  const mayBeFromController = !isBuiltIn(manifest.apiVersion) || manifest.kind === 'Job'
  const applier = writerOfMostFields(Object.keys(ours), appliers.length > 0 || mayBeFromController ? appliers : writers)
  if (applier === undefined) return undefined
  const owned = applier.ownedFields?.filter((pointer) => !extendedMaps.test(pointer))
  const removedFields = findDifferences(manifest, live, owned).filter(({ manifest }) => manifest === undefined)
  return { differing: [], removed: removedFields.map(describeDifference), hasValues: false, applier }
}

/**
 * Finds the writer that owns the most fields of the manifest. `kubectl create` and `kubectl replace` count as one
 * writer, because `kubectl replace` owns only the fields that it has changed.
 */
function writerOfMostFields(ours: readonly string[], writers: readonly ManagedFields[]): ManagedFields | undefined {
  const isReplaced = ({ manager = '' }: ManagedFields) => /^kubectl-(?:create|replace)$/.test(manager)
  const replaced = writers.filter(isReplaced).toSorted((a, b) => ((a.time ?? '') < (b.time ?? '') ? 1 : -1))
  const [latest] = replaced
  const whole = latest && { ...latest, ownedFields: replaced.flatMap(({ ownedFields = [] }) => ownedFields) }
  const candidates = [...(whole ? [whole] : []), ...writers.filter((each) => !isReplaced(each))].map((writer) => {
    const { ownedFields = [] } = writer
    return { writer, count: ours.filter(createOwnershipTest(ownedFields)).length, ownedCount: ownedFields.length }
  })
  // Of two such writers, the one that owns more fields may have removed some.
  return candidates.toSorted((a, b) => b.count - a.count || b.ownedCount - a.ownedCount)[0]?.writer
}

/** Compares the hashes of the fields in the manifest and in `last-applied-configuration`, by their pointers. */
function compareApplied(
  ours: Readonly<Record<string, string>>,
  applied: Readonly<Record<string, string>>,
): Pick<LastAppliedComparison, 'differing' | 'removed'> {
  const compared = (fields: Readonly<Record<string, string>>) =>
    Object.keys(fields).filter((pointer) => !toolMetadata.test(pointer))
  const differing = compared(ours).filter((pointer) => applied[pointer] !== ours[pointer])
  const beyond = compared(applied).filter((pointer) => !Object.hasOwn(ours, pointer))
  // A removed field is described by its outermost parent that the manifest lacks.
  const known = new Set(Object.keys(ours).flatMap(prefixesOf))
  const removed = beyond.map((pointer) => prefixesOf(pointer).find((prefix) => !known.has(prefix)) ?? pointer)
  return {
    differing: differing.map((pointer) => `${describePointer(pointer)} differs`),
    removed: [...new Set(removed)].map((pointer) => removedFieldText(describePointer(pointer))),
  }
}

/** Creates a function that tests a pointer: whether one of the fields in `pointers` is equal, a parent or a child. */
function createOwnershipTest(pointers: readonly string[]): (pointer: string) => boolean {
  const owned = pointers.filter((pointer) => !toolMetadata.test(pointer))
  // The server stores the texts of `stringData` in `data`.
  const exact = new Set(owned.map((pointer) => pointer.replace(/^\/stringData/, '/data')))
  const above = new Set([...exact].flatMap(prefixesOf))
  return (pointer) => above.has(pointer) || prefixesOf(pointer).some((prefix) => exact.has(prefix))
}

/**
 * Whether something scaled the object to zero. The server records who writes the subresource `scale`, but not if the
 * number is 0: then no entry in `managedFields` owns the replicas.
 */
export function isScaledToZero(object: KubeObject): boolean {
  const owned = (object.metadata.managedFields ?? []).flatMap(({ ownedFields = [] }) => ownedFields)
  return desiredReplicasOf(object) === 0 && owned.length > 0 && !createOwnershipTest(owned)('/spec/replicas')
}

function prefixesOf(pointer: string): readonly string[] {
  const steps = pointer.split('/')
  return steps.slice(1).map((_, index) => steps.slice(0, index + 2).join('/'))
}

/**
 * Finds the fields of a manifest that a writer other than the applier has changed in the live object. If the applier's
 * record is equal to the manifest, fields that the applier owns are ignored: admission has changed them.
 */
export function findDriftedFields(manifest: ManifestObject, live: KubeObject): readonly Difference[] {
  if (isEncrypted(manifest)) return []
  // A field that only the live object contains does not count as drift.
  const found = findDifferences(manifest, live).filter(({ manifest }) => manifest !== undefined)
  const record = compareWithLastApplied(manifest, live)
  const { hasValues, applier } = record ?? {}
  const isKnown = record !== undefined && isEqualRecord(record) && (hasValues || applier?.operation === 'Apply')
  if (!isKnown || applier?.ownedFields === undefined) return found
  const owns = createOwnershipTest(applier.ownedFields)
  // Without recorded values, only fields that admission changes are known to be as applied.
  const isByAdmission = (difference: Difference) =>
    hasValues || !isBuiltIn(manifest.apiVersion) || mayAdmissionChange(difference) || isRewrittenImage(difference)
  return found.filter((difference) => !owns(toPointer(difference.path)) || !isByAdmission(difference))
}

/**
 * Whether admission may change this field of a pod template on each write: resources (GKE Autopilot, LimitRanger), pull
 * policies (AlwaysPullImages), security contexts (Kyverno, OpenShift) and node selectors.
 */
export function mayAdmissionChange({ path }: Difference): boolean {
  return path.includes('containers') || path.includes('initContainers')
    ? path.some((step) => step === 'resources' || step === 'imagePullPolicy' || step === 'securityContext')
    : path.at(-1) === 'securityContext' || path.at(-2) === 'securityContext' || path.at(-2) === 'nodeSelector'
}

/**
 * Whether a difference is an image that a webhook rewrote: `web:v2` to `web:v2@sha256:…`, to `web@sha256:…` (unless
 * `before` has this image), or to another registry (`mirror.example/web:v2`).
 */
export function isRewrittenImage({ path, manifest, live }: Difference, before?: Difference): boolean {
  if (path.at(-1) !== 'image' || typeof manifest !== 'string' || typeof live !== 'string') return false
  const [name, digest] = live.split('@')
  const [host = '', ...rest] = manifest.split('/')
  const bare = /[.:]|^localhost$/.test(host) && rest.length > 0 ? rest.join('/') : manifest
  if (name?.endsWith(`/${bare}`)) return live !== before?.live
  if (digest === undefined) return false
  return name === manifest || (name === manifest.replace(/:[^:/]+$/, '') && live !== before?.live)
}

/**
 * Prepares a manifest for comparison with live objects. Redacts secrets in the same way, and converts `stringData` of a
 * Secret to `data`. `metadata.applied` of the result contains the hashes of the manifest's fields.
 */
export function comparableManifest(manifest: ManifestObject, redactor: Redactor): ManifestObject {
  const object = redactor.redact(withServerEncoding(manifest) as unknown as KubeObject)
  const applied = redactor.hashLeaves(manifest as unknown as Fields)
  return { ...object, metadata: { ...object.metadata, applied } } as unknown as ManifestObject
}

function withServerEncoding(manifest: ManifestObject): ManifestObject {
  if (manifest.apiVersion !== 'v1') return manifest
  if (manifest.kind === 'ConfigMap') return { ...manifest, ...withPaddedBase64(manifest, 'binaryData') }
  if (manifest.kind !== 'Secret') return manifest
  const { stringData, ...secret } = manifest
  const texts = mapStrings(stringData, (text) => Buffer.from(text).toString('base64'))
  const { data = {} } = withPaddedBase64(secret, 'data')
  const values = { ...data, ...texts }
  return { ...(secret as ManifestObject), data: Object.keys(values).length === 0 ? undefined : values }
}

/** The field `name` of an object, with its base64 in the server's form: padded and without line breaks. */
function withPaddedBase64(object: Fields, name: string): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const values = mapStrings(object[name], (text) => Buffer.from(text, 'base64').toString('base64'))
  return Object.keys(values).length === 0 ? {} : { [name]: values }
}

function mapStrings(values: unknown, map: (text: string) => string): Readonly<Record<string, string>> {
  if (!isObject(values)) return {}
  return Object.fromEntries(
    Object.entries(values).flatMap(([key, text]) => (typeof text === 'string' ? [[key, map(text)]] : [])),
  )
}

/** Whether SOPS has encrypted values in the manifest (https://github.com/getsops/sops). */
function isEncrypted(manifest: ManifestObject): boolean {
  return isObject((manifest as unknown as Fields)['sops'])
}

/**
 * Adds the comparable manifest to each target, for `await-change` in a live run or a replay. `redactor` must be the
 * redactor of the live objects, so that hashed values can be compared.
 */
export function withComparableManifests<P extends Plan>(plan: P, redactor: Redactor): P {
  const targets = plan.targets.map((target) => {
    const manifest = plan.manifests.get(nameKey(target))
    // Encrypted values cannot be compared. Without a manifest, any new generation counts as the change.
    if (manifest === undefined || isEncrypted(manifest.object)) return target
    return { ...target, manifest: comparableManifest(manifest.object, redactor) }
  })
  return { ...plan, targets }
}
