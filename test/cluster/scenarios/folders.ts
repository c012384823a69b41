import { stringify } from 'yaml'
import { ApiError, type KubeObject } from '../api.ts'
import { until } from '../command.ts'
import { all, conditionTrue, deploymentComplete, pullRefused } from '../facts.ts'
import { autoscaler, container, deployment, job, plain, service, slowStart } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

/** Whole folders of manifests, as `kubectl apply -f` takes them. */
export const folders: Scenario[] = [
  {
    name: 'manifests-of-many-kinds',
    inputs: { manifests: 'everything.yaml' },
    setup: async (stage) => {
      const objects = manyKinds(stage)
      stage.write('everything.yaml', yaml(...objects, widget(stage)))
      await stage.apply(...objects)
      await until('the kind of the folder is served', 30, () => isServed(stage))
      await stage.api.apply(`${widgets(stage)}/web`, widget(stage))
    },
    after: async (stage) => {
      await stage.remove('CustomResourceDefinition', `widgets.${group(stage)}`)
      await stage.remove('APIService', `v1.extra.${group(stage)}`)
      await stage.remove('Namespace', `${stage.namespace}-extra`)
    },
    kubectl: 'deployment/web',
    expect: { outcome: 'ready', reason: '' },
    decidedBy: all(deploymentComplete('web'), conditionTrue('Job', 'migrate', 'Complete')),
    takesSeconds: 18,
    check: ({ summary }) =>
      summary.includes('no readiness signal') ? [] : ['the summary does not say that nothing is known of the widget'],
  },
  {
    name: 'manifest-with-a-missing-image',
    inputs: { manifests: 'k8s' },
    setup: async (stage) => {
      const objects = [service('web'), deployment('web', { image: 'v9', imagePullPolicy: 'Always' })]
      stage.write('k8s/web.yaml', yaml(...objects))
      await stage.apply(...objects)
    },
    kubectl: 'deployment/web',
    expect: { outcome: 'failed', reason: 'image-not-found' },
    decidedBy: pullRefused('not found', 2),
    takesSeconds: 20,
    check: ({ log }) =>
      /^::error [^\n]*file=k8s\/web\.yaml,[^\n]*line=\d+/m.test(log) ? [] : ['no annotation points to the manifest'],
  },
]

function yaml(...objects: KubeObject[]): string {
  return objects.map((object) => stringify(object)).join('---\n')
}

/** Where the objects of the stage's own kind are. */
const widgets = (stage: Stage) => `/apis/${group(stage)}/v1/namespaces/${stage.namespace}/widgets`

const widget = (stage: Stage): KubeObject => ({
  apiVersion: `${group(stage)}/v1`,
  kind: 'Widget',
  metadata: { name: 'web' },
  spec: { size: 'small' },
})

/** The API server answers 404, and then for a moment 429, before a new kind's storage is there. */
async function isServed(stage: Stage): Promise<boolean> {
  try {
    await stage.api.get(widgets(stage))
    return true
  } catch (error) {
    if (error instanceof ApiError && [404, 429].includes(error.status)) return false
    throw error
  }
}

const group = ({ namespace }: Stage) => `${namespace}.example.com`

/** One object of every kind that is often applied and that this cluster can make ready. */
function manyKinds(stage: Stage): KubeObject[] {
  const name = 'web'
  const { spec: jobSpec } = job('nightly', 'true')
  const backend = { service: { name, port: { number: 80 } } }
  const paths = [{ path: '/', pathType: 'Prefix', backend }]
  return [
    plain('Namespace', `${stage.namespace}-extra`),
    definition(stage),
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1.extra.${group(stage)}` },
      spec: { group: `extra.${group(stage)}`, version: 'v1', groupPriorityMinimum: 1000, versionPriority: 10 },
    },
    plain('ServiceAccount', name),
    plain('ConfigMap', name, { data: { MODE: 'fast' } }),
    plain('Secret', name, { stringData: { TOKEN: 'a token of the tests' } }),
    deployment(name, { script: slowStart(3) }),
    service(name),
    deployment('worker', {}, { replicas: 0 }),
    autoscaler('worker'),
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name },
      spec: { minAvailable: 1, selector: { matchLabels: { app: name } } },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name },
      spec: { rules: [{ http: { paths } }] },
    },
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'nightly' },
      spec: { schedule: '0 3 * * *', jobTemplate: { spec: jobSpec } },
    },
    job('migrate', 'sleep 2'),
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'debug' }, spec: { containers: [container()] } },
  ]
}

function definition(stage: Stage): KubeObject {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group(stage)}` },
    spec: {
      group: group(stage),
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  }
}
