import type { Container, Pod } from '../../src/cluster/objects.ts'
import { gateHint, type HintDetails, hintFor } from '../../src/diagnosis/hints.ts'
import type { Outcome } from '../../src/gate/timeline.ts'
import { isJobEnd } from '../../src/lifecycle/workloads/job.ts'
import type { Target, WaitFor } from '../../src/plan/target.ts'
import { type Problem, type ProblemWith, problemOf, type ReasonCode, reasonCodes } from '../../src/reasons/reasons.ts'
import { createTarget } from '../gate/builders.ts'
import { createTargetRecord, createTimeline } from '../report/builders.ts'

const container: Container = { name: 'app', image: 'acme/web:v2' }

interface ProblemOverrides extends Partial<Omit<ProblemWith<ReasonCode>, 'detail'>> {
  readonly message?: string
  readonly detail?: object
}

function createProblem({ message = '', detail, ...overrides }: ProblemOverrides): Problem {
  return problemOf({
    reason: 'crash-loop',
    subject: 'pod/web-1-a',
    container: 'app',
    detail: { text: message, ...detail },
    count: 1,
    firstSeenAt: 0,
    proven: true,
    ...overrides,
  })
}

/** A pod with one container, and what else its spec has. */
function createPod(spec: object = {}, status: object = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web-1-a' },
    spec: { containers: [container], ...spec },
    status,
  }
}

function hint(reason: ReasonCode, problem: ProblemOverrides = {}, details: HintDetails = {}): string {
  return hintFor(createTarget(), reason, { problem: createProblem({ reason, ...problem }), ...details })
}

it.each(reasonCodes)('the hint for %s is made of sentences, also where nothing more is known', (reason) => {
  const words = hintFor(createTarget(), reason)
  expect(words).toMatch(/^[A-Z].*\.$/)
  expect(words).not.toMatch(/undefined|NaN| {2}|\.\./)
})

it('the hint for a readiness gate names who opens it, and no probe', () => {
  const words = hint('readiness-gate-pending', { subject: 'pod/web-x' })
  expect(words).toContain('most often by the controller of a load balancer')
  expect(words).not.toContain('probe')
})

it('the hint for scheduling gates names who removes them, and no capacity', () => {
  const words = hint('unschedulable', { subject: 'pod/web-x', detail: { schedulingGates: ['example.com/quota'] } })
  expect(words).toMatch(/^Scheduling gates are removed by whoever set them/)
})

describe('the hint for a pod that waits for its claims', () => {
  const waiting = {
    subject: 'pod/web-x',
    message: 'cannot be scheduled: pod has unbound immediate PersistentVolumeClaims',
  }

  it('says what the claim itself lacks', () => {
    const cause = createProblem({
      reason: 'claim-pending',
      subject: 'persistentvolumeclaim/data',
      detail: { needsClass: true },
    })
    expect(hint('unschedulable', { ...waiting, cause }, { cause: { problem: cause } })).toContain(
      'Set storageClassName, or mark a StorageClass as default',
    )
  })

  it('lists the claims where nothing is known of them', () => {
    expect(hint('unschedulable', waiting)).toContain('`kubectl get pvc -n shop`')
  })
})

describe('the hint for a gRPC probe', () => {
  const spec: Container = { ...container, ports: [{ containerPort: 9090 }], readinessProbe: { grpc: { port: 9090 } } }

  it.each([
    [
      'timeout: failed to connect service "10.0.0.1:9090" within 1s: context deadline exceeded',
      'no gRPC server answers there',
    ],
    ['error: failed to connect service at "10.0.0.1:9090": connection error', 'no gRPC server answers there'],
    [
      'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service',
      'does not implement the gRPC health protocol',
    ],
    ['service unhealthy (responded with "NOT_SERVING")', 'the app answers NOT_SERVING'],
    [
      'error: health rpc probe failed: rpc error: code = NotFound desc = unknown service',
      'the app answers with the gRPC code NotFound',
    ],
    ['timeout: health rpc did not complete within 1s', 'no answer within its timeoutSeconds of 1'],
  ])('reads %j', (probeMessage, words) => {
    expect(hint('readiness-failing', {}, { spec, probeMessage })).toContain(words)
  })

  it('of a wrong port suggests no longer timeout', () => {
    const probeMessage = 'timeout: failed to connect service "10.0.0.1:9090" within 1s: context deadline exceeded'
    const words = hint('readiness-failing', {}, { spec, probeMessage })
    expect(words).not.toContain('timeoutSeconds')
    expect(words).toContain('The probe asks port 9090')
  })
})

