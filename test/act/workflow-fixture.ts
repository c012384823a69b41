import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parse, stringify } from 'yaml'
import type { Api, KubeObject } from '../cluster/api.ts'
import { hasNamespaceDefaults } from '../cluster/cluster.ts'
import { run, until } from '../cluster/command.ts'
import { secretsOf } from '../cluster/kubeconfig.ts'
import type { ActionRun } from '../support/runner.ts'
import { runWorkflow, type WorkflowRun } from './act.ts'
import type { Step } from './readme.ts'

const root = resolve(import.meta.dirname, '../..')

/** The files that GitHub uses to run the action; nothing else may be needed. */
const shipped = ['action.yml', 'package.json', 'dist']

/** The programs that workflows run with. */
export interface Programs {
  act: string
  /** The Node that runs the action by default. */
  node: string
  kubectl: string
}

/** A finished run of a workflow whose step `gate` is this action. */
export interface GateRun extends WorkflowRun {
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
  readonly secretKubeconfig: string
  private readonly folder: string
  private readonly programs: Programs

  constructor(api: Api, kubeconfig: string, namespace: string, folder: string, programs: Programs) {
    this.api = api
    this.namespace = namespace
    this.folder = folder
    this.programs = programs
    this.secretKubeconfig = kubeconfigFor(kubeconfig, namespace, 'prod')
    const home = join(folder, 'home/.kube')
    mkdirSync(home, { recursive: true })
    // kubectl uses this one. Its context has another name, so that a gate that ignores the secret is detected.
    writeFileSync(join(home, 'config'), kubeconfigFor(kubeconfig, namespace, 'home'), { mode: 0o600 })
    mkdirSync(join(folder, 'bin'))
    symlinkSync(programs.kubectl, join(folder, 'bin/kubectl'))
  }

  /** The value of `github.token`. */
  readonly githubToken = `ghs_${randomBytes(18).toString('hex')}`

  /** The credentials of the kubeconfig, which no log may contain. */
  get credentials(): string[] {
    return secretsOf(this.secretKubeconfig)
  }

  /**
   * Runs a workflow of one job: checkout, the given steps, and a step that keeps the gate's outputs. The checkout
   * contains the action and manifests in `k8s/`.
   * @param name of the folder of this run
   * @param node the Node that runs the action
   */
  async run(
    name: string,
    { steps, manifests, node = this.programs.node }: { steps: Step[]; manifests: Manifests; node?: string },
  ): Promise<GateRun> {
    const folder = join(this.folder, name)
    const checkout = join(folder, 'checkout')
    const kept = join(folder, 'kept')
    mkdirSync(kept, { recursive: true })
    await this.checkOut(checkout, manifests, [{ uses: 'actions/checkout@v6' }, ...steps, keepingStep(kept)])
    const path = [dirname(node), join(this.folder, 'bin'), process.env['PATH']].join(':')
    const env = { HOME: join(this.folder, 'home'), PATH: path }
    const secrets = { KUBECONFIG: this.secretKubeconfig, GITHUB_TOKEN: this.githubToken }
    const startedAt = Date.now()
    const finished = await runWorkflow(this.programs.act, checkout, folder, secrets, env)
    const { result, log, summary } = finished.step('gate')
    const exitCode = result === 'success' ? 0 : 1
    const gate = { exitCode, log, summary, outputs: keptOutputs(kept), startedAt, endedAt: Date.now() }
    return { ...finished, checkout, gate }
  }

  private async checkOut(folder: string, manifests: Manifests, steps: Step[]): Promise<void> {
    for (const name of shipped) cpSync(join(root, name), join(folder, name), { recursive: true })
    const workflow = { name: 'Deploy', on: 'push', jobs: { deploy: { 'runs-on': 'ubuntu-latest', steps } } }
    const files = Object.entries(manifests).map(
      ([name, objects]) => [join('k8s', name), objects.map((object) => stringify(object)).join('---\n')] as const,
    )
    for (const [path, content] of [...files, ['.github/workflows/deploy.yml', stringify(workflow)] as const]) {
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
  await api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  try {
    await until('the namespace has its service account', 30, () => hasNamespaceDefaults(api, namespace))
    await work(new WorkflowFixture(api, kubeconfig, namespace, folder, programs))
  } finally {
    // The folder is kept for reading, but without credentials.
    rmSync(join(folder, 'home'), { recursive: true, force: true })
    await api.delete(`/api/v1/namespaces/${namespace}`)
  }
}

/** A step that copies the gate's outputs and the files that they name, which the runner deletes with the job. */
function keepingStep(folder: string): Step {
  const expression = (inner: string) => `\${{ ${inner} }}`
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

/** The kubeconfig with only its current context, under this name and with this namespace. */
function kubeconfigFor(kubeconfig: string, namespace: string, name: string): string {
  const config = parse(kubeconfig)
  const current = config.contexts.find((context: { name: string }) => context.name === config['current-context'])
  config.contexts = [{ name, context: { ...current.context, namespace } }]
  config['current-context'] = name
  return stringify(config)
}
