import { type Subject, subjectText } from '../cluster/objects.ts'
import { type CheckDetails, checkReasons } from './checks.ts'
import { type ContainerDetails, containerReasons } from './containers.ts'
import { type GateDetails, gateReasons } from './gate.ts'
import { type ImageDetails, imageReasons } from './images.ts'
import { type NetworkDetails, networkReasons } from './network.ts'
import { type PodDetails, podReasons } from './pods.ts'
import {
  type HintFacts,
  joinSubject,
  type Occurrence,
  type ProblemClass,
  type ReasonFamily,
  type ReasonSpec,
  type Sentence,
  type SentenceFacts,
} from './spec.ts'
import { type StatusDetails, statusReasons } from './status.ts'
import { hintWords, namedTitle } from './wording.ts'
import { type WorkloadDetails, workloadReasons } from './workloads.ts'

/* The table of all reason codes, and functions for the class, traits and texts of a problem. */

/** Maps each reason code to the type of its problems' detail. */
export interface ReasonDetails
  extends ImageDetails,
    ContainerDetails,
    PodDetails,
    WorkloadDetails,
    NetworkDetails,
    StatusDetails,
    CheckDetails,
    GateDetails {}

/** Reason codes: a contract. Workflows branch on them, so a code is never renamed. */
export type ReasonCode = keyof ReasonDetails

/** Every reason, in the order of the documentation. */
export const reasons: ReasonFamily<ReasonDetails> = {
  ...imageReasons,
  ...containerReasons,
  ...podReasons,
  ...workloadReasons,
  ...networkReasons,
  ...statusReasons,
  ...checkReasons,
  ...gateReasons,
}

export const reasonCodes = Object.keys(reasons) as readonly ReasonCode[]

export interface ProblemWith<Reason extends ReasonCode> extends Occurrence {
  readonly reason: Reason
  /** The facts for the sentence, headline and hint of the problem. */
  readonly detail: ReasonDetails[Reason]
  /** Whether enough observations prove the problem. A proven problem fails its target, unless a better pod exists. */
  readonly proven: boolean
  /** The controller will retry the refused request. The stall clock stops until the retry. */
  readonly isRetried?: true | undefined
  /** The problem of another object that causes this problem, as crashing pods leave a Service without endpoints. */
  readonly cause?: Problem
}

/** A problem of a target, or of an object that the target depends on. `reason` determines the type of `detail`. */
export type Problem<Reason extends ReasonCode = ReasonCode> = {
  [Code in Reason]: ProblemWith<Code>
}[Reason]

/** The spec of a reason. Pass its functions only details of this reason: their type accepts any. */
function specOf(reason: ReasonCode): ReasonSpec<unknown> {
  return reasons[reason] as ReasonSpec<unknown>
}

/** The traits of a problem's or verdict's reason; empty if the verdict has no reason. */
export function traitsOf({ reason }: { readonly reason: ReasonCode | '' }): Partial<ReasonSpec<unknown>> {
  return reason === '' ? {} : specOf(reason)
}

/** The node that causes a problem, if the reason is about nodes; otherwise undefined. */
export function nodeOfProblem({
  reason,
  detail,
}: Problem): ReturnType<NonNullable<ReasonSpec<unknown>['node']>> | undefined {
  return specOf(reason).node?.(detail)
}

/** The class of a problem. The problem of a pod that is replaced, or of an older revision, never fails its target. */
export function classOf(problem: Problem): ProblemClass {
  if (problem.isReplaced || problem.neverFails || problem.oldRevision !== undefined) return 'slow'
  const spec = specOf(problem.reason)
  const fixed = spec.class
  if (spec.classOf !== undefined) return spec.classOf(problem.detail)
  return fixed === 'terminal' || fixed === 'strike' ? fixed : 'slow'
}

/** The sentence of a problem. Raw text: renderers escape it. */
export function sentenceOf(problem: Problem): Sentence {
  const sentence = baseSentenceOf(problem)
  if (problem.oldRevision === undefined) return sentence
  const start =
    problem.oldRevision === 'stays'
      ? 'stays on the older revision until the pod is deleted'
      : 'blocks the update until the pod is ready or deleted'
  return { text: `${start}: ${sentence.text}`, form: 'predicate' }
}

