import type { Deployment, KubeObject, PodStatus } from '../../src/cluster/objects.ts'
import { deploymentRule } from '../../src/lifecycle/workloads/deployment.ts'
import { complete, condition, is, iso, make, moment, podIs } from '../kit/objects.ts'
import { type ContextOptions, found, seenPod, seenTarget } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

function assess(deployment: Deployment, objects: readonly KubeObject[], options: ContextOptions = {}) {
  const history = seenTarget([0, deployment])
  return found({ now: 60, history, ...options, objects: [deployment, ...objects] }, (given) =>
    deploymentRule.assess(deployment, given),
  )
}

const replicaSet = make.replicaSet()
const oldSet = make.replicaSet(
  { metadata: { name: 'web-0', creationTimestamp: iso(-3600) } },
  make.deployment({ spec: { template: make.template({ serviceAccountName: 'old' }) } }),
)

function newPod(name: string, status: PodStatus, metadata: object = {}) {
  return make.pod({ metadata: { name, ...metadata }, status }, replicaSet)
}

function oldPod(name: string, status: PodStatus, metadata: object = {}) {
  return make.pod({ metadata: { name, ...metadata }, status }, oldSet)
}

const settled = newPod('a', podIs.ready(1))
const deadline = condition('Progressing', 'False', {
  reason: 'ProgressDeadlineExceeded',
  message: 'ReplicaSet "web-1" has timed out progressing.',
  lastTransitionTime: iso(30),
})

describe('the progress deadline', () => {
  const numbers = complete(1, { availableReplicas: 0, readyReplicas: 0 })
  const fine = make.deployment({ status: { ...numbers, conditions: [condition('Progressing', 'True')] } })
  const exceeded = make.deployment({ status: { ...numbers, conditions: [deadline] } })

  it('is not blamed on a probe that passes by now', () => {
    const spec = { containers: [make.container({ readinessProbe: {} })] }
    const blamed = (ready: boolean) => {
      const status = podIs.unready({ ready, started: true, state: is.running(5) })
      const pod = make.pod({ metadata: { name: 'a' }, spec, status }, replicaSet)
      const event = make.event(pod, { container: 'app', reason: 'Unhealthy', message: 'Readiness probe failed: 503' })
      return assess(exceeded, [replicaSet, pod, event], { history: seenTarget([0, fine], [60, exceeded]) }).failure
        ?.cause
    }
    expect([blamed(false)?.reason, blamed(true)]).toEqual(['readiness-failing', undefined])
  })

  it('has the failing probe of a pod as its cause, also while the probe may still fail by its own numbers', () => {
    const spec = { containers: [make.container({ readinessProbe: { failureThreshold: 100 } })] }
    const starting = make.pod({ spec, status: podIs.unready({ state: is.running(5), started: true }) })
    const failing = make.event(starting, {
      container: 'app',
      reason: 'Unhealthy',
      message: 'Readiness probe failed: HTTP probe failed with statuscode: 503',
    })
    const history = seenTarget([0, fine], [60, exceeded])
    expect(assess(exceeded, [replicaSet, starting, failing], { history }).failure).toMatchObject({
      reason: 'progress-deadline-exceeded',
      cause: { reason: 'readiness-failing', container: 'app' },
    })
  })
})

