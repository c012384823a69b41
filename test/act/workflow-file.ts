import { randomBytes } from 'node:crypto'
import { matchesGlob } from 'node:path'
import type { Refusal } from '../github/github-server.ts'

/**
 * What GitHub reads in a workflow, and act ignores: it starts a workflow by the name of the event alone, and gives all jobs
 * one token (`PlanEvent` in pkg/model/planner.go and `getGithubContext` in pkg/runner/run_context.go of act 0.2.89).
 */
export interface WorkflowFile {
  readonly on: string | readonly string[] | Readonly<Record<string, EventFilter | null>>
  readonly permissions?: Permissions
  readonly jobs: Readonly<Record<string, WorkflowJob>>
}

interface EventFilter {
  readonly types?: readonly string[]
  readonly branches?: readonly string[]
}

interface WorkflowJob {
  readonly uses?: string
  readonly permissions?: Permissions
  readonly steps?: readonly object[]
}

/** The permissions of a token, such as `{ statuses: 'write' }`. What is not named is not permitted. */
export type Permissions = Readonly<Record<string, string>>

/** Of a job in a new repository without `permissions:`: https://docs.github.com/actions/concepts/security/github_token */
const defaultPermissions: Permissions = { contents: 'read', packages: 'read' }

/** https://docs.github.com/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request */
const defaultTypes: Readonly<Record<string, readonly string[]>> = {
  pull_request: ['opened', 'synchronize', 'reopened'],
}

/** The fields of an event that the filters of `on` read. */
export interface FilteredEvent {
  readonly name: string
  readonly payload?: {
    readonly action?: string
    readonly ref?: string
    readonly pull_request?: { readonly base?: { readonly ref?: string } }
  }
}

/** Whether GitHub starts the workflow on the event. */
export function isStartedBy({ on }: Pick<WorkflowFile, 'on'>, { name, payload = {} }: FilteredEvent): boolean {
  if (typeof on === 'string') return isStartedBy({ on: [on] }, { name, payload })
  if (Array.isArray(on))
    return isStartedBy({ on: Object.fromEntries(on.map((each) => [each, null])) }, { name, payload })
  const filters = on as Readonly<Record<string, EventFilter | null>>
  if (!(name in filters)) return false
  const { types = defaultTypes[name], branches } = filters[name] ?? {}
  const branch = payload.pull_request?.base?.ref ?? payload.ref?.replace('refs/heads/', '') ?? 'main'
  return (
    (types === undefined || types.includes(payload.action ?? '')) &&
    (branches === undefined || branches.some((pattern) => matchesGlob(branch, pattern)))
  )
}

/** A token by the name of the variable that contains it. */
export interface IssuedToken {
  readonly variable: string
  readonly token: string
  readonly permissions: Permissions
}

/**
 * Gives each job a token with the permissions of the job, else of the workflow: `github.token` becomes a variable, because
 * act has one token for all jobs. The permissions of a called workflow are at most those of the calling job.
 * @see https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idpermissions
 * @param workflows by path
 * @throws Error if a called workflow needs more than its caller has: GitHub does not start such a workflow
 */
export function issueTokens(workflows: Readonly<Record<string, WorkflowFile>>): {
  readonly workflows: Readonly<Record<string, WorkflowFile>>
  readonly tokens: readonly IssuedToken[]
} {
  const tokens: IssuedToken[] = []
  const permissionsOf = (path: string, job: WorkflowJob): Permissions =>
    job.permissions ?? workflows[path]?.permissions ?? callersOf(path)[0] ?? defaultPermissions
  const callersOf = (path: string): Permissions[] =>
    Object.entries(workflows).flatMap(([caller, { jobs }]) =>
      Object.values(jobs)
        .filter(({ uses }) => uses === `./${path}`)
        .map((job) => permissionsOf(caller, job)),
    )
  const issue = (path: string, job: WorkflowJob): WorkflowJob => {
    const permissions = permissionsOf(path, job)
    for (const allowed of callersOf(path)) {
      const excess = Object.entries(permissions).find(([name, access]) => !includes(allowed, name, access))
      if (excess !== undefined) throw new Error(`${path} needs ${excess.join(': ')}, which its caller does not have`)
    }
    const variable = `TOKEN_${tokens.length}`
    tokens.push({ variable, token: `ghs_${randomBytes(18).toString('hex')}`, permissions })
    return JSON.parse(JSON.stringify(job).replaceAll(/\b(github\.token|secrets\.GITHUB_TOKEN)\b/g, `vars.${variable}`))
  }
  const issued = Object.entries(workflows).map(([path, workflow]) => {
    const jobs = Object.entries(workflow.jobs).map(([name, job]) => [name, issue(path, job)] as const)
    return [path, { ...workflow, jobs: Object.fromEntries(jobs) }] as const
  })
  return { workflows: Object.fromEntries(issued), tokens }
}

function includes(permissions: Permissions, name: string, access: string): boolean {
  const given = permissions[name] ?? 'none'
  return given === access || given === 'write' || access === 'none'
}

/**
 * The permission that each operation needs in a private repository:
 * https://docs.github.com/rest/authentication/permissions-required-for-github-apps
 */
const neededPermissions: Readonly<Record<string, readonly [name: string, access: 'read' | 'write']>> = {
  'actions/list-jobs-for-workflow-run-attempt': ['actions', 'read'],
  'checks/create': ['checks', 'write'],
  'checks/get': ['checks', 'read'],
  'checks/list-for-ref': ['checks', 'read'],
  'checks/update': ['checks', 'write'],
  'issues/create-comment': ['pull-requests', 'write'],
  'issues/get-comment': ['pull-requests', 'read'],
  'issues/list-comments': ['pull-requests', 'read'],
  'issues/update-comment': ['pull-requests', 'write'],
  'pulls/get': ['pull-requests', 'read'],
  'pulls/list': ['pull-requests', 'read'],
  'repos/create-commit-status': ['statuses', 'write'],
  'repos/create-deployment': ['deployments', 'write'],
  'repos/create-deployment-status': ['deployments', 'write'],
  'repos/list-commit-statuses-for-ref': ['statuses', 'read'],
  'repos/list-deployment-statuses': ['deployments', 'read'],
  'repos/list-deployments': ['deployments', 'read'],
  'repos/list-pull-requests-associated-with-commit': ['pull-requests', 'read'],
}

/** GitHub's refusal of a request with a token; undefined if the token permits the operation. */
export function refusalOf(
  operation: string,
  authorization: string | undefined,
  tokens: readonly Pick<IssuedToken, 'token' | 'permissions'>[],
): Refusal | undefined {
  const issued = tokens.find(({ token }) => authorization?.endsWith(` ${token}`))
  if (issued === undefined) return { status: 401, message: 'Bad credentials' }
  const [name, access] = neededPermissions[operation] ?? ['', 'write']
  if (includes(issued.permissions, name, access)) return undefined
  return { status: 403, message: 'Resource not accessible by integration' }
}
