import { isPodSubject, subjectText } from '../cluster/objects.ts'
import { didYouMean } from '../errors.ts'
import type { JudgedRunRecord, RunRecord } from '../gate/run-record.ts'
import { conditionsOf } from '../lifecycle/conditions.ts'
import { displayName, type Target } from '../plan/target.ts'
import { hintOf, type Problem, type ReasonCode, traitsOf } from '../reasons/reasons.ts'
import type { HintFacts, HintTarget } from '../reasons/spec.ts'
import { clusterCommand, hintWords, listNames } from '../reasons/wording.ts'

/* Creates the hints, which state what a user can do about a problem. */

export interface HintDetails extends Omit<HintFacts, 'target' | 'problem' | 'cause'> {
  readonly problem?: Problem
  /** The facts about the cause of the problem. */
  readonly cause?: HintDetails
  /** The target was still open when another target ended the gate. */
  readonly isLeftOpen?: boolean
  /** Whether the namespace of the target does not exist or is being deleted. */
  readonly namespaceState?: 'missing' | 'terminating'
}

/** Whether the gate ended without judging its open targets. */
export function hasUnjudgedTargets({ outcome }: Pick<RunRecord, 'outcome'>): boolean {
  return outcome === 'cancelled' || outcome === 'misconfigured' || outcome === 'unknown'
}

/** The hint of a gate that ended for a reason of the gate itself. Undefined if the targets have their own hints. */
export function gateHint(
  { outcome, reason, targets, basis }: JudgedRunRecord,
  denied: HintDetails['denied'] = basis?.denied,
): string | undefined {
  const [first] = targets
  if (first === undefined || reason === '') return undefined
  if (!hasUnjudgedTargets({ outcome }) && targets.some((judged) => judged.outcome === outcome)) return undefined
  // The hint does not depend on the target.
  return targetHint(first.basis.target, reason, { denied, unreadable: basis?.unreadable })
}

export function targetHint(target: Target, reason: ReasonCode | '', details: HintDetails = {}): string {
  const { problem, object, isLeftOpen } = details
  if (problem?.oldRevision !== undefined)
    return `Delete the pod of the older revision, because its controller does not replace it: ${hintWords({ target }).command('delete', subjectText(problem.subject))}.`
  const isWaiting = reason === '' || traitsOf({ reason }).hasNoProblem
  const wait = isWaiting && object !== undefined ? waitForHint(target, object) : undefined
  if (reason === '' && isLeftOpen) {
    const setting = hintWords({ target, usesFlags: details.usesFlags }).setting('fail-fast', 'false')
    return (
      wait ??
      `It was in progress, without a known problem, when another target ended the gate. Fix that first; with \`${setting}\` every target may finish.`
    )
  }
  return namespaceHint(target, details) ?? wait ?? reasonHint(target, reason === '' ? 'still-running' : reason, details)
}

function reasonHint(
  target: Target,
  reason: ReasonCode,
  { cause, isLeftOpen: _, namespaceState: __, ...facts }: HintDetails,
): string {
  const behind = cause?.problem
  return hintOf(reason, {
    ...facts,
    target: hintSubject(target, facts.problem),
    cause: behind && {
      hint: reasonHint(target, behind.reason, { ...cause, usesFlags: facts.usesFlags }),
    },
  })
}

/** The object that a hint describes: the target, or another object if the problem is not of the target or its pods. */
function hintSubject(target: Target, { subject, isElsewhere }: Partial<Problem> = {}): HintTarget {
  if (subject === undefined) return target
  const { kind, name } = subject
  const namespace = isElsewhere ? subject.namespace : target.namespace
  const isOwn = kind === target.kind || isPodSubject(subject) || kind === 'ReplicaSet'
  return isOwn ? { ...target, namespace } : { ...target, namespace, kind, name, isNotTarget: true, selector: undefined }
}

/** The hint if the namespace of the target is missing or being deleted. */
function namespaceHint({ namespace }: Target, { namespaceState }: HintDetails): string | undefined {
  if (namespaceState === undefined) return undefined
  return namespaceState === 'missing'
    ? `Namespace ${namespace} does not exist. Create it and apply again, or correct the name of the namespace. ${clusterCommand('get', 'namespaces')} lists what is there.`
    : `Namespace ${namespace} is being deleted, with everything in it. Find out who deletes it, and create it again once it is gone. Then apply again.`
}

/** The maximum number of conditions that a hint lists. */
const maxConditions = 8

/** The hint if the object has no condition with the name in `--for`, usually because of a typing error. */
function waitForHint(target: Target, object: NonNullable<HintDetails['object']>): string | undefined {
  if (target.waitFor?.type !== 'condition') return undefined
  const { condition } = target.waitFor
  const existing = conditionsOf(object).map(({ type }) => type)
  const isThere = existing.some((type) => type.toLowerCase() === condition.toLowerCase())
  if (isThere || existing.length === 0) return undefined
  const others = listNames(existing, maxConditions)
  return `Correct --for: ${displayName(target)} has no condition ${condition}, but ${others}.${didYouMean(condition, existing)}`
}
