import {
  type Condition,
  type Deployment,
  type EventObject,
  type KubeObject,
  lastOccurrence,
  type ReplicaSet,
  subjectOf,
} from '../../cluster/objects.ts'
import { buildProblem, classOf, type Problem } from '../../reasons/reasons.ts'
import type { AdmissionRefusal, QuotaRefusal, Refusal } from '../../reasons/workloads.ts'
import {
  creationRetrySlackMs,
  deniedMs,
  firstCreationRetryMs,
  maxCreationRetryMs,
  refusedCreations,
} from '../../thresholds.ts'
import { trueCondition } from '../conditions.ts'
import {
  createMoment,
  earliestMoment,
  isInFuture,
  isProven,
  latestMoment,
  mayBeSinceStart,
  toExplanation,
} from '../proof.ts'
import type { Reader } from '../reader.ts'
import { isObserved } from '../stale-status.ts'
import { findCondition, totalEventCount } from './pod-fields.ts'

/* Why a controller cannot create pods, from its condition ReplicaFailure and from Events. */

type RefusalReason =
  | 'quota-exceeded'
  | 'terminating'
  | 'service-account-missing'
  | 'claim-terminating'
  | 'webhook-unavailable'
  | 'admission-denied'
  | 'replica-failure'

/** A kind of refusal, recognised by its message. Named groups of the pattern become fields of the detail. */
interface RefusalKind {
  readonly reason: RefusalReason
  readonly pattern: RegExp
  /** Reads further fields of the detail from a message. */
  read?(message: string): object
}

/**
 * Errors after which the next attempt may succeed: conflicts, and errors of the API server or of a server behind it.
 * Admission plugins refuse pods until their caches are filled. On OpenShift, they refuse pods until a new namespace is
 * annotated.
 */
const transientErrors =
  /^(?:Internal error|Timeout\b|Unauthorized|Operation cannot be fulfilled)|an error on the server|time allotted|asked for the client to provide credentials|rpc error|\btim(?:ed |e)out\b|deadline exceeded|\bEOF\b|dial tcp|connection (?:refused|reset|lost)|broken pipe|etcdserver|leader changed|unable to handle the request|too many requests|rate limit|temporarily unavailable|already exists|\bnot found\b|could not find|not yet ready|not synchronized|unable to find annotation|object is being deleted/i

/**
 * Why the API server refuses pods, by its message (`withoutPreamble`). The first match decides, because the message of
 * a policy may also match later patterns. Every other message is a denial too, for example by a LimitRange, by
 * PodNodeSelector or by RBAC: it does not change by itself.
 */
const refusalKinds: readonly RefusalKind[] = [
  {
    reason: 'admission-denied',
    pattern:
      /^(?:admission webhook "[^"]*" denied|ValidatingAdmissionPolicy '|violates PodSecurity "|unable to validate against any security context constraint|image policy webhook backend denied)/,
    read: readDenial,
  },
  {
    reason: 'quota-exceeded',
    pattern: /(?:exceeded|failed|insufficient|status unknown for) quota|must specify (?:limits|requests|\w+ for)/i,
    read: readQuota,
  },
  { reason: 'terminating', pattern: /because it is being terminated/i },
  { reason: 'service-account-missing', pattern: /serviceaccount "(?<account>[^"]+)" not found/i },
  { reason: 'service-account-missing', pattern: /error looking up service account/i },
  // Source: createPersistentVolumeClaims, pkg/controller/statefulset/stateful_pod_control.go
  { reason: 'claim-terminating', pattern: /\bpvc (?<claim>\S+) is being deleted/ },
  // The second alternative is the error of ImagePolicyWebhook (plugin/pkg/admission/imagepolicy).
  {
    reason: 'webhook-unavailable',
    pattern: /(?:failed calling|failed to call) webhook(?: "(?<webhook>[^"]+)")?|^Post "?https?:/i,
  },
  { reason: 'replica-failure', pattern: /no PriorityClass with name (?<priorityClass>\S+)/i },
  { reason: 'replica-failure', pattern: /RuntimeClass "(?<runtimeClass>[^"]+)" not found/ },
  { reason: 'replica-failure', pattern: /\bis invalid: /, read: () => ({ isInvalid: true }) },
  { reason: 'replica-failure', pattern: transientErrors },
  { reason: 'admission-denied', pattern: /^/, read: readDenial },
]

/** The kind of a refusal. If a pod could not be deleted (`isDeletion`), an unknown message is no denial. */
function refusalKindOf(message: string, isDeletion = false): RefusalKind {
  const text = withoutPreamble(message)
  const kindIndex = refusalKinds.findIndex(({ pattern }) => pattern.test(text))
  return refusalKinds.at(isDeletion && kindIndex === refusalKinds.length - 1 ? -2 : kindIndex) as RefusalKind
}

