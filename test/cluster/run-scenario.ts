import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ActionRun, startAction } from '../support/runner.ts'
import { installHelm } from './build.ts'
import { hasNamespaceDefaults, isNodeReady } from './cluster.ts'
import { until } from './command.ts'
import { type FaultMoments, SharedFault } from './component-faults.ts'
import { contractViolations } from './contract.ts'
import { Fixture } from './fixture.ts'
import { Informer } from './informer.ts'
import { secretsOf, serverOf, withPort } from './kubeconfig.ts'
import { type KubectlResult, rolloutStatus } from './kubectl.ts'
import { kubernetesMinor } from './layout.ts'
import type { Scenario } from './scenario.ts'
import { TcpProxy } from './tcp-proxy.ts'
import { entry, type TestCluster } from './test-cluster.ts'

/** Result of one scenario. */
export interface ScenarioResult {
  scenario: Scenario
  outcome: string
  reason: string
  /** Duration of the action's process. */
  totalSeconds: number
  /** From the deciding state of the cluster to the end of the action's process. */
  decisionDelaySeconds: number | undefined
  /** When the cluster had the deciding state, in milliseconds since 1970. */
  decidedAt?: number | undefined
  kubectl: string
  /** One sentence for each failed check; empty if the scenario passed. */
  failures: string[]
}

/** With more scenarios at a time, pods on two processors are delayed, and measured times are inaccurate. */
const parallelScenarios = Number(process.env['ROLLOUT_GATE_TEST_PARALLEL'] ?? 3)

/** Time limit of all but the longest scenarios: an action that still runs is hanging. */
const limitSeconds = 150

/**
 * Runs a few scenarios at a time, longest first. Idle scenarios have a separate queue, and each scenario longer than the
 * limit gets an additional worker. Then, for each fault of a component, runs the scenarios with this fault together. Those
 * that need the cluster of this machine are left out on another one, those that need a newer version on an older one.
 * @returns the results in the order of the scenarios
 */
export async function runScenarios(all: readonly Scenario[], cluster: TestCluster): Promise<ScenarioResult[]> {
  for (const major of new Set(all.flatMap(({ helm = [] }) => helm))) await installHelm(major)
  const results = new Map<Scenario, ScenarioResult>()
  const run = async (scenario: Scenario, moments?: FaultMoments) => {
    const result = await runScenario(scenario, cluster, moments)
    results.set(scenario, result)
    console.log(`${result.failures.length === 0 ? '✓' : '✗'} ${scenario.name}`)
    for (const failure of result.failures) console.log(`    ${failure}`)
  }
  const runQueue = async (scenarios: readonly Scenario[]) => {
    const queue = scenarios.toSorted((a, b) => b.takesSeconds - a.takesSeconds)
    const worker = async () => {
      for (let scenario = queue.shift(); scenario; scenario = queue.shift()) await run(scenario)
    }
    const longScenarios = queue.filter(({ takesSeconds }) => takesSeconds > limitSeconds).length
    await Promise.all(Array.from({ length: parallelScenarios + longScenarios }, worker))
  }
  const possible = all.filter(({ fault, needsOwnCluster, sinceMinor = 0 }) =>
    cluster.isOwn ? kubernetesMinor() >= sinceMinor : fault === undefined && !needsOwnCluster,
  )
  const alone = possible.filter(({ fault }) => fault === undefined)
  await Promise.all([runQueue(alone.filter(({ isIdle }) => isIdle)), runQueue(alone.filter(({ isIdle }) => !isIdle))])
  for (const [fault, scenarios] of Map.groupBy(possible, ({ fault }) => fault)) {
    if (fault === undefined) continue
    const shared = new SharedFault(fault, cluster.api, scenarios.length)
    await Promise.all(scenarios.map((scenario) => run(scenario, shared.join())))
  }
  return all.flatMap((scenario) => results.get(scenario) ?? [])
}

/** The results of scenarios of which some ran twice. */
export interface RepeatedResults {
  /** The latest result of each scenario, in the order of the scenarios. */
  readonly results: readonly ScenarioResult[]
  /** The first results of the scenarios that ran again. */
  readonly failedOnce: readonly ScenarioResult[]
}

/**
 * Runs the scenarios, then those that failed again, without the others beside them: on two processors, a scenario may be late
 * only because of the others.
 */
