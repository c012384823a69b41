import type { Answer } from '../cluster/feed.ts'
import { type KubeObject, type Pod, subjectOf } from '../cluster/objects.ts'
import type { RequestCheck } from '../plan/checks.ts'
import type { CheckDetails } from '../reasons/checks.ts'
import { messageOf, type Problem } from '../reasons/reasons.ts'
import { counted } from '../reasons/wording.ts'
import { answersProven, answersProvenMs } from '../thresholds.ts'
import { type Ask, type AskedPod, type Draft, type Milestone, revisedPods } from './assessment.ts'
import { ownProblem } from './conditions.ts'
import { presentAt, prove } from './proof.ts'
import { type Rule, type ServedPort, type Serving, withCheck } from './rule.ts'
import type { RuleContext } from './rule-context.ts'
import { podRequest, podsWithUid } from './selector.ts'
import { isReady, isReplaced, portsOf } from './workloads/pod-fields.ts'

/** The answers of one pod to one line of `http-checks`. */
export interface Answers {
  /** Right answers in a row. */
  readonly right: number
  /** Wrong or missing answers in a row, and when the first of them came. */
  readonly wrong: number
  readonly wrongSince: number
  readonly lastAt: number
  readonly last: Answer
}

/** What an amendment reads of the answers so far. */
export interface AnswerBook {
  /** Whether the gate is in the hold: each check had its right answers, so only wrong answers decide now. */
  readonly isHolding: boolean
  answers(check: RequestCheck, uid: string): Answers | undefined
}

/** Whether an answer is the expected one. A recording may lack `matches`: then its part of the body decides. */
export function isRight({ expectStatus, expectBody }: RequestCheck, answer: Answer): boolean {
  const { status = 0, body = '', error } = answer
  if (error !== undefined || !expectStatus.some(([first, last]) => status >= first && status <= last)) return false
  return expectBody === undefined || (answer.matches ?? body.includes(expectBody))
}

export function addAnswer(before: Answers | undefined, check: RequestCheck, answer: Answer, at: number): Answers {
  const { right = 0, wrong = 0, wrongSince = at } = before ?? {}
  return isRight(check, answer)
    ? { right: right + 1, wrong: 0, wrongSince: at, lastAt: at, last: answer }
    : { right: 0, wrong: wrong + 1, wrongSince: wrong === 0 ? at : wrongSince, lastAt: at, last: answer }
}

/**
 * A target with lines of `http-checks` is ready only after it has answered each of them, and fails when wrong or missing answers
 * prove that one of its pods does not.
 * @param rule with the watches of its pods: see `withPods`
 */
export function withAnswers(rule: Rule, checks: readonly RequestCheck[], book: AnswerBook): Rule {
  const { serving } = rule
  if (serving === undefined) return rule
  return {
    ...withCheck(rule, (draft, object, context) => answered(draft, object, { checks, serving, book, context })),
    milestones: [...rule.milestones, 'answers'],
  }
}

/** The rule with the watches of the pods behind its objects: not every kind needs them to be judged. */
export function withPods(rule: Rule): Rule {
  const { serving } = rule
  if (serving === undefined) return rule
  return withCheck(rule, (draft, object, context) => {
    for (const request of serving.requests(object, context)) context.watch(request)
    return draft
  })
}

interface Facts {
  readonly checks: readonly RequestCheck[]
  readonly serving: Serving
  readonly book: AnswerBook
  readonly context: RuleContext
}

/** A line with the pods that must answer it. */
interface Asking {
  readonly check: RequestCheck
  /** The pods of the gated revision that stay, in the order in which they are asked. */
  readonly pods: readonly Pod[]
  /** The port of a pod; undefined if it has none of this name. */
  readonly portOf: (pod: Pod) => number | undefined
  /** Those that have answered the line. */
  readonly right: readonly Pod[]
  /** No pod is wanted. */
  readonly isSkipped: boolean
  readonly isAnswered: boolean
}