/** Reads the message of a quota: `exceeded quota: small, requested: pods=1, used: pods=4, limited: pods=4`. */
function readQuota(message: string): Omit<QuotaRefusal, keyof Refusal> {
  const [, quota, requested = '', used = '', limited = ''] =
    /exceeded quota: (\S+), requested: (\S+), used: (\S+), limited: (\S+)/.exec(message) ?? []
  const [, demanding, mustSpecify] = /failed quota: (\S+): must specify (.+)$/.exec(message) ?? []
  if (quota === undefined) return { quota: demanding, mustSpecify }
  const [inUse, limits] = [quantitiesOf(used), quantitiesOf(limited)]
  const shortages = [...quantitiesOf(requested)].map(([resource, quantity]) => ({
    resource,
    requested: quantity,
    used: inUse.get(resource) ?? '?',
    limited: limits.get(resource) ?? '?',
  }))
  return { quota, shortages }
}

/** Parses a list of quantities: `limits.cpu=1500m,pods=1`. */
function quantitiesOf(list: string): ReadonlyMap<string, string> {
  return new Map(list.split(',').map((each) => each.split('=') as [string, string]))
}

const deniers: readonly (readonly [NonNullable<AdmissionRefusal['by']>['type'], RegExp])[] = [
  ['webhook', /^admission webhook "([^"]+)"/],
  ['policy', /^ValidatingAdmissionPolicy '([^']+)'/],
  ['pod-security', /^violates PodSecurity "([^":]+)/],
  ['security-context-constraints', /^unable to validate against any security context constraint/],
  ['authorization', /^User "([^"]+)" cannot /],
  ['limit-range', /(?:maximum|minimum) (?:\w+ )?[\w./-]+ (?:usage )?per \w+ is|max limit to request ratio per /],
]

/** Reads who denied the pod. */
function readDenial(message: string): Omit<AdmissionRefusal, keyof Refusal> {
  for (const [type, pattern] of deniers) {
    const found = pattern.exec(message)
    if (found !== null) return { by: { type, name: found[1] ?? '' } }
  }
  return { by: undefined }
}

/**
 * The problem that a controller cannot create pods, by its condition ReplicaFailure. StatefulSets, DaemonSets and Jobs
 * have no such condition: for them, the Event of the last attempt counts while pods are missing. A repeated denial
 * (`deniedMs`) and an invalid pod are proven. Everything else may change by itself and is never proven, for example a
 * quota, a missing ServiceAccount, PriorityClass or RuntimeClass, or an unavailable webhook.
 * @param isShort whether fewer pods exist than desired
 * @param since when the present template was created: earlier refusals concern an older template
 */
export function podCreationProblems(
  controller: Controller,
  reader: Reader,
  isShort = false,
  since = 0,
): readonly Problem[] {
  const attempts = creationAttempts(controller, creationEvents, reader, since)
  const failed = replicaFailureCondition(controller)
  const last = isShort ? attempts.at(-1) : undefined
  if (failed !== undefined) return [refusalProblem(controller, 'create pods', failed, attempts, reader)]
  if (last?.reason !== 'FailedCreate') return []
  return [
    refusalProblem(controller, 'create pods', { ...last, lastTransitionTime: last.firstTimestamp }, attempts, reader),
  ]
}

/**
 * The problem that a Deployment gets no pods of its present template. The Deployment copies ReplicaFailure from its new
 * ReplicaSet, otherwise from an older one, which never fails the rollout (getReplicaFailures,
 * pkg/controller/deployment/progress.go). If the ReplicaSet itself is refused, the controller writes the condition
 * Progressing, without an observed generation, and an Event for each attempt (getNewReplicaSet,
 * pkg/controller/deployment/sync.go).
 * @param current the ReplicaSet of the present template, if it exists
 * @param owned all ReplicaSets of the Deployment
 */
export function rolloutCreationProblems(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  owned: readonly ReplicaSet[],
  reader: Reader,
): readonly Problem[] {
  if (current !== undefined && replicaFailureCondition(current) !== undefined)
    return podCreationProblems(current, reader)
  const progressing = findCondition(deployment, 'Progressing')
  if (current === undefined && progressing?.reason === 'ReplicaSetCreateError') {
    const attempts = creationAttempts(deployment, ['ReplicaSetCreateError'], reader)
    return [refusalProblem(deployment, 'create its ReplicaSet', progressing, attempts, reader)]
  }
  const own = replicaFailureCondition(deployment)
  if (own === undefined || (current === undefined && !isObserved(deployment))) return []
  const older = owned.find((set) => set !== current && replicaFailureCondition(set) !== undefined)
  if (older !== undefined) return podCreationProblems(older, reader).map(toExplanation)
  const attempts = current === undefined ? [] : creationAttempts(current, creationEvents, reader)
  return [refusalProblem(deployment, 'create pods', own, attempts, reader)]
}

type Controller = KubeObject & { status?: { conditions?: Condition[] } }

