import { setImmediate as turn } from 'node:timers/promises'
import { ApiError } from '../../src/cluster/failures.ts'
import type { LogLine, LogStreamRequest } from '../../src/cluster/logs.ts'
import type { ContainerStatus, Pod } from '../../src/cluster/objects.ts'
import type { Entry } from '../../src/gate/timeline-entries.ts'
import { LiveLogs } from '../../src/run/live-logs.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { Kubelet, quiet } from './kubelet.ts'

const startedAt = 1_000_000
const running = { state: { running: {} } }
const terminated = { state: { terminated: { exitCode: 0 } } }

function podOf(name: string, statuses: Readonly<Record<string, Partial<ContainerStatus>>> = { app: running }): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', uid: name },
    spec: { containers: Object.keys(statuses).map((container) => ({ name: container })) },
    status: {
      containerStatuses: Object.entries(statuses).map(([container, status]) => ({ name: container, ...status })),
    },
  }
}

/** Live logs of a gate with these pods. */
function start({ kind = 'Job', isStreamed = true } = {}) {
  const clock = new ManualClock(startedAt)
  const kubelets = new Map<string, Kubelet>()
  const kubelet = (name: string) => {
    const found = kubelets.get(name) ?? new Kubelet()
    kubelets.set(name, found)
    return found
  }
  const source = {
    followLog: (request: LogStreamRequest, signal: AbortSignal): Promise<AsyncIterable<LogLine>> =>
      kubelet(`${request.pod}/${request.container}`).followLog(request, signal),
  }
  let pods: readonly Pod[] = []
  const output: string[] = []
  const cancelled = new AbortController()
  const logs = new LiveLogs({
    gate: { gatedPods: () => pods },
    targets: [{ apiVersion: 'v1', kind, namespace: 'shop', name: 'migrate', clocks: {} }],
    streamed: new Set(isStreamed ? [0] : []),
    source,
    clock,
    startedAt: 10_000_000,
    output: {
      onEntry: ({ text }) => output.push(`entry: ${text}`),
      onLog: (log) => output.push(`${log.pod} ${log.container}${log.type === 'note' ? ' ·' : ':'} ${log.text}`),
      onWarning: (text) => output.push(`warning: ${text}`),
    },
    cancelled: cancelled.signal,
  })
  const update = async (...next: readonly Pod[]) => {
    pods = next
    logs.update()
    await quiet()
  }
  const newOutput = async () => {
    await quiet()
    return output.splice(0)
  }
  return { clock, kubelet, kubelets, logs, update, newOutput, cancelled }
}

function entry(text: string, kind: Entry['kind'] = 'verdict'): Entry {
  return { at: startedAt, kind, target: 0, text }
}

test('the logs of all containers are shown once they have started, also of init containers', async () => {
  const { kubelet, kubelets, update, newOutput } = start()
  kubelet('x/init').write(10_000, 'from init')
  kubelet('x/app').write(10_000, 'from app')
  const waiting = { state: { waiting: { reason: 'PodInitializing' } } }
  const base = podOf('x', { app: waiting, later: waiting })
  const withInit = (app: Partial<ContainerStatus>): Pod => ({
    ...base,
    spec: { ...base.spec, initContainers: [{ name: 'init' }] },
    status: {
      initContainerStatuses: [{ name: 'init', ...terminated }],
      containerStatuses: [
        { name: 'app', ...app },
        { name: 'later', ...waiting },
      ],
    },
  })
  await update(withInit(waiting))
  expect(await newOutput()).toEqual(['x init: from init'])
  await update(withInit(running))
  expect(await newOutput()).toEqual(['x app: from app'])
  expect(kubelets.has('x/later')).toBe(false)
})

test('logs are read from ten minutes before the gate on', async () => {
  const { kubelet, update } = start()
  await update(podOf('x'))
  expect(kubelet('x/app').requests).toMatchObject([{ since: 10_000_000 - 600_000 }])
})

test('at most 20 logs are read at a time, with one warning: the next one follows when one ends', async () => {
  const { kubelet, update, newOutput } = start()
  const names = Array.from({ length: 22 }, (_, index) => `pod-${index}`)
  for (const name of names) kubelet(`${name}/app`).write(10_000, 'hello')
  await update(...names.map((name) => podOf(name)))
  const first = await newOutput()
  expect(first.filter((line) => line.endsWith('app: hello'))).toHaveLength(20)
  expect(first.filter((line) => line.startsWith('warning'))).toEqual([
    'warning: 20 logs are shown at a time. Others follow as these end.',
  ])
  kubelet('pod-3/app').exit()
  await update(...names.map((name) => (name === 'pod-3' ? podOf(name, { app: terminated }) : podOf(name))))
  expect(await newOutput()).toEqual(['pod-20 app: hello'])
})

