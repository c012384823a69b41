import type { KubeObject } from '../cluster/api.ts'
import { all, type ClusterState, podsRun, pullRefused, secondsAfterStart } from '../cluster/cluster-states.ts'
import type { Fixture } from '../cluster/fixture.ts'
import { appImage, registryAddress } from '../cluster/images.ts'
import { imageName, slowStart } from '../cluster/objects.ts'
import type { Operator, OperatorScenario } from './operator.ts'
import { isCurrent, whileStopped } from './states.ts'

const name = 'prometheus-operator'

export const prometheusOperator: Operator = {
  name,
  module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
  program: 'cmd/operator',
  definitions: ['example/prometheus-operator-crd'],
  kinds: ['Prometheus'],
  args: () => [
    '--web.listen-address=127.0.0.1:0',
    '--kubelet-endpoints=false',
    `--prometheus-config-reloader=${appImage}:v1`,
  ],
  started: /successfully synced all caches/,
}

/** A Prometheus whose containers run the tests' application; `spec` overrides fields. */
function prometheus(image: string, script = 'exec serve', spec: object = {}): KubeObject {
  const httpGet = { path: '/', port: 8080, scheme: 'HTTP' }
  const probe = { httpGet, periodSeconds: 1 }
  // Without the trap it would use the whole grace period of ten minutes.
  const idle = 'trap "exit 0" TERM; sleep infinity & wait'
  const reloader = { name: 'config-reloader', command: ['sh', '-c', idle] }
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'Prometheus',
    metadata: { name: 'web' },
    spec: {
      replicas: 1,
      version: 'v3.5.0',
      image: imageName(image),
      containers: [
        {
          name: 'prometheus',
          command: ['sh', '-c', script],
          readinessProbe: probe,
          livenessProbe: probe,
          startupProbe: { ...probe, failureThreshold: 60 },
        },
        reloader,
      ],
      initContainers: [{ name: 'init-config-reloader', command: ['true'] }],
      ...spec,
    },
  }
}

/**
 * The Prometheus is available with this image. Its condition is not enough: the operator calculates it before the
 * StatefulSet has observed the change.
 */
function availableWith(image: string): ClusterState {
  return all(isCurrent('Prometheus', 'web', 'Available'), podsRun(imageName(image), 'prometheus-web-0'))
}

async function available(fixture: Fixture): Promise<void> {
  await fixture.apply(prometheus('v1'))
  await fixture.until('the Prometheus is available', availableWith('v1'))
}

const missing = `${registryAddress}/missing:v1`
const common = { operator: name, inputs: { resources: 'prometheus/web' } } as const

export const prometheusScenarios: readonly OperatorScenario[] = [
  {
    ...common,
    name: `${name}-healthy`,
    state: 'healthy',
    note: 'a Prometheus of one pod',
    setup: (fixture) => fixture.apply(prometheus('v1')),
    expect: { outcome: 'ready' },
    decidedBy: availableWith('v1'),
    takesSeconds: 12,
  },
  {
    ...common,
    name: `${name}-failing`,
    state: 'failing',
    note: 'the image does not exist',
    inputs: { ...common.inputs, 'stall-timeout': '30s' },
    setup: (fixture) => fixture.apply(prometheus(missing)),
    expect: { outcome: ['failed', 'stalled'] },
    cause: 'missing:v1',
    decidedBy: pullRefused('missing', 2),
    takesSeconds: 40,
  },
  {
    ...common,
    name: `${name}-slow`,
    state: 'slow',
    note: 'its container starts to serve after 14 s',
    setup: (fixture) => fixture.apply(prometheus('v1', slowStart(14))),
    expect: { outcome: 'ready' },
    decidedBy: availableWith('v1'),
    takesSeconds: 30,
  },
  {
    ...common,
    name: `${name}-stale`,
    state: 'stale',
    note: 'the controller is stopped while another image is applied',
    ...whileStopped(name, available, (fixture) => fixture.apply(prometheus('v2'))),
    expect: { outcome: 'ready' },
    decidedBy: availableWith('v2'),
    takesSeconds: 35,
  },
  {
    ...common,
    name: `${name}-suspended`,
    state: 'suspended',
    note: 'paused from the start',
    inputs: { ...common.inputs, 'stall-timeout': '10s' },
    setup: (fixture) => fixture.apply(prometheus('v1', undefined, { paused: true })),
    expect: { outcome: 'stalled' },
    cause: 'paused',
    decidedBy: secondsAfterStart(10),
    takesSeconds: 16,
  },
  {
    ...common,
    name: `${name}-changed-during`,
    state: 'changed-during',
    note: 'the image is corrected; the StatefulSet may keep its broken pod',
    inputs: { ...common.inputs, 'stall-timeout': '20s' },
    setup: (fixture) => fixture.apply(prometheus(missing)),
    during: async (fixture) => {
      await fixture.wait(4)
      await fixture.apply(prometheus('v1'))
      fixture.markDecided()
    },
    expect: { outcome: ['ready', 'stalled'] },
    cause: 'prometheus-web-0',
    takesSeconds: 30,
  },
]
