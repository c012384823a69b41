import { isDeepStrictEqual } from 'node:util'
import { describePath, describePointer, type PathStep, stepsToElements, toPointer } from '../cluster/field-paths.ts'
import { type Fields, isObject, type KubeObject, type ManagedFields } from '../cluster/objects.ts'
import type { Redactor } from '../cluster/redact.ts'
import { durationToMs } from '../duration.ts'
import { isBuiltIn } from './kinds.ts'
import { wordSet } from './names.ts'
import type { Plan } from './resolve-targets.ts'
import { type ManifestObject, nameKey } from './target.ts'

/*
 * When a manifest and a live object are equal: where the API server would store the same. Built-in kinds follow the API
 * types (https://github.com/kubernetes/api): most fields are pointers, and are stored as written. Custom resources are
 * stored as they were sent.
 */

/** A field of the manifest that is missing or different in the live object, or one that the manifest no longer contains. */
export interface Difference {
  readonly path: readonly PathStep[]
  /** Undefined if the manifest does not contain the field. */
  readonly manifest: unknown
  /** Undefined if the field is missing. */
  readonly live: unknown
}

type Path = readonly PathStep[]

/**
 * The fields of a manifest that are missing or different in a live object. A field that only the live object contains
 * is compared if its writer owns the field (`owned`); else the server, a controller or a webhook may have added the
 * field. `status`, `apiVersion`, name and namespace are not compared.
 * @param manifest the result of {@link comparableManifest}
 * @param owned the pointers of the fields that the writer of the live object owns
 */
export function findDifferences(
  manifest: ManifestObject,
  live: KubeObject,
  owned: readonly string[] = [],
): readonly Difference[] {
  const comparison = isBuiltIn(manifest.apiVersion)
    ? new Comparison(manifest.kind, owned)
    : new CustomComparison(live, owned)
  comparison.compare(comparedContent(manifest), comparedContent(live as unknown as ManifestObject), [])
  return comparison.found
}

function comparedContent({ apiVersion: _, kind: __, status: ___, metadata, ...rest }: ManifestObject): Fields {
  const { labels = {}, annotations = {} } = metadata
  return { metadata: { labels, annotations }, ...rest }
}

/** Scalar fields of the API types that are `omitempty` and no pointers: a zero is not stored, and the default takes its place. */
const omittedZeros = wordSet(`
  readOnly stdin stdinOnce tty hostNetwork hostPID hostIPC publishNotReadyAddresses paused globalDefault minReadySeconds
  initialDelaySeconds hostPort value prefix subPath subPathExpr workingDir image medium fsType secretName hostname subdomain
  priorityClassName name host hostIP path key operator effect loadBalancerIP externalName apiGroup preserveUnknownFields
  nullable deprecated description format pattern priority singular listKind x-kubernetes-int-or-string
  x-kubernetes-embedded-resource title id uniqueItems exclusiveMaximum exclusiveMinimum nodeName serviceAccount
  serviceAccountName clusterIP nodePort healthCheckNodePort volumeName message reason container timeoutSeconds
  periodSeconds successThreshold failureThreshold protocol scheme type imagePullPolicy terminationMessagePath
  terminationMessagePolicy restartPolicy dnsPolicy schedulerName sessionAffinity podManagementPolicy concurrencyPolicy
  divisor targetPort`)

/** Fields whose value is chosen by the server, by admission or by a controller of the control plane. */
const chosenByServer = wordSet(`
  serviceAccount nodeName resizePolicy hostPort clusterIP clusterIPs ipFamilies ipFamilyPolicy nodePort healthCheckNodePort
  volumeName spec.storageClassName volumeClaimTemplates.status volumeLifecycleModes podReplacementPolicy behavior
  webhooks.namespaceSelector webhooks.objectSelector names.singular names.listKind conversion apiGroup finalizers
  creationTimestamp`)

