import { deploymentRule } from '../../src/lifecycle/workloads/deployment.ts'
import { make } from '../kit/objects.ts'
import { read, requested } from '../kit/rule.ts'

test('an assessment of a Deployment contains all milestones of its rule, in the same order', () => {
  const { milestones } = read({}, deploymentRule, make.deployment())
  expect(milestones.map(({ name }) => name)).toEqual([...deploymentRule.milestones])
})

test('the rule of a Deployment reads its ReplicaSets and pods by its selector', () => {
  expect(requested(deploymentRule, make.deployment()).needed).toEqual([
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', namespace: 'shop', labelSelector: 'app=web' },
    { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', labelSelector: 'app=web' },
  ])
})
