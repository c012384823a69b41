import { podRule } from '../../src/lifecycle/workloads/pod.ts'
import { make } from '../kit/objects.ts'
import { requested } from '../kit/rule.ts'

test('the rule of a pod reads ReplicaSets only if a workload owns the pod', () => {
  const sets = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', namespace: 'shop' }]
  expect(requested(podRule, make.pod()).optional).toEqual(sets)
  expect(requested(podRule, make.barePod()).optional).toEqual([])
})
