import { secondsAfterStart } from '../facts.ts'
import { deployment, plain, service } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const web = { inputs: { resources: 'service/web', 'stall-timeout': '5s' }, takesSeconds: 8 }
const isStalled = (reason: string) => ({ expect: { outcome: 'stalled', reason }, decidedBy: secondsAfterStart(5) })

/** Services and claims that nothing stands behind. */
export const services: Scenario[] = [
  {
    ...web,
    ...isStalled('no-endpoints'),
    name: 'service-without-ready-pods',
    setup: (stage) => stage.apply(deployment('web', { readiness: 'never' }), service('web')),
  },
  {
    ...web,
    ...isStalled('selector-matches-nothing'),
    name: 'service-selects-nothing',
    setup: async (stage) => {
      await stage.rollOut(deployment('web'))
      await stage.apply(service('web', { selector: { app: 'wbe' } }))
    },
  },
  {
    ...web,
    ...isStalled('no-endpoints'),
    name: 'service-port-missing',
    setup: async (stage) => {
      await stage.rollOut(deployment('web'))
      await stage.apply(service('web', { ports: [{ port: 80, targetPort: 'http' }] }))
    },
  },
  {
    ...isStalled('claim-pending'),
    name: 'claim-pending',
    inputs: { resources: 'persistentvolumeclaim/data', 'stall-timeout': '5s' },
    setup: (stage) => {
      const resources = { requests: { storage: '1Gi' } }
      const spec = { accessModes: ['ReadWriteOnce'], storageClassName: 'no-such-class', resources }
      return stage.apply(plain('PersistentVolumeClaim', 'data', { spec }))
    },
    takesSeconds: 8,
  },
]