function answered(draft: Draft, object: KubeObject, facts: Facts): Draft {
  const { book, checks } = facts
  const toAnswer = checks.map((check) => askingOf(check, draft, object, facts))
  const open = book.isHolding ? [] : toAnswer.filter(({ isAnswered, isSkipped }) => !isAnswered && !isSkipped)
  const found = toAnswer.flatMap((asking) => problemOf(asking, book) ?? [])
  const failure = found.find(({ proven }) => proven)
  const ready = draft.ready && open.length === 0 && failure === undefined
  const milestones = draft.ready ? draft.milestones.map(doneOrSkipped) : draft.milestones
  const skipped = toAnswer.filter(({ isSkipped }) => isSkipped)
  const [first] = open
  return {
    ...draft,
    milestones: [...milestones, milestoneOf(toAnswer, open, draft.ready, book)],
    ready,
    failure: failure ?? draft.failure,
    problems: [...found, ...draft.problems],
    message: failure === undefined ? messageOfAnswers(draft, toAnswer, open, book) : messageOf(failure),
    notes: [...draft.notes, ...skipped.map(({ check }) => `${requestOf(check)} was not asked: no pod is wanted`)],
    ...(draft.ready && first !== undefined && { overdue: unanswered(first, object, facts.context.now) }),
    ...((draft.ready || book.isHolding) && { asks: toAnswer.map((asking) => askOf(asking, facts)) }),
  }
}

/** The milestone as done or skipped: a ready target waits for none of its milestones. */
function doneOrSkipped(milestone: Milestone): Milestone {
  return milestone.state === 'open' ? { ...milestone, state: 'skipped' } : milestone
}

/** The pods that a line asks of this target. */
function askingOf(check: RequestCheck, draft: Draft, object: KubeObject, { serving, book, context }: Facts): Asking {
  const all = podsOfTarget(draft, object, serving, context)
  const pods = inOrder(all.filter((pod) => !isReplaced(pod) && pod.status?.phase !== 'Succeeded'))
  const port = choosePort(check, object, serving)
  const right = pods.filter((pod) => (book.answers(check, uidOf(pod))?.right ?? 0) >= check.times)
  return {
    check,
    pods,
    portOf: (pod) => (typeof port === 'string' ? undefined : portIn(pod, port)),
    right,
    isSkipped: pods.length === 0 && serving.isEmpty(object, context),
    isAnswered: right.length > 0 && (!check.eachPod || right.length === pods.length),
  }
}

function uidOf({ metadata: { uid, name } }: Pod): string {
  return uid ?? name
}

/** The pods of the gated revision behind a target. */
export function podsOfTarget(
  assessed: Pick<Draft, 'pods' | 'keptPods'>,
  object: KubeObject,
  serving: Serving,
  context: RuleContext,
): readonly Pod[] {
  const { revisionOf } = context
  if (serving.presentPods !== undefined) return serving.presentPods(object, context)
  if (serving.selects !== undefined)
    return context
      .known(podRequest(object), (pod) => serving.selects?.(object, pod) === true)
      .filter((pod) => (revisionOf(pod) ?? 'gated') === 'gated')
  return revisedPods(object, assessed, podsWithUid(assessed, object, context))
}

/** `web-2` before `web-10`. */
function inOrder(pods: readonly Pod[]): readonly Pod[] {
  const keys = pods.map((pod) => {
    const { name } = pod.metadata
    const ordinal = /(?<!\d)\d{1,9}$/.exec(name)?.[0] ?? ''
    return { pod, base: name.slice(0, name.length - ordinal.length), ordinal: Number(ordinal) }
  })
  return keys
    .toSorted((a, b) => (a.base === b.base ? a.ordinal - b.ordinal : a.base < b.base ? -1 : 1))
    .map(({ pod }) => pod)
}

