import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parse, stringify } from 'yaml'
import type { Api, KubeObject } from '../cluster/api.ts'
import { hasNamespaceDefaults } from '../cluster/cluster.ts'
import { run, until } from '../cluster/command.ts'
import { secretsOf } from '../cluster/kubeconfig.ts'
import { type GitHubServer, startGitHub } from '../github/github-server.ts'
import { type StoredWrites, storeWrites } from '../github/stored-writes.ts'
import type { ActionRun } from '../support/runner.ts'
import { type JobRun, runWorkflow, type WorkflowEvent, type WorkflowRun } from './act.ts'
import type { Step } from './documented.ts'
import {
  type IssuedToken,
  isStartedBy,
  issueTokens,
  type Permissions,
  refusalOf,
  type WorkflowFile,
} from './workflow-file.ts'

const root = resolve(import.meta.dirname, '../..')

/** The files that GitHub uses to run the action; nothing else may be needed. */
const shipped = ['action.yml', 'merge', 'package.json', 'dist']

/** Checks one behaviour, named as a sentence; `holds` throws if the check fails. */
export type Check = (behaviour: string, holds: () => void | Promise<void>) => Promise<void>

/** An expression of a workflow. */
export const expression = (inner: string) => `\${{ ${inner} }}`

/** The programs that workflows run with. */
export interface Programs {
  act: string
  /** The Node that runs the action by default. */
  node: string
  kubectl: string
  helm: string
}

/** The jobs of a workflow, and how it is started. */
export interface Workflow {
  /** Absent if `files` contains the workflow. */
  readonly jobs?: Readonly<Record<string, unknown>>
  /** Further files of the checkout by path, as text or as what their YAML contains. */
  readonly files?: Readonly<Record<string, unknown>>
  readonly manifests?: Manifests
  readonly event?: WorkflowEvent
  /** The Node that runs the action. */
  readonly node?: string
  /** The address of the Docker daemon, for jobs with `container:`. */
  readonly dockerHost?: string
}

/** The actions that stand for those of GitHub. Their files name the sources that they are written from. */
const standIns = {
  'actions/upload-artifact@v7': join(import.meta.dirname, 'artifacts/upload-artifact'),
  'actions/download-artifact@v8': join(import.meta.dirname, 'artifacts/download-artifact'),
}

/** A finished run of a workflow of one job, whose step `gate` is this action. */
export interface GateRun extends WorkflowRun, JobRun {
  /** The checkout that the workflow ran on. */
  readonly checkout: string
  /** Results of the step `gate`; the paths in its outputs are those of kept copies. */
  readonly gate: ActionRun
}

/** The environment of one scenario: its own namespace, and workflows that deploy to it. */
export class WorkflowFixture {
  readonly api: Api
  readonly namespace: string
  /** The kubeconfig in the workflows' secret; its context is named `prod`. */
  secretKubeconfig: string
  /** The server for requests to GitHub. */
  readonly github: GitHubServer
  /** What the workflows wrote to it. */
  readonly written: StoredWrites
  /** The parent of the folders of its runs. */
  readonly folder: string
  private readonly programs: Programs
  /** The path of the administrator's kubeconfig. */
  private readonly administrator: string

  constructor(
    api: Api,
    kubeconfig: string,
    namespace: string,
    folder: string,
    programs: Programs,
    github: GitHubServer,
  ) {
    this.api = api
    this.github = github
    this.written = storeWrites(github)
    github.refuse = ({ operation, authorization }) => refusalOf(operation, authorization, this.tokens)
    this.namespace = namespace
    this.folder = folder
    this.programs = programs
    this.secretKubeconfig = kubeconfigFor(kubeconfig, namespace)
    this.administrator = join(folder, 'administrator')
    writeFileSync(this.administrator, this.secretKubeconfig, { mode: 0o600 })
    // GitHub's runner has kubectl and Helm, and no kubeconfig:
    // https://github.com/actions/runner-images/blob/main/images/ubuntu/scripts/build/install-kubernetes-tools.sh
    mkdirSync(join(folder, 'home'))
    mkdirSync(join(folder, 'bin'))
    for (const name of shipped) cpSync(join(root, name), join(folder, 'release', name), { recursive: true })
    for (const name of ['kubectl', 'helm'] as const) symlinkSync(programs[name], join(folder, 'bin', name))
  }

