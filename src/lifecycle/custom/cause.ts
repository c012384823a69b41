import { isOfKind, isPodSubject, type KubeObject, type Pod } from '../../cluster/objects.ts'
import { classOf, messageOf, type Problem, traitsOf } from '../../reasons/reasons.ts'
import { causeSearchMs, maxCauses } from '../../thresholds.ts'
import { type Assessment, isOnlyWaiting } from '../assessment.ts'
import { toExplanation } from '../proof.ts'
import type { Reader } from '../reader.ts'
import { addCheck, type Rule } from '../rule.ts'
import { isCreatedForPresentSpec } from '../stale-status.ts'
import { compareByImportance, examinePods } from '../workloads/revision-pods.ts'
import {
  assessNonTarget,
  type Dependent,
  type DependentRules,
  explainingReader,
  isWaitingForLists,
  listDependents,
} from './dependents.ts'

/* Explains why a custom resource is not ready, by the problems of its dependents. */

/** What the dependents of a custom resource add to its assessment. */
interface Contribution extends Pick<Assessment, 'failure' | 'stallHold' | 'counters'> {
  /** Problems of objects of an older spec are never proven. */
  readonly problems: readonly Problem[]
}

/**
 * Adds a check to the rule of a custom resource: while the resource is not ready, the problems and the progress of its
 * dependents count too. If the resource is a workload, a proven problem of a pod fails it, as for a Deployment. For
 * other kinds, the problems only explain why the target is not ready or has failed.
 */
export function addCauseCheck(rule: Rule, dependentRules: DependentRules): Rule {
  return addCheck(rule, (assessment, object, reader) => {
    if (assessment.ready || object.metadata.deletionTimestamp !== undefined) return assessment
    const { firstSeenAt, specSeenAt } = reader.history
    const isUrgent =
      reader.settings.isSingleCheck === true ||
      dependentRules.isWorkload ||
      assessment.problems.some(isReportedByObject)
    if (!isUrgent && !reader.passed(Math.max(firstSeenAt, specSeenAt) + causeSearchMs)) return assessment
    const explaining = explainingReader(reader, dependentRules)
    const found = examineDependents(object, listDependents(object, dependentRules, explaining), {
      custom: object,
      reader: explaining,
    })
    const explained: Assessment = {
      ...addCauses(assessment, found, dependentRules),
      stallHold: assessment.stallHold ?? found.stallHold,
      counters: isWaitingForUser(assessment)
        ? assessment.counters
        : new Map([...(assessment.counters ?? []), ...(found.counters ?? [])]),
    }
    return explained.failure !== undefined && isWaitingForLists(reader)
      ? { ...explained, failure: undefined }
      : explained
  })
}

/** Whether the object itself reports the problem, so that the problem of a dependent may be the cause. */
function isReportedByObject(problem: Problem): boolean {
  return traitsOf(problem).yieldsTo === 'owned'
}

/** Whether only a user can end the first problem of an object, such as a pause. */
function isWaitingForUser({ problems: [first] }: Assessment): boolean {
  return first !== undefined && traitsOf(first).awaits === 'user'
}

/** Adds the problems of the dependents to the assessment of a custom resource. */
function addCauses(assessment: Assessment, found: Contribution, { isWorkload }: DependentRules): Assessment {
  const problems = isWorkload ? found.problems : found.problems.map(toExplanation)
  const causes = problems.toSorted(compareByImportance).slice(0, maxCauses)
  const [cause] = causes
  const [first, ...others] = assessment.problems
  if (cause === undefined) return assessment
  // An analysis without a result pauses a rollout: the pause is the reason, and the analysis explains it.
  if (isWaitingForUser(assessment))
    return { ...assessment, problems: [...assessment.problems, ...causes.filter(isReportedByObject)] }
  // As for a Deployment, the problem of a pod is the reason for a failure that the object itself reports.
  const decisive = assessment.failure && causes.find((problem) => classOf(problem) !== 'slow')
  const failure = isWorkload ? (found.failure ?? decisive) : undefined
  if (failure !== undefined)
    return { ...assessment, message: messageOf(failure), failure, problems: [...causes, ...assessment.problems] }
  if (first === undefined || !isReportedByObject(first))
    return { ...assessment, problems: [...causes, ...assessment.problems] }
  const reported = { ...first, cause }
  const explained = { ...assessment, problems: [reported, ...others] }
  return assessment.failure === first ? { ...explained, failure: reported, message: messageOf(reported) } : explained
}

/** The custom resource whose objects are searched. */
interface Search {
  readonly custom: KubeObject
  readonly reader: Reader
}