/**
 * By field: the value that the server stores if a manifest omits the field (pkg/apis, `defaults.go` of each group).
 * If the default depends on the parent of the field, the key contains the parent. A list contains the defaults of
 * several kinds.
 */
const defaults: Readonly<Record<string, unknown>> = {
  // Pods
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
  // Workloads
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
  // Services and Secrets
  type: ['ClusterIP', 'Opaque', ''],
  sessionAffinity: 'None',
  'clientIP.timeoutSeconds': 10800,
  internalTrafficPolicy: 'Cluster',
  externalTrafficPolicy: 'Cluster',
  allocateLoadBalancerNodePorts: true,
  // Storage
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
  // Webhooks, and other classes
  matchPolicy: 'Equivalent',
  failurePolicy: 'Fail',
  'webhooks.timeoutSeconds': 10,
  reinvocationPolicy: 'Never',
  scope: ['*', 'Cluster'],
  'service.port': 443,
  preemptionPolicy: 'PreemptLowerPriority',
}

/**
 * Whether the server stores this value if a manifest omits the field. `parent`: the map of the live object that
 * contains the field.
 */
function isDefault(name: string, value: unknown, parent: Fields, path: Path): boolean {
  const names = [...path.filter((step) => typeof step === 'string'), name]
  const fields = [3, 2, 1].map((length) => names.slice(-length).join('.'))
  if (fields.some((field) => chosenByServer.has(field))) return true
  const known = fields.find((field) => Object.hasOwn(defaults, field))
  if (known !== undefined && [defaults[known]].flat().includes(value)) return true
  if (name === 'imagePullPolicy') return value === defaultPullPolicy(String(parent['image']))
  if (name === 'targetPort') return value === parent['port']
  // A request is by default as high as its limit.
  if (name === 'requests') return isDeepStrictEqual(value, parent['limits'])
  if (name === 'policyTypes') return String(value) === (parent['egress'] ? 'Ingress,Egress' : 'Ingress')
  if (Array.isArray(value)) return value.length === 0
  // An empty selector selects all.
  return isObject(value) && !/Selector$/.test(name) && isDefaultMap(value, [...path, name])
}

function isDefaultMap(value: Fields, path: Path): boolean {
  return Object.entries(value).every(([name, field]) => field === null || isDefault(name, field, value, path))
}

function defaultPullPolicy(image: string): string {
  const [, tag = 'latest'] = image.slice(image.lastIndexOf('/') + 1).split(':')
  return tag === 'latest' && !image.includes('@') ? 'Always' : 'IfNotPresent'
}

/** Maps and structs that are no pointers. The server does not store an empty one, or fills it with defaults. */
const valueMaps =
  /^(?:labels|annotations|matchLabels|nodeSelector|selector|limits|requests|resources|metadata|spec|data|binaryData|stringData|strategy|updateStrategy|status|template|capacity|hard|parameters|properties)$/

/** Maps to which other writers add entries: an empty map in the manifest equals a map with entries. */
const sharedMaps = /^(?:labels|annotations|metadata|spec)$/

/** Maps whose values are texts as they were written: `""` differs from an absent value. */
const textMaps = /^(?:labels|annotations|matchLabels|nodeSelector|data|binaryData|parameters)$/

/** Fields, or maps of fields, that contain a quantity. */
const quantities =
  /^(?:limits|requests|hard|capacity|storage|sizeLimit|divisor|averageValue|overhead|podFixed|min|max|default|defaultRequest|maxLimitRequestRatio)$/

/** Lists to which controllers and admission add elements. */
const extendedLists = /^(?:tolerations|imagePullSecrets|finalizers|ownerReferences)$/

/** Annotations that tools change with each apply. */
const toolAnnotations =
  /^(?:kubectl\.kubernetes\.io\/last-applied|deployment\.kubernetes\.io\/|rollout-gate\/|argocd\.argoproj\.io\/tracking-id)/

