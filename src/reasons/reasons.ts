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

/** Each reason code with the detail of its problems. */
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
  /** The facts for its sentence, headline and hint. */
  readonly detail: ReasonDetails[Reason]
  /** Whether the problem is proven, as its class demands: then it fails its target, unless a better pod exists. */
  readonly proven: boolean
  /** Its controller will try again what was refused: the stall clock stops until then. */
  readonly isRetried?: true | undefined
  /** The problem of another object that causes this one: a pod's problem, for example, causes a Service's. */
  readonly cause?: Problem
}

/** A problem of a target, or of an object that the target depends on. `reason` determines the type of `detail`. */
export type Problem<Reason extends ReasonCode = ReasonCode> = {
  [Each in Reason]: ProblemWith<Each>
}[Reason]

/** The spec of a reason. Use it only with problems of this reason. */
function specOf(reason: ReasonCode): ReasonSpec<unknown> {
  return reasons[reason] as ReasonSpec<unknown>
}

/** The traits of the reason of a problem or verdict; none for the empty reason. */
export function traitsOf({ reason }: { readonly reason: ReasonCode | '' }): Partial<ReasonSpec<unknown>> {
  return reason === '' ? {} : specOf(reason)
}

/** The node of a problem that concerns a whole node; undefined for other problems. */
export function nodeOfProblem({
  reason,
  detail,
}: Problem): ReturnType<NonNullable<ReasonSpec<unknown>['node']>> | undefined {
  return specOf(reason).node?.(detail)
}

/** The class of a problem. A problem never fails its target if its pod is replaced or is of an older revision. */
export function classOf(problem: Problem): ProblemClass {
  if (problem.isReplaced || problem.neverFails || problem.oldRevision !== undefined) return 'slow'
  const spec = specOf(problem.reason)
  const fixed = spec.class
  if (spec.classOf !== undefined) return spec.classOf(problem.detail)
  return fixed === 'terminal' || fixed === 'strike' ? fixed : 'slow'
}

/** What is wrong, and how the text is joined to the name of the object. Raw text: renderers escape it. */
export function sentenceOf(problem: Problem): Sentence {
  const sentence = sentenceOfSpec(problem)
  if (problem.oldRevision === undefined) return sentence
  const start =
    problem.oldRevision === 'stays'
      ? 'stays on the older revision until the pod is deleted'
      : 'blocks the update until the pod is ready or deleted'
  return { text: `${start}: ${sentence.text}`, form: 'predicate' }
}

function sentenceOfSpec(problem: Pick<Problem, 'reason' | 'detail' | 'cause'> & Occurrence): Sentence {
  const sentence = specOf(problem.reason).sentence(problem.detail, factsOf(problem))
  return typeof sentence === 'string' ? { text: sentence, form: 'predicate' } : sentence
}

/** What the sentence and the headline of a problem may contain besides its detail. */
function factsOf({ cause, ...problem }: Pick<Problem, 'cause'> & Occurrence): SentenceFacts {
  const { count } = problem
  return {
    ...problem,
    times: count > 1 ? `, ${count} times` : '',
    // Rendered only when a text uses them: otherwise each cause in a chain would double the work.
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

/** The other objects that a problem is about: the Service that a route names. */
export function otherSubjects(problem: Problem): readonly Subject[] {
  return specOf(problem.reason).otherSubjects?.(problem.detail, problem) ?? []
}

/** Whether the object's own spec is wrong, or the cluster lacks a service: no other object can end the problem. */
export function isOwnMistake({ reason, detail }: Problem): boolean {
  return specOf(reason).isOwnMistake?.(detail) === true
}

/** Gives a problem its type if its reason is known only at run time: the detail must fit each possible reason. */
export function problemOf<Reason extends ReasonCode>(fields: ProblemWith<Reason>): Problem {
  return fields as unknown as Problem
}

/** A headline about this problem, with its names. Raw text: renderers escape it. */
export function headlineOf(problem: Problem): string {
  const { reason, detail, container, oldRevision } = problem
  if (oldRevision !== undefined) return 'an old pod blocks the update'
  const { headline, title } = specOf(reason)
  const named = namedTitle(title, { container, ...detail })
  return headline === undefined ? named : headline(detail, factsOf(problem), named)
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
export function sentenceFor<Reason extends ReasonCode>(reason: Reason, detail: ReasonDetails[Reason]): Sentence {
  const occurrence = { subject: { group: '', kind: '', name: '' }, count: 1, firstSeenAt: 0 }
  return sentenceOfSpec({ reason, detail, ...occurrence })
}

/** What is wrong, in one line without the subject. Raw text: renderers escape it. */
export function messageOf(problem: Problem): string {
  return sentenceOf(problem).text
}

/** Where a problem is: `container app of pod/web-fc8b-8xkbh`. Raw text: renderers escape it. */
export function placeOfProblem(problem: Pick<Problem, 'subject' | 'isElsewhere' | 'container' | 'isInit'>): string {
  const { subject, isElsewhere, container, isInit } = problem
  return placeText({ object: subjectText(subject), namespace: isElsewhere && subject.namespace, container, isInit })
}

/** Where an object or container is. @param place.namespace the object's namespace, if it is not the target's */
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

/**
 * A problem in one sentence: `container app of pod/web-x exited with code 3, 3 times (2 pods have this problem)`.
 * Raw text: renderers escape it.
 */
export function problemSentence(problem: Problem): string {
  const pods = (problem.pods ?? 1) > 1 ? ` (${problem.pods} pods have this problem)` : ''
  return `${joinSubject(placeOfProblem(problem), sentenceOf(problem))}${pods}`
}
