import { type KubeObject, shortName } from '../../cluster/objects.ts'
import { duration, parseDuration } from '../../duration.ts'
import type { HealthCheck } from '../../plan/health-checks.ts'
import { comparisonIntervalMs } from '../../thresholds.ts'
import type { Assessment } from '../assessment.ts'
import { existsRule } from '../platform/condition-kinds.ts'
import { toExplanation } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { addCheck, type Rule, toWaitingAssessment } from '../rule.ts'
import { isStale, lastWrittenAt, versionChangedAt } from '../stale-status.ts'
import { assessNonTarget, type DependentRules, explainingReader, objectNameFrom } from './dependents.ts'

/**
 * Adds a check for a custom resource whose status describes another object (`follows`), such as the Deployment of a
 * Rollout. While the status is older than the present version of that object, the resource is neither ready nor failed.
 */
export function addFollowedObjectCheck(rule: Rule, { follows, ruleOf }: DependentRules): Rule {
  if (follows === undefined) return rule
  return addCheck(rule, (assessment, object, reader) => {
    const found = followedObject(object, follows, ruleOf, reader)
    if (found === undefined || (!assessment.ready && assessment.failure === undefined)) return assessment
    const explaining = explainingReader(reader, { ruleOf })
    const followed = ruleOf(found).rule
    if (follows.generation !== undefined || follows.every !== undefined)
      return ignoreOlderStatus(assessment, object, found, follows, followed, explaining)
    const { ready, message, problems } = assessNonTarget(found, followed, explaining)
    if (!assessment.ready || ready) return assessment
    return {
      ...toWaitingAssessment(assessment, `${shortName(found)}: ${message}`),
      problems: problems.map(toExplanation),
    }
  })
}

/** The object that a custom resource follows, in the same namespace; undefined if unknown. Requests its watch. */
function followedObject(
  object: KubeObject,
  { object: reference }: NonNullable<HealthCheck['follows']>,
  ruleOf: DependentRules['ruleOf'],
  reader: Reader,
): KubeObject | undefined {
  const parts = reference(object)?.split('/') ?? []
  const [kind, name] = parts.splice(-2)
  const { namespace } = object.metadata
  const [request] = objectNameFrom({ apiVersion: parts.join('/'), kind, name, namespace })
  // The author of the resource chooses the reference, so Secrets and other kinds without a state are not read.
  if (request === undefined || ruleOf(request).rule === existsRule) return undefined
  return reader.list(request, undefined, 'optional')[0]
}

/**
 * Ignores a status that describes an older version of the followed object. The status contains the generation of the
 * object, or the operator compares the object at an interval. During one interval after a change of the object, only
 * "ready" in a newer status counts, because the operator may write its last state once more.
 * @param rule the rule of the followed object
 */
function ignoreOlderStatus(
  assessment: Assessment,
  object: KubeObject,
  found: KubeObject,
  { generation, every }: NonNullable<HealthCheck['follows']>,
  rule: Rule,
  reader: Reader,
): Assessment {
  const observed = generation?.(object)
  const writtenAt = lastWrittenAt(object, reader.time, 'status')
  // If the object was created again, its generations begin at 1 again.
  const isCreatedSince = (reader.time(found.metadata.creationTimestamp) ?? -Infinity) > (writtenAt ?? Infinity)
  if (observed !== undefined && !isStale(observed, found.metadata.generation) && !isCreatedSince) return assessment
  const stale = {
    ...toWaitingAssessment(assessment, `${shortName(found)} has changed since its last state`),
    problems: [],
  }
  if (every === undefined) return observed === undefined ? assessment : stale
  const everyMs = parseDuration(every(object) ?? '', () => undefined) ?? comparisonIntervalMs
  const since = versionChangedAt(found, rule, reader) ?? -Infinity
  const isWritten = observed === undefined && (writtenAt ?? -Infinity) >= since
  if ((assessment.ready && isWritten) || reader.passed(since + everyMs + reader.settings.settleTimeMs))
    return assessment
  return observed !== undefined ? stale : { ...stale, stallHold: `its operator compares it every ${duration(everyMs)}` }
}
