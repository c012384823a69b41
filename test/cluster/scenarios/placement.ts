import { ApiError, type KubeObject } from '../api.ts'
import { until } from '../command.ts'
import { creationRefused, deploymentComplete, secondsAfterStart } from '../facts.ts'
import { daemonSet, deployment, plain, pod, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web' }
const slowly = { ...web, inputs: { ...web.inputs, 'stall-timeout': '5s' }, takesSeconds: 8 }

/** Rollouts whose pods are not let in, or not everywhere. */
export const placement: Scenario[] = [
  {
    ...slowly,
    name: 'unschedulable-selector',
    setup: (stage) => stage.apply(deployment('web', {}, template('web', {}, { nodeSelector: { disk: 'ssd' } }))),
    expect: { outcome: 'stalled', reason: 'unschedulable' },
    decidedBy: secondsAfterStart(5),
  },
  {
    ...slowly,
    name: 'unschedulable-taint',
    setup: async (stage) => {
      await addNode(stage)
      await stage.apply(deployment('web', {}, template('web', {}, { nodeSelector: { pool: stage.namespace } })))
    },
    after: removeNode,
    expect: { outcome: 'stalled', reason: 'unschedulable' },
    decidedBy: secondsAfterStart(5),
    check: ({ outputs }) =>
      outputs['message']?.includes('taint') ? [] : [`the message does not name the taint: ${outputs['message']}`],
  },
  {
    ...slowly,
    name: 'unschedulable-cpu',
    setup: (stage) => stage.apply(deployment('web', { resources: { requests: { cpu: '900' } } })),
    expect: { outcome: 'stalled', reason: 'unschedulable' },
    decidedBy: secondsAfterStart(5),
  },
  {
    ...slowly,
    name: 'quota',
    setup: async (stage) => {
      await stage.apply(plain('ResourceQuota', 'small', { spec: { hard: { pods: '1' } } }))
      await stage.until('the quota counts', (view) => view.get('ResourceQuota', 'small')?.['status']?.hard)
      await stage.apply(deployment('web'))
    },
    expect: { outcome: 'stalled', reason: 'quota-exceeded' },
    decidedBy: secondsAfterStart(5),
  },
  {
    ...web,
    name: 'policy-denies',
    setup: async (stage) => {
      await denyPods(stage)
      await stage.apply(deployment('web'))
    },
    after: allowPods,
    expect: { outcome: 'failed', reason: 'admission-denied' },
    decidedBy: creationRefused('denied request', 2),
    takesSeconds: 8,
  },
  {
    name: 'policy-denies-daemonset',
    inputs: { resources: 'daemonset/web' },
    kubectl: 'daemonset/web',
    setup: async (stage) => {
      await denyPods(stage)
      await stage.apply(daemonSet('web'))
    },
    after: allowPods,
    expect: { outcome: 'failed', reason: 'admission-denied' },
    decidedBy: creationRefused('denied request', 2),
    takesSeconds: 8,
  },
  {
    ...web,
    name: 'service-account-late',
    setup: (stage) => stage.apply(deployment('web', {}, template('web', {}, { serviceAccountName: 'deployer' }))),
    during: async (stage) => {
      await stage.pass(20)
      await stage.apply(plain('ServiceAccount', 'deployer'))
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 45,
  },
  {
    name: 'node-cordoned',
    inputs: { resources: 'daemonset/web' },
    kubectl: 'daemonset/web',
    kubectlWaitsBecause: 'it waits for the pods of nodes that were taken out of service, too',
    setup: async (stage) => {
      await addNode(stage)
      const tolerations = [{ key: 'dedicated', value: stage.namespace, operator: 'Equal' }]
      await stage.apply(daemonSet('web', {}, template('web', {}, { tolerations })))
      await stage.until(
        'the other node’s pod is ready',
        (view) => view.get('DaemonSet', 'web')?.['status']?.numberReady,
      )
    },
    during: async (stage) => {
      await stage.patch('Node', stage.namespace, { spec: { unschedulable: true } })
      stage.decide()
    },
    after: removeNode,
    expect: { outcome: 'ready', reason: '' },
    takesSeconds: 8,
  },
]

/** A node of the stage's own, without a kubelet: what is scheduled there never starts. Its taint keeps all others off. */
async function addNode(stage: Stage): Promise<void> {
  const name = stage.namespace
  const labels = { pool: name }
  const taint = { key: 'dedicated', value: name, effect: 'NoSchedule' }
  await stage.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, spec: { taints: [taint] } })
  const capacity = { cpu: '4', memory: '8Gi', pods: '10' }
  const conditions = [{ type: 'Ready', status: 'True', reason: 'Tests', lastHeartbeatTime: new Date().toISOString() }]
  await stage.api.patch(`${stage.path('Node', name)}/status`, {
    status: { capacity, allocatable: capacity, conditions },
  })
}

async function removeNode(stage: Stage): Promise<void> {
  await stage.delete('Node', stage.namespace)
}

/** A policy that denies every pod of the namespace, once the API server enforces it. */
async function denyPods(stage: Stage): Promise<void> {
  const name = stage.namespace
  const admission = (kind: string, spec: object): KubeObject => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name },
    spec,
  })
  const pods = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }
  await stage.apply(
    admission('ValidatingAdmissionPolicy', {
      matchConstraints: { resourceRules: [pods] },
      validations: [{ expression: 'false', message: 'pods need the label team' }],
    }),
    admission('ValidatingAdmissionPolicyBinding', {
      policyName: name,
      validationActions: ['Deny'],
      matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } } },
    }),
  )
  await until('the policy is enforced', 30, () => isDenied(stage))
}

async function isDenied(stage: Stage): Promise<boolean> {
  try {
    await stage.api.create(`/api/v1/namespaces/${stage.namespace}/pods?dryRun=All`, pod('trial'))
    return false
  } catch (error) {
    if (error instanceof ApiError && error.status === 422) return true
    throw error
  }
}

async function allowPods(stage: Stage): Promise<void> {
  await stage.delete('ValidatingAdmissionPolicyBinding', stage.namespace)
  await stage.delete('ValidatingAdmissionPolicy', stage.namespace)
}
