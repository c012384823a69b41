import { describe, expect, it } from '@jest/globals'
import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { KubeObject, PodStatus } from '../../src/cluster/objects.ts'
import { catalogueFor } from '../../src/lifecycle/rules.ts'
import { answers, createChecks, createServer, createService } from '../kit/checks.ts'
import {
  added,
  allSynced,
  at,
  createGate,
  createPodTarget,
  createTarget,
  deleted,
  failed,
  modified,
  type Run,
  type RunOptions,
  run,
  synced,
} from '../kit/gate.ts'
import { complete, condition, is, iso, make, ownedBy, podIs } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { endOf } from '../kit/tape-cases.ts'
import { BUILT_IN_RESOURCES, guessResource } from '../support/resources.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const lists: Observation[] = [...allSynced, ...synced('Service')]

/** A server that is ready at 1 s, when it is listed. */
function readyServer(replicas = 1, more: readonly KubeObject[] = []): FeedEvent[] {
  const server = createServer(replicas)
  return at(1, added(server.deployment(), server.replicaSet, ...server.pods(), ...more), lists)
}

type Raw = Parameters<typeof createChecks>[0]

function check(
  raw: Raw,
  steps: readonly (readonly FeedEvent[])[],
  settings: object = {},
  targets = [createTarget()],
): Run {
  return run(steps, { targets, settings, afterReady: createChecks(raw, targets) })
}

function denied(resource: string, group: string): string {
  const path = group === '' ? resource : `${resource}.${group}`
  return `${path} is forbidden: User "ci" cannot list resource "${resource}" in API group "${group}" in the namespace "shop"`
}

const requests = 'deployment/web GET /healthz'

/** What pod `web-1-a` answers in a second: a status, an error, or more. */
type Answers = Readonly<Record<number, number | string | Parameters<typeof answers>[1]>>
type Case = readonly [title: string, raw: Raw, answers: Answers, end: string]

function answersOf(each: Answers): FeedEvent[] {
  return Object.entries(each).flatMap(([second, answer]) => {
    if (typeof answer === 'number') return answers([Number(second)], { status: answer })
    return answers([Number(second)], typeof answer === 'string' ? { status: undefined, error: answer } : answer)
  })
}

describe.each(['a Deployment with a line of http-checks', 'a hold'])('%s', (table) => {
  it.each(rows<Case>(data, table))('%s', (_, raw, each, end) => {
    expect(endOf(check(raw, [readyServer(), answersOf(each)]))).toBe(end)
  })
})

it('the timeout ends a target that has not answered', () => {
  const result = check({ 'http-checks': requests }, [readyServer()], { timeoutMs: 60_000, timeoutIsLiteral: true })
  expect(endOf(result)).toBe('timed-out no-answer 60')
  expect(result.message).toBe('deployment/web has not answered GET /healthz')
})

it('an answer before the target is ready does not count', () => {
  const { deployment, replicaSet, pods } = createServer()
  const early = at(1, added(deployment(complete(1, { availableReplicas: 0 })), replicaSet, ...pods()), lists)
  const late = at(20, modified(deployment()))
  expect(endOf(check({ 'http-checks': requests }, [early, answers([5]), late, answers([21])]))).toBe('ready 21')
})

it('an answer at the moment at which the pods have settled counts', () => {
  const { deployment, replicaSet, pod } = createServer()
  const unprobed = { ...pod('web-1-a'), spec: { containers: [{ name: 'app', ports: [{ containerPort: 8080 }] }] } }
  const steps = [at(1, added(deployment(), replicaSet, unprobed), lists), answers([11])]
  expect(endOf(check({ 'http-checks': 'deployment/web:8080 GET /' }, steps))).toBe('ready 11')
})

