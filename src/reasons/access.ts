import type { DeniedAccess } from '../cluster/failures.ts'
import { clusterCommand } from './wording.ts'

/** Begins the user name of a ServiceAccount, before its namespace and name. */
const serviceAccount = 'system:serviceaccount:'
/** The Role has its own name, because a Role of examples/role.yaml may exist already. */
const roleName = 'rollout-gate-reader'
/** The maximum number of namespaces for which commands are shown: more would fill the log. */
const maxRoles = 4

/** The kubectl commands that grant all this access: one Role with its binding for each user and namespace. */
export function describeGrants(denied: readonly DeniedAccess[]): string {
  const roles = [
    ...Map.groupBy(denied, ({ user, namespace }) => JSON.stringify([user, namespace ?? null])).values(),
  ].flatMap((accesses) => roleOf(accesses) ?? [])
  const more = roles.length - maxRoles
  return [...roles.slice(0, maxRoles), ...(more > 0 ? [`The same is missing in ${more} more namespaces.`] : [])].join(
    ' ',
  )
}

/** The rule for a Role that permits all this access, as YAML. */
export function roleRule(denied: readonly DeniedAccess[]): string {
  const [first] = denied
  if (first === undefined) return ''
  const list = (names: readonly string[]) => `[${[...new Set(names)].map((name) => JSON.stringify(name)).join(', ')}]`
  const resources = denied.flatMap(({ resource }) => (resource === 'pods' ? [resource, 'pods/log'] : [resource]))
  const rule = [
    `apiGroups: ${list(denied.map(({ group }) => group))}`,
    `resources: ${list(resources)}`,
    `verbs: ${list(['get', 'list', 'watch'])}`,
  ]
  const kind = denied.some(({ namespace }) => namespace === undefined) ? 'ClusterRole' : 'Role'
  return `To read them, user ${first.user} needs this rule in its ${kind}: {${rule.join(', ')}}`
}

function roleOf(accesses: readonly DeniedAccess[]): string | undefined {
  const [first] = accesses
  if (first === undefined) return undefined
  const { user, namespace } = first
  const resources = new Set(accesses.flatMap(resourcesOf))
  const [place, kind, scope] =
    namespace === undefined
      ? ['in the whole cluster', 'clusterrole', []]
      : [`in namespace ${namespace}`, 'role', ['-n', namespace]]
  const verbs = [...resources].every((resource) => resource.includes('/')) ? 'get' : 'get,list,watch'
  const rules = [`--verb=${verbs}`, `--resource=${[...resources].join(',')}`]
  const role = clusterCommand('create', kind, roleName, ...rules, ...scope)
  const binding = clusterCommand(
    'create',
    `${kind}binding`,
    roleName,
    `--${kind}=${roleName}`,
    bindingFlag(user),
    ...scope,
  )
  return `Grant user ${user} what is missing ${place}: ${role}, then ${binding}.`
}

/** Logs are part of pods: without them, a failure is not explained. */
function resourcesOf({ resource, group }: DeniedAccess): readonly string[] {
  const name = group === '' ? resource : `${resource}.${group}`
  return name === 'pods' ? ['pods', 'pods/log'] : [name]
}

/** The flag of `kubectl create rolebinding` that names a user. */
function bindingFlag(user: string): string {
  return user.startsWith(serviceAccount) ? `--serviceaccount=${user.slice(serviceAccount.length)}` : `--user=${user}`
}
