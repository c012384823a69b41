import type { ApiResource } from '../../src/cluster/feed.ts'
import { ApiError, groupResource } from './status.ts'

/** The RBAC attributes of a request. */
export interface Attempt {
  readonly verb: string
  readonly group: string
  /** The plural, with its subresource if any: `pods/log`. */
  readonly resource: string
  /** Empty for requests at the cluster scope. */
  readonly namespace: string
  readonly name?: string
}

/**
 * Requests that are denied. `*` matches any verb or resource; an absent `group` or `namespace` matches any.
 * `namespace: ''` denies only cluster-scoped requests, as for an account that has only a Role.
 */
export interface Denial {
  readonly verb: string
  readonly resource: string
  readonly group?: string
  readonly namespace?: string
}

/** The user name in all messages. */
const USER = 'system:serviceaccount:ci:deployer'

/** Allows everything that is not denied. */
export class Access {
  #denials: Denial[] = []

  deny(denial: Denial): void {
    this.#denials.push(denial)
  }

  allowAll(): void {
    this.#denials = []
  }

  allows({ verb, group, resource, namespace }: Attempt): boolean {
    return !this.#denials.some(
      (denial) =>
        (denial.verb === '*' || denial.verb === verb) &&
        // Every authenticated user may review their own access (ClusterRole system:basic-user).
        (denial.resource === resource || (denial.resource === '*' && group !== 'authorization.k8s.io')) &&
        (denial.group === undefined || denial.group === group) &&
        (denial.namespace === undefined || denial.namespace === namespace),
    )
  }

  /** Throws the 403 of the RBAC authorizer (apiserver `endpoints/handlers/responsewriters/errors.go`). */
  check(attempt: Attempt): void {
    if (this.allows(attempt)) return
    const { verb, group, resource, namespace, name } = attempt
    const what = groupResource({ group, plural: resource.split('/')[0] ?? resource })
    const scope = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`
    throw new ApiError(
      403,
      `${what}${name === undefined ? '' : ` "${name}"`} is forbidden: User "${USER}" cannot ${verb} resource "${resource}" in API group "${group}" ${scope}`,
      { ...(name !== undefined && { name }), ...(group !== '' && { group }), kind: resource.split('/')[0] ?? resource },
    )
  }

  /** Answers a SelfSubjectAccessReview. */
  reviewAccess(review: Record<string, unknown>): object {
    const requested = attributes(review, 'resourceAttributes')
    const resource = [requested['resource'] ?? '', requested['subresource'] ?? '']
      .filter((part) => part !== '')
      .join('/')
    const allowed = this.allows({
      verb: requested['verb'] ?? '',
      group: requested['group'] ?? '',
      resource,
      namespace: requested['namespace'] ?? '',
    })
    return { ...review, status: { allowed, ...(allowed && { reason: 'RBAC: allowed' }) } }
  }

  /** Answers a SelfSubjectRulesReview; with denials, one rule for each resource. */
  reviewRules(review: Record<string, unknown>, resources: readonly ApiResource[]): object {
    const spec = review['spec'] as { namespace?: string } | undefined
    const namespace = spec?.namespace ?? ''
    const resourceRules =
      this.#denials.length === 0
        ? [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]
        : resources.flatMap(({ group, plural, verbs = [] }) => {
            const names = group === '' && plural === 'pods' ? ['pods', 'pods/log'] : [plural]
            return names.flatMap((resource) => {
              const possible = resource === 'pods/log' ? ['get'] : verbs
              const allowed = possible.filter((verb) => this.allows({ verb, group, resource, namespace }))
              return allowed.length === 0 ? [] : [{ verbs: allowed, apiGroups: [group], resources: [resource] }]
            })
          })
    return { ...review, status: { resourceRules, nonResourceRules: [], incomplete: false } }
  }
}

function attributes(review: Record<string, unknown>, key: string): Record<string, string> {
  const spec = review['spec'] as Record<string, Record<string, string> | undefined> | undefined
  const found = spec?.[key]
  if (!found) throw new ApiError(400, `spec.${key} is missing`)
  return found
}