export async function runScenariosAgain(all: readonly Scenario[], cluster: TestCluster): Promise<RepeatedResults> {
  const first = await runScenarios(all, cluster)
  const failedOnce = first.filter(hasFailed)
  if (failedOnce.length === 0) return { results: first, failedOnce }
  console.log(`again: ${failedOnce.map(({ scenario }) => scenario.name).join(', ')}`)
  // The last faults of components leave a taint on the node for some seconds.
  if (cluster.isOwn) await until('the node is ready', 60, () => isNodeReady(cluster.api))
  const again = await runScenarios(
    failedOnce.map(({ scenario }) => scenario),
    cluster,
  )
  const latest = new Map(again.map((result) => [result.scenario, result]))
  return { results: first.map((result) => latest.get(result.scenario) ?? result), failedOnce }
}

export function hasFailed({ failures }: ScenarioResult): boolean {
  return failures.length > 0
}

/** When the outcome was decided, in milliseconds since the epoch; a marked time takes precedence over an observed one. */
interface Decision {
  marked?: number
  observed?: number
}

/** Runs one scenario in a new namespace. Throws only if the namespace cannot be created or deleted. */
async function runScenario(scenario: Scenario, cluster: TestCluster, moments?: FaultMoments): Promise<ScenarioResult> {
  const { api } = cluster
  const folder = join(cluster.folder, scenario.name)
  mkdirSync(folder, { recursive: true })
  const namespace = `gate-${scenario.name}-${randomBytes(3).toString('hex')}`
  await api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const failures: string[] = []
  const { customResources = {} } = cluster
  const informer = new Informer(
    api,
    namespace,
    (problem) => {
      // A fault of a component breaks the tests' own watches too.
      const isExpected = scenario.fault !== undefined
      if (!isExpected) failures.push(`the tests' own watch broke: ${problem.message}`)
      return isExpected
    },
    customResources,
  )
  const decision: Decision = {}
  let action: ChildProcess | undefined
  let proxy: TcpProxy | undefined
  try {
    await until('the namespace has its service account', 30, () => hasNamespaceDefaults(api, namespace))
    proxy = scenario.proxied ? await TcpProxy.start(serverOf(cluster.kubeconfig)) : undefined
    const fixture = new Fixture({
      api,
      namespace,
      informer,
      workspace: join(folder, 'workspace'),
      proxy,
      customResources,
      fault: moments,
      send: (signal) => action?.kill(signal),
      onDecided: (at) => {
        decision.marked = at
      },
    })
    const onStart = (started: ChildProcess) => {
      action = started
    }
    try {
      await scenario.setup?.(fixture)
      return await runAction(fixture, scenario, cluster, { folder, failures, decision, onStart })
    } finally {
      await scenario.after?.(fixture)
    }
  } catch (error) {
    failures.push((error as Error).message)
    return {
      scenario,
      outcome: '-',
      reason: '',
      totalSeconds: 0,
      decisionDelaySeconds: undefined,
      kubectl: '',
      failures,
    }
  } finally {
    await moments?.ends().catch(() => {})
    await proxy?.close()
    informer.close()
    writeFileSync(
      join(folder, 'watched.ndjson'),
      informer.history.map((event) => `${JSON.stringify(event)}\n`).join(''),
    )
    // Some scenarios delete the namespace themselves.
    if (await api.find(`/api/v1/namespaces/${namespace}`)) await api.delete(`/api/v1/namespaces/${namespace}`)
  }
}

interface RunContext {
  folder: string
  failures: string[]
  decision: Decision
  onStart: (action: ChildProcess) => void
}

