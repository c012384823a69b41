import { conditionRule } from './condition-rule.ts'

/**
 * A CustomResourceDefinition: ready when its names are accepted and the API server serves it (Established), which says
 * that the first object may be applied.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 *
 * Strike: its names are taken by another definition (NamesAccepted is False), so it is not established either; False with
 * the reason Installing is on its way (pkg/controller/status/naming_controller.go in apiextensions-apiserver).
 */
export const definitionRule = conditionRule(
  { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
  ['Established'],
  {
    isFailure: ({ type, status, reason }) =>
      status === 'False' && (type === 'NamesAccepted' || (type === 'Established' && reason !== 'Installing')),
  },
)
