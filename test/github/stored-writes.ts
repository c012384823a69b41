import type { Answer, GitHubRequest, GitHubServer, Handler } from './github-server.ts'

/** An object that a client has created, with the fields of its latest update. */
export type Stored = Readonly<Record<string, unknown>> & { readonly id: number }

/** What a server holds, in the order of creation. */
export interface StoredWrites {
  readonly comments: Stored[]
  /** Every status of a commit, with the commit as `sha`. The latest of a context counts. */
  readonly statuses: readonly Stored[]
  readonly deployments: readonly Stored[]
  /** Every status of a deployment, with its number as `deployment`. */
  readonly deploymentStatuses: readonly Stored[]
}

/** Makes the server store what clients create and update, as GitHub does: another client reads and updates it. */
export function storeWrites(github: GitHubServer): StoredWrites {
  let latestId = 0
  const create =
    (list: Stored[], fields: (request: GitHubRequest) => object = () => ({})): Handler =>
    (request, example) => {
      const stored: Stored = { ...request.body, ...fields(request), id: ++latestId }
      list.push(stored)
      return { status: 201, body: { ...example, ...stored } }
    }
  const update =
    (list: Stored[]): Handler =>
    ({ path, body }, example): Answer => {
      const id = Number(path.split('/').at(-1))
      const index = list.findIndex((stored) => stored.id === id)
      const present = list[index]
      // Deleted meanwhile: https://docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api#404-not-found
      if (present === undefined) return { status: 404, body: { message: 'Not Found' } }
      list[index] = { ...present, ...body, id }
      return { status: 200, body: { ...example, ...list[index] } }
    }
  const read =
    (list: readonly Stored[]): Handler =>
    ({ path }, example) => {
      const stored = list.find(({ id }) => id === Number(path.split('/').at(-1)))
      return stored === undefined
        ? { status: 404, body: { message: 'Not Found' } }
        : { status: 200, body: { ...example, ...stored } }
    }
  /** The newest first, as GitHub lists statuses. */
  const list =
    (all: readonly Stored[], field: string): Handler =>
    ({ path }) => ({
      status: 200,
      body: all.filter((stored) => String(stored[field]) === path.split('/').at(-2)).toReversed(),
    })
  const statuses: Stored[] = []
  const comments: Stored[] = []
  const deployments: Stored[] = []
  const deploymentStatuses: Stored[] = []
  // A workflow's token writes as a bot: https://docs.github.com/actions/concepts/security/github_token
  const author = { user: { login: 'github-actions[bot]', type: 'Bot' } }
  const issueOf = ({ path }: GitHubRequest) => Number(path.split('/').at(-2))
  /**
   * "Adds a new inactive status to all prior non-transient, non-production environment deployments with the same repository
   * and environment name": `auto_inactive` of https://docs.github.com/rest/deployments/statuses#create-a-deployment-status
   */
  const endEarlier = (latest: number) => {
    const environment = deployments.find(({ id }) => id === latest)?.['environment']
    const stateOf = (id: number) => deploymentStatuses.findLast(({ deployment }) => deployment === id)?.['state']
    const earlier = deployments.filter(
      (each) => each.id < latest && each['environment'] === environment && !each['transient_environment'],
    )
    for (const { id } of environment === 'production' ? [] : earlier.filter(({ id }) => stateOf(id) === 'success'))
      deploymentStatuses.push({ state: 'inactive', deployment: id, id: ++latestId })
  }
  const handlers: Readonly<Record<string, Handler>> = {
    'repos/create-commit-status': create(statuses, ({ path }) => ({ sha: path.split('/').at(-1) })),
    'repos/list-commit-statuses-for-ref': list(statuses, 'sha'),
    'issues/get-comment': read(comments),
    'issues/create-comment': create(comments, (request) => ({ ...author, issue: issueOf(request) })),
    'issues/update-comment': update(comments),
    'issues/list-comments': (request) => ({
      status: 200,
      body: comments.filter(({ issue }) => issue === issueOf(request)),
    }),
    'repos/create-deployment': create(deployments),
    'repos/list-deployments': ({ query }) => ({
      status: 200,
      body: deployments
        .filter(({ ref, environment }) => ref === query['sha'] && environment === query['environment'])
        .toReversed(),
    }),
    'repos/create-deployment-status': (request, example) => {
      const answer = create(deploymentStatuses, (each) => ({ deployment: issueOf(each) }))(request, example)
      if (request.body['state'] === 'success') endEarlier(issueOf(request))
      return answer
    },
    'repos/list-deployment-statuses': list(deploymentStatuses, 'deployment'),
  }
  for (const [operation, handler] of Object.entries(handlers)) github.handlers.set(operation, handler)
  return { comments, statuses, deployments, deploymentStatuses }
}