describe('the hint for a missing object', () => {
  const pod = createPod({
    containers: [
      {
        ...container,
        env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'database', key: 'password' } } }],
        envFrom: [{ configMapRef: { name: 'settings' } }],
      },
    ],
    volumes: [{ name: 'tls', secret: { secretName: 'cert' } }],
  })

  it.each([
    [
      { object: 'secret/database' },
      'Create secret/database in namespace shop, or correct the reference (env PASSWORD of container app). `kubectl get secret -n shop` lists what is there.',
    ],
    [
      { object: 'secret/database', key: 'password' },
      'Add the key password to secret/database in namespace shop, or correct the reference (env PASSWORD of container app). `kubectl describe secret/database -n shop` lists its keys.',
    ],
    [
      { object: 'configmap/settings' },
      'Create configmap/settings in namespace shop, or correct the reference (envFrom of container app). `kubectl get configmap -n shop` lists what is there.',
    ],
    [
      { object: 'secret/cert' },
      'Create secret/cert in namespace shop, or correct the reference (volume tls). `kubectl get secret -n shop` lists what is there.',
    ],
    [
      { object: 'secret/other' },
      'Create secret/other in namespace shop, or correct the reference. `kubectl get secret -n shop` lists what is there.',
    ],
    [
      undefined,
      'Create the Secret or ConfigMap (or the key in it) that the message names, in namespace shop, or correct the reference.',
    ],
  ])('of %j says what to create where, and who refers to it', (detail, words) => {
    expect(hint('config-missing', detail === undefined ? {} : { detail }, { pod })).toBe(words)
  })
})

describe('the hint for a container that crashes', () => {
  it('quotes its last words and shows the way to all of them', () => {
    expect(hint('crash-loop', { detail: { exitCode: 3 } }, { lastLine: 'no database' })).toBe(
      'Find out why container app exits. The last line that it logged is "no database". The whole log: `kubectl logs pod/web-1-a -c app --previous -n shop`.',
    )
  })

  it.each([
    [0, /ends without an error, and is started again: keep its program in the foreground/],
    [137, /Code 137 is SIGKILL/],
    [139, /Code 139 is a segmentation fault/],
    [143, /Code 143 is SIGTERM/],
  ])('knows what code %d means', (exitCode, words) => {
    expect(hint('crash-loop', { detail: { exitCode } })).toMatch(words)
  })

  it('says how soon its memory was used up', () => {
    const terminated = { startedAt: '2025-01-15T12:00:00Z', finishedAt: '2025-01-15T12:00:03Z' }
    const pod = createPod({}, { containerStatuses: [{ name: 'app', lastState: { terminated } }] })
    const spec = { ...container, resources: { limits: { memory: '64Mi' } } }
    expect(hint('out-of-memory', {}, { pod, spec })).toBe(
      'Raise `resources.limits.memory` of container app (now 64Mi, used up 3 s after its start), or make it use less.',
    )
  })

  it.each([
    [127, /does not exist in acme\/web:v2, or is not on its PATH\. It runs `\["serve","--fast"\]`\.$/],
    [126, /may not be run: make it executable in acme\/web:v2/],
  ])('by a command that cannot be run (%d) shows the command', (exitCode, words) => {
    const spec = { ...container, command: ['serve'], args: ['--fast'] }
    expect(hint('bad-command', { detail: { exitCode } }, { spec })).toMatch(words)
  })
})

