import type { WatchRequest } from '../../cluster/feed.ts'
import { type Condition, groupOf, type KubeObject, type ObjectName, replicasOf } from '../../cluster/objects.ts'
import { conditionsIn, conditionsOf } from '../conditions.ts'
import type { Reader, RuleReader } from '../reader.ts'
import { commonMilestones, type Judgement, type Rule } from '../rule.ts'
import { isGenerationStale, lastWriteOf } from '../status-age.ts'
import { judgeConditions } from './condition-kinds.ts'

/**
 * A HorizontalPodAutoscaler: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
 *
 * Ready when it can scale its target and read its metric, or is disabled because the target has zero replicas
 * (ScalingActive is False with reason ScalingDisabled, pkg/controller/podautoscaler). Its controller syncs only every
 * 15 s, so that condition is stale for a while when the target has replicas again.
 */
export const hpaRule: Rule = { milestones: commonMilestones, judge: judgeAutoscaler }

function judgeAutoscaler(autoscaler: KubeObject, reader: RuleReader): Judgement {
  const target = scaleTarget(autoscaler)
  const mayBeDisabled = !isScaledUp(target, reader)
  const present = conditionsOfPresentSpec(autoscaler, reader)
  const isDisabled = mayBeDisabled && present.some(isDisabling)
  const conditions = present.map((each) => (mayBeDisabled && isDisabling(each) ? { ...each, status: 'True' } : each))
  const judgement = judgeConditions(autoscaler, ['AbleToScale', 'ScalingActive'], conditions, reader)
  return {
    ...judgement,
    message: judgement.ready && isDisabled ? 'disabled while its target has zero replicas' : judgement.message,
    // Without its running pods there is no metric.
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
function isScaledUp(target: (WatchRequest & ObjectName) | undefined, reader: Reader): boolean {
  if (target === undefined || groupOf(target.apiVersion) !== 'apps') return false
  if (!['Deployment', 'StatefulSet', 'ReplicaSet'].includes(target.kind)) return false
  const [found] = reader.list(target)
  if (found === undefined || reader.listState(target) !== 'complete') return false
  return replicasOf(found) !== 0
}

function isDisabling({ type, reason }: Condition): boolean {
  return type === 'ScalingActive' && reason === 'ScalingDisabled'
}

/**
 * The conditions that are about the present spec. Since Kubernetes 1.37 the status names the generation that was observed, but not
 * the present one if the controller cannot read the scale of its target: then it only writes that condition (reconcileAutoscaler,
 * pkg/controller/podautoscaler).
 */
function conditionsOfPresentSpec(autoscaler: KubeObject, { time }: Reader): readonly Condition[] {
  const conditions = [...conditionsOf(autoscaler), ...annotatedConditions(autoscaler)]
  if (!isGenerationStale(autoscaler)) return conditions
  const writtenAt = lastWriteOf(autoscaler, time) ?? Infinity
  return conditions.filter(
    ({ type, status, lastTransitionTime }) =>
      type === 'AbleToScale' && status === 'False' && (time(lastTransitionTime) ?? -Infinity) >= writtenAt,
  )
}

/** The conditions of an object of `autoscaling/v1`: an annotation contains those of v2 (pkg/apis/autoscaling/annotations.go). */
function annotatedConditions({ metadata }: KubeObject): readonly Condition[] {
  const text = metadata.annotations?.['autoscaling.alpha.kubernetes.io/conditions']
  if (text === undefined) return []
  try {
    return conditionsIn(JSON.parse(text))
  } catch {
    // An annotation may contain anything; invalid JSON contains no condition.
    return []
  }
}
