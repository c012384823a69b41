import type { WatchRequest } from '../../cluster/feed.ts'
import type { Condition, KubeObject, ObjectName } from '../../cluster/objects.ts'
import { groupOf } from '../../cluster/objects.ts'
import { conditionsIn, presentConditions } from '../conditions.ts'
import type { Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { conditionRule } from './condition-kinds.ts'

/** The annotation in which `autoscaling/v1` contains the conditions of v2 (pkg/apis/autoscaling/annotations.go). */
const conditionsAnnotation = 'autoscaling.alpha.kubernetes.io/conditions'

/** The built-in kinds that an autoscaler scales. */
const scalableKinds = ['Deployment', 'StatefulSet', 'ReplicaSet']

/**
 * A HorizontalPodAutoscaler: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
 *
 * Ready when it can scale its target and read its metric, or is disabled because the target has zero replicas
 * (ScalingActive is False with reason ScalingDisabled, pkg/controller/podautoscaler). Its controller syncs only every
 * 15 s, so that condition is stale for a while when the target has replicas again.
 */
export const hpaRule: Rule = {
  ...conditionRule(['AbleToScale', 'ScalingActive'], {
    isFine: (condition, object, context) => isDisabled(condition) && !isScaledUp(object, context),
    readyMessage: (conditions) =>
      conditions.some(isDisabled) ? 'disabled while its target has zero replicas' : undefined,
    conditionsOf: (object) => [...presentConditions(object), ...annotatedConditions(object)],
    awaits: scaleTarget,
  }),
  concernedBy: scalableKinds,
  isConcernedBy: (object, other) => scaleTarget(object).some((target) => isNamed(other, target)),
  relatives: watchedTarget,
}

function isDisabled({ type, reason }: Condition): boolean {
  return type === 'ScalingActive' && reason === 'ScalingDisabled'
}

/** Whether the scale target certainly has replicas; without `spec.replicas`, it has one. */
function isScaledUp(object: KubeObject, context: RuleContext): boolean {
  return watchedTarget(object).some((request) => {
    if (context.listState(request) !== 'complete') return false
    const target = context.list(request.kind, request.namespace).find((each) => isNamed(each, request))
    return target !== undefined && (target.spec as { replicas?: number } | undefined)?.replicas !== 0
  })
}

function watchedTarget(object: KubeObject): readonly (WatchRequest & ObjectName)[] {
  return scaleTarget(object).filter(
    ({ apiVersion, kind }) => groupOf(apiVersion) === 'apps' && scalableKinds.includes(kind),
  )
}

function isNamed({ kind, metadata }: KubeObject, target: ObjectName): boolean {
  return kind === target.kind && metadata.name === target.name
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