function replicaFailureCondition(controller: Controller): Condition | undefined {
  return trueCondition(controller, 'ReplicaFailure')
}

const creationEvents = ['FailedCreate', 'SuccessfulCreate']

/** The Events about a controller with one of these reasons, since a moment; the latest last. */
function creationAttempts(
  controller: Controller,
  reasons: readonly string[],
  reader: Reader,
  since = 0,
): readonly EventObject[] {
  return reader
    .events(controller, ({ reason }) => reasons.includes(reason ?? ''))
    .filter((event) => (reader.time(lastOccurrence(event)) ?? 0) >= since)
}

/** A refusal and its first moment, as a condition or an Event reports them. */
interface ReportedRefusal {
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string | null | undefined
}

/**
 * The problem of the present refusal. A condition keeps the first message (SetCondition, pkg/controller/replicaset and
 * pkg/controller/deployment/util), so a later Event may contain a newer one.
 */
function refusalProblem(
  controller: Controller,
  action: Refusal['action'],
  report: ReportedRefusal,
  attempts: readonly EventObject[],
  reader: Reader,
): Problem {
  const refused = attempts.filter((event) => event.reason !== 'SuccessfulCreate')
  const reportedAt = reader.time(report.lastTransitionTime)
  const latest = refused.at(-1)
  const isLater = latest !== undefined && (reader.time(lastOccurrence(latest)) ?? 0) >= (reportedAt ?? 0)
  const message = latestMessage(report.message ?? '', isLater ? (latest.message ?? '') : '')
  const isDeletion = report.reason === 'FailedDelete'
  const { reason, pattern, read } = refusalKindOf(message, isDeletion)
  const sameReason = refused.filter((event) => refusalKindOf(event.message ?? '').reason === reason)
  const count = Math.max(1, totalEventCount(sameReason))
  const firstAt = sameReason[0]?.firstTimestamp ?? report.lastTransitionTime
  const since = refusalKindOf(report.message ?? '').reason === reason ? reportedAt : reader.time(firstAt)
  const lastAt = Math.max(since ?? 0, ...sameReason.map((event) => reader.time(lastOccurrence(event)) ?? 0))
  const problem = buildProblem({
    reason,
    subject: subjectOf(controller),
    detail: {
      action: isDeletion ? 'delete pods' : action,
      message,
      ...pattern.exec(message)?.groups,
      ...read?.(message),
    },
    count,
    firstSeenAt: since ?? reader.now,
    proven: false,
    isRetried: isInFuture(nextAttemptAt(refused, reader), reader) || undefined,
  })
  // A denial may end when a policy changes, so it must persist. An invalid pod stays invalid: two refusals prove it.
  const isInvalid = 'isInvalid' in problem.detail && problem.detail.isInvalid === true
  const isRepeated = isProven(
    {
      seen: count,
      needed: refusedCreations,
      since: isInvalid ? 0 : Math.max(since ?? 0, reader.startedAt),
      atLeastMs: isInvalid ? 0 : deniedMs,
      isCurrent: mayBeSinceStart(lastAt, reader),
    },
    createMoment(lastAt),
  )
  return { ...problem, proven: classOf(problem) === 'terminal' && isRepeated }
}

/**
 * When the controller tries again at the latest: each refusal doubles the wait (ItemExponentialFailureRateLimiter,
 * k8s.io/client-go/util/workqueue). A change of another pod may start an attempt earlier, but a change of a quota or
 * policy does not. Because Events expire, the wait is at least the time between the known refusals.
 */
function nextAttemptAt(refused: readonly EventObject[], { time }: Reader): number | undefined {
  const firstAt = earliestMoment(refused.map((event) => time(event.firstTimestamp ?? lastOccurrence(event))))
  const lastAt = latestMoment(refused.map((event) => time(lastOccurrence(event))))
  if (firstAt === undefined || lastAt === undefined) return undefined
  const waitMs = Math.max(lastAt - firstAt, firstCreationRetryMs * 2 ** (totalEventCount(refused) - 1))
  return lastAt + Math.min(waitMs, maxCreationRetryMs) + creationRetrySlackMs
}

/** The message of the latest Event, unless it repeats the condition. The message of an Event may be cut off. */
function latestMessage(reported: string, latest: string): string {
  const [text, later] = [reported, latest].map(withoutPreamble) as [string, string]
  return text.startsWith(later.replace(/\.{3}$|…$/, '')) ? text : later
}

/**
 * Removes the text about the attempt and the name of the refused pod, which differs in each attempt: `Error creating:
 * …`, `create Pod web-0 in StatefulSet web failed error: …`.
 */
function withoutPreamble(message: string): string {
  return message
    .replace(
      /^(?:Error creating: |create (?:Pod|Claim) .+? in StatefulSet \S+ failed error: |Failed to create new replica set "[^"]*": )/,
      '',
    )
    .replace(/^[a-z.]+(?: "[^"]*")? is forbidden: (?=.)/, '')
}
