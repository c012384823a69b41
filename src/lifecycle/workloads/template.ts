import { isDeepStrictEqual } from 'node:util'
import type { Container, EnvVar, PodSpec, PodTemplate } from '../../cluster/objects.ts'

/**
 * Whether two pod templates are the same to the Deployment controller, which compares all but its own hash label
 * (EqualIgnoreHash, pkg/controller/deployment/util). Absent, null and empty mean the same, as in its semantic comparison.
 */
export function isSameTemplate(a: PodTemplate | undefined, b: PodTemplate | undefined): boolean {
  return isDeepStrictEqual(comparable(a), comparable(b))
}

/** Every change of a pod has its workload judged again, whose templates stay the same objects. */
const comparables = new WeakMap<PodTemplate, unknown>()

function comparable(template: PodTemplate | undefined): unknown {
  const known = template && comparables.get(template)
  if (known !== undefined) return known
  const made = withoutHash(normalise(template))
  if (template) comparables.set(template, made)
  return made
}

/** The environment variables whose values Reloader owns (https://github.com/stakater/Reloader, `env-vars` strategy). */
const reloaderPrefix = 'STAKATER_'

/**
 * Whether `next` differs from `template` only in what tools change while a rollout is under way: annotations, labels, added
 * environment variables and the values of those that Reloader owns (`kubectl rollout restart`, Reloader). Such a change is
 * followed, not superseding.
 */
export function isFollowedChange(template: PodTemplate | undefined, next: PodTemplate | undefined): boolean {
  const [before, after] = [normalise(template) as PodTemplate, normalise(next) as PodTemplate]
  return (
    isDeepStrictEqual(withoutDecoration(before), withoutDecoration(after)) &&
    containers(before.spec).every((container, index) => {
      const env = containers(after.spec)[index]?.env ?? []
      return (container.env ?? []).every((variable) => env.some((other) => isKept(variable, other)))
    })
  )
}

function isKept(variable: EnvVar, other: EnvVar): boolean {
  return (
    isDeepStrictEqual(variable, other) || (variable.name.startsWith(reloaderPrefix) && variable.name === other.name)
  )
}

function containers(spec: PodSpec | undefined): readonly Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]
}

function withoutDecoration({ metadata: _metadata, spec, ...rest }: PodTemplate): unknown {
  const withoutEnv = (list: Container[] | undefined) => list?.map(({ env: _env, ...container }) => container)
  const containers = withoutEnv(spec?.containers)
  const initContainers = withoutEnv(spec?.initContainers)
  return normalise({ ...rest, spec: { ...spec, containers, initContainers } })
}

function withoutHash(template: unknown): unknown {
  const { metadata, ...rest } = template as PodTemplate
  const { 'pod-template-hash': _hash, ...labels } = metadata?.labels ?? {}
  return normalise({ ...rest, metadata: { ...metadata, labels } })
}

/** Leaves out what is absent, null or empty, all the way down. */
function normalise(value: unknown): unknown {
  return prune(value) ?? {}
}

function prune(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => prune(item) ?? null)
  if (typeof value !== 'object' || value === null) return value ?? undefined
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const pruned = prune(item)
    return pruned === undefined ? [] : [[key, pruned] as const]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}
