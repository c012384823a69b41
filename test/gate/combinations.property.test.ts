import fc from 'fast-check'
import { complete, moment, readyStatus } from '../lifecycle/builders.ts'
import { isThorough, parameters } from '../support/thorough.ts'
import { at, createGate, createTarget, createWorkload, modified, synced } from './builders.ts'
import { type ClusterOptions, type CreateWorkload, SimulatedCluster } from './simulation/cluster.ts'
import {
  DaemonSetController,
  DeploymentController,
  ReplicaSetController,
  StatefulSetController,
} from './simulation/controllers.ts'
import type { Program } from './simulation/pods.ts'

/**
 * What happens to a cluster during a rollout: autoscalers, drains, lost nodes, other pipelines, GitOps tools and leader
 * changes. None of it may fail a rollout that becomes ready, or end one as ready that is not.
 */

const programs = {
  before: { readyAfter: 2 },
  probed: { readyAfter: 3 },
  unprobed: {},
  slow: { readyAfter: 40 },
  other: { readyAfter: 3 },
  'dies once': { readyAfter: 2, diesAfter: 3, deaths: 1 },
  'dies at once, twice': { diesAfter: 0, deaths: 2 },
  crashes: { diesAfter: 1 },
  'crashes before it is ready': { readyAfter: 100, diesAfter: 8 },
  'has no image': { isMissing: true },
} satisfies Record<string, Program>

type Version = keyof typeof programs

const good: readonly Version[] = ['probed', 'unprobed', 'slow', 'dies once', 'dies at once, twice']
const bad: readonly Version[] = ['crashes', 'crashes before it is ready', 'has no image']

/** Template changes do not reach the pods of a ReplicaSet: it is only created. */
const workloads: Readonly<Record<string, { create: CreateWorkload; isOnlyNew?: true }>> = {
  Deployment: { create: (...args) => new DeploymentController(...args) },
  'Deployment with Recreate': { create: (...args) => new DeploymentController(...args, 'Recreate') },
  ReplicaSet: { create: (...args) => new ReplicaSetController(...args), isOnlyNew: true },
  StatefulSet: { create: (...args) => new StatefulSetController(...args) },
  'StatefulSet with Parallel': { create: (...args) => new StatefulSetController(...args, 'Parallel') },
  DaemonSet: { create: (...args) => new DaemonSetController(...args) },
}

/** At this second, this happens. */
interface Step {
  readonly after: number
  readonly happens: (cluster: SimulatedCluster) => void
}

interface Rollout extends ClusterOptions {
  readonly version: Version
  readonly steps: readonly Step[]
  /** When another target of the gate becomes ready. */
  readonly otherReadyAt?: number | undefined
}

/** Gates a rollout; with whether the workload had this version when the gate ended, and whether its rollout was complete. */
function gateRollout(name: string, { version, steps, otherReadyAt, isNew, ...options }: Rollout) {
  const [kind = ''] = name.split(' ')
  const { create, isOnlyNew = isNew } = workloads[name] as (typeof workloads)[string]
  const cluster = new SimulatedCluster(create, programs, version, { ...options, isNew: isOnlyNew })
  const api = createWorkload('api')
  const other =
    otherReadyAt === undefined
      ? []
      : [
          ...at(0, api.creating, synced('Deployment', 'ReplicaSet')),
          ...at(otherReadyAt, modified(api.deployment(complete()), api.pod(readyStatus(otherReadyAt)))),
        ]
  const web = [createTarget({ kind }), createTarget({ apiVersion: 'v1', kind: 'Service' })]
  const targets = [...web, ...(other.length === 0 ? [] : [api.target])]
  const gate = createGate([], { targets, live: true })
  let handled = 0
  const observe = () => {
    const due = other.filter((event) => event.at === moment(cluster.now))
    for (const event of [...due, ...cluster.events.slice(handled)]) gate.handle(event)
    handled = cluster.events.length
    gate.advance(moment(cluster.now))
  }
  observe()
  const left = steps.toSorted((a, b) => a.after - b.after)
  while (gate.verdict === undefined) {
    cluster.tick()
    observe()
    while (gate.verdict === undefined && (left[0]?.after ?? Infinity) <= cluster.now) left.shift()?.happens(cluster)
    if (gate.verdict === undefined) observe()
  }
  const isCurrent = cluster.workload.template?.spec?.containers?.[0]?.image === `acme/web:${version}`
  return { ...gate.verdict, isCurrent, isComplete: cluster.workload.isComplete() }
}

const replaceNode = (how: 'drain' | 'lose' | 'shutDown', node: string) => (cluster: SimulatedCluster) => {
  cluster[how](node)
  cluster.addNode()
}

