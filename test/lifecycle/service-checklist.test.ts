import type { EndpointSlice, KubeObject, Pod, Service } from '../../src/cluster/objects.ts'
import { walkChecklist } from '../../src/lifecycle/network/service-checklist.ts'
import type { Workload } from '../../src/lifecycle/network/service-pods.ts'
import type { Check } from '../../src/reasons/reasons.ts'
import { cpuMs } from '../support/cpu.ts'
import {
  condition,
  context,
  crashLoopStatus,
  createContainer,
  createDeployment,
  createPod,
  createTemplate,
  readyStatus,
  type ViewOptions,
} from './builders.ts'

function createService(spec: object = {}, metadata: object = {}): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop', uid: 'service-uid', ...metadata },
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
  }
}

const containers = [createContainer({ ports: [{ name: 'http', containerPort: 8080 }] })]

function webPod(name: string, rest: { status?: Pod['status']; metadata?: object; spec?: object } = {}): Pod {
  const { status = readyStatus(1), metadata, spec } = rest
  return createPod({ metadata: { name, ...metadata }, spec: { containers, ...spec }, status })
}

interface Around {
  readonly pods?: readonly Pod[] | undefined
  readonly workloads?: readonly Workload[]
  readonly slices?: readonly EndpointSlice[]
  readonly options?: ViewOptions
}

function walk(service: Service, around: Around) {
  const { workloads = [], slices = [], options = {} } = around
  const pods = 'pods' in around ? around.pods : []
  const objects: readonly KubeObject[] = [...(pods ?? []), ...workloads]
  const finding = walkChecklist(service, { pods, workloads, slices }, context({ now: 60, ...options, objects }))
  return { ...finding, lines: finding.checks.map(line) }
}

function line({ state, text }: Check): string {
  return `${{ passed: '✓', failed: '✗', remark: '·' }[state]} ${text}`
}

const dying = { deletionTimestamp: '2025-01-15T12:00:30Z' }

describe('a selector that matches nothing', () => {
  it('is held against the pods that carry almost the same', () => {
    const pods = [webPod('a'), webPod('b'), webPod('c', { metadata: { labels: { app: 'shop' } } })]
    const { reason, message, lines } = walk(createService({ selector: { app: 'wbe' } }), { pods })
    expect(reason).toBe('selector-matches-nothing')
    expect(message).toBe('its selector app=wbe matches no pod; 2 pods carry app=web')
    expect(lines).toEqual(['✓ the Service exists', '✗ selector app=wbe matches no pod; 2 pods carry app=web'])
  })

  it('is held against labels that somebody wrote as numbers', () => {
    const pods = [webPod('a', { metadata: { labels: { app: 8081 } } })]
    const { message } = walk(createService({ selector: { app: 8080 } }), { pods })
    expect(message).toBe('its selector app=8080 matches no pod; 1 pod carries app=8081')
  })

  it('costs little where labels are longer than any server would take', () => {
    const pods = [webPod('a', { metadata: { labels: { app: 'x'.repeat(100_000) } } })]
    const service = createService({ selector: { app: 'y'.repeat(100_000) } })
    expect(cpuMs(() => walk(service, { pods }))).toBeLessThan(1_000)
  })

  it('is held against what workloads give to their pods, where no pods are seen', () => {
    const { message } = walk(createService({ selector: { app: 'wbe' } }), { workloads: [createDeployment()] })
    expect(message).toBe('its selector app=wbe matches no pod; deployment/web makes pods with app=web')
  })

  it('is held against those that agree with most of it', () => {
    const pods = [
      webPod('a', { metadata: { labels: { app: 'web', tier: 'back' } } }),
      webPod('b', { metadata: { labels: { app: 'shop', tier: 'front' } } }),
      webPod('c', { metadata: { labels: { app: 'web', tier: 'font' } } }),
    ]
    expect(walk(createService({ selector: { app: 'web', tier: 'front' } }), { pods }).message).toContain(
      '; 1 pod carries app=web,tier=font',
    )
  })

  it('is held against what is spelt most like it', () => {
    const other = createDeployment({
      metadata: { name: 'crash' },
      spec: { template: createTemplate({}, { app: 'crash' }) },
    })
    const { message } = walk(createService({ selector: { app: 'wbe' } }), { workloads: [other, createDeployment()] })
    expect(message).toContain('deployment/web makes pods with app=web')
  })

  it('is held against nothing where nothing is like it', () => {
    const pods = [webPod('a', { metadata: { labels: { app: 'shop' } } })]
    expect(walk(createService({ selector: { app: 'web' } }), { pods }).message).toBe(
      'its selector app=web matches no pod',
    )
  })

  it('is held against nothing where nothing carries its label', () => {
    const pods = [webPod('a')]
    expect(walk(createService({ selector: { name: 'web' } }), { pods }).message).toBe(
      'its selector name=web matches no pod',
    )
  })
})

