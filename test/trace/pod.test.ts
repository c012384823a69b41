import type { ContainerStatus, PodSpec, PodStatus } from '../../src/cluster/objects.ts'
import {
  condition,
  createBarePod,
  createContainer,
  createEvent,
  createStatus,
  iso,
  podStatus,
  readyStatus,
  running,
  terminated,
  waiting,
} from '../lifecycle/builders.ts'
import { createTarget, section, viewOf } from './builders.ts'

const target = createTarget('Pod', 'once')

function viewAt(status: PodStatus, spec: Partial<PodSpec> = {}, seconds = 5): string[] {
  return viewOf(target, [createBarePod({ status, spec })], seconds)
}

const containers = (status: PodStatus, spec: Partial<PodSpec> = {}) => section(viewAt(status, spec), 'containers')
const app = (status: Partial<ContainerStatus>) => containers(podStatus(status))[0]

describe('a pod that starts', () => {
  test('waits for a node', () => {
    const page = viewOf(target, [createBarePod({ spec: { nodeName: '' } })])
    expect(page[1]).toBe('… in progress · waiting for a node')
    expect(section(page, 'milestones')).toContain('  … scheduled waiting for a node')
  })

  test('shows its node, and the containers that have not started', () => {
    expect(section(viewAt(podStatus({}, { phase: 'Pending' })), 'milestones')).toEqual([
      '  ✓ created   5 s ago',
      '  ✓ scheduled scheduled on node-1',
      '  … pulled    pulling images',
      '  · started',
      '  · running',
      '  · ready',
    ])
  })

  test('is ready when it has settled', () => {
    expect(viewAt(readyStatus(), {}, 5)[1]).toBe('… in progress · ready, settling')
    expect(viewAt(readyStatus(), {}, 11)[1]).toBe('✓ ready · running and ready')
  })
})

describe('the containers of a pod', () => {
  test.each<[what: string, status: Partial<ContainerStatus>, words: string]>([
    ['is being created', { state: waiting('ContainerCreating') }, '  … app being created · acme/web:v1'],
    ['runs', { state: running(1), ready: true }, '  ✓ app running, ready · started 4 s ago · acme/web:v1'],
    ['is not ready', { state: running(1) }, '  … app running, not ready · started 4 s ago · acme/web:v1'],
    ['died', { state: terminated(3, 4) }, '  ✗ app ended with exit code 3 · acme/web:v1'],
    [
      'ran out of memory',
      { state: terminated(137, 4, { reason: 'OOMKilled' }) },
      '  ✗ app ended with exit code 137 (OOMKilled) · acme/web:v1',
    ],
    [
      'waits for its restart',
      { state: waiting('CrashLoopBackOff'), restartCount: 2, lastState: terminated(3, 4) },
      '  ✗ app waits for its restart (CrashLoopBackOff) · 2 restarts · last exit code 3 (1 s ago) · acme/web:v1',
    ],
    [
      'cannot be pulled',
      { state: waiting('ErrImagePull', 'no such image') },
      '  ✗ app its image cannot be pulled (ErrImagePull): no such image · acme/web:v1',
    ],
  ])('one that %s', (_, status, words) => {
    expect(app(status)).toBe(words)
  })

  test('init containers and sidecars are marked, in the order in which they start', () => {
    const spec = {
      initContainers: [
        createContainer({ name: 'migrate' }),
        createContainer({ name: 'proxy', restartPolicy: 'Always' }),
      ],
      containers: [createContainer()],
    }
    const status = {
      phase: 'Pending',
      initContainerStatuses: [
        createStatus({ name: 'migrate', state: terminated(0, 2) }),
        createStatus({ name: 'proxy', state: running(3), ready: true }),
      ],
      containerStatuses: [createStatus({ state: waiting('PodInitializing') })],
    }
    expect(containers(status, spec)).toEqual([
      '  ✓ migrate (init) done (exit code 0) · acme/web:v1',
      '  ✓ proxy   (sidecar) running, ready · started 2 s ago · acme/web:v1',
      '  · app     waits for the init containers · acme/web:v1',
    ])
  })

  test('probes show their results', () => {
    const readinessProbe = { httpGet: { port: 8080, path: '/ready' }, periodSeconds: 5 }
    const livenessProbe = { tcpSocket: { port: 8080 } }
    const spec = { containers: [createContainer({ readinessProbe, livenessProbe })] }
    const pod = createBarePod({ spec, status: podStatus({ state: running(1), started: true }) })
    const failure = (message: string) => createEvent(pod, { container: 'app', reason: 'Unhealthy', message })
    const liveness = { ...failure('Liveness probe failed: refused'), metadata: { name: 'b', namespace: 'shop' } }
    const page = viewOf(target, [pod, failure('Readiness probe failed: 503'), liveness])
    expect(section(page, 'containers').slice(1)).toEqual([
      '      ! readiness probe (GET :8080/ready every 5 s) Readiness probe failed: 503',
      '      ! liveness probe (TCP :8080 every 10 s) Liveness probe failed: refused',
    ])
  })

  test('a readiness gate is shown when everything else is ready', () => {
    const conditions = [condition('Ready', 'False', { message: 'gate' }), condition('ContainersReady', 'True')]
    const page = viewAt({ ...readyStatus(), conditions }, { readinessGates: [{ conditionType: 'acme/lb' }] })
    expect(section(page, 'conditions')).toEqual(['  … Ready False gate'])
  })
})

describe('a pod with problems', () => {
  test('shows the problem and a hint', () => {
    const page = viewAt({ ...podStatus({ state: terminated(3, 4) }) })
    expect(page[2]).toMatch(/^ {2}✗ crash-loop container app: /)
    expect(page[3]).toMatch(/^ {4}→ /)
  })

  test('shows its events, repeated ones once', () => {
    const pod = createBarePod({ status: podStatus({}, { phase: 'Pending' }) })
    const event = createEvent(pod, { reason: 'Failed', message: 'no such image', count: 3, lastTimestamp: iso(2) })
    expect(section(viewOf(target, [pod, event]), 'events')).toEqual(['    3 s ago Failed ×3 no such image'])
  })

  test('shows a deletion in its status line, not as a problem', () => {
    const metadata = { deletionTimestamp: iso(30), finalizers: ['acme/keep'] }
    const page = viewOf(target, [createBarePod({ metadata, status: readyStatus() })], 11)
    expect(page[1]).toMatch(/^… is being deleted.*acme\/keep/)
    expect(page[2]).toBe('')
  })
})
