import type { WatchRequest } from '../../cluster/feed.ts'
import type { Condition, KubeObject } from '../../cluster/objects.ts'
import { groupOf } from '../../cluster/store.ts'
import type { Awaited } from '../assessment.ts'
import { conditionsIn, presentConditions } from '../conditions.ts'
import type { Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { conditionRule } from './condition-rule.ts'

/** Where `autoscaling/v1`, which has no conditions, carries those of v2 (pkg/apis/autoscaling/annotations.go). */
const conditionsAnnotation = 'autoscaling.alpha.kubernetes.io/conditions'

/** The kinds of Kubernetes itself that an autoscaler scales. */
const scalable = ['Deployment', 'StatefulSet', 'ReplicaSet']

/**
 * A HorizontalPodAutoscaler: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
 *
 * Ready when it can scale its target and read its metric, or when it is disabled because the target has zero replicas
 * (ScalingActive is False with reason ScalingDisabled, pkg/controller/podautoscaler). Its controller looks at the target
 * every 15 s: a target that has replicas again shows that the condition is out of date.
 */
export const autoscalerRule: Rule = {
  ...conditionRule(
    { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' },
    ['AbleToScale', 'ScalingActive'],
    {
      isFine: (condition, object, context) => isDisabled(condition) && !isScaledUp(object, context),
      readyWords: (conditions) =>
        conditions.some(isDisabled) ? 'disabled while its target has zero replicas' : undefined,
      conditionsOf: (object) => [...presentConditions(object), ...annotatedConditions(object)],
      awaits: scaled,
    },
  ),
  concernedBy: scalable,
  isConcernedBy: (object, other) => scaled(object).some((target) => isNamed(other, target)),
  relatives: watched,
}

function isDisabled({ type, reason }: Condition): boolean {
  return type === 'ScalingActive' && reason === 'ScalingDisabled'
}

/** Whether its target is seen to have replicas; an absent number is one. */
function isScaledUp(object: KubeObject, context: RuleContext): boolean {
  return watched(object).some((request) => {
    if (context.listState(request) !== 'complete') return false
    const target = context.list(request.kind, request.namespace).find((each) => isNamed(each, request))
    return target !== undefined && (target.spec as { replicas?: number } | undefined)?.replicas !== 0
  })
}

function watched(object: KubeObject): readonly (WatchRequest & Awaited)[] {
  return scaled(object).filter(({ apiVersion, kind }) => groupOf(apiVersion) === 'apps' && scalable.includes(kind))
}

function isNamed({ kind, metadata }: KubeObject, target: Awaited): boolean {
  return kind === target.kind && metadata.name === target.name
}

/** What it scales: without running pods there is no metric. */
function scaled({ metadata: { namespace }, spec }: KubeObject): readonly Awaited[] {
  const { apiVersion, kind, name } = (spec as { scaleTargetRef?: Partial<Awaited> } | undefined)?.scaleTargetRef ?? {}
  if (apiVersion === undefined || kind === undefined || name === undefined) return []
  return [{ apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) }]
}

function annotatedConditions({ metadata }: KubeObject): readonly Condition[] {
  const text = metadata.annotations?.[conditionsAnnotation]
  if (text === undefined) return []
  try {
    return conditionsIn(JSON.parse(text))
  } catch {
    // Anybody may write an annotation; one that is no JSON says nothing.
    return []
  }
}
