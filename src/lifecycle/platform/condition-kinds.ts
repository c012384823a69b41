import { isDeepStrictEqual } from 'node:util'
import type { WatchRequest } from '../../cluster/feed.ts'
import { type Condition, desiredReplicasOf, groupOf, type KubeObject, type ObjectName } from '../../cluster/objects.ts'
import { messageOf } from '../../reasons/reasons.ts'
import { type ConditionSignal, conditionSignal, conditionsIn, conditionsOf, isEmpty } from '../conditions.ts'
import type { Reader, RuleReader } from '../reader.ts'
import { commonMilestones, type Judgement, type Rule } from '../rule.ts'
import {
  isGenerationStale,
  isObserved,
  lastWrittenAt,
  observedMilestone,
  observedMilestoneIf,
  presentConditions,
} from '../stale-status.ts'
import { conditionProblem, notReconciledProblem, reportedProblem } from '../status-problems.ts'

/* The rules of built-in kinds that are judged by their conditions, or that are ready once they exist. */

/**
 * Judges an object by its conditions.
 * @param types the conditions that must be True
 * @param conditions all conditions of the present spec
 * @param failures the conditions that report a failure: then the object is not ready
 */
function judgeConditions(
  object: KubeObject,
  types: readonly string[],
  conditions: readonly Condition[],
  reader: RuleReader,
  [failure]: readonly ConditionSignal[] = [],
): Judgement {
  const found = types.map((type) => conditions.find((each) => each.type === type))
  const reported = found.filter((each) => each !== undefined)
  const waiting = 'waiting for its controller'
  reader.milestone(observedMilestoneIf(reported.length > 0, waiting))
  if (failure === undefined && found.every((each) => each?.status === 'True')) {
    const message = reported.map(({ type, status }) => `${type} is ${status}`).join(', ')
    return { ready: true, message, readyConditions: reported }
  }
  const wrong = reported.find(({ status }) => status !== 'True')
  const problem = failure
    ? reportedProblem(object, [failure], reader)
    : wrong && conditionProblem(object, [conditionSignal(wrong)], reader)
  reader.problem(problem ?? notReconciledProblem(object, reader))
  return { ready: false, message: problem === undefined ? waiting : messageOf(problem) }
}

/** The conditions of the present spec; empty while the status describes an older generation. */
function observedConditions(object: KubeObject): readonly Condition[] {
  return isGenerationStale(object) ? [] : presentConditions(object)
}

/**
 * Judges CustomResourceDefinitions: ready when its names are accepted and the API server serves it (Established).
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 *
 * If another definition already uses its names (NamesAccepted is False), the definition fails. It is not established,
 * or keeps its old names (apiextensions-apiserver, pkg/controller/status/naming_controller.go and
 * pkg/controller/establish/establishing_controller.go).
 */
export const crdRule: Rule = {
  milestones: commonMilestones,
  judge: (definition, reader) =>
    judgeConditions(definition, ['Established'], observedConditions(definition), reader, nameRefusals(definition)),
}

function nameRefusals(definition: KubeObject): readonly ConditionSignal[] {
  return observedConditions(definition)
    .filter(
      ({ type, status, reason }) =>
        status === 'False' && (type === 'NamesAccepted' || (type === 'Established' && !temporaryReasons.has(reason))),
    )
    .map((each) => conditionSignal(each))
}

/** Reasons why a CRD is not established yet. They end without an apply, some with a certificate of cert-manager. */
const temporaryReasons: ReadonlySet<string | undefined> = new Set(['Installing', 'InvalidCABundle'])

/**
 * Judges APIServices: ready when the aggregator reaches the Service (Available).
 * https://kubernetes.io/docs/tasks/extend-kubernetes/setup-extension-api-server/
 */
