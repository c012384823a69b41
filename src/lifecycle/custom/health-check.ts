import type { KubeObject } from '../../cluster/objects.ts'
import type { HealthCheck } from '../../plan/health-checks.ts'
import type { Problem } from '../../reasons/reasons.ts'
import type { Assessment } from '../assessment.ts'
import { proveReported } from '../platform/condition-problems.ts'
import { conclude, createdMilestone, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { isStatusStale } from './status-signals.ts'

/** The word of failure of a user's expression. */
const failedWord = 'failed'
/** A resource's failure by the user's expression is believed when it has stood for this long. */
const failedMs = 10_000

/**
 * The user's own health check, with the meaning that Flux gives it (https://fluxcd.io/flux/components/kustomize/kustomizations/#health-check-expressions):
 * an older generation is in progress, then `inProgress`, then `failed`, then `current` decide; none of them: in progress.
 * Just after a change, a status that names no generation has the settle time to take back what made `current` true.
 */
export function healthCheckRule(check: HealthCheck): Rule {
  return {
    milestones: ['created', 'observed', 'ready'],
    relatives: () => [],
    failures: (object) => (check.failed?.(object).holds === true ? [failedWord] : []),
    assess: (object, context) => assessHealthCheck(object, check, context),
  }
}

function assessHealthCheck(object: KubeObject, check: HealthCheck, context: RuleContext): Assessment {
  const isObserved = !isStatusStale(object)
  const isInProgress = check.inProgress?.(object).holds === true
  const hasFailed = isObserved && !isInProgress && check.failed?.(object).holds === true
  const current = check.current(object)
  const ready = isObserved && !isInProgress && !hasFailed && current.holds
  const problems: readonly Problem[] = hasFailed ? [failedProblem(object, context)] : []
  const failure = problems.find(({ proven }) => proven)
  const words =
    current.error === undefined
      ? 'its health check is not met yet'
      : `its health check cannot be evaluated yet: ${current.error}`
  return conclude(object, context, {
    ready,
    signals: [undefined],
    readyMessage: 'its health check is met',
    milestones: [
      createdMilestone,
      isObserved
        ? { name: 'observed', state: 'done', message: 'observed' }
        : {
            name: 'observed',
            state: 'open',
            message: `waiting for its controller to observe generation ${object.metadata.generation}`,
          },
      { name: 'ready', state: ready ? 'done' : 'open', message: ready ? 'its health check is met' : words },
    ],
    problems,
    ...(failure === undefined ? {} : { failure }),
    notes: [],
  })
}

/** Strike: the user's word of failure, once it has stood for ten seconds. */
function failedProblem(object: KubeObject, context: RuleContext): Problem {
  const since = context.history.failures.get(failedWord) ?? context.now
  return {
    reason: 'reported-failed',
    subject: `${object.kind.toLowerCase()}/${object.metadata.name}`,
    detail: { text: 'has failed by its health check' },
    count: 1,
    firstSeenAt: since,
    ...proveReported(since, failedMs, context.now),
  }
}