it('the answer of an old pod is ignored', () => {
  const { deployment, replicaSet, pods, pod } = createServer()
  const old = pod('web-0-a', podIs.ready(-60), {
    labels: { app: 'web' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-0', uid: 'web-0-uid', controller: true }],
  })
  const steps = [
    at(1, added(deployment(), replicaSet, ...pods(), old), lists),
    answers([2], {}, 'web-0-a'),
    answers([9]),
  ]
  expect(endOf(check({ 'http-checks': requests }, steps))).toBe('ready 9')
})

it('with --each-pod every pod must answer', () => {
  const steps = [readyServer(3), answers([2], {}, 'web-1-a'), answers([3], {}, 'web-1-c'), answers([9], {}, 'web-1-b')]
  const result = check({ 'http-checks': `${requests} --each-pod` }, steps)
  expect(endOf(result)).toBe('ready 9')
  expect(result.record.targets[0]?.milestones.at(-1)).toMatchObject({ name: 'answers', state: 'done' })
})

it('with --each-pod one wrong pod of three fails the target', () => {
  const right = ['web-1-a', 'web-1-c'].flatMap((pod) => answers([2], {}, pod))
  const result = check({ 'http-checks': `${requests} --each-pod` }, [
    readyServer(3),
    right,
    answers([2, 12, 22, 32], { status: 500, body: 'boom' }, 'web-1-b'),
  ])
  expect(endOf(result)).toBe('failed wrong-answer 32')
  expect(result.message).toBe(
    'deployment/web: pod/web-1-b answers GET /healthz with 500 instead of 200-299, 4 times; the body is "boom"',
  )
})

it('a replaced pod starts anew', () => {
  const { pod } = createServer(2)
  const gone = at(
    25,
    modified(pod('web-1-a', podIs.ready(1), { deletionTimestamp: iso(55) })),
    added(pod('web-1-c', podIs.ready(24))),
  )
  const steps = [
    readyServer(2),
    answers([1, 11, 21], { status: 500 }),
    gone,
    answers([26, 36], { status: 500 }, 'web-1-c'),
    answers([46], {}, 'web-1-c'),
  ]
  expect(endOf(check({ 'http-checks': requests }, steps))).toBe('ready 46')
})

const serviceAndServer = [createTarget({ apiVersion: 'v1', kind: 'Service' }), createTarget()]

it.each(
  rows<[string, string, Parameters<typeof createService>[0], string]>(data, 'a line of http-checks is a mistake if'),
)('a line of http-checks is a mistake if %s', (_, line, service, message) => {
  const result = check({ 'http-checks': line }, [readyServer(1, [createService(service)])], {}, serviceAndServer)
  expect(result).toMatchObject({ outcome: 'misconfigured', reason: 'input-invalid', message })
})

it.each([
  ['watches the pods that a headless Service selects', { clusterIP: 'None' }, ['Pod']],
  ['watches no pods of a Service without a selector', { selector: {} }, []],
])('a line of http-checks %s', (_, spec, watched) => {
  const targets = [createTarget({ apiVersion: 'v1', kind: 'Service' })]
  const steps = [at(1, added(createService(spec)), lists)]
  const gate = createGate(steps, { targets, afterReady: createChecks({ 'http-checks': 'service/web GET /' }, targets) })
  gate.handle(steps.flat())
  expect(gate.requests.map(({ kind }) => kind).filter((kind) => kind === 'Pod')).toEqual(watched)
})

it('a kind without pods answers no requests', () => {
  const targets = [createTarget({ apiVersion: 'v1', kind: 'ConfigMap' })]
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'web', namespace: 'shop', uid: 'map' } }
  const { outcome, message } = check(
    { 'http-checks': 'configmap/web GET /' },
    [at(1, added(object), lists)],
    {},
    targets,
  )
  expect(outcome).toBe('misconfigured')
  expect(message).toContain('A ConfigMap serves no requests. Name a Service, or a resource that runs pods.')
})

it.each([
  ['Pod', '', 'pods'],
  ['ReplicaSet', 'apps', 'replicasets'],
])('a Deployment whose %ss may not be read is not asked, which is an error', (kind, group, resource) => {
  const others = lists.filter((list) => list.type !== 'SYNCED' || list.kind !== kind)
  const refusal = failed(403, kind, denied(resource, group))
  const { deployment } = createServer()
  const result = check({ 'http-checks': 'deployment/web GET /' }, [at(1, added(deployment()), refusal, others)])
  expect(result).toMatchObject({
    outcome: 'misconfigured',
    reason: 'forbidden',
    message: `${kind}s behind deployment/web cannot be read: ${denied(resource, group)}`,
  })
})

it('a Deployment that is scaled to zero is not asked, which is reported', () => {
  const { deployment, replicaSet } = createServer(0)
  const result = check({ 'http-checks': requests }, [
    at(1, added(deployment(), replicaSet), lists),
    at(2, [{ type: 'ALIVE' }]),
  ])
  expect(result.outcome).toBe('ready')
  expect(result.record.targets[0]?.notes).toContain('GET /healthz was not asked: no pod is wanted')
  expect(result.record.targets[0]?.milestones.at(-1)).toMatchObject({ name: 'answers', state: 'skipped' })
})

const unready: PodStatus = {
  ...podIs.ready(1),
  conditions: [condition('Ready', 'False', { lastTransitionTime: iso(20) })],
}

