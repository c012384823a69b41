import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startAction } from '../support/runner.ts'
import type { KubeObject } from './api.ts'
import { helmVersion, installGoProgram, installHelm } from './build.ts'
import { hasNamespaceDefaults } from './cluster.ts'
import { run, runScript, until } from './command.ts'
import { type Comparison, type ComparisonRow, comparisonFile, type ToolName, type ToolResult } from './comparison.ts'
import { container, deployment, scriptJob } from './objects.ts'
import { entry, type TestCluster, withTestCluster } from './test-cluster.ts'

/**
 * Compares the built action with other tools on the same rollouts of the test cluster, and writes `comparison.json`, from
 * which `npm run docs` makes README's table:
 *
 *     npm run compare [NAME…]
 *
 * Every tool has its default settings, but longer timeouts than `limitSeconds`.
 */

/** A tool that has not ended by then is stopped and counts as waiting. */
const limitSeconds = 330

/** Cases start one after another, because each starts several processes. */
const staggerMs = 4_000

const kubedogVersion = 'v0.13.0'

interface Case extends Pick<ComparisonRow, 'title' | 'right'> {
  /** Rolled out before the tools start. */
  readonly before?: readonly KubeObject[]
  /** The change that the tools wait for. */
  readonly change: readonly KubeObject[]
  /** The resource to wait for. */
  readonly resource?: string
  /** What happens 3 s after the change. */
  readonly during?: (place: Place) => Promise<unknown>
}

const web = deployment('web')
const update = (change: KubeObject): Pick<Case, 'before' | 'change'> => ({ before: [web], change: [change] })

/** Starts to listen and dies after 3 s, so it looks ready for a moment. */
const crashing = { script: 'sleep 3; exit 1', readiness: 'none' } as const
const missingSecret = { env: [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'absent', key: 'key' } } }] }
const tooLarge = { containers: [container({ resources: { requests: { cpu: '500' } } })] }

const cases: Readonly<Record<string, Case>> = {
  update: { title: 'a healthy update', right: 'passed', ...update(deployment('web', { image: 'v2' })) },
  image: { title: 'the image does not exist', right: 'failed', ...update(deployment('web', { image: 'v9' })) },
  'image-name': {
    title: 'the image name is invalid',
    right: 'failed',
    ...update(deployment('web', { image: 'v9:x' })),
  },
  crash: {
    title: 'the container crashes after 3 s, no readiness probe',
    right: 'failed',
    ...update(deployment('web', crashing)),
  },
  'crash-probe': {
    title: 'the container crashes at once, readiness probe',
    right: 'failed',
    ...update(deployment('web', { script: 'exit 1' })),
  },
  secret: { title: 'a Secret is missing', right: 'failed', ...update(deployment('web', missingSecret)) },
  unschedulable: {
    title: 'no node has room for the pod',
    right: 'failed',
    ...update(deployment('web', {}, { template: { metadata: { labels: { app: 'web' } }, spec: tooLarge } })),
  },
  undo: {
    title: '`kubectl rollout undo` during the wait',
    right: 'failed',
    ...update(deployment('web', { image: 'v2', script: 'sleep 8; exec serve' })),
    during: (place) => kubectl(place, ['rollout', 'undo', 'deployment/web']),
  },
  'second-apply': {
    title: 'another `kubectl apply` during the wait',
    right: 'failed',
    ...update(deployment('web', { image: 'v2', script: 'sleep 8; exec serve' })),
    during: (place) => apply(place, [deployment('web', { image: 'v3' })]),
  },
  job: {
    title: 'a Job fails',
    right: 'failed',
    change: [scriptJob('migrate', 'sleep 2; exit 1', { backoffLimit: 0 })],
    resource: 'job/migrate',
  },
}

interface Place {
  readonly kubeconfigPath: string
  readonly namespace: string
  readonly folder: string
}

await runScript(async () => {
  const names = process.argv.slice(2)
  const unknown = names.filter((name) => !(name in cases))
  if (unknown.length > 0) throw new Error(`no case ${unknown.join(', ')}; there are: ${Object.keys(cases).join(', ')}`)
  const programs = {
    helm: await installHelm(),
    kubedog: await installGoProgram('kubedog', 'github.com/werf/kubedog/cmd/kubedog', kubedogVersion),
  }
  await withTestCluster(async (cluster) => {
    const { gitVersion } = JSON.parse(await run('kubectl', ['version', '--client', '-o', 'json'])).clientVersion
    const chosen = Object.entries(cases).filter(([name]) => names.length === 0 || names.includes(name))
    const rows = await Promise.all(
      chosen.map(async ([name, each], index): Promise<ComparisonRow> => {
        await setTimeout(index * staggerMs)
        const { title, right } = each
        const row = { title, right, results: await compare(name, each, cluster, programs) }
        console.log(
          `${title}\n${Object.entries(row.results)
            .map(([tool, { end, seconds }]) => `  ${tool}: ${end} ${seconds} s`)
            .join('\n')}`,
        )
        return row
      }),
    )
    const versions = {
      kubectl: gitVersion.split('-')[0],
      helm: helmVersion,
      kubedog: kubedogVersion,
    }
    const comparison: Comparison = { limitSeconds, versions, rows }
    if (names.length === 0) writeFileSync(comparisonFile, `${JSON.stringify(comparison, null, 2)}\n`)
  })
})

