import { conditionRule } from './condition-rule.ts'

/**
 * A CustomResourceDefinition: ready when its names are accepted and the API server serves it (Established), which says
 * that the first object may be applied.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
export const definitionRule = conditionRule(
  { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
  ['Established'],
)
