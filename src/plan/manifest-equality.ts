import {
  describePath,
  describePointer,
  leavesOf,
  type PathStep,
  pointerTo,
  stepsByKey,
} from '../cluster/field-paths.ts'
import { isObject, type KubeObject, type ManagedFields } from '../cluster/objects.ts'
import type { Redactor } from '../cluster/redact.ts'
import { isBuiltIn } from './kinds.ts'
import type { ResolvedPlan } from './resolve-targets.ts'
import type { ManifestObject } from './target.ts'

/*
 * When a manifest and a live object are equal: where the API server would store the same. Built-in kinds follow the API
 * types (https://github.com/kubernetes/api): most fields are pointers, and are stored as written. Custom resources are
 * stored as they were sent.
 */

/** A field of the manifest that is missing or different in the live object. */
export interface Difference {
  readonly path: readonly PathStep[]
  readonly manifest: unknown
  /** Undefined if the field is missing. */
  readonly live: unknown
}

type Json = Readonly<Record<string, unknown>>
type Path = readonly PathStep[]

/**
 * The fields of a manifest that are missing or different in a live object. Fields that the file does not contain are not
 * compared: the server, a controller or a webhook may have added them. Nor are `status`, `apiVersion`, name and namespace.
 * @param manifest the result of {@link comparableManifest}
 */
export function findDifferences(manifest: ManifestObject, live: KubeObject): readonly Difference[] {
  const { apiVersion, kind, metadata, status, ...rest } = manifest
  const { labels, annotations } = metadata
  const theirs = { labels: {}, annotations: {}, ...live.metadata }
  const comparison = isBuiltIn(apiVersion) ? new Comparison(kind) : new CustomComparison(live)
  comparison.compare({ metadata: { labels, annotations }, ...rest }, { ...live, metadata: theirs }, [])
  return comparison.found
}

/**
 * Scalars that are no pointers and `omitempty`: a zero is not stored. The value is the default that the server stores in its
 * place (pkg/apis, `defaults.go` of each version).
 */
const omittedZeros: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(
    [
      'readOnly stdin stdinOnce tty hostNetwork hostPID hostIPC publishNotReadyAddresses paused globalDefault',
      'minReadySeconds initialDelaySeconds hostPort value prefix subPath subPathExpr workingDir image medium fsType',
      'secretName hostname subdomain priorityClassName name host hostIP path key operator effect loadBalancerIP',
      'externalName apiGroup preserveUnknownFields nullable deprecated description format pattern priority singular',
      'listKind x-kubernetes-int-or-string x-kubernetes-embedded-resource title id uniqueItems exclusiveMaximum',
      'exclusiveMinimum nodeName serviceAccount serviceAccountName clusterIP nodePort healthCheckNodePort volumeName',
      'message reason container',
    ]
      .join(' ')
      .split(' ')
      .map((name) => [name, undefined]),
  ),
  timeoutSeconds: 1,
  periodSeconds: 10,
  successThreshold: 1,
  failureThreshold: 3,
  protocol: 'TCP',
  scheme: 'HTTP',
  imagePullPolicy: undefined,
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
  restartPolicy: 'Always',
  dnsPolicy: 'ClusterFirst',
  schedulerName: 'default-scheduler',
  type: undefined,
  sessionAffinity: 'None',
  podManagementPolicy: 'OrderedReady',
  concurrencyPolicy: 'Allow',
  divisor: '0',
  targetPort: undefined,
}

/** Fields in place of which the server stores its own choice if the file has a zero or an empty text. */
const assigned =
  /^(?:clusterIP|nodePort|healthCheckNodePort|volumeName|nodeName|serviceAccount(?:Name)?|targetPort|type|imagePullPolicy|path)$/

/** Maps and structs that are no pointers: an empty one is not stored, and may be filled with defaults. */
const valueMaps =
  /^(?:labels|annotations|matchLabels|nodeSelector|selector|limits|requests|resources|metadata|spec|data|binaryData|stringData|strategy|updateStrategy|status|template|capacity|hard|parameters|properties)$/

/** Selectors, of which an empty one selects all, and maps to which nobody else adds: an empty one differs from one with content. */
const ownMaps =
  /^(?:(?:pod|namespace|label|object|cluster|node)Selector|selector|matchLabels|data|binaryData|emptyDir)$/

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

/** Compares objects of built-in kinds. */
class Comparison {
  readonly found: Difference[] = []
  readonly #kind: string

