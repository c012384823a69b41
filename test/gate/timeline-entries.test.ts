import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { ObjectMeta, Pod, PodStatus } from '../../src/cluster/objects.ts'
import { added, allSynced, at, createWorkload, creating, modified, progressing, run } from '../kit/gate.ts'
import { condition, is, iso, podIs } from '../kit/objects.ts'

const web = createWorkload('web')
const begin = at(0, web.creating, allSynced)

/** The problems that are logged. */
function logged(steps: readonly (readonly FeedEvent[])[]): readonly string[] {
  return run(steps).entries.filter((entry) => entry.includes(' problem '))
}

const words = 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 84Mi'
const pressure = `${words}. `
const evicted = (second: number, message = pressure): PodStatus => ({
  phase: 'Failed',
  reason: 'Evicted',
  message,
  conditions: [condition('DisruptionTarget', 'True', { lastTransitionTime: iso(second) })],
})
const made = (name: string, second: number, rest: Partial<ObjectMeta> = {}) => ({
  name,
  creationTimestamp: iso(second),
  ...rest,
})

describe('the eviction of pods', () => {
  /** A pod every ten seconds, which is evicted five seconds later. */
  function evictions(count: number, pod: (status: PodStatus, metadata: Partial<ObjectMeta>) => Pod) {
    return Array.from({ length: count }, (_, index) => {
      const second = 1 + index * 10
      const name = made(`web-1-${index}`, second)
      return [
        ...at(second, added(pod(creating, name))),
        ...at(second + 5, modified(pod(evicted(second + 5), name))),
      ] satisfies FeedEvent[]
    })
  }
  const first = at(0, added(web.deployment(progressing), web.replicaSet), allSynced)

  it('is logged at once with the message of the kubelet', () => {
    expect(logged([first, ...evictions(3, web.pod)])).toEqual([
      `6 problem pod/web-1-0 was evicted and is replaced: ${words}`,
      `16 problem pod/web-1-1 was evicted and is replaced (2 pods so far): ${words}`,
      `26 problem pod/web-1-2 was evicted and is replaced (3 pods so far): ${words}`,
    ])
  })

  it('is the reason if the rollout stalls because of it', () => {
    expect(run([first, ...evictions(12, web.pod)])).toMatchObject({
      outcome: 'stalled',
      reason: 'evicted',
      message: expect.stringContaining('The node was low on resource: memory'),
    })
  })

  it('is logged briefly, however many pods are evicted', () => {
    expect(logged([first, ...evictions(60, web.pod)]).length).toBeLessThan(16)
  })
})

describe('a problem that does not fail its target', () => {
  const pulling = (message: string) =>
    podIs.unready({ state: is.waiting('ErrImagePull', message) }, { phase: 'Pending' })

  it('is logged only a few times, however often its text changes', () => {
    const letters = [...'abcdefghijklmnopqrstuvwxyz']
    const steps = letters.map((letter, index) =>
      at(1 + index, modified(web.pod(pulling(`the registry is unsure: ${letter.repeat(8)}`)))),
    )
    expect(logged([begin, ...steps]).length).toBeLessThan(8)
  })
})
