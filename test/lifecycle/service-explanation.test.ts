import type { KubeObject, Pod, Service } from '../../src/cluster/objects.ts'
import { reachedPods } from '../../src/lifecycle/network/endpoints.ts'
import { explainUnserved } from '../../src/lifecycle/network/service-explanation.ts'
import { type Check, messageOf } from '../../src/reasons/reasons.ts'
import { condition, make, podIs } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { type ReaderOptions, reader } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

function createService(spec: object = {}, metadata: object = {}): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'shop', uid: 'service-uid', ...metadata },
    spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }], ...spec },
  }
}

const containers = [make.container({ ports: [{ name: 'http', containerPort: 8080 }] })]

function webPod(name: string, rest: { status?: Pod['status']; metadata?: object; spec?: object } = {}): Pod {
  const { status = podIs.ready(1), metadata, spec } = rest
  return make.pod({ metadata: { name, ...metadata }, spec: { containers, ...spec }, status })
}

interface Namespace {
  /** Undefined where pods cannot be read. */
  readonly pods?: readonly Pod[] | undefined
  readonly workloads?: readonly KubeObject[]
  readonly options?: ReaderOptions
}

/** Why a Service without ready endpoints has none, with its checks as lines. */
function explain(service: Service, namespace: Namespace) {
  const { workloads = [], options = {} } = namespace
  const pods = 'pods' in namespace ? namespace.pods : []
  const around = reader({ now: 60, ...options, objects: [...(pods ?? []), ...workloads] })
  const problem = explainUnserved(
    service,
    reachedPods(service, around),
    service.spec?.ports ?? [],
    pods !== undefined,
    around,
  )
  const { reason, cause, checks = [] } = problem
  return { reason, cause, message: messageOf(problem), lines: checks.map(line) }
}

function line({ state, text }: Check): string {
  return `${{ passed: '✓', failed: '✗', remark: '·' }[state]} ${text}`
}

const dying = { deletionTimestamp: '2025-01-15T12:00:30Z' }

describe('a selector that matches nothing', () => {
  const labelled = (name: string, labels: object) => webPod(name, { metadata: { labels } })

  it('lists the labels of pods, the most common first', () => {
    const pods = [labelled('a', { app: 'shop' }), webPod('b'), webPod('c')]
    const { reason, message, lines } = explain(createService({ selector: { app: 'wbe' } }), { pods })
    expect(reason).toBe('selector-matches-nothing')
    expect(message).toBe('its selector app=wbe matches no pod; pods and templates have app=web or app=shop')
    expect(lines).toEqual(['✓ the Service exists', `✗ ${message.replace('its ', '')}`])
  })

  it('lists at most three sets of labels, of the keys of the selector', () => {
    const pods = ['a', 'b', 'c', 'd'].map((app) => labelled(app, { app, tier: 'front', team: app }))
    expect(explain(createService({ selector: { app: 8080, tier: 'front' } }), { pods }).message).toMatch(
      /have app=a,tier=front or app=b,tier=front or app=c,tier=front or others$/,
    )
  })

  it('lists the labels in the pod template of a workload that has no pods', () => {
    const { message } = explain(createService({ selector: { app: 'wbe' } }), { workloads: [make.deployment()] })
    expect(message).toBe('its selector app=wbe matches no pod; pods and templates have app=web')
  })

  it('lists nothing where no pod has the label', () => {
    const service = createService({ selector: { name: 'web' } })
    expect(explain(service, { pods: [webPod('a')] }).message).toBe('its selector name=web matches no pod')
  })
})

describe('a selector that matches a workload without pods', () => {
  it('reports the desired number of pods of the workload', () => {
    const { reason, message } = explain(createService(), { workloads: [make.deployment({ spec: { replicas: 3 } })] })
    expect(reason).toBe('no-endpoints')
    expect(message).toBe('has no pods behind it: deployment/web should have 3 pods and has none')
  })

  it('reports that the workload is scaled to zero', () => {
    const other = make.deployment({ metadata: { name: 'other' }, spec: { replicas: 1, template: make.template() } })
    const workloads = [make.deployment({ spec: { replicas: 0 } }), other]
    expect(explain(createService(), { workloads }).lines.at(-1)).toBe(
      '✗ deployment/web is scaled to zero, deployment/other should have 1 pod and has none',
    )
  })
})