  constructor(kind: string) {
    this.#kind = kind
  }

  compare(ours: unknown, theirs: unknown, path: Path): void {
    if (ours === null || ours === undefined || isElsewhere(path)) return
    const live = theirs === null ? undefined : theirs
    if (isObject(ours)) this.compareMaps(ours, live, path)
    else if (Array.isArray(ours)) this.compareLists(ours, live, path)
    else if (!this.isSame(ours, live, path)) this.add(path, ours, live)
  }

  protected add(path: Path, manifest: unknown, live: unknown): void {
    this.found.push({ path, manifest, live })
  }

  protected compareMaps(ours: Json, theirs: unknown, path: Path): void {
    const fields = Object.entries(ours).filter(([, value]) => value !== null && value !== undefined)
    const live = theirs ?? {}
    const isAbsent = theirs === undefined && !this.isOmittedMap(path)
    const isEmptied = fields.length === 0 && ownMaps.test(String(path.at(-1)))
    if (isAbsent || !isObject(live) || (isEmptied && Object.keys(live).length > 0)) {
      this.add(path, ours, theirs)
      return
    }
    this.compareRemoved(ours, live, path)
    for (const [name, value] of fields)
      if (!isIgnored(path, name))
        this.compare(value, Object.hasOwn(live, name) ? live[name] : undefined, [...path, name])
  }

  /** What the file does not contain, and nobody but its applier can have added. */
  private compareRemoved(ours: Json, live: Json, path: Path): void {
    // The server adds no property to a schema.
    const properties = path.at(-1) === 'properties' ? Object.keys(live) : []
    // A variable without a value in place of one with a source.
    const isBare = path.at(-2) === 'env' && (ours['value'] ?? '') === '' && !ours['valueFrom']
    const names = isBare && live['valueFrom'] ? ['valueFrom'] : properties
    for (const name of names) if (!Object.hasOwn(ours, name)) this.add([...path, name], undefined, live[name])
  }

  /** Whether an absent map may be one whose fields are all zeros. */
  protected isOmittedMap(path: Path): boolean {
    return path.length === 0 || valueMaps.test(String(path.at(-1)))
  }

  protected compareLists(ours: readonly unknown[], theirs: unknown, path: Path): void {
    const name = path.at(-1)
    const live = theirs ?? []
    const known = Array.isArray(live) ? live : []
    const [steps, liveSteps] = [stepsByKey(name, ours), stepsByKey(name, known)]
    if (live !== known || (ours.length === 0 && known.length > 0)) {
      this.add(path, ours, theirs)
    } else if (extendedLists.test(String(name))) {
      for (const [index, each] of ours.entries())
        if (!known.some((other) => this.contains(each, other, [...path, index])))
          this.add([...path, index], each, undefined)
    } else if (steps !== undefined && liveSteps !== undefined) {
      const byKey = new Map(known.map((each, index) => [keyOf(liveSteps[index]), each]))
      for (const [index, each] of ours.entries())
        this.compare(each, byKey.get(keyOf(steps[index])), [...path, steps[index] ?? index])
      if (name === 'initContainers') this.compareOrder(steps, liveSteps, path)
      // Nobody else adds metrics to an autoscaler.
      if (name === 'metrics' && known.length > ours.length) this.add(path, ours, known)
    } else this.compareInOrder(ours, known, path)
  }

  protected compareInOrder(ours: readonly unknown[], theirs: readonly unknown[], path: Path): void {
    if (ours.length !== theirs.length) this.add(path, ours, theirs)
    else for (const [index, each] of ours.entries()) this.compare(each, theirs[index], [...path, index])
  }

  /** The init containers of the file, which run one after another; webhooks add others. */
  private compareOrder(ours: readonly PathStep[], theirs: readonly PathStep[], path: Path): void {
    const names = ours.map(keyText)
    const present = theirs.map(keyText).filter((name) => names.includes(name))
    if (present.length === names.length && present.join() !== names.join())
      this.add([...path, 'order'], names.join(', '), present.join(', '))
  }

