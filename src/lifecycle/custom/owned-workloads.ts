import {
  type Fields,
  groupOf,
  isOfKind,
  type KindName,
  type KubeObject,
  type Pod,
  shortName,
} from '../../cluster/objects.ts'
import type { Reader } from '../reader.ts'
import { addCheck, type Rule, type Serving, toWaitingAssessment } from '../rule.ts'
import { namespaceRequest } from '../selector.ts'
import { specChangedAt, wasWrittenSince } from '../stale-status.ts'
import { workloadServing } from '../workloads/workload.ts'
import {
  assessNonTarget,
  type Dependent,
  type DependentRules,
  dependentRequests,
  explainingReader,
  isWaitingForLists,
  listAllDependents,
  readerWithoutWatches,
  revisionedKinds,
} from './dependents.ts'

/**
 * Adds a check: a custom resource is ready only after the Deployments, StatefulSets and DaemonSets that it owns, and
 * after the Job in its status. Some operators report ready before a workload has observed the change. For example, an
 * instance of kro is ready once its objects exist (https://kro.run/docs/concepts/rgd/resource-definitions/readiness).
 *
 * `awaitsWorkloads` selects the workloads. `written`: those that changed after the spec. `all`: every owned workload,
 * because the status does not show whether they are updated. With `all`, the check also waits until a workload changes,
 * at most for the settle time: not every change of the spec affects a workload.
 */
export function addOwnedWorkloadCheck(rule: Rule, dependentRules: DependentRules): Rule {
  return addCheck(rule, (assessment, object, reader) => {
    const awaits = dependentRules.awaitsWorkloads
    if (!assessment.ready || awaits === 'none') return assessment
    const jobs = awaits === 'all' ? jobsInStatus(object, reader) : []
    const kinds = dependentRules.kinds.filter(({ kind }) => !revisionedKinds.has(kind))
    const changedAt = specChangedAt(object, reader)
    const explaining = explainingReader(reader, dependentRules)
    const workloads = [
      ...listAllDependents(object, { ...dependentRules, kinds, revisions: 'all' }, explaining).filter((each) =>
        isWorkloadKind(each.object),
      ),
      ...jobs.map((job) => ({ object: job, ...dependentRules.ruleOf(job) })),
    ].filter((each) => awaits === 'all' || wasWrittenSince(each.object, changedAt, reader))
    const assessed = workloads.map((each) => ({
      ...each,
      assessment: assessNonTarget(withoutOnDelete(each.object, object), each.rule, explaining),
    }))
    const unready = assessed.find(({ assessment }) => !assessment.ready)
    const awaited =
      (isWaitingForLists(reader) ? 'waiting for the list of its workloads' : undefined) ??
      (unready && `${shortName(unready.object)}: ${unready.assessment.message}`) ??
      (awaits === 'all' ? awaitedChangeText(changedAt, workloads, reader) : undefined)
    return awaited === undefined ? assessment : toWaitingAssessment(assessment, awaited)
  })
}

/**
 * Removes the strategy OnDelete from a workload, unless the custom resource requests OnDelete. The operator itself
 * deletes the pods of the older revision, so the workload is ready only after all pods are updated.
 */
function withoutOnDelete(workload: KubeObject, custom: KubeObject): KubeObject {
  const { updateStrategy, ...spec } = (workload.spec ?? {}) as { updateStrategy?: { type?: string } }
  const isOnDelete = updateStrategy?.type === 'OnDelete' && !JSON.stringify(custom.spec ?? {}).includes('"OnDelete"')
  return isOnDelete ? { ...workload, spec } : workload
}

/** The message while no workload has changed since the spec changed. Undefined after the settle time. */
function awaitedChangeText(
  changedAt: number,
  workloads: readonly Pick<Dependent, 'object'>[],
  reader: Reader,
): string | undefined {
  const hasChanged = workloads.some(({ object }) => wasWrittenSince(object, changedAt, reader))
  if (hasChanged || reader.passed(changedAt + reader.settings.settleTimeMs)) return undefined
  return 'its workloads have not changed since its spec did'
}

function isWorkloadKind({ apiVersion, kind }: KindName): boolean {
  return groupOf(apiVersion) === 'apps' && kind !== 'ReplicaSet'
}

/** The Job in `status.jobName`: some operators create a Job without an owner reference. */
function jobsInStatus({ status, metadata }: KubeObject, reader: Reader): readonly KubeObject[] {
  const { jobName } = (status ?? {}) as Fields
  const { namespace } = metadata
  if (typeof jobName !== 'string') return []
  return reader.listKnown({ apiVersion: 'batch/v1', kind: 'Job', namespace, name: jobName })
}

/** How requests reach the pods of a custom resource and of its workloads. Undefined if it owns no kind with pods. */
export function servingByDependents(dependentRules: DependentRules): Serving | undefined {
  if (!dependentRules.kinds.some((kind) => isWorkloadKind(kind) || revisionedKinds.has(kind.kind))) return undefined
  const { ports, isEmpty } = workloadServing
  return {
    ports,
    pods: (object, _, reader) => {
      for (const request of dependentRequests(object, dependentRules)) reader.watch(request)
      if (object.metadata.namespace !== undefined) {
        // These watches find the pods of the owned workloads.
        reader.watch(namespaceRequest('v1', 'Pod', object))
        reader.watch(namespaceRequest('apps/v1', 'ReplicaSet', object))
      }
      const within = readerWithoutWatches(reader)
      return [
        ...new Set(listAllDependents(object, dependentRules, within).flatMap((each) => presentPodsOf(each, within))),
      ]
    },
    isEmpty: (object, reader) => {
      const found = listAllDependents(object, dependentRules, readerWithoutWatches(reader)).map((each) => each.object)
      const workloads = found.filter(isWorkloadKind)
      return isEmpty(object, reader) || (workloads.length > 0 && workloads.every((each) => isEmpty(each, reader)))
    },
  }
}

/** How requests reach the pods of an object with `--for` or a health check: the rule of its kind finds the pods. */
export function servingByKindRule(rule: Rule): Serving | undefined {
  const { serving } = rule
  if (serving === undefined || serving.selects !== undefined) return serving
  return {
    ...serving,
    pods: (object, _, reader) => serving.pods(object, assessNonTarget(object, rule, reader), reader),
  }
}

function presentPodsOf({ object, rule, isCustom }: Dependent, reader: Reader): readonly Pod[] {
  if (isOfKind(object, 'Pod')) return [object]
  const isWorkload = !isCustom && rule.serving !== undefined && rule.serving.selects === undefined
  return isWorkload ? (assessNonTarget(object, rule, reader).pods?.new ?? []) : []
}
