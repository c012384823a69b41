import { readFileSync } from 'node:fs'
import type { ActionRun } from '../../support/runner.ts'
import type { KubeObject } from '../api.ts'
import { all, conditionTrue, deploymentComplete, setComplete } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { daemonSet, deployment, job, pod, replicaSet, statefulSet } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

/** An object of each kind whose milestones objects show. */
const rollout: readonly KubeObject[] = [
  deployment('web'),
  statefulSet('db', {}, { replicas: 1 }),
  daemonSet('agent'),
  replicaSet('set'),
  pod('once'),
  job('migrate', 'sleep 2'),
]

const kinds = ['deployment/web', 'statefulset/db', 'daemonset/agent', 'replicaset/set', 'pod/once', 'job/migrate']
const isComplete = all(
  deploymentComplete('web'),
  setComplete('StatefulSet', 'db', 1),
  setComplete('DaemonSet', 'agent', 1),
  conditionTrue('Pod', 'once', 'Ready'),
  conditionTrue('Job', 'migrate', 'Complete'),
)

/** Seconds of the API's timestamps, and of the clocks of the nodes. */
const unitMs = 1_000

interface ReportedMilestone {
  name: string
  at?: string
  source?: string
}

/** The fields of objects that show when milestones were reached. */
interface Dated {
  readonly metadata: {
    readonly uid?: string
    readonly creationTimestamp?: string
    readonly ownerReferences?: readonly { readonly uid: string }[]
    readonly managedFields?: readonly { readonly subresource?: string; readonly time?: string }[]
  }
  readonly status?: {
    readonly startTime?: string
    readonly conditions?: readonly { readonly type: string; readonly lastTransitionTime?: string }[]
  }
  readonly involvedObject?: { readonly uid?: string }
  readonly reason?: string
  readonly firstTimestamp?: string
}

/** The moments that the objects of a target show, by milestone, read from the API apart from the gate. */
function shownBy({ informer }: Fixture, kind: string, name: string): Record<string, number> {
  const object: Dated = informer.get(kind, name) ?? { metadata: {} }
  const every = (of: string): Dated[] => informer.all(of)
  const owned = ({ metadata: { uid } }: Dated, of: string) =>
    every(of).filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid))
  const last = (moments: readonly (string | undefined)[]) =>
    Math.max(...moments.map((moment = '') => Date.parse(moment)))
  const since = ({ status }: Dated, type: string) =>
    status?.conditions?.find((each) => each.type === type)?.lastTransitionTime
  const created = last([object.metadata.creationTimestamp])
  if (kind === 'Job')
    return { created, started: last([object.status?.startTime]), complete: last([since(object, 'Complete')]) }
  const written = (object.metadata.managedFields ?? []).filter(({ subresource }) => subresource === undefined)
  const [set] = kind === 'Deployment' ? owned(object, 'ReplicaSet') : []
  const pods = kind === 'Pod' ? [object] : owned(set ?? object, 'Pod')
  const firstEvent = ({ metadata: { uid } }: Dated, reason: string) =>
    every('Event')
      .filter((event) => event.involvedObject?.uid === uid && event.reason === reason)
      .map(({ firstTimestamp }) => firstTimestamp)
      .sort()[0]
  const ofPods = (read: (of: Dated) => string | undefined) => last(pods.map(read))
  return {
    created,
    observed: last(written.map(({ time }) => time)),
    replicaset: last([set?.metadata.creationTimestamp]),
    scheduled: ofPods((each) => since(each, 'PodScheduled')),
    started: ofPods((each) => firstEvent(each, 'Started')),
    ready: ofPods((each) => since(each, 'Ready')),
  }
}

/** One sentence for each milestone that is more than a second from what its object shows, or that should have a time and has none. */
function timeFailures(run: ActionRun, fixture: Fixture, mustBeKnown: boolean): string[] {
  const report = JSON.parse(readFileSync(run.outputs['report'] ?? '', 'utf8'))
  return report.targets.flatMap(
    ({ kind, name, milestones }: { kind: string; name: string; milestones: ReportedMilestone[] }) => {
      const shown = shownBy(fixture, kind, name)
      return milestones.flatMap(({ name: milestone, at, source }) => {
        const moment = shown[milestone]
        if (at === undefined || moment === undefined || !Number.isFinite(moment)) return []
        const differs = Math.abs(Date.parse(at) - moment) > unitMs
        if (source === undefined) return mustBeKnown ? [`${kind} ${milestone} has no time of its object`] : []
        return differs
          ? [`${kind} ${milestone} is at ${at}, and its object shows ${new Date(moment).toISOString()}`]
          : []
      })
    },
  )
}

/** The times of milestones by the objects: the same for a gate that watches the rollout and for one that begins afterwards. */
export const changeTimes: Scenario[] = [
  {
    name: 'times-of-a-live-gate',
    inputs: { resources: kinds.join('\n') },
    setup: (fixture) => fixture.apply(...rollout),
    expect: { outcome: 'ready', reason: '' },
    decidedBy: isComplete,
    takesSeconds: 20,
    check: (run, fixture) => timeFailures(run, fixture, false),
  },
  {
    name: 'times-of-a-late-gate',
    inputs: { resources: kinds.join('\n'), 'require-change': '10m' },
    setup: async (fixture) => {
      await fixture.apply(...rollout)
      await fixture.informer.until('the rollout is complete', 60, isComplete)
      await fixture.wait(5)
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: isComplete,
    takesSeconds: 25,
    check: (run, fixture) => [
      ...timeFailures(run, fixture, true),
      ...(JSON.parse(run.outputs['changed'] ?? '[]').length === kinds.length
        ? []
        : ['changed does not name each target']),
    ],
  },
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
