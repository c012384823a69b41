import type { Fixture } from '../fixture.ts'
import { type ContainerOptions, daemonSet, deployment, imageName, slowStart, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'
import { addNode, nodeLost, ownNodeToleration, podOnNode, removeNode, reportPod } from '../simulated-node.ts'

/** Nodes that join, are cordoned or are lost during a rollout. */
export const nodes: Scenario[] = readScenarios('nodes', {
  'node-cordoned': {
    setup: async (fixture) => {
      await addNode(fixture)
      await applyToBoth(fixture)
      await firstPodReady(fixture)
    },
    during: async (fixture) => {
      await fixture.patch('Node', fixture.namespace, { spec: { unschedulable: true } })
      fixture.markDecided()
    },
    after: removeNode,
  },
  'node-lost': {
    setup: async (fixture) => {
      await addNode(fixture)
      await applyToBoth(fixture)
    },
    during: async (fixture) => {
      await firstPodReady(fixture)
      await nodeLost(fixture)
      fixture.markDecided()
    },
    after: removeNode,
  },
  'node-joined': {
    setup: (fixture) => applyToBoth(fixture, { script: slowStart(8) }),
    during: async (fixture) => {
      await fixture.runningPod(imageName('v1'))
      await fixture.wait(1)
      await addNode(fixture)
      await podOnNode(fixture)
      await firstPodReady(fixture)
      fixture.markDecided()
    },
    after: removeNode,
  },
  'node-gone': {
    setup: async (fixture) => {
      await addNode(fixture)
      await applyToBoth(fixture)
      await firstPodReady(fixture)
    },
    during: async (fixture) => {
      await fixture.wait(2)
      await removeNode(fixture)
      fixture.markDecided()
    },
    after: removeNode,
  },
  'node-lost-with-a-pod': {
    setup: async (fixture) => {
      await addNode(fixture)
      await fixture.apply(deployment('web', {}, template('web', {}, onePodANode(fixture))))
      await reportPod(fixture, await podOnNode(fixture), false)
    },
    after: removeNode,
  },
  'node-lost-blocks-an-update': {
    setup: async (fixture) => {
      await addNode(fixture)
      await applyToBoth(fixture)
      await reportPod(fixture, await podOnNode(fixture), true)
      await firstPodReady(fixture)
      await nodeLost(fixture)
      await applyToBoth(fixture, { image: 'v2' })
    },
    after: removeNode,
  },
})

/** Applies a DaemonSet whose pods also run on the simulated node. */
function applyToBoth(fixture: Fixture, options: ContainerOptions = {}): Promise<void> {
  return fixture.apply(daemonSet('web', {}, template('web', options, { tolerations: [ownNodeToleration(fixture)] })))
}

function firstPodReady(fixture: Fixture): Promise<unknown> {
  return fixture.until('a pod is ready', (informer) => informer.get('DaemonSet', 'web')?.['status']?.numberReady)
}

/** One pod on a node with a kubelet and one on the simulated node, evicted one second after the node is lost. */
function onePodANode(fixture: Fixture): object {
  return {
    tolerations: [
      ownNodeToleration(fixture),
      { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 },
    ],
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'DoNotSchedule',
        nodeTaintsPolicy: 'Honor',
        labelSelector: { matchLabels: { app: 'web' } },
      },
    ],
  }
}
