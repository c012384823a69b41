import { stringify } from 'yaml'
import type { KubeObject } from '../api.ts'
import {
  applyWidget,
  createWidget,
  removeWidgetDefinition,
  widgetDefinition,
  widgetGroup,
} from '../custom-resources.ts'
import type { Fixture } from '../fixture.ts'
import { appService, autoscaler, container, coreObject, deployment, scriptJob, slowStart } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

/** Files and folders of manifests, as for `kubectl apply -f`. */
export const manifests: Scenario[] = readScenarios('manifests', {
  'manifests-of-many-kinds': {
    setup: async (fixture) => {
      const objects = manyKinds(fixture)
      fixture.write('everything.yaml', yaml(...objects, createWidget(fixture, 'web')))
      await fixture.apply(...objects)
      await applyWidget(fixture, 'web')
    },
    after: async (fixture) => {
      await removeWidgetDefinition(fixture)
      await fixture.remove('APIService', `v1.extra.${widgetGroup(fixture)}`)
      await fixture.remove('Namespace', `${fixture.namespace}-extra`)
    },
  },
  'manifest-with-a-missing-image': {
    setup: async (fixture) => {
      const objects = [appService('web'), deployment('web', { image: 'v9', imagePullPolicy: 'Always' })]
      fixture.write('k8s/web.yaml', yaml(...objects))
      await fixture.apply(...objects)
    },
  },
  'one-of-four-fails': {
    setup: async (fixture) => {
      const files = {
        'migrate.yaml': [scriptJob('migrate', 'sleep 8')],
        'web.yaml': [deployment('web', { image: 'v9', imagePullPolicy: 'Always' })],
        'worker.yaml': [deployment('worker', { script: slowStart(6) }), appService('worker')],
      }
      for (const [name, objects] of Object.entries(files)) fixture.write(`k8s/${name}`, yaml(...objects))
      await fixture.apply(...Object.values(files).flat())
    },
  },
  'hooks-removed-after-success': {
    setup: async (fixture) => {
      const web = deployment('web', { script: slowStart(2) })
      const removed = { 'helm.sh/hook': 'pre-upgrade', 'helm.sh/hook-delete-policy': 'hook-succeeded' }
      const hooks = [
        annotated(scriptJob('migrate', 'true'), removed),
        annotated(scriptJob('warm-up', 'sleep 3'), removed),
        annotated(coreObject('ServiceAccount', 'migrate'), removed),
        annotated(scriptJob('check', 'true'), { 'helm.sh/hook': 'test' }),
      ]
      fixture.write('rendered.yaml', yaml(...hooks, web))
      await fixture.apply(web, ...hooks.slice(1, 3))
    },
  },
})

function annotated({ metadata, ...rest }: KubeObject, annotations: Record<string, string>): KubeObject {
  return { ...rest, metadata: { ...metadata, annotations } }
}

function yaml(...objects: KubeObject[]): string {
  return objects.map((object) => stringify(object)).join('---\n')
}

/** One object of every common kind that this cluster can make ready. */
function manyKinds(fixture: Fixture): KubeObject[] {
  const name = 'web'
  const { spec: jobSpec } = scriptJob('nightly', 'true')
  const backend = { service: { name, port: { number: 80 } } }
  const paths = [{ path: '/', pathType: 'Prefix', backend }]
  return [
    coreObject('Namespace', `${fixture.namespace}-extra`),
    widgetDefinition(fixture),
    {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1.extra.${widgetGroup(fixture)}` },
      spec: { group: `extra.${widgetGroup(fixture)}`, version: 'v1', groupPriorityMinimum: 1000, versionPriority: 10 },
    },
    coreObject('ServiceAccount', name),
    coreObject('ConfigMap', name, { data: { MODE: 'fast' } }),
    coreObject('Secret', name, { stringData: { TOKEN: 'a token of the tests' } }),
    deployment(name, { script: slowStart(3) }),
    appService(name),
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
    scriptJob('migrate', 'sleep 2'),
    { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'debug' }, spec: { containers: [container()] } },
  ]
}
