import { isDeepStrictEqual } from 'node:util'
import type { ActionRun } from '../../support/runner.ts'
import type { KubeObject } from '../api.ts'
import { deploymentComplete, pullRefused } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { autoscaler, coreObject, deployment, service, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

/** Services, PersistentVolumeClaims and autoscalers, most of them without endpoints, volume or metrics. */
export const services: Scenario[] = [
  ...readScenarios('services'),
  {
    name: 'claim-bound-for-its-consumer',
    inputs: { resources: 'persistentvolumeclaim/data\npersistentvolumeclaim/spare\ndeployment/web' },
    setup: async (fixture) => {
      await fixture.apply(waitingClass(fixture), volume(fixture), claim(fixture, 'data'), claim(fixture, 'spare'))
      const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
      const volumeMounts = [{ name: 'data', mountPath: '/data', readOnly: true }]
      await fixture.apply(deployment('web', {}, template('web', { volumeMounts }, { volumes })))
    },
    after: async (fixture) => {
      await fixture.remove('PersistentVolume', fixture.namespace)
      await fixture.remove('StorageClass', fixture.namespace)
    },
    kubectl: 'deployment/web',
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 8,
  },
  {
    // The Service waits for the Deployment only. The autoscaler has no metrics in this cluster, also with a healthy Deployment.
    name: 'service-and-autoscaler-behind-a-missing-image',
    inputs: { resources: 'service/web\nhorizontalpodautoscaler/web\ndeployment/web' },
    contains: {
      log: [/^ {2}service\/web waits for deployment\/web$/m],
      summary: ['| ↳ service/web | waits for deployment/web |'],
      message: [/^deployment\/web: (?!.*more\))/],
    },
    check: consequenceMistakes,
    setup: (fixture) =>
      fixture.apply(
        deployment('web', { image: 'v9', resources: { requests: { cpu: '10m' } } }),
        service('web'),
        autoscaler('web'),
      ),
    expect: { outcome: 'failed', reason: 'image-not-found' },
    decidedBy: pullRefused('not found', 2),
    takesSeconds: 25,
  },
]

/** The mistakes in what the action reports of a Service and an autoscaler of a Deployment that has failed. */
function consequenceMistakes({ log, outputs }: ActionRun): string[] {
  const failed = JSON.parse(outputs['failed-resources'] ?? '[]') as Record<string, string>[]
  const causes = failed.map(({ target, causedBy }) => `${target} ${causedBy ?? 'by itself'}`).toSorted()
  const expected = [
    'deployment.apps/web by itself',
    'horizontalpodautoscaler.autoscaling/web by itself',
    'service/web deployment.apps/web',
  ]
  const annotations = log.match(/^::error/gm) ?? []
  return [
    ...(isDeepStrictEqual(causes, expected) ? [] : [`The output failed-resources names ${causes.join(', ')}.`]),
    ...(annotations.length === 1 ? [] : [`There are ${annotations.length} annotations.`]),
  ]
}

/** A StorageClass whose volumes are bound once a pod uses the claim. */
function waitingClass({ namespace }: Fixture): KubeObject {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: namespace },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  }
}

/** A PersistentVolume of a folder on the node. */
export function volume({ namespace }: Fixture): KubeObject {
  const hostPath = { path: '/tmp', type: 'Directory' }
  const accessModes = ['ReadWriteOnce']
  return coreObject('PersistentVolume', namespace, {
    spec: { capacity: { storage: '1Gi' }, accessModes, storageClassName: namespace, hostPath },
  })
}

/** A claim of a volume of 1 GiB of the StorageClass that has the name of the namespace. */
export function claim({ namespace }: Fixture, name: string): KubeObject {
  const resources = { requests: { storage: '1Gi' } }
  return coreObject('PersistentVolumeClaim', name, {
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: namespace, resources },
  })
}