/** Examines the direct dependents of `owner`: the custom resource itself, or a custom resource that it owns. */
function examineDependents(owner: KubeObject, dependents: readonly Dependent[], searched: Search): Contribution {
  const { reader } = searched
  const pods = dependents.map(({ object }) => object).filter((object) => isOfKind(object, 'Pod'))
  const assess = (dependent: Dependent, dependentReader: Reader): AssessedObject => {
    return { ...dependent, assessment: assessNonTarget(dependent.object, dependent.rule, dependentReader) }
  }
  const judged = dependents
    .filter(({ object }) => !isOfKind(object, 'Pod'))
    .map((each) => assess(each, reader))
    .filter(({ assessment }) => !assessment.ready)
  // A crashing container may wait for another object of the same custom resource, as for another target.
  const mayWait = !reader.othersProgress() && judged.some(({ assessment }) => isOnlyWaiting(assessment))
  const waitingReader = mayWait ? { ...reader, othersProgress: () => true } : reader
  const found = [
    examineOwnedPods(owner, pods, { ...searched, reader: waitingReader }),
    ...judged.map((each) => examineDependent(mayWait ? assess(each, waitingReader) : each, searched)),
  ]
  return {
    problems: found.flatMap(({ problems }) => problems),
    failure: found.find(({ failure }) => failure !== undefined)?.failure,
    stallHold: found.find(({ stallHold }) => stallHold !== undefined)?.stallHold,
    counters: new Map(found.flatMap(({ counters = [] }) => [...counters])),
  }
}

/** Examines the pods that a custom resource owns directly. */
function examineOwnedPods(owner: KubeObject, pods: readonly Pod[], searched: Search): Contribution {
  const { reader } = searched
  const { stallHold, ...state } = examinePods(pods, reader, reader.endedPods(owner.metadata.uid, 'Failed'))
  return { ...markUnprovenProblems(state, owner, searched), stallHold }
}

interface AssessedObject extends Dependent {
  readonly assessment: Assessment
}

/** Examines a dependent. The problems of its own dependents are more specific, so they replace its problems. */
function examineDependent(
  { object, isCustom, dependents, assessment }: AssessedObject,
  searched: Search,
): Contribution {
  const { problems, failure, stallHold } = assessment
  if (isCustom) {
    const deeper = examineDependents(object, dependents(), searched)
    return deeper.problems.length > 0 ? deeper : { ...deeper, ...markUnprovenProblems({ problems }, object, searched) }
  }
  const { custom, reader } = searched
  const { namespace } = object.metadata
  // Events about an object are in the namespace of the object.
  if (namespace !== undefined && namespace !== custom.metadata.namespace)
    reader.watch({ apiVersion: 'v1', kind: 'Event', namespace })
  const counters = uniqueCounters(object, assessment)
  return { ...markUnprovenProblems({ problems, failure }, object, searched), stallHold, counters }
}

/** The counts of a dependent, by names that are unique among all dependents of the custom resource. */
function uniqueCounters(
  { kind, metadata: { uid } }: KubeObject,
  { milestones, counters }: Assessment,
): ReadonlyMap<string, number> {
  const ofMilestones = milestones.flatMap(({ name, count }): [string, number][] =>
    count === undefined ? [] : [[`${kind} ${uid} ${name}`, count.done]],
  )
  return new Map([...ofMilestones, ...(counters ?? [])])
}

/** Marks problems as not proven if they are of an older spec, or if the owner of the object decides about them. */
function markUnprovenProblems(
  { problems, failure }: Pick<Contribution, 'problems' | 'failure'>,
  owner: KubeObject,
  { custom, reader }: Search,
): Pick<Contribution, 'problems' | 'failure'> {
  const { namespace } = owner.metadata
  const mayFail = (problem: Problem) => {
    const { name } = problem.subject
    const [pod] = isPodSubject(problem.subject)
      ? reader.listKnown({ apiVersion: 'v1', kind: 'Pod', namespace, name })
      : []
    return traitsOf(problem).yieldsTo !== 'owner' && isCreatedForPresentSpec(pod ?? owner, custom, reader)
  }
  const isElsewhere = owner.metadata.namespace !== custom.metadata.namespace
  const withNamespace = (problem: Problem): Problem => (isElsewhere ? { ...problem, isElsewhere } : problem)
  return {
    problems: problems.map((problem) => withNamespace(mayFail(problem) ? problem : toExplanation(problem))),
    failure: failure && mayFail(failure) ? withNamespace(failure) : undefined,
  }
}
