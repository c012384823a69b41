import { lastOccurrence } from '../cluster/event-order.ts'
import type { Condition, KubeObject } from '../cluster/objects.ts'
import type { ReasonCode } from '../reasons.ts'
import type { Problem } from './assessment.ts'
import { eventCount } from './history.ts'
import { condition } from './pod-state.ts'
import { isSinceStart, prove } from './proof.ts'
import type { View } from './view.ts'

/**
 * Why a controller cannot create pods, from the API server's words. The order matters: most of them are a "forbidden".
 * A LimitRange's refusal is a policy's denial: neither it nor the pods change by themselves.
 */
const wordings: readonly (readonly [ReasonCode, RegExp])[] = [
  ['quota-exceeded', /exceeded quota|must specify (?:limits|requests|\w+ for)|insufficient quota/i],
  ['terminating', /because it is being terminated/i],
  ['service-account-missing', /error looking up service account|serviceaccount "[^"]*" not found/i],
  ['webhook-unavailable', /failed calling webhook|failed to call webhook/i],
  [
    'admission-denied',
    /admission webhook "[^"]*" denied|violates PodSecurity|ValidatingAdmissionPolicy .* denied|denied the request|(?:maximum|minimum) (?:\w+ )?[\w./-]+ (?:usage )?per (?:Pod|Container) is|max limit to request ratio per (?:Pod|Container)/i,
  ],
]

/**
 * What keeps a controller from creating pods, from its ReplicaFailure condition; those of StatefulSets, DaemonSets and Jobs
 * write none, so there it is the event of their last attempt, while they have fewer pods than they want (`isShort`).
 *
 * Terminal: an explicit denial by a policy at its second attempt, since only another apply (or policy) changes its answer,
 * and a pod that the API server finds invalid. Slow: everything that others may mend, as quota, a missing ServiceAccount or
 * PriorityClass, or an unreachable webhook.
 * @param since when its present template was made: what was refused before speaks of another
 */
export function creationProblem(
  controller: KubeObject & { status?: { conditions?: Condition[] } },
  view: View,
  isShort = false,
  since = 0,
): readonly Problem[] {
  const attempts = view
    .events(controller)
    .filter((event) => event.reason === 'FailedCreate' || event.reason === 'SuccessfulCreate')
    .filter((event) => (view.time(lastOccurrence(event)) ?? 0) >= since)
  const failed = condition(controller, 'ReplicaFailure')
  const last = isShort ? attempts.at(-1) : undefined
  const refusal = failed?.status === 'True' ? failed : last?.reason === 'FailedCreate' ? last : undefined
  if (refusal === undefined) return []
  const message = refusal.message ?? ''
  const reason = reasonOf(message)
  const refusals = attempts.filter(
    (event) => event.reason === 'FailedCreate' && reasonOf(event.message ?? '') === reason,
  )
  const count = Math.max(
    1,
    refusals.reduce((sum, event) => sum + eventCount(event), 0),
  )
  const isDenied = reason === 'admission-denied' || /\bis invalid: /.test(message)
  const firstAt = view.time(failed?.status === 'True' ? failed.lastTransitionTime : last?.firstTimestamp)
  const lastAt = Math.max(firstAt ?? 0, ...refusals.map((event) => view.time(lastOccurrence(event)) ?? 0))
  const observed = { seen: isDenied ? count : 0, needed: 2, since: firstAt ?? 0, atLeastMs: 0 }
  const { proven } = prove({ ...observed, isCurrent: isSinceStart(lastAt, view) }, view.now)
  return [
    {
      reason,
      class: isDenied ? 'terminal' : 'slow',
      subject: `${controller.kind.toLowerCase()}/${controller.metadata.name}`,
      message: `cannot create pods: ${withoutPreamble(message)}`,
      count,
      firstSeenAt: firstAt ?? view.now,
      proven,
    },
  ]
}

function reasonOf(message: string): ReasonCode {
  return wordings.find(([, pattern]) => pattern.test(message))?.[0] ?? 'replica-failure'
}

/**
 * Events begin with what was tried: `Error creating: …`, `create Pod web-0 in StatefulSet web failed error: …`. The name of
 * the pod that was refused is another one at every attempt, and never became one.
 */
function withoutPreamble(message: string): string {
  return message
    .replace(
      /^(?:\(combined from similar events\):\s*)?(?:Error creating: |create Pod \S+ in StatefulSet \S+ failed error: )/,
      '',
    )
    .replace(/^pods "[^"]*" is forbidden: (?=.)/, '')
}
