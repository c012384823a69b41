import { writeFileSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FeedEvent, Observation, WatchRequest } from '../../src/cluster/feed.ts'
import { Follower } from '../../src/cluster/follower.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { nameOf } from '../../src/cluster/objects.ts'
import { nameKey, type Target } from '../../src/plan/target.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { recordedSettings } from '../../src/run/recorded-run.ts'
import { ChangesView, changeJson } from '../../src/views/changes.ts'
import { paintLines } from '../../src/views/line.ts'
import { Trace } from '../../src/views/trace.ts'
import { renderTrace } from '../../src/views/trace-view.ts'
import type { View, ViewSource } from '../../src/views/view.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { runCommand } from '../support/command.ts'
import { recordedEvents, recordingPath, titledRecordings } from '../support/recordings.ts'
import { enterWorkFolder } from './work-folder.ts'

const moments = 10

/**
 * A recording that is played, event by event, to the watches of a live view. A list is complete when a list of its kind was
 * while it was recorded; of a kind without a recorded list, at once.
 */
class PlayedCluster {
  readonly #listed: ReadonlySet<string>
  readonly #sinks = new Map<WatchRequest, (observation: Observation) => void>()
  readonly #objects = new Map<string, KubeObject>()
  readonly #synced = new Set<string>()

  constructor(events: readonly FeedEvent[]) {
    this.#listed = new Set(events.flatMap((event) => (event.type === 'SYNCED' ? [event.kind] : [])))
  }

