import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { KubeObject, ObjectMeta, Pod, PodStatus } from '../../src/cluster/objects.ts'
import {
  added,
  allSynced,
  at,
  createTarget,
  createWorkload,
  creating,
  deleted,
  modified,
  progressing,
  run,
  synced,
} from '../kit/gate.ts'
import { condition, is, iso, make, podIs } from '../kit/objects.ts'

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

describe('pods that are evicted', () => {
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

  it('are logged at once, with the message of the kubelet', () => {
    expect(logged([first, ...evictions(3, web.pod)])).toEqual([
      `6 problem pod/web-1-0 was evicted and is replaced: ${words}`,
      `16 problem pod/web-1-1 was evicted and is replaced (2 pods so far): ${words}`,
      `26 problem pod/web-1-2 was evicted and is replaced (3 pods so far): ${words}`,
    ])
  })

  it('are the reason of a rollout that fails because of them', () => {
    expect(run([first, ...evictions(12, web.pod)])).toMatchObject({
      outcome: 'stalled',
      reason: 'evicted',
      message: expect.stringContaining('The node was low on resource: memory'),
    })
  })

  it('are logged briefly, however many they are', () => {
    expect(logged([first, ...evictions(60, web.pod)]).length).toBeLessThan(16)
  })

  it('count although their controller deletes them at once', () => {
    const target = createTarget({ kind: 'StatefulSet', name: 'db' })
    const set: KubeObject = {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'db', namespace: 'shop', uid: 'db-uid', generation: 1 },
      spec: { replicas: 1, selector: { matchLabels: { app: 'web' } } },
      status: { observedGeneration: 1, replicas: 1, updateRevision: 'db-1' },
    }
    const setPod = (status: PodStatus, metadata: Partial<ObjectMeta>) =>
      make.pod({ metadata: { labels: { app: 'web', 'controller-revision-hash': 'db-1' }, ...metadata }, status }, set)
    const steps = [1, 11].flatMap((second, index) => {
      const metadata = made('db-0', second, { uid: `db-0-${index}` })
      return [
        at(second, added(setPod(creating, metadata))),
        at(second + 5, modified(setPod(evicted(second + 5), metadata))),
        at(second + 6, deleted(setPod(evicted(second + 5), { ...metadata, deletionTimestamp: iso(second + 6) }))),
      ]
    })
    const lists = synced('StatefulSet', 'ControllerRevision', 'Pod', 'Event')
    const result = run([at(0, added(set), lists), ...steps], { targets: [target] })
    expect(result).toMatchObject({ outcome: 'stalled', reason: 'evicted' })
    expect(result.entries).toContainEqual(expect.stringMatching(/^16 problem .* \(2 pods so far\): /))
  })

  it('are not logged when that was before the gate began', () => {
    const long = web.pod(evicted(-3_600), made('web-1-z', -7_200))
    const { entries } = run([at(0, web.done, added(long), allSynced)])
    expect(entries).toEqual(['0 verdict revision 1, 1 of 1 pod available · 1 pod failed and is replaced (Evicted)'])
  })

  it('rank below the problem of the pod that replaces them', () => {
    const unschedulable = condition('PodScheduled', 'False', {
      message: '0/1 nodes are available: 1 Insufficient cpu.',
    })
    const steps = [
      first,
      ...evictions(1, web.pod),
      at(8, added(web.pod({ phase: 'Pending', conditions: [unschedulable] }, made('web-1-z', 8)))),
    ]
    expect(run(steps)).toMatchObject({ outcome: 'stalled', reason: 'unschedulable' })
  })

  it('are distinguished from pods that the kubelet refuses', () => {
    const message = "Pod was rejected: Node didn't have enough resource: cpu, requested: 9000, used: 0, capacity: 2000"
    const refused = web.pod({ phase: 'Failed', reason: 'OutOfcpu', message }, made('web-1-z', 1))
    expect(run([first, at(1, added(refused))])).toMatchObject({
      outcome: 'stalled',
      reason: 'pod-failed',
      message: `deployment/web: pod/web-1-z failed and is replaced: OutOfcpu: ${message}`,
    })
  })
})

describe('a slow problem', () => {
  const pulling = (message: string) =>
    podIs.unready({ state: is.waiting('ErrImagePull', message) }, { phase: 'Pending' })

  it('is logged a few times at most, however its text changes', () => {
    const letters = [...'abcdefghijklmnopqrstuvwxyz']
    const steps = letters.map((letter, index) =>
      at(1 + index, modified(web.pod(pulling(`the registry is unsure: ${letter.repeat(8)}`)))),
    )
    expect(logged([begin, ...steps]).length).toBeLessThan(8)
  })
})
