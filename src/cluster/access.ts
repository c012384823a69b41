import type { Client } from './client.ts'
import { ApiError } from './failures.ts'
import type { ApiResource } from './feed.ts'

/** What is to be read: a resource, in a namespace or all over, perhaps one name only. */
export interface AccessQuestion {
  readonly resource: ApiResource
  readonly namespace?: string
  readonly name?: string
}

/** Undefined: the server would not say. */
export interface Access {
  readonly list: boolean | undefined
  readonly watch: boolean | undefined
}

/**
 * Asks the server what we may do (SelfSubjectAccessReview, open to everybody who is logged in), all questions at once;
 * the answers come in their order. Where the review itself is refused, nothing is known.
 */
export function reviewAccess(client: Client, questions: readonly AccessQuestion[]): Promise<Access[]> {
  return Promise.all(
    questions.map(async (question) => {
      const [list, watch] = await Promise.all([review(client, question, 'list'), review(client, question, 'watch')])
      return { list, watch }
    }),
  )
}

async function review(
  client: Client,
  { resource, namespace, name }: AccessQuestion,
  verb: 'list' | 'watch',
): Promise<boolean | undefined> {
  const resourceAttributes = {
    verb,
    group: resource.group,
    version: resource.version,
    resource: resource.plural,
    ...(namespace !== undefined && resource.namespaced ? { namespace } : {}),
    ...(name === undefined ? {} : { name }),
  }
  const body = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  }
  try {
    const answer = await client.json('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', { body })
    const { status } = (answer ?? {}) as { status?: { allowed?: unknown } }
    return typeof status?.allowed === 'boolean' ? status.allowed : undefined
  } catch (error) {
    if (error instanceof ApiError && error.status !== 401) return undefined
    throw error
  }
}
