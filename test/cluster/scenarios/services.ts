import { isDeepStrictEqual } from 'node:util'
import type { ActionRun } from '../../support/runner.ts'
import type { KubeObject } from '../api.ts'
import type { Fixture } from '../fixture.ts'
import { coreObject, deployment, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

/** Services, PersistentVolumeClaims and autoscalers, most of them without endpoints, volume or metrics. */
export const services: Scenario[] = readScenarios('services', {
  'claim-bound-for-its-consumer': {
    setup: async (fixture) => {
      await fixture.apply(
        waitingClass(fixture),
        volume(fixture),
        volumeClaim(fixture, 'data'),
        volumeClaim(fixture, 'spare'),
      )
      const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
      const volumeMounts = [{ name: 'data', mountPath: '/data', readOnly: true }]
      await fixture.apply(deployment('web', {}, template('web', { volumeMounts }, { volumes })))
    },
    after: async (fixture) => {
      await fixture.remove('PersistentVolume', fixture.namespace)
      await fixture.remove('StorageClass', fixture.namespace)
    },
  },
  'service-and-autoscaler-behind-a-missing-image': {
    check: consequenceMistakes,
  },
})

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
export function volumeClaim({ namespace }: Fixture, name: string): KubeObject {
  const resources = { requests: { storage: '1Gi' } }
  return coreObject('PersistentVolumeClaim', name, {
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: namespace, resources },
  })
}