  private contains(ours: unknown, theirs: unknown, path: Path): boolean {
    const other = new Comparison(this.#kind)
    other.compare(ours, theirs, path)
    return other.found.length === 0
  }

  protected isSame(ours: unknown, live: unknown, path: Path): boolean {
    if (ours === live) return true
    const name = String(path.at(-1))
    // Of a claim, it is a pointer.
    if (name === 'storageClassName' && this.#kind === 'PersistentVolume' && ours === '') return live === undefined
    const isInMap = path.length > 1 && textMaps.test(String(path.at(-2)))
    if (isZero(ours) && !isInMap && Object.hasOwn(omittedZeros, name)) {
      // A variable without a value may have a source in its place; then it has no field `value`.
      if (live === undefined) return true
      return assigned.test(name) || live === omittedZeros[name]
    }
    if (live === undefined || typeof live === 'object') return false
    const isQuantity = !isInMap && path.slice(-2).some((step) => quantities.test(String(step)))
    const isMetric = name === 'value' && path.includes('target')
    if (isQuantity || isMetric) return isSameQuantity(String(ours), String(live))
    return /(?:Time|Timestamp|At)$/.test(name) && isSameMoment(ours, live)
  }
}

/** Compares custom resources: a zero is a value, and order counts. */
class CustomComparison extends Comparison {
  readonly #applied: Readonly<Record<string, string>>

  constructor(live: KubeObject) {
    super('')
    this.#applied = live.metadata.applied ?? {}
  }

  protected override add(path: Path, manifest: unknown, live: unknown): void {
    // The controller or its webhook may leave out what is empty.
    const isEmpty = isZero(manifest) || isEmptyDeep(manifest)
    if (live === undefined && isEmpty && !Object.hasOwn(this.#applied, pointerTo(path))) return
    super.add(path, manifest, live)
  }

  protected override isOmittedMap(path: Path): boolean {
    return path.length <= 1
  }

  protected override compareLists(ours: readonly unknown[], theirs: unknown, path: Path): void {
    if (Array.isArray(theirs)) this.compareInOrder(ours, theirs, path)
    else this.add(path, ours, theirs)
  }

  protected override isSame(ours: unknown, live: unknown): boolean {
    if (ours === live) return true
    if (typeof ours !== 'string' || typeof live !== 'string') return false
    const isMoment = /^\d{4}-\d\d-\d\dT/.test(ours) && isSameMoment(ours, live)
    return isMoment || (hasUnit(ours) && hasUnit(live) && isSameQuantity(ours, live)) || isSameDuration(ours, live)
  }
}

/** Values that only the file or only the server has: certificates of authorities. */
function isElsewhere(path: Path): boolean {
  return path.at(-1) === 'caBundle'
}

function isIgnored(path: Path, name: string): boolean {
  if (path.at(-1) === 'annotations') return toolAnnotations.test(name)
  return path.at(-1) === 'metadata' && name === 'creationTimestamp'
}

function keyOf(step: PathStep | undefined): string {
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

const durationUnits: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1e3, m: 6e4, h: 36e5 }

/** Compares two durations as Go writes them: `8760h` and `8760h0m0s`. */
function isSameDuration(a: string, b: string): boolean {
  const [left, right] = [millisecondsOf(a), millisecondsOf(b)]
  return left !== undefined && left === right
}

function millisecondsOf(text: string): number | undefined {
  if (!/^-?(?:\d{1,15}(?:\.\d{1,15})?(?:ns|us|µs|ms|s|m|h)){1,8}$/.test(text)) return undefined
  const parts = [...text.matchAll(/([\d.]+)([a-zµ]+)/g)]
  const sum = parts.reduce((total, [, count, unit = '']) => total + Number(count) * (durationUnits[unit] ?? NaN), 0)
  return text.startsWith('-') ? -sum : sum
}

function isSameMoment(ours: unknown, theirs: unknown): boolean {
  const [left, right] = [Date.parse(String(ours)), Date.parse(String(theirs))]
  return !Number.isNaN(left) && left === right
}

/** `spec.replicas is 5, not 3`. Hashed values are not shown. */
export function describeDifference({ path, manifest, live }: Difference): string {
  const field = describePath(path)
  const [ours, theirs] = [shown(manifest), shown(live)]
  if (live === undefined) return ours === undefined ? `${field} is missing` : `${field} is missing, not ${ours}`
  return ours === undefined || theirs === undefined ? `${field} differs` : `${field} is ${theirs}, not ${ours}`
}

const maxValueLength = 120

function shown(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (Array.isArray(value) && value.length === 0) return 'empty'
  if (typeof value !== 'string' || value.startsWith('hmac:') || value.includes('\n')) return undefined
  if (value === '') return 'empty'
  return value.length > maxValueLength ? `${value.slice(0, maxValueLength)}…` : value
}

/*
 * The record of the applier: what was applied last, by `kubectl apply` or by a server-side apply.
 */

/** Labels and annotations that tools add to what they apply. */
const toolMetadata =
  /^\/(?:metadata|spec\/template\/metadata)\/(?:labels|annotations)\/(?:app\.kubernetes\.io~1(?:instance|managed-by)$|argocd\.argoproj\.io~1|[\w.]+\.toolkit\.fluxcd\.io~1|meta\.helm\.sh~1|kapp\.k14s\.io~1|config\.k8s\.io~1|configmanagement\.gke\.io~1|kubectl\.kubernetes\.io~1last|deployment\.kubernetes\.io~1|rollout-gate~1|objectset\.rio\.cattle\.io~1)/

/** What the record of an applier says about a manifest. */
export interface RecordComparison {
  /** The fields that only the file or only the record has, or that differ, as sentences: empty if both say the same. */
  readonly differences: readonly string[]
  /** Whether the record has values too. Otherwise it only shows which fields were applied. */
  readonly hasValues: boolean
  /** The entry of the applier. */
  readonly applier?: ManagedFields | undefined
}

/**
 * Compares a manifest with the record of its applier: `last-applied-configuration`, else the fields that a server-side apply
 * owns. Undefined without a record, or without the hashes of the manifest.
 */
export function compareRecord(manifest: ManifestObject, live: KubeObject): RecordComparison | undefined {
  const { applied: ours } = manifest.metadata as KubeObject['metadata']
  const { applied, managedFields = [] } = live.metadata
  if (ours === undefined) return undefined
  const appliers = managedFields.filter(
    ({ operation, subresource, ownedFields = [] }) =>
      operation === 'Apply' && !subresource && ownedFields.some(isContent),
  )
  const client = managedFields.find(
    ({ operation, ownedFields = [] }) => operation === 'Update' && ownedFields.some(isLastApplied),
  )
  // An object that kubectl once applied may be applied by another tool since.
  const isStale = appliers.some(({ time = '' }) => time > (client?.time ?? ''))
  if (applied !== undefined && !(client !== undefined && isStale))
    return { differences: appliedDifferences(ours, applied), hasValues: true, applier: client }
  const compared = appliers.map((applier) => ({
    applier,
    differences: ownedDifferences(manifest, applier.ownedFields ?? []),
  }))
  const [best] = compared.toSorted((a, b) => a.differences.length - b.differences.length)
  return best && { ...best, hasValues: false }
}

function isContent(pointer: string): boolean {
  return !pointer.startsWith('/metadata/')
}

function isLastApplied(pointer: string): boolean {
  return pointer.endsWith('/kubectl.kubernetes.io~1last-applied-configuration')
}

type Hashes = Readonly<Record<string, string>>

function appliedDifferences(ours: Hashes, applied: Hashes): readonly string[] {
  const missing = Object.keys(ours).filter(
    (pointer) => !toolMetadata.test(pointer) && applied[pointer] !== ours[pointer],
  )
  const beyond = Object.keys(applied).filter((pointer) => !toolMetadata.test(pointer) && !Object.hasOwn(ours, pointer))
  return [...missing.map((pointer) => `${describePointer(pointer)} differs`), ...removed(beyond, Object.keys(ours))]
}

function ownedDifferences(manifest: ManifestObject, owned: readonly string[]): readonly string[] {
  const { apiVersion: _, kind: __, status: ___, metadata, ...content } = manifest
  const { labels, annotations } = metadata
  const leaves = leavesOf({ metadata: { labels, annotations }, ...content }, true)
  const isCompared = (pointer: string) => !toolMetadata.test(pointer) && !/^\/metadata(?:\/\w+)?$/.test(pointer)
  const ours = leaves.map(({ path }) => pointerTo(path)).filter(isCompared)
  // An empty value may be owned or not.
  const needed = leaves.filter(({ value }) => typeof value !== 'object' || isCutList(value))
  // A Secret has the texts of `stringData` in `data`.
  const theirs = owned.map((pointer) => pointer.replace(/^\/stringData/, '/data')).filter(isCompared)
  // Below an empty map of the file, the applier owns nothing.
  const emptied = leaves.flatMap(({ path, value }) =>
    typeof value === 'object' && value !== null && !isCutList(value) ? [`${pointerTo(path)}/`] : [],
  )
  const beyond = theirs.filter((pointer) => emptied.some((start) => pointer.startsWith(start)))
  return [
    ...unrelated(needed.map(({ path }) => pointerTo(path)).filter(isCompared), theirs).map(
      (pointer) => `${describePointer(pointer)} is missing`,
    ),
    ...removed([...unrelated(theirs, ours), ...beyond], ours),
  ]
}

/** Whether a leaf is a list whose elements have only their order. */
function isCutList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}

/** The pointers that are neither equal to, nor above or below, one of the others. */
function unrelated(pointers: readonly string[], others: readonly string[]): readonly string[] {
  const above = new Set(others.flatMap(prefixesOf))
  const exact = new Set(others)
  return pointers.filter((pointer) => !above.has(pointer) && !prefixesOf(pointer).some((prefix) => exact.has(prefix)))
}

function prefixesOf(pointer: string): readonly string[] {
  const steps = pointer.split('/')
  return steps.slice(1).map((_, index) => steps.slice(0, index + 2).join('/'))
}

/** What the file no longer contains: the shortest paths that are not in it. */
function removed(beyond: readonly string[], ours: readonly string[]): readonly string[] {
  const known = new Set(ours.flatMap(prefixesOf))
  const shortest = beyond.map((pointer) => prefixesOf(pointer).find((prefix) => !known.has(prefix)) ?? pointer)
  return [...new Set(shortest)].map((pointer) => `${describePointer(pointer)} is set, and not in the file`)
}

/**
 * The fields of a manifest that differ in the live object by another writer than its applier. What differs in a field of the
 * applier itself was changed by admission, if the record says the same as the file.
 */
export function findDriftedFields(manifest: ManifestObject, live: KubeObject): readonly Difference[] {
  if (isEncrypted(manifest)) return []
  const found = findDifferences(manifest, live)
  const { differences, applier } = compareRecord(manifest, live) ?? {}
  if (differences?.length !== 0 || applier?.ownedFields === undefined) return found
  const foreign = new Set(
    unrelated(
      found.map(({ path }) => pointerTo(path)),
      applier.ownedFields,
    ),
  )
  return found.filter(({ path }) => foreign.has(pointerTo(path)))
}

/*
 * Manifests that can be compared.
 */

/**
 * The manifest as it is compared: without fields that are null, `stringData` of a Secret as `data` in base64 (it is
 * write-only, v1 `Secret`), redacted as live objects are, with the hashes of what the file contains.
 */
export function comparableManifest(manifest: ManifestObject, redact: Redactor): ManifestObject {
  const object = redact(normalized(manifest) as unknown as KubeObject)
  const applied = redact.hashLeaves(manifest as unknown as Json)
  return { ...object, metadata: { ...object.metadata, applied } } as unknown as ManifestObject
}

function normalized(manifest: ManifestObject): ManifestObject {
  if (manifest.apiVersion !== 'v1') return manifest
  if (manifest.kind === 'ConfigMap') return { ...manifest, ...base64Of(manifest, 'binaryData') }
  if (manifest.kind !== 'Secret') return manifest
  const { stringData, ...secret } = manifest
  const texts = mapStrings(stringData, (text) => Buffer.from(text).toString('base64'))
  const { data = {} } = base64Of(secret, 'data')
  const values = { ...data, ...texts }
  return { ...(secret as ManifestObject), data: Object.keys(values).length === 0 ? undefined : values }
}

/** The field with base64 values in the server's form: without line breaks, padded. */
function base64Of(object: Json, name: string): Readonly<Record<string, Readonly<Record<string, string>>>> {
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
  return isObject((manifest as unknown as Json)['sops'])
}

/**
 * Adds the comparable manifest to each target, for `await-change` in a live run and a replay. `redact` must be that of the
 * live objects, to compare hashed values.
 */
export function withComparableManifests<P extends ResolvedPlan>(plan: P, redact: Redactor): P {
  const pairs = plan.targets.map((target) => {
    const manifest = plan.manifests.get(target)
    // What SOPS encrypts cannot be compared: any new generation is the change.
    if (manifest === undefined || isEncrypted(manifest.object)) return [target, target] as const
    return [target, { ...target, manifest: comparableManifest(manifest.object, redact) }] as const
  })
  const awaited = new Map(pairs)
  return {
    ...plan,
    targets: pairs.map(([, target]) => target),
    manifests: new Map([...plan.manifests].map(([target, manifest]) => [awaited.get(target) ?? target, manifest])),
  }
}
