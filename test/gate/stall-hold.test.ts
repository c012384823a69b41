import type { Observation } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { condition, createPod, iso, podStatus, running } from '../lifecycle/builders.ts'
import { added, at, createTarget, modified, type RunOptions, run, synced } from './builders.ts'

const target = createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' })
const selector = { matchLabels: { job: 'migrate' } }

function job(status: object): KubeObject {
  const metadata = { name: 'migrate', namespace: 'shop', uid: 'job-uid', generation: 1, creationTimestamp: iso(0) }
  return { apiVersion: 'batch/v1', kind: 'Job', metadata, spec: { selector, completions: 1 }, status }
}

const pod = createPod(
  {
    metadata: { labels: { job: 'migrate' } },
    spec: { restartPolicy: 'Never' },
    status: podStatus({ state: running(1), ready: true, started: true }),
  },
  job({}),
)
const jobsSynced: Observation = { type: 'SYNCED', apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop' }

describe('a Job of two minutes under a stall clock of one', () => {
  const steps = [
    at(0, added(job({ active: 1 }), pod), jobsSynced, synced('Pod', 'Event')),
    at(120, modified(job({ succeeded: 1, conditions: [condition('Complete', 'True')] }))),
  ]
  const minute: RunOptions = { targets: [target], settings: { stallTimeoutMs: 60_000 } }

  it('is given its time while its container runs', () => {
    expect(run(steps, minute)).toMatchObject({ outcome: 'ready', seconds: 120 })
  })

  it('is ended by that clock when the user wrote it himself', () => {
    const literal = { ...minute, settings: { ...minute.settings, stallIsLiteral: true } }
    expect(run(steps, literal)).toMatchObject({ outcome: 'stalled', reason: 'no-progress', seconds: 60 })
  })

  it('is ended by it when the container dies and nothing comes after', () => {
    const dead = at(30, modified({ ...pod, status: { ...pod.status, phase: 'Failed' } }, job({ failed: 1 })))
    expect(run([...steps.slice(0, 1), dead], minute)).toMatchObject({ outcome: 'stalled', seconds: 90 })
  })
})
