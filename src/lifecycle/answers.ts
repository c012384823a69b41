import type { Answer, TimedAnswer } from '../cluster/feed.ts'
import { type KubeObject, type Pod, subjectOf } from '../cluster/objects.ts'
import { toOneLine } from '../errors.ts'
import type { RequestCheck } from '../plan/checks.ts'
import type { CheckDetails } from '../reasons/checks.ts'
import { messageOf, type Problem } from '../reasons/reasons.ts'
import { counted } from '../reasons/wording.ts'
import { answersProven, answersProvenMs, requestIntervalMs } from '../thresholds.ts'
import { type Assessment, type Milestone, type Question, requestText } from './assessment.ts'
import { declaredPortsText, portText, targetPortIn } from './network/endpoints.ts'
import { createMoment, isProven } from './proof.ts'
import type { Hold, Reader } from './reader.ts'
import type { ServedPort, Serving } from './rule.ts'
import { objectProblemFields } from './status-problems.ts'
import { isReadyByCondition, isReplaced } from './workloads/pod-fields.ts'

/* Evaluates `http-checks`: which requests to send to the pods of a ready target, and whether the answers are right. */

/** Whether an answer has the expected status and body. Without `matches`, the recorded part of the body decides. */
export function isExpectedAnswer({ expectStatus, expectBody }: RequestCheck, answer: Answer): boolean {
  const { status = 0, body = '', error } = answer
  if (error !== undefined || !isStatusInRanges(expectStatus, status)) return false
  return expectBody === undefined || (answer.matches ?? body.includes(expectBody))
}

function isStatusInRanges(ranges: RequestCheck['expectStatus'], status: number): boolean {
  return ranges.some(([first, last]) => status >= first && status <= last)
}

/** The answers of one pod to one check of `http-checks`. */
interface AskedPod {
  readonly pod: Pod
  /** The port to send requests to; undefined if the pod has no port with the name in the check. */
  readonly port: number | undefined
  readonly last: TimedAnswer | undefined
  /** The wrong and missing answers since the last right answer. */
  readonly wrong: readonly TimedAnswer[]
  /** The pod has given as many right answers in a row as the check requires. */
  readonly hasAnswered: boolean
}

/** A check of `http-checks`, and the pods that must answer the check. */
interface AskedCheck {
  readonly check: RequestCheck
  readonly pods: readonly AskedPod[]
  /** The pods that have answered the check. */
  readonly right: readonly AskedPod[]
  readonly isAnswered: boolean
}

/**
 * Adds the results of `http-checks` to the assessment of a target. The target is ready only after all checks are
 * answered. It fails after several wrong or missing answers from one pod.
 * @param revisionPods the pods of the gated revision
 */
export function applyAnswers(
  assessment: Assessment,
  object: KubeObject,
  revisionPods: readonly Pod[],
  checks: readonly RequestCheck[],
  serving: Serving,
  reader: Reader,
): Assessment {
  const { holding: hold, lastAssessment: before } = reader
  // A ready target waits for no milestone.
  const milestones = assessment.milestones.map(
    (milestone): Milestone =>
      assessment.ready && milestone.state === 'open' ? { ...milestone, state: 'skipped' } : milestone,
  )
  const pods = revisionPods.filter((pod) => !isReplaced(pod) && pod.status?.phase !== 'Succeeded')
  const asked = checks.map((check) => evaluateCheck(check, pods, object, serving, reader))
  if (pods.length === 0 && serving.isEmpty(object, reader)) {
    const milestone: Milestone = { name: 'answers', state: assessment.ready ? 'skipped' : 'open', message: '' }
    const skipped = checks.map((check) => `${requestText(check)} was not asked: no pod is wanted`)
    return { ...assessment, milestones: [...milestones, milestone], notes: [...assessment.notes, ...skipped] }
  }
  const open = hold === undefined ? asked.filter(({ isAnswered }) => !isAnswered) : []
  const [first] = open
  const found = asked.flatMap((each) => worstProblem(each) ?? [])
  const failure = found.find(({ proven }) => proven)
  const milestone = answersMilestone(asked, open, assessment.ready)
  const isAsked = assessment.ready || hold !== undefined
  return {
    ...assessment,
    milestones: [...milestones, milestone],
    ready: assessment.ready && open.length === 0 && failure === undefined,
    failure: failure ?? assessment.failure,
    problems: [...found, ...assessment.problems],
    message: failure === undefined ? targetMessage(milestone, assessment) : messageOf(failure),
    ...(assessment.ready && first !== undefined && { overdue: unansweredProblem(first, object, reader.now) }),
    ...(isAsked && { questions: asked.flatMap((each) => pendingQuestions(each, hold)) }),
    answering: isAsked
      ? new Set([...(before?.answering ?? []), ...revisionPods.map(({ metadata }) => metadata.name)])
      : before?.answering,
  }
}

