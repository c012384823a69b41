import { ApiError, type KubeObject } from './api.ts'
import { until } from './command.ts'
import type { Stage } from './stage.ts'

/** All that the action reads of a rollout, in one namespace. */
const everyObject = [
  { apiGroups: ['', 'apps', 'batch', 'events.k8s.io'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
]

/** Creates a ServiceAccount that may read its namespace, as far as the rules allow, and a token for it in `stage.tokens`. */
export async function createUser(stage: Stage, name: string, rules: readonly object[] = everyObject): Promise<void> {
  await stage.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name }, rules },
  )
  const request = { spec: { expirationSeconds: 3600 } }
  const answer = await stage.api.create(`${stage.path('ServiceAccount', name)}/token`, request)
  stage.tokens.set(name, answer['status'].token)
  await grantAccess(stage, name)
}

/** Binds the user to its Role, and returns once the API server allows it to read. */
export async function grantAccess(stage: Stage, name: string): Promise<void> {
  await stage.apply(roleBinding(stage, name))
  await untilReadAnswers(stage, name, 200)
}

/** Deletes the user's RoleBinding, and returns once the API server refuses it. */
export async function withdrawAccess(stage: Stage, name: string): Promise<void> {
  await stage.delete('RoleBinding', name)
  await untilReadAnswers(stage, name, 403)
}

/** Deletes the ServiceAccount, and returns once the API server refuses its token, which it caches for 10 s. */
export async function revokeToken(stage: Stage, name: string): Promise<void> {
  await stage.delete('ServiceAccount', name)
  await untilReadAnswers(stage, name, 401)
}

async function untilReadAnswers(stage: Stage, name: string, status: number): Promise<void> {
  const api = stage.api.withToken(stage.tokens.get(name) ?? '')
  const statusOfRead = async () => {
    try {
      await api.get(`/api/v1/namespaces/${stage.namespace}/pods`)
      return 200
    } catch (error) {
      if (error instanceof ApiError) return error.status
      throw error
    }
  }
  await until(`the API server answers ${status} to ${name}`, 20, async () => (await statusOfRead()) === status)
}

function roleBinding({ namespace }: Stage, name: string): KubeObject {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  }
}
