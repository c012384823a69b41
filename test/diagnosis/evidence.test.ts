import type { FeedEvent } from '../../src/cluster/feed.ts'
import { Store } from '../../src/cluster/store.ts'
import { addDiagnosis } from '../../src/diagnosis/diagnosis.ts'
import { TargetFacts } from '../../src/diagnosis/target-facts.ts'
import { parseManifests } from '../../src/plan/read-manifests.ts'
import { type Manifest, nameKey } from '../../src/plan/target.ts'
import { toSubject } from '../kit/subject.ts'
import { at, createProblem, createRecord, createTarget, createTargetRecord, start } from '../report/builders.ts'

const target = createTarget()
const owner = (kind: string, name: string, uid: string) => [
  { apiVersion: 'apps/v1', kind, name, uid, controller: true },
]
const meta = (name: string, uid: string, rest: object = {}) => ({ name, namespace: 'shop', uid, ...rest })
const container = {
  name: 'app',
  image: 'acme/web:v2',
  ports: [{ containerPort: 8080 }],
  readinessProbe: { httpGet: { port: 8081, path: '/healthz' } },
}
const crashedPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: meta('web-x', 'p', { ownerReferences: owner('ReplicaSet', 'web-688', 'r') }),
  spec: { containers: [container] },
  status: {
    containerStatuses: [{ name: 'app', lastState: { terminated: { exitCode: 1, message: 'panic: no database' } } }],
  },
}
const objects = [
  { apiVersion: 'apps/v1', kind: 'Deployment', metadata: meta('web', 'd') },
  {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: meta('web-688', 'r', { ownerReferences: owner('Deployment', 'web', 'd') }),
  },
  crashedPod,
]

function event(reason: string, message: string, rest: object = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: meta(`${reason}-1`, `e-${reason}`),
    involvedObject: { kind: 'Pod', name: 'web-x', namespace: 'shop', uid: 'p' },
    type: 'Warning',
    reason,
    message,
    lastTimestamp: new Date(at(12)).toISOString(),
    ...rest,
  }
}

function fill(...more: object[]): Store {
  const store = new Store(() => false)
  for (const object of [...objects, ...more]) store.apply({ type: 'ADDED', at: start, object } as FeedEvent)
  store.apply({
    type: 'LOG',
    at: start,
    namespace: 'shop',
    pod: 'web-x',
    container: 'app',
    previous: true,
    text: 'connecting\npanic',
  })
  return store
}

function explained(
  problem: Parameters<typeof createProblem>[0],
  store = fill(),
  manifests?: ReadonlyMap<string, Manifest>,
) {
  const judged = createTargetRecord({
    target,
    outcome: 'failed',
    reason: problem?.reason ?? '',
    problems: [createProblem({ subject: toSubject('pod/web-x'), ...problem })],
  })
  const [first] = addDiagnosis(createRecord({ targets: [judged] }), store, 0, manifests).targets
  if (first === undefined) throw new Error('no target')
  return first
}

describe('the evidence of a target that is not ready', () => {
  it('contains the ownership chain from the target to the container', () => {
    expect(explained({ reason: 'crash-loop' }).problems[0]?.chain).toEqual([
      'deployment/web',
      'replicaset/web-688',
      'pod/web-x',
      'container app',
    ])
  })

  it('contains the log of the previous container run and the termination message', () => {
    const evidence = explained({ reason: 'crash-loop' }).problems[0]?.evidence ?? []
    expect(evidence.map(({ title }) => title)).toEqual([
      'Termination message',
      'Last log lines of container app, previous run',
    ])
    expect(evidence[0]?.text).toBe('panic: no database')
  })

  it('contains warning events with their count, and no normal events', () => {
    const store = fill(
      event('BackOff', 'Back-off restarting', { count: 3 }),
      event('Pulled', 'Pulled it', { type: 'Normal' }),
    )
    const events = explained({ reason: 'crash-loop' }, store).problems[0]?.evidence.find(({ type }) => type === 'event')
    expect(events?.text).toBe('BackOff ×3  Back-off restarting')
  })

  it('contains the events of the failing container and its pod, but of no other container', () => {
    const of = (name: string) => ({ ...event('x', '').involvedObject, fieldPath: `spec.containers{${name}}` })
    const store = fill(
      event('BackOff', 'Back-off restarting app', { involvedObject: of('app') }),
      { ...event('Unhealthy', 'Readiness probe failed: 503', { involvedObject: of('proxy') }) },
      event('NodeNotReady', 'Node is not ready'),
    )
    const events = explained({ reason: 'crash-loop' }, store).problems[0]?.evidence.find(({ type }) => type === 'event')
    expect(events?.text.split('\n')).toEqual(['BackOff  Back-off restarting app', 'NodeNotReady  Node is not ready'])
  })

  it('has a hint from the answer to the probe', () => {
    const store = fill({ ...crashedPod, spec: { containers: [{ ...container, ports: [{ containerPort: 8081 }] }] } })
    const detail = { isRunning: true, answer: { type: 'http-status', status: 503 } }
    expect(explained({ reason: 'readiness-failing', detail }, store).hint).toContain('the app answers 503')
  })

  it('has a hint that compares the probe port with the container ports', () => {
    expect(explained({ reason: 'readiness-failing' }).hint).toContain(
      'The probe asks port 8081 for /healthz, but the container declares 8080.',
    )
  })

  it('has a hint with the line of the manifest to correct', () => {
    const text = [
      'apiVersion: apps/v1',
      'kind: Deployment',
      'metadata: {name: web, namespace: shop}',
      'spec:',
      '  template:',
      '    spec:',
      '      containers:',
      '        - name: app',
      '          image: acme/web:v2',
    ].join('\n')
    const [reference] = parseManifests(text, 'k8s/web.yaml').references
    if (reference?.manifest === undefined) throw new Error('no manifest')
    const judged = explained({ reason: 'image-not-found' }, fill(), new Map([[nameKey(target), reference.manifest]]))
    expect(judged.source).toEqual({ file: 'k8s/web.yaml', line: 9 })
    expect(judged.problems[0]?.evidence[0]).toEqual({
      type: 'manifest',
      title: 'k8s/web.yaml, line 9',
      text: 'spec.template.spec.containers[app].image',
    })
  })
})

