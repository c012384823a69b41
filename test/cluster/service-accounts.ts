import { sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { documentedBlock } from '../act/documented.ts'
import { ApiError, type KubeObject } from './api.ts'
import { until } from './command.ts'
import type { Fixture } from './fixture.ts'
import { serviceAccountKeyPath } from './layout.ts'

/** RBAC rules for everything that the action reads. */
const everyObject = [
  { apiGroups: ['', 'apps', 'batch', 'events.k8s.io'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
]

/** The rules of the documented Role. */
export function readerRules(): object[] {
  const role = readFileSync(join(import.meta.dirname, '../../examples/role.yaml'), 'utf8')
  return parseAllDocuments(role)[0]?.toJS().rules ?? []
}

/** The rules that are documented for Helm (0), and for `--revision` (1). */
export function accessRules(index: 0 | 1): object[] {
  return parse(documentedBlock('docs/credentials.md', 'Access for Helm, Argo CD and Flux', 'yaml', '', index))
}

/** The path of a list, with `{}` for the namespace. */
const podsPath = '/api/v1/namespaces/{}/pods'

/** Creates a ServiceAccount with a Role of these rules, and stores its token in `fixture.tokens`. */
export async function createUser(
  fixture: Fixture,
  name: string,
  rules: readonly object[] = everyObject,
  readable = podsPath,
): Promise<void> {
  await fixture.apply(
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name }, rules },
  )
  const request = { spec: { expirationSeconds: 3600 } }
  const response = await fixture.api.create(`${fixture.path('ServiceAccount', name)}/token`, request)
  fixture.tokens.set(name, response['status'].token)
  await grantAccess(fixture, name, readable)
}

/** Creates the RoleBinding; returns once the API server allows the account to read `readable`. */
export async function grantAccess(fixture: Fixture, name: string, readable = podsPath): Promise<void> {
  await fixture.apply(roleBinding(fixture, name))
  await waitForReadStatus(fixture, name, 200, readable)
}

/** Deletes the RoleBinding; returns once the API server answers 403. */
export async function withdrawAccess(fixture: Fixture, name: string): Promise<void> {
  await fixture.delete('RoleBinding', name)
  await waitForReadStatus(fixture, name, 403)
}

/** Deletes the ServiceAccount; returns once the API server, which caches tokens for 10 s, answers 401. */
export async function revokeToken(fixture: Fixture, name: string): Promise<void> {
  await fixture.delete('ServiceAccount', name)
  await waitForReadStatus(fixture, name, 401)
}

/**
 * Replaces the token with one that the API server accepts for this many seconds: a TokenRequest grants no less than ten
 * minutes. The token is signed with the key of the cluster of this machine.
 */
export function shortenToken(fixture: Fixture, name: string, seconds: number): void {
  const [header = '', payload = ''] = (fixture.tokens.get(name) ?? '').split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  // The API server accepts a token for another minute (go-jose, `DefaultLeeway`).
  const exp = Math.floor(Date.now() / 1000) + seconds - 60
  const content = `${header}.${Buffer.from(JSON.stringify({ ...claims, exp })).toString('base64url')}`
  const signature = sign('RSA-SHA256', Buffer.from(content), readFileSync(serviceAccountKeyPath))
  fixture.tokens.set(name, `${content}.${signature.toString('base64url')}`)
}

/** Returns once the token has expired and the API server, which caches tokens for 10 s, answers 401. */
export function untilTokenExpired(fixture: Fixture, name: string): Promise<void> {
  return waitForReadStatus(fixture, name, 401)
}

/** Returns once the API server answers a read of the account with this HTTP status: a change of access takes effect late. */
export async function waitForReadStatus(
  fixture: Fixture,
  name: string,
  status: number,
  path = podsPath,
): Promise<void> {
  const api = fixture.api.withToken(fixture.tokens.get(name) ?? '')
  const statusOfRead = async () => {
    try {
      await api.get(path.replace('{}', fixture.namespace))
      return 200
    } catch (error) {
      if (error instanceof ApiError) return error.status
      throw error
    }
  }
  await until(`the API server answers ${status} to ${name}`, 40, async () => (await statusOfRead()) === status)
}

function roleBinding({ namespace }: Fixture, name: string): KubeObject {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  }
}
