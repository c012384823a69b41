import { deploymentComplete, pullRefused, secondsAfterEvent, secondsAfterStart } from '../facts.ts'
import { deployment, plain, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web' }
const slowly = { ...web, inputs: { ...web.inputs, 'stall-timeout': '6s' }, takesSeconds: 9 }

/** The environment variable KEY from the key of a Secret. */
const fromSecret = (name: string, key: string) => ({
  env: [{ name: 'KEY', valueFrom: { secretKeyRef: { name, key } } }],
})
const secret = (name: string) => plain('Secret', name, { stringData: { user: 'app' } })

/** Rollouts that lack something that others have to bring: images, Secrets, ConfigMaps. */
export const missing: Scenario[] = [
  {
    ...web,
    name: 'image-private',
    setup: (stage) => stage.apply(deployment('web', { image: '127.0.0.1:5995/denied/app:v2' })),
    expect: { outcome: 'failed', reason: 'image-unauthorized' },
    decidedBy: pullRefused('pull access denied', 3),
    takesSeconds: 46,
  },
  {
    ...slowly,
    name: 'image-rate-limited',
    setup: (stage) => stage.apply(deployment('web', { image: '127.0.0.1:5995/status-429/app:v2' })),
    expect: { outcome: 'stalled', reason: 'image-rate-limited' },
    decidedBy: secondsAfterStart(6),
  },
  {
    ...slowly,
    name: 'registry-unreachable',
    setup: (stage) => stage.apply(deployment('web', { image: '127.0.0.1:5996/app:v2' })),
    expect: { outcome: 'stalled', reason: 'image-registry-unreachable' },
    decidedBy: secondsAfterStart(6),
  },
  {
    ...web,
    name: 'secret-missing',
    setup: (stage) => stage.apply(deployment('web', fromSecret('database', 'password'))),
    expect: { outcome: 'failed', reason: 'config-missing' },
    decidedBy: secondsAfterEvent('secret "database" not found', 60),
    takesSeconds: 63,
  },
  {
    ...web,
    name: 'secret-key-missing',
    setup: (stage) => stage.apply(secret('database'), deployment('web', fromSecret('database', 'password'))),
    expect: { outcome: 'failed', reason: 'config-missing' },
    decidedBy: secondsAfterEvent("couldn't find key password", 60),
    takesSeconds: 63,
  },
  {
    ...web,
    name: 'configmap-volume-missing',
    setup: (stage) => {
      const volumes = [{ name: 'settings', configMap: { name: 'settings' } }]
      const volumeMounts = [{ name: 'settings', mountPath: '/settings' }]
      return stage.apply(deployment('web', {}, template('web', { volumeMounts }, { volumes })))
    },
    expect: { outcome: 'failed', reason: 'config-missing' },
    decidedBy: secondsAfterEvent('configmap "settings" not found', 60),
    takesSeconds: 63,
  },
  {
    ...web,
    name: 'secret-late',
    setup: (stage) => stage.apply(deployment('web', fromSecret('database', 'user'))),
    during: async (stage) => {
      await stage.pass(20)
      await stage.apply(secret('database'))
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 36,
  },
]
