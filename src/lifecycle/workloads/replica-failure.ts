import { lastOccurrence } from '../../cluster/event-order.ts'
import type { Condition, Deployment, EventObject, KubeObject, ReplicaSet } from '../../cluster/objects.ts'
import { type Problem, problemOf, type ReasonCode } from '../../reasons/reasons.ts'
import { isSinceStart, prove } from '../proof.ts'
import { isObserved } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { eventCount } from './history.ts'
import { condition } from './pod-state.ts'

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
  controller: Controller,
  context: RuleContext,
  isShort = false,
  since = 0,
): readonly Problem[] {
  const attempts = attemptsOf(controller, creations, context, since)
  const failed = replicaFailure(controller)
  const last = isShort ? attempts.at(-1) : undefined
  if (failed !== undefined) return [refusedProblem(controller, 'pods', failed, attempts, context)]
  if (last?.reason !== 'FailedCreate') return []
  return [refusedProblem(controller, 'pods', { ...last, lastTransitionTime: last.firstTimestamp }, attempts, context)]
}

/**
 * What keeps a Deployment from having pods of its present template. Its new ReplicaSet reports it, and the Deployment
 * copies that; where the new one reports nothing, the controller copies what any older one reports (`getReplicaFailures`,
 * pkg/controller/deployment/progress.go), which fails no rollout. Where the ReplicaSet itself is refused, the controller
 * writes the condition Progressing, without the generation that it has observed, and an event for each attempt
 * (`getNewReplicaSet`, pkg/controller/deployment/sync.go).
 * @param current the ReplicaSet of the present template, where there is one
 * @param owned all ReplicaSets of the Deployment
 */
export function rolloutCreationProblem(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  owned: readonly ReplicaSet[],
  context: RuleContext,
): readonly Problem[] {
  if (current !== undefined && replicaFailure(current) !== undefined) return creationProblem(current, context)
  const progressing = condition(deployment, 'Progressing')
  if (current === undefined && progressing?.reason === 'ReplicaSetCreateError') {
    const attempts = attemptsOf(deployment, ['ReplicaSetCreateError'], context)
    return [refusedProblem(deployment, 'its ReplicaSet', progressing, attempts, context)]
  }
  const own = replicaFailure(deployment)
  if (own === undefined || (current === undefined && !isObserved(deployment))) return []
  const older = owned.find((set) => set !== current && replicaFailure(set) !== undefined)
  if (older !== undefined)
    return creationProblem(older, context).map((problem) => ({ ...problem, neverFails: true, proven: false }))
  const attempts = current === undefined ? [] : attemptsOf(current, creations, context)
  return [refusedProblem(deployment, 'pods', own, attempts, context)]
}

type Controller = KubeObject & { status?: { conditions?: Condition[] } }

function replicaFailure(controller: Controller): Condition | undefined {
  const found = condition(controller, 'ReplicaFailure')
  return found?.status === 'True' ? found : undefined
}

const creations = ['FailedCreate', 'SuccessfulCreate']

/** The events about a controller with one of these reasons that occurred last at or after `since`, the latest last. */
function attemptsOf(
  controller: Controller,
  reasons: readonly string[],
  context: RuleContext,
  since = 0,
): readonly EventObject[] {
  return context
    .events(controller)
    .filter((event) => reasons.includes(event.reason ?? '') && (context.time(lastOccurrence(event)) ?? 0) >= since)
}

/** What a controller reports of a refusal, and when it did so first: its condition, or where it has none its event. */
interface Report {
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string | null | undefined
}

/**
 * The problem of the refusal that stands. A condition keeps the message of the first refusal as long as it holds
 * (SetCondition, pkg/controller/replicaset and pkg/controller/deployment/util): a later event reports why it does by now.
 */
function refusedProblem(
  { kind, metadata }: Controller,
  what: 'pods' | 'its ReplicaSet',
  report: Report,
  attempts: readonly EventObject[],
  context: RuleContext,
): Problem {
  const refused = attempts.filter((event) => event.reason !== 'SuccessfulCreate')
  const reportedAt = context.time(report.lastTransitionTime)
  const latest = refused.at(-1)
  const isSince = latest !== undefined && (context.time(lastOccurrence(latest)) ?? 0) >= (reportedAt ?? 0)
  const message = (isSince ? latest.message : report.message) ?? ''
  const reason = reasonOf(message)
  const refusals = refused.filter((event) => reasonOf(event.message ?? '') === reason)
  const count = Math.max(
    1,
    refusals.reduce((sum, event) => sum + eventCount(event), 0),
  )
  const isInvalid = reason === 'replica-failure' && /\bis invalid: /.test(message)
  const isDenied = reason === 'admission-denied' || isInvalid
  const firstAt = refusals[0]?.firstTimestamp ?? report.lastTransitionTime
  const since = reasonOf(report.message ?? '') === reason ? reportedAt : context.time(firstAt)
  const lastAt = Math.max(since ?? 0, ...refusals.map((event) => context.time(lastOccurrence(event)) ?? 0))
  const observed = { seen: isDenied ? count : 0, needed: 2, since: since ?? 0, atLeastMs: 0 }
  return problemOf({
    reason,
    subject: `${kind.toLowerCase()}/${metadata.name}`,
    detail: {
      text: `cannot ${report.reason === 'FailedDelete' ? 'delete' : 'create'} ${what}: ${withoutPreamble(message)}`,
      isInvalid,
    },
    count,
    firstSeenAt: since ?? context.now,
    proven: prove({ ...observed, isCurrent: isSinceStart(lastAt, context) }, context.now).proven,
  })
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
      /^(?:\(combined from similar events\):\s*)?(?:Error creating: |create Pod \S+ in StatefulSet \S+ failed error: |Failed to create new replica set "[^"]*": )/,
      '',
    )
    .replace(/^(?:pods|replicasets\.apps) "[^"]*" is forbidden: (?=.)/, '')
}
