import { podRule } from '../../src/lifecycle/workloads/pod.ts'
import { make } from '../kit/objects.ts'
import { requested } from '../kit/rule.ts'

test('the rule of pods reads the ReplicaSets only of pods of a workload', () => {
  const sets = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', namespace: 'shop' }]
  expect(requested(podRule, make.pod()).optional).toEqual(sets)
  expect(requested(podRule, make.barePod()).optional).toEqual([])
})
