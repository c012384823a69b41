import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { PodStatus } from '../../src/cluster/objects.ts'
import { added, allSynced, at, createWorkload, deleted, modified, progressing, run } from '../kit/gate.ts'
import { complete, is, iso, podIs } from '../kit/objects.ts'

const web = createWorkload('web')
const scaled = web.deployment(complete(0, { observedGeneration: 2 }), {
  metadata: { generation: 2 },
  spec: { replicas: 0 },
})

function scaledToZero(second: number, last: PodStatus): FeedEvent[][] {
  const leaving = web.pod(last, { deletionTimestamp: iso(second + 1) })
  // Its end by SIGKILL is no death of the program.
  const killed = web.pod(podIs.looping(9, second + 1, 137), { deletionTimestamp: iso(second + 1) })
  return [
    at(second, modified(scaled, leaving)),
    at(second + 1, modified(killed), deleted(killed)),
    at(second + 2, modified({ ...scaled, metadata: { ...scaled.metadata, resourceVersion: '9' } })),
  ]
}

function first(status: PodStatus): FeedEvent[] {
  return at(0, added(web.deployment(progressing), web.replicaSet, web.pod(status)), allSynced)
}

describe('a Deployment that is scaled to zero', () => {
  it.each([
    ['was ready', podIs.ready(-60)],
    ['crashed three times', podIs.looping(3, 15)],
    ['had no image', podIs.unready({ state: is.waiting('ErrImagePull', 'manifest unknown') }, { phase: 'Pending' })],
  ])('is ready, and its message states that no pod runs this version, after its last pod %s', (_, status) => {
    const { outcome, entries, record } = run([first(status), ...scaledToZero(20, status)])
    expect({ outcome, warnings: record.targets[0]?.warnings }).toEqual({ outcome: 'ready', warnings: undefined })
    expect(entries.join()).toContain('revision 1, scaled to zero: no pod runs this version')
  })

  it('is ready if it never had a pod', () => {
    const { outcome, entries } = run([at(0, added(scaled, web.replicaSet), allSynced)])
    expect(outcome).toBe('ready')
    expect(entries.join()).toContain('revision 1, scaled to zero: no pod runs this version')
  })
})
