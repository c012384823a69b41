import type { KubeObject } from '../../src/cluster/objects.ts'
import { podCreationProblems } from '../../src/lifecycle/workloads/replica-failure.ts'
import { condition, iso, make, moment } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { reader, reported } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

function problem(message: string) {
  const set = make.replicaSet({
    status: { conditions: [condition('ReplicaFailure', 'True', { message, lastTransitionTime: iso(3) })] },
  })
  return reported(podCreationProblems(set, reader({ now: 9, objects: [set] })))
}

describe('the reason why a controller cannot create pods', () => {
  it.each(rows<[string, string, string, string, object]>(data, 'why no pods are created'))(
    '%s',
    (_, message, reason, problemClass, facts) => {
      const detail = {
        action: 'create pods',
        message: message.replace(/^pods "\S+" is forbidden: /, ''),
        ...facts,
      }
      const about = { subject: toSubject('replicaset/web-1'), count: 1, firstSeenAt: moment(3), proven: false }
      expect(problem(message)).toMatchObject([{ reason, class: problemClass, detail, ...about }])
    },
  )
})

describe('the reason for missing pods without the condition ReplicaFailure', () => {
  const set: KubeObject = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'shop', uid: 'u' },
  }
  const denial = `create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: violates PodSecurity "restricted"`
  const attempt = (reason: string, at: number, rest: object = {}) =>
    make.event(set, { reason, message: denial, lastTimestamp: iso(at), metadata: { name: `${reason}${at}` }, ...rest })
  const problems = (isShort: boolean, ...events: readonly KubeObject[]) =>
    reported(podCreationProblems(set, reader({ now: 9, objects: [set, ...events] }), isShort))

  it('is read from its last event while it has too few pods', () => {
    expect(problems(true, attempt('FailedCreate', 5, { count: 2 }))).toMatchObject([
      {
        reason: 'admission-denied',
        subject: toSubject('statefulset/db'),
        proven: true,
        message: 'cannot create pods: violates PodSecurity "restricted"',
      },
    ])
    expect(problems(false, attempt('FailedCreate', 3, { count: 2 }))).toEqual([])
  })

  it('is absent if the refusal is older than the present template', () => {
    const seen = (at: number, since?: number) =>
      reported(
        podCreationProblems(
          set,
          reader({ now: 9, objects: [set, attempt('FailedCreate', at, { count: 9 })] }),
          true,
          since,
        ),
      )
    expect(seen(5, moment(6))).toEqual([])
    expect(seen(6, moment(6))).toMatchObject([{ proven: true }])
    expect(seen(5)).toMatchObject([{ proven: true }])
  })

  it('is not proven by refusals for another reason', () => {
    const quota = attempt('FailedCreate', 2, { count: 5, message: 'exceeded quota: small' })
    expect(problems(true, quota, attempt('FailedCreate', 3))).toMatchObject([{ count: 1, proven: false }])
  })

  it('is absent after a later attempt that succeeded', () => {
    expect(problems(true, attempt('SuccessfulCreate', 5), attempt('FailedCreate', 3))).toEqual([])
    expect(problems(true, attempt('SuccessfulCreate', 2), attempt('FailedCreate', 3))).toHaveLength(1)
  })
})
