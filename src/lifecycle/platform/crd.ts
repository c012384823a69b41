import { conditionRule } from './condition-rule.ts'

/** Why a definition is not established yet, and will be: by itself, or once cert-manager has written a certificate. */
const passingReasons: ReadonlySet<string | undefined> = new Set(['Installing', 'InvalidCABundle'])

/**
 * A CustomResourceDefinition: ready when its names are accepted and the API server serves it (Established), which says
 * that the first object may be applied.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 *
 * Strike: its names are taken by another definition (NamesAccepted is False), so it is not established, or keeps the names
 * of before. apiextensions-apiserver, pkg/controller/status/naming_controller.go and
 * pkg/controller/establish/establishing_controller.go.
 */
export const definitionRule = conditionRule(
  { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
  ['Established'],
  {
    isFailure: ({ type, status, reason }) =>
      status === 'False' && (type === 'NamesAccepted' || (type === 'Established' && !passingReasons.has(reason))),
  },
)
