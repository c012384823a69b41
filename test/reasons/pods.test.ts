import type { SchedulingCause } from '../../src/reasons/pods.ts'
import { messageOf } from '../../src/reasons/reasons.ts'
import { container, createPod, createProblem, headline, hint } from '../kit/problems.ts'
import { toSubject } from '../kit/subject.ts'

const ofPod = { container: undefined }

describe('a readiness gate that is not open', () => {
  it('is named, with a hint about its controller', () => {
    const gate = (type: string) => ({ type, reason: '', message: '' })
    const [one, two] = [{ gates: [gate('a/b')] }, { gates: [gate('a/b'), gate('c/d')] }]
    expect(messageOf(createProblem('readiness-gate-pending', one))).toBe(
      'runs, but its readiness gate a/b is not True yet',
    )
    expect(messageOf(createProblem('readiness-gate-pending', two))).toBe(
      'runs, but its readiness gates a/b, c/d are not True yet',
    )
    expect(headline('readiness-gate-pending', one)).toBe('a readiness gate of the pods is not True')
    expect(hint('readiness-gate-pending', one)).toContain('most often that of a load balancer')
    expect(hint('readiness-gate-pending', one)).not.toContain('probe')
  })

  it.each([
    ['Target.ResponseCodeMismatch', 'Health checks failed with these codes: [404]'],
    ['LoadBalancerNegNotReady', 'Waiting for pod to become healthy in at least one of the NEG(s)'],
    ['', 'the target group has no listener'],
  ])('is explained by what its controller reports: %s %s', (reason, message) => {
    const detail = { gates: [{ type: 'a/b', reason, message }] }
    expect(messageOf(createProblem('readiness-gate-pending', detail))).toBe(
      `runs, but its readiness gate a/b is not True yet: ${reason === '' ? '' : `${reason}: `}${message}`,
    )
    expect(hint('readiness-gate-pending', detail)).toContain('correct what it checks')
  })
})

describe('scheduling gates', () => {
  it('are named with their controller, without a hint about capacity', () => {
    const [one, two] = [{ schedulingGates: ['a/b'] }, { schedulingGates: ['a/b', 'c/d'] }]
    expect(messageOf(createProblem('unschedulable', one))).toBe(
      'cannot be scheduled before its scheduling gate a/b is removed',
    )
    expect(messageOf(createProblem('unschedulable', two))).toBe(
      'cannot be scheduled before its scheduling gates a/b, c/d are removed',
    )
    expect(headline('unschedulable', one)).toBe('the scheduling gates of the pods are not removed')
    expect(hint('unschedulable', one)).toMatch(/^The controller that set the scheduling gates must remove them/)
  })
})

