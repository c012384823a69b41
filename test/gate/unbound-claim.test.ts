import { added, allSynced, at, createWorkload, progressing, run } from '../kit/gate.ts'
import { condition, iso, make } from '../kit/objects.ts'

const web = createWorkload('web')
const unbound = '0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.'
const waiting = web.pod({
  phase: 'Pending',
  conditions: [condition('PodScheduled', 'False', { message: unbound, lastTransitionTime: iso(0) })],
})
const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
const pod = { ...waiting, spec: { ...waiting.spec, volumes } }
const claim = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data', namespace: 'shop', uid: 'd' },
}
const message = 'no persistent volumes available for this claim and no storage class is set'

it('a pod that waits for its claim is explained by an event about the claim that comes later', () => {
  const event = make.event(claim, { reason: 'FailedBinding', message, type: 'Normal', lastTimestamp: iso(5) })
  const {
    entries,
    reason,
    message: words,
  } = run([at(0, added(web.deployment(progressing), web.replicaSet, pod), allSynced), at(5, added(event))])
  expect(reason).toBe('unschedulable')
  expect(words).toContain(message)
  expect(entries.find((entry) => entry.startsWith('5 problem '))).toContain(message)
})
