import type { KubeObject } from '../../src/cluster/objects.ts'
import { creationProblem } from '../../src/lifecycle/workloads/replica-failure.ts'
import { condition, iso, make, moment } from '../kit/objects.ts'
import { rows, titled } from '../kit/rows.ts'
import { reader, reported } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

function problem(message: string, counts: readonly number[] = [], status = 'True', lastAt = 8) {
  const failed = condition('ReplicaFailure', status, { message, lastTransitionTime: iso(3) })
  const set = make.replicaSet({ status: { conditions: [failed] } })
  const events = counts.map((count, index) =>
    make.event(set, {
      reason: 'FailedCreate',
      message,
      count,
      lastTimestamp: iso(lastAt),
      metadata: { name: `e${index}` },
    }),
  )
  return reported(creationProblem(set, reader({ now: 9, objects: [set, ...events] })))
}

describe('why a controller cannot create pods', () => {
  it.each(titled(rows<[string, string, string, object]>(data, 'why no pods are created'), ([message]) => message))(
    '%s',
    (_, [message, reason, problemClass, facts]) => {
      const detail = {
        action: 'create pods',
        message: message.replace(/^pods "\S+" is forbidden: /, ''),
        ...facts,
      }
      const about = { subject: toSubject('replicaset/web-1'), count: 1, firstSeenAt: moment(3), proven: false }
      expect(problem(message)).toMatchObject([{ reason, class: problemClass, detail, ...about }])
    },
  )

  const denied = 'admission webhook "policy.example.com" denied the request: no'

  it.each([
    ['a denial is proven when it is repeated after 3 s', denied, [2], true],
    ['by two events as by one', denied, [1, 1], true],
    ['and not at its first', denied, [1], false],
    ['quota is never proven', 'exceeded quota: small', [20], false],
    ['nor is an unreachable webhook', 'failed calling webhook "x": timeout', [20], false],
  ])('%s', (_, message, counts, proven) => {
    expect(problem(message, counts)).toMatchObject([{ proven }])
  })

  // The first retries follow after milliseconds: a change of the policy that was applied with the workload comes later.
  it('a denial is not proven by its first retries, but a pod that is invalid is', () => {
    expect(problem(denied, [9], 'True', 5)).toMatchObject([{ proven: false }])
    expect(problem('Pod "web-1-x" is invalid: spec: Required value', [2], 'True', 3)).toMatchObject([{ proven: true }])
  })

  // A condition keeps the message of the first refusal (calculateStatus, pkg/controller/replicaset).
  describe('is the last refusal', () => {
    const quota = 'exceeded quota: small'
    const webhook = 'failed calling webhook "x": timeout'
    const refused = (set: KubeObject, message: string, from: number, to: number, count = 2) =>
      make.event(set, {
        reason: 'FailedCreate',
        message: `Error creating: ${message}`,
        count,
        firstTimestamp: iso(from),
        lastTimestamp: iso(to),
        metadata: { name: message },
      })
    const now = (first: string, later: string, seconds = 11) => {
      const failed = condition('ReplicaFailure', 'True', { message: first, lastTransitionTime: iso(3) })
      const set = make.replicaSet({ status: { conditions: [failed] } })
      const events = [refused(set, first, 3, 3), refused(set, later, 5, 10)]
      return reported(creationProblem(set, reader({ now: seconds, objects: [set, ...events] })))
    }

    it.each([
      ['a denial', webhook, denied, { reason: 'admission-denied', proven: true, firstSeenAt: moment(5) }],
      ['a lack of quota', webhook, quota, { reason: 'quota-exceeded', proven: false, firstSeenAt: moment(5) }],
      ['no denial any more', denied, quota, { reason: 'quota-exceeded', class: 'slow', proven: false }],
    ])('is %s', (_, first, later, expected) => {
      expect(now(first, later)).toMatchObject([expected])
    })
  })

  it('has one wording, although its event is cut off and lists SecurityContextConstraints in another order', () => {
    const unusable = (name: string) => `provider "${name}": Forbidden: not usable by user or serviceaccount`
    const cause = 'provider restricted-v2: .containers[0].runAsUser: Invalid value: 0: must be in the ranges'
    const scc = (...providers: string[]) =>
      `pods "web-1-" is forbidden: unable to validate against any security context constraint: [${providers.join(', ')}]`
    const words = 'cannot create pods: unable to validate against any security context constraint:'
    const say = (first: string, later: string) => {
      const failed = condition('ReplicaFailure', 'True', { message: first, lastTransitionTime: iso(3) })
      const set = make.replicaSet({ status: { conditions: [failed] } })
      const event = make.event(set, {
        reason: 'FailedCreate',
        message: `Error creating: ${later}`,
        lastTimestamp: iso(9),
      })
      return reported(creationProblem(set, reader({ now: 9, objects: [set, event] })))
    }
    expect(say(scc(unusable('a'), cause), scc(cause, unusable('b'), unusable('a')))).toMatchObject([
      { message: `${words} ${cause}` },
    ])
    expect(say(scc(unusable('a')), scc(unusable('a')).slice(0, -9))).toMatchObject([
      { message: `${words} [${unusable('a')}]` },
    ])
  })

  it('is a refused deletion where pods cannot be deleted', () => {
    const failed = condition('ReplicaFailure', 'True', {
      reason: 'FailedDelete',
      message: 'no',
      lastTransitionTime: iso(3),
    })
    const set = make.replicaSet({ status: { conditions: [failed] } })
    expect(reported(creationProblem(set, reader({ now: 5, objects: [set] })))).toMatchObject([
      { reason: 'replica-failure', class: 'slow', message: 'cannot delete pods: no' },
    ])
  })

  it('is absent when the condition is not True', () => {
    expect(problem(denied, [5], 'False')).toEqual([])
    expect(reported(creationProblem(make.replicaSet(), reader()))).toEqual([])
  })
})

describe('why a controller without such a condition cannot create pods', () => {
  const set: KubeObject = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'shop', uid: 'u' },
  }
  const denial = `create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: violates PodSecurity "restricted"`
  const attempt = (reason: string, at: number, rest: object = {}) =>
    make.event(set, { reason, message: denial, lastTimestamp: iso(at), metadata: { name: `${reason}${at}` }, ...rest })
  const problems = (isShort: boolean, ...events: readonly KubeObject[]) =>
    reported(creationProblem(set, reader({ now: 9, objects: [set, ...events] }), isShort))

  it('is the event of its last attempt, while it has too few pods', () => {
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
        creationProblem(
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

  it('is over when a later attempt succeeded', () => {
    expect(problems(true, attempt('SuccessfulCreate', 5), attempt('FailedCreate', 3))).toEqual([])
    expect(problems(true, attempt('SuccessfulCreate', 2), attempt('FailedCreate', 3))).toHaveLength(1)
  })
})
