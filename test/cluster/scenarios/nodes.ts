import { deploymentComplete, secondsAfterStart } from '../facts.ts'
import { addNode, nodeLost, ownNodeToleration, podOnNode, removeNode, reportPod } from '../node.ts'
import { type ContainerOptions, daemonSet, deployment, imageName, slowStart, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

const kubectlWaitsBecause = 'it waits for the pods of nodes that are out of service, too'
const web = { inputs: { resources: 'daemonset/web' }, kubectl: 'daemonset/web' }
const isReady = { outcome: 'ready', reason: '' }

/** Nodes that come and go during a rollout. */
export const nodes: Scenario[] = [
  {
    ...web,
    kubectlWaitsBecause,
    name: 'node-cordoned',
    setup: async (stage) => {
      await addNode(stage)
      await applyToBoth(stage)
      await firstPodReady(stage)
    },
    during: async (stage) => {
      await stage.patch('Node', stage.namespace, { spec: { unschedulable: true } })
      stage.decide()
    },
    after: removeNode,
    expect: isReady,
    takesSeconds: 8,
  },
  {
    ...web,
    kubectlWaitsBecause,
    name: 'node-lost',
    setup: async (stage) => {
      await addNode(stage)
      await applyToBoth(stage)
    },
    during: async (stage) => {
      await firstPodReady(stage)
      await nodeLost(stage)
      stage.decide()
    },
    after: removeNode,
    expect: isReady,
    takesSeconds: 60,
  },
  {
    ...web,
    kubectlWaitsBecause,
    name: 'node-joined',
    setup: (stage) => applyToBoth(stage, { script: slowStart(8) }),
    during: async (stage) => {
      await stage.runningPod(imageName('v1'))
      await stage.pass(1)
      await addNode(stage)
      await podOnNode(stage)
      await firstPodReady(stage)
      stage.decide()
    },
    after: removeNode,
    expect: isReady,
    takesSeconds: 12,
  },
  {
    ...web,
    kubectlWaitsBecause,
    name: 'node-gone',
    setup: async (stage) => {
      await addNode(stage)
      await applyToBoth(stage)
      await firstPodReady(stage)
    },
    during: async (stage) => {
      await stage.pass(2)
      await removeNode(stage)
      stage.decide()
    },
    after: removeNode,
    expect: isReady,
    takesSeconds: 8,
  },
  {
    name: 'node-lost-with-a-pod',
    inputs: { resources: 'deployment/web' },
    kubectl: 'deployment/web',
    setup: async (stage) => {
      await addNode(stage)
      await stage.apply(deployment('web', {}, template('web', {}, onePodANode(stage))))
      await reportPod(stage, await podOnNode(stage), false)
    },
    after: removeNode,
    expect: isReady,
    decidedBy: deploymentComplete('web'),
    takesSeconds: 65,
  },
  {
    ...web,
    // The controller counts the lost node's pod as unavailable, and so updates no other one.
    name: 'node-lost-blocks-an-update',
    inputs: { ...web.inputs, 'stall-timeout': '20s' },
    setup: async (stage) => {
      await addNode(stage)
      await applyToBoth(stage)
      await reportPod(stage, await podOnNode(stage), true)
      await firstPodReady(stage)
      await nodeLost(stage)
      await applyToBoth(stage, { image: 'v2' })
    },
    after: removeNode,
    expect: { outcome: 'stalled', reason: 'pod-stuck' },
    decidedBy: secondsAfterStart(20),
    takesSeconds: 78,
  },
]

/** A DaemonSet whose pods go on the stage's own node, too. */
function applyToBoth(stage: Stage, options: ContainerOptions = {}): Promise<void> {
  return stage.apply(daemonSet('web', {}, template('web', options, { tolerations: [ownNodeToleration(stage)] })))
}

function firstPodReady(stage: Stage): Promise<unknown> {
  return stage.until('a pod is ready', (view) => view.get('DaemonSet', 'web')?.['status']?.numberReady)
}

/** One pod on a node with a kubelet and one on the stage's own, which is left a second after it is lost. */
function onePodANode(stage: Stage): object {
  return {
    tolerations: [
      ownNodeToleration(stage),
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