/** All tools on one case: Helm applies its own chart, so it has a namespace of its own. */
async function compare(
  name: string,
  each: Case,
  cluster: TestCluster,
  programs: Readonly<Record<'helm' | 'kubedog', string>>,
): Promise<ComparisonRow['results']> {
  const [watched, charted] = await Promise.all(
    ['watched', 'helm'].map(async (part): Promise<Place> => {
      const namespace = `compare-${name}-${part}-${randomBytes(3).toString('hex')}`
      await cluster.api.create('/api/v1/namespaces', {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name: namespace },
      })
      await until('the namespace has its service account', 30, () => hasNamespaceDefaults(cluster.api, namespace))
      const folder = join(cluster.folder, name, part)
      mkdirSync(folder, { recursive: true })
      return { namespace, folder, kubeconfigPath: cluster.kubeconfigPath }
    }),
  )
  if (!watched || !charted) throw new Error('no namespaces')
  try {
    const helm = (objects: readonly KubeObject[], ...flags: string[]) => {
      const chart = writeChart(charted, objects)
      const target = ['upgrade', '--install', 'app', chart, '--namespace', charted.namespace]
      return start(
        programs.helm,
        [...target, '--kubeconfig', charted.kubeconfigPath, ...flags],
        join(charted.folder, 'helm'),
      )
    }
    if (each.before) {
      await apply(watched, each.before)
      await helm(each.before)
      for (const place of [watched, charted]) await kubectl(place, ['rollout', 'status', 'deployment/web'])
    }
    await apply(watched, each.change)
    const helmStarted = helm(each.change, '--wait', '--wait-for-jobs', '--timeout=15m')
    const others = startWatching(watched, each.resource ?? 'deployment/web', programs.kubedog)
    if (each.during) {
      await setTimeout(3_000)
      await Promise.all([watched, charted].map(each.during))
    }
    const results = await Promise.all(
      Object.entries({ ...others, helm: helmStarted }).map(async ([tool, result]) => [tool, await result] as const),
    )
    return Object.fromEntries(results) as Record<ToolName, ToolResult>
  } finally {
    for (const { namespace } of [watched, charted]) await cluster.api.delete(`/api/v1/namespaces/${namespace}`)
  }
}

/** Starts the tools that watch a rollout which something else applied. */
function startWatching(
  { kubeconfigPath, namespace, folder }: Place,
  resource: string,
  kubedog: string,
): Readonly<Record<Exclude<ToolName, 'helm'>, Promise<ToolResult>>> {
  const [kind, name] = resource.split('/')
  const isJob = kind === 'job'
  const access = ['--kubeconfig', kubeconfigPath, '--namespace', namespace]
  const waited = isJob ? 'complete' : 'Available'
  const tracked = { [isJob ? 'Jobs' : 'Deployments']: [{ ResourceName: name, Namespace: namespace }] }
  const unsupported: Promise<ToolResult> = Promise.resolve({ end: 'unsupported', seconds: 0 })
  return {
    gate: startGate(folder, { kubeconfig: kubeconfigPath, namespace, resources: resource }),
    rolloutStatus: isJob
      ? unsupported
      : start('kubectl', [...access, 'rollout', 'status', resource], join(folder, 'status')),
    wait: start(
      'kubectl',
      [...access, 'wait', `--for=condition=${waited}`, resource, '--timeout=15m'],
      join(folder, 'wait'),
    ),
    kubedog: start(
      kubedog,
      ['multitrack', '--kube-config', kubeconfigPath],
      join(folder, 'kubedog'),
      JSON.stringify(tracked),
    ),
  }
}

async function startGate(folder: string, inputs: Readonly<Record<string, string>>): Promise<ToolResult> {
  const action = startAction(entry, join(folder, 'gate'), inputs)
  const limit = globalThis.setTimeout(() => action.process.kill(), limitSeconds * 1_000)
  const { exitCode, startedAt, endedAt, outputs } = await action.ended
  clearTimeout(limit)
  return { ...resultOf(action.process.signalCode, exitCode, startedAt, endedAt), reason: outputs['reason'] ?? '' }
}

/** Runs a program with a log. Never throws because of its exit code. */
function start(program: string, args: readonly string[], log: string, stdin = ''): Promise<ToolResult> {
  const startedAt = Date.now()
  const child = spawn(program, args, { stdio: 'pipe' })
  const limit = globalThis.setTimeout(() => child.kill(), limitSeconds * 1_000)
  let text = `${[program, ...args].join(' ')}\n`
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (data) => (text += data))
  child.stdin.end(stdin)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode) => {
      clearTimeout(limit)
      writeFileSync(`${log}.txt`, `${text}\nexit code ${exitCode}\n`)
      resolve(resultOf(child.signalCode, exitCode, startedAt, Date.now()))
    })
  })
}

function resultOf(signal: string | null, exitCode: number | null, startedAt: number, endedAt: number): ToolResult {
  const waited = endedAt - startedAt >= limitSeconds * 1_000
  const end = signal !== null || waited ? 'waiting' : exitCode === 0 ? 'passed' : 'failed'
  return { end, seconds: Math.round((endedAt - startedAt) / 100) / 10 }
}

function apply(place: Place, objects: readonly KubeObject[]): Promise<string> {
  const file = join(place.folder, 'apply.json')
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }))
  return kubectl(place, ['apply', '--server-side', '--force-conflicts', '-f', file])
}

function kubectl({ kubeconfigPath, namespace }: Place, args: readonly string[]): Promise<string> {
  return run('kubectl', ['--kubeconfig', kubeconfigPath, '--namespace', namespace, ...args])
}

/** A chart whose templates are the objects. Returns its folder. */
function writeChart({ folder }: Place, objects: readonly KubeObject[]): string {
  const chart = join(folder, 'chart')
  mkdirSync(join(chart, 'templates'), { recursive: true })
  writeFileSync(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: app\nversion: 0.1.0\n')
  objects.forEach((object, index) => {
    writeFileSync(join(chart, 'templates', `${index}.yaml`), JSON.stringify(object))
  })
  return chart
}
