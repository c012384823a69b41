import fc from 'fast-check'
import { createChecks } from '../kit/checks.ts'
import { createGate, createTarget } from '../kit/gate.ts'
import { moment } from '../kit/objects.ts'
import { runs } from '../support/thorough.ts'
import { SimulatedCluster } from './simulation/cluster.ts'
import { replaceNode, type Step, workloads } from './simulation/happenings.ts'

const programs = { before: { readyAfter: 2 }, now: { readyAfter: 3 } }

const node = fc.constantFrom('node-1', 'node-2', 'node-3')
const changes: fc.Arbitrary<Step['happens']> = fc.oneof(
  fc.integer({ min: 1, max: 6 }).map((replicas) => (cluster: SimulatedCluster) => cluster.scale(replicas)),
  fc.tuple(fc.constantFrom('drain', 'lose', 'shutDown'), node).map(([how, name]) => replaceNode(how, name)),
  fc.nat({ max: 8 }).map((index) => (cluster: SimulatedCluster) => cluster.evict(index)),
)
const updates = fc.record({
  kind: fc.constantFrom('Deployment', 'StatefulSet', 'DaemonSet'),
  eachPod: fc.boolean(),
  replicas: fc.integer({ min: 1, max: 5 }),
  steps: fc.array(fc.record({ after: fc.integer({ min: 1, max: 60 }), happens: changes }), { maxLength: 4 }),
})

/**
 * Gates a rolling update while every pod, old and new, sends answers that nobody asked for, and answers what it is asked.
 * Returns the images of the pods whose questions were asked and whose answers were accepted.
 */
function gateUpdate({ kind, eachPod, replicas, steps }: typeof updates extends fc.Arbitrary<infer T> ? T : never) {
  const { create } = workloads[kind] as (typeof workloads)[string]
  const cluster = new SimulatedCluster(create, programs, 'now', { replicas })
  const targets = [createTarget({ kind })]
  const line = `${kind.toLowerCase()}/web:8080 GET /version${eachPod ? ' --each-pod' : ''}`
  const gate = createGate([], {
    targets,
    live: true,
    afterReady: createChecks({ 'http-checks': line, hold: '20s' }, targets),
  })
  const imageOf = new Map<string | undefined, string>()
  const asked = new Set<string | undefined>()
  const accepted = new Set<string | undefined>()
  let handled = 0
  const observe = () => {
    gate.handle(cluster.events.slice(handled))
    handled = cluster.events.length
    gate.advance(moment(cluster.now))
  }
  const answer = (name: string) => {
    const event = { type: 'ANSWER', check: 0, status: 200, namespace: 'shop', pod: name } as const
    gate.handle([{ ...event, at: moment(cluster.now) }])
    for (const { pod } of gate.record().httpChecks?.[0]?.answers ?? []) accepted.add(imageOf.get(pod))
  }
  const left = steps.toSorted((a, b) => a.after - b.after)
  observe()
  while (gate.verdict === undefined) {
    cluster.tick()
    observe()
    while (gate.verdict === undefined && (left[0]?.after ?? Infinity) <= cluster.now) left.shift()?.happens(cluster)
    for (const pod of cluster.pods.pods) {
      const { name } = pod.object.metadata
      // A pod of a StatefulSet keeps its name: an answer of its predecessor is ended with its question.
      const image = pod.object.spec?.containers?.[0]?.image ?? ''
      imageOf.set(name, image)
      answer(name)
    }
    for (const question of gate.questions) {
      asked.add(imageOf.get(question.pod))
      if (question.at <= moment(cluster.now)) answer(question.pod)
    }
    if (gate.verdict === undefined) observe()
  }
  return { outcome: gate.verdict.outcome, reason: gate.verdict.reason, asked: [...asked], accepted: [...accepted] }
}

it('in any rolling update, no old pod is requested and no answer of an old pod is accepted', () => {
  fc.assert(
    fc.property(updates, (update) => {
      const { outcome, reason, asked, accepted } = gateUpdate(update)
      const ofOld = [...asked, ...accepted].filter((image) => image !== 'acme/web:now')
      expect(ofOld).toEqual([])
      expect(reason === 'not-held' ? 'ready' : outcome).toBe('ready')
    }),
    runs(6),
  )
})