/**
 * The port of a line: by name or number, or the only one.
 * @returns what is wrong with it, with the ports that there are, if there is no such port
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
  // The declared ports of a container are only information.
  return selects === undefined && Number.isInteger(number)
    ? { port: number, target: number }
    : `It has no port ${written}. ${listed}`
}

function portText({ name, port }: Pick<ServedPort, 'name' | 'port'>): string {
  return name === undefined ? String(port) : `${port} (${name})`
}

function portIn(pod: Pod, { target }: ServedPort): number | undefined {
  if (typeof target === 'number') return target
  return portsOf(pod).find(({ name, protocol = 'TCP' }) => name === target && protocol === 'TCP')?.containerPort
}

/** `GET /healthz` */
export function requestOf({ method, path }: RequestCheck): string {
  return `${method} ${path}`
}

/** The pods that a line may ask, and those that it asks now. */
function askOf(asking: Asking, { serving, book }: Facts): Ask {
  const { check, pods, portOf, isAnswered } = asking
  const ready = pods.filter(isReady).flatMap((pod): AskedPod[] => {
    const { name, namespace = '' } = pod.metadata
    const port = portOf(pod)
    return port === undefined ? [] : [{ namespace, name, uid: uidOf(pod), port }]
  })
  return {
    check: check.index,
    pods: pods.map((pod) => ({ name: pod.metadata.name, uid: uidOf(pod) })),
    asked: book.isHolding || !isAnswered ? next(asking, ready, serving, book) : [],
  }
}

/** Without `--each-pod`, one pod is asked until it is replaced: only answers of one pod in a row prove something. */
function next(
  { check, pods, right }: Asking,
  ready: readonly AskedPod[],
  { isOrdered }: Serving,
  book: AnswerBook,
): readonly AskedPod[] {
  if (!check.eachPod) {
    const lastAt = ({ uid }: AskedPod) => book.answers(check, uid)?.lastAt ?? 0
    return ready.toSorted((a, b) => lastAt(b) - lastAt(a)).slice(0, 1)
  }
  if (book.isHolding) return ready
  const needs = pods.filter((pod) => !right.includes(pod)).map(uidOf)
  const open = new Set(isOrdered ? needs.slice(0, 1) : needs)
  return ready.filter(({ uid }) => open.has(uid))
}

/** The problem of the wrong or missing answers to a line: that of the pod for which it is proven, or of which most came. */
function problemOf({ check, pods, portOf }: Asking, book: AnswerBook): Problem | undefined {
  const problems = pods.flatMap((pod): Problem[] => {
    const { wrong = 0, wrongSince = 0, last, lastAt = 0 } = book.answers(check, uidOf(pod)) ?? {}
    if (last === undefined || wrong === 0) return []
    // The last answer must come so late: time alone proves nothing.
    const proven = prove(
      { seen: wrong, needed: answersProven, since: wrongSince, atLeastMs: answersProvenMs, isCurrent: true },
      presentAt(lastAt),
    )
    const reason = answerReason(check, last, { port: portOf(pod), declared: declaredPorts(pod) })
    return [{ ...reason, subject: subjectOf(pod), count: wrong, firstSeenAt: wrongSince, proven }]
  })
  return problems.toSorted((a, b) => Number(b.proven) - Number(a.proven) || b.count - a.count)[0]
}

function declaredPorts(pod: Pod): string {
  return portsOf(pod)
    .map(({ name, containerPort }) => portText({ name, port: containerPort }))
    .join(', ')
}

/** The port of the pod, and its declared ports. */
type Place = Pick<CheckDetails['no-answer'], 'port' | 'declared'>

type AnswerReason = {
  [Reason in 'no-answer' | 'wrong-answer']: { readonly reason: Reason; readonly detail: CheckDetails[Reason] }
}['no-answer' | 'wrong-answer']

