import type { Condition, KubeObject } from '../cluster/objects.ts'
import type { Awaited } from './assessment.ts'
import { conditionRule } from './condition-rule.ts'
import { isCondition, presentConditions } from './conditions.ts'

/** Where `autoscaling/v1`, which has no conditions, carries those of v2 (pkg/apis/autoscaling/annotations.go). */
const conditionsAnnotation = 'autoscaling.alpha.kubernetes.io/conditions'

/**
 * A HorizontalPodAutoscaler: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
 *
 * Ready when it can scale its target and read its metric, or when it is disabled because the target has zero replicas
 * (ScalingActive is False with reason ScalingDisabled, pkg/controller/podautoscaler).
 */
export const autoscalerRule = conditionRule(
  { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' },
  ['AbleToScale', 'ScalingActive'],
  {
    isFine: isDisabled,
    readyWords: (conditions) =>
      conditions.some(isDisabled) ? 'disabled while its target has zero replicas' : undefined,
    conditionsOf: (object) => [...presentConditions(object), ...annotatedConditions(object)],
    awaits: scaled,
  },
)

function isDisabled({ type, reason }: Condition): boolean {
  return type === 'ScalingActive' && reason === 'ScalingDisabled'
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
    const conditions: unknown = JSON.parse(text)
    return Array.isArray(conditions) ? conditions.filter(isCondition) : []
  } catch {
    // Anybody may write an annotation; one that is no JSON says nothing.
    return []
  }
}
