import { isDeepStrictEqual } from 'node:util'
import {
  type Container,
  cachePerObject,
  type Fields,
  type Pod,
  type PodSpec,
  type PodTemplate,
} from '../../cluster/objects.ts'

/* Compares pod templates. */

/**
 * Whether two pod templates are equal for the Deployment controller: it ignores its hash label, and absent, null and
 * empty values are equal (EqualIgnoreHash, pkg/controller/deployment/util).
 */
export function isSameTemplate(a: PodTemplate | undefined, b: PodTemplate | undefined): boolean {
  return comparableText(a ?? noTemplate) === comparableText(b ?? noTemplate)
}

const noTemplate: PodTemplate = {}

/** A text that is equal for equal templates. Cached, because each change of a pod compares the same templates. */
const comparableText = cachePerObject((template: PodTemplate) => JSON.stringify(withoutHash(template)))

/** The prefix of environment variables that Reloader sets (https://github.com/stakater/Reloader, `env-vars`). */
const reloaderPrefix = 'STAKATER_'

/**
 * Whether `next` differs from `template` only in fields that tools change during a rollout: metadata, added environment
 * variables, and variables of Reloader. The gate then waits for `next`.
 */
export function hasOnlyToolChanges(template: PodTemplate | undefined, next: PodTemplate | undefined): boolean {
  const [before, after] = [normalise(template) as PodTemplate, normalise(next) as PodTemplate]
  return (
    isDeepStrictEqual(withoutToolFields(before), withoutToolFields(after)) &&
    containersInSpec(before.spec).every((container, index) => {
      const env = containersInSpec(after.spec)[index]?.env ?? []
      return (container.env ?? []).every(
        (variable) =>
          variable.name.startsWith(reloaderPrefix) || env.some((other) => isDeepStrictEqual(variable, other)),
      )
    })
  )
}

/** Whether the pods of two templates run the same containers: only metadata and variables of Reloader differ. */
export function haveSameContainers(template: PodTemplate | undefined, next: PodTemplate | undefined): boolean {
  return hasOnlyToolChanges(template, next) && hasOnlyToolChanges(next, template)
}

/** The containers and init containers of a pod spec. */
export function containersInSpec({ containers = [], initContainers = [] }: PodSpec = {}): readonly Container[] {
  return [...containers, ...initContainers]
}

/** A template without metadata and environment variables. */
function withoutToolFields({ metadata: _metadata, spec, ...rest }: PodTemplate): unknown {
  const withoutEnv = (list: Container[] | undefined) => list?.map(({ env: _env, ...container }) => container)
  const containers = withoutEnv(spec?.containers)
  const initContainers = withoutEnv(spec?.initContainers)
  return normalise({ ...rest, spec: { ...spec, containers, initContainers } })
}

function withoutHash({ metadata, ...rest }: PodTemplate): unknown {
  const { 'pod-template-hash': _hash, ...labels } = metadata?.labels ?? {}
  return normalise({ ...rest, metadata: { ...metadata, labels } })
}

/** Whether a pod has all containers of a template, with their images. */
export function hasImagesOf(template: PodTemplate | undefined, { spec }: Pod): boolean {
  return containersInSpec(template?.spec).every(({ name, image }) =>
    containersInSpec(spec).some((container) => container.name === name && container.image === image),
  )
}

/** Removes absent, null and empty values at every level, and sorts the keys. */
function normalise(value: unknown): unknown {
  return withoutEmptyValues(value) ?? {}
}

/** A value without empty values; undefined if nothing is left. */
function withoutEmptyValues(value: unknown): unknown {
  if (Array.isArray(value))
    return value.length === 0 ? undefined : value.map((item) => withoutEmptyValues(item) ?? null)
  if (typeof value !== 'object' || value === null) return value ?? undefined
  const entries = Object.keys(value)
    .sort()
    .map((key) => [key, withoutEmptyValues((value as Fields)[key])] as const)
    .filter(([, pruned]) => pruned !== undefined)
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

/** Fields that `fieldChanges` omits, because `containerChanges` compares their elements by name. */
const listsByName: ReadonlySet<string> = new Set(['name', 'env', 'containers', 'initContainers'])
/** Structured fields whose old and new values are shown, as for scalars. */
const shownFields: ReadonlySet<string> = new Set(['command', 'args', 'resources'])
const longestValue = 120

/**
 * The differences of two pod templates, one line each, without labels and annotations. Environment variables appear
 * only by name, because their values may be secret.
 */
export function templateChanges(before: PodTemplate | undefined, after: PodTemplate | undefined): readonly string[] {
  return [
    ...containerChanges('init container', before?.spec?.initContainers, after?.spec?.initContainers),
    ...containerChanges('container', before?.spec?.containers, after?.spec?.containers),
    ...fieldChanges(before?.spec, after?.spec),
  ]
}

function containerChanges(
  type: string,
  before: readonly Container[] = [],
  after: readonly Container[] = [],
): readonly string[] {
  const old = new Map(before.map((container) => [container.name, container]))
  const present = new Set(after.map(({ name }) => name))
  return [
    ...after.flatMap((container) => {
      const previous = old.get(container.name)
      const title = `${type} ${container.name}`
      if (previous === undefined) return [`${title} added (image ${container.image ?? '?'})`]
      const changes = [...fieldChanges(previous, container), ...environmentChanges(previous, container)]
      return changes.map((change) => `${title}: ${change}`)
    }),
    ...before.filter(({ name }) => !present.has(name)).map(({ name }) => `${type} ${name} removed`),
  ]
}

function environmentChanges(before: Container, after: Container): readonly string[] {
  const old = new Map((before.env ?? []).map((variable) => [variable.name, variable]))
  const now = new Map((after.env ?? []).map((variable) => [variable.name, variable]))
  const added = [...now.keys()].filter((name) => !old.has(name))
  const removed = [...old.keys()].filter((name) => !now.has(name))
  const changed = [...now.keys()].filter((name) => old.has(name) && !isDeepStrictEqual(old.get(name), now.get(name)))
  const changeLine = (verb: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`env ${names.join(', ')} ${verb}`]
  return [...changeLine('added', added), ...changeLine('removed', removed), ...changeLine('changed', changed)]
}

/** The fields that differ. Scalars and `shownFields` appear with both values. */
function fieldChanges(before: object = {}, after: object = {}): readonly string[] {
  // The image comes first, because it is the most important change.
  const names = new Set(['image', ...Object.keys(after), ...Object.keys(before)])
  return [...names].flatMap((name) => {
    const [old, now] = [(before as Fields)[name], (after as Fields)[name]]
    if (listsByName.has(name) || isEqualValue(old, now)) return []
    const isShown = shownFields.has(name) || (typeof old !== 'object' && typeof now !== 'object')
    return [isShown ? `${name} ${valueText(old)} → ${valueText(now)}` : `${name} changed`]
  })
}

/** Whether two values are equal; absent, null and empty values are equal too. */
function isEqualValue(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(normalise(a), normalise(b))
}

function valueText(value: unknown): string {
  if (value === undefined) return '(none)'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > longestValue ? `${text.slice(0, longestValue - 1)}…` : text
}
