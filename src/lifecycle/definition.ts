import { conditionRule } from './condition-rule.ts'

/**
 * A CustomResourceDefinition: ready when its names are accepted and the API server serves it (Established), which says
 * that the first object may be applied.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 *
 * Strike: its names are taken by another definition (NamesAccepted is False), so it is not established, or keeps the names
 * of before. Without that it is on its way (Installing), or waits for the certificate of its conversion webhook, which
 * cert-manager writes later (InvalidCABundle). apiextensions-apiserver, pkg/controller/status/naming_controller.go and
 * pkg/controller/establish/establishing_controller.go.
 */
export const definitionRule = conditionRule(
  { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
  ['Established'],
  { isFailure: ({ type, status }) => status === 'False' && type === 'NamesAccepted' },
)
