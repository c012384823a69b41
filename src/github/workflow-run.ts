import type { context } from '@actions/github'
import type { Timeline } from '../gate/timeline.ts'
import type { Reference } from '../plan/reference.ts'
import { markdown, plain } from '../report/escape.ts'
import { headline } from '../report/headline.ts'
import { renderSummary } from '../report/summary.ts'
import { count } from '../report/wording.ts'

/** The context of `@actions/github`, from the environment and the event file. */
export type ActionContext = Pick<
  typeof context,
  'eventName' | 'payload' | 'sha' | 'workflow' | 'job' | 'actor' | 'runId' | 'runAttempt' | 'serverUrl' | 'repo'
>

/** The workflow run of this gate. */
export interface WorkflowRun {
  readonly owner: string
  readonly repo: string
  /** The commit that the user pushed: for a pull request its head, not the merge commit. */
  readonly headSha: string
  /** The repository's page, without a trailing slash. */
  readonly repositoryUrl: string
  /** URL of the commit's files, to which a path is appended. */
  readonly sourceBaseUrl: string
  /** The page with the log of this run attempt. */
  readonly runUrl: string
  readonly workflow: string
  readonly job: string
  /** The pull request in the event. */
  readonly pullRequest?: number | undefined
  /** The deployment that triggered the workflow. */
  readonly deploymentId?: number | undefined
  /** Why the token is read-only, if it is. */
  readonly readOnlyBecause?: 'fork' | 'dependabot' | undefined
}

/** Fields of an event's payload: https://docs.github.com/webhooks/webhook-events-and-payloads */
interface Payload {
  readonly repository?: { readonly full_name?: string }
  readonly pull_request?: {
    readonly number?: number
    readonly head?: { readonly sha?: string; readonly repo?: { readonly full_name?: string } | null }
  }
  readonly merge_group?: { readonly head_sha?: string; readonly head_ref?: string }
  readonly workflow_run?: {
    readonly head_sha?: string
    readonly pull_requests?: readonly { readonly number: number }[]
  }
  readonly deployment?: { readonly id?: number; readonly sha?: string }
}

/** @throws Error with the missing variable, outside of a workflow run */
export function readWorkflowRun(context: ActionContext): WorkflowRun {
  const { owner, repo } = context.repo
  const headSha = headShaOf(context)
  if (!headSha) throw new Error('GITHUB_SHA is not set.')
  const payload: Payload = context.payload
  const repositoryUrl = `${context.serverUrl}/${owner}/${repo}`
  const attempt = context.runAttempt > 0 ? `/attempts/${context.runAttempt}` : ''
  return {
    owner,
    repo,
    headSha,
    repositoryUrl,
    sourceBaseUrl: `${repositoryUrl}/blob/${headSha}/`,
    runUrl: `${repositoryUrl}/actions/runs/${context.runId}${attempt}`,
    workflow: context.workflow ?? '',
    job: context.job ?? '',
    pullRequest: pullRequestOf(payload),
    deploymentId: payload.deployment?.id,
    readOnlyBecause: readOnlyBecause(context),
  }
}

/**
 * For some events `GITHUB_SHA` is not the commit that the user pushed: for `pull_request` a merge commit, for
 * `pull_request_target` and `workflow_run` the last commit of the base or default branch
 * (https://docs.github.com/actions/reference/workflows-and-actions/events-that-trigger-workflows).
 */
function headShaOf({ eventName, payload, sha }: ActionContext): string {
  const { pull_request, merge_group, workflow_run, deployment }: Payload = payload
  switch (eventName) {
    case 'workflow_run':
      return workflow_run?.head_sha ?? sha
    case 'merge_group':
      return merge_group?.head_sha ?? sha
    case 'deployment':
    case 'deployment_status':
      return deployment?.sha ?? sha
    default:
      // Review events also contain the pull request.
      return pull_request?.head?.sha ?? sha
  }
}

function pullRequestOf({ pull_request, merge_group, workflow_run }: Payload): number | undefined {
  // refs/heads/gh-readonly-queue/main/pr-12-0123abcd…
  const queued = /\/pr-(\d+)-[0-9a-f]+$/.exec(merge_group?.head_ref ?? '')?.[1]
  return pull_request?.number ?? workflow_run?.pull_requests?.[0]?.number ?? (queued ? Number(queued) : undefined)
}

function readOnlyBecause({ eventName, payload, actor }: ActionContext): WorkflowRun['readOnlyBecause'] {
  if (actor === 'dependabot[bot]') return 'dependabot'
  const { pull_request, repository }: Payload = payload
  // The fork may have been deleted.
  const isForeign = pull_request?.head !== undefined && pull_request.head.repo?.full_name !== repository?.full_name
  return isForeign && eventName.startsWith('pull_request') && eventName !== 'pull_request_target' ? 'fork' : undefined
}

/** With more names, every new target would change the name of the check. */
const namedTargets = 3
const titleLimit = 200

/**
 * The name of the gate: `Rollout of deployment/web in shop (Deploy / production)`. Depends only on the inputs, since a
 * branch rule requires a check by its name.
 *
 * @param namespace the input `namespace`
 */
export function gateName(
  { workflow, job }: Pick<WorkflowRun, 'workflow' | 'job'>,
  references: readonly Pick<Reference, 'kind' | 'name' | 'selector' | 'namespace' | 'exclude'>[],
  namespace: string | undefined,
): string {
  const gated = references.filter(({ exclude }) => !exclude)
  const names = [...new Set(gated.map(referenceName))]
  const namespaces = [...new Set(gated.map((reference) => reference.namespace ?? namespace))]
  const place = [workflow, job].filter((word) => word !== '').join(' / ')
  const words = [
    'Rollout',
    names.length > namedTargets || names.length === 0 ? '' : `of ${names.join(', ')}`,
    namespaces.length === 1 && namespaces[0] !== undefined ? `in ${namespaces[0]}` : '',
    place === '' ? '' : `(${place})`,
  ]
  return plain(words.filter((word) => word !== '').join(' '), titleLimit)
}

function referenceName({ kind, name, selector }: Pick<Reference, 'kind' | 'name' | 'selector'>): string {
  if (name !== undefined) return `${kind.toLowerCase()}/${name}`
  return selector ? `${kind.toLowerCase()} -l ${selector}` : `${kind.toLowerCase()} --all`
}

/** The state or the outcome in one line. */
export function title(timeline: Timeline, limit = titleLimit): string {
  return plain(headline(timeline), limit)
}

/**
 * The job summary, shortened to a limit in characters; only its headline if the shortest summary is too long, as for a
 * thousand input errors.
 *
 * @param options.diagram false if GitHub does not render Mermaid
 */
export function boundedSummary(
  timeline: Timeline,
  limit: number,
  { sourceBaseUrl }: Pick<WorkflowRun, 'sourceBaseUrl'>,
  { diagram = true } = {},
): string {
  // A character has at least one byte.
  const text = renderSummary(timeline, { sourceBaseUrl, diagram, maxBytes: limit })
  if (text.length <= limit) return text
  const more = `The summary is too long to show here: ${count(timeline.targets.length, 'target')}. See the job summary.`
  return `### ${markdown(headline(timeline))}\n\n${more}\n`
}