describe.each(Object.keys(workloads))('a rollout of a %s', (kind) => {
  describe.each<[string, readonly Step[]]>([
    ['without anything else', []],
    [
      'while an autoscaler scales it up and down',
      [
        { after: 4, happens: (cluster) => cluster.scale(6) },
        { after: 12, happens: (cluster) => cluster.scale(2) },
        { after: 20, happens: (cluster) => cluster.scale(5) },
      ],
    ],
    [
      'while an autoscaler and a GitOps tool change its replicas in turn',
      [6, 3, 6, 3, 6, 3].map((replicas, index) => ({
        after: 2 + 4 * index,
        happens: (cluster: SimulatedCluster) => cluster.scale(replicas),
      })),
    ],
    [
      'while nodes are drained one after another',
      [
        { after: 3, happens: replaceNode('drain', 'node-1') },
        { after: 10, happens: replaceNode('drain', 'node-2') },
        { after: 17, happens: replaceNode('drain', 'node-3') },
      ],
    ],
    ['while a spot node is lost', [{ after: 6, happens: replaceNode('lose', 'node-1') }]],
    ['while a node shuts down', [{ after: 6, happens: replaceNode('shutDown', 'node-2') }]],
    ['while a node restarts', [{ after: 7, happens: (cluster) => cluster.reboot('node-1') }]],
    [
      'that is restarted, until a GitOps tool removes the annotation',
      [
        { after: 5, happens: (cluster) => cluster.annotate('now') },
        { after: 15, happens: (cluster) => cluster.annotate() },
      ],
    ],
    [
      'while the controllers change their leader and a node is drained',
      [
        { after: 8, happens: (cluster) => cluster.holdControllers(20) },
        { after: 9, happens: replaceNode('drain', 'node-1') },
      ],
    ],
  ])('%s', (_, steps) => {
    it.each(good)('is ready with a version that is %s', (version) => {
      expect(gateRollout(kind, { version, steps })).toMatchObject({ outcome: 'ready', isComplete: true })
    })

    it.each(bad)('fails with a version that %s', (version) => {
      const reason = version === 'has no image' ? 'image-not-found' : 'crash-loop'
      // A StatefulSet does not replace the broken pod by one of a later template.
      expect(gateRollout(kind, { version, steps })).toMatchObject({
        outcome: expect.stringMatching(/^(failed|stalled)$/),
        reason,
      })
    })
  })
})

describe.each(Object.keys(workloads))('a second pipeline that changes a %s during its rollout', (kind) => {
  const becomes = (version: Version, later: readonly (Version | undefined)[]) =>
    gateRollout(kind, {
      version,
      steps: later.map((each, index) => ({
        after: 4 + 3 * index,
        happens: (cluster) => (each === undefined ? cluster.annotate('now') : cluster.apply(each)),
      })),
    })

  it.each([...good, ...bad])('supersedes the version that %s', (version) => {
    expect(becomes(version, ['other'])).toMatchObject({ outcome: 'superseded', reason: 'superseded' })
  })

  it.each([...good, ...bad])('returns to the version before the one that %s', (version) => {
    const reason = kind === 'ReplicaSet' ? 'superseded' : 'rolled-back'
    expect(becomes(version, ['before'])).toMatchObject({ outcome: 'superseded', reason })
  })

  it('supersedes its restart', () => {
    expect(becomes('slow', [undefined, 'other'])).toMatchObject({ outcome: 'superseded', reason: 'superseded' })
  })

  it('with the same manifest changes nothing', () => {
    expect(becomes('slow', ['slow'])).toMatchObject({ outcome: 'ready', isComplete: true })
  })
})

const node = fc.constantFrom('node-1', 'node-2', 'node-3')
const happenings: fc.Arbitrary<Step['happens']> = fc.oneof(
  fc.integer({ min: 1, max: 6 }).map((replicas) => (cluster: SimulatedCluster) => cluster.scale(replicas)),
  fc.tuple(fc.constantFrom('drain', 'lose', 'shutDown'), node).map(([how, name]) => replaceNode(how, name)),
  fc.nat({ max: 8 }).map((index) => (cluster: SimulatedCluster) => cluster.evict(index)),
  fc.option(fc.string(), { nil: undefined }).map((value) => (cluster: SimulatedCluster) => cluster.annotate(value)),
  fc.integer({ min: 1, max: 25 }).map((seconds) => (cluster: SimulatedCluster) => cluster.holdControllers(seconds)),
  node.map((name) => (cluster: SimulatedCluster) => cluster.reboot(name)),
  fc.constant((cluster: SimulatedCluster) => cluster.addNode()),
  fc.constantFrom<Version>('before', 'other').map((version) => (cluster: SimulatedCluster) => cluster.apply(version)),
)
const rollouts = (versions: readonly Version[]) =>
  fc.record<Rollout>({
    version: fc.constantFrom(...versions),
    steps: fc.array(fc.record({ after: fc.integer({ min: 1, max: 120 }), happens: happenings }), { maxLength: 8 }),
    replicas: fc.integer({ min: 1, max: 5 }),
    capacity: fc.integer({ min: 4, max: 12 }),
    otherReadyAt: fc.option(fc.integer({ min: 20, max: 200 }), { nil: undefined }),
    isInjected: fc.boolean(),
    isNew: fc.boolean(),
    changedBefore: fc.constantFrom(0, 0, 5, 20, 60),
  })
const runs = { ...parameters, numRuns: isThorough ? 80 : 10 }

describe.each(Object.keys(workloads))('whatever happens during a rollout of a %s', (kind) => {
  it('the gate is ready with a good version once the rollout is complete, unless another one supersedes it', () => {
    fc.assert(
      fc.property(rollouts(good), (rollout) => {
        const { outcome, isCurrent, isComplete } = gateRollout(kind, rollout)
        const expected = isCurrent ? { outcome: 'ready', isComplete: true } : { outcome: 'superseded', isComplete }
        expect({ outcome, isComplete }).toEqual(expected)
      }),
      runs,
    )
  })

  it('the gate is not ready with a bad version', () => {
    fc.assert(
      fc.property(rollouts(bad), (rollout) => {
        expect(gateRollout(kind, rollout).outcome).not.toBe('ready')
      }),
      runs,
    )
  })
})