describe('the explanation of pods that get no traffic', () => {
  it('is a port name that no container declares, with the declared ports', () => {
    const service = createService({ ports: [{ port: 80, targetPort: 'web' }] })
    const { message, lines } = explain(service, { pods: [webPod('a')] })
    expect(message).toBe('no container of the pods that it selects has a port named "web"')
    expect(lines.at(-1)).toBe(
      '✗ no container of the pods that it selects has a port named "web": they declare 8080 (http)',
    )
  })

  it('only remarks a port number that no container declares', () => {
    const service = createService({ ports: [{ port: 80, targetPort: 9090 }] })
    const { message, lines } = explain(service, { pods: [webPod('a')] })
    expect(lines).toContainEqual(expect.stringMatching(/^· port 9090: no container declares it/))
    expect(message).not.toContain('9090')
  })

  it('is that all pods are being deleted', () => {
    const pods = [webPod('a', { metadata: dying }), webPod('b', { metadata: dying })]
    expect(explain(createService(), { pods }).message).toBe('selects 2 pods, all of them being deleted')
  })

  it('is that no pod is scheduled', () => {
    const scheduled = condition('PodScheduled', 'False', { message: '0/1 nodes are available: 1 Insufficient cpu.' })
    const pods = [webPod('a', { spec: { nodeName: '' }, status: { phase: 'Pending', conditions: [scheduled] } })]
    const { lines, cause } = explain(createService(), { pods })
    expect(lines.at(-1)).toMatch(/^✗ it is not scheduled to a node: pod\/a cannot be scheduled: /)
    expect(cause?.reason).toBe('unschedulable')
  })

  it('is a pod that crashes, whose problem is the cause', () => {
    const pods = [webPod('a', { status: podIs.looping(3, 50) }), webPod('b', { status: podIs.looping(2, 50) })]
    const { message, lines, cause } = explain(createService(), { pods })
    expect(message).toMatch(/^selects 2 pods, none of them ready: container app of pod\/a exited with code 3/)
    expect(lines).toEqual([
      '✓ the Service exists',
      '✓ selector app=web matches 2 pods',
      '✓ port 8080 is declared by the pods',
      '✓ all of them are scheduled to a node',
      expect.stringMatching(/^✗ none of them is ready: container app of pod\/a exited/),
    ])
    expect(cause).toMatchObject({ reason: 'crash-loop', subject: toSubject('pod/a'), container: 'app' })
  })

  it('is that only pods of an older revision are ready', () => {
    const pods = [webPod('old')]
    const finding = explain(createService(), { pods, options: { revisionOf: () => 'other' } })
    expect(finding.message).toBe('selects 1 pod, of an older revision; no new one is there yet')
    expect(finding.lines.at(-1)).toBe('✗ only pods of an older revision are ready')
  })

  it.each(rows<[readonly string[], string]>(data, 'the pods of an update while the old ones are ready'))(
    'is the new pods of an update, while the old ones are ready: %j',
    (names, words) => {
      const pods = names.map((name) => webPod(name, name.startsWith('old') ? {} : { status: podIs.looping(3, 50) }))
      const revisionOf = ({ metadata }: Pod) => (metadata.name.startsWith('old') ? 'other' : 'gated')
      const finding = explain(createService(), { pods, options: { revisionOf } })
      expect(finding.message.startsWith(words)).toBe(true)
      expect(finding.lines.at(-1)).toMatch(/^✗ only pods of an older revision are ready/)
    },
  )

  it('is that no endpoint was made yet', () => {
    expect(explain(createService(), { pods: [webPod('a')] }).lines.at(-1)).toBe(
      '✗ no endpoint takes traffic to the ready pod yet: none was made',
    )
  })
})

it('a Service that is being deleted is the first check', () => {
  expect(explain(createService({}, dying), { pods: [webPod('a')] }).lines[0]).toBe('✗ the Service is being deleted')
})

it('an explanation of a Service whose pods cannot be read counts only endpoints', () => {
  const { message, lines } = explain(createService(), { pods: undefined })
  expect(message).toBe('has 0 endpoints, none of them ready')
  expect(lines).toContain('· its pods cannot be read')
})
