import { isDeepStrictEqual } from 'node:util'
import type { WatchRequest } from '../../cluster/feed.ts'
import { type Condition, groupOf, type KubeObject, type ObjectName } from '../../cluster/objects.ts'
import { messageOf } from '../../reasons/reasons.ts'
import { type ConditionSignal, conditionSignal, conditionsIn, isEmpty, signalKey } from '../conditions.ts'
import type { Reader, RuleReader } from '../reader.ts'
import { commonMilestones, type Judgement, type Rule } from '../rule.ts'
import { isObserved, isStale, lastWriteOf, observedIf, observedMilestone, presentConditions } from '../status-age.ts'
import { conditionProblem, notReconciled, ownProblem, reportedProblem } from '../status-problems.ts'

/** How a rule reads the conditions of a kind, in addition to the named ones that must be True. */
interface ConditionMeaning {
  /** Whether a condition that is not True is acceptable, as its reason shows. */
  readonly isFine?: (condition: Condition, object: KubeObject, reader: Reader) => boolean
  /** Whether a condition reports a failure. A failure that persists for ten seconds is a proven strike problem. */
  readonly isFailure?: (condition: Condition) => boolean
  /** The message of a ready object, if the conditions would mislead. */
  readonly readyMessage?: (conditions: readonly Condition[]) => string | undefined
  /** Reads the conditions of a kind whose status does not contain them. */
  readonly conditionsOf?: (object: KubeObject) => readonly Condition[]
  /** The condition that shows why the controller has not observed the present spec. */
  readonly unobserved?: (object: KubeObject, reader: Reader) => Condition | undefined
  /** The objects without which the conditions cannot become True. */
  readonly awaits?: (object: KubeObject) => readonly ObjectName[]
}

/** The rule of a kind that is ready when all conditions of these types are True. */
function conditionRule(types: readonly string[], meaning: ConditionMeaning = {}): Rule {
  return {
    milestones: commonMilestones,
    failures: (object) => failuresOf(object, meaning).map((each) => signalKey(conditionSignal(each))),
    judge: (object, reader) => judgeConditions(object, types, meaning, reader),
  }
}

function presentOf(object: KubeObject, { conditionsOf = presentConditions }: ConditionMeaning): readonly Condition[] {
  const { observedGeneration } = (object.status ?? {}) as { observedGeneration?: number }
  return isStale(observedGeneration, object.metadata.generation) ? [] : conditionsOf(object)
}

function failuresOf(object: KubeObject, meaning: ConditionMeaning): readonly Condition[] {
  return presentOf(object, meaning).filter((each) => meaning.isFailure?.(each))
}

function judgeConditions(
  object: KubeObject,
  types: readonly string[],
  meaning: ConditionMeaning,
  reader: RuleReader,
): Judgement {
  const { isFine, readyMessage, awaits } = meaning
  const present = presentOf(object, meaning)
  const found = types.map((type) => present.find((each) => each.type === type))
  const holds = (each: Condition | undefined) =>
    each !== undefined && (each.status === 'True' || isFine?.(each, object, reader) === true)
  const wrong = found.find((each) => each !== undefined && !holds(each)) ?? meaning.unobserved?.(object, reader)
  const [failed] = failuresOf(object, meaning)
  const ready = found.every(holds) && failed === undefined
  const reported = found.filter((each) => each !== undefined)
  const message = readyMessage?.(reported) ?? reported.map(({ type, status }) => `${type} is ${status}`).join(', ')
  const problem =
    failed !== undefined
      ? reportedProblem(object, [conditionSignal(failed)], reader)
      : wrong !== undefined
        ? conditionProblem(object, [conditionSignal(wrong)], reader)
        : notReconciled(object, reader)
  const waiting = (failed ?? wrong) === undefined ? 'waiting for its controller' : messageOf(problem)
  reader.milestone(observedIf(reported.length > 0, 'waiting for its controller'))
  if (ready) return { ready, message, readyConditions: reported }
  reader.problem(problem)
  return { ready, message: waiting, awaits: awaits?.(object) }
}

/**
 * Temporary reasons why a CRD is not established: this changes by itself, or when cert-manager writes a certificate.
 */
const temporaryReasons: ReadonlySet<string | undefined> = new Set(['Installing', 'InvalidCABundle'])

