import { ApiError, type KubeObject } from '../api.ts'
import { until } from '../command.ts'
import type { Fixture } from '../fixture.ts'
import { barePod, daemonSet, deployment } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

/** Rollouts whose pods the API server refuses. */
export const admission: Scenario[] = readScenarios('admission', {
  'policy-denies': {
    setup: async (fixture) => {
      await denyPods(fixture)
      await fixture.apply(deployment('web'))
    },
    after: allowPods,
  },
  'policy-ends-late': {
    setup: async (fixture) => {
      await denyPods(fixture)
      await fixture.apply(deployment('web'))
    },
    during: async (fixture) => {
      await fixture.wait(2)
      await allowPods(fixture)
    },
    after: allowPods,
  },
  'policy-denies-daemonset': {
    setup: async (fixture) => {
      await denyPods(fixture)
      await fixture.apply(daemonSet('web'))
    },
    after: allowPods,
  },
  'pod-security-denies': {
    setup: async (fixture) => {
      const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
      await fixture.patch('Namespace', fixture.namespace, { metadata: { labels } })
      await until('the Pod Security Standard is enforced', 30, () => isRefused(fixture, 403))
      await fixture.apply(deployment('web'))
    },
  },
  'webhook-unreachable': {
    setup: async (fixture) => {
      await addWebhook(fixture)
      await fixture.apply(deployment('web'))
    },
    after: removeWebhook,
  },
  'webhook-comes-back': {
    setup: async (fixture) => {
      await addWebhook(fixture)
      await fixture.apply(deployment('web'))
    },
    during: async (fixture) => {
      await fixture.wait(8)
      await removeWebhook(fixture)
    },
    after: removeWebhook,
  },
})

const configuration = (kind: string, { namespace }: Fixture, fields: object): KubeObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  metadata: { name: namespace },
  ...fields,
})

const podsCreated = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }
const namespaceOf = ({ namespace }: Fixture) => ({ matchLabels: { 'kubernetes.io/metadata.name': namespace } })

/** Creates a policy that denies every pod of the namespace, and returns once the API server enforces it. */
async function denyPods(fixture: Fixture): Promise<void> {
  await fixture.apply(
    configuration('ValidatingAdmissionPolicy', fixture, {
      spec: {
        matchConstraints: { resourceRules: [podsCreated] },
        validations: [{ expression: 'false', message: 'pods need the label team' }],
      },
    }),
    configuration('ValidatingAdmissionPolicyBinding', fixture, {
      spec: {
        policyName: fixture.namespace,
        validationActions: ['Deny'],
        matchResources: { namespaceSelector: namespaceOf(fixture) },
      },
    }),
  )
  await until('the policy is enforced', 30, () => isRefused(fixture, 422))
}

async function allowPods(fixture: Fixture): Promise<void> {
  await fixture.remove('ValidatingAdmissionPolicyBinding', fixture.namespace)
  await fixture.remove('ValidatingAdmissionPolicy', fixture.namespace)
}

/** Adds a webhook without a server for every pod of the namespace, and returns once the API server calls it. */
async function addWebhook(fixture: Fixture): Promise<void> {
  const webhook = {
    name: 'pods.tests.example.com',
    clientConfig: { url: 'https://127.0.0.1:1/' },
    rules: [podsCreated],
    namespaceSelector: namespaceOf(fixture),
    failurePolicy: 'Fail',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 1,
  }
  await fixture.apply(configuration('ValidatingWebhookConfiguration', fixture, { webhooks: [webhook] }))
  await until('the webhook is called', 30, () => isRefused(fixture, 500))
}

function removeWebhook(fixture: Fixture): Promise<void> {
  return fixture.remove('ValidatingWebhookConfiguration', fixture.namespace)
}

async function isRefused(fixture: Fixture, status: number): Promise<boolean> {
  try {
    await fixture.api.create(`/api/v1/namespaces/${fixture.namespace}/pods?dryRun=All`, barePod('trial'))
    return false
  } catch (error) {
    if (error instanceof ApiError && error.status === status) return true
    throw error
  }
}
