import { readFileSync } from 'node:fs'
import type { ActionRun } from '../../support/runner.ts'
import type { KubeObject } from '../api.ts'
import { all, type ClusterState, conditionTrue, deploymentComplete, setComplete } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import {
  barePod,
  container,
  daemonSet,
  deployment,
  diesFirst,
  replicaSet,
  scriptJob,
  statefulSet,
  stateVolume,
  template,
} from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { volume, volumeClaim } from './services.ts'

type Kind = 'Deployment' | 'StatefulSet' | 'DaemonSet' | 'ReplicaSet' | 'Pod' | 'Job' | 'PersistentVolumeClaim'

/** One rollout whose milestones are compared with its objects. */
interface Rollout {
  readonly kind: Kind
  readonly name: string
  /** What is rolled out before the change, one after the other. */
  readonly before: readonly KubeObject[]
  readonly change: (fixture: Fixture) => Promise<unknown>
}

/** @param versions the last one is the change */
function rollout(...versions: readonly [KubeObject, ...KubeObject[]]): Rollout {
  const [{ kind, metadata }] = versions
  const change = (fixture: Fixture) => fixture.apply(...versions.slice(-1))
  return { kind: kind as Kind, name: metadata.name, before: versions.slice(0, -1), change }
}

/** The versions of a rollout, and a patch that follows the last one at once. */
function patched(path: string, value: unknown, first: KubeObject, ...others: readonly KubeObject[]): Rollout {
  const { kind, name } = rollout(first)
  const change = async (fixture: Fixture) => {
    await fixture.apply(...others)
    const { metadata } = await fixture.patch(kind, name, [{ op: 'add', path, value }])
    await fixture.until(
      `the watch shows the patch of ${name}`,
      (informer) => informer.get(kind, name)?.metadata.generation === metadata.generation,
    )
  }
  return { kind, name, before: [first], change }
}

const single = { replicas: 1 }
const one = (name: string, image = 'v1', spec: object = {}) => deployment(name, { image }, { ...single, ...spec })
const init = { initContainers: [container({ name: 'init', script: 'sleep 2', readiness: 'none' })] }
const recreate = { strategy: { type: 'Recreate' } }
const restart = { 'kubectl.kubernetes.io/restartedAt': '2026-01-01T00:00:00Z' }

/** New objects. */
const creations: readonly Rollout[] = [
  rollout(deployment('web')),
  rollout(deployment('unprobed', { readiness: 'none' }, single)),
  rollout(one('patient', 'v1', { minReadySeconds: 3 })),
  rollout(one('prepared', 'v1', template('prepared', {}, init))),
  rollout(one('restarted', 'v1', template('restarted', diesFirst(1, 'exec serve'), stateVolume))),
  rollout(statefulSet('db', {}, single)),
  rollout(daemonSet('agent')),
  rollout(replicaSet('set', {}, single)),
  rollout(barePod('once')),
  rollout(barePod('prepared-once', {}, init)),
  rollout(scriptJob('migrate', 'sleep 2')),
  rollout(scriptJob('twice', 'true', { completions: 2 })),
  {
    kind: 'PersistentVolumeClaim',
    name: 'data',
    before: [],
    change: (fixture) => fixture.apply(volume(fixture), volumeClaim(fixture, 'data')),
  },
]

/** Changes of objects that were rolled out before. */
const updates: readonly Rollout[] = [
  rollout(one('updated'), one('updated', 'v2')),
  rollout(one('recreated', 'v1', recreate), one('recreated', 'v2', recreate)),
  rollout(one('undone'), one('undone', 'v2'), one('undone')),
  patched('/spec/replicas', 2, one('scaled'), one('scaled', 'v2')),
  patched('/spec/template/metadata/annotations', restart, one('again')),
  rollout(statefulSet('queue', {}, single), statefulSet('queue', { image: 'v2' }, single)),
  rollout(daemonSet('proxy'), daemonSet('proxy', { image: 'v2' })),
]

function stateOf({ kind, name }: Pick<Rollout, 'kind' | 'name'>): ClusterState {
  const holds =
    (is: (status: Record<string, unknown>) => boolean): ClusterState =>
    (informer) =>
      is(informer.get(kind, name)?.['status'] ?? {}) ? Date.now() : undefined
  switch (kind) {
    case 'Deployment':
      return deploymentComplete(name)
    case 'StatefulSet':
    case 'DaemonSet':
      return setComplete(kind, name, 1)
    case 'ReplicaSet':
      return holds(({ readyReplicas }) => readyReplicas === 1)
    case 'PersistentVolumeClaim':
      return holds(({ phase }) => phase === 'Bound')
    default:
      return conditionTrue(kind, name, kind === 'Job' ? 'Complete' : 'Ready')
  }
}

