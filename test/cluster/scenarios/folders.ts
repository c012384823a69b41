import { stringify } from 'yaml'
import type { KubeObject } from '../api.ts'
import { all, conditionTrue, deploymentComplete, pullRefused } from '../facts.ts'
import { autoscaler, container, deployment, job, plain, service, slowStart } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'
import { applyWidget, removeWidgetDefinition, widget, widgetDefinition, widgetGroup } from '../widgets.ts'

/** Whole folders of manifests, as `kubectl apply -f` takes them. */
export const folders: Scenario[] = [
  {
    name: 'manifests-of-many-kinds',
    inputs: { manifests: 'everything.yaml' },
    setup: async (stage) => {
      const objects = manyKinds(stage)
      stage.write('everything.yaml', yaml(...objects, widget(stage, 'web')))
      await stage.apply(...objects)
      await applyWidget(stage, 'web')
    },
    after: async (stage) => {
      await removeWidgetDefinition(stage)
      await stage.remove('APIService', `v1.extra.${widgetGroup(stage)}`)
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

/** One object of every kind that is often applied and that this cluster can make ready. */
function manyKinds(stage: Stage): KubeObject[] {
  const name = 'web'
  const { spec: jobSpec } = job('nightly', 'true')
  const backend = { service: { name, port: { number: 80 } } }
  const paths = [{ path: '/', pathType: 'Prefix', backend }]
  return [
    plain('Namespace', `${stage.namespace}-extra`),
    widgetDefinition(stage),
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1.extra.${widgetGroup(stage)}` },
      spec: { group: `extra.${widgetGroup(stage)}`, version: 'v1', groupPriorityMinimum: 1000, versionPriority: 10 },
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
