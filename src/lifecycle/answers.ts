import type { Answer, TimedAnswer } from '../cluster/feed.ts'
import { type KubeObject, type Pod, subjectOf } from '../cluster/objects.ts'
import { oneLine } from '../errors.ts'
import type { RequestCheck } from '../plan/checks.ts'
import type { CheckDetails } from '../reasons/checks.ts'
import { messageOf, type Problem } from '../reasons/reasons.ts'
import { counted } from '../reasons/wording.ts'
import { answersProven, answersProvenMs, requestIntervalMs } from '../thresholds.ts'
import { type Assessment, type Milestone, type Question, requestText } from './assessment.ts'
import { declaredPortsText, portText, targetPortIn } from './network/endpoints.ts'
import { isProven, momentAt } from './proof.ts'
import type { Hold, Reader } from './reader.ts'
import type { ServedPort, Serving } from './rule.ts'
import { ownProblem } from './status-problems.ts'
import { isReadyByCondition, isReplaced } from './workloads/pod-fields.ts'

/** Whether an answer is the expected one. Without `matches`, the part of the body that the answer contains decides. */
export function isExpectedAnswer({ expectStatus, expectBody }: RequestCheck, answer: Answer): boolean {
  const { status = 0, body = '', error } = answer
  if (error !== undefined || !isStatusIn(expectStatus, status)) return false
  return expectBody === undefined || (answer.matches ?? body.includes(expectBody))
}

function isStatusIn(ranges: RequestCheck['expectStatus'], status: number): boolean {
  return ranges.some(([first, last]) => status >= first && status <= last)
}

/** A pod of the gated revision that is not being replaced, with its answers to one check. */
interface AskedPod {
  readonly pod: Pod
  /** Undefined if the pod has no port of the name that the check contains. */
  readonly port: number | undefined
  readonly last: TimedAnswer | undefined
  /** The wrong and missing answers since the last right one. */
  readonly wrong: readonly TimedAnswer[]
  /** The pod has given as many right answers in a row as the check needs. */
  readonly hasAnswered: boolean
}

/** A check of `http-checks` with the pods that must answer it. */
interface AskedCheck {
  readonly check: RequestCheck
  readonly pods: readonly AskedPod[]
  /** The pods that have answered the check. */
  readonly right: readonly AskedPod[]
  readonly isAnswered: boolean
}

/**
 * Adds to the assessment of a target what its pods answered to its `http-checks`. The target is ready only after all checks
 * are answered. It fails after enough wrong or missing answers of one pod.
 * @param all the pods of the gated revision behind the target
 */
export function applyAnswers(
  own: Assessment,
  object: KubeObject,
  all: readonly Pod[],
  checks: readonly RequestCheck[],
  serving: Serving,
  reader: Reader,
): Assessment {
  const { holding: hold, lastAssessment: before } = reader
  const milestones = own.ready ? own.milestones.map(skipIfOpen) : own.milestones
  const pods = all.filter((pod) => !isReplaced(pod) && pod.status?.phase !== 'Succeeded')
  const asked = checks.map((check) => evaluateCheck(check, pods, object, serving, reader))
  if (pods.length === 0 && serving.isEmpty(object, reader)) {
    const milestone: Milestone = { name: 'answers', state: own.ready ? 'skipped' : 'open', message: '' }
    const skipped = checks.map((check) => `${requestText(check)} was not asked: no pod is wanted`)
    return { ...own, milestones: [...milestones, milestone], notes: [...own.notes, ...skipped] }
  }
  const open = hold === undefined ? asked.filter(({ isAnswered }) => !isAnswered) : []
  const [first] = open
  const found = asked.flatMap((each) => worstProblem(each) ?? [])
  const failure = found.find(({ proven }) => proven)
  const milestone = answersMilestone(asked, open, own.ready)
  const isAsked = own.ready || hold !== undefined
  return {
    ...own,
    milestones: [...milestones, milestone],
    ready: own.ready && open.length === 0 && failure === undefined,
    failure: failure ?? own.failure,
    problems: [...found, ...own.problems],
    message: failure === undefined ? targetMessage(milestone, own) : messageOf(failure),
    ...(own.ready && first !== undefined && { overdue: unansweredProblem(first, object, reader.now) }),
    ...(isAsked && { questions: asked.flatMap((each) => findQuestions(each, hold)) }),
    answering: isAsked
      ? new Set([...(before?.answering ?? []), ...all.map(({ metadata }) => metadata.name)])
      : before?.answering,
  }
}