/** Seconds of the API's timestamps, and of the clocks of the nodes. */
const unitMs = 1_000
/** How long a container without a readiness probe, or after a death, must run. */
const settleMs = 10_000

interface ReportedMilestone {
  name: string
  at?: string
  source?: string
}

/** The fields of objects that show when milestones were reached. */
interface Dated {
  readonly kind?: string
  readonly metadata: {
    readonly name?: string
    readonly uid?: string
    readonly creationTimestamp?: string
    readonly deletionTimestamp?: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly uid: string }[]
    readonly managedFields?: readonly { readonly subresource?: string; readonly time?: string }[]
  }
  readonly spec?: {
    readonly minReadySeconds?: number
    readonly containers?: readonly { readonly readinessProbe?: object }[]
  }
  readonly status?: {
    readonly startTime?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly reason?: string
      readonly lastTransitionTime?: string
      readonly lastUpdateTime?: string
    }[]
    readonly containerStatuses?: readonly {
      readonly restartCount: number
      readonly state: { readonly running?: { readonly startedAt: string } }
      readonly lastState?: { readonly terminated?: { readonly startedAt?: string } }
    }[]
  }
}

const last = (moments: readonly (string | number | undefined)[]): number =>
  Math.max(...moments.map((moment = '') => (typeof moment === 'number' ? moment : Date.parse(moment))))

const since = ({ status }: Dated, type: string) =>
  status?.conditions?.find((each) => each.type === type)?.lastTransitionTime

const writes = ({ metadata: { managedFields = [] } }: Dated, of?: string) =>
  last(managedFields.filter(({ subresource }) => subresource === of).map(({ time }) => time))

/** The moments that the objects of a target show, by milestone, read from the API apart from the gate. */
function shownBy({ informer }: Fixture, kind: Kind, name: string): Readonly<Record<string, number | undefined>> {
  const object: Dated = informer.get(kind, name) ?? { metadata: {} }
  const every = (of: string): Dated[] => informer.all(of)
  const owned = ({ metadata: { uid } }: Dated, of: string) =>
    every(of).filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid))
  const created = last([object.metadata.creationTimestamp])
  const { status = {} } = object
  if (kind === 'PersistentVolumeClaim') return { created, provisioned: writes(object), bound: writes(object, 'status') }
  if (kind === 'Job')
    return {
      created,
      started: last([status.startTime]),
      succeeded: last([since(object, 'SuccessCriteriaMet')]),
      complete: last([since(object, 'Complete')]),
    }
  const numberOf = ({ metadata: { annotations } }: Dated) =>
    Number(annotations?.['deployment.kubernetes.io/revision'] ?? 0)
  const set = owned(object, 'ReplicaSet').toSorted((a, b) => numberOf(b) - numberOf(a))[0]
  const isReused = set?.metadata.annotations?.['deployment.kubernetes.io/revision-history'] !== undefined
  const owner = kind === 'Deployment' ? set : object
  const ofKind = kind === 'Pod' ? [object] : owner === undefined ? [] : owned(owner, 'Pod')
  const pods = ofKind.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const ofPods = (read: (of: Dated) => string | number | undefined) => last(pods.map(read))
  const settled = (each: Dated, hasDied: boolean) => {
    const [status] = each.status?.containerStatuses ?? []
    const isProbed = each.spec?.containers?.[0]?.readinessProbe !== undefined
    const startedAt = last([status?.state.running?.startedAt])
    const readyAt = last([since(each, 'Ready')])
    if (isProbed && !hasDied) return readyAt
    return (isProbed ? Math.max(startedAt, readyAt) : startedAt) + settleMs
  }
  const statusOf = (each: Dated) => each.status?.containerStatuses?.[0]
  const progressing = status.conditions?.find(({ type }) => type === 'Progressing')
  const started = ofPods((each) => {
    const { state, lastState } = statusOf(each) ?? {}
    return lastState?.terminated?.startedAt ?? state?.running?.startedAt
  })
  return {
    created,
    observed: writes(object),
    replicaset: isReused ? undefined : last([set?.metadata.creationTimestamp]),
    scheduled: ofPods((each) => since(each, 'PodScheduled')),
    initialized: ofPods((each) => since(each, 'Initialized')),
    pulled: started,
    started,
    running: started,
    ready: ofPods((each) => settled(each, statusOf(each)?.lastState?.terminated !== undefined)),
    settled: ofPods((each) => settled(each, statusOf(each)?.restartCount !== 0)),
    available: ofPods((each) => since(each, 'Ready')) + (object.spec?.minReadySeconds ?? 0) * 1_000,
    drained: progressing?.reason === 'NewReplicaSetAvailable' ? last([progressing.lastUpdateTime]) : undefined,
  }
}