test('if no log has to wait for another, there is no warning', async () => {
  const { update, newOutput } = start()
  await update(...Array.from({ length: 20 }, (_, index) => podOf(`pod-${index}`)))
  expect(await newOutput()).toEqual([])
})

test('forbidden logs are warned about once, with the permission that they need', async () => {
  const { kubelet, update, newOutput } = start()
  for (const name of ['x/app', 'y/app']) kubelet(name).refuse(new ApiError(403, 'forbidden'))
  await update(podOf('x'), podOf('y'))
  expect(await newOutput()).toEqual([
    'warning: The log of pod x, container app cannot be shown: forbidden. Logs require permission to `get` `pods/log`. The gate continues without it.',
  ])
})

test('the end of a target is shown after the last lines of its Job, and so are all later entries', async () => {
  const { kubelet, logs, update, newOutput } = start()
  const app = kubelet('x/app')
  app.isHanging = true
  app.write(10_000, 'last line')
  await update(podOf('x'))
  logs.showEntry(entry('started', 'progress'))
  logs.showEntry(entry('ready'))
  logs.showEntry(entry('something else', 'note'))
  expect(await newOutput()).toEqual(['entry: started'])
  app.isHanging = false
  app.exit()
  expect(await newOutput()).toEqual(['x app: last line', 'entry: ready', 'entry: something else'])
})

test('the end of a target waits for its last lines a second at most, and a warning reports that they may be missing', async () => {
  const { clock, kubelet, logs, update, newOutput } = start()
  kubelet('x/app').isHanging = true
  await update(podOf('x'))
  logs.showEntry(entry('ready'))
  await quiet()
  clock.advance(999)
  expect(await newOutput()).toEqual([])
  clock.advance(1)
  expect(await newOutput()).toEqual([expect.stringMatching(/^warning: The last lines of some logs/), 'entry: ready'])
  expect(clock.pending).toEqual([])
})

test('the end of a target is shown at once when none of its logs is shown or its containers still run', async () => {
  const other = start({ isStreamed: false })
  other.logs.showEntry(entry('ready'))
  expect(await other.newOutput()).toEqual(['entry: ready'])
  const { kubelet, logs, update, newOutput } = start({ kind: 'Deployment' })
  kubelet('x/app').isHanging = true
  await update(podOf('x'))
  logs.showEntry(entry('ready'))
  expect(await newOutput()).toEqual(['entry: ready'])
})

test('the end of a target includes the lines of a container without a start in its status', async () => {
  const { kubelet, logs, update, newOutput } = start()
  kubelet('x/app').write(10_000, 'written before its status')
  kubelet('x/app').exit()
  await update(podOf('x', { app: { state: { waiting: {} } } }))
  logs.showEntry(entry('ready'))
  expect(await newOutput()).toEqual(['x app: written before its status', 'entry: ready'])
})

test('the end of the gate shows what was written until then, and closes all streams', async () => {
  const { clock, kubelet, logs, update, newOutput } = start({ kind: 'Deployment' })
  const app = kubelet('x/app')
  for (let line = 0; line < 510; line++) app.write(10_000, String(line))
  await update(podOf('x'))
  expect(await newOutput()).toHaveLength(500)
  app.write(10_001, 'last line')
  await logs.finish()
  expect((await newOutput()).at(-1)).toBe('x app: last line')
  expect(app.open).toBe(0)
  expect(clock.pending).toEqual([])
})

test('the end of the gate waits a second at most, and 0.3 s when the job is cancelled', async () => {
  for (const [isCancelled, limitMs] of [
    [false, 1_000],
    [true, 300],
  ] as const) {
    const { clock, kubelet, logs, update, cancelled } = start()
    kubelet('x/app').isHanging = true
    await update(podOf('x'))
    if (isCancelled) cancelled.abort()
    let isOver = false
    const finished = logs.finish().then(() => {
      isOver = true
    })
    await quiet()
    clock.advance(limitMs - 1)
    await turn()
    expect(isOver).toBe(false)
    clock.advance(1)
    await finished
    await quiet()
    expect(clock.pending).toEqual([])
  }
})

test('the end of the gate takes no time when no log is shown', async () => {
  const { clock, logs } = start({ isStreamed: false })
  const finished = logs.finish()
  expect(clock.pending).toEqual([])
  await finished
})