  /** The tokens of all jobs: the values of `github.token`. */
  readonly tokens: IssuedToken[] = []

  /** The credentials of the kubeconfig, which no log may contain. */
  get credentials(): string[] {
    return secretsOf(this.secretKubeconfig)
  }

  /**
   * Takes another kubeconfig as the secret.
   * @param script prints it in base64, as its last line; runs with the administrator's credentials
   */
  async createSecret(script: string): Promise<void> {
    const env = {
      HOME: this.folder,
      KUBECONFIG: this.administrator,
      PATH: `${join(this.folder, 'bin')}:${process.env['PATH']}`,
    }
    const printed = await run('bash', ['-euo', 'pipefail', '-c', script], { env })
    this.secretKubeconfig = Buffer.from(printed.trim().split('\n').at(-1) ?? '', 'base64').toString()
  }

  /**
   * Runs a workflow of one job: checkout, the given steps, and a step that keeps the gate's outputs.
   * @param name of the folder of this run
   */
  async run(
    name: string,
    { steps, permissions, ...workflow }: { steps: Step[]; permissions?: Permissions } & Omit<Workflow, 'jobs'>,
  ): Promise<GateRun> {
    const kept = join(this.folder, name, 'kept')
    mkdirSync(kept, { recursive: true })
    const jobs = { deploy: createJob([...steps, keepingStep(kept)], { permissions }) }
    const startedAt = Date.now()
    const finished = await this.runJobs(name, { ...workflow, jobs })
    const job = finished.job('deploy')
    const { result, log, summary } = job.step('gate')
    const exitCode = result === 'success' ? 0 : 1
    const gate = { exitCode, log, summary, outputs: keptOutputs(kept), state: {}, startedAt, endedAt: Date.now() }
    return { ...finished, ...job, checkout: join(this.folder, name, 'checkout'), gate }
  }

  /**
   * Runs a workflow on a checkout with manifests in `k8s/`. Its requests to GitHub go to the fixture's server, which permits
   * what the permissions of the job permit.
   * @param name of the folder of this run
   * @throws Error if the event does not start the workflow
   */
  async runJobs(name: string, workflow: Workflow): Promise<WorkflowRun> {
    const folder = join(this.folder, name)
    const checkout = join(folder, 'checkout')
    const { node = this.programs.node, event = { name: 'push' } } = workflow
    const files = filesOf(workflow)
    const paths = Object.keys(files).filter((path) => path.startsWith('.github/workflows/'))
    const read = paths.map((path) => [path, parse(files[path] ?? '') as WorkflowFile] as const)
    if (!read.some(([, file]) => isStartedBy(file, event))) throw new Error(`${event.name} starts none of ${paths}`)
    const { workflows, tokens } = issueTokens(Object.fromEntries(read))
    this.tokens.push(...tokens)
    for (const [path, file] of Object.entries(workflows)) files[path] = stringify(file)
    await checkOut(checkout, files)
    const path = [dirname(node), join(this.folder, 'bin'), process.env['PATH']].join(':')
    const env = { HOME: join(this.folder, 'home'), PATH: path, DOCKER_HOST: workflow.dockerHost }
    const settings = {
      // In base64, because the runner masks each line of a secret. act looks for a token elsewhere if it gets none.
      secrets: { KUBECONFIG: Buffer.from(this.secretKubeconfig).toString('base64'), GITHUB_TOKEN: 'ghs_none' },
      vars: Object.fromEntries(tokens.map(({ variable, token }) => [variable, token])),
      actions: { ...standIns, 'rollout-gate/rollout-gate@v0': join(this.folder, 'release') },
    }
    const variables = { GITHUB_API_URL: this.github.url, ARTIFACTS: join(folder, 'artifacts'), ...event.variables }
    return runWorkflow(this.programs.act, checkout, folder, settings, env, { ...event, variables })
  }
}

