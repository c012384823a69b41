import { isDeepStrictEqual } from 'node:util'
import type { ActionRun } from '../../support/runner.ts'
import type { KubeObject } from '../api.ts'
import { deploymentComplete, pullRefused, secondsAfterStart } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { autoscaler, coreObject, deployment, pod, service, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'service/web', 'stall-timeout': '5s' }, takesSeconds: 8 }
const isStalled = (reason: string) => ({ expect: { outcome: 'stalled', reason }, decidedBy: secondsAfterStart(5) })

/** Services, PersistentVolumeClaims and autoscalers, most of them without endpoints, volume or metrics. */
export const services: Scenario[] = [
  {
    ...web,
    ...isStalled('no-endpoints'),
    name: 'service-without-ready-pods',
    setup: (fixture) => fixture.apply(deployment('web', { readiness: 'never' }), service('web')),
  },
  {
    ...web,
    ...isStalled('selector-matches-nothing'),
    name: 'service-selects-nothing',
    setup: async (fixture) => {
      await fixture.rollOut(deployment('web'))
      await fixture.apply(service('web', { selector: { app: 'wbe' } }))
    },
  },
  {
    ...web,
    ...isStalled('no-endpoints'),
    name: 'service-port-missing',
    setup: async (fixture) => {
      await fixture.rollOut(deployment('web'))
      await fixture.apply(service('web', { ports: [{ port: 80, targetPort: 'http' }] }))
    },
  },
  {
    ...web,
    ...isStalled('no-endpoints'),
    name: 'service-with-a-crashing-pod-and-no-replicas',
    setup: async (fixture) => {
      await fixture.apply(deployment('web', {}, { replicas: 0 }), service('web'))
      const crashing = pod('other', { script: 'exit 3', readiness: 'none' })
      await fixture.apply({ ...crashing, metadata: { ...crashing.metadata, labels: { app: 'web' } } })
    },
  },
  {
    // Without a probe the pods are ready for 2 s after each start: at 0, 2, 15 and 43 s.
    ...web,
    name: 'service-before-a-crash-loop',
    inputs: { resources: 'service/web', 'stall-timeout': '24s' },
    setup: (fixture) =>
      fixture.apply(deployment('web', { script: 'sleep 2; exit 3', readiness: 'none' }), service('web')),
    expect: { outcome: 'stalled', reason: 'no-endpoints' },
    decidedBy: secondsAfterStart(24),
    withinSeconds: 30,
    takesSeconds: 35,
  },
  {
    ...web,
    name: 'service-of-an-idle-deployment',
    setup: (fixture) => fixture.apply(deployment('web', {}, { replicas: 0 }), service('web')),
    expect: { outcome: 'ready', reason: '' },
    decidedBy: secondsAfterStart(0),
    takesSeconds: 3,
  },
  {
    ...isStalled('claim-pending'),
    name: 'claim-pending',
    inputs: { resources: 'persistentvolumeclaim/data', 'stall-timeout': '5s' },
    setup: (fixture) => {
      const resources = { requests: { storage: '1Gi' } }
      const spec = { accessModes: ['ReadWriteOnce'], storageClassName: 'no-such-class', resources }
      return fixture.apply(coreObject('PersistentVolumeClaim', 'data', { spec }))
    },
    takesSeconds: 8,
  },
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
    name: 'autoscaler-without-metrics',
    inputs: { resources: 'horizontalpodautoscaler/web', 'stall-timeout': '25s' },
    setup: async (fixture) => {
      await fixture.rollOut(deployment('web', { resources: { requests: { cpu: '10m' } } }))
      await fixture.apply(autoscaler('web'))
    },
    expect: { outcome: 'stalled', reason: 'condition-false' },
    decidedBy: secondsAfterStart(25),
    withinSeconds: 20,
    takesSeconds: 45,
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
  {
    // The conditions from before the change stay true until the controller's next sync.
    name: 'autoscaler-changed-to-a-missing-target',
    inputs: { resources: 'horizontalpodautoscaler/web', 'stall-timeout': '25s' },
    setup: async (fixture) => {
      await fixture.apply(deployment('web', {}, { replicas: 0 }), autoscaler('web'))
      // A little more than one sync period of the controller.
      await fixture.wait(18)
      const { spec, ...rest } = autoscaler('web')
      const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'nope' }
      await fixture.apply({ ...rest, spec: { ...(spec as object), scaleTargetRef } })
    },
    expect: { outcome: 'stalled', reason: 'condition-false' },
    decidedBy: secondsAfterStart(25),
    withinSeconds: 20,
    takesSeconds: 60,
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
