import { type Condition, isOfKind, type Job, type KubeObject } from '../../cluster/objects.ts'
import { releaseOfRevision } from '../../plan/helm-release.ts'
import type { Problem } from '../../reasons/reasons.ts'
import type { Assessment } from '../assessment.ts'
import { type ConditionSignal, reportedProblem, signalKey } from '../conditions.ts'
import { commonMilestones, conclude, type Rule, statusMilestones } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'

const hookAnnotation = 'helm.sh/hook'
const instanceLabel = 'app.kubernetes.io/instance'

/**
 * A revision of a Helm release, by the labels of its Secret (pkg/storage/driver/secrets.go and pkg/release/common/status.go of
 * Helm). Ready when Helm has deployed it. Helm reports a failure for a hook, an apply or a wait that failed. When Helm deploys
 * the next revision, it marks this one as superseded.
 */
export const helmRevisionRule: Rule = {
  milestones: commonMilestones,
  relatives: () => [],
  optionalRelatives: ({ metadata: { namespace } }) => [{ apiVersion: 'batch/v1', kind: 'Job', namespace }],
  concernedBy: ['Job'],
  isConcernedBy: (_, other) => other.metadata.annotations?.[hookAnnotation] !== undefined,
  failures: (object) => (isFailed(object) ? [signalKey(failedSignal)] : []),
  states: (object) => [statusOf(object)],
  compare: ({ gated }, object) =>
    statusOf(object) === 'superseded' && statusOf(gated) !== 'superseded' ? { type: 'superseded' } : { type: 'same' },
  assess: assessRevision,
}

const failedSignal: ConditionSignal = { name: 'status', value: 'failed' }

function statusOf({ metadata }: KubeObject): string {
  return metadata.labels?.['status'] ?? 'unknown'
}

function isFailed(object: KubeObject): boolean {
  return statusOf(object) === 'failed'
}

function assessRevision(object: KubeObject, context: RuleContext): Assessment {
  const status = statusOf(object)
  const { release, revision } = releaseOfRevision(object.metadata.name)
  const ready = status === 'deployed'
  const message = ready ? `revision ${revision} is deployed` : `Helm reports revision ${revision} as ${status}`
  const failure = isFailed(object) ? failedProblem(object, release, message, context) : undefined
  return conclude(object, context, {
    ready,
    readyMessage: message,
    milestones: statusMilestones({ state: 'done', message: '' }, ready, message),
    problems: failure === undefined ? [] : [failure],
    failure: failure?.proven ? failure : undefined,
    recheckAt: failure?.recheckAt,
  })
}

function failedProblem(
  object: KubeObject,
  release: string,
  message: string,
  context: RuleContext,
): Problem<'reported-failed'> {
  const problem = reportedProblem(object, [failedSignal], context)
  const hook = failedHook(object, release, context)
  const cause = hook === undefined ? message : `${message}: its hook job/${hook.metadata.name} failed${whyOf(hook)}`
  return { ...problem, detail: { ...problem.detail, cause, release, hook: hook?.metadata.name } }
}

/** The failed Job of a hook that Helm created for this revision. A hook does not name its release, unless its chart does. */
function failedHook(object: KubeObject, release: string, context: RuleContext): Job | undefined {
  const since = context.time(object.metadata.creationTimestamp) ?? context.now
  return context
    .list('Job', object.metadata.namespace)
    .find(
      (job) =>
        isOfKind(job, 'Job') &&
        job.metadata.annotations?.[hookAnnotation] !== undefined &&
        (job.metadata.labels?.[instanceLabel] ?? release) === release &&
        (context.time(job.metadata.creationTimestamp) ?? 0) >= since &&
        failedCondition(job) !== undefined,
    )
}

function failedCondition({ status }: Job): Condition | undefined {
  return status?.conditions?.find((each) => each.type === 'Failed' && each.status === 'True')
}

function whyOf(job: Job): string {
  const { reason, message } = failedCondition(job) ?? {}
  return message ? `: ${message}` : reason ? `: ${reason}` : ''
}
