import type { Pod, Service } from '../../src/cluster/objects.ts'
import { is, make, podIs } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { createService, createSlice, createTarget, section, testViews, viewOf } from '../kit/trace.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const target = createTarget('Service', 'web')

function createWebPod(name: string, ready = true, labels: Record<string, string> = { app: 'web' }): Pod {
  const containers = [make.container({ ports: [{ name: 'http', containerPort: 8080 }] })]
  return make.barePod({
    metadata: { name, uid: `${name}-uid`, labels },
    spec: { containers },
    status: ready ? podIs.ready() : podIs.unready({ state: is.running(1), started: true }),
  })
}

const a = createWebPod('web-a')

describe('the view of a Service shows', () => {
  const reached = (spec: Service['spec'], status = {}) =>
    section(viewOf(target, [createService(spec, status), a, createSlice([a], 8080)]), 'reached at')

  test.each(rows<[type: string, spec: Service['spec'], lines: readonly string[]]>(data, 'how a Service is reached'))(
    '%s',
    (_, spec, lines) => {
      expect(reached(spec)).toEqual(lines)
    },
  )

  test('LoadBalancer with an address and a name', () => {
    const ingress = [{ ip: '203.0.113.7' }, { hostname: 'lb.example.com' }]
    expect(reached({ type: 'LoadBalancer' }, { loadBalancer: { ingress } }).slice(1)).toEqual([
      '  ✓ outside 203.0.113.7 80/TCP',
      '  ✓ outside lb.example.com 80/TCP',
    ])
  })

  test('its title contains its type', () => {
    expect(viewOf(target, [createService({ type: 'NodePort' })])[0]).toContain('· NodePort 10.0.0.1 ·')
    expect(viewOf(target, [createService({ clusterIP: 'None' })])[0]).toContain('· headless ·')
  })

  test('a headless Service may have no ports', () => {
    const page = viewOf(target, [createService({ clusterIP: 'None', ports: undefined })])
    expect(page[0]).toContain('· headless ·')
  })
})

describe('the view of a Service explains a pod without traffic if', () => {
  const endpoints = (...objects: Parameters<typeof viewOf>[1]) => section(viewOf(target, objects), 'endpoints')

  test('the pod has no status yet', () => {
    const { status: _, ...created } = createWebPod('web-c', false)
    expect(endpoints(createService(), a, created, createSlice([a], 8080)).join('\n')).toContain('web-c')
  })

  test('its readiness probe fails', () => {
    const unready = createWebPod('web-c', false)
    const event = make.event(unready, {
      container: 'app',
      reason: 'Unhealthy',
      message: 'Readiness probe failed: 404',
    })
    expect(endpoints(createService(), a, unready, event, createSlice([a], 8080, [unready]))).toEqual([
      '  … selector app=web matches 2 pods · traffic for 1 of 2',
      '    ✓ web-a 10.1.0.1:8080 gets traffic',
      expect.stringMatching(/^ {4}[!…] web-c 10\.1\.0\.2:8080 gets none yet: .*Readiness probe failed: 404$/),
    ])
  })
})

testViews(data, target)
