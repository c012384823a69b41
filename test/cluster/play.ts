import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ActionRun, startAction } from './action.ts'
import type { Api } from './api.ts'
import { hasNamespaceDefaults } from './cluster.ts'
import { until } from './command.ts'
import { breachesOf } from './contract.ts'
import { serverOf, withPort } from './kubeconfig.ts'
import { type KubectlAnswer, rolloutStatus } from './kubectl.ts'
import type { Scenario } from './scenario.ts'
import { Stage } from './stage.ts'
import { TcpProxy } from './tcp-proxy.ts'
import { View } from './view.ts'

/** The cluster that scenarios are played on. */
export interface Theatre {
  api: Api
  kubeconfig: string
  kubeconfigPath: string
  hasKubectl: boolean
  /** Where every scenario leaves what it saw. */
  folder: string
}

/** How a scenario went. */
export interface Verdict {
  scenario: Scenario
  outcome: string
  reason: string
  /** The action's whole run. */
  totalSeconds: number
  /** From the deciding fact in the API to the end of the action's process. */
  secondsAfterFact: number | undefined
  kubectl: string
  /** Why it failed, a sentence each; empty when it passed. */
  complaints: string[]
}

/** More at a time and two processors make the pods late, which blurs what is measured. */
const atATime = Number(process.env['ROLLOUT_GATE_TEST_PARALLEL'] ?? 4)

/** Longer than the clocks of all but the longest scenarios; an action that is still running then hangs. */
const limitSeconds = 150

/**
 * Plays a few at a time, the longest first; the verdicts come in the scenarios' order. Those that are idle have places of
 * their own, and those that only wait for minutes take nobody's place.
 */
export async function playAll(all: readonly Scenario[], theatre: Theatre): Promise<Verdict[]> {
  const verdicts = new Map<Scenario, Verdict>()
  const playQueue = async (scenarios: readonly Scenario[]) => {
    const waiting = scenarios.toSorted((a, b) => b.takesSeconds - a.takesSeconds)
    const player = async () => {
      for (let scenario = waiting.shift(); scenario; scenario = waiting.shift()) {
        const verdict = await play(scenario, theatre)
        verdicts.set(scenario, verdict)
        console.log(`${verdict.complaints.length === 0 ? '✓' : '✗'} ${scenario.name}`)
        for (const complaint of verdict.complaints) console.log(`    ${complaint}`)
      }
    }
    const long = waiting.filter(({ takesSeconds }) => takesSeconds > limitSeconds).length
    await Promise.all(Array.from({ length: atATime + long }, player))
  }
  await Promise.all([playQueue(all.filter(({ isIdle }) => isIdle)), playQueue(all.filter(({ isIdle }) => !isIdle))])
  return all.flatMap((scenario) => verdicts.get(scenario) ?? [])
}

/** Plays one scenario in a fresh namespace. Throws only for what the scenario is not to blame for. */
export async function play(scenario: Scenario, theatre: Theatre): Promise<Verdict> {
  const { api } = theatre
  const folder = join(theatre.folder, scenario.name)
  mkdirSync(folder, { recursive: true })
  const namespace = `gate-${scenario.name}-${randomBytes(3).toString('hex')}`
  await api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  const complaints: string[] = []
  const view = new View(api, namespace, (problem) => complaints.push(`the tests lost sight: ${problem.message}`))
  try {
    await until('the namespace has its service account', 30, () => hasNamespaceDefaults(api, namespace))
    return await playIn(namespace, scenario, theatre, view, folder, complaints)
  } catch (error) {
    complaints.push((error as Error).message)
    return { scenario, outcome: '-', reason: '', totalSeconds: 0, secondsAfterFact: undefined, kubectl: '', complaints }
  } finally {
    view.close()
    writeFileSync(join(folder, 'watched.ndjson'), view.history.map((event) => `${JSON.stringify(event)}\n`).join(''))
    // A scenario may have done that itself.
    if (await api.find(`/api/v1/namespaces/${namespace}`)) await api.delete(`/api/v1/namespaces/${namespace}`)
  }
}

async function playIn(
  namespace: string,
  scenario: Scenario,
  theatre: Theatre,
  view: View,
  folder: string,
  complaints: string[],
): Promise<Verdict> {
  const moment: Moment = {}
  let send: (signal: NodeJS.Signals) => void = () => {}
  const proxy = scenario.proxied ? await TcpProxy.start(serverOf(theatre.kubeconfig)) : undefined
  const stage = new Stage({
    api: theatre.api,
    namespace,
    view,
    workspace: join(folder, 'workspace'),
    proxy,
    send: (signal) => send(signal),
    onDecided: (at) => {
      moment.told = at
    },
  })
  try {
    await scenario.setup?.(stage)
    const onStart = (process: ChildProcess) => {
      send = (signal) => process.kill(signal)
    }
    return await playOn(stage, scenario, theatre, { folder, complaints, moment, onStart })
  } finally {
    await scenario.after?.(stage)
    await proxy?.close()
  }
}

/** When the outcome could be known: what the scenario told goes before what the API showed. */
interface Moment {
  told?: number
  seen?: number | undefined
}