it.each<[string, Raw, readonly FeedEvent[], string]>([
  [
    'asks a pod that replaces another one at its end',
    { hold: '30s', 'http-checks': requests },
    [
      ...answers([1, 11, 21]),
      ...at(
        30,
        modified(createServer().pod('web-1-a', podIs.ready(1), { deletionTimestamp: iso(60) })),
        added(createServer().pod('web-1-b', podIs.ready(28))),
      ),
      ...answers([38], {}, 'web-1-b'),
    ],
    'ready 38',
  ],
  [
    'is broken by a container that dies',
    { hold: '30s' },
    at(20, modified(createServer().pod('web-1-a', podIs.dead(1, 20)))),
    'failed not-held 20',
  ],
  [
    'is broken by a pod that is no longer ready',
    { hold: '30s' },
    at(20, modified(createServer().pod('web-1-a', unready))),
    'failed not-held 20',
  ],
  [
    'is not broken by a pod that is deleted and replaced',
    { hold: '30s' },
    [
      ...at(
        20,
        modified(
          createServer().pod('web-1-a', unready, { deletionTimestamp: iso(50) }),
          createServer().deployment(complete(1, { readyReplicas: 0, availableReplicas: 0 })),
        ),
      ),
      ...at(
        25,
        added(createServer().pod('web-1-b', podIs.ready(24))),
        deleted(createServer().pod('web-1-a')),
        modified(createServer().deployment()),
      ),
    ],
    'ready 31',
  ],
  [
    'is broken at its end by a pod that was not replaced',
    { hold: '30s' },
    at(
      20,
      deleted(createServer().pod('web-1-a')),
      modified(createServer().deployment(complete(1, { readyReplicas: 0, availableReplicas: 0 }))),
    ),
    'failed not-held 31',
  ],
])('a hold %s', (_, raw, events, expected) => {
  expect(endOf(check(raw, [readyServer(), events]))).toBe(expected)
})

it.each([
  ['waits for its restart', podIs.dead(1, 20)],
  ['was restarted at once', podIs.ready(20, { restartCount: 1, lastState: is.terminated(3, 20) })],
])('the death of a container that %s is the problem of the target whose hold it breaks', (_, status) => {
  const died = at(20, modified(createServer().pod('web-1-a', status)))
  const result = check({ hold: '30s', 'http-checks': requests }, [readyServer(), answers([1, 11]), died])
  const [target] = result.record.targets
  expect(target).toMatchObject({ outcome: 'failed', reason: 'not-held', problems: [{ reason: 'crash-loop' }] })
  expect(target?.milestones.slice(-2)).toMatchObject([
    { name: 'answers', state: 'done' },
    { name: 'held', state: 'failed' },
  ])
  expect(result.message).toBe(
    'deployment/web did not stay ready for 30 s: after 19 s, container app of pod/web-1-a exited with code 3',
  )
})

describe('a Deployment that is judged by --for', () => {
  const waitFor = { type: 'condition', condition: 'Available', status: 'True' } as const
  const targets = [createTarget({ waitFor })]
  const available = (status: 'True' | 'False') =>
    createServer().deployment(complete(1, { conditions: [condition('Available', status)] }))
  const begin = [at(1, added(available('True')), readyServer().slice(1)), at(2, modified(available('True')))]

  it.each<[string, readonly FeedEvent[], string]>([
    ['a container that dies', at(20, modified(createServer().pod('web-1-a', podIs.dead(1, 20)))), 'failed not-held 20'],
    ['the condition that is not True at its end', at(20, modified(available('False'))), 'failed not-held 31'],
    [
      'nothing, if the condition is True again',
      [20, 25].flatMap((second) => at(second, modified(available(second === 20 ? 'False' : 'True')))),
      'ready 31',
    ],
    [
      'nothing, if the condition is False for 5 s at its end',
      [28, 33].flatMap((second) => at(second, modified(available(second === 28 ? 'False' : 'True')))),
      'ready 33',
    ],
    ['nothing', [], 'ready 31'],
  ])('has its hold broken by %s', (_, events, expected) => {
    expect(endOf(check({ hold: '30s' }, [...begin, events], {}, targets))).toBe(expected)
  })

  it('answers no requests if it is awaited to be deleted', () => {
    const { message } = check({ 'http-checks': 'deployment/web GET /' }, begin, {}, [
      createTarget({ waitFor: { type: 'delete' } }),
    ])
    expect(message).toContain('deployment/web is gated by --for=delete, so it answers nothing')
  })

  it('answers requests by the pods of its present revision', () => {
    expect(endOf(check({ 'http-checks': 'deployment/web GET /' }, [...begin, answers([9])], {}, targets))).toBe(
      'ready 9',
    )
  })
})