/**
 * Milestones whose moment depends on what the gate has seen, with the latest one. The kubelet may have removed the container that
 * died: then only a gate that watched knows that the next one had to settle.
 */
const latestOf: Readonly<Record<string, string>> = { ready: 'settled' }

/**
 * One sentence for each milestone that is more than a second from what its object shows, that has a time which no object shows, or
 * that should have a time and has none.
 */
function timeFailures(run: ActionRun, fixture: Fixture, mustBeKnown: boolean): string[] {
  const report = JSON.parse(readFileSync(run.outputs['report'] ?? '', 'utf8'))
  return report.targets.flatMap(
    ({ kind, name, milestones }: { kind: Kind; name: string; milestones: ReportedMilestone[] }) => {
      const shown = shownBy(fixture, kind, name)
      return milestones.flatMap(({ name: milestone, at, source }) => {
        const where = `${kind.toLowerCase()}/${name} ${milestone}`
        const moment = shown[milestone]
        const isShown = moment !== undefined && Number.isFinite(moment)
        if (source !== undefined && !isShown) return [`${where} is at ${at}, which no object shows`]
        if (at === undefined || !isShown) return []
        // Nothing shows when an older pod pulled its images.
        if (source === undefined)
          return mustBeKnown && milestone !== 'pulled' ? [`${where} has no time of its object`] : []
        const shownLast = Math.max(moment, shown[latestOf[milestone] ?? milestone] ?? moment)
        const differs = Date.parse(at) < moment - unitMs || Date.parse(at) > shownLast + unitMs
        return differs ? [`${where} is at ${at}, and its object shows ${new Date(moment).toISOString()}`] : []
      })
    },
  )
}

/** Rolls out what comes before the changes. */
async function prepare(fixture: Fixture, rollouts: readonly Rollout[]): Promise<void> {
  await Promise.all(
    rollouts.map(async (each) => {
      for (const object of each.before) {
        await fixture.apply(object)
        await fixture.until(`${each.name} is rolled out`, stateOf(each))
      }
    }),
  )
}

async function change(fixture: Fixture, rollouts: readonly Rollout[]): Promise<void> {
  await Promise.all(rollouts.map((each) => each.change(fixture)))
}

/** The same rollouts for a gate that watches them, and for one that begins afterwards. */
function liveAndLate(what: string, rollouts: readonly Rollout[]): Scenario[] {
  const common = {
    inputs: { resources: rollouts.map(({ kind, name }) => `${kind.toLowerCase()}/${name}`).join('\n') },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: all(...rollouts.map(stateOf)),
    withinSeconds: 30,
    after: (fixture: Fixture) => fixture.remove('PersistentVolume', fixture.namespace),
  }
  const withPods = rollouts.filter(({ kind }) => kind !== 'PersistentVolumeClaim').length
  return [
    {
      ...common,
      name: `times-of-live-${what}`,
      inputs: { ...common.inputs, 'await-change': '1m' },
      setup: (fixture) => prepare(fixture, rollouts),
      during: (fixture) => change(fixture, rollouts),
      takesSeconds: 40,
      check: (run, fixture) => timeFailures(run, fixture, false),
    },
    {
      ...common,
      name: `times-of-late-${what}`,
      inputs: { ...common.inputs, 'require-change': '10m' },
      setup: async (fixture) => {
        await prepare(fixture, rollouts)
        await change(fixture, rollouts)
        await fixture.until('the rollouts are complete', common.decidedBy)
        await fixture.wait(5)
      },
      takesSeconds: 45,
      check: (run, fixture) => [
        ...timeFailures(run, fixture, true),
        ...(JSON.parse(run.outputs['changed'] ?? '[]').length >= withPods ? [] : ['changed does not name each target']),
      ],
    },
  ]
}

/** The times of milestones by the objects: the same for a gate that watches the rollout and for one that begins afterwards. */
export const changeTimes: Scenario[] = [
  ...liveAndLate('creations', creations),
  ...liveAndLate('updates', updates),
  {
    name: 'not-changed',
    inputs: { resources: 'deployment/web', 'require-change': '3s' },
    setup: async (fixture) => {
      await fixture.rollOut(deployment('web'))
      await fixture.wait(5)
      await fixture.apply({ ...deployment('web'), metadata: { name: 'web', labels: { deploy: 'again' } } })
    },
    expect: { outcome: 'failed', reason: 'not-changed' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 12,
    contains: { summary: ['nothing was deployed'] },
  },
]