export const apiServiceRule: Rule = {
  milestones: commonMilestones,
  judge: (object, reader) => {
    // An APIService without a Service is served by the API server itself.
    const { namespace, name } = (object.spec as { service?: Partial<ObjectName> } | undefined)?.service ?? {}
    const isServed = namespace !== undefined && name !== undefined
    return {
      ...judgeConditions(object, ['Available'], observedConditions(object), reader),
      awaits: isServed ? [{ apiVersion: 'v1', kind: 'Service', namespace, name }] : [],
    }
  },
}

/**
 * Judges PodDisruptionBudgets: ready when the controller has observed the budget, even if it allows no disruption now.
 * If the controller cannot count the pods, it reports SyncFailed before it has observed the budget
 * (pkg/controller/disruption). https://kubernetes.io/docs/tasks/run-application/configure-pdb/
 */
export const pdbRule: Rule = {
  milestones: commonMilestones,
  judge: (object, reader) => {
    const ready = isObserved(object)
    // After SyncFailed, observedGeneration is still the previous one (failSafe), so all conditions count.
    const failed = conditionsOf(object).find(({ reason }) => reason === 'SyncFailed')
    reader.milestone(observedMilestone(object))
    if (!ready && failed !== undefined) reader.problem(conditionProblem(object, [conditionSignal(failed)], reader))
    return { ready, message: 'observed' }
  },
}

/**
 * Judges ResourceQuotas: ready when the status contains the limits of the spec. The API server enforces only limits in
 * the status: the previous ones after a change, none for a new quota
 * (pkg/controller/resourcequota/resource_quota_controller.go and k8s.io/apiserver,
 * pkg/admission/plugin/resourcequota/controller.go).
 */
export const resourceQuotaRule: Rule = {
  milestones: commonMilestones,
  judge: (object, reader) => {
    const { hard: limits = {} } = (object.spec ?? {}) as { hard?: object }
    const { hard: enforced = {} } = (object.status ?? {}) as { hard?: object }
    // The API server writes both maps in the same canonical form.
    const ready = isDeepStrictEqual(limits, enforced)
    reader.milestone(observedMilestoneIf(ready, 'waiting for its controller: its limits are not enforced yet'))
    if (!ready && isEmpty(object.status)) reader.problem(notReconciledProblem(object, reader))
    return { ready, message: 'its limits are enforced' }
  },
}

/**
 * Judges CertificateSigningRequests: ready once the certificate is issued. A denied request, or one whose signer
 * failed, fails. https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
 */
export const csrRule: Rule = {
  milestones: commonMilestones,
  judge: (object, reader) => {
    const { signerName: signer = '' } = (object.spec ?? {}) as { signerName?: string }
    const { certificate = '' } = (object.status ?? {}) as { certificate?: string }
    const trueConditions = presentConditions(object).filter(({ status }) => status === 'True')
    const [refusal, ...others] = trueConditions
      .filter(({ type }) => type === 'Denied' || type === 'Failed')
      .map((each) => conditionSignal(each))
    const isApproved = trueConditions.some(({ type }) => type === 'Approved')
    const ready = refusal === undefined && isApproved && certificate !== ''
    reader.milestone(observedMilestoneIf(isApproved, 'waiting for its approval', 'approved'))
    if (ready) return { ready, message: 'approved, and its certificate is issued' }
    reader.problem(
      refusal === undefined
        ? notReconciledProblem(
            object,
            reader,
            isApproved ? { awaited: 'certificate', signer } : { awaited: 'approval' },
          )
        : reportedProblem(object, [refusal, ...others], reader),
    )
    return { ready, message: 'waiting for its certificate' }
  },
}

/** Judges kinds that are ready once they exist: Namespace, CronJob, ConfigMap, Secret, RBAC, NetworkPolicy … */
export const existsRule: Rule = {
  milestones: commonMilestones,
  judge: (object, reader) => {
    reader.milestone({ name: 'observed', state: 'skipped', message: 'nothing has to observe it' })
    return { ready: true, message: existsMessage(object) }
  },
}

function existsMessage({ kind, spec }: KubeObject): string {
  if (kind !== 'CronJob') return 'exists'
  const { suspend, schedule } = (spec ?? {}) as { suspend?: boolean; schedule?: string }
  return suspend ? 'exists, and is suspended' : `exists, runs at "${schedule ?? '?'}"`
}