it('a bare pod that completes does not break the hold', () => {
  const spec = { restartPolicy: 'Never', containers: [{ name: 'app', readinessProbe: { exec: {} } }] }
  const oncePod = (status: PodStatus) => make.pod({ metadata: { name: 'once' }, spec, status })
  const completed: PodStatus = {
    phase: 'Succeeded',
    conditions: [condition('Ready', 'False', { reason: 'PodCompleted', lastTransitionTime: iso(20) })],
    containerStatuses: [make.containerStatus({ state: { terminated: { exitCode: 0, finishedAt: iso(20) } } })],
  }
  const steps = [at(1, added(oncePod(podIs.ready(-60))), lists), at(20, modified(oncePod(completed)))]
  expect(endOf(check({ hold: '30s' }, steps, {}, [createPodTarget()]))).toBe('ready 31')
})

it('every target reaches the milestone held at the end of the hold', () => {
  const api = createServer(1, 'api')
  const targets = [createTarget(), createTarget({ name: 'api' })]
  const steps = [readyServer(), at(2, added(api.deployment(), api.replicaSet, ...api.pods()))]
  const result = check({ hold: '30s' }, steps, {}, targets)
  expect(endOf(result)).toBe('ready 32')
  expect(result.record.targets.map(({ milestones }) => milestones.at(-1))).toMatchObject([
    { name: 'held', state: 'done' },
    { name: 'held', state: 'done' },
  ])
})

it('the timeout does not end a hold', () => {
  expect(endOf(check({ hold: '2m' }, [readyServer()], { timeoutMs: 60_000 }))).toBe('ready 121')
})

it('a pod that is no longer ready breaks the hold of its Deployment, not of the Service before it', () => {
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-x', namespace: 'shop', uid: 'slice', labels: { 'kubernetes.io/service-name': 'web' } },
    endpoints: [{ addresses: ['10.0.0.1'], targetRef: { kind: 'Pod', name: 'web-1-a', uid: 'web-1-a-uid' } }],
    ports: [{ name: 'http', port: 8080 }],
  } as KubeObject
  const slices = at(1, synced('EndpointSlice'))
  const steps = [
    readyServer(1, [createService(), slice]),
    slices,
    at(20, modified(createServer().pod('web-1-a', unready))),
  ]
  const result = check({ hold: '30s' }, steps, {}, serviceAndServer)
  expect(result.targets.map(({ outcome, reason }) => `${outcome} ${reason}`)).toEqual([
    expect.stringMatching(/^progressing/),
    'failed not-held',
  ])
})