describe('the new ReplicaSet', () => {
  const message = (deployment: Deployment, ...sets: KubeObject[]) =>
    assess(deployment, sets).milestones.find(({ name }) => name === 'replicaset')?.message

  it('is the oldest that carries the template', () => {
    const twin = make.replicaSet({ metadata: { name: 'web-9', creationTimestamp: iso(30) } })
    expect(message(make.deployment(), twin, replicaSet)).toBe('revision 1 → ReplicaSet web-1')
  })

  it('is found by its revision where the templates cannot be compared', () => {
    const deployment = make.deployment({
      metadata: { annotations: { 'deployment.kubernetes.io/revision': '1' } },
      spec: { template: make.template({ serviceAccountName: 'defaulted' }) },
      status: { observedGeneration: 1, updatedReplicas: 1 },
    })
    expect(message(deployment, replicaSet)).toBe('revision 1 → ReplicaSet web-1')
  })

  it('is the ReplicaSet that the controller chose, if several have the template', () => {
    const twin = make.replicaSet({
      metadata: {
        name: 'web-9',
        creationTimestamp: iso(30),
        annotations: { 'deployment.kubernetes.io/revision': '2' },
      },
    })
    expect(message(make.deployment(), replicaSet, twin)).toBe('revision 2 → ReplicaSet web-9')
  })

  it('is not found by a revision that belongs to the generation before', () => {
    const deployment = make.deployment({
      metadata: { generation: 2, annotations: { 'deployment.kubernetes.io/revision': '1' } },
      spec: { template: make.template({ serviceAccountName: 'next' }) },
      status: { observedGeneration: 1 },
    })
    expect(message(deployment, replicaSet)).toBe('waiting for the new ReplicaSet')
  })

  it('of another owner is not taken', () => {
    const other = make.deployment({ metadata: { name: 'other', uid: 'other-uid' } })
    expect(message(make.deployment(), make.replicaSet({}, other))).toBe('waiting for the new ReplicaSet')
  })
})

describe('a Deployment whose new ReplicaSet does not exist yet', () => {
  const crashing = (nth: number, at: number) => newPod('a', podIs.looping(nth, at))
  const podHistories = new Map([['a-uid', seenPod([5, crashing(1, 5)], [20, crashing(2, 20)], [45, crashing(3, 45)])]])
  const later = (spec: object) =>
    make.deployment({
      metadata: { generation: 2, annotations: { 'deployment.kubernetes.io/revision': '1' } },
      spec: { template: make.template({ serviceAccountName: 'next' }), ...spec },
      status: { observedGeneration: 2, replicas: 1 },
    })

  it.each<[string, object, string[]]>([
    ['because it is paused', { paused: true }, ['paused']],
    ['because old pods have to go first', { strategy: { type: 'Recreate' } }, []],
  ])('%s is never judged by pods of the older one', (_, spec, reasons) => {
    const assessment = assess(later(spec), [replicaSet, crashing(3, 45)], { podHistories })
    expect(assessment).toMatchObject({ status: 'progressing', message: 'waiting for the new ReplicaSet' })
    expect(assessment.problems.map(({ reason }) => reason)).toEqual(reasons)
    expect(assessment.pods).toEqual(new Set())
    expect(assessment.milestones.find(({ name }) => name === 'scheduled')?.count).toEqual({ done: 0, total: 1 })
  })

  it('because old pods terminate first: it reports their number', () => {
    const leaving = newPod('a', podIs.ready(-60), { deletionTimestamp: iso(90) })
    expect(assess(later({ strategy: { type: 'Recreate' } }), [replicaSet, leaving]).message).toBe(
      'waiting for 1 pod of older revisions to end (strategy Recreate)',
    )
  })
})

describe('available pods of older revisions', () => {
  const rolling = (spec: object = {}) =>
    make.deployment({
      spec: { replicas: 2, ...spec },
      status: { observedGeneration: 1, replicas: 4, updatedReplicas: 2, readyReplicas: 4, availableReplicas: 3 },
    })
  const newSet = make.replicaSet({
    spec: { replicas: 2 },
    status: { replicas: 2, readyReplicas: 2, availableReplicas: 1 },
  })
  const pods = [settled, newPod('b', podIs.ready(40)), oldPod('o', podIs.ready(-60)), oldPod('p', podIs.ready(-60))]

  it('do not count as those of the new ReplicaSet', () => {
    const { milestones } = assess(rolling(), [oldSet, newSet, ...pods])
    expect(milestones.find(({ name }) => name === 'available')).toMatchObject({
      state: 'open',
      count: { done: 1, total: 2 },
      message: '1 of 2 pods available',
    })
  })

  it('do not hide that a new one waits out minReadySeconds', () => {
    const look = (now: number) => assess(rolling({ minReadySeconds: 30 }), [oldSet, newSet, ...pods], { now })
    expect(look(60)).toMatchObject({ stallHold: 'pods are ready and wait out minReadySeconds', recheckAt: moment(70) })
    expect(look(70).stallHold).toBeUndefined()
  })
})

