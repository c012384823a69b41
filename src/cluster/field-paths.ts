import { tryParseJson } from '../errors.ts'
import { isObject } from './objects.ts'

/* Paths to fields of Kubernetes objects, also as text and as JSON pointers. */

/** One step of a path: the name of a field, the index of a list element, or the fields that identify a list element. */
export type PathStep = string | number | Readonly<Record<string, string>>

/** A path as text: `spec.template.spec.containers[app].image`. */
export function describePath(path: readonly PathStep[]): string {
  return path
    .map((step, index) => {
      if (typeof step === 'object') return `[${Object.values(step).join(' ')}]`
      if (typeof step === 'number') return `[${step}]`
      if (/[^\w-]/.test(step)) return `["${step}"]`
      return index === 0 ? step : `.${step}`
    })
    .join('')
}

/**
 * The fields that identify the elements of each list: `patchMergeKey` and `listMapKey` in core/v1 `types.go`
 * (https://github.com/kubernetes/api). If a list has several entries, the first with distinct values is used.
 */
const elementKeys: Readonly<Record<string, readonly (readonly string[])[]>> = {
  containers: [['name']],
  initContainers: [['name']],
  ephemeralContainers: [['name']],
  env: [['name']],
  volumes: [['name']],
  volumeMounts: [['mountPath']],
  volumeDevices: [['devicePath']],
  resourceClaims: [['name']],
  imagePullSecrets: [['name']],
  secrets: [['name']],
  hostAliases: [['ip']],
  ports: [['containerPort', 'protocol'], ['port', 'protocol'], ['name']],
  topologySpreadConstraints: [['topologyKey', 'whenUnsatisfiable']],
  webhooks: [['name']],
}

/** The steps to the elements of the list `field`, by their identifying fields. Undefined if no fields identify them. */
export function stepsToElements(field: unknown, elements: readonly unknown[]): readonly PathStep[] | undefined {
  if (field === 'metrics') return distinctSteps(elements.map(metricStep))
  const keys = (typeof field === 'string' && Object.hasOwn(elementKeys, field) && elementKeys[field]) || []
  for (const fields of keys) {
    const steps = distinctSteps(elements.map((element) => stepToElement(element, fields)))
    if (steps !== undefined) return steps
  }
  return undefined
}

function stepToElement(element: unknown, fields: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (!isObject(element) || !/^(?:string|number)$/.test(typeof element[fields[0] ?? ''])) return undefined
  const values = fields.flatMap((field) => {
    const value = element[field] ?? ''
    // `TCP` is the default, so the field may be absent.
    return field === 'protocol' && (value === '' || value === 'TCP') ? [] : [[field, String(value)] as const]
  })
  return Object.fromEntries(values)
}

/**
 * The step to a metric of a HorizontalPodAutoscaler. An index would not identify the metric, because the API server may
 * reorder metrics (https://github.com/kubernetes/kubernetes/issues/74099).
 */
function metricStep(element: unknown): Readonly<Record<string, string>> | undefined {
  if (!isObject(element) || typeof element['type'] !== 'string') return undefined
  const { type } = element
  const source = element[`${type.charAt(0).toLowerCase()}${type.slice(1)}`]
  if (!isObject(source)) return undefined
  const { name = isObject(source['metric']) ? source['metric']['name'] : undefined, container = '' } = source
  return typeof name === 'string' ? { type, name, container: String(container) } : undefined
}

/** The steps if all are defined and distinct; else undefined. */
function distinctSteps(steps: readonly (PathStep | undefined)[]): readonly PathStep[] | undefined {
  const known = steps.filter((step) => step !== undefined)
  const texts = new Set(known.map((step) => JSON.stringify(step)))
  return texts.size === steps.length ? known : undefined
}

/** A path in the form of a JSON pointer: `/spec/template/spec/containers/name=app/image`. */
export function toPointer(path: readonly PathStep[]): string {
  return path
    .map((step) => {
      const text =
        typeof step === 'object'
          ? Object.entries(step)
              .map(([name, value]) => `${name}=${value}`)
              .join(',')
          : String(step)
      return `/${text.replaceAll('~', '~0').replaceAll('/', '~1')}`
    })
    .join('')
}

/** A pointer as readable text: `spec.template.spec.containers[app].image`. */
export function describePointer(pointer: string): string {
  const steps = pointer
    .slice(1)
    .split('/')
    .map((text): PathStep => {
      const step = text.replaceAll('~1', '/').replaceAll('~0', '~')
      const [, value] = /^\w+=([^,]*)/.exec(step) ?? []
      if (value !== undefined) return { value }
      return /^\d+$/.test(step) ? Number(step) : step
    })
  return describePath(steps)
}

/** A value without fields or elements (a scalar, `null`, an empty list or map), and its path. */
export interface Leaf {
  readonly path: readonly PathStep[]
  readonly value: unknown
}

/** All leaves of a value. @param path the path to the value */
export function leavesOf(value: unknown, path: readonly PathStep[] = []): readonly Leaf[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.length > 0) {
    const steps = stepsToElements(path.at(-1), value)
    // Init containers run in order, so their positions are leaves too.
    const hasOrder = steps !== undefined && path.at(-1) === 'initContainers'
    return value.flatMap((each, index) => {
      const step = steps?.[index] ?? index
      const order = hasOrder ? [{ path: [...path, step, 'order'], value: index }] : []
      return [...order, ...leavesOf(each, [...path, step])]
    })
  }
  const entries = isObject(value) ? Object.entries(value) : []
  if (entries.length === 0) return [{ path, value }]
  return entries.flatMap(([name, field]) => leavesOf(field, [...path, name]))
}

/**
 * The pointers to the fields in a field set of `managedFields` (structured-merge-diff, `fieldpath`). If no fields
 * identify an element of a list, the result contains the pointer to the list.
 */
export function pointersOfFieldSet(fieldSet: unknown, path: readonly PathStep[] = []): readonly string[] {
  const fields = isObject(fieldSet) ? Object.entries(fieldSet) : []
  const inner = fields.flatMap(([key, value]) => {
    const step = parseFieldSetKey(key, path.at(-1))
    return step === undefined ? [] : pointersOfFieldSet(value, [...path, step])
  })
  return inner.length > 0 || path.length === 0 ? inner : [toPointer(path)]
}

function parseFieldSetKey(key: string, list: PathStep | undefined): PathStep | undefined {
  if (key.startsWith('f:')) return key.slice(2)
  if (!key.startsWith('k:')) return undefined
  return stepsToElements(list, [tryParseJson(key.slice(2))])?.[0]
}
