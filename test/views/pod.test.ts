import type { ContainerStatus, PodSpec, PodStatus } from '../../src/cluster/objects.ts'
import { condition, is, iso, make, podIs } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { createTarget, section, viewOf } from '../kit/trace.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const target = createTarget('Pod', 'once')

function viewAt(status: PodStatus, spec: Partial<PodSpec> = {}, seconds = 5): string[] {
  return viewOf(target, [make.barePod({ status, spec })], seconds)
}

const containers = (status: PodStatus, spec: Partial<PodSpec> = {}) => section(viewAt(status, spec), 'containers')
const app = (status: Partial<ContainerStatus>) => containers(podIs.unready(status))[0]

describe('a pod that starts', () => {
  test('waits for a node', () => {
    const page = viewOf(target, [make.barePod({ spec: { nodeName: '' } })])
    expect(page[1]).toBe('… in progress · waiting for a node')
    expect(section(page, 'milestones')).toContain('  … scheduled waiting for a node')
  })

  test('shows its node, and the containers that have not started', () => {
    expect(section(viewAt(podIs.unready({}, { phase: 'Pending' })), 'milestones')).toEqual([
      '  ✓ created   5 s ago',
      '  ✓ scheduled scheduled on node-1',
      '  … pulled    pulling images',
      '  · started',
      '  · running',
      '  · ready',
    ])
  })

  test('is ready when it has settled', () => {
    expect(viewAt(podIs.ready(), {}, 5)[1]).toBe('… in progress · ready, settling')
    expect(viewAt(podIs.ready(), {}, 11)[1]).toBe('✓ ready · running and ready')
  })
})

describe('the view of a pod shows', () => {
  test.each(rows<[what: string, status: Partial<ContainerStatus>, words: string]>(data, 'one that'))(
    'a container that %s',
    (_, status, words) => {
      expect(app(status)).toBe(words)
    },
  )

  test('init containers and sidecars are marked, in the order in which they start', () => {
    const spec = {
      initContainers: [make.container({ name: 'migrate' }), make.container({ name: 'proxy', restartPolicy: 'Always' })],
      containers: [make.container()],
    }
    const status = {
      phase: 'Pending',
      initContainerStatuses: [
        make.containerStatus({ name: 'migrate', state: is.terminated(0, 2) }),
        make.containerStatus({ name: 'proxy', state: is.running(3), ready: true }),
      ],
      containerStatuses: [make.containerStatus({ state: is.waiting('PodInitializing') })],
    }
    expect(containers(status, spec)).toEqual([
      '  ✓ migrate (init) done (exit code 0) · acme/web:v1',
      '  ✓ proxy   (sidecar) running, ready · started 2 s ago · acme/web:v1',
      '  · app     PodInitializing · acme/web:v1',
    ])
  })

  test('probes show their results', () => {
    const readinessProbe = { httpGet: { port: 8080, path: '/ready' }, periodSeconds: 5 }
    const livenessProbe = { tcpSocket: { port: 8080 } }
    const spec = { containers: [make.container({ readinessProbe, livenessProbe })] }
    const pod = make.barePod({ spec, status: podIs.unready({ state: is.running(1), started: true }) })
    const failure = (message: string) => make.event(pod, { container: 'app', reason: 'Unhealthy', message })
    const liveness = { ...failure('Liveness probe failed: refused'), metadata: { name: 'b', namespace: 'shop' } }
    const page = viewOf(target, [pod, failure('Readiness probe failed: 503'), liveness])
    expect(section(page, 'containers').slice(1)).toEqual([
      '      ! readiness probe (GET :8080/ready every 5 s) Readiness probe failed: 503',
      '      ! liveness probe (TCP :8080 every 10 s) Liveness probe failed: refused',
    ])
  })

  test('a readiness gate is shown when everything else is ready', () => {
    const conditions = [condition('Ready', 'False', { message: 'gate' }), condition('ContainersReady', 'True')]
    const page = viewAt({ ...podIs.ready(), conditions }, { readinessGates: [{ conditionType: 'acme/lb' }] })
    expect(section(page, 'conditions')).toEqual(['  … Ready False gate'])
  })
})

describe('a pod with problems', () => {
  test('shows the problem and a hint', () => {
    const page = viewAt({ ...podIs.unready({ state: is.terminated(3, 4) }) })
    expect(page[2]).toMatch(/^ {2}✗ crash-loop container app: /)
    expect(page[3]).toMatch(/^ {4}→ /)
  })

  test('shows its events, repeated ones once', () => {
    const pod = make.barePod({ status: podIs.unready({}, { phase: 'Pending' }) })
    const event = make.event(pod, { reason: 'Failed', message: 'no such image', count: 3, lastTimestamp: iso(2) })
    expect(section(viewOf(target, [pod, event]), 'events')).toEqual(['    3 s ago Failed ×3 no such image'])
  })

  test('shows a deletion in its status line, not as a problem', () => {
    const metadata = { deletionTimestamp: iso(30), finalizers: ['acme/keep'] }
    const page = viewOf(target, [make.barePod({ metadata, status: podIs.ready() })], 11)
    expect(page[1]).toMatch(/^… is being deleted.*acme\/keep/)
    expect(page[2]).toBe('')
  })
})