describe('the milestones of a Deployment', () => {
  it('name the init container that runs, before the images of the next containers are pulled', () => {
    const initContainers = [make.container({ name: 'wait-for-db' })]
    const initContainerStatuses = [make.containerStatus({ name: 'wait-for-db', state: is.running(1) })]
    const pod = make.pod(
      {
        spec: { initContainers },
        status: { phase: 'Pending', initContainerStatuses, containerStatuses: [make.containerStatus()] },
      },
      replicaSet,
    )
    const starting = make.deployment({ status: complete(1, { readyReplicas: 0, availableReplicas: 0 }) })
    expect(assess(starting, [replicaSet, pod]).message).toBe(
      '0 of 1 pod has pulled its image, init container wait-for-db is running',
    )
  })

  it('name the postStart hook that runs', () => {
    const containers = [make.container({ lifecycle: { postStart: {} } })]
    const pod = make.pod({ spec: { containers }, status: podIs.unready({}, { phase: 'Pending' }) }, replicaSet)
    const event = make.event(pod, { container: 'app', reason: 'Started', firstTimestamp: iso(3) })
    const starting = make.deployment({ status: complete(1, { readyReplicas: 0, availableReplicas: 0 }) })
    expect(assess(starting, [replicaSet, pod, event]).message).toBe(
      '0 of 1 pod started, the postStart hook of app is running',
    )
  })

  const state = (deployment: Deployment, objects: KubeObject[]) =>
    Object.fromEntries(
      assess(deployment, objects).milestones.map(({ name, state, count }) => [
        name,
        count ? `${count.done}/${count.total}` : state,
      ]),
    )

  it('are all that the contract names, in its order', () => {
    expect(assess(make.deployment(), []).milestones.map(({ name }) => name)).toEqual([...deploymentRule.milestones])
  })

  it('count the pods of the new revision alone', () => {
    const deployment = make.deployment({
      spec: { replicas: 2 },
      status: { observedGeneration: 1, replicas: 3, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2 },
    })
    const set = make.replicaSet({ spec: { replicas: 2 } }, deployment)
    const objects = [
      oldSet,
      set,
      oldPod('o', podIs.ready(-60)),
      newPod('a', podIs.ready(1)),
      newPod('b', podIs.unready({ state: is.waiting('ErrImagePull', 'x') }, { phase: 'Pending' })),
    ]
    expect(state(deployment, objects)).toEqual({
      created: 'done',
      observed: 'done',
      replicaset: 'done',
      scheduled: '2/2',
      pulled: '1/2',
      started: '1/2',
      ready: '1/2',
      available: '1/2',
      drained: 'open',
    })
  })

  it('contain the slowest pull', () => {
    const event = make.event(settled, {
      container: 'app',
      reason: 'Pulled',
      message: 'Successfully pulled image "acme/web:v1" in 1m2.5s (1m2.5s including waiting).',
    })
    const { milestones } = assess(make.deployment({ status: complete() }), [replicaSet, settled, event])
    expect(milestones.find(({ name }) => name === 'started')?.message).toBe('1 pod started (slowest pull 62.5 s)')
  })
})

describe('a Deployment has a stall hold until its ReplicaSet creates a refused pod again,', () => {
  const message = 'pods "web-1-x" is forbidden: exceeded quota: small'
  const failed = [condition('ReplicaFailure', 'True', { reason: 'FailedCreate', message, lastTransitionTime: iso(0) })]
  const refused = make.replicaSet({ status: { conditions: failed } })
  const deployment = make.deployment({ status: { observedGeneration: 1, conditions: failed } })
  const attempts = (count: number, lastAt: number) =>
    make.event(refused, {
      reason: 'FailedCreate',
      message,
      count,
      firstTimestamp: iso(0),
      lastTimestamp: iso(lastAt),
    })

  it.each([
    ['after twice the time so far', 16, 163, 337],
    ['also if its first refusals have expired', 3, 163, 336],
    // Each event of one of its pods starts an attempt, and each refusal doubles the next wait.
    ['and later if events of its other pods have started attempts too', 18, 23, 689],
    ['and at most 1000 s after the last refusal', 21, 23, 1033],
  ])('%s', (_, count, lastAt, until) => {
    const look = (now: number) => assess(deployment, [refused, attempts(count, lastAt)], { now })
    expect(look(until - 1)).toMatchObject({ stallHold: 'its controller tries again later' })
    expect(look(until).stallHold).toBeUndefined()
  })
})

