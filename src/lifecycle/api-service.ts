import { conditionRule } from './condition-rule.ts'

/**
 * An APIService: ready when the aggregator reaches what serves it (Available).
 * https://kubernetes.io/docs/tasks/extend-kubernetes/setup-extension-api-server/
 */
export const apiServiceRule = conditionRule({ apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService' }, [
  'Available',
])
