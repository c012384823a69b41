import { setImmediate as turn } from 'node:timers/promises'
import { ApiError } from '../../src/cluster/failures.ts'
import type { LogLine, LogStreamRequest } from '../../src/cluster/logs.ts'
import type { ContainerStatus, Pod } from '../../src/cluster/objects.ts'
import type { Entry } from '../../src/gate/timeline.ts'
import type { LogSource } from '../../src/logs/container-log.ts'
import { LiveLogs } from '../../src/logs/live-logs.ts'
import { ManualClock } from '../cluster-client/manual-clock.ts'
import { Kubelet, quiet } from './kubelet.ts'

const startedAt = 1_000_000
const running = { state: { running: {} } }
const terminated = { state: { terminated: { exitCode: 0 } } }

function pod(name: string, statuses: Readonly<Record<string, Partial<ContainerStatus>>> = { app: running }): Pod {
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

/** Live logs beside a gate that knows these pods. */
function start({ kind = 'Job', isStreamed = true } = {}) {
  const clock = new ManualClock(startedAt)
  const kubelets = new Map<string, Kubelet>()
  const kubelet = (name: string) => {
    const found = kubelets.get(name) ?? new Kubelet()
    kubelets.set(name, found)
    return found
  }
  const source: LogSource = {
    followLog: (request: LogStreamRequest, signal: AbortSignal): Promise<AsyncIterable<LogLine>> =>
      kubelet(`${request.pod}/${request.container}`).followLog(request, signal),
  }
  let pods: readonly Pod[] = []
  const told: string[] = []
  const cancelled = new AbortController()
  const logs = new LiveLogs({
    gate: { gatedPods: () => pods },
    targets: [{ apiVersion: 'v1', kind, namespace: 'shop', name: 'migrate', clocks: {} }],
    streamed: new Set(isStreamed ? [0] : []),
    source,
    clock,
    startedAt: 10_000_000,
    listener: {
      onEntry: ({ text }) => told.push(`entry: ${text}`),
      onLog: (news) => told.push(`${news.pod} ${news.container}${news.type === 'note' ? ' ·' : ':'} ${news.text}`),
      onWarning: (text) => told.push(`warning: ${text}`),
      cancelled: cancelled.signal,
    },
  })
  const see = async (...seen: readonly Pod[]) => {
    pods = seen
    logs.observe()
    await quiet()
  }
  const heard = async () => {
    await quiet()
    return told.splice(0)
  }
  return { clock, kubelet, kubelets, logs, see, heard, cancelled }
}

function entry(text: string, kind: Entry['kind'] = 'verdict'): Entry {
  return { at: startedAt, kind, target: 0, text }
}

test('the logs of all containers are told, of init containers and sidecars too, once they have started', async () => {
  const { kubelet, kubelets, see, heard } = start()
  kubelet('x/init').write(10_000, 'from init')
  kubelet('x/app').write(10_000, 'from app')
  const waiting = { state: { waiting: { reason: 'PodInitializing' } } }
  const base = pod('x', { app: waiting, later: waiting })
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
  await see(withInit(waiting))
  expect(await heard()).toEqual(['x init: from init'])
  await see(withInit(running))
  expect(await heard()).toEqual(['x app: from app'])
  expect(kubelets.has('x/later')).toBe(false)
})

test('only the last ten minutes before the gate are of interest', async () => {
  const { kubelet, see } = start()
  await see(pod('x'))
  expect(kubelet('x/app').requests).toMatchObject([{ since: 10_000_000 - 600_000 }])
})

test('20 logs are read at a time, the others when one of these has ended, and that is told once', async () => {
  const { kubelet, see, heard } = start()
  const names = Array.from({ length: 22 }, (_, index) => `pod-${index}`)
  for (const name of names) kubelet(`${name}/app`).write(10_000, 'hello')
  await see(...names.map((name) => pod(name)))
  const first = await heard()
  expect(first.filter((line) => line.endsWith('app: hello'))).toHaveLength(20)
  expect(first.filter((line) => line.startsWith('warning'))).toEqual([
    'warning: 20 logs are shown at a time. Others follow as these end.',
  ])
  kubelet('pod-3/app').exit()
  await see(...names.map((name) => (name === 'pod-3' ? pod(name, { app: terminated }) : pod(name))))
  expect(await heard()).toEqual(['pod-20 app: hello'])
})

test('that logs may not be read is told once, with the right that it takes', async () => {
  const { kubelet, see, heard } = start()
  for (const name of ['x/app', 'y/app']) kubelet(name).refuse(new ApiError(403, 'Forbidden', 'forbidden'))
  await see(pod('x'), pod('y'))
  expect(await heard()).toEqual([
    'warning: The log of pod x, container app cannot be shown: forbidden. Showing logs takes the right to `get` `pods/log`. The gate goes on without it.',
  ])
})

describe('the end of a target', () => {
  test('is told behind the last lines of its Job, and so is all that follows it', async () => {
    const { kubelet, logs, see, heard } = start()
    const app = kubelet('x/app')
    app.isHanging = true
    app.write(10_000, 'the last word')
    await see(pod('x'))
    logs.entry(entry('started', 'progress'))
    logs.entry(entry('ready'))
    logs.entry(entry('something else', 'note'))
    expect(await heard()).toEqual(['entry: started'])
    app.isHanging = false
    app.exit()
    expect(await heard()).toEqual(['x app: the last word', 'entry: ready', 'entry: something else'])
  })

  test('does not wait longer than a second for them, and says that they may be missing', async () => {
    const { clock, kubelet, logs, see, heard } = start()
    kubelet('x/app').isHanging = true
    await see(pod('x'))
    logs.entry(entry('ready'))
    await quiet()
    clock.advance(999)
    expect(await heard()).toEqual([])
    clock.advance(1)
    expect(await heard()).toEqual([expect.stringMatching(/^warning: The last lines of some logs/), 'entry: ready'])
    expect(clock.pending).toEqual([])
  })

  test('is told at once where nothing of it is shown, or its containers run on', async () => {
    const other = start({ isStreamed: false })
    other.logs.entry(entry('ready'))
    expect(await other.heard()).toEqual(['entry: ready'])
    const { kubelet, logs, see, heard } = start({ kind: 'Deployment' })
    kubelet('x/app').isHanging = true
    await see(pod('x'))
    logs.entry(entry('ready'))
    expect(await heard()).toEqual(['entry: ready'])
  })

  test('brings the words of a container whose start its status never told', async () => {
    const { kubelet, logs, see, heard } = start()
    kubelet('x/app').write(10_000, 'quicker than its status')
    kubelet('x/app').exit()
    await see(pod('x', { app: { state: { waiting: {} } } }))
    logs.entry(entry('ready'))
    expect(await heard()).toEqual(['x app: quicker than its status', 'entry: ready'])
  })
})

describe('the end of the gate', () => {
  test('tells what was written until then, and leaves nothing open', async () => {
    const { clock, kubelet, logs, see, heard } = start({ kind: 'Deployment' })
    const app = kubelet('x/app')
    for (let line = 0; line < 510; line++) app.write(10_000, String(line))
    await see(pod('x'))
    expect(await heard()).toHaveLength(500)
    app.write(10_001, 'the last word')
    await logs.finish()
    expect((await heard()).at(-1)).toBe('x app: the last word')
    expect(app.open).toBe(0)
    expect(clock.pending).toEqual([])
  })

  test('waits a second at the most, and 0.3 s when the job is cancelled', async () => {
    for (const [isCancelled, limitMs] of [
      [false, 1_000],
      [true, 300],
    ] as const) {
      const { clock, kubelet, logs, see, cancelled } = start()
      kubelet('x/app').isHanging = true
      await see(pod('x'))
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

  test('takes no time where no log is shown', async () => {
    const { clock, logs } = start({ isStreamed: false })
    const finished = logs.finish()
    expect(clock.pending).toEqual([])
    await finished
  })
})
