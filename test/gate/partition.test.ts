import type { Observation } from '../../src/cluster/feed.ts'
import type { Service, StatefulSet } from '../../src/cluster/objects.ts'
import { added, at, createTarget, run, synced } from '../kit/gate.ts'
import { make, podIs } from '../kit/objects.ts'

const labels = { app: 'web', 'controller-revision-hash': 'db-old' }
const set: StatefulSet = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db', namespace: 'shop', uid: 'db-uid', generation: 2 },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: make.template(),
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
  },
  status: {
    observedGeneration: 2,
    replicas: 1,
    readyReplicas: 1,
    currentReplicas: 1,
    currentRevision: 'db-old',
    updateRevision: 'db-new',
  },
}
const pod = make.pod({ metadata: { name: 'db-0', labels }, status: podIs.ready(-90) }, set)
const service: Service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'db', namespace: 'shop', uid: 'service-uid' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
}
const slice = make.slice([pod], true, 80, 'db')

test('a Service is ready by old pods that the partition of its gated StatefulSet keeps', () => {
  const targets = [
    createTarget({ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db' }),
    createTarget({ apiVersion: 'v1', kind: 'Service', name: 'db' }),
  ]
  const apps = ['StatefulSet', 'Deployment', 'ControllerRevision'].map((kind) => ({ apiVersion: 'apps/v1', kind }))
  const slices = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' }
  const lists = [...apps, slices].map((list): Observation => ({ type: 'SYNCED', namespace: 'shop', ...list }))
  const steps = [at(0, added(set, pod, service, slice), synced('Pod', 'Service', 'Event'), lists)]
  expect(run(steps, { targets })).toMatchObject({ outcome: 'ready', seconds: 0 })
})
