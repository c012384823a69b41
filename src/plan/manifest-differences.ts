import { isObject, type KubeObject } from '../cluster/objects.ts'
import type { Redactor } from '../cluster/redact.ts'
import { parseDuration } from '../duration.ts'
import { describePath, type PathStep } from './reference.ts'
import type { ResolvedPlan } from './resolve-targets.ts'
import type { ManifestObject } from './target.ts'

/** A field of the manifest that is missing or different in the live object. */
export interface Difference {
  readonly path: readonly PathStep[]
  readonly manifest: unknown
  /** Undefined if the field is missing. */
  readonly live: unknown
}

/**
 * The fields of a manifest that are missing or different in a live object. Ignores fields added by the server, a
 * controller or a webhook, equal values in another notation, empty values, and the order of elements with names.
 * `status`, `apiVersion`, name and namespace are not compared.
 *
 * The same `redact` must have hashed the values of environment variables, Secrets and ConfigMaps in both objects.
 * @param manifest the result of {@link normalizeManifest}
 */
export function findDifferences(manifest: ManifestObject, live: KubeObject): readonly Difference[] {
  const found: Difference[] = []
  const { apiVersion, kind, metadata, status, ...rest } = manifest
  const { labels, annotations } = metadata
  const theirs = { labels: {}, annotations: {}, ...live.metadata }
  compare({ metadata: { labels, annotations }, ...rest }, { ...live, metadata: theirs }, [], found)
  return found
}

/**
 * The manifest as the server stores it: without empty values. `stringData` of a Secret becomes `data` in base64,
 * because `stringData` is write-only (v1 `Secret`).
 */
export function normalizeManifest(manifest: ManifestObject): ManifestObject {
  const filled = withoutEmpty(manifest) as ManifestObject
  if (filled.apiVersion !== 'v1') return filled
  if (filled.kind === 'ConfigMap') return { ...filled, ...base64Of(filled, 'binaryData') }
  if (filled.kind !== 'Secret') return filled
  const { stringData, ...secret } = filled
  const texts = mapStrings(stringData, (text) => Buffer.from(text).toString('base64'))
  const { data } = base64Of(secret, 'data')
  return { ...(secret as ManifestObject), data: { ...data, ...texts } }
}

type Json = Readonly<Record<string, unknown>>

/** Annotations that tools change with each apply. */
const toolAnnotations = /^(kubectl\.kubernetes\.io\/|deployment\.kubernetes\.io\/|rollout-gate\/)/
/** Fields that contain strings, not numbers: `1.0` and `1` are different. */
const textFields = new Set(['labels', 'annotations', 'matchLabels', 'nodeSelector', 'selector', 'args', 'command'])

function compare(ours: unknown, theirs: unknown, path: readonly PathStep[], found: Difference[]): void {
  if (ours === null || ours === undefined || ours === '') return
  if (isObject(ours) && isObject(theirs)) {
    compareFields(ours, theirs, path, found)
  } else if (Array.isArray(ours) && Array.isArray(theirs)) {
    compareLists(ours, theirs, path, found)
  } else {
    const isScalar = typeof ours !== 'object'
    const live = isScalar ? (theirs ?? undefined) : theirs
    const isEqual = isScalar && live !== undefined ? isSame(ours, live, path) : isZero(ours)
    if (!isEqual) found.push({ path, manifest: ours, live })
  }
}

function compareFields(ours: Json, theirs: Json, path: readonly PathStep[], found: Difference[]): void {
  for (const [name, value] of Object.entries(ours)) {
    const live = Object.hasOwn(theirs, name) ? theirs[name] : undefined
    if (!isIgnored(path, name)) compare(value, live, [...path, name], found)
  }
}

/** Whether other writers may change the field. */
function isIgnored(path: readonly PathStep[], name: string): boolean {
  const last = path.at(-1)
  if (last === 'annotations') return toolAnnotations.test(name)
  // The issuer of the certificate sets it.
  if (name === 'caBundle') return true
  return last === 'metadata' && name === 'creationTimestamp'
}

/** Values that the server does not store. */
function isZero(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  if (isObject(value)) return Object.values(value).every(isZero)
  return value === undefined || value === null || value === '' || value === false || value === 0
}

function isSame(ours: unknown, theirs: unknown, path: readonly PathStep[]): boolean {
  if (typeof theirs === 'object') return false
  // With 0 the server chooses the port.
  if (path.at(-1) === 'nodePort' && ours === 0) return true
  return path.some((step) => typeof step === 'string' && textFields.has(step))
    ? String(ours) === String(theirs)
    : isSameScalar(ours, theirs)
}

/** Keys of list elements (`x-kubernetes-list-map-keys`); the first that identify the elements of both lists are used. */
const elementKeys: readonly (readonly string[])[] = [
  ['name'],
  ['mountPath'],
  ['devicePath'],
  ['containerPort', 'protocol'],
  ['port', 'protocol'],
  ['ip'],
]