/** The files of a checkout by path. */
function filesOf({ jobs, files = {}, manifests = {} }: Workflow): Record<string, string> {
  const workflow = jobs && { name: 'Deploy', on: ['push', 'pull_request'], jobs }
  const contents = { ...files, ...(workflow && { '.github/workflows/deploy.yml': workflow }) }
  return Object.fromEntries([
    ...Object.entries(contents).map(([path, content]) => [
      path,
      typeof content === 'string' ? content : stringify(content),
    ]),
    ...Object.entries(manifests).map(([name, objects]) => [
      join('k8s', name),
      objects.map((object) => stringify(object)).join('---\n'),
    ]),
  ])
}

async function checkOut(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  const git = (...args: string[]) => run('git', args, { cwd: folder })
  await git('init', '--quiet', '--initial-branch', 'main')
  await git('remote', 'add', 'origin', 'https://github.com/acme/shop.git')
  await git('add', '--all')
  const settings = ['user.name=Tests', 'user.email=tests@localhost', 'commit.gpgsign=false']
  await git(...settings.flatMap((setting) => ['-c', setting]), 'commit', '--quiet', '--message', 'Deploy')
}

/** A job on GitHub's Ubuntu runner that starts with a checkout. */
export function createJob(steps: readonly Step[], fields: object = {}): object {
  return { 'runs-on': 'ubuntu-latest', ...fields, steps: [{ uses: 'actions/checkout@v6' }, ...steps] }
}

/** Manifest files below `k8s/`, by name. */
export type Manifests = Readonly<Record<string, readonly KubeObject[]>>

/** Calls `work` with a fixture in a new namespace, and deletes the namespace. */
export async function withWorkflowFixture(
  api: Api,
  kubeconfig: string,
  folder: string,
  programs: Programs,
  work: (fixture: WorkflowFixture) => Promise<void>,
): Promise<void> {
  const namespace = `act-${randomBytes(3).toString('hex')}`
  const github = await startGitHub()
  await api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  try {
    await until('the namespace has its service account', 30, () => hasNamespaceDefaults(api, namespace))
    await work(new WorkflowFixture(api, kubeconfig, namespace, folder, programs, github))
  } finally {
    await github.close()
    // The folder is kept for reading, but without credentials.
    rmSync(join(folder, 'administrator'), { force: true })
    await api.delete(`/api/v1/namespaces/${namespace}`)
  }
}

/** A step that copies the gate's outputs and the files that they name, which the runner deletes with the job. */
function keepingStep(folder: string): Step {
  return {
    id: 'keep',
    if: 'always() && steps.gate.outputs.report',
    env: {
      OUTPUTS: expression('toJSON(steps.gate.outputs)'),
      REPORT: expression('steps.gate.outputs.report'),
      SUMMARY: expression('steps.gate.outputs.summary-file'),
    },
    run: `printf %s "$OUTPUTS" > ${folder}/outputs.json; cp "$REPORT" ${folder}/report; cp "$SUMMARY" ${folder}/summary-file`,
  }
}

/** The kept outputs, with the paths of the kept files; empty if the gate set none. */
function keptOutputs(folder: string): Record<string, string> {
  const path = join(folder, 'outputs.json')
  if (!existsSync(path)) return {}
  const files = { report: join(folder, 'report'), 'summary-file': join(folder, 'summary-file') }
  return { ...JSON.parse(readFileSync(path, 'utf8')), ...files }
}

/** The kubeconfig with only its current context, as `prod` and with this namespace. */
function kubeconfigFor(kubeconfig: string, namespace: string): string {
  const config = parse(kubeconfig)
  const current = config.contexts.find((context: { name: string }) => context.name === config['current-context'])
  config.contexts = [{ name: 'prod', context: { ...current.context, namespace } }]
  config['current-context'] = 'prod'
  return stringify(config)
}
