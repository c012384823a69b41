import type { KubeObject } from '../../cluster/objects.ts'
import type { HealthCheck } from '../../plan/health-checks.ts'
import type { Problem } from '../../reasons/reasons.ts'
import type { Assessment } from '../assessment.ts'
import { ownProblem, reportedMs } from '../conditions.ts'
import { provePersisted } from '../proof.ts'
import { commonMilestones, conclude, observedMilestone, type Rule, statusMilestones } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { isStatusStale } from './signals.ts'

/** The key in a rule's `failures`. */
const failedKey = 'failed'

/**
 * A health check that the user wrote, evaluated as in Flux
 * (https://fluxcd.io/flux/components/kustomize/kustomizations/#health-check-expressions): a status of an older
 * generation means in progress. Otherwise `inProgress`, `failed` and `current` decide, in this order; if none holds,
 * the object is in progress. A status that names no generation may count as stale for the settle time after a change.
 */
export function healthCheckRule(check: HealthCheck): Rule {
  return {
    milestones: commonMilestones,
    relatives: () => [],
    failures: (object) => (check.failed?.(object).holds === true ? [failedKey] : []),
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
  const unmet =
    current.error === undefined
      ? 'its health check is not met yet'
      : `its health check cannot be evaluated yet: ${current.error}`
  const message = ready ? 'its health check is met' : unmet
  return conclude(object, context, {
    ready,
    signals: [undefined],
    readyMessage: message,
    milestones: statusMilestones(observedMilestone(object, isObserved), ready, message),
    problems,
    failure: problems.find(({ proven }) => proven),
  })
}

/** A strike problem: the user's `failed` expression has held for ten seconds. */
function failedProblem(object: KubeObject, context: RuleContext): Problem {
  const since = context.history.failures.get(failedKey) ?? context.now
  return {
    ...ownProblem(object, since),
    reason: 'reported-failed',
    detail: { healthCheck: 'failed' },
    ...provePersisted(since, reportedMs, context.now),
  }
}