/**
 * Judges HorizontalPodAutoscalers: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
 *
 * An autoscaler is ready when it can scale its target and read its metric, or is disabled because its target has zero
 * replicas (ScalingActive is False with reason ScalingDisabled, pkg/controller/podautoscaler). The controller syncs
 * every 15 s, so this condition stays stale for a while after the target has replicas again.
 */
export const hpaRule: Rule = { milestones: commonMilestones, judge: judgeAutoscaler }

function judgeAutoscaler(autoscaler: KubeObject, reader: RuleReader): Judgement {
  const target = scaleTarget(autoscaler)
  const mayBeDisabled = !hasReplicas(target, reader)
  const present = conditionsOfPresentSpec(autoscaler, reader)
  const isDisabled = mayBeDisabled && present.some(isScalingDisabled)
  const conditions = present.map((each) =>
    mayBeDisabled && isScalingDisabled(each) ? { ...each, status: 'True' } : each,
  )
  const judgement = judgeConditions(autoscaler, ['AbleToScale', 'ScalingActive'], conditions, reader)
  return {
    ...judgement,
    message: judgement.ready && isDisabled ? 'disabled while its target has zero replicas' : judgement.message,
    // There is no metric until the pods of the target run.
    awaits: judgement.ready || target === undefined ? undefined : [target],
  }
}

/** The object that the autoscaler scales. */
function scaleTarget({ metadata: { namespace }, spec }: KubeObject): ObjectName | undefined {
  const { apiVersion, kind, name } =
    (spec as { scaleTargetRef?: Partial<ObjectName> } | undefined)?.scaleTargetRef ?? {}
  if (apiVersion === undefined || kind === undefined || name === undefined) return undefined
  return { apiVersion, kind, name, namespace }
}

/** Whether the scale target certainly has replicas; without `spec.replicas`, it has one. Only built-in kinds are watched. */
function hasReplicas(target: (WatchRequest & ObjectName) | undefined, reader: Reader): boolean {
  if (target === undefined || groupOf(target.apiVersion) !== 'apps') return false
  if (!['Deployment', 'StatefulSet', 'ReplicaSet'].includes(target.kind)) return false
  const [found] = reader.list(target)
  if (found === undefined || reader.listState(target) !== 'complete') return false
  return desiredReplicasOf(found) !== 0
}

/** Whether a condition reports that the autoscaler is disabled, because its target has zero replicas. */
function isScalingDisabled({ type, reason }: Condition): boolean {
  return type === 'ScalingActive' && reason === 'ScalingDisabled'
}

/**
 * The conditions that describe the present spec. Since Kubernetes 1.37, the status contains the observed generation.
 * Exception: if the controller cannot read the scale of the target, it writes only the condition AbleToScale, and not
 * the generation (reconcileAutoscaler, pkg/controller/podautoscaler).
 */
function conditionsOfPresentSpec(autoscaler: KubeObject, { time }: Reader): readonly Condition[] {
  const conditions = [...conditionsOf(autoscaler), ...annotatedConditions(autoscaler)]
  if (!isGenerationStale(autoscaler)) return conditions
  const writtenAt = lastWrittenAt(autoscaler, time) ?? Infinity
  return conditions.filter(
    ({ type, status, lastTransitionTime }) =>
      type === 'AbleToScale' && status === 'False' && (time(lastTransitionTime) ?? -Infinity) >= writtenAt,
  )
}

/** The conditions of an `autoscaling/v1` object, which are in an annotation (pkg/apis/autoscaling/annotations.go). */
function annotatedConditions({ metadata }: KubeObject): readonly Condition[] {
  const text = metadata.annotations?.['autoscaling.alpha.kubernetes.io/conditions']
  if (text === undefined) return []
  try {
    return conditionsIn(JSON.parse(text))
  } catch {
    // Invalid JSON contains no conditions.
    return []
  }
}
