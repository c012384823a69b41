import type { KubeObject } from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import { addDiagnosis } from '../../src/diagnosis/diagnosis.ts'
import { TargetFacts } from '../../src/diagnosis/target-facts.ts'
import type { Problem, ProblemWith, ReasonCode } from '../../src/reasons/reasons.ts'
import { createTarget } from '../kit/gate.ts'
import { is, iso, make, moment, podIs, start } from '../kit/objects.ts'
import { toSubject } from '../kit/subject.ts'
import { createProblem, createRecord, createTargetRecord } from '../report/builders.ts'

const target = createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' })

type Own = Pick<ProblemWith<ReasonCode>, 'reason' | 'subject' | 'container' | 'cause' | 'detail'>

function record(problem: Partial<Own> & Pick<Own, 'reason' | 'subject'>) {
  const problems = [
    createProblem({ headline: '', container: undefined, detail: { text: '' }, firstSeenAt: start, ...problem }),
  ]
  const judged = createTargetRecord({ target, outcome: 'failed', reason: problem.reason, problems })
  return createRecord({ startedAt: start, targets: [judged] })
}

describe('the evidence of a problem', () => {
  it('contains the log of the container that failed a Job', () => {
    const { basis } = createProblem({ reason: 'crash-loop', subject: toSubject('pod/migrate-x'), container: 'app' })
    const failed = record({ reason: 'job-failed', subject: toSubject('job/migrate'), cause: basis })
    const store = new Store(() => false)
    expect(failed.targets.flatMap((each) => new TargetFacts(each, store).loggedContainers)).toMatchObject([
      { pod: 'migrate-x', container: 'app' },
    ])
  })

  it('contains the events of the target, whatever its kind', () => {
    const store = new Store(() => false)
    const job: KubeObject = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'migrate', namespace: 'shop', uid: 'u' },
    }
    const refused = make.event(job, { reason: 'FailedCreate', message: 'no', lastTimestamp: iso(3) })
    for (const object of [job, refused]) store.apply({ at: moment(3), type: 'ADDED', object })
    const [judged] = addDiagnosis(
      record({ reason: 'admission-denied', subject: toSubject('job/migrate') }),
      store,
      0,
    ).targets
    expect(judged?.problems[0]?.evidence).toMatchObject([{ type: 'event', text: 'FailedCreate  no' }])
  })
})

it('the ownership chain of a pod ends at its PersistentVolumeClaim even if claims are not watched', () => {
  const store = new Store(() => false)
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'migrate-x', namespace: 'shop', uid: 'u' } }
  store.apply({ at: moment(3), type: 'ADDED', object: pod })
  const cause: Problem = {
    reason: 'claim-pending',
    subject: toSubject('persistentvolumeclaim/data'),
    detail: {},
    count: 1,
    firstSeenAt: start,
    proven: false,
  }
  const [judged] = addDiagnosis(
    record({ reason: 'unschedulable', subject: toSubject('pod/migrate-x'), cause }),
    store,
    0,
  ).targets
  expect(judged?.problems[0]?.chain).toEqual(['job/migrate', 'pod/migrate-x', 'persistentvolumeclaim/data'])
})

describe('the evidence of a target that a clock ended', () => {
  const web = createTarget({ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' })
  const deployment = make.deployment()
  const waitingPod = make.pod({
    metadata: { name: 'web-x' },
    status: podIs.unready({ state: is.waiting('ImageInspectError', 'the store is damaged') }, { phase: 'Pending' }),
  })
  const warning = (reason: string, message: string, at: number) =>
    make.event(waitingPod, { reason, message, lastTimestamp: iso(at), metadata: { name: `${reason}-${at}` } })

  const explained = (reason: 'no-progress' | 'still-running', ...events: KubeObject[]) => {
    const store = new Store(() => false)
    for (const object of [deployment, make.replicaSet(), waitingPod, ...events])
      store.apply({ at: moment(3), type: 'ADDED', object })
    const whole = record({ reason: 'crash-loop', subject: toSubject('') })
    const outcome = reason === 'no-progress' ? 'stalled' : 'timed-out'
    const targets = whole.targets.map(
      (judged) => ({ ...judged, basis: { target: web }, outcome, reason, problems: [] }) as const,
    )
    return addDiagnosis({ ...whole, targets }, store, 0).targets[0]
  }

  it.each(['no-progress', 'still-running'] as const)(
    'contains, for %s, the container reason, newest Warning and conditions of its pod',
    (reason) => {
      const judged = explained(reason, warning('FailedSync', 'old', 10), warning('InspectFailed', 'damaged layer', 40))
      expect(judged?.problems).toMatchObject([
        {
          reason: 'pod-waiting',
          class: 'slow',
          subject: 'pod/web-x',
          message:
            'is not ready: container app waits (ImageInspectError: the store is damaged); its newest Warning is InspectFailed: damaged layer',
          evidence: [
            { type: 'condition', title: 'Conditions', text: expect.stringContaining('Ready is False') },
            { type: 'event', text: expect.stringContaining('InspectFailed') },
          ],
        },
      ])
      expect(judged?.hint).toContain('`kubectl describe pod/web-x -n shop`')
    },
  )

  it('contains the pod even if there is no Warning', () => {
    expect(explained('no-progress')?.problems).toMatchObject([{ subject: 'pod/web-x' }])
  })
})
