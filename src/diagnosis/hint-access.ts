import { clusterCommand } from './hint-subject.ts'

/** The words of the RBAC authoriser (apiserver `endpoints/handlers/responsewriters/errors.go`); others put more behind them. */
const refusal =
  /User "([^"]+)" cannot (?:[a-z]+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/

/**
 * Who needs which rights on what, by the server's own words, and how to see that he has them.
 * @param said what the server answered
 */
export function accessHint(said: string): string {
  // What could be read before may go on well unseen.
  const care = /may no longer be read/.test(said) ? ' The rollout itself may be fine: look before you roll back.' : ''
  const [, user, resource, group, namespace] = refusal.exec(said) ?? []
  if (user === undefined || resource === undefined)
    return `Give the kubeconfig’s user get, list and watch on what is gated; SECURITY.md of Rollout Gate has the Role to apply.${care}`
  const what = group === undefined || group === '' ? resource : `${resource}.${group}`
  const [where, role, scope] =
    namespace === undefined
      ? ['in the whole cluster', 'ClusterRole', []]
      : [`in namespace ${namespace}`, 'Role', ['-n', namespace]]
  // Of these nothing but their being there is gated; nobody should be given Secrets to read for that.
  const way = /^(?:secrets|configmaps|namespaces)$/.test(what) ? ` Or leave them out: a line \`!${what} --all\`.` : ''
  const check = clusterCommand('auth', 'can-i', 'list', what, ...scope, '--as', user)
  return `Give user ${user} get, list and watch on ${what} ${where}, by a ${role} and its binding (SECURITY.md of Rollout Gate has them to apply). ${check} says yes once that is done.${way}${care}`
}