function evaluateCheck(
  check: RequestCheck,
  pods: readonly Pod[],
  object: KubeObject,
  serving: Serving,
  reader: Reader,
): AskedCheck {
  const port = choosePort(check, object, serving)
  const isRightAnswer = (answer: TimedAnswer) => isExpectedAnswer(check, answer)
  const asked = pods.map((pod): AskedPod => {
    const answers = reader.answers(check.index, pod)
    const latest = answers.slice(-check.times)
    return {
      pod,
      port: typeof port === 'string' ? undefined : targetPortIn(pod, { targetPort: port.target }),
      last: answers.at(-1),
      wrong: answers.slice(answers.findLastIndex(isRightAnswer) + 1),
      hasAnswered: latest.length === check.times && latest.every(isRightAnswer),
    }
  })
  const right = asked.filter(({ hasAnswered }) => hasAnswered)
  return {
    check,
    pods: asked,
    right,
    isAnswered: right.length > 0 && (!check.eachPod || right.length === pods.length),
  }
}

/**
 * Chooses the port of a check by the name or number in the check. Without a port in the check, the object must have
 * exactly one port.
 * @returns an error message with the declared ports if no port fits
 */
export function choosePort(
  { port: written }: Pick<RequestCheck, 'port'>,
  object: KubeObject,
  { ports, selects }: Serving,
): ServedPort | string {
  const all = ports(object)
  const listed = all.length === 0 ? 'It declares none.' : `There are ${all.map(portText).join(', ')}.`
  const example = all[0]?.port ?? 8080
  if (written === undefined) {
    const [only] = all
    if (only !== undefined && all.length === 1) return only
    return all.length === 0
      ? `It declares no TCP port: write one behind the name, as in :${example}.`
      : `It has several ports: write one behind the name, as in :${example}. ${listed}`
  }
  const number = Number(written)
  const found = all.find(({ name, port }) => name === written || port === number)
  if (found !== undefined) return found
  // A pod may listen on a port that its containers do not declare. A Service has only its declared ports.
  const isService = selects !== undefined
  return !isService && Number.isInteger(number)
    ? { port: number, target: number }
    : `It has no port ${written}. ${listed}`
}

/** The requests that a check still has to send, now or later. */
function pendingQuestions({ check, pods, isAnswered }: AskedCheck, hold: Hold | undefined): readonly Question[] {
  if (isAnswered && hold === undefined) return []
  const ready = pods.filter(({ pod, port }) => isReadyByCondition(pod) && port !== undefined)
  // Only answers of the same pod in a row prove a failure. So, without `--each-pod`, all requests go to one pod until the
  // pod is replaced.
  const asked = check.eachPod
    ? ready.filter(({ hasAnswered }) => hold !== undefined || !hasAnswered)
    : ready.toSorted((a, b) => (b.last?.at ?? 0) - (a.last?.at ?? 0)).slice(0, 1)
  return asked.flatMap(({ pod, port, last, wrong }) => {
    const { name, namespace = '', uid = name } = pod.metadata
    const at = nextQuestionAt(last, wrong.length > 0, hold)
    return port === undefined || at === undefined ? [] : [{ check, namespace, pod: name, uid, port, at }]
  })
}

/**
 * When to send the next request to a pod, in milliseconds since the epoch; 0: at once. After the end of the hold,
 * undefined unless the last answer was wrong or missing.
 */
function nextQuestionAt(last: TimedAnswer | undefined, isWrong: boolean, hold: Hold | undefined): number | undefined {
  if (last === undefined) return 0
  const at = last.at + requestIntervalMs
  if (hold === undefined || isWrong) return at
  return last.at >= hold.until ? undefined : Math.min(at, hold.until)
}

