import { ApiError, type KubeObject } from '../api.ts'
import { until } from '../command.ts'
import { creationRefused, deploymentComplete, secondsAfterStart } from '../facts.ts'
import { daemonSet, deployment, plain, pod, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web', takesSeconds: 8 }

/** Rollouts whose pods the API server does not let in. */
export const admission: Scenario[] = [
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
  },
  {
    ...web,
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
  },
  {
    ...web,
    name: 'pod-security-denies',
    setup: async (stage) => {
      const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
      await stage.patch('Namespace', stage.namespace, { metadata: { labels } })
      await until('the standard is enforced', 30, () => isRefused(stage, 403))
      await stage.apply(deployment('web'))
    },
    expect: { outcome: 'failed', reason: 'admission-denied' },
    decidedBy: creationRefused('violates PodSecurity', 2),
  },
  {
    ...web,
    name: 'priority-class-missing',
    inputs: { ...web.inputs, 'stall-timeout': '6s' },
    setup: (stage) => stage.apply(deployment('web', {}, template('web', {}, { priorityClassName: 'urgent' }))),
    expect: { outcome: 'stalled', reason: 'replica-failure' },
    decidedBy: secondsAfterStart(6),
  },
  {
    ...web,
    name: 'limit-range',
    setup: async (stage) => {
      await stage.apply(
        plain('LimitRange', 'modest', { spec: { limits: [{ type: 'Container', max: { cpu: '100m' } }] } }),
      )
      await stage.apply(deployment('web', { resources: { limits: { cpu: '1' } } }))
    },
    expect: { outcome: 'failed', reason: 'admission-denied' },
    decidedBy: creationRefused('maximum cpu usage', 2),
    check: ({ outputs }) =>
      outputs['message']?.includes('100m') ? [] : [`the message does not say what is allowed: ${outputs['message']}`],
  },
  {
    ...web,
    name: 'webhook-unreachable',
    inputs: { ...web.inputs, 'stall-timeout': '6s' },
    setup: async (stage) => {
      await addWebhook(stage)
      await stage.apply(deployment('web'))
    },
    after: removeWebhook,
    expect: { outcome: 'stalled', reason: 'webhook-unavailable' },
    decidedBy: secondsAfterStart(6),
  },
  {
    ...web,
    name: 'webhook-comes-back',
    setup: async (stage) => {
      await addWebhook(stage)
      await stage.apply(deployment('web'))
    },
    during: async (stage) => {
      await stage.pass(8)
      await removeWebhook(stage)
    },
    after: removeWebhook,
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 25,
  },
]

const configuration = (kind: string, { namespace }: Stage, fields: object): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  metadata: { name: namespace },
  ...fields,
})

const podsCreated = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }
const namespaceOf = ({ namespace }: Stage) => ({ matchLabels: { 'kubernetes.io/metadata.name': namespace } })

/** A policy that denies every pod of the namespace, once the API server enforces it. */
async function denyPods(stage: Stage): Promise<void> {
  await stage.apply(
    configuration('ValidatingAdmissionPolicy', stage, {
      spec: {
        matchConstraints: { resourceRules: [podsCreated] },
        validations: [{ expression: 'false', message: 'pods need the label team' }],
      },
    }),
    configuration('ValidatingAdmissionPolicyBinding', stage, {
      spec: {
        policyName: stage.namespace,
        validationActions: ['Deny'],
        matchResources: { namespaceSelector: namespaceOf(stage) },
      },
    }),
  )
  await until('the policy is enforced', 30, () => isRefused(stage, 422))
}

async function allowPods(stage: Stage): Promise<void> {
  await stage.remove('ValidatingAdmissionPolicyBinding', stage.namespace)
  await stage.remove('ValidatingAdmissionPolicy', stage.namespace)
}

/** A webhook that is asked about every pod of the namespace, and that nobody serves. */
async function addWebhook(stage: Stage): Promise<void> {
  const webhook = {
    name: 'pods.tests.example.com',
    clientConfig: { url: 'https://127.0.0.1:1/' },
    rules: [podsCreated],
    namespaceSelector: namespaceOf(stage),
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 1,
  }
  await stage.apply(configuration('ValidatingWebhookConfiguration', stage, { webhooks: [webhook] }))
  await until('the webhook is asked', 30, () => isRefused(stage, 500))
}

function removeWebhook(stage: Stage): Promise<void> {
  return stage.remove('ValidatingWebhookConfiguration', stage.namespace)
}

async function isRefused(stage: Stage, status: number): Promise<boolean> {
  try {
    await stage.api.create(`/api/v1/namespaces/${stage.namespace}/pods?dryRun=All`, pod('trial'))
    return false
  } catch (error) {
    if (error instanceof ApiError && error.status === status) return true
    throw error
  }
}
