import { createTarget, runUntil } from '../kit/gate.ts'
import { make, podIs } from '../kit/objects.ts'
import { tape } from '../kit/tape.ts'

function permutations<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length < 2) return [items]
  return items.flatMap((item, index) =>
    permutations(items.filter((_, other) => other !== index)).map((rest) => [item, ...rest]),
  )
}

/** A Deployment whose second revision was just applied: its old pod serves, the new one crashes. */
const status = { observedGeneration: 2, replicas: 2, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1 }
const objects = {
  service: { kind: 'Service', metadata: { name: 'web' }, spec: { ports: [{ port: 80, targetPort: 8080 }] } },
  slice: { ...make.slice([make.pod()]) },
  v2: { metadata: { name: 'web', generation: 2 }, template: { image: 'acme/web:v2' }, status },
  'web-1': { kind: 'ReplicaSet', metadata: { creationTimestamp: '2025-01-15T11:00:00Z' } },
  'web-2': { kind: 'ReplicaSet', owner: 'v2' },
  old: { kind: 'Pod', owner: 'web-1', metadata: { name: 'web-1-a' }, status: podIs.ready(-3_500) },
  new: { kind: 'Pod', owner: 'web-2', metadata: { name: 'web-2-a' }, status: podIs.looping(1, -1) },
}
const lists = [
  'service, list Service',
  'slice, list EndpointSlice',
  'old, new, list Pod',
  'v2, list Deployment',
  'web-1, web-2, list ReplicaSet',
]
const serviceTarget = createTarget({ apiVersion: 'v1', kind: 'Service' })

it.each([
  ['first', [serviceTarget, createTarget()]],
  ['last', [createTarget(), serviceTarget]],
])('a Service that is the %s target is never ready with endpoints of the older revision', (_, targets) => {
  for (const order of permutations(lists)) {
    const steps = ['list StatefulSet DaemonSet Event', ...order].map((step, index) => `${index / 10} ${step}`)
    const { entries } = runUntil(5, tape(steps.join('; '), objects), { targets, live: true })
    expect(entries.filter((entry) => entry.includes('verdict') && entry.includes('endpoint'))).toEqual([])
  }
})