/** The milestone of a ready target: skipped if it is open, because a ready target waits for none. */
function skipIfOpen(milestone: Milestone): Milestone {
  return milestone.state === 'open' ? { ...milestone, state: 'skipped' } : milestone
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
 * The port that a check names, by name or number. If it names none, the only port of the object.
 * @returns a message that lists the declared ports if there is no such port
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

/** The requests of a check that are to be sent now or later. */
function findQuestions({ check, pods, isAnswered }: AskedCheck, hold: Hold | undefined): readonly Question[] {
  if (isAnswered && hold === undefined) return []
  const ready = pods.filter(({ pod, port }) => isReadyByCondition(pod) && port !== undefined)
  return podsToAsk(check, ready, hold).flatMap(({ pod, port, last, wrong }) => {
    const { name, namespace = '', uid = name } = pod.metadata
    const at = nextQuestionAt(last, wrong.length > 0, hold)
    return port === undefined || at === undefined ? [] : [{ check, namespace, pod: name, uid, port, at }]
  })
}

/**
 * The pods to ask next. Without `--each-pod`, one is asked until its replacement: only its answers in a row are proof.
 */
function podsToAsk({ eachPod }: RequestCheck, ready: readonly AskedPod[], hold: Hold | undefined): readonly AskedPod[] {
  if (!eachPod) return ready.toSorted((a, b) => (b.last?.at ?? 0) - (a.last?.at ?? 0)).slice(0, 1)
  return hold === undefined ? ready.filter(({ hasAnswered }) => !hasAnswered) : ready
}

/**
 * When to ask a pod next, in milliseconds since the epoch; 0: at once. The last time is the end of the hold, but after
 * a wrong or missing answer, the pod is asked until a right answer clears the problem or a later one proves it.
 */
function nextQuestionAt(last: TimedAnswer | undefined, isWrong: boolean, hold: Hold | undefined): number | undefined {
  if (last === undefined) return 0
  const at = last.at + requestIntervalMs
  if (hold === undefined || isWrong) return at
  return last.at >= hold.until ? undefined : Math.min(at, hold.until)
}

/** The problem of a pod with wrong or missing answers: first a proven one, then that with the most answers. */
function worstProblem({ check, pods }: AskedCheck): Problem | undefined {
  const problems = pods.flatMap(({ pod, port, last, wrong: [first, ...more] }): Problem[] => {
    if (first === undefined || last === undefined) return []
    const count = 1 + more.length
    // The last answer must come so late: time alone proves nothing.
    const proven = isProven(
      { seen: count, needed: answersProven, since: first.at, atLeastMs: answersProvenMs, isCurrent: true },
      momentAt(last.at),
    )
    const found = { subject: subjectOf(pod), count, firstSeenAt: first.at, proven }
    return [answerProblem(found, check, last, { port, declared: declaredPortsText(pod) })]
  })
  return problems.toSorted((a, b) => Number(b.proven) - Number(a.proven) || b.count - a.count)[0]
}

/** The problem that a wrong or missing answer shows. */
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
    return { ...found, reason: 'no-answer', detail: { request, ...ports, error: oneLine(error ?? 'no answer') } }
  return {
    ...found,
    reason: 'wrong-answer',
    detail: {
      request,
      status,
      body: oneLine(body),
      location,
      expectStatus: expectedStatusText(check),
      expectBody: isStatusIn(expectStatus, status) ? expectBody : undefined,
    },
  }
}

/** `200-299, 302`. */
function expectedStatusText({ expectStatus }: RequestCheck): string {
  return expectStatus.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(', ')
}

/** The problem if a deadline ends the target before the check is answered. */
function unansweredProblem({ check, pods }: AskedCheck, object: KubeObject, now: number): Problem {
  const { pod, port } = pods.find(({ hasAnswered }) => !hasAnswered) ?? {}
  const detail = { request: requestText(check), port, declared: '' }
  const subject = subjectOf(check.eachPod && pod !== undefined ? pod : object)
  return { ...ownProblem(object, now), subject, reason: 'no-answer', detail }
}

/** The milestone `answers`: how many of the pods that must answer have answered. */
function answersMilestone(asked: readonly AskedCheck[], open: readonly AskedCheck[], isReady: boolean): Milestone {
  const name = 'answers'
  const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0)
  const done = sum(asked.map(({ right }) => right.length))
  const total = Math.max(1, sum(asked.map(({ check, pods }) => (check.eachPod ? pods.length : 1))))
  const count = { done: Math.min(done, total), total }
  if (isReady && open.length === 0) return { name, state: 'done', count, message: answersText(asked) }
  return { name, state: 'open', count, message: isReady ? waitingText(open) : '' }
}

/** `GET /healthz answered with 200 by pod/web-x`. */
function answersText(asked: readonly AskedCheck[]): string {
  return asked
    .flatMap(({ check, right: [first, ...others] }) => {
      if (first === undefined) return []
      const who = others.length === 0 ? `pod/${first.pod.metadata.name}` : counted(others.length + 1, 'pod')
      return [`${requestText(check)} answered with ${first.last?.status ?? '?'} by ${who}`]
    })
    .join(', ')
}

function waitingText(open: readonly AskedCheck[]): string {
  return open
    .map(({ check, pods, right }) => {
      const which = check.eachPod ? ` (${right.length} of ${counted(pods.length, 'pod')})` : ''
      return `waiting for the answer to ${requestText(check)}${which}`
    })
    .join(', ')
}

/** The message of a ready target contains the answers. While answers are awaited, it is only about these. */
function targetMessage({ state, message }: Milestone, own: Assessment): string {
  if (!own.ready || message === '') return own.message
  return state === 'open' ? message : `${own.message} · ${message}`
}
