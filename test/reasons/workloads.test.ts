import { hintFor } from '../../src/diagnosis/hints.ts'
import {
  headlineOf,
  type Problem,
  type ProblemWith,
  problemOf,
  problemSentence,
  type ReasonCode,
  type ReasonDetails,
} from '../../src/reasons/reasons.ts'
import { createTarget } from '../kit/gate.ts'
import { toSubject } from '../kit/subject.ts'

function createProblem<Reason extends ReasonCode>(
  reason: Reason,
  detail: ReasonDetails[Reason],
  rest: Partial<ProblemWith<ReasonCode>> = {},
): Problem {
  return problemOf({
    reason,
    subject: toSubject('replicaset/web-1'),
    detail,
    count: 1,
    firstSeenAt: 0,
    proven: true,
    ...rest,
  } as ProblemWith<Reason>)
}

/** What is reported of a problem of deployment/web in namespace shop. */
function texts(problem: Problem, target = createTarget()) {
  return {
    headline: headlineOf(problem),
    sentence: problemSentence(problem),
    hint: hintFor(target, problem.reason, { problem }),
  }
}

const refusal = { action: 'create pods', message: 'refused' } as const

describe('pods that the API server refuses are reported', () => {
  it('with what a quota allows', () => {
    const shortages = [
      { resource: 'pods', requested: '1', used: '4', limited: '4' },
      { resource: 'limits.cpu', requested: '1500m', used: '1', limited: '2' },
    ]
    const room = 'An update needs room for old and new pods at once, unless maxSurge is 0.'
    expect(texts(createProblem('quota-exceeded', { ...refusal, quota: 'small', shortages }))).toEqual({
      headline: 'quota small exceeded',
      sentence:
        'replicaset/web-1 cannot create pods: quota small exceeded: 4 of 4 pods used, a new pod needs 1; 1 of 2 limits.cpu used, a new pod needs 1500m',
      hint: `Raise ResourceQuota small (\`kubectl edit resourcequota/small -n shop\`), or request less. ${room}`,
    })
  })

  it.each([
    [
      'what a quota requires of each container',
      createProblem('quota-exceeded', { ...refusal, quota: 'small', mustSpecify: 'limits.cpu for: app' }),
      'quota exceeded',
      /^ResourceQuota small requires every container to set limits\.cpu for: app: set them under `resources`/,
    ],
    [
      'a quota that is not known',
      createProblem('quota-exceeded', refusal),
      'quota exceeded',
      /^Raise the namespace’s ResourceQuota, or lower/,
    ],
    [
      'the Pod Security standard',
      createProblem('admission-denied', { ...refusal, by: { type: 'pod-security', name: 'restricted' } }),
      'denied by the Pod Security standard "restricted"',
      /^The namespace enforces the Pod Security standard "restricted": set in securityContext/,
    ],
    [
      'the policy, and what it requires',
      createProblem('admission-denied', {
        ...refusal,
        by: { type: 'policy', name: 'p' },
        requirement: 'pods need the label team',
      }),
      'denied by the policy p',
      /^Change the pod template so that the policy p accepts it: pods need the label team\.$/,
    ],
    [
      'the webhook',
      createProblem('admission-denied', { ...refusal, by: { type: 'webhook', name: 'w.example.com' } }),
      'denied by the webhook w.example.com',
      /^Change the pod template so that the webhook w\.example\.com accepts it\.$/,
    ],
    [
      'the LimitRange',
      createProblem('admission-denied', { ...refusal, by: { type: 'limit-range', name: '' } }),
      'denied by a LimitRange',
      /^A LimitRange in namespace shop sets these bounds: .*`kubectl describe limitrange -n shop`/,
    ],
    [
      'a denial by something unknown',
      createProblem('admission-denied', refusal),
      'denied by an admission policy',
      /^Change the pod template so that the policy accepts it\.$/,
    ],
    [
      'the ServiceAccount',
      createProblem('service-account-missing', { ...refusal, account: 'deployer' }),
      'the ServiceAccount is missing',
      /^Create it \(`kubectl create serviceaccount deployer -n shop`\), or correct serviceAccountName\.$/,
    ],
    [
      'the webhook that does not answer',
      createProblem('webhook-unavailable', { ...refusal, webhook: 'w.example.com' }),
      'an admission webhook is unavailable',
      /^The admission webhook w\.example\.com does not answer\. Bring its Service back\./,
    ],
    [
      'the PriorityClass',
      createProblem('replica-failure', { ...refusal, priorityClass: 'urgent' }),
      'PriorityClass urgent is missing',
      /^Create PriorityClass urgent, or correct priorityClassName\. `kubectl get priorityclass` lists what is there\.$/,
    ],
    [
      'the field that is invalid',
      createProblem('replica-failure', { ...refusal, isInvalid: true }),
      'pods could not be created',
      /^Correct the field of the pod template that the message names, and apply again\.$/,
    ],
    [
      'any other refusal',
      createProblem('replica-failure', refusal),
      'pods could not be created',
      /^The API server refuses the pods; its message contains the reason\. Its events: `kubectl describe deployment\/web -n shop`/,
    ],
    [
      'the namespace that is being deleted',
      createProblem('terminating', refusal),
      'being deleted',
      /If its whole namespace is being deleted \(`kubectl get namespace shop`\)/,
    ],
  ])('with %s', (_, problem, headline, hint) => {
    const found = texts(problem)
    expect(found).toMatchObject({ headline, sentence: 'replicaset/web-1 cannot create pods: refused' })
    expect(found.hint).toMatch(hint)
  })
})

