import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { PodStatus } from '../../src/cluster/objects.ts'
import { complete, crashLoopStatus, iso, podStatus, readyStatus, waiting } from '../lifecycle/builders.ts'
import { added, allSynced, at, createWorkload, deleted, modified, progressing, run } from './builders.ts'

/** A workload with a revision that has run: a scale to zero after that proves nothing about it, and hides what was seen. */
const web = createWorkload('web')
const scaled = web.deployment(complete(0, { observedGeneration: 2 }), {
  metadata: { generation: 2 },
  spec: { replicas: 0 },
})

function scaledToZero(second: number, last: PodStatus): FeedEvent[][] {
  const leaving = web.pod(last, { deletionTimestamp: iso(second + 1) })
  // Its end by SIGKILL is no death of the program.
  const killed = web.pod(crashLoopStatus(9, second + 1, 137), { deletionTimestamp: iso(second + 1) })
  return [
    at(second, modified(scaled, leaving)),
    at(second + 1, modified(killed), deleted(killed)),
    at(second + 2, modified({ ...scaled, metadata: { ...scaled.metadata, resourceVersion: '9' } })),
  ]
}

function first(status: PodStatus): FeedEvent[] {
  return at(0, added(web.deployment(progressing), web.replicaSet, web.pod(status)), allSynced)
}

const crashes = [2, 3].map((nth) => at(nth * 5, modified(web.pod(crashLoopStatus(nth, nth * 5)))))

describe('a Deployment that is scaled to zero', () => {
  it('fails if its container has died for the third time, 30 s after its first death', () => {
    const steps = [first(crashLoopStatus(1, 0)), ...crashes, ...scaledToZero(20, crashLoopStatus(3, 15))]
    const { outcome, reason, seconds } = run(steps)
    expect({ outcome, reason, seconds }).toEqual({ outcome: 'failed', reason: 'crash-loop', seconds: 30 })
  })

  it('is ready with a warning if its last pod had a problem that was not proven yet', () => {
    const steps = [first(crashLoopStatus(1, 0)), ...scaledToZero(5, crashLoopStatus(1, 0))]
    const { outcome, timeline } = run(steps)
    expect(outcome).toBe('ready')
    expect(timeline.targets[0]?.warnings).toEqual([
      'the last pod of this version did not run: container app of pod/web-1-a exited with code 3',
    ])
  })

  it('is ready with a warning if its last pod had no image', () => {
    const missing = podStatus({ state: waiting('ErrImagePull', 'manifest unknown') }, { phase: 'Pending' })
    const { outcome, timeline } = run([first(missing), ...scaledToZero(5, missing)])
    expect({ outcome, warnings: timeline.targets[0]?.warnings?.length }).toEqual({ outcome: 'ready', warnings: 1 })
  })

  it('is ready without a warning if a pod of this version was ready, or none has run', () => {
    const ran = run([first(readyStatus(-60)), ...scaledToZero(5, readyStatus(-60))])
    const never = run([at(0, added(scaled, web.replicaSet), allSynced)])
    for (const { outcome, entries, timeline } of [ran, never]) {
      expect({ outcome, warnings: timeline.targets[0]?.warnings }).toEqual({ outcome: 'ready', warnings: undefined })
      expect(entries.join()).toContain('revision 1, scaled to zero: no pod runs this version')
    }
  })
})
