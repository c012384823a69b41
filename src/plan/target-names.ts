import { displayName, type Target, targetId } from './target.ts'

/** What a target is called in the log, the summary and messages. Not yet escaped. */
export interface TargetName {
  /** `deployment/web`; with the group where two targets would read alike. */
  readonly name: string
  /** Only when the targets lie in several namespaces. */
  readonly namespace?: string
}

/** The names of all targets, as short as tells them apart, in their order. */
export function nameTargets(targets: readonly Target[]): TargetName[] {
  const several = namespacesOf(targets).length > 1
  const key = (target: Target) => `${target.namespace ?? ''} ${displayName(target)}`
  const uses = new Map<string, number>()
  for (const target of targets) uses.set(key(target), (uses.get(key(target)) ?? 0) + 1)
  return targets.map((target) => ({
    name: (uses.get(key(target)) ?? 0) > 1 ? targetId(target) : displayName(target),
    ...(several && target.namespace !== undefined ? { namespace: target.namespace } : {}),
  }))
}

/** A name in one piece, as the references of the input are written: `deployment/web -n shop`. */
export function fullName({ name, namespace }: TargetName): string {
  return namespace === undefined ? name : `${name} -n ${namespace}`
}

/** Every namespace that a target lies in, once, in their order. */
export function namespacesOf(targets: readonly Target[]): string[] {
  return [...new Set(targets.flatMap(({ namespace }) => namespace ?? []))]
}
