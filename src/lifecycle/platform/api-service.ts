import type { KubeObject } from '../../cluster/objects.ts'
import type { Awaited } from '../assessment.ts'
import { conditionRule } from './condition-rule.ts'

/**
 * An APIService: ready when the aggregator reaches what serves it (Available).
 * https://kubernetes.io/docs/tasks/extend-kubernetes/setup-extension-api-server/
 */
export const apiServiceRule = conditionRule(
  { apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService' },
  ['Available'],
  { awaits: servedBy },
)

/** The Service that serves it; an APIService without one is served by the API server itself. */
function servedBy({ spec }: KubeObject): readonly Awaited[] {
  const { namespace, name } = (spec as { service?: Partial<Awaited> } | undefined)?.service ?? {}
  return namespace === undefined || name === undefined ? [] : [{ apiVersion: 'v1', kind: 'Service', namespace, name }]
}