describe('the hint for a probe that fails', () => {
  const asking = (readinessProbe: object): Container => ({
    ...container,
    ports: [{ containerPort: 8080 }],
    readinessProbe,
  })
  const http = asking({ httpGet: { port: 8080, path: '/healthz' } })

  it('sees that it asks another port than the container declares', () => {
    expect(hint('readiness-failing', {}, { spec: asking({ httpGet: { port: 8081 } }) })).toMatch(
      /^The probe asks port 8081 for \/, but the container declares 8080\. /,
    )
  })

  it.each([
    ['HTTP probe failed with statuscode: 404', 'the app answers, but has no such path (404).'],
    ['HTTP probe failed with statuscode: 503', 'the app answers 503, and any of 200 to 399 would do.'],
    ['HTTP probe failed with statuscode: 401', 'the app answers, but wants the kubelet to log in (401).'],
    ['Get "http://10.0.0.1:8080/": dial tcp 10.0.0.1:8080: connect: connection refused', 'nothing listens there.'],
    ['Get "http://10.0.0.1:8080/": context deadline exceeded', 'no answer within its timeoutSeconds of 1.'],
    ['something else', 'is that where it listens?'],
  ])('reads the answer %j', (probeMessage, words) => {
    expect(hint('readiness-failing', {}, { spec: http, probeMessage })).toContain(
      `The probe asks port 8080 for /healthz: ${words}`,
    )
  })

  it('shows the command that it runs, and how long a container may take to start', () => {
    const spec = { ...container, startupProbe: { exec: { command: ['cat', '/up'] }, failureThreshold: 30 } }
    expect(hint('startup-failing', {}, { spec })).toBe(
      "The probe runs `cat /up`, which has to end with code 0. If the container only needs longer, raise the probe's failureThreshold (now 30, every 10 s).",
    )
  })
})

describe('the hint for a pod that no node takes', () => {
  const unschedulable = (message: string, spec: object = {}) =>
    hint('unschedulable', { message: `cannot be scheduled: ${message}` }, { pod: createPod(spec) })

  it('names what it asks for', () => {
    const spec = { containers: [{ ...container, resources: { requests: { cpu: '900' } } }] }
    expect(unschedulable('of 1 node, 1 lacks cpu', spec)).toMatch(/^The pod asks for 900 cpu: lower/)
  })

  it('names the labels that it wants', () => {
    expect(
      unschedulable('of 1 node, 1 does not match its node selector or affinity', { nodeSelector: { disk: 'ssd' } }),
    ).toBe(
      'The pod wants a node with the labels disk=ssd: correct nodeSelector, or label a node (`kubectl label node NODE disk=ssd`).',
    )
  })

  it.each([
    [
      '(dedicated=database)',
      'Tolerate the taint dedicated=database in the pod: `tolerations: [{key: dedicated, value: database}]`.',
    ],
    ['(gpu)', 'Tolerate the taint gpu in the pod: `tolerations: [{key: gpu, operator: Exists}]`.'],
    ['(node.kubernetes.io/not-ready)', 'A node is marked not-ready: `kubectl describe nodes`.'],
  ])('writes the toleration of %s', (taint, words) => {
    expect(unschedulable(`of 1 node, 1 has a taint that the pod does not tolerate ${taint}`)).toBe(words)
  })

  it('shows how to see the taints where the scheduler names none', () => {
    expect(unschedulable('of 1 node, 1 has a taint that the pod does not tolerate')).toContain('TAINTS:.spec.taints')
  })
})

it('names from a hostile cluster are quoted for the shell', () => {
  const words = hintFor(createTarget({ name: "web'; rm -rf `~`" }), 'paused')
  expect(words).toBe("Resume it: `kubectl rollout resume 'deployment/web'\\''; rm -rf ~' -n shop`.")
})