test('a Deployment names the pods of the revision that is gated', () => {
  const objects = [oldSet, replicaSet, oldPod('o', podIs.ready(-60)), settled]
  expect(assess(make.deployment({ status: complete() }), objects).pods).toEqual(new Set(['a-uid']))
})

test('a Deployment asks for its ReplicaSets and pods by its selector', () => {
  expect(deploymentRule.relatives(make.deployment())).toEqual([
    { apiVersion: 'apps/v1', kind: 'ReplicaSet', namespace: 'shop', labelSelector: 'app=web' },
    { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', labelSelector: 'app=web' },
  ])
})

describe('a Deployment without pods', () => {
  it('is no failure of the change when it is an older ReplicaSet that cannot replace its pods', () => {
    const denial = 'admission webhook "policy" denied the request: no'
    const conditions = [condition('ReplicaFailure', 'True', { message: denial })]
    const deployment = make.deployment({ status: { observedGeneration: 1, conditions } })
    const older = { ...oldSet, status: { conditions } }
    const refusals = make.event(oldSet, { reason: 'FailedCreate', message: denial, count: 5 })
    const { status, problems } = assess(deployment, [replicaSet, older, refusals])
    expect(status).toBe('progressing')
    expect(problems).toMatchObject([{ subject: toSubject('replicaset/web-0'), class: 'slow', proven: false }])
  })

  describe('while its ReplicaSet cannot be created', () => {
    const refused = (message: string) => {
      const words = `Failed to create new replica set "web-1": ${message}`
      const progressing = condition('Progressing', 'False', { reason: 'ReplicaSetCreateError', message: words })
      // The controller writes this condition without the generation that it has observed.
      const deployment = make.deployment({
        metadata: { generation: 2 },
        status: { observedGeneration: 1, conditions: [progressing] },
      })
      const event = (count: number, at = 5) =>
        make.event(deployment, { reason: 'ReplicaSetCreateError', message: words, count, lastTimestamp: iso(at) })
      return { deployment, event }
    }
    const denial = 'admission webhook "policy.example.com" denied the request: no'

    it.each([
      [
        'by a quota',
        'replicasets.apps "web-1" is forbidden: exceeded quota: small, requested: count/replicasets.apps=1',
        'quota-exceeded',
      ],
      [
        'by a webhook that is unavailable',
        'Internal error occurred: failed calling webhook "policy.example.com": connection refused',
        'webhook-unavailable',
      ],
      ['by a policy', denial, 'admission-denied'],
    ])('is explained %s', (_, message, reason) => {
      const { deployment, event } = refused(message)
      expect(assess(deployment, [oldSet, event(1)]).problems).toMatchObject([
        {
          reason,
          subject: toSubject('deployment/web'),
          message: expect.stringMatching(/^cannot create its ReplicaSet: /),
        },
      ])
    })

    it('a denial is proven by another denial 3 s later, both since the gate began', () => {
      const { deployment, event } = refused(denial)
      expect(assess(deployment, [oldSet, event(1)]).status).toBe('progressing')
      expect(assess(deployment, [oldSet, event(9, -60)]).status).toBe('progressing')
      expect(assess(deployment, [oldSet, event(2)])).toMatchObject({ failure: { reason: 'admission-denied' } })
    })

    it('and is no problem once it exists', () => {
      const { deployment, event } = refused(denial)
      expect(assess(deployment, [replicaSet, event(2)]).problems).toEqual([])
    })
  })
})