/** Compares objects of built-in kinds. `ours`: a value of the manifest; `theirs`: the value of the live object. */
class Comparison {
  readonly found: Difference[] = []
  readonly #kind: string
  readonly #isOwned: (pointer: string) => boolean

  constructor(kind: string, owned: readonly string[] = []) {
    this.#kind = kind
    this.#isOwned = createOwnershipTest(owned)
  }

  compare(ours: unknown, theirs: unknown, path: Path, parent: Fields = {}): void {
    if (ours === null || ours === undefined || (path.at(-1) === 'caBundle' && !this.#isSchema(path))) return
    const live = theirs === null ? undefined : theirs
    if (isObject(ours)) this.compareMaps(ours, live, path)
    else if (Array.isArray(ours)) this.compareLists(ours, live, path)
    else if (!this.isSame(ours, live, path, parent)) this.addDifference(path, ours, live)
  }

  /** Whether a path is in the schema of a CustomResourceDefinition, whose properties may have any name. */
  #isSchema(path: Path): boolean {
    return this.#kind === 'CustomResourceDefinition' && path.includes('openAPIV3Schema')
  }

  protected addDifference(path: Path, manifest: unknown, live: unknown): void {
    this.found.push({ path, manifest, live })
  }

  /** Whether the writer of the live object owns a field, or a field in it. */
  protected isOwned(path: Path): boolean {
    return this.#isOwned(toPointer(path))
  }

  protected compareMaps(ours: Fields, theirs: unknown, path: Path): void {
    const fields = Object.entries(ours).filter(([, value]) => value !== null && value !== undefined)
    const live = theirs ?? {}
    const isAbsent = theirs === undefined && !this.isOmittedIfEmpty(path)
    if (isAbsent || !isObject(live) || (fields.length === 0 && this.hasAppliedContent(live, path))) {
      this.addDifference(path, ours, theirs)
      return
    }
    for (const [name, value] of fields)
      if (!isIgnored(path, name))
        this.compare(value, Object.hasOwn(live, name) ? live[name] : undefined, [...path, name], live)
    const known = new Set(fields.map(([name]) => name))
    for (const [name, value] of Object.entries(live))
      if (!known.has(name) && (value ?? undefined) !== undefined && this.isAppliedField(name, value, live, path, ours))
        this.addDifference([...path, name], undefined, value)
  }

  /** Whether a map that is empty in the file has content that only the applier can have added to the live object. */
  protected hasAppliedContent(live: Fields, path: Path): boolean {
    return !sharedMaps.test(String(path.at(-1))) && !isDefaultMap(live, path)
  }

  /** Whether only the applier can have added this field, which the live object has and the file does not contain. */
  protected isAppliedField(name: string, value: unknown, live: Fields, path: Path, ours: Fields): boolean {
    // The server adds no property to a schema.
    if (path.at(-1) === 'properties') return true
    // In the file, the variable has neither a value nor a source; in the live object, it has a source.
    if (path.at(-2) === 'env' && name === 'valueFrom') return (ours['value'] ?? '') === ''
    const isInAtomicList = path.some((step) => typeof step === 'number')
    return (isInAtomicList || this.isOwned([...path, name])) && !isDefault(name, value, live, path)
  }

  /** Whether the server does not store this map if all its fields are zeros. */
  protected isOmittedIfEmpty(path: Path): boolean {
    return path.length === 0 || valueMaps.test(String(path.at(-1)))
  }

  protected compareLists(ours: readonly unknown[], theirs: unknown, path: Path): void {
    const name = path.at(-1)
    const live = theirs ?? []
    const known = Array.isArray(live) ? live : []
    if (live !== known || (ours.length === 0 && known.length > 0)) this.addDifference(path, ours, theirs)
    else if (extendedLists.test(String(name))) {
      for (const [index, each] of ours.entries())
        if (!known.some((other) => this.isEqualElement(each, other, [...path, index])))
          this.addDifference([...path, index], each, undefined)
    } else if (!this.compareByKey(ours, known, path)) this.compareInOrder(ours, known, path)
  }

  /** Compares elements by the fields that identify them; false if nothing identifies them. */
  private compareByKey(ours: readonly unknown[], theirs: readonly unknown[], path: Path): boolean {
    const name = path.at(-1)
    const [steps, liveSteps] = [stepsToElements(name, ours), stepsToElements(name, theirs)]
    if (steps === undefined || liveSteps === undefined) return false
    const live = new Map(theirs.map((each, index) => [stepKey(liveSteps[index]), each]))
    for (const [index, each] of ours.entries())
      this.compare(each, live.get(stepKey(steps[index])), [...path, steps[index] ?? index])
    if (name === 'initContainers') this.compareOrder(steps, liveSteps, path)
    const written = new Set(steps.map(stepKey))
    // Only the applier adds metrics to an autoscaler.
    for (const [index, step] of liveSteps.entries())
      if (!written.has(stepKey(step)) && (name === 'metrics' || this.isOwned([...path, step])))
        this.addDifference([...path, step], undefined, theirs[index])
    return true
  }

  protected compareInOrder(ours: readonly unknown[], theirs: readonly unknown[], path: Path): void {
    if (ours.length !== theirs.length) this.addDifference(path, ours, theirs)
    else for (const [index, each] of ours.entries()) this.compare(each, theirs[index], [...path, index])
  }

  /** Compares the order of the file's init containers, which run one after another. Webhooks may have added others. */
  private compareOrder(ours: readonly PathStep[], theirs: readonly PathStep[], path: Path): void {
    const names = ours.map(keyText)
    const present = theirs.map(keyText).filter((name) => names.includes(name))
    if (present.length === names.length && present.join() !== names.join())
      this.addDifference([...path, 'order'], names.join(', '), present.join(', '))
  }

  private isEqualElement(ours: unknown, theirs: unknown, path: Path): boolean {
    const other = new Comparison(this.#kind)
    other.compare(ours, theirs, path)
    return other.found.length === 0
  }

  /** Whether the API server would store both scalars equally. `parent`: the map of the live object that contains the field. */
  protected isSame(ours: unknown, live: unknown, path: Path, parent: Fields): boolean {
    if (ours === live) return true
    const name = String(path.at(-1))
    const isSchema = this.#isSchema(path)
    // The field is a string in a PersistentVolume, but a pointer in a PersistentVolumeClaim.
    if (name === 'storageClassName' && this.#kind === 'PersistentVolume' && ours === '') return live === undefined
    const isInMap = !isSchema && path.length > 1 && textMaps.test(String(path.at(-2)))
    if (isZero(ours) && !isInMap && omittedZeros.has(name))
      // A variable with a source has no field `value`.
      return live === undefined || isDefault(name, live, parent, path.slice(0, -1))
    if (live === undefined || typeof live === 'object' || isSchema) return false
    const isQuantity = !isInMap && path.slice(-2).some((step) => quantities.test(String(step)))
    const isMetric = name === 'value' && path.includes('target')
    if (isQuantity || isMetric) return isSameQuantity(String(ours), String(live))
    return /(?:Time|Timestamp|At)$/.test(name) && isSameMoment(ours, live)
  }
}

/** Compares custom resources: a zero is a value, and order counts. */
class CustomComparison extends Comparison {
  readonly #applied: Readonly<Record<string, string>>

  constructor(live: KubeObject, owned: readonly string[]) {
    super('', owned)
    this.#applied = live.metadata.applied ?? {}
  }

  protected override addDifference(path: Path, manifest: unknown, live: unknown): void {
    // The controller or its webhook may remove an empty field.
    const isEmpty = isZero(manifest) || isEmptyDeep(manifest)
    if (live === undefined && isEmpty && !Object.hasOwn(this.#applied, toPointer(path))) return
    super.addDifference(path, manifest, live)
  }

  protected override isOmittedIfEmpty(path: Path): boolean {
    return path.length <= 1
  }

  protected override hasAppliedContent(): boolean {
    return false
  }

  protected override isAppliedField(name: string, _value: unknown, _live: Fields, path: Path): boolean {
    return path.every((step) => typeof step !== 'number') && this.isOwned([...path, name])
  }

  protected override compareLists(ours: readonly unknown[], theirs: unknown, path: Path): void {
    if (Array.isArray(theirs)) this.compareInOrder(ours, theirs, path)
    else this.addDifference(path, ours, theirs)
  }

  protected override isSame(ours: unknown, live: unknown): boolean {
    if (ours === live) return true
    if (typeof ours !== 'string' || typeof live !== 'string') return false
    const isMoment = /^\d{4}-\d\d-\d\dT/.test(ours) && isSameMoment(ours, live)
    return isMoment || (hasUnit(ours) && hasUnit(live) && isSameQuantity(ours, live)) || isSameDuration(ours, live)
  }
}

function isIgnored(path: Path, name: string): boolean {
  if (path.at(-1) === 'annotations') return toolAnnotations.test(name)
  return path.at(-1) === 'metadata' && name === 'creationTimestamp'
}

function stepKey(step: PathStep | undefined): string {
  return JSON.stringify(step)
}

function keyText(step: PathStep): string {
  return typeof step === 'object' ? Object.values(step).join(' ') : String(step)
}

function isZero(value: unknown): boolean {
  return value === '' || value === false || value === 0
}

function isEmptyDeep(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  if (!isObject(value)) return value === null || value === undefined || isZero(value)
  return Object.values(value).every(isEmptyDeep)
}

const powers: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

function hasUnit(text: string): boolean {
  return /\d(?:[kMGTPE]i|[kMGTPEmun])$/.test(text)
}

/** Compares two quantities exactly (k8s.io/apimachinery pkg/api/resource, `Quantity`). */
function isSameQuantity(a: string, b: string): boolean {
  const [left, right] = [nanosOf(a), nanosOf(b)]
  return left !== undefined && left === right
}

/** A quantity in billionths, the smallest unit; undefined for another text. Smaller fractions are rounded up, as by the server. */
function nanosOf(text: string): bigint | undefined {
  const match = /^([+-]?)(\d{0,30})(?:\.(\d{0,30}))?(?:([kMGTPE]i|[kMGTPEmun])|[eE]([+-]?\d{1,2}))?$/.exec(text)
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

/** Compares two durations as Go writes them: `8760h` and `8760h0m0s`. */
function isSameDuration(a: string, b: string): boolean {
  const [left, right] = [durationToMs(a), durationToMs(b)]
  return left !== undefined && left === right
}

function isSameMoment(ours: unknown, theirs: unknown): boolean {
  const [left, right] = [Date.parse(String(ours)), Date.parse(String(theirs))]
  return !Number.isNaN(left) && left === right
}

/** `spec.replicas is 5, not 3`. Hashed values are not shown. */
export function describeDifference({ path, manifest, live }: Difference): string {
  const field = describePath(path)
  const [ours, theirs] = [shownValue(manifest), shownValue(live)]
  if (isOnlyLive({ path, manifest, live })) return removalText(field)
  if (live === undefined) return ours === undefined ? `${field} is missing` : `${field} is missing, not ${ours}`
  return ours === undefined || theirs === undefined ? `${field} differs` : `${field} is ${theirs}, not ${ours}`
}

function removalText(field: string): string {
  return `${field} is set, and not in the file`
}

/** Whether a live object has a field that the file does not contain. */
function isOnlyLive({ manifest, live }: Difference): boolean {
  return manifest === undefined && live !== undefined
}

const maxValueLength = 120

function shownValue(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value) && value.length === 0) return 'empty'
  if (typeof value !== 'string' || value.startsWith('hmac:') || value.includes('\n')) return undefined
  if (value === '') return 'empty'
  return value.length > maxValueLength ? `${value.slice(0, maxValueLength)}…` : value
}

/*
 * The applier is the client that applied the manifest. It records what it applied: in an annotation or in `managedFields`.
 */

/** Labels and annotations that tools or the server add when a manifest is applied. */
const toolMetadata =
  /^\/(?:metadata|spec\/template\/metadata)\/(?:labels|annotations)\/(?:app\.kubernetes\.io~1(?:instance|managed-by)$|argocd\.argoproj\.io~1|[\w.]+\.toolkit\.fluxcd\.io~1|meta\.helm\.sh~1|kapp\.k14s\.io~1|config\.k8s\.io~1|configmanagement\.gke\.io~1|kubernetes\.io~1metadata\.name$|deprecated\.daemonset|kubectl\.kubernetes\.io~1last|deployment\.kubernetes\.io~1|rollout-gate~1|objectset\.rio\.cattle\.io~1)/

/** Whether what was applied last is equal to the file. */
export function isEqualRecord({ differing, removed }: RecordComparison): boolean {
  return differing.length === 0 && removed.length === 0
}

/** How the record of an applier differs from a manifest. */
export interface RecordComparison {
  /** Sentences about the fields of the file that the record does not contain with this value. Empty if it has no values. */
  readonly differing: readonly string[]
  /** Sentences about the fields that were applied, but that the file does not contain. */
  readonly removed: readonly string[]
  /** Whether the record contains the values of the fields, not only which fields were written. */
  readonly hasValues: boolean
  /** The entry of the applier in `managedFields`. */
  readonly applier?: ManagedFields | undefined
}

/**
 * Compares a manifest with the record of its applier: `last-applied-configuration`, else the fields that a server-side
 * apply owns, else the fields that an update owns (Helm 3, `kubectl replace`). Undefined without a record, or without
 * the hashes of the manifest.
 */
export function compareRecord(manifest: ManifestObject, live: KubeObject): RecordComparison | undefined {
  const { applied: ours } = manifest.metadata as KubeObject['metadata']
  const { applied, managedFields = [] } = live.metadata
  if (ours === undefined) return undefined
  const writers = managedFields.filter(({ subresource, ownedFields }) => !subresource && ownedFields !== undefined)
  const appliers = writers.filter(({ operation }) => operation === 'Apply')
  const client = managedFields.find(
    ({ operation, ownedFields = [] }) => operation === 'Update' && ownedFields.some(isLastApplied),
  )
  // Another tool may have applied the object after kubectl.
  const isStale = appliers.some(
    ({ time = '', ownedFields = [] }) => time > (client?.time ?? '') && ownedFields.some(isOutsideMetadata),
  )
  if (applied !== undefined && !(client !== undefined && isStale))
    return { ...compareApplied(ours, applied), hasValues: true, applier: client }
  // The operator of a custom resource and the controller of a Job update these objects too.
  const mayBeOfServer = !isBuiltIn(manifest.apiVersion) || manifest.kind === 'Job'
  const applier = writerOfMostFields(Object.keys(ours), appliers.length > 0 || mayBeOfServer ? appliers : writers)
  if (applier === undefined) return undefined
  const removedFields = findDifferences(manifest, live, applier.ownedFields).filter(isOnlyLive)
  return { differing: [], removed: removedFields.map(describeDifference), hasValues: false, applier }
}

/**
 * The writer that owns the most fields of the file. `kubectl create` and `kubectl replace` count as one writer,
 * because the second owns only the fields that it changed.
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
  return candidates.toSorted((a, b) => b.count - a.count || b.ownedCount - a.ownedCount)[0]?.writer
}

function isOutsideMetadata(pointer: string): boolean {
  return !pointer.startsWith('/metadata/')
}

function isLastApplied(pointer: string): boolean {
  return pointer.endsWith('/kubectl.kubernetes.io~1last-applied-configuration')
}

type Hashes = Readonly<Record<string, string>>

function compareApplied(ours: Hashes, applied: Hashes): Pick<RecordComparison, 'differing' | 'removed'> {
  const missing = Object.keys(ours).filter(
    (pointer) => !toolMetadata.test(pointer) && applied[pointer] !== ours[pointer],
  )
  const beyond = Object.keys(applied).filter((pointer) => !toolMetadata.test(pointer) && !Object.hasOwn(ours, pointer))
  return {
    differing: missing.map((pointer) => `${describePointer(pointer)} differs`),
    removed: describeRemovedFields(beyond, Object.keys(ours)),
  }
}

/** Returns a function that matches a field with one of these pointers, within such a field, or around one. */
function createOwnershipTest(pointers: readonly string[]): (pointer: string) => boolean {
  const owned = pointers.filter((pointer) => !toolMetadata.test(pointer))
  // A Secret has the texts of `stringData` in `data`.
  const exact = new Set(owned.map((pointer) => pointer.replace(/^\/stringData/, '/data')))
  const above = new Set([...exact].flatMap(prefixesOf))
  return (pointer) => above.has(pointer) || prefixesOf(pointer).some((prefix) => exact.has(prefix))
}

function prefixesOf(pointer: string): readonly string[] {
  const steps = pointer.split('/')
  return steps.slice(1).map((_, index) => steps.slice(0, index + 2).join('/'))
}

/** A sentence for each outermost field that was applied, but that the file does not contain. */
function describeRemovedFields(beyond: readonly string[], ours: readonly string[]): readonly string[] {
  const known = new Set(ours.flatMap(prefixesOf))
  const shortest = beyond.map((pointer) => prefixesOf(pointer).find((prefix) => !known.has(prefix)) ?? pointer)
  return [...new Set(shortest)].map((pointer) => removalText(describePointer(pointer)))
}

/**
 * The fields of a manifest that differ in the live object because another writer than the applier changed them. If the
 * record is equal to the file, admission made the differences in fields that the applier owns: these are left out.
 */
export function findDriftedFields(manifest: ManifestObject, live: KubeObject): readonly Difference[] {
  if (isEncrypted(manifest)) return []
  // A field that only the live object contains is no drift.
  const found = findDifferences(manifest, live).filter((difference) => !isOnlyLive(difference))
  const record = compareRecord(manifest, live)
  const { hasValues, applier } = record ?? {}
  const isKnown = record !== undefined && isEqualRecord(record) && (hasValues || applier?.operation === 'Apply')
  if (!isKnown || applier?.ownedFields === undefined) return found
  const owns = createOwnershipTest(applier.ownedFields)
  return found.filter(({ path }) => !owns(toPointer(path)))
}

/*
 * Manifests that can be compared.
 */

/**
 * Prepares a manifest for comparison: `stringData` of a Secret becomes `data` in base64 (it is write-only, v1 `Secret`), and
 * secrets are redacted as in live objects. `metadata.applied` contains the hashes of the fields in the file.
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

/** An object with one field, whose base64 values have the server's form: without line breaks, padded. Empty without values. */
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

/** Whether SOPS has encrypted values of the file (https://github.com/getsops/sops). */
function isEncrypted(manifest: ManifestObject): boolean {
  return isObject((manifest as unknown as Fields)['sops'])
}

/**
 * Adds the comparable manifest to each target, for `await-change` in a live run and a replay. `redactor` must be that of
 * the live objects, to compare hashed values.
 */
export function withComparableManifests<P extends Plan>(plan: P, redactor: Redactor): P {
  const targets = plan.targets.map((target) => {
    const manifest = plan.manifests.get(nameKey(target))
    // Values that SOPS has encrypted cannot be compared, so any new generation counts as the change.
    if (manifest === undefined || isEncrypted(manifest.object)) return target
    return { ...target, manifest: comparableManifest(manifest.object, redactor) }
  })
  return { ...plan, targets }
}
