import type { ObjectName } from '../cluster/objects.ts'
import { problemAndCause } from '../lifecycle/evidence-snapshot.ts'
import { nameKey } from '../plan/target.ts'
import { classOf, isUnaffectedByOthers, otherSubjects, type Problem, traitsOf } from '../reasons/reasons.ts'
import { mayBeCause } from './outcome.ts'
import { type GatedTarget, isConfirmedRemovedHook, isTargetReady, verdictSoFar } from './target-state.ts'
import type { Targets } from './targets.ts'
import { isProblemOfTarget } from './timeline-entries.ts'

/**
 * Finds the targets that are not ready only because they wait for another target. If A waits for B and B waits for C,
 * the cause of A is C. Targets that wait for each other have no cause.
 * @returns the cause of each waiting target
 */
export function findCauses(targets: Targets): ReadonlyMap<GatedTarget, GatedTarget> {
  const direct = new Map<GatedTarget, GatedTarget>()
  for (const gated of targets.all) {
    const cause = findCause(gated, targets)
    if (cause !== undefined) direct.set(gated, cause)
  }
  const causes = new Map<GatedTarget, GatedTarget>()
  for (const gated of direct.keys()) {
    const root = rootCauseOf(gated, direct)
    if (root !== undefined) causes.set(gated, root)
  }
  return causes
}

/** The last target in the chain of causes of a target. Undefined if the chain is a circle. */
function rootCauseOf(gated: GatedTarget, direct: ReadonlyMap<GatedTarget, GatedTarget>): GatedTarget | undefined {
  const passed = new Set([gated])
  let root = gated
  for (let next = direct.get(root); next !== undefined; next = direct.get(root)) {
    if (passed.has(next)) return undefined
    passed.add(next)
    root = next
  }
  return root
}

/** The first awaited target that is not ready. A target never waits for itself or for its own objects. */
function findCause(gated: GatedTarget, targets: Targets): GatedTarget | undefined {
  // A removed hook waits for all other targets.
  const isWaitingHook = !isTargetReady(gated.state) && isConfirmedRemovedHook(gated)
  const unready = isWaitingHook ? targets.targetsAwaitedByHooks.find(({ state }) => !isTargetReady(state)) : undefined
  if (unready !== undefined) return unready
  const { outcome } = verdictSoFar(gated)
  const ownKey = nameKey(gated.target)
  return awaitedObjects(gated)
    .flatMap((name) => targets.findByNameOrOwner(name).slice(0, 1))
    .find((other) => nameKey(other.target) !== ownKey && mayBeCause(verdictSoFar(other).outcome, outcome))
}

/** The objects that a target waits for: first the objects of its problem, then the objects that its rule awaits. */
function awaitedObjects(gated: GatedTarget): readonly ObjectName[] {
  const { state, target } = gated
  const { reason, problem } = verdictSoFar(gated)
  const awaits = state.assessment?.awaits ?? []
  if (problem === undefined) return reason === '' || traitsOf({ reason }).hasNoProblem ? awaits : []
  const subjects = problemAndCause(problem)
    .toReversed()
    .flatMap((each) => [...(isProblemOfTarget(each, target) ? [] : [each.subject]), ...otherSubjects(each)])
  // The `apiVersion` `group/` matches every version of the group.
  const names = subjects.map(({ group, ...name }) => ({ ...name, apiVersion: `${group}/` }))
  return [...names, ...(mayWait(problem) ? awaits : [])]
}

/** Whether a problem may end when another object becomes ready. */
function mayWait(problem: Problem): boolean {
  const { awaits } = traitsOf(problem)
  return classOf(problem) === 'slow' && awaits !== 'deletion' && awaits !== 'user' && !isUnaffectedByOthers(problem)
}
