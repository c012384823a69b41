import { ApiError, type KubeObject } from '../api.ts'
import { isComplete } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { coreObject, deployment, imageName, slowStart, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'
import { addNode, ownNodeToleration, removeNode, reportEviction, simulatedLabel } from '../simulated-node.ts'

/** Rollouts whose pods are not scheduled, not created, preempted or evicted. */
export const placement: Scenario[] = readScenarios('placement', {
  'unschedulable-taint': {
    setup: async (fixture) => {
      await addNode(fixture)
      await fixture.apply(deployment('web', {}, template('web', {}, { nodeSelector: { pool: fixture.namespace } })))
    },
    after: removeNode,
  },
  quota: {
    setup: async (fixture) => {
      await fixture.apply(coreObject('ResourceQuota', 'small', { spec: { hard: { pods: '1' } } }))
      await fixture.until(
        'the quota has a status',
        (informer) => informer.get('ResourceQuota', 'small')?.['status']?.hard,
      )
      await fixture.apply(deployment('web'))
    },
  },
  'quota-raised': {
    decidedBy: (informer) =>
      informer.get('ResourceQuota', 'small')?.['status']?.hard?.pods === '20' ? Date.now() : undefined,
  },
  preempted: {
    setup: async (fixture) => {
      await addSlots(fixture, 2)
      await fixture.apply(priorityClass(fixture, 'low', 1), priorityClass(fixture, 'high', 1000))
      await fixture.apply(prioritised(fixture, 'web', 'low', 8))
    },
    during: async (fixture) => {
      await fixture.runningPod(imageName('v1'))
      await fixture.apply(prioritised(fixture, 'urgent', 'high', 0, { replicas: 1 }))
      await fixture.until('the urgent pod is ready', (informer) => isComplete(informer.get('Deployment', 'urgent')))
      await fixture.wait(3)
      await fixture.delete('Deployment', 'urgent')
    },
    after: async (fixture) => {
      await removeSlots(fixture)
      for (const level of ['low', 'high']) await fixture.remove('PriorityClass', `${fixture.namespace}-${level}`)
    },
  },
  'evicted-again-and-again': {
    setup: async (fixture) => {
      await addNode(fixture)
      const place = { nodeSelector: { pool: fixture.namespace }, tolerations: [ownNodeToleration(fixture)] }
      await fixture.apply(deployment('web', {}, { replicas: 1, ...template('web', {}, place) }))
    },
    during: async (fixture) => {
      for (let count = 0; count < 4; count++) {
        const pod = await fixture.until('the next pod', (informer) =>
          informer
            .all('Pod')
            .find(({ spec, status }) => spec.nodeName === fixture.namespace && status.phase === 'Pending'),
        )
        await fixture.wait(1)
        const { name } = pod.metadata
        await reportEviction(fixture, name)
        await fixture.until('the pod has ended', (informer) => informer.get('Pod', name)?.['status'].phase === 'Failed')
      }
    },
    after: removeNode,
  },
  evicted: {
    during: async (fixture) => {
      const { metadata } = await fixture.runningPod(imageName('v2'))
      const old = fixture.informer.all('Pod').find(({ spec }) => spec.containers[0].image === imageName('v1'))
      if (await evict(fixture, old?.metadata.name ?? ''))
        throw new Error('the PodDisruptionBudget allowed the eviction of an old pod')
      await fixture.delete('PodDisruptionBudget', 'web')
      if (!(await evict(fixture, metadata.name))) throw new Error('the new pod was not evicted')
    },
  },
})

/** An extended resource that only the pods of this fixture request. */
const slotsOf = ({ namespace }: Fixture) => `tests.example.com/${namespace}`

/** Adds slots to a node that has a kubelet: https://kubernetes.io/docs/tasks/administer-cluster/extended-resource-node/ */
async function addSlots(fixture: Fixture, count: number): Promise<void> {
  const slots = { [slotsOf(fixture)]: `${count}` }
  await fixture.api.patch(await kubeletNodeStatusPath(fixture), { status: { capacity: slots, allocatable: slots } })
}

async function removeSlots(fixture: Fixture): Promise<void> {
  const gone = { [slotsOf(fixture)]: null }
  await fixture.api.patch(await kubeletNodeStatusPath(fixture), { status: { capacity: gone, allocatable: gone } })
}

async function kubeletNodeStatusPath(fixture: Fixture): Promise<string> {
  const real = (await fixture.api.list('/api/v1/nodes')).filter(({ metadata }) => !metadata.labels?.[simulatedLabel])
  const [first] = real.map(({ metadata }) => metadata.name).sort()
  return `${fixture.path('Node', first ?? '')}/status`
}

function priorityClass({ namespace }: Fixture, level: string, value: number): KubeObject {
  return {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: `${namespace}-${level}` },
    value,
  }
}

/** A Deployment whose pods need one slot each. */
function prioritised(
  fixture: Fixture,
  name: string,
  level: string,
  startSeconds: number,
  spec: object = {},
): KubeObject {
  const resources = { limits: { [slotsOf(fixture)]: '1' } }
  const pods = { priorityClassName: `${fixture.namespace}-${level}` }
  return deployment(name, {}, { ...template(name, { resources, script: slowStart(startSeconds) }, pods), ...spec })
}

/** Evicts a pod as `kubectl drain` does; returns whether the API server allowed it. */
async function evict(fixture: Fixture, name: string): Promise<boolean> {
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } }
  try {
    await fixture.api.create(`${fixture.path('Pod', name)}/eviction`, eviction)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.status === 429) return false
    throw error
  }
}