  watch(request: WatchRequest, sink: (observation: Observation) => void): void {
    if ([...this.#sinks.keys()].some((known) => JSON.stringify(known) === JSON.stringify(request))) return
    this.#sinks.set(request, sink)
    for (const object of this.#objects.values()) if (isWatched(request, object)) sink({ type: 'ADDED', object })
    if (this.#synced.has(request.kind) || !this.#listed.has(request.kind)) sink({ type: 'SYNCED', ...request })
  }

  async refresh(): Promise<void> {}

  play(event: FeedEvent): void {
    const { at: _, ...observation } = event
    if ('object' in observation) {
      const key = nameKey(nameOf(observation.object))
      if (observation.type === 'DELETED') this.#objects.delete(key)
      else this.#objects.set(key, observation.object)
    }
    const isFirst = observation.type === 'SYNCED' && !this.#synced.has(observation.kind)
    if (isFirst) this.#synced.add(observation.kind)
    for (const [request, sink] of this.#sinks) {
      if ('object' in observation && isWatched(request, observation.object)) sink(observation)
      if (isFirst && observation.kind === request.kind) sink({ type: 'SYNCED', ...request })
    }
  }
}

function isWatched({ kind, namespace, name, labelSelector }: WatchRequest, object: KubeObject): boolean {
  const { metadata } = object
  const labels = labelSelector?.split(',').map((part) => part.split('=')) ?? []
  return (
    object.kind === kind &&
    (namespace === undefined || metadata.namespace === namespace) &&
    (name === undefined || metadata.name === name) &&
    labels.every(([key = '', value]) => metadata.labels?.[key] === value)
  )
}

interface Played {
  readonly path: string
  readonly target: Target
  readonly targets: readonly Target[]
  readonly startedAt: number
  readonly events: readonly FeedEvent[]
  /** Ten moments from the first lists to the end. */
  readonly moments: readonly number[]
}

async function open(name: string): Promise<Played> {
  const path = recordingPath(name)
  const header = await readHeader(path)
  const events = await recordedEvents(path)
  const listedAt = events.findLast(({ type }) => type === 'SYNCED')?.at ?? 0
  const end = events.at(-1)?.at ?? 0
  const targets = (header.targets ?? []).map((target) => ({ ...target, clocks: {} }))
  const [target] = targets
  if (target === undefined) throw new Error(`${name} has no targets`)
  const spread = Array.from({ length: moments }, (_, index) =>
    Math.round(listedAt + 60 + ((end - listedAt - 60) * (index + 1)) / moments),
  )
  return { path, target, targets, startedAt: Date.parse(header.startedAt), events, moments: spread }
}

/** Plays a recording to a view, and calls `onMoment` at each of its moments. */
async function play<V extends View>(
  { events, startedAt, moments }: Played,
  viewOf: (source: ViewSource) => V,
  onMoment: (at: number, view: V) => void,
): Promise<void> {
  const clock = new ManualClock(startedAt)
  const cluster = new PlayedCluster(events)
  const view = viewOf({ now: () => clock.now(), isLive: true, willSync: () => true })
  const follower = new Follower(view, cluster, clock, startedAt)
  const ended = follower.run()
  const steps = [
    ...events.map((event) => ({ at: event.at, act: () => cluster.play(event) })),
    ...moments.map((at) => ({ at, act: () => onMoment(at, view) })),
  ].toSorted((a, b) => a.at - b.at)
  for (const { at, act } of steps) {
    clock.advance(at - clock.now())
    act()
    // New watches start in the next turn.
    await nextTurn()
  }
  follower.cancel()
  await ended
}

const recordings = ['crash-loop', 'update', 'service-without-ready-pods', 'job-retries', 'daemonset-crash']

describe.each(titledRecordings(recordings))('for %s', (_, name) => {
  const elapsed = (at: number, { startedAt }: Played) => `--at=${at - startedAt}ms`

  test('the command trace shows the live view at ten moments', async () => {
    const played = await open(name)
    const settings = recordedSettings(await readHeader(played.path))
    const live: string[] = []
    await play(
      played,
      (source) => new Trace(played.target, settings, source, () => false),
      (at, trace) =>
        live.push(
          renderTrace(trace.state(at))
            .flatMap((line) => paintLines(line, { color: false, redact: String }))
            .join('\n'),
        ),
    )
    const { kind, name: ofTarget, namespace } = played.target
    const recorded: string[] = []
    for (const at of played.moments) {
      const reference = [`${kind.toLowerCase()}/${ofTarget}`, '-n', namespace ?? '']
      const { code, stdout, stderr } = await runCommand([
        'trace',
        ...reference,
        `--recording=${played.path}`,
        elapsed(at, played),
      ])
      expect(stderr).toBe('')
      expect(code).toBe(0)
      recorded.push(stdout.trimEnd())
    }
    expect(new Set(live).size).toBeGreaterThan(1)
    expect(recorded).toEqual(live)
  })

  test.each(['status', 'changes'] as const)('the command %s shows the live changes at ten moments', async (command) => {
    const played = await open(name)
    const printed: string[] = []
    const onChange = (change: Parameters<typeof changeJson>[0]) => printed.push(changeJson(change, played.startedAt))
    const part = command === 'status' ? 'status' : 'object'
    const live: string[] = []
    await play(
      played,
      (source) => new ChangesView(played.targets, part, { onChange }, source),
      () => live.push(printed.join('\n')),
    )
    const recorded: string[] = []
    for (const at of played.moments) {
      const { code, stdout } = await runCommand([
        command,
        `--recording=${played.path}`,
        elapsed(at, played),
        '-o',
        'json',
      ])
      expect(code).toBe(0)
      recorded.push(stdout.trimEnd())
    }
    expect(live.at(-1)?.length).toBeGreaterThan(0)
    expect(recorded).toEqual(live)
  })
})

describe('a view of a recording', () => {
  const file = `--recording=${recordingPath('crash-loop')}`

  test('shows the end of the recording without --at', async () => {
    const { stdout } = await runCommand(['trace', 'deploy/web', file])
    expect(stdout).toContain('✗ failing · exited with code 3, 3 times')
  })

  const undone = 'kubectl --context rollout-gate-cluster rollout undo deployment/web -n gate-crash-loop-fb10b3'
  test.each([
    [
      'shows what serves while a Deployment crashes, and the undo',
      'crash-loop',
      ['Revision 1 (127.0.0.1:5995/app:v1) still serves with 2 of 2 pods.', `Back: ${undone} --to-revision=1`],
    ],
    [
      'shows what serves while an ordered StatefulSet crashes, and why there is no undo',
      'statefulset-canary-crashes',
      [
        'Revision 1 (127.0.0.1:5995/app:v1) still serves with 1 of 2 pods.',
        'statefulset/web is not undone: after an undo, its broken pod must be deleted too: an ordered StatefulSet waits for it.',
      ],
    ],
    [
      'shows what serves while a first revision crashes',
      'statefulset-crash',
      ['It does not serve: no pod is ready, and there is no older revision to go back to.'],
    ],
  ])('%s', async (_, recording, wayBack) => {
    for (const command of ['why', 'trace']) {
      const { stdout } = await runCommand([command, `--recording=${recordingPath(recording)}`])
      const lines = stdout.split('\n').map((each) => each.trim())
      expect(lines.filter((each) => /still serves|does not serve|not undone|^Back:/.test(each))).toEqual(wayBack)
    }
  })

  test('shows what serves before a crash is proven, but not for a problem that may end by itself', async () => {
    const crashing = await runCommand(['trace', file, '--at=0:05'])
    expect(crashing.stdout).toMatch(/^… in progress .*\n.* crash-loop .*\n.*\n {4}Revision 1 .* still serves/m)
    const waiting = await runCommand(['trace', `--recording=${recordingPath('host-port-taken')}`])
    expect(waiting.stdout).toContain('! unschedulable')
    expect(waiting.stdout).not.toContain('still serves')
  })

  test('filters the objects by a selector', async () => {
    const { stdout } = await runCommand(['changes', 'pods', '-l', 'app=web', file, '-o', 'json'])
    const targets = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).target)
    expect(new Set(targets).size).toBeGreaterThan(1)
  })

  test('rejects an invalid --at and a flag that a recording does not support', async () => {
    const { code, stderr } = await runCommand(['trace', 'deploy/web', file, '--at=5', '--until-ready'])
    expect(code).toBe(2)
    expect(stderr).toContain('--until-ready: A recording does not go on. Leave it out.')
    expect(stderr).toContain('--at: "5" has no unit.')
  })

  test('requires --recording for --at', async () => {
    const { code, stderr } = await runCommand(['status', 'deploy/web', '--at=5s', '--kubeconfig=missing'])
    expect(code).toBe(2)
    expect(stderr).toContain('--at: It is a moment of a recording. Name that with --recording=FILE.')
  })

  test('rejects a file that is no recording', async () => {
    const { leave } = enterWorkFolder()
    writeFileSync('web.yaml', 'kind: Pod\n')
    const { code, stderr } = await runCommand(['trace', 'pod/web', '--recording=web.yaml'])
    leave()
    expect(code).toBe(2)
    expect(stderr).toContain('web.yaml, line 1: This is not a recording')
  })
})
