import type { KubeObject } from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import { explain } from '../../src/diagnosis/explain.ts'
import { loggedContainers } from '../../src/diagnosis/target-facts.ts'
import type { ProblemRecord, TargetRecord, Timeline } from '../../src/gate/timeline.ts'
import type { Problem, ProblemWith, ReasonCode } from '../../src/reasons/reasons.ts'
import { createTarget } from '../gate/builders.ts'
import { createEvent, iso, moment, start } from '../lifecycle/builders.ts'

const target = createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' })

type Own = Pick<ProblemWith<ReasonCode>, 'reason' | 'subject' | 'container' | 'cause'>

function timeline(problem: Partial<Own> & Pick<Own, 'reason' | 'subject'>): Timeline {
  const whole = {
    class: 'terminal',
    detail: { text: '' },
    message: '',
    count: 1,
    firstSeenAt: start,
    proven: true,
    evidence: [],
    ...problem,
  } as ProblemRecord
  const record: TargetRecord = {
    target,
    outcome: 'failed',
    reason: problem.reason,
    message: '',
    milestones: [],
    problems: [whole],
    notes: [],
  }
  return {
    startedAt: start,
    finishedAt: start,
    context: '',
    serverVersion: '',
    timeoutMs: 0,
    stallTimeoutMs: 0,
    targets: [record],
    entries: [],
  }
}

describe('the evidence for a problem', () => {
  it('contains the log of the container that failed a Job', () => {
    const failed = timeline({ reason: 'job-failed', subject: 'pod/migrate-x', container: 'app' })
    expect(failed.targets.flatMap(loggedContainers)).toMatchObject([{ pod: 'migrate-x', container: 'app' }])
  })

  it('contains the events about the target itself, of any kind', () => {
    const store = new Store(() => false)
    const job: KubeObject = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'migrate', namespace: 'shop', uid: 'u' },
    }
    const refused = createEvent(job, { reason: 'FailedCreate', message: 'no', lastTimestamp: iso(3) })
    for (const object of [job, refused]) store.apply({ at: moment(3), type: 'ADDED', object })
    const [record] = explain(timeline({ reason: 'admission-denied', subject: 'job/migrate' }), store, 0).targets
    expect(record?.problems[0]?.evidence).toMatchObject([{ type: 'event', text: ' 0:03  FailedCreate  no' }])
  })
})

it('the chain of a pod that waits for its claim ends in the claim, even if claims are not watched', () => {
  const store = new Store(() => false)
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'migrate-x', namespace: 'shop', uid: 'u' } }
  store.apply({ at: moment(3), type: 'ADDED', object: pod })
  const cause: Problem = {
    reason: 'claim-pending',
    subject: 'persistentvolumeclaim/data',
    detail: {},
    count: 1,
    firstSeenAt: start,
    proven: false,
  }
  const [record] = explain(timeline({ reason: 'unschedulable', subject: 'pod/migrate-x', cause }), store, 0).targets
  expect(record?.problems[0]?.chain).toEqual(['job/migrate', 'pod/migrate-x', 'persistentvolumeclaim/data'])
})