interface Backstage {
  folder: string
  complaints: string[]
  moment: Moment
  onStart: (process: ChildProcess) => void
}

async function playOn(
  stage: Stage,
  scenario: Scenario,
  theatre: Theatre,
  { folder, complaints, moment, onStart }: Backstage,
): Promise<Verdict> {
  const { view, namespace } = stage
  const direct = theatre.kubeconfig
  const reachable = scenario.proxied ? withPort(direct, stage.proxy.port) : direct
  const kubeconfig = scenario.kubeconfig?.(reachable, stage) ?? reachable
  const action = startAction(folder, {
    kubeconfig,
    namespace,
    ...scenario.inputs,
    ...scenario.inputsFrom?.(stage),
  })
  onStart(action.process)
  view.actionStarted = Date.now()
  view.onChange(() => {
    // A fact that does not last decides nothing: what counts is since when it has stood.
    const since = scenario.decidedBy?.(view)
    moment.seen = since && (moment.seen ?? since)
  })
  const mostSeconds = Math.max(limitSeconds, scenario.takesSeconds + 60)
  const limit = setTimeout(() => {
    complaints.push(`still running after ${mostSeconds} s`)
    action.process.kill('SIGKILL')
  }, mostSeconds * 1000)
  const kubectl =
    scenario.kubectl && theatre.hasKubectl
      ? rolloutStatus(theatre.kubeconfigPath, namespace, scenario.kubectl)
      : undefined

  const [run] = await Promise.all([
    action.ended,
    scenario.during &&
      action.watching
        .then(() => scenario.during?.(stage))
        .catch((error: Error) => complaints.push(`during the wait: ${error.message}`)),
  ])
  clearTimeout(limit)
  // The action may have seen the fact a moment before the tests' own watch.
  await view.until('the deciding fact', 1, () => (moment.told ?? moment.seen) !== undefined).catch(() => {})
  const decidedAt = moment.told ?? moment.seen
  const answer = await answerOf(kubectl)

  complaints.push(...judge(scenario, run, decidedAt, answer))
  complaints.push(
    ...breachesOf(run, [...secretsOf(kubeconfig), ...stage.tokens.values()]),
    ...((await scenario.check?.(run, stage)) ?? []),
  )
  return {
    scenario,
    outcome: run.outputs['outcome'] ?? '-',
    reason: run.outputs['reason'] ?? '',
    totalSeconds: (run.endedAt - run.startedAt) / 1000,
    secondsAfterFact: decidedAt && (run.endedAt - Math.max(decidedAt, run.startedAt)) / 1000,
    kubectl: kubectlText(answer, run),
    complaints,
  }
}

function judge(
  scenario: Scenario,
  run: ActionRun,
  decidedAt: number | undefined,
  kubectl: KubectlAnswer | undefined,
): string[] {
  const complaints: string[] = []
  const { expect, withinSeconds = 15 } = scenario
  const outcome = run.outputs['outcome']
  if (outcome !== expect.outcome) complaints.push(`outcome ${outcome ?? 'missing'} instead of ${expect.outcome}`)
  const { reason } = run.outputs
  if (expect.reason !== undefined && reason !== expect.reason) {
    complaints.push(`reason ${reason ?? 'missing'} instead of ${expect.reason}`)
  }
  if (outcome !== expect.outcome) return complaints

  if (decidedAt === undefined) {
    complaints.push(`ended before the API showed what "${outcome}" follows from`)
  } else {
    const after = (run.endedAt - Math.max(decidedAt, run.startedAt)) / 1000
    if (after > withinSeconds)
      complaints.push(`ended ${after.toFixed(1)} s after the deciding fact, not ${withinSeconds} s`)
    // Facts that lie ahead are computed from times that the kubelet rounds down to whole seconds.
    if (after < -2) complaints.push(`ended ${(-after).toFixed(1)} s before the deciding fact`)
  }
  if (outcome === 'ready' && kubectl && kubectl.exitCode !== 0 && !scenario.kubectlWaitsBecause) {
    complaints.push(`ready while kubectl rollout status said: ${kubectl.text}`)
  }
  return complaints
}

/** kubectl gets a moment to come to the same answer, then it is ended. */
async function answerOf(kubectl: ReturnType<typeof rolloutStatus> | undefined): Promise<KubectlAnswer | undefined> {
  if (!kubectl) return undefined
  const timer = setTimeout(kubectl.stop, 5000)
  const answer = await kubectl.answer
  clearTimeout(timer)
  return answer
}

function kubectlText(answer: KubectlAnswer | undefined, run: ActionRun): string {
  if (!answer) return ''
  const seconds = ((answer.endedAt - run.startedAt) / 1000).toFixed(1)
  return answer.exitCode === undefined ? 'undecided' : `exit ${answer.exitCode} at ${seconds} s: ${answer.text}`
}

function secretsOf(kubeconfig: string): string[] {
  return [...kubeconfig.matchAll(/(?:token|client-key-data): (\S+)/g)].map(([, secret]) => secret as string)
}
