import { stringify } from 'yaml'
import type { KubeObject } from '../api.ts'
import { all, conditionTrue, deploymentComplete } from '../facts.ts'
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
      stage.write('everything.yaml', objects.map((object) => stringify(object)).join('---\n'))
      await stage.apply(...objects)
    },
    after: async (stage) => {
      await stage.remove('CustomResourceDefinition', `widgets.${group(stage)}`)
      await stage.remove('APIService', `v1.extra.${group(stage)}`)
      await stage.remove('Namespace', `${stage.namespace}-extra`)
    },
    kubectl: 'deployment/web',
    expect: { outcome: 'ready', reason: '' },
    decidedBy: all(deploymentComplete('web'), conditionTrue('Job', 'migrate', 'Complete')),
    takesSeconds: 12,
  },
]

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
      spec: { rules: [{ host: 'web.example.com', http: { paths } }] },
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