/** The worst problem with the answers to a check: a proven problem, else the one with the most wrong answers. */
function worstProblem({ check, pods }: AskedCheck): Problem | undefined {
  const problems = pods.flatMap(({ pod, port, last, wrong: [first, ...more] }): Problem[] => {
    if (first === undefined || last === undefined) return []
    const count = 1 + more.length
    // Time alone proves nothing: the last answer must be late enough.
    const proven = isProven(
      { seen: count, needed: answersProven, since: first.at, atLeastMs: answersProvenMs, isCurrent: true },
      createMoment(last.at),
    )
    const found = { subject: subjectOf(pod), count, firstSeenAt: first.at, proven }
    return [answerProblem(found, check, last, { port, declared: declaredPortsText(pod) })]
  })
  return problems.toSorted((a, b) => Number(b.proven) - Number(a.proven) || b.count - a.count)[0]
}

/** The problem `no-answer` or `wrong-answer` for one answer of a pod. */
function answerProblem(
  found: Pick<Problem, 'subject' | 'count' | 'firstSeenAt' | 'proven'>,
  check: RequestCheck,
  answer: Answer,
  ports: Pick<CheckDetails['no-answer'], 'port' | 'declared'>,
): Problem {
  const { status, error, body = '', location } = answer
  const { expectStatus, expectBody } = check
  const request = requestText(check)
  if (error !== undefined || status === undefined)
    return { ...found, reason: 'no-answer', detail: { request, ...ports, error: toOneLine(error ?? 'no answer') } }
  const statusRanges = expectStatus.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`))
  return {
    ...found,
    reason: 'wrong-answer',
    detail: {
      request,
      status,
      body: toOneLine(body),
      location,
      expectStatus: statusRanges.join(', '),
      expectBody: isStatusInRanges(expectStatus, status) ? expectBody : undefined,
    },
  }
}

/** The problem to report if a deadline ends the target before the check is answered. */
function unansweredProblem({ check, pods }: AskedCheck, object: KubeObject, now: number): Problem {
  const { pod, port } = pods.find(({ hasAnswered }) => !hasAnswered) ?? {}
  const detail = { request: requestText(check), port, declared: '' }
  const subject = subjectOf(check.eachPod && pod !== undefined ? pod : object)
  return { ...objectProblemFields(object, now), subject, reason: 'no-answer', detail }
}

/** The milestone `answers`. It counts the pods that have answered. */
function answersMilestone(asked: readonly AskedCheck[], open: readonly AskedCheck[], isReady: boolean): Milestone {
  const name = 'answers'
  const sumOf = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0)
  const done = sumOf(asked.map(({ right }) => right.length))
  const total = Math.max(1, sumOf(asked.map(({ check, pods }) => (check.eachPod ? pods.length : 1))))
  const count = { done: Math.min(done, total), total }
  if (isReady && open.length === 0) return { name, state: 'done', count, message: answersText(asked) }
  return { name, state: 'open', count, message: isReady ? waitingText(open) : '' }
}

/** The message after all checks are answered: `GET /healthz answered with 200 by pod/web-x`. */
function answersText(asked: readonly AskedCheck[]): string {
  return asked
    .flatMap(({ check, right: [first, ...others] }) => {
      if (first === undefined) return []
      const who = others.length === 0 ? `pod/${first.pod.metadata.name}` : counted(others.length + 1, 'pod')
      return [`${requestText(check)} answered with ${first.last?.status ?? '?'} by ${who}`]
    })
    .join(', ')
}

/** The message while answers are missing: `waiting for the answer to GET /healthz (1 of 2 pods)`. */
function waitingText(open: readonly AskedCheck[]): string {
  return open
    .map(({ check, pods, right }) => {
      const which = check.eachPod ? ` (${right.length} of ${counted(pods.length, 'pod')})` : ''
      return `waiting for the answer to ${requestText(check)}${which}`
    })
    .join(', ')
}

/** The message of a target. While answers are missing, the message is only about the answers. */
function targetMessage({ state, message }: Milestone, assessment: Assessment): string {
  if (!assessment.ready || message === '') return assessment.message
  return state === 'open' ? message : `${assessment.message} · ${message}`
}