/**
 * A CustomResourceDefinition: ready when its names are accepted and the API server serves it (Established).
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 *
 * A strike problem: another definition already uses its names (NamesAccepted is False), so this one is not established,
 * or keeps its old names (apiextensions-apiserver, pkg/controller/status/naming_controller.go and
 * pkg/controller/establish/establishing_controller.go).
 */
export const crdRule = conditionRule(['Established'], {
  isFailure: ({ type, status, reason }) =>
    status === 'False' && (type === 'NamesAccepted' || (type === 'Established' && !temporaryReasons.has(reason))),
})

/**
 * An APIService: ready when the aggregator reaches its Service (Available).
 * https://kubernetes.io/docs/tasks/extend-kubernetes/setup-extension-api-server/
 */
export const apiServiceRule = conditionRule(['Available'], {
  // An APIService without a Service is served by the API server itself.
  awaits: ({ spec }) => {
    const { namespace, name } = (spec as { service?: Partial<ObjectName> } | undefined)?.service ?? {}
    return namespace === undefined || name === undefined ? [] : [{ apiVersion: 'v1', kind: 'Service', namespace, name }]
  },
})

/**
 * A PodDisruptionBudget: ready when its controller has observed it; whether it allows a disruption now does not matter.
 * A slow problem: pods that the controller cannot count, which it reports before it has observed the budget (SyncFailed,
 * pkg/controller/disruption). https://kubernetes.io/docs/tasks/run-application/configure-pdb/
 */
export const pdbRule: Rule = {
  milestones: commonMilestones,
  judge: (object, reader) => {
    const ready = isObserved(object)
    // Its observedGeneration is the last one that was observed (failSafe), and not the present one.
    const { conditions } = (object.status ?? {}) as { conditions?: unknown }
    const failed = conditionsIn(conditions).find(({ reason }) => reason === 'SyncFailed')
    reader.milestone(observedMilestone(object))
    if (!ready && failed !== undefined) reader.problem(conditionProblem(object, [conditionSignal(failed)], reader))
    return { ready, message: 'observed' }
  },
}

/**
 * A ResourceQuota: ready when its status contains its limits. The API server enforces the limits in the status: for a
 * changed quota the previous ones, for a new quota none (pkg/controller/resourcequota/resource_quota_controller.go and
 * k8s.io/apiserver, pkg/admission/plugin/resourcequota/controller.go).
 */
export const resourceQuotaRule: Rule = {
  milestones: commonMilestones,
  judge: (object, reader) => {
    const { hard: limits = {} } = (object.spec ?? {}) as { hard?: object }
    const { hard: enforced = {} } = (object.status ?? {}) as { hard?: object }
    // The API server writes both in the same canonical form.
    const ready = isDeepStrictEqual(limits, enforced)
    reader.milestone(observedIf(ready, 'waiting for its controller: its limits are not enforced yet'))
    if (!ready && isEmpty(object.status)) reader.problem(notReconciled(object, reader))
    return { ready, message: 'its limits are enforced' }
  },
}

/**
 * A Namespace: ready while it is Active. A terminating namespace accepts no new objects.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
 */
export const namespaceRule: Rule = {
  milestones: commonMilestones,
  judge: (object, reader) => {
    const { phase = 'Active' } = (object.status ?? {}) as { phase?: string }
    const ready = phase === 'Active'
    reader.milestone({ name: 'observed', state: 'skipped', message: '' })
    if (!ready && object.metadata.deletionTimestamp === undefined)
      reader.problem({
        ...ownProblem(object, reader.history.firstSeenAt),
        reason: 'terminating',
        detail: { finalizers: [] },
      })
    return { ready, message: ready ? 'active' : `phase ${phase}` }
  },
}

/**
 * A CertificateSigningRequest: ready once its certificate is issued. A strike problem: it was denied, or its signer failed.
 * https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
 */
export const csrRule: Rule = {
  milestones: commonMilestones,
  failures: (object) => refusalsOf(object).map(signalKey),
  judge: (object, reader) => {
    const { signerName: signer = '' } = (object.spec ?? {}) as { signerName?: string }
    const { certificate = '' } = (object.status ?? {}) as { certificate?: string }
    const [refusal, ...others] = refusalsOf(object)
    const isApproved = presentConditions(object).some(({ type, status }) => type === 'Approved' && status === 'True')
    const ready = refusal === undefined && isApproved && certificate !== ''
    reader.milestone(observedIf(isApproved, 'waiting for its approval', 'approved'))
    if (ready) return { ready, message: 'approved, and its certificate is issued' }
    reader.problem(
      refusal === undefined
        ? notReconciled(object, reader, isApproved ? { awaited: 'certificate', signer } : { awaited: 'approval' })
        : reportedProblem(object, [refusal, ...others], reader),
    )
    return { ready, message: 'waiting for its certificate' }
  },
}