describe('the hint knows the usual way out of', () => {
  it.each<[string, ReasonCode, ProblemOverrides, RegExp]>([
    [
      'a pod of an older revision that holds up the new one',
      'image-not-found',
      { subject: 'pod/db-0', detail: { image: 'acme/db:v9' }, oldRevision: 'blocks-update' },
      /^Delete the pod of the older revision, which nothing else replaces: `kubectl delete pod\/db-0 -n shop`\.$/,
    ],
    [
      'a pod that nobody ends',
      'pod-stuck',
      {
        subject: 'pod/db-0',
        message: 'is still there although its grace period is over: its node n1 has not stopped it',
      },
      /^Bring its node back, .* delete the pod by force: `kubectl delete pod\/db-0 --force -n shop`\.$/,
    ],
    [
      'a pod that finalizers hold',
      'pod-stuck',
      { subject: 'pod/db-0', message: 'is still there although its grace period is over: its finalizers hold it: a/b' },
      /^The controller that set a\/b has to take it off: does that run\? .*: `kubectl patch pod\/db-0 --type=json -p '\[\{"op":"remove","path":"\/metadata\/finalizers"\}\]' -n shop`\.$/,
    ],
    [
      'a host port that the old pod has',
      'unschedulable',
      { message: 'cannot be scheduled: of 1 node, 1 has the host port taken' },
      /let it go first \(strategy Recreate, or maxSurge 0 with maxUnavailable 1\)/,
    ],
    [
      'a subPath that does not exist',
      'container-create-failed',
      { message: 'cannot start: volume "v" (subPath web.conf) cannot be mounted at /etc/web.conf: not a directory' },
      /^It seems that the volume has no web\.conf, .* \/etc\/web\.conf is a file in the image\. Correct the subPath, or add the key\.$/,
    ],
  ])('%s', (_, reason, problem, words) => {
    expect(hint(reason, problem)).toMatch(words)
  })
})

describe('the hint for a Job that is not found', () => {
  const job = createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' })
  it.each([
    [
      'Completed',
      /^A Job of this name ended before the gate began, and was removed\. Raise its ttlSecondsAfterFinished/,
    ],
    ['BackoffLimitExceeded', /^A Job of this name ended before the gate began/],
    ['SuccessfulCreate', /^Was it applied/],
    [undefined, /^Was it applied/],
  ])('whose last event is %s', (lastEvent, words) => {
    expect(hintFor(job, 'not-found', { hasEnded: isJobEnd(lastEvent) })).toMatch(words)
  })
})

describe('the hint for a target that is not found', () => {
  const absent = (overrides: Partial<Target>, details: HintDetails = {}) =>
    hintFor(createTarget(overrides), 'not-found', details)

  it('lists what there is, in words that can be pasted into a shell', () => {
    expect(absent({})).toContain('`kubectl get deployment -n shop` lists what is there.')
    expect(absent({ kind: 'StatefulSet', name: '', selector: 'app=web' })).toBe(
      'Correct the selector, or the labels of what was applied. `kubectl get statefulset --show-labels -n shop` lists what is there.',
    )
    expect(absent({ kind: 'StatefulSet', name: '', selector: '' })).toMatch(
      /^Was any StatefulSet applied, and in namespace shop\? `kubectl get statefulset -n shop` lists what is there\./,
    )
  })

  it('says where to name another namespace, but not of an object that has none', () => {
    expect(absent({})).toMatch(/For another namespace, set the input `namespace`, or write -n after the reference\.$/)
    const cluster = { apiVersion: 'v1', kind: 'PersistentVolume', name: 'disk' } as const
    const { namespace: _, ...target } = createTarget(cluster)
    expect(hintFor(target, 'not-found')).not.toContain('namespace')
  })

  it.each([
    ['missing', 'was'],
    ['terminating', 'is being'],
  ] as const)('names a namespace that is %s as the reason of deleted', (namespaceState, verb) => {
    expect(hintFor(createTarget({ namespace: 'shop' }), 'deleted', { namespaceState })).toBe(
      `Namespace shop ${verb} deleted, with everything in it. Find out who deletes it, create it again once it is gone, then apply deployment/web again.`,
    )
  })

  it.each(['not-found', 'change-not-seen'] as const)(
    'names a namespace that does not exist, as the reason of %s',
    (reason) => {
      expect(hintFor(createTarget({ namespace: 'shpo' }), reason, { namespaceState: 'missing' })).toBe(
        'Namespace shpo does not exist. Create it, or correct the input `namespace` or -n. `kubectl get namespaces` lists what is there.',
      )
    },
  )

  it('describes what a selector names with words of their own', () => {
    const target = createTarget({ name: '', selector: 'app in (a, b)' })
    expect(hintFor(target, 'no-progress')).toContain("`kubectl describe deployment -l 'app in (a, b)' -n shop`")
  })
})