/** What is wrong with an answer. Its texts are parsed only here. */
function answerReason(check: RequestCheck, answer: Answer, place: Place): AnswerReason {
  const { status, error, body = '', location } = answer
  const { scheme, expectStatus, expectBody } = check
  const request = { request: requestOf(check), scheme, ...place }
  if (error !== undefined || status === undefined) {
    const text = oneLine(error ?? 'no answer')
    return { reason: 'no-answer', detail: { ...request, error: text, cause: causeOf(text) } }
  }
  const isStatusRight = expectStatus.some(([first, last]) => status >= first && status <= last)
  return {
    reason: 'wrong-answer',
    detail: {
      ...request,
      status,
      body: oneLine(body),
      expectsTls: status === badRequest && scheme === 'http' && /https/i.test(body),
      location,
      expectStatus: statusText(check),
      expectBody: isStatusRight ? expectBody : undefined,
    },
  }
}

/** The status with which Go's net/http and nginx answer a plain request to a port with TLS. */
const badRequest = 400

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

/** The errors of Node.js and of the kubelet's port-forward (pkg/kubelet/cri/streaming/portforward). */
function causeOf(error: string): CheckDetails['no-answer']['cause'] {
  if (/connection refused|ECONNREFUSED/i.test(error)) return 'refused'
  if (/\bTLS\b|\bSSL\b|certificate|EPROTO|wrong version number/i.test(error)) return 'tls'
  return /time[d ]?\s?out|ETIMEDOUT|deadline exceeded/i.test(error) ? 'timeout' : undefined
}

/** `200-299, 302`. */
function statusText({ expectStatus }: RequestCheck): string {
  return expectStatus.map(([first, last]) => (first === last ? String(first) : `${first}-${last}`)).join(', ')
}

/** The problem of a line without an answer, if a clock ends its target. */
function unanswered({ check, pods, portOf, right }: Asking, object: KubeObject, now: number): Problem {
  const pod = pods.find((each) => !right.includes(each))
  const detail = { request: requestOf(check), scheme: check.scheme, port: pod && portOf(pod), declared: '' }
  const subject = subjectOf(check.eachPod && pod !== undefined ? pod : object)
  return { ...ownProblem(object, now), subject, reason: 'no-answer', detail }
}

function milestoneOf(
  toAnswer: readonly Asking[],
  open: readonly Asking[],
  isReady: boolean,
  book: AnswerBook,
): Milestone {
  const name = 'answers'
  if (toAnswer.every(({ isSkipped }) => isSkipped)) return { name, state: isReady ? 'skipped' : 'open', message: '' }
  const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0)
  const done = sum(toAnswer.map(({ right }) => right.length))
  const total = Math.max(1, sum(toAnswer.map(({ check, pods }) => (check.eachPod ? pods.length : 1))))
  const count = { done: Math.min(done, total), total }
  if (isReady && open.length === 0) return { name, state: 'done', count, message: answeredText(toAnswer, book) }
  return { name, state: 'open', count, message: isReady ? openText(open) : '' }
}

/** `GET /healthz answered with 200 by pod/web-x`. */
function answeredText(toAnswer: readonly Asking[], book: AnswerBook): string {
  return toAnswer
    .flatMap(({ check, right: [pod, ...others] }) => {
      if (pod === undefined) return []
      const { last } = book.answers(check, uidOf(pod)) ?? {}
      const who = others.length === 0 ? `pod/${pod.metadata.name}` : counted(others.length + 1, 'pod')
      return [`${requestOf(check)} answered with ${last?.status ?? '?'} by ${who}`]
    })
    .join(', ')
}

function openText(open: readonly Asking[]): string {
  return open
    .map(({ check, pods, right }) => {
      const which = check.eachPod ? ` (${right.length} of ${counted(pods.length, 'pod')})` : ''
      return `waiting for the answer to ${requestOf(check)}${which}`
    })
    .join(', ')
}

function messageOfAnswers(
  draft: Draft,
  toAnswer: readonly Asking[],
  open: readonly Asking[],
  book: AnswerBook,
): string {
  if (!draft.ready) return draft.message
  if (open.length > 0) return openText(open)
  const text = answeredText(toAnswer, book)
  return text === '' ? draft.message : `${draft.message} · ${text}`
}
