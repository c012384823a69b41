import type { ApiResource } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { ApiError } from './status.ts'

/** The objects of a list or watch request. */
export interface Selection {
  readonly resource: ApiResource
  /** Empty: all namespaces. */
  readonly namespace: string
  readonly matches: Matcher
}

/** Reads the selectors of a query. */
export function selectionOf(resource: ApiResource, namespace: string, query: URLSearchParams): Selection {
  const labels = labelMatcher(query.get('labelSelector') ?? '')
  const fields = fieldMatcher(query.get('fieldSelector') ?? '', resource.kind)
  return { resource, namespace, matches: (object) => labels(object) && fields(object) }
}

/** Whether the selection contains an object of its collection. */
export function selects({ namespace, matches }: Selection, object: KubeObject): boolean {
  return (namespace === '' || object.metadata.namespace === namespace) && matches(object)
}

/** The resource version of a query; undefined without one. */
export function revisionOf(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion') ?? ''
  if (text === '') return undefined
  if (!/^\d+$/.test(text)) throw new ApiError(400, `invalid resource version "${text}"`)
  return Number(text)
}

export type Matcher = (object: KubeObject) => boolean

/**
 * Compiles the label selector of a query: `app=web,tier!=db,env in (a,b),zone notin (c),canary,!old`. An inequality also
 * holds for objects without the label (apimachinery `labels.Requirement`). Throws a 400 on anything else.
 */
function labelMatcher(selector: string): Matcher {
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

/** Splits at commas that are not in parentheses. */
function splitOutsideParentheses(selector: string): string[] {
  return selector
    .split(/,(?![^(]*\))/)
    .map((requirement) => requirement.trim())
    .filter((requirement) => requirement !== '')
}

/** Field labels of each kind besides `metadata.name` and `metadata.namespace` (kubernetes `pkg/apis/*`). */
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
 * Throws a 400 for fields that the real server does not index for that kind.
 */
function fieldMatcher(selector: string, kind: string): Matcher {
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

/** The value at a dotted path as text; empty if absent. */
function fieldValue(object: KubeObject, path: string): string {
  if (path === 'source') return fieldValue(object, 'source.component')
  let value: unknown = object
  for (const key of path.split('.')) {
    value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
  }
  return value === undefined || value === null ? '' : String(value)
}