describe('the hint for a wish that the object does not know', () => {
  const object = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    status: {
      phase: 'x',
      conditions: [
        { type: 'Available', status: 'True' },
        { type: 'Progressing', status: 'True' },
      ],
    },
  }
  const wish = (waitFor: WaitFor) => hintFor(createTarget({ waitFor }), 'no-progress', { object })

  it.each(['no-progress', 'still-running'] as const)(
    'names what there is and what may have been meant: %s',
    (reason) => {
      const target = createTarget({ waitFor: { type: 'condition', condition: 'Availble', status: 'True' } })
      expect(hintFor(target, reason, { object })).toBe(
        'Correct --for: deployment/web has no condition Availble, but Available, Progressing. Did you mean Available?',
      )
    },
  )

  it('reads a path to a field alike', () => {
    expect(wish({ type: 'jsonpath', path: '{.status.phse}' })).toBe(
      'Correct --for: deployment/web has no {.status.phse}, but .status has phase, conditions. Did you mean phase?',
    )
  })

  it('does not meddle with what is there', () => {
    expect(wish({ type: 'condition', condition: 'available', status: 'False' })).toMatch(/^See its events/)
  })
})

describe('the hint for a gate that does not see its targets', () => {
  const blind = (outcome: Outcome, reason: ReasonCode, message = '') =>
    gateHint(createTimeline({ verdict: { outcome, reason, message }, targets: [createTargetRecord()] }))

  it.each([
    [
      'cannot list resource "configmaps" in API group "" in the namespace "shop"',
      /^Give user ci get, list and watch on configmaps in namespace shop, by a Role .* `kubectl auth can-i list configmaps -n shop --as ci` says yes/,
    ],
    [
      'cannot list resource "secrets" in API group "" in the namespace "shop"',
      /says yes once that is done\. Or leave them out: a line `!secrets --all`\.$/,
    ],
    [
      'cannot watch resource "deployments" in API group "apps" in the namespace "shop": requires one of [x] permission(s).',
      /on deployments\.apps in namespace shop.* `kubectl auth can-i list deployments\.apps -n shop --as ci`/,
    ],
    [
      'cannot list resource "nodes" in API group "" at the cluster scope',
      /on nodes in the whole cluster, by a ClusterRole .* `kubectl auth can-i list nodes --as ci`/,
    ],
    ['may not', /^Give the kubeconfig’s user get, list and watch on what is gated.* to apply\.$/],
  ])('names who needs which rights where: %s', (words, pattern) => {
    expect(blind('misconfigured', 'forbidden', `x may not be read: x is forbidden: User "ci" ${words}`)).toMatch(
      pattern,
    )
  })

  it('warns against rolling back a rollout that nobody saw', () => {
    expect(blind('unknown', 'forbidden', 'deployment/web may no longer be read: no')).toMatch(
      /look before you roll back\.$/,
    )
    for (const reason of ['api-unreachable', 'credentials-expired'] as const)
      expect(blind('unknown', reason)).toMatch(/look before you roll back\.$/)
  })

  it('says that a rollout goes on when its job is cancelled', () => {
    expect(blind('cancelled', 'cancelled')).toMatch(/may still become so/)
  })

  it('is left to its targets where they were judged', () => {
    expect(blind('failed', 'crash-loop')).toBeUndefined()
  })
})
