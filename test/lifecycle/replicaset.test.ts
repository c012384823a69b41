import type { KubeObject, ReplicaSet } from '../../src/cluster/objects.ts'
import { replicaSetRule } from '../../src/lifecycle/workloads/replicaset.ts'

import { make, podIs } from '../kit/objects.ts'
import { read, requested } from '../kit/rule.ts'

const numbers = { observedGeneration: 1, replicas: 1, readyReplicas: 1, availableReplicas: 1 }
const own = make.replicaSet({ metadata: { ownerReferences: [] }, status: numbers })

test('a ReplicationController is assessed like a ReplicaSet, by its plain selector', () => {
  const controller: KubeObject = {
    ...own,
    apiVersion: 'v1',
    kind: 'ReplicationController',
    spec: { ...own.spec, selector: { app: 'web', tier: 'front' } },
  }
  expect(requested(replicaSetRule, controller as ReplicaSet).needed).toEqual([
    { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', labelSelector: 'app=web,tier=front' },
  ])
  const objects = [make.pod({ status: podIs.ready(1) }, own)]
  expect(read({ objects }, replicaSetRule, controller as ReplicaSet).status).toBe('ready')
})

test('an assessment of a ReplicaSet contains all milestones of its rule, in the same order', () => {
  expect(read({}, replicaSetRule, own).milestones.map(({ name }) => name)).toEqual([...replicaSetRule.milestones])
})