describe('a pod that no node takes', () => {
  const cause = (...causes: readonly SchedulingCause[]) => ({ nodes: 1, causes })
  const advice = (each: SchedulingCause, spec: object = {}) =>
    hint('unschedulable', cause(each), { pod: createPod(spec) })

  it('has a title for a headline', () => {
    expect(headline('unschedulable', cause({ type: 'cordoned', nodes: 1 }))).toBe('no node can take the pods')
  })

  it('has its requests in the hint if nodes lack a resource', () => {
    const spec = { containers: [{ ...container, resources: { requests: { cpu: '900' } } }] }
    expect(advice({ type: 'resource', resource: 'cpu' }, spec)).toMatch(/^The pod requests 900 cpu: lower/)
  })

  it('has the labels of its node selector in the hint', () => {
    expect(advice({ type: 'node-selector' }, { nodeSelector: { disk: 'ssd' } })).toBe(
      'The pod needs a node with the labels disk=ssd: correct nodeSelector, or label a node (`kubectl label node NODE disk=ssd`).',
    )
    expect(advice({ type: 'node-selector' })).toMatch(/^Correct the pod’s node affinity/)
  })

  it.each([
    [
      { key: 'dedicated', value: 'database' },
      'Tolerate the taint dedicated=database in the pod: `tolerations: [{key: dedicated, value: database}]`.',
    ],
    [{ key: 'gpu' }, 'Tolerate the taint gpu in the pod: `tolerations: [{key: gpu, operator: Exists}]`.'],
    [{ key: 'node.kubernetes.io/not-ready' }, 'A node is marked not-ready: `kubectl describe nodes`.'],
  ])('has the toleration for the taint %j in the hint', (taint, words) => {
    expect(advice({ type: 'taint', ...taint })).toBe(words)
  })

  it('has the command that lists taints in the hint if the scheduler names no taint', () => {
    expect(advice({ type: 'taint' })).toContain('TAINTS:.spec.taints')
    expect(hint('unschedulable', cause({ type: 'taint' }, { type: 'taint', key: 'gpu' }))).toMatch(/^Tolerate.*\]`\.$/)
  })

  it.each<[SchedulingCause, RegExp]>([
    [{ type: 'host-port' }, /let it end first \(strategy Recreate, or maxSurge 0 with maxUnavailable 1\)/],
    [{ type: 'cordoned' }, /^Nodes are cordoned: .* `kubectl uncordon NODE` allows pods on one again\.$/],
    [{ type: 'pod-count' }, /^Add a node, or remove pods/],
    [{ type: 'topology-spread' }, /^Loosen its affinity or topology spread constraints/],
    [{ type: 'pod-affinity', rule: 'affinity' }, /^Loosen its affinity or topology spread constraints[^.]*\.$/],
    [{ type: 'pod-affinity', rule: 'anti-affinity' }, /^Loosen its affinity .* let it end first \(strategy Recreate/],
    [{ type: 'volume-node' }, /^Its volume can be reached from other nodes only/],
    [{ type: 'volume-in-use' }, /^Another pod uses the claim\..* let it end first \(strategy Recreate/],
    [{ type: 'unbound-claims', message: 'no volume' }, /^Its PersistentVolumeClaims have to be bound first/],
    [{ type: 'claim', message: 'persistentvolumeclaim "data" is being deleted' }, /`kubectl get pvc -n shop`/],
    [
      { type: 'missing-claim', name: 'data' },
      /^Create the claim data, or correct claimName: `kubectl get pvc -n shop`/,
    ],
    [{ type: 'other', message: 'on fire' }, /^Free or add capacity/],
  ])('has the hint of the cause %j', (each, words) => {
    expect(advice(each)).toMatch(words)
  })

  it('has one hint for each cause', () => {
    const words = hint('unschedulable', cause({ type: 'resource', resource: 'cpu' }, { type: 'cordoned' }))
    expect(words).toMatch(/^The pod requests too much cpu: .* Nodes are cordoned: /)
  })

  it('has the claim in its headline if the claim does not exist', () => {
    expect(headline('unschedulable', cause({ type: 'missing-claim', name: 'data' }))).toBe(
      'persistentvolumeclaim/data, which the pods need, does not exist',
    )
  })

  it('has the hint of its claim, or the command that lists the claims', () => {
    const unbound = cause({ type: 'unbound-claims', message: 'pod has unbound immediate PersistentVolumeClaims' })
    const claim = createProblem('claim-pending', {} as never, { subject: toSubject('persistentvolumeclaim/data') })
    const behind = { reason: 'claim-pending', subject: claim.subject, hint: 'Set storageClassName.' }
    expect(headline('unschedulable', unbound, { cause: claim })).toBe(
      'persistentvolumeclaim/data, which the pods need, is not bound',
    )
    expect(hint('unschedulable', unbound, { cause: behind })).toBe('Set storageClassName.')
    expect(hint('unschedulable', unbound)).toContain('`kubectl get pvc -n shop`')
  })
})

describe('a pod that has ended', () => {
  const evicted = { statusReason: 'Evicted', message: 'The node was low on resource: memory' }
  const failed = { statusReason: 'NodeAffinity', message: 'Pod was rejected' }
  const replaced = { ...ofPod, isReplaced: true, count: 2 }

  it.each([
    ['evicted', evicted, ofPod, 'failed: Evicted: The node was low on resource: memory'],
    ['evicted', evicted, replaced, 'was evicted and is replaced (2 pods so far): The node was low on resource: memory'],
    ['pod-failed', failed, ofPod, 'failed: NodeAffinity: Pod was rejected'],
    ['pod-failed', failed, { ...replaced, count: 1 }, 'failed and is replaced: NodeAffinity: Pod was rejected'],
    ['pod-failed', { message: '' }, ofPod, 'failed'],
    [
      'pod-failed',
      { message: '', exit: { exitCode: 3, isOutOfMemory: false } },
      {},
      'exited with code 3, and nothing restarts it',
    ],
    [
      'pod-failed',
      { message: '', exit: { exitCode: 137, isOutOfMemory: true } },
      {},
      'was killed for using too much memory, and nothing restarts it',
    ],
  ] as const)('%s: %j, %j', (reason, detail, problem, words) => {
    expect(messageOf(createProblem(reason, detail, problem))).toBe(words)
  })

  it('has a hint with its log, or how to see how it ended', () => {
    const exit = { exitCode: 3, isOutOfMemory: false }
    expect(hint('pod-failed', { message: '', exit }, { logLine: { text: 'no', isError: false } })).toMatch(
      /^Nothing restarts the pod\. The last line that container app logged is "no"\./,
    )
    expect(hint('pod-failed', failed, { problem: ofPod })).toBe(
      'Nothing restarts the pod. See how it ended: `kubectl describe pod/web-1-a -n shop`.',
    )
    expect(hint('pod-failed', failed, { problem: replaced })).toMatch(/their controller creates others/)
  })
})

describe('a deleted pod that still exists', () => {
  const message = (detail: { finalizers: string[]; node?: string }) => messageOf(createProblem('pod-stuck', detail))

  it.each([
    [{ finalizers: ['a/b', 'c/d'] }, 'its finalizers hold it: a/b, c/d'],
    [{ finalizers: [] }, 'nothing has ended it'],
    [{ finalizers: [], node: 'n1' }, 'its node n1 has not stopped it'],
  ])('%j', (detail, why) => {
    expect(message(detail)).toBe(`still exists after its grace period, and blocks the others: ${why}`)
  })

  it.each([
    [
      { finalizers: [], node: 'n1' },
      /^Bring its node back, .* delete the pod by force: `kubectl delete pod\/web-1-a --force -n shop`\.$/,
    ],
    [
      { finalizers: ['a/b'] },
      /^The controller that set a\/b must remove it: check that it runs\. .*: `kubectl patch pod\/web-1-a --type=json -p '\[\{"op":"remove","path":"\/metadata\/finalizers"\}\]' -n shop`\.$/,
    ],
    [{ finalizers: ['kubernetes.io/pvc-protection'] }, /^Kubernetes removes kubernetes\.io\/pvc-protection once/],
  ])('%j has its own hint', (detail, words) => {
    expect(hint('pod-stuck', detail, { problem: ofPod })).toMatch(words)
  })
})

it('a volume or a sandbox that fails is named with the message of the kubelet', () => {
  expect(messageOf(createProblem('volume-not-mounted', { volume: 'v', message: 'timed out' }, ofPod))).toBe(
    'volume "v" cannot be mounted: timed out',
  )
  expect(messageOf(createProblem('sandbox-failed', { message: 'no plugin' }, ofPod))).toBe(
    'no network sandbox: no plugin',
  )
  expect(hint('sandbox-failed', { message: 'no plugin' })).toMatch(/look at the network plugin/)
  expect(hint('sandbox-failed', { message: 'no runtime', handler: 'gvisor' })).toMatch(
    /no handler gvisor: correct runtimeClassName/,
  )
})

describe('a node that does not respond', () => {
  const detail = { node: 'node-1', state: 'silent' } as const

  it('is named in the headline, with a hint to look at it or to delete it', () => {
    expect(headline('node-unresponsive', detail)).toBe('node node-1 does not respond')
    expect(hint('node-unresponsive', detail)).toBe(
      'The kubelet of node node-1 does not respond. Check the node: `kubectl describe node node-1`. If it will not come back, delete it (`kubectl delete node node-1`), so that its pods are created elsewhere.',
    )
  })
})