describe('an object that is being deleted', () => {
  const deleted = (finalizers: readonly string[], target = createTarget()) =>
    texts(createProblem('terminating', { finalizers }, { subject: toSubject('deployment/web') }), target)

  it('has the hint to wait, then to apply again', () => {
    expect(deleted([])).toEqual({
      headline: 'being deleted',
      sentence: 'deployment/web is being deleted',
      hint: 'Wait until deployment/web is gone, then apply it again. If its whole namespace is being deleted (`kubectl get namespace shop`), nothing can be applied there until that is gone.',
    })
  })

  it('may wait for finalizers that Kubernetes removes', () => {
    const { sentence, hint } = deleted(['kubernetes.io/pvc-protection', 'foregroundDeletion'])
    expect(sentence).toMatch(/and waits for its finalizers: kubernetes\.io\/pvc-protection, foregroundDeletion$/)
    expect(hint).toContain(
      'Kubernetes removes kubernetes.io/pvc-protection, foregroundDeletion once nothing uses the object, and its dependents are gone',
    )
  })

  it('may wait for finalizers that its controller must remove', () => {
    expect(deleted(['a/b', 'foregroundDeletion']).hint).toContain(
      'The controller that set a/b, foregroundDeletion must remove it: check that it runs. Only if that controller no longer exists, remove it by hand: `kubectl patch deployment/web --type=json -p ',
    )
  })
})

describe('a progress deadline that has passed', () => {
  const detail = { deadlineSeconds: 6, message: 'ReplicaSet "web-1" has timed out progressing.' }

  it('is explained by the controller', () => {
    const { sentence, hint } = texts(
      createProblem('progress-deadline-exceeded', detail, { subject: toSubject('deployment/web') }),
    )
    expect(sentence).toBe(
      'deployment/web made no progress within its progressDeadlineSeconds of 6 s: ReplicaSet "web-1" has timed out progressing.',
    )
    expect(hint).toMatch(
      /^The events of its pods show what they wait for: .* raise progressDeadlineSeconds \(now 6\)\.$/,
    )
  })

  it('is explained by the pod that it waits for, where one has a problem', () => {
    const cause = createProblem('job-failed', { exitCode: 3 }, { subject: toSubject('pod/web-1-a'), container: 'app' })
    const problem = createProblem('progress-deadline-exceeded', detail, { subject: toSubject('deployment/web'), cause })
    expect(problemSentence(problem)).toBe(
      'deployment/web made no progress within its progressDeadlineSeconds of 6 s: container app of pod/web-1-a exited with code 3; the Job failed',
    )
    const hint = hintFor(createTarget(), problem.reason, {
      problem,
      cause: { problem: cause, logLine: { text: 'no database', isError: false } },
    })
    expect(hint).toMatch(/^The last line that container app logged is "no database"\. .* \(now 6\)\.$/)
  })
})

describe('a Job that failed', () => {
  const job = createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' })

  it('is reported with the container that failed last', () => {
    const detail = { exitCode: 3, message: 'enough', failedIndexes: '1,3', conditionReason: 'FailedIndexes' }
    const problem = createProblem('job-failed', detail, { subject: toSubject('pod/migrate-x'), container: 'app' })
    expect(texts(problem, job)).toEqual({
      headline: 'the Job failed in container app (exit code 3)',
      sentence: 'container app of pod/migrate-x exited with code 3; the Job failed: enough: 1,3 (FailedIndexes)',
      hint: 'The log of container app may show why: `kubectl logs pod/migrate-x -c app -n shop`. A failed Job does not run again: once the cause is fixed, delete the Job (`kubectl delete job/migrate -n shop`) and apply it again.',
    })
  })

  it('is not to be applied again if something else owns it, and its log has a command', () => {
    const owner = createTarget({ apiVersion: 'argoproj.io/v1alpha1', kind: 'AnalysisRun', name: 'smoke' })
    const problem = createProblem('job-failed', {}, { subject: toSubject('job/smoke-1') })
    expect(texts(problem, owner).hint).toBe('The log of the Job may show why: `kubectl logs job/smoke-1 -n shop`.')
  })

  it('is reported without a container if its pods are deleted', () => {
    expect(texts(createProblem('job-failed', {}, { subject: toSubject('job/migrate') }), job)).toMatchObject({
      headline: 'the Job failed',
      sentence: 'job/migrate: the Job failed',
    })
  })

  it('may have run out of time', () => {
    const detail = { activeDeadlineSeconds: 3 }
    const problem = createProblem('job-deadline-exceeded', detail, { subject: toSubject('job/migrate') })
    expect(texts(problem, job)).toMatchObject({
      headline: 'the Job ran out of time',
      sentence: 'job/migrate ran longer than its activeDeadlineSeconds of 3 s',
      hint: 'Raise activeDeadlineSeconds, or make the Job faster; then delete the Job (`kubectl delete job/migrate -n shop`) and apply it again.',
    })
  })
})

it.each([
  ['paused', {}, 'deployment/web is paused, so its change is not rolled out'],
  ['paused', { signals: 'spec.paused is true' }, 'deployment/web: spec.paused is true'],
  ['suspended', {}, 'deployment/web is suspended, so it does not run'],
  ['suspended', { signals: 'status.phase is Suspended' }, 'deployment/web: status.phase is Suspended'],
] as const)('%s with %j is reported as "%s"', (reason, detail, sentence) => {
  expect(problemSentence(createProblem(reason, detail, { subject: toSubject('deployment/web') }))).toBe(sentence)
})
