import fc from 'fast-check'
import { at, createGate, createTarget, createWorkload, modified, synced } from '../kit/gate.ts'
import { complete, moment, podIs } from '../kit/objects.ts'
import { runs, sampled } from '../support/thorough.ts'
import { type ClusterOptions, SimulatedCluster } from './simulation/cluster.ts'
import { happenings, replaceNode, type Step, workloads } from './simulation/happenings.ts'
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

/** What the title of a test calls a version. */
const versionTitles: Readonly<Record<Version, string>> = {
  before: 'from before',
  probed: 'with a readiness probe',
  unprobed: 'without a readiness probe',
  slow: 'that starts slowly',
  other: 'of another change',
  'dies once': 'that crashes once',
  'dies at once, twice': 'that crashes twice',
  crashes: 'that keeps crashing',
  'crashes before it is ready': 'that crashes before it is ready',
  'has no image': 'with a missing image',
}

const kinds = Object.keys(workloads)

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
          ...at(otherReadyAt, modified(api.deployment(complete()), api.pod(podIs.ready(otherReadyAt)))),
        ]
  const web = [createTarget({ kind }), createTarget({ apiVersion: 'v1', kind: 'Service' })]
  const targets = [...web, ...(other.length === 0 ? [] : [api.target])]
  const gate = createGate([], { targets, live: true })
  let handled = 0
  const observe = () => {
    const due = other.filter((event) => event.at === moment(cluster.now))
    gate.handle([...due, ...cluster.events.slice(handled)])
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

/** `A node restarts.` as a part of a sentence. */
const conditionOf = (happening: string) => `${happening.charAt(0).toLowerCase()}${happening.slice(1, -1)}`

const combinations = kinds.flatMap((kind) =>
  Object.entries({ 'Nothing else happens.': { steps: [] }, ...happenings }).flatMap(([title, happening]) =>
    [...good, ...bad].map((version) => ({ kind, condition: conditionOf(title), happening, version })),
  ),
)

// 25, and the 3 of `CI=true`, share no divisor with the 8 versions: each version occurs.
describe.each(sampled(combinations, 25))('if $condition, a rollout of a $kind', ({ kind, happening, version }) => {
  const ended = () => gateRollout(kind, { version, ...happening })
  if (good.includes(version))
    it(`is ready with a version ${versionTitles[version]}`, () => {
      expect(ended()).toMatchObject({ outcome: 'ready', isComplete: true })
    })
  else
    it(`fails with a version ${versionTitles[version]}`, () => {
      const reason = version === 'has no image' ? 'image-not-found' : 'crash-loop'
      // A StatefulSet does not replace the broken pod by one of a later template.
      expect(ended()).toMatchObject({ outcome: expect.stringMatching(/^(failed|stalled)$/), reason })
    })
})

const titled = (versions: readonly Version[]) => versions.map((version) => [versionTitles[version], version] as const)

describe.each(kinds)('a second change of a %s during its rollout', (kind) => {
  const becomes = (version: Version, later: readonly (Version | undefined)[]) =>
    gateRollout(kind, {
      version,
      steps: later.map((each, index) => ({
        after: 4 + 3 * index,
        happens: (cluster) => (each === undefined ? cluster.annotate('now') : cluster.apply(each)),
      })),
    })

  it.each(titled(sampled([...good, ...bad], 8, kinds.indexOf(kind))))('supersedes a version %s', (_, version) => {
    expect(becomes(version, ['other'])).toMatchObject({ outcome: 'superseded', reason: 'superseded' })
  })

  it.each(titled(sampled([...good, ...bad], 8, kinds.indexOf(kind) + 4)))(
    'restores the earlier version and ends the gate of a version %s',
    (_, version) => {
      const reason = kind === 'ReplicaSet' ? 'superseded' : 'rolled-back'
      expect(becomes(version, ['before'])).toMatchObject({ outcome: 'superseded', reason })
    },
  )

  it('supersedes a restart', () => {
    expect(becomes('slow', [undefined, 'other'])).toMatchObject({ outcome: 'superseded', reason: 'superseded' })
  })
})

const node = fc.constantFrom('node-1', 'node-2', 'node-3')
const changes: fc.Arbitrary<Step['happens']> = fc.oneof(
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
    steps: fc.array(fc.record({ after: fc.integer({ min: 1, max: 120 }), happens: changes }), { maxLength: 8 }),
    replicas: fc.integer({ min: 1, max: 5 }),
    capacity: fc.integer({ min: 4, max: 12 }),
    otherReadyAt: fc.option(fc.integer({ min: 20, max: 200 }), { nil: undefined }),
    isInjected: fc.boolean(),
    isNew: fc.boolean(),
    changedBefore: fc.constantFrom(0, 0, 5, 20, 60),
  })

describe.each(kinds)('a simulated rollout of a %s', (kind) => {
  it('ends as ready when a good version is complete, or as superseded', () => {
    fc.assert(
      fc.property(rollouts(good), (rollout) => {
        const { outcome, isCurrent, isComplete } = gateRollout(kind, rollout)
        const expected = isCurrent ? { outcome: 'ready', isComplete: true } : { outcome: 'superseded', isComplete }
        expect({ outcome, isComplete }).toEqual(expected)
      }),
      runs(4),
    )
  })

  it('never ends as ready with a bad version', () => {
    fc.assert(
      fc.property(rollouts(bad), (rollout) => {
        expect(gateRollout(kind, rollout).outcome).not.toBe('ready')
      }),
      runs(4),
    )
  })
})
