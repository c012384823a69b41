import { didYouMean } from '../errors.ts'
import type { Timeline, Verdict } from '../gate/timeline.ts'
import { listNames, missingSubject } from '../lifecycle/custom/wait-for.ts'
import { displayName, type Target } from '../plan/target.ts'
import { type Problem, type ReasonCode, reasons } from '../reasons/reasons.ts'
import type { HintFacts, ReasonSpec } from '../reasons/spec.ts'
import { clusterCommand, command } from '../reasons/wording.ts'

/** What a hint may use besides the target, as far as it is known. */
export interface HintDetails extends Omit<HintFacts<unknown>, 'target' | 'problem' | 'cause'> {
  readonly problem?: Problem
  /** The problem behind this one, and what is known of it. */
  readonly cause?: HintDetails
  /** The target that ended the gate while this one was open, and how: `deployment/web failed`. */
  readonly endedBy?: string
}

/** Whether the gate ended without judging what was still open. */
export function isCutShort({ outcome }: Verdict): boolean {
  return outcome === 'cancelled' || outcome === 'misconfigured' || outcome === 'unknown'
}

/** What to do about a gate that ended without judging its targets; nothing where the targets' own hints contain it. */
export function gateHint({ verdict, targets: [first] }: Timeline): string | undefined {
  if (first === undefined || verdict === undefined || !isCutShort(verdict)) return undefined
  // These hints are about the gate: any target will do.
  return hintFor(first.target, verdict.reason, { denied: verdict.denied })
}

/** What to do about a target that is not ready. */
export function hintFor(target: Target, reason: ReasonCode | '', details: HintDetails = {}): string {
  const { problem, object, endedBy } = details
  if (problem?.oldRevision !== undefined)
    return `Delete the pod of the older revision, which nothing else replaces: ${command({ target }, 'delete', problem.subject)}.`
  const isWaiting = reason === '' || reason === 'no-progress' || reason === 'still-running'
  const wait = isWaiting && object !== undefined ? waitForHint(target, object) : undefined
  if (reason === '' && endedBy !== undefined) return wait ?? openHint(endedBy)
  const namespace = reason === 'deleted' ? undefined : namespaceHint(target, details)
  return namespace ?? wait ?? reasonHint(target, reason === '' ? 'still-running' : reason, details)
}

function reasonHint(target: Target, reason: ReasonCode, { cause, endedBy: _, ...facts }: HintDetails): string {
  const behind = cause?.problem
  const { hint } = reasons[reason] as ReasonSpec<unknown>
  return hint({
    ...facts,
    target,
    cause: behind && {
      reason: behind.reason,
      subject: behind.subject,
      hint: reasonHint(target, behind.reason, cause),
    },
  })
}

/** The namespace of the target does not exist, so the target cannot exist either. */
function namespaceHint({ namespace }: Target, { namespaceState }: HintDetails): string | undefined {
  if (namespaceState !== 'missing' || namespace === undefined) return undefined
  return `Namespace ${namespace} does not exist. Create it, or correct the input \`namespace\` or -n. ${clusterCommand('get', 'namespaces')} lists what is there.`
}

/** The condition or field of `--for` that the object does not have: most often a misspelt name. */
function waitForHint(target: Target, object: NonNullable<HintDetails['object']>): string | undefined {
  const missing = missingSubject(object, target.waitFor)
  if (missing === undefined) return undefined
  const { words, at, existing } = missing
  const others = `${at === '' ? '' : `${at} has `}${listNames(existing)}`
  return `Correct --for: ${displayName(target)} has no ${words}, but ${others}.${didYouMean(missing.name, existing)}`
}

/** Another target ended the gate while nothing was known to be wrong with this one. */
function openHint(endedBy: string): string {
  return `Nothing is known to be wrong with it: it was in progress when the gate ended, because ${endedBy}. Mend that first; with \`fail-fast: false\` every target may finish.`
}