/** Runs the action after `setup`, and checks the run. */
async function runAction(
  fixture: Fixture,
  scenario: Scenario,
  cluster: TestCluster,
  { folder, failures, decision, onStart }: RunContext,
): Promise<ScenarioResult> {
  const { informer, namespace } = fixture
  const reachable = scenario.proxied ? withPort(cluster.kubeconfig, fixture.proxy.port) : cluster.kubeconfig
  const kubeconfig = scenario.kubeconfig?.(reachable, fixture) ?? reachable
  const action = startAction(entry, folder, {
    kubeconfig,
    namespace,
    ...scenario.inputs,
    ...scenario.inputsFrom?.(fixture),
  })
  onStart(action.process)
  informer.actionStarted = Date.now()
  informer.onChange(() => {
    // If the state ends again, its time starts again.
    const since = scenario.decidedBy?.(informer)
    decision.observed = since && (decision.observed ?? since)
  })
  const maxSeconds = Math.max(limitSeconds, scenario.takesSeconds + 60)
  const limit = setTimeout(() => {
    failures.push(`still running after ${maxSeconds} s`)
    action.process.kill('SIGKILL')
  }, maxSeconds * 1000)
  const kubectl =
    scenario.kubectl && cluster.hasKubectl
      ? rolloutStatus(cluster.kubeconfigPath, namespace, scenario.kubectl)
      : undefined

  const [run] = await Promise.all([
    action.ended,
    scenario.during &&
      action.watching
        .then(() => scenario.during?.(fixture))
        .catch((error: Error) => failures.push(`during the wait: ${error.message}`)),
  ])
  clearTimeout(limit)
  // The action may receive the state shortly before the tests' own watch.
  await informer
    .until('the deciding state', 1, () => (decision.marked ?? decision.observed) !== undefined)
    .catch(() => {})
  const decidedAt = decision.marked ?? decision.observed
  const delaySeconds = decidedAt && (run.endedAt - Math.max(decidedAt, run.startedAt)) / 1000
  const result = await resultOf(kubectl)

  failures.push(
    ...outcomeFailures(scenario, run, delaySeconds, result),
    ...missingTexts(scenario, run),
    ...contractViolations(run, [...secretsOf(kubeconfig), ...fixture.tokens.values()]),
    ...((await scenario.check?.(run, fixture)) ?? []),
  )
  return {
    scenario,
    outcome: run.outputs['outcome'] ?? '-',
    reason: run.outputs['reason'] ?? '',
    totalSeconds: (run.endedAt - run.startedAt) / 1000,
    decisionDelaySeconds: delaySeconds,
    decidedAt,
    kubectl: kubectlText(result, run),
    failures,
  }
}

/** @param delaySeconds from the deciding state to the end of the action; undefined if the state was not observed */
function outcomeFailures(
  scenario: Scenario,
  run: ActionRun,
  delaySeconds: number | undefined,
  kubectl: KubectlResult | undefined,
): string[] {
  const failures: string[] = []
  const { expect, withinSeconds = 15 } = scenario
  const { outcome, reason } = run.outputs
  const isRight = [expect.outcome].flat().includes(outcome ?? '')
  if (!isRight) failures.push(`outcome ${outcome ?? 'missing'} instead of ${[expect.outcome].flat().join(' or ')}`)
  if (expect.reason !== undefined && reason !== expect.reason) {
    failures.push(`reason ${reason ?? 'missing'} instead of ${expect.reason}`)
  }
  if (!isRight) return failures

  if (delaySeconds === undefined) {
    failures.push(`ended "${outcome}" before the API showed the deciding state`)
  } else {
    if (delaySeconds > withinSeconds)
      failures.push(`ended ${delaySeconds.toFixed(1)} s after the deciding state; the limit is ${withinSeconds} s`)
    // Future states are computed from times that the kubelet rounds down to whole seconds.
    if (delaySeconds < -2) failures.push(`ended ${(-delaySeconds).toFixed(1)} s before the deciding state`)
  }
  if (outcome === 'ready' && kubectl && kubectl.exitCode !== 0 && !scenario.kubectlWaitsBecause) {
    failures.push(`ready, but kubectl rollout status printed: ${kubectl.text}`)
  }
  return failures
}

function missingTexts({ contains = {} }: Scenario, { log, summary, outputs }: ActionRun): string[] {
  const parts = { log, summary, message: outputs['message'] ?? '' }
  return Object.entries(parts).flatMap(([part, content]) =>
    (contains[part as keyof typeof parts] ?? [])
      .filter((text) => (typeof text === 'string' ? !content.includes(text) : !text.test(content)))
      .map((text) => `the ${part} does not contain ${text}${part === 'message' ? `: ${content}` : ''}`),
  )
}

/** kubectl has 5 s to reach the same result; then it is stopped. */
async function resultOf(kubectl: ReturnType<typeof rolloutStatus> | undefined): Promise<KubectlResult | undefined> {
  if (!kubectl) return undefined
  const timer = setTimeout(kubectl.stop, 5000)
  const result = await kubectl.result
  clearTimeout(timer)
  return result
}

function kubectlText(result: KubectlResult | undefined, run: ActionRun): string {
  if (!result) return ''
  const seconds = ((result.endedAt - run.startedAt) / 1000).toFixed(1)
  return result.exitCode === undefined ? 'undecided' : `exit ${result.exitCode} at ${seconds} s: ${result.text}`
}