describe('a problem with a cause', () => {
  const cause = createProblem({ reason: 'crash-loop', subject: toSubject('pod/web-x') })
  const serviceTarget = createTarget({ apiVersion: 'v1', kind: 'Service', name: 'front' })
  const waiting = createTargetRecord({
    target: serviceTarget,
    outcome: 'stalled',
    reason: 'no-endpoints',
    problems: [
      createProblem({
        reason: 'no-endpoints',
        headline: 'the Service has no ready endpoints',
        subject: toSubject('service/front'),
        cause: cause.basis,
      }),
    ],
  })

  it('has the evidence of its cause and the chain to it', () => {
    const [judged] = addDiagnosis(createRecord({ targets: [waiting] }), fill(), 0).targets
    expect(judged?.problems[0]?.chain).toEqual([
      'service/front',
      'deployment/web',
      'replicaset/web-688',
      'pod/web-x',
      'container app',
    ])
    expect(judged?.problems[0]?.evidence).toMatchObject([
      { title: 'Termination message' },
      { title: 'Last log lines of container app, previous run' },
    ])
  })

  it('has no evidence of its cause if another target has it', () => {
    const failed = createTargetRecord({ target, outcome: 'failed', reason: 'crash-loop', problems: [cause] })
    const [judged, other] = addDiagnosis(createRecord({ targets: [waiting, failed] }), fill(), 0).targets
    expect(judged?.problems[0]?.evidence.map(({ title }) => title)).toEqual([])
    expect(other?.problems[0]?.evidence).toHaveLength(2)
  })
})

describe('the logs that the evidence needs', () => {
  const failed = (...problems: readonly Parameters<typeof createProblem>[0][]) =>
    createTargetRecord({ outcome: 'failed', problems: problems.map((problem) => createProblem(problem)) })
  const logged = (judged: ReturnType<typeof failed>, store = new Store(() => false)) =>
    new TargetFacts(judged, store).loggedContainers

  it('contain the log of a container that died, once', () => {
    const judged = failed(
      { reason: 'crash-loop', subject: toSubject('pod/web-x') },
      { reason: 'readiness-failing', subject: toSubject('pod/web-x') },
    )
    expect(logged(judged)).toEqual([{ namespace: 'shop', pod: 'web-x', container: 'app' }])
  })

  it('contain the log of the container that caused the problem of another object', () => {
    const cause = createProblem({ reason: 'crash-loop', subject: toSubject('pod/web-x') })
    const judged = failed({
      reason: 'no-endpoints',
      headline: '',
      subject: toSubject('service/web'),
      cause: cause.basis,
    })
    expect(logged(judged)).toEqual([{ namespace: 'shop', pod: 'web-x', container: 'app' }])
  })

  it('do not contain the log of a container that never ran', () => {
    const judged = failed({ reason: 'image-not-found', subject: toSubject('pod/web-x') })
    const store = new Store(() => false)
    const containerStatuses = [{ name: 'app', state: { waiting: { reason: 'ImagePullBackOff' } } }]
    store.apply({ at: 1, type: 'ADDED', object: { ...crashedPod, status: { containerStatuses } } })
    expect(logged(judged, store)).toEqual([])
  })

  it('contain the logs of only a few containers of one target', () => {
    const problems = Array.from({ length: 9 }, (_, index) => ({
      reason: 'crash-loop' as const,
      subject: toSubject('pod/web-x'),
      container: `app-${index}`,
    }))
    expect(logged(failed(...problems))).toHaveLength(3)
  })
})

describe('a target that is still open when another target fails', () => {
  const failed = createTargetRecord({ target, outcome: 'failed', reason: 'crash-loop', endedAt: at(20) })
  const open = createTargetRecord({ target: createTarget({ name: 'api' }), outcome: 'progressing', reason: '' })
  const verdict = { outcome: 'failed', reason: 'crash-loop', message: '' } as const

  it('has no hint to raise a timeout', () => {
    const [judged] = addDiagnosis(createRecord({ targets: [open, failed], verdict }), fill(), 0).targets
    expect(judged?.hint).toBe(
      'It was in progress, without a known problem, when another target ended the gate. Fix that first; with `fail-fast: false` every target may finish.',
    )
  })

  it('has the hint for its own problem if it has one', () => {
    const stuck = { ...open, reason: 'paused' as const, problems: [createProblem({ reason: 'paused' })] }
    const [judged] = addDiagnosis(createRecord({ targets: [stuck, failed], verdict }), fill(), 0).targets
    expect(judged?.hint).toContain('Resume it')
  })
})