function baseSentenceOf(problem: Pick<Problem, 'reason' | 'detail' | 'cause'> & Occurrence): Sentence {
  const sentence = specOf(problem.reason).sentence(problem.detail, sentenceFacts(problem))
  return typeof sentence === 'string' ? { text: sentence, form: 'predicate' } : sentence
}

/** The facts for the sentence and headline of a problem, in addition to its detail. */
function sentenceFacts({ cause, ...problem }: Pick<Problem, 'cause'> & Occurrence): SentenceFacts {
  const { count } = problem
  return {
    ...problem,
    times: count > 1 ? `, ${count} times` : '',
    // Getters render a text only when it is used. Otherwise each cause in a chain would double the work.
    cause: cause && {
      get sentence() {
        return problemSentence(cause)
      },
      get headline() {
        return headlineOf(cause)
      },
    },
  }
}

/** Other objects that a problem involves, such as the missing Service that a route names. */
export function otherSubjects(problem: Problem): readonly Subject[] {
  return specOf(problem.reason).otherSubjects?.(problem.detail, problem) ?? []
}

/** Whether no other object can end the problem: the object's spec is wrong, or the cluster lacks a service. */
export function isUnaffectedByOthers({ reason, detail }: Problem): boolean {
  return specOf(reason).isUnaffectedByOthers?.(detail) === true
}

/** A problem whose reason is known only at run time. The detail must fit each possible reason. */
export function buildProblem<Reason extends ReasonCode>(fields: ProblemWith<Reason>): Problem {
  return fields as unknown as Problem
}

/** The headline of a problem, with the names of its objects. Raw text: renderers escape it. */
export function headlineOf(problem: Problem): string {
  const { reason, detail, container, oldRevision } = problem
  if (oldRevision !== undefined) return 'an old pod blocks the update'
  const { headline, title } = specOf(reason)
  const named = namedTitle(title, { container, ...detail })
  return headline === undefined ? named : headline(detail, sentenceFacts(problem), named)
}

/** The headline of a reason without a problem. */
export function titleOf(reason: ReasonCode): string {
  return namedTitle(specOf(reason).title)
}

/** What to do about a reason; without a problem, its general hint. Raw text: renderers escape it. */
export function hintOf(reason: ReasonCode, facts: HintFacts): string {
  return specOf(reason).hint(facts.problem?.detail ?? {}, hintWords(facts))
}

/** The sentence of a reason without a problem. Raw text: renderers escape it. */
export function sentenceOfReason<Reason extends ReasonCode>(reason: Reason, detail: ReasonDetails[Reason]): Sentence {
  const occurrence = { subject: { group: '', kind: '', name: '' }, count: 1, firstSeenAt: 0 }
  return baseSentenceOf({ reason, detail, ...occurrence })
}

/** The text of a problem's sentence, without the name of the object. Raw text: renderers escape it. */
export function messageOf(problem: Problem): string {
  return sentenceOf(problem).text
}

/** An object or container as text. @param place.namespace the object's namespace, if it is not the target's */
export function placeText(place: {
  readonly object: string
  readonly namespace?: string | undefined
  readonly container?: string | undefined
  readonly isInit?: boolean | undefined
}): string {
  const { namespace, container, isInit } = place
  const object = namespace === undefined ? place.object : `${place.object} in namespace ${namespace}`
  return container === undefined ? object : `${isInit ? 'init ' : ''}container ${container} of ${object}`
}

/** A problem in one sentence: `container app of pod/web-x exited with code 3 (2 pods have this problem)`. Raw text. */
export function problemSentence(problem: Problem): string {
  const { subject, isElsewhere, container, isInit, pods = 1 } = problem
  const namespace = isElsewhere && subject.namespace
  const place = placeText({ object: subjectText(subject), namespace, container, isInit })
  return joinSubject(place, sentenceOf(problem)) + (pods > 1 ? ` (${pods} pods have this problem)` : '')
}
