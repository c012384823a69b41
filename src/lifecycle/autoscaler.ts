import { conditionRule } from './condition-rule.ts'

/**
 * A HorizontalPodAutoscaler: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
 *
 * Ready when it can scale its target and read its metric, or when it is disabled because the target has zero replicas
 * (ScalingActive is False with reason ScalingDisabled, pkg/controller/podautoscaler).
 */
export const autoscalerRule = conditionRule(
  { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' },
  ['AbleToScale', 'ScalingActive'],
  ({ type, reason }) => type === 'ScalingActive' && reason === 'ScalingDisabled',
)
