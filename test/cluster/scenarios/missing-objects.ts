import {
  all,
  containerDied,
  deploymentComplete,
  eventAgainAfter,
  pullRefused,
  secondsAfterStart,
} from '../cluster-states.ts'
import { container, coreObject, deployment, slowStart, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web' }
const slowly = { ...web, inputs: { ...web.inputs, 'stall-timeout': '6s' }, takesSeconds: 9 }

/** A container with the environment variable KEY from a Secret. */
const fromSecret = (name: string, key: string) => ({
  env: [{ name: 'KEY', valueFrom: { secretKeyRef: { name, key } } }],
})
const secret = (name: string) => coreObject('Secret', name, { stringData: { user: 'app' } })

/** Rollouts that refer to images, Secrets or ConfigMaps that do not exist. */
export const missingObjects: Scenario[] = [
  {
    ...web,
    name: 'image-private',
    setup: (fixture) => fixture.apply(deployment('web', { image: '127.0.0.1:5995/denied/app:v2' })),
    expect: { outcome: 'failed', reason: 'image-unauthorized' },
    decidedBy: pullRefused('pull access denied', 3),
    takesSeconds: 46,
  },
  {
    ...slowly,
    name: 'image-rate-limited',
    setup: (fixture) => fixture.apply(deployment('web', { image: '127.0.0.1:5995/status-429/app:v2' })),
    expect: { outcome: 'stalled', reason: 'image-rate-limited' },
    decidedBy: secondsAfterStart(6),
  },
  {
    ...slowly,
    name: 'registry-unreachable',
    setup: (fixture) => fixture.apply(deployment('web', { image: '127.0.0.1:5996/app:v2' })),
    expect: { outcome: 'stalled', reason: 'image-registry-unreachable' },
    decidedBy: secondsAfterStart(6),
  },
  {
    ...web,
    name: 'secret-missing',
    setup: (fixture) => fixture.apply(deployment('web', fromSecret('database', 'password'))),
    expect: { outcome: 'failed', reason: 'config-missing' },
    decidedBy: eventAgainAfter('secret "database" not found', 60),
    takesSeconds: 73,
  },
  {
    ...web,
    name: 'secret-key-missing',
    setup: (fixture) => fixture.apply(secret('database'), deployment('web', fromSecret('database', 'password'))),
    expect: { outcome: 'failed', reason: 'config-missing' },
    decidedBy: eventAgainAfter("couldn't find key password", 60),
    takesSeconds: 73,
  },
  {
    ...web,
    name: 'configmap-volume-missing',
    setup: (fixture) =>
      fixture.apply(deployment('web', {}, mounting({ mountPath: '/settings' }, { configMap: { name: 'settings' } }))),
    expect: { outcome: 'failed', reason: 'config-missing' },
    decidedBy: eventAgainAfter('configmap "settings" not found', 60),
    takesSeconds: 73,
  },
  {
    ...web,
    name: 'secret-late',
    setup: (fixture) => fixture.apply(deployment('web', fromSecret('database', 'user'))),
    during: async (fixture) => {
      await fixture.wait(20)
      await fixture.apply(secret('database'))
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 36,
  },
  {
    ...web,
    // The kubelet doubles the time between its attempts: it tries after 31 and 63 s.
    name: 'configmap-volume-late',
    setup: (fixture) =>
      fixture.apply(deployment('web', {}, mounting({ mountPath: '/settings' }, { configMap: { name: 'settings' } }))),
    during: async (fixture) => {
      await fixture.wait(36)
      await fixture.apply(coreObject('ConfigMap', 'settings', { data: { 'app.conf': 'on' } }))
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 66,
  },
  {
    ...web,
    name: 'secret-of-another-target',
    inputs: { resources: 'deployment/web\ndeployment/database' },
    setup: (fixture) =>
      fixture.apply(
        deployment('web', fromSecret('database', 'user')),
        deployment('database', { script: slowStart(80) }, { replicas: 1 }),
      ),
    during: async (fixture) => {
      await fixture.wait(73)
      await fixture.apply(secret('database'))
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: all(deploymentComplete('web'), deploymentComplete('database')),
    takesSeconds: 88,
  },
  {
    ...web,
    // The fourth refusal is the first one that is 60 s after the first.
    name: 'pull-secret-missing',
    setup: (fixture) => {
      const pods = { imagePullSecrets: [{ name: 'registry' }] }
      return fixture.apply(deployment('web', {}, template('web', { image: '127.0.0.1:5995/denied/app:v2' }, pods)))
    },
    expect: { outcome: 'failed', reason: 'image-unauthorized' },
    decidedBy: pullRefused('pull access denied', 4),
    takesSeconds: 97,
  },
  {
    ...web,
    name: 'configmap-volume-key-missing',
    setup: async (fixture) => {
      await fixture.apply(coreObject('ConfigMap', 'settings', { data: { 'app.conf': 'on' } }))
      const configMap = { name: 'settings', items: [{ key: 'web.conf', path: 'web.conf' }] }
      await fixture.apply(deployment('web', {}, mounting({ mountPath: '/settings' }, { configMap })))
    },
    expect: { outcome: 'failed', reason: 'config-missing' },
    decidedBy: eventAgainAfter('non-existent config key: web.conf', 60),
    takesSeconds: 73,
  },
  {
    ...web,
    // The missing key becomes an empty folder, which cannot be mounted over a file.
    name: 'sub-path-missing',
    setup: async (fixture) => {
      await fixture.apply(coreObject('ConfigMap', 'settings', { data: { 'app.conf': 'on' } }))
      const mount = { mountPath: '/www/index.html', subPath: 'web.conf' }
      await fixture.apply(deployment('web', {}, mounting(mount, { configMap: { name: 'settings' } })))
    },
    expect: { outcome: 'failed', reason: 'container-create-failed' },
    decidedBy: containerDied(3),
    takesSeconds: 35,
  },
  {
    ...web,
    name: 'init-image-not-found',
    setup: (fixture) => {
      const init = { ...container({ image: 'v9', readiness: 'none' }), name: 'migrate' }
      return fixture.apply(deployment('web', {}, template('web', {}, { initContainers: [init] })))
    },
    expect: { outcome: 'failed', reason: 'image-not-found' },
    decidedBy: pullRefused('not found', 2),
    takesSeconds: 20,
    contains: { message: ['container migrate'] },
  },
]

/** A template whose container mounts one volume. */
function mounting(mount: object, volume: object): object {
  const volumeMounts = [{ name: 'settings', ...mount }]
  return template('web', { volumeMounts }, { volumes: [{ name: 'settings', ...volume }] })
}
