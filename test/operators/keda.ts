import { join } from 'node:path'
import type { KubeObject } from '../cluster/api.ts'
import { type ClusterState, secondsAfterStart } from '../cluster/cluster-states.ts'
import { run } from '../cluster/command.ts'
import type { Fixture } from '../cluster/fixture.ts'
import { deployment } from '../cluster/objects.ts'
import type { Operator, OperatorScenario } from './operator.ts'
import { isCurrent, whileStopped } from './states.ts'

const name = 'keda'

export const keda: Operator = {
  name,
  module: 'github.com/kedacore/keda/v2@v2.21.0',
  program: 'cmd/operator',
  definitions: ['config/crd/bases'],
  kinds: ['ScaledObject'],
  prepare: createCertificate,
  args: ({ folder }) => [
    '--metrics-bind-address=127.0.0.1:0',
    '--health-probe-bind-address=127.0.0.1:0',
    '--metrics-service-bind-address=127.0.0.1:0',
    `--cert-dir=${folder}`,
  ],
  env: { KEDA_CLUSTER_OBJECT_NAMESPACE: 'default', POD_NAMESPACE: 'default', WATCH_NAMESPACE: '' },
  started: /Starting workers/,
}

/** The certificate of its metrics service, and itself as authority. */
async function createCertificate(folder: string): Promise<void> {
  const files = ['-keyout', join(folder, 'tls.key'), '-out', join(folder, 'tls.crt')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  await run('openssl', ['req', '-x509', ...key, '-days', '2', '-subj', '/CN=localhost', ...files])
  await run('cp', [join(folder, 'tls.crt'), join(folder, 'ca.crt')])
}

/** A ScaledObject that scales a Deployment to two pods at all hours. */
function scaledObject(target: string, { annotations = {}, triggerType = 'cron', max = 3 } = {}): KubeObject {
  const metadata = { timezone: 'Etc/UTC', start: '0 0 * * *', end: '59 23 * * *', desiredReplicas: '2' }
  return {
    apiVersion: 'keda.sh/v1alpha1',
    kind: 'ScaledObject',
    metadata: { name: 'web', annotations },
    spec: {
      scaleTargetRef: { name: target },
      minReplicaCount: 1,
      maxReplicaCount: max,
      triggers: [{ type: triggerType, metadata }],
    },
  }
}

const isReady = isCurrent('ScaledObject', 'web', 'Ready')

/** The autoscaler that the operator makes has this maximum. */
function appliedMaximum(max: number): ClusterState {
  return (informer) =>
    informer.get('HorizontalPodAutoscaler', 'keda-hpa-web')?.['spec'].maxReplicas === max ? Date.now() : undefined
}

async function scaled(fixture: Fixture): Promise<void> {
  await fixture.apply(deployment('web'), scaledObject('web'))
  await fixture.until('the ScaledObject is ready', isReady)
}

const common = { operator: name, inputs: { resources: 'scaledobject/web' } } as const
const stalling = { ...common.inputs, 'stall-timeout': '12s' }

export const kedaScenarios: readonly OperatorScenario[] = [
  {
    ...common,
    name: `${name}-healthy`,
    state: 'healthy',
    note: 'a ScaledObject of a Deployment',
    setup: (fixture) => fixture.apply(deployment('web'), scaledObject('web')),
    expect: { outcome: 'ready' },
    decidedBy: isReady,
    takesSeconds: 6,
  },
  {
    ...common,
    name: `${name}-target-missing`,
    state: 'failing',
    note: 'the Deployment does not exist',
    inputs: stalling,
    setup: (fixture) => fixture.apply(scaledObject('absent')),
    expect: { outcome: ['stalled', 'failed'] },
    cause: 'scaleTargetRef',
    decidedBy: secondsAfterStart(0),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-trigger-unknown`,
    state: 'failing',
    note: 'no scaler has the type of the trigger',
    inputs: stalling,
    setup: (fixture) => fixture.apply(deployment('web'), scaledObject('web', { triggerType: 'abacus' })),
    expect: { outcome: ['stalled', 'failed'] },
    cause: 'abacus',
    decidedBy: secondsAfterStart(0),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-slow`,
    state: 'slow',
    note: 'the Deployment is created later',
    setup: (fixture) => fixture.apply(scaledObject('web')),
    during: async (fixture) => {
      await fixture.wait(12)
      await fixture.apply(deployment('web'))
    },
    expect: { outcome: 'ready' },
    decidedBy: isReady,
    takesSeconds: 35,
  },
  {
    ...common,
    name: `${name}-stale`,
    state: 'stale',
    note: 'the controller is stopped while another maximum is applied; its status contains no generation',
    ...whileStopped(name, scaled, (fixture) => fixture.apply(scaledObject('web', { max: 5 }))),
    expect: { outcome: 'ready' },
    decidedBy: appliedMaximum(5),
    takesSeconds: 26,
  },
  {
    ...common,
    name: `${name}-suspended`,
    state: 'suspended',
    note: 'paused by its annotation',
    inputs: stalling,
    setup: (fixture) =>
      fixture.apply(deployment('web'), scaledObject('web', { annotations: { 'autoscaling.keda.sh/paused': 'true' } })),
    expect: { outcome: 'stalled', reason: 'paused' },
    cause: 'paused',
    decidedBy: secondsAfterStart(0),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-changed-during`,
    state: 'changed-during',
    note: 'the name of the Deployment is corrected',
    setup: (fixture) => fixture.apply(deployment('web'), scaledObject('absent')),
    during: async (fixture) => {
      await fixture.wait(6)
      await fixture.apply(scaledObject('web'))
    },
    expect: { outcome: 'ready' },
    decidedBy: isReady,
    takesSeconds: 12,
  },
]
