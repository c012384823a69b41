/**
 * Checks what the extras of a gate that became ready wrote to GitHub, as GitHub returns it:
 *
 *     node test/github/read-back.ts
 *
 * The environment has the gate's outputs `COMMENT_URL` and `DEPLOYMENT_ID`, its `NAME`, the commit
 * `HEAD_SHA`, the number `PULL_REQUEST`, and `GITHUB_TOKEN`.
 */

/** What a gate has written, by its inputs and outputs. */
export interface WrittenGate {
  readonly name: string
  readonly headSha: string
  readonly pullRequest: string
  readonly commentUrl: string
  readonly deploymentId: string
}

/** Reads a path below the repository's address in the API. */
// biome-ignore lint/suspicious/noExplicitAny: The fields are compared, not trusted.
export type ReadApi = (path: string) => Promise<any>

/** The differences between GitHub's answers and what the gate should have written, one sentence each. */
export async function findDifferences(read: ReadApi, gate: WrittenGate): Promise<string[]> {
  const commentId = /#issuecomment-(\d+)$/.exec(gate.commentUrl)?.[1] ?? ''
  const [commit, deployment, deploymentStatuses, comment] = await Promise.all([
    read(`commits/${gate.headSha}/status`),
    read(`deployments/${gate.deploymentId}`),
    read(`deployments/${gate.deploymentId}/statuses`),
    read(`issues/comments/${commentId}`),
  ])
  const status = commit.statuses.find(({ context }: { context: string }) => context === gate.name)
  const comparisons: readonly (readonly [what: string, actual: unknown, expected: unknown])[] = [
    ['state of the commit status', status?.state, 'success'],
    ['commit of the deployment', deployment.sha, gate.headSha],
    ['state of the deployment', deploymentStatuses[0]?.state, 'success'],
    ['pull request of the comment', comment.issue_url?.split('/').at(-1), gate.pullRequest],
    ['outcome in the comment', /Rollout (\w+)/.exec(comment.body)?.[1], 'ready'],
  ]
  return comparisons
    .filter(([, actual, expected]) => actual !== expected)
    .map(([what, actual, expected]) => `The ${what} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}.`)
}

if (import.meta.main) {
  const { env } = process
  const read: ReadApi = async (path) => {
    const url = `${env['GITHUB_API_URL']}/repos/${env['GITHUB_REPOSITORY']}/${path}`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${env['GITHUB_TOKEN']}` } })
    if (!answer.ok) throw new Error(`GET ${url}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const differences = await findDifferences(read, {
    name: env['NAME'] ?? '',
    headSha: env['HEAD_SHA'] ?? '',
    pullRequest: env['PULL_REQUEST'] ?? '',
    commentUrl: env['COMMENT_URL'] ?? '',
    deploymentId: env['DEPLOYMENT_ID'] ?? '',
  })
  for (const difference of differences) console.error(difference)
  if (differences.length > 0) process.exitCode = 1
  else console.log('GitHub has the commit status, the deployment and the comment of the gate.')
}