describe('requests to the pods behind a custom resource', () => {
  const custom = (apiVersion: string, kind: string, fields: object = {}): KubeObject => ({
    apiVersion,
    kind,
    metadata: { name: 'web', namespace: 'shop', uid: 'custom-uid', generation: 1, creationTimestamp: iso(-60) },
    ...fields,
  })
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'app', ports: [{ containerPort: 8080 }] }] },
  }
  const rollout = custom('argoproj.io/v1alpha1', 'Rollout', {
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template },
    status: {
      observedGeneration: '1',
      phase: 'Healthy',
      currentPodHash: 'new',
      stableRS: 'new',
      selector: 'app=web',
      replicas: 1,
      updatedReplicas: 1,
      readyReplicas: 1,
      availableReplicas: 1,
    },
  })
  const cluster = custom('db.example/v1', 'Cluster', {
    status: { observedGeneration: 1, conditions: [condition('Ready', 'True', { observedGeneration: 1 })] },
  })
  const replicaSet = (hash: string) => make.replicaSet({ metadata: { name: `web-${hash}`, labels: { hash } } }, rollout)
  const podOf = (owner: KubeObject, name: string, labels: Record<string, string> = { app: 'web' }) =>
    make.pod(
      { metadata: { name, labels }, spec: { containers: template.spec.containers }, status: podIs.ready(-30) },
      owner,
    )
  const podsOfRollout = ['new', 'old'].flatMap((hash) => [
    replicaSet(hash),
    podOf(replicaSet(hash), `web-${hash}-a`, { app: 'web', hash }),
  ])
  const workload = make.deployment({
    metadata: { name: 'db', uid: 'db-uid', ownerReferences: ownedBy(cluster) },
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template },
    status: complete(1),
  })
  const set = make.replicaSet({ metadata: { name: 'db-1' } }, workload)
  const listed = synced(
    'argoproj.io/v1alpha1 Rollout',
    'db.example/v1 Cluster',
    ...['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet', 'Job', 'Pod', 'Service', 'Event'],
  )
  const prepare = async ({ apiVersion, kind }: KubeObject, raw: Raw): Promise<RunOptions> => {
    const targets = [createTarget({ apiVersion, kind })]
    const resources = [...BUILT_IN_RESOURCES, guessResource(apiVersion, kind)]
    const settings = { catalogue: await catalogueFor(targets) }
    return { targets, settings, afterReady: createChecks(raw, targets, resources) }
  }
  const checkedRun = async (
    object: KubeObject,
    line: string,
    others: readonly KubeObject[],
    events: readonly FeedEvent[],
    raw: Raw = {},
  ) => run([at(1, added(object, ...others), listed), events], await prepare(object, { 'http-checks': line, ...raw }))

  it.each<[string, KubeObject, string, readonly KubeObject[], string]>([
    ['a Rollout by its own port', rollout, 'rollout/web GET / --each-pod', podsOfRollout, 'web-new-a'],
    [
      'a custom resource that owns its pods',
      cluster,
      'cluster/web:8080 GET / --each-pod',
      [podOf(cluster, 'web-0')],
      'web-0',
    ],
    [
      'a custom resource that owns a Deployment',
      cluster,
      'cluster/web:8080 GET /',
      [workload, set, podOf(set, 'db-1-a')],
      'db-1-a',
    ],
  ])('%s is answered by a pod of the present revision', async (_, object, line, others, pod) => {
    const old = answers([2], {}, 'web-old-a')
    expect(endOf(await checkedRun(object, line, others, [...old, ...answers([9], {}, pod)]))).toBe('ready 9')
  })

  it.each<[string, string, readonly KubeObject[], string]>([
    [
      'no pod is behind it',
      'cluster/web:8080 GET /',
      [],
      'cluster/web is ready, and no pod is behind it. Name a Service, or a resource that runs pods.',
    ],
    [
      'its port is not given',
      'cluster/web GET /',
      [podOf(cluster, 'web-0')],
      'cluster/web: It declares no TCP port: write one behind the name, as in :8080.',
    ],
  ])('are a mistake if %s', async (_, line, others, message) => {
    const result = await checkedRun(cluster, line, others, answers([4], {}, 'web-0'))
    expect(result).toMatchObject({ outcome: 'misconfigured', message: `http-checks, line 1: ${message}` })
  })

  it.each<[string, string, string, string, readonly KubeObject[]]>([
    ['cluster/web:8080 GET /', 'Pod', '', 'pods', [podOf(cluster, 'web-0')]],
    ['cluster/web:8080 GET /', 'Deployment', 'apps', 'deployments', [workload, set, podOf(set, 'db-1-a')]],
  ])('the line %s is refused without access to each %s', async (line, kind, group, resource, others) => {
    const isReadable = (each: { readonly kind?: string }) => each.kind !== kind
    const refusal = failed(403, kind, denied(resource, group))
    const readable = listed.filter((list) => list.type !== 'SYNCED' || isReadable(list))
    const events = at(1, added(cluster, ...others.filter(isReadable)), refusal, readable)
    const result = run([events], await prepare(cluster, { 'http-checks': line }))
    expect(result).toMatchObject({
      outcome: 'misconfigured',
      reason: 'forbidden',
      message: `${kind}s behind cluster/web cannot be read: ${denied(resource, group)}`,
    })
    expect(result.record.basis?.denied?.access).toMatchObject([{ resource, group, namespace: 'shop' }])
  })

  it('a pod behind a custom resource that dies breaks the hold', async () => {
    const pod = podOf(cluster, 'web-0')
    const dead = at(30, modified({ ...pod, status: podIs.dead(1, 30) }))
    const result = await checkedRun(cluster, 'cluster/web:8080 GET /', [pod], [...answers([2], {}, 'web-0'), ...dead], {
      hold: '1m',
    })
    expect(endOf(result)).toBe('failed not-held 30')
  })

  it('with hold alone, the pods behind a custom resource are watched', async () => {
    const found = at(1, added(cluster), listed)
    const watching = createGate([found], await prepare(cluster, { hold: '1m' }))
    watching.handle(found)
    expect(watching.requests.some(({ kind }) => kind === 'Pod')).toBe(true)
  })
})
