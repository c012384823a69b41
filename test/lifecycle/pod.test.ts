import { podRule } from '../../src/lifecycle/workloads/pod.ts'
import { make } from '../kit/objects.ts'

test('the rule of pods reads the ReplicaSets only of pods of a workload', () => {
  const sets = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', namespace: 'shop' }]
  expect(podRule.optionalRelatives?.(make.pod())).toEqual(sets)
  expect(podRule.optionalRelatives?.(make.barePod())).toEqual([])
})