function refusalsOf(object: KubeObject): readonly ConditionSignal[] {
  return presentConditions(object)
    .filter(({ type, status }) => status === 'True' && (type === 'Denied' || type === 'Failed'))
    .map((each) => conditionSignal(each))
}

/**
 * Kinds that are ready once they exist: they work later (CronJob) or elsewhere (ConfigMap, Secret, RBAC, NetworkPolicy …).
 */
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

/** The annotation in which `autoscaling/v1` contains the conditions of v2 (pkg/apis/autoscaling/annotations.go). */
const conditionsAnnotation = 'autoscaling.alpha.kubernetes.io/conditions'

/** The built-in kinds that an autoscaler scales. */
const scalableKinds = ['Deployment', 'StatefulSet', 'ReplicaSet']

const scalerRule = conditionRule(['AbleToScale', 'ScalingActive'], {
  isFine: (condition, object, reader) => isDisabled(condition) && !isScaledUp(object, reader),
  readyMessage: (conditions) =>
    conditions.some(isDisabled) ? 'disabled while its target has zero replicas' : undefined,
  conditionsOf: (object) => [...presentConditions(object), ...annotatedConditions(object)],
  unobserved: cannotReadScale,
  awaits: scaleTarget,
})

/**
 * A HorizontalPodAutoscaler: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
 *
 * Ready when it can scale its target and read its metric, or is disabled because the target has zero replicas
 * (ScalingActive is False with reason ScalingDisabled, pkg/controller/podautoscaler). Its controller syncs only every
 * 15 s, so that condition is stale for a while when the target has replicas again.
 */
export const hpaRule: Rule = {
  ...scalerRule,
  judge: (object, reader) => {
    for (const request of watchedTarget(object)) reader.watch(request)
    return scalerRule.judge(object, reader)
  },
}

/**
 * Since Kubernetes 1.37 the status names the generation that was observed, but not the present one if the controller cannot read
 * the scale of its target: then it only writes this condition (reconcileAutoscaler, pkg/controller/podautoscaler).
 */
function cannotReadScale(object: KubeObject, { time }: Reader): Condition | undefined {
  const { conditions } = (object.status ?? {}) as { conditions?: unknown }
  const writtenAt = lastWriteOf(object, time) ?? Infinity
  return conditionsIn(conditions).find(
    ({ type, status, lastTransitionTime }) =>
      type === 'AbleToScale' && status === 'False' && (time(lastTransitionTime) ?? -Infinity) >= writtenAt,
  )
}

function isDisabled({ type, reason }: Condition): boolean {
  return type === 'ScalingActive' && reason === 'ScalingDisabled'
}

/** Whether the scale target certainly has replicas; without `spec.replicas`, it has one. */
function isScaledUp(object: KubeObject, reader: Reader): boolean {
  return watchedTarget(object).some((request) => {
    if (reader.listState(request) !== 'complete') return false
    const [target] = reader.known(request)
    return target !== undefined && (target.spec as { replicas?: number } | undefined)?.replicas !== 0
  })
}

function watchedTarget(object: KubeObject): readonly (WatchRequest & ObjectName)[] {
  return scaleTarget(object).filter(
    ({ apiVersion, kind }) => groupOf(apiVersion) === 'apps' && scalableKinds.includes(kind),
  )
}

/** The object that the autoscaler scales and needs: without its running pods there is no metric. */
function scaleTarget({ metadata: { namespace }, spec }: KubeObject): readonly ObjectName[] {
  const { apiVersion, kind, name } =
    (spec as { scaleTargetRef?: Partial<ObjectName> } | undefined)?.scaleTargetRef ?? {}
  if (apiVersion === undefined || kind === undefined || name === undefined) return []
  return [{ apiVersion, kind, name, namespace }]
}

function annotatedConditions({ metadata }: KubeObject): readonly Condition[] {
  const text = metadata.annotations?.[conditionsAnnotation]
  if (text === undefined) return []
  try {
    return conditionsIn(JSON.parse(text))
  } catch {
    // An annotation may contain anything; invalid JSON contains no condition.
    return []
  }
}