function compareLists(
  ours: readonly unknown[],
  theirs: readonly unknown[],
  path: readonly PathStep[],
  found: Difference[],
) {
  const keys = elementKeys.find((keys) => areNamed(ours, keys) && areNamed(theirs, keys))
  if (keys !== undefined) {
    const byName = new Map(theirs.map((element) => [nameOf(element, keys), element]))
    for (const element of ours)
      compare(element, byName.get(nameOf(element, keys)), [...path, stepTo(element, keys)], found)
  } else if (ours.length === theirs.length) {
    for (const [index, element] of ours.entries()) compare(element, theirs[index], [...path, index], found)
  } else if (ours.every(isObject)) {
    // Admission adds elements such as tolerations.
    for (const [index, element] of ours.entries()) {
      if (!theirs.some((other) => includes(element, other, [...path, index])))
        found.push({ path: [...path, index], manifest: element, live: undefined })
    }
  } else {
    found.push({ path, manifest: ours, live: theirs })
  }
}

function includes(ours: unknown, theirs: unknown, path: readonly PathStep[]): boolean {
  const found: Difference[] = []
  compare(ours, theirs, path, found)
  return found.length === 0
}

/** Whether these fields identify all elements. */
function areNamed(elements: readonly unknown[], keys: readonly string[]): boolean {
  const [first = ''] = keys
  if (!elements.every((element) => isObject(element) && /^(string|number)$/.test(typeof element[first]))) return false
  return new Set(elements.map((element) => nameOf(element, keys))).size === elements.length
}

function nameOf(element: unknown, keys: readonly string[]): string {
  return JSON.stringify(Object.values(stepTo(element, keys)))
}

function stepTo(element: unknown, keys: readonly string[]): Readonly<Record<string, string>> {
  const fields = element as Json
  return Object.fromEntries(
    keys.flatMap((key) => {
      const value = fields[key]
      if (key === 'protocol' && (value === undefined || value === 'TCP')) return []
      return [[key, String(value)]]
    }),
  )
}

/** `spec.replicas is 5, not 3`. Hashed values are not shown. */
export function describeDifference({ path, manifest, live }: Difference): string {
  const field = describePath(path)
  if (live === undefined) return `${field} is missing`
  const [ours, theirs] = [shown(manifest), shown(live)]
  return ours === undefined || theirs === undefined ? `${field} differs` : `${field} is ${theirs}, not ${ours}`
}

const maxValueLength = 120

function shown(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (typeof value !== 'string' || value.startsWith('hmac:') || value.includes('\n')) return undefined
  if (value === '') return 'empty'
  return value.length > maxValueLength ? `${value.slice(0, maxValueLength)}…` : value
}

/** Removes empty fields; list elements keep their indexes. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null && field !== undefined && field !== '')
      .map(([name, field]) => [name, withoutEmpty(field)]),
  )
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

/**
 * Whether two scalars are equal for Kubernetes, which stores some values in another form: quantities (`1000m` as `1`),
 * durations (`60m` as `1h0m0s`), times, integers as strings.
 */
function isSameScalar(ours: unknown, theirs: unknown): boolean {
  if (ours === theirs || String(ours) === String(theirs)) return true
  const [a, b] = [String(ours), String(theirs)]
  return [quantity, duration, moment].some((read) => {
    const [left, right] = [read(a), read(b)]
    return left !== undefined && left === right
  })
}

const decimal: Readonly<Record<string, number>> = { k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 }
const binary = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const fraction: Readonly<Record<string, number>> = { m: 1e3, u: 1e6, n: 1e9 }

/** The number of a quantity (k8s.io/apimachinery pkg/api/resource, `Quantity`). */
function quantity(text: string): number | undefined {
  const match = /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([kMGTPE]i|[kMGTPEmun])|([eE][+-]?\d{1,3}))?$/.exec(text)
  if (match === null) return undefined
  const [, digits = '', suffix = '', exponent = ''] = match
  const number = Number(`${digits}${exponent}`)
  // Division is exact, unlike multiplication by 0.001: 300m is 0.3.
  if (fraction[suffix] !== undefined) return number / fraction[suffix]
  if (decimal[suffix] !== undefined) return number * decimal[suffix]
  return number * 1024 ** (binary.indexOf(suffix) + 1)
}

function duration(text: string): number | undefined {
  return parseDuration(text, () => {})
}

function moment(text: string): number | undefined {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text) ? Date.parse(text) : undefined
}

/**
 * Adds the normalized manifest to each target, for `await-change` in a live run and a replay. `redact` must be that of the
 * live objects, to compare hashed values.
 */
export function withComparableManifests<P extends ResolvedPlan>(plan: P, redact: Redactor): P {
  const pairs = plan.targets.map((target) => {
    const manifest = plan.manifests.get(target)
    if (manifest === undefined) return [target, target] as const
    const object = redact(normalizeManifest(manifest.object) as unknown as KubeObject) as unknown as ManifestObject
    return [target, { ...target, manifest: object }] as const
  })
  const awaited = new Map(pairs)
  return {
    ...plan,
    targets: pairs.map(([, target]) => target),
    manifests: new Map([...plan.manifests].map(([target, manifest]) => [awaited.get(target) ?? target, manifest])),
  }
}