describe('a selector that is right', () => {
  it('waits for the pods of a workload that has none', () => {
    const { reason, message } = walk(createService(), { workloads: [createDeployment({ spec: { replicas: 3 } })] })
    expect(reason).toBe('no-endpoints')
    expect(message).toBe('has no pods behind it: deployment/web wants 3 pods and has none')
  })

  it('finds its workload scaled to zero', () => {
    const other = createDeployment({ metadata: { name: 'other' }, spec: { replicas: 1, template: createTemplate() } })
    const workloads = [createDeployment({ spec: { replicas: 0 } }), other]
    expect(walk(createService(), { workloads }).lines.at(-1)).toBe(
      '✗ deployment/web is scaled to zero, deployment/other wants 1 pod and has none',
    )
  })
})

describe('the walk goes on', () => {
  it('to a port that is named and missing, with those that there are', () => {
    const service = createService({ ports: [{ port: 80, targetPort: 'web' }] })
    const { message, lines } = walk(service, { pods: [webPod('a')] })
    expect(message).toBe('no container of the pods that it selects has a port named "web"')
    expect(lines.at(-1)).toBe(
      '✗ no container of the pods that it selects has a port named "web": they declare 8080 ("http")',
    )
  })

  it('past a port that nobody declares, with a remark', () => {
    const service = createService({ ports: [{ port: 80, targetPort: 9090 }] })
    const { message, lines } = walk(service, { pods: [webPod('a')] })
    expect(lines).toContainEqual(expect.stringMatching(/^· port 9090: no container declares it/))
    expect(message).not.toContain('9090')
  })

  it('to pods that are all on their way out', () => {
    const pods = [webPod('a', { metadata: dying }), webPod('b', { metadata: dying })]
    expect(walk(createService(), { pods }).message).toBe('selects 2 pods, all of them being deleted')
  })

  it('to pods that no node takes', () => {
    const scheduled = condition('PodScheduled', 'False', { message: '0/1 nodes are available: 1 Insufficient cpu.' })
    const pods = [webPod('a', { spec: { nodeName: '' }, status: { phase: 'Pending', conditions: [scheduled] } })]
    const { lines, cause } = walk(createService(), { pods })
    expect(lines.at(-1)).toMatch(/^✗ it is not scheduled to a node: pod\/a cannot be scheduled: /)
    expect(cause?.reason).toBe('unschedulable')
  })

  it('to pods that crash, whose problem is the cause', () => {
    const pods = [webPod('a', { status: crashLoopStatus(3, 50) }), webPod('b', { status: crashLoopStatus(2, 50) })]
    const { message, lines, cause } = walk(createService(), { pods })
    expect(message).toMatch(/^selects 2 pods, none of them ready: container app of pod\/a exited with code 3/)
    expect(lines).toEqual([
      '✓ the Service exists',
      '✓ selector app=web matches 2 pods',
      '✓ port 8080 is declared by the pods',
      '✓ all of them are scheduled to a node',
      expect.stringMatching(/^✗ none of them is ready: container app of pod\/a exited/),
    ])
    expect(cause).toMatchObject({ reason: 'crash-loop', subject: 'pod/a', container: 'app' })
  })

  it('to pods that are ready, but only of an older revision', () => {
    const pods = [webPod('old')]
    const finding = walk(createService(), { pods, options: { isOfGatedRevision: () => false } })
    expect(finding.message).toBe('selects 1 pod, of an older revision; no new one is there yet')
    expect(finding.lines.at(-1)).toBe('✗ only pods of an older revision are ready')
  })

  it.each([
    [['old', 'old-too'], 'selects 2 pods, all of them of an older revision; no new one is there yet'],
    [
      ['old', 'new'],
      'selects 2 pods, 1 of them of an older revision, the new one not ready: container app of pod/new ',
    ],
    [
      ['old', 'new', 'new-too'],
      'selects 3 pods, 1 of them of an older revision, none of the new ones ready: container app of pod/new ',
    ],
  ])('to the new pods of an update, whose old ones are ready: %j', (names, words) => {
    const pods = names.map((name) => webPod(name, name.startsWith('old') ? {} : { status: crashLoopStatus(3, 50) }))
    const isOfGatedRevision = ({ metadata }: Pod) => !metadata.name.startsWith('old')
    const finding = walk(createService(), { pods, options: { isOfGatedRevision } })
    expect(finding.message.startsWith(words)).toBe(true)
    expect(finding.lines.at(-1)).toMatch(/^✗ only pods of an older revision are ready/)
  })

  it('to endpoints that nobody has made yet', () => {
    expect(walk(createService(), { pods: [webPod('a')] }).lines.at(-1)).toBe(
      '✗ no endpoint takes traffic to the ready pod yet: none was made',
    )
  })
})

it('a Service that is being deleted is told first', () => {
  expect(walk(createService({}, dying), { pods: [webPod('a')] }).lines[0]).toBe('✗ the Service is being deleted')
})

it('where pods may not be seen, only the endpoints speak', () => {
  const { message, lines } = walk(createService(), { pods: undefined })
  expect(message).toBe('has 0 endpoints, none of them ready')
  expect(lines).toContain('· its pods cannot be seen')
})
