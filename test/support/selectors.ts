import type { KubeObject } from '../../src/cluster/objects.ts'
import { ApiError } from './status.ts'

export type Matcher = (object: KubeObject) => boolean

/**
 * Compiles a label selector as the API takes it in a query: `app=web,tier!=db,env in (a,b),zone notin (c),canary,!old`.
 * A requirement of inequality also holds for objects without the label (apimachinery `labels.Requirement`).
 * Throws a 400 on anything else.
 */
export function labelMatcher(selector: string): Matcher {
  const requirements = splitOutsideParentheses(selector).map(labelRequirement)
  return (object) => {
    const labels = object.metadata.labels ?? {}
    return requirements.every((holds) => holds(labels))
  }
}

type Labels = Readonly<Record<string, string>>

function labelRequirement(text: string): (labels: Labels) => boolean {
  const set = /^([\w./-]+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(text)
  if (set) {
    const [, key = '', operator, list = ''] = set
    const values = list.split(',').map((value) => value.trim())
    return (labels) => {
      const value = labels[key]
      const among = value !== undefined && values.includes(value)
      return operator === 'in' ? among : !among
    }
  }
  const equality = /^([\w./-]+)\s*(==|=|!=)\s*([\w.-]*)$/.exec(text)
  if (equality) {
    const [, key = '', operator, value = ''] = equality
    return (labels) => (labels[key] === value) === (operator !== '!=')
  }
  const existence = /^(!?)\s*([\w./-]+)$/.exec(text)
  if (existence) {
    const [, not, key = ''] = existence
    return (labels) => key in labels !== (not === '!')
  }
  throw new ApiError(400, `unable to parse requirement: found '${text}'`)
}

/** Commas separate requirements, but for those in the parentheses of a set. */
function splitOutsideParentheses(selector: string): string[] {
  return selector
    .split(/,(?![^(]*\))/)
    .map((requirement) => requirement.trim())
    .filter((requirement) => requirement !== '')
}

/** Field labels beyond `metadata.name` and `metadata.namespace` that a kind can be selected by (kubernetes `pkg/apis/*`). */
const FIELD_LABELS: Record<string, readonly string[]> = {
  Event: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
  Job: ['status.successful'],
  Namespace: ['status.phase'],
  Node: ['spec.unschedulable'],
  Pod: [
    'spec.nodeName',
    'spec.restartPolicy',
    'spec.schedulerName',
    'spec.serviceAccountName',
    'status.phase',
    'status.podIP',
    'status.nominatedNodeName',
  ],
  ReplicaSet: ['status.replicas'],
  ReplicationController: ['status.replicas'],
  Secret: ['type'],
}

/**
 * Compiles a field selector for one kind: `metadata.name=web,status.phase!=Running`.
 * Throws a 400 for fields that the server does not index for that kind, as the real one does.
 */
export function fieldMatcher(selector: string, kind: string): Matcher {
  const requirements = selector
    .split(',')
    .filter((requirement) => requirement !== '')
    .map((requirement) => {
      const [, field = '', operator, value = ''] = /^([^=!]+)(==|=|!=)(.*)$/.exec(requirement) ?? []
      if (operator === undefined) {
        throw new ApiError(400, `invalid selector: '${selector}'; can't understand '${requirement}'`)
      }
      const known = ['metadata.name', 'metadata.namespace', ...(FIELD_LABELS[kind] ?? [])]
      if (!known.includes(field)) throw new ApiError(400, `field label not supported: ${field}`)
      return (object: KubeObject) => (fieldValue(object, field) === value) === (operator !== '!=')
    })
  return (object) => requirements.every((holds) => holds(object))
}

/** The value at a dotted path as the text that selectors compare; absent fields are empty. */
function fieldValue(object: KubeObject, path: string): string {
  if (path === 'source') return fieldValue(object, 'source.component')
  let value: unknown = object
  for (const key of path.split('.')) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
  }
  return value === undefined || value === null ? '' : String(value)
}
