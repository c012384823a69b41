import type { DeniedAccess } from '../cluster/failures.ts'
import type { Container, KubeObject, Pod, Subject } from '../cluster/objects.ts'
import type { Target } from '../plan/target.ts'

/* The types of a reason: class, traits and texts, and the facts from which the texts are made. */

/**
 * When a problem fails its target. `terminal`: at once, because only a new apply can fix it. `strike`: after several
 * occurrences, or after a minimum time. `slow`: never by itself. When a deadline ends the target, it is the reason.
 */
export type ProblemClass = 'terminal' | 'strike' | 'slow'

/**
 * The class of a reason: the class of its problems. Without problems, it is what ended the target: a deadline
 * (`clock`), another change (`identity`), an unavailable API (`api`), the user's input or cancellation (`input`).
 */
type ReasonClass = ProblemClass | 'clock' | 'identity' | 'api' | 'input'

/**
 * Text about an object, and how the text follows the object's name. Predicate: `web` + `is paused`. Clause: `web:` +
 * `its selector matches no pod`. Complete: the text contains the name, as in `pod/web-x cannot be scheduled`.
 */
export interface Sentence {
  readonly text: string
  readonly form: 'predicate' | 'clause' | 'complete'
}

/** Joins the name of an object and a sentence about it: `web is paused`, `web: its selector matches no pod`. */
export function joinSubject(subject: string, { text, form }: Sentence): string {
  if (subject === '' || text === '') return `${subject}${text}`
  return `${subject}${form === 'predicate' ? '' : ':'} ${text}`
}

/** Makes a sentence of a text that has its own subject: `its selector app=wbe matches no pod`. */
export function clause(text: string): Sentence {
  return { text, form: 'clause' }
}

/** Where and how often a problem occurs: the fields that the problems of all reasons have. */
export interface Occurrence {
  /** The object that has the problem. */
  readonly subject: Subject
  /** The object is not in the namespace of the target. */
  readonly isElsewhere?: true | undefined
  readonly container?: string
  /** The container is an init container. */
  readonly isInit?: boolean
  /** The container has just started, and may only need time: the log does not show the problem yet. */
  readonly isStarting?: boolean
  /** The pod has ended, and its controller creates another pod. */
  readonly isReplaced?: boolean
  /** The pod belongs to an older revision: it blocks the update, or stays because the strategy is OnDelete. */
  readonly oldRevision?: 'blocks-update' | 'stays'
  /** The problem never fails its target: a Job's controller decides whether failed pods fail the Job. */
  readonly neverFails?: boolean
  /** How often the problem occurred: how often a pull was refused, or a container died. */
  readonly count: number
  /** How many pods have this problem, if more than one; `subject` is one of the pods. */
  readonly pods?: number
  /** Milliseconds since the epoch on the runner's clock. */
  readonly firstSeenAt: number
}

/** The detail of a reason whose texts need no facts. */
export type NoDetail = Readonly<Record<string, never>>

/** The facts for the sentence and headline of a problem, in addition to its detail. */
export interface SentenceFacts extends Occurrence {
  /** `, 3 times`; empty if the problem occurred only once. */
  readonly times: string
  /** The texts of the problem that causes this problem: `container app of pod/web-x exited with code 3`. */
  readonly cause?: { readonly sentence: string; readonly headline: string } | undefined
}

/** The object that a hint is about: the target, or a controller on which the target depends. */
export interface HintTarget extends Pick<Target, 'kind' | 'name' | 'namespace' | 'selector' | 'hook' | 'manifest'> {
  /** The object is not the target, but the controller that has the problem. */
  readonly isNotTarget?: true
}

/** The known facts for a hint. Anyone may have chosen names and messages: renderers escape them. */
export interface HintFacts {
  readonly target: HintTarget
  /** Whether the user writes flags of the command line, not inputs of the action. */
  readonly usesFlags?: boolean | undefined
  readonly problem?: Occurrence & { readonly detail: unknown }
  readonly spec?: Container
  /** The log line to quote: the last line that looks like an error, otherwise the last line. */
  readonly logLine?: { readonly text: string; readonly isError: boolean }
  /** Whether the node no longer has the log of the present or the previous run of the container. */
  readonly lostLogs?: { readonly present: boolean; readonly previous: boolean }
  /** The log shows that a shell tried to start a program for another architecture. */
  readonly isOfOtherArchitecture?: boolean
  /** The pod that has the problem. */
  readonly pod?: Pod
  /** The target itself. */
  readonly object?: KubeObject
  /** All denied access, if denied access ended the gate. `wasReadable`: the target could be read before. */
  readonly denied?: { readonly wasReadable: boolean; readonly access: readonly DeniedAccess[] }
  /** The kinds that the API server could not read (`Widgets`), if this failure ended the gate. */
  readonly unreadable?: string | undefined
  /** An event reports that a Job with the target's name has ended. */
  readonly hasEnded?: boolean
  /** The hint of the problem that causes this problem. */
  readonly cause?: { readonly hint: string } | undefined
}

/** The facts for a hint, and words for its text. */
export interface HintWords extends HintFacts {
  /** The target: `deployment/web`. */
  readonly name: string
  /** The name of the image, otherwise `the image`. */
  readonly theImage: string
  /** `container app`, `init container migrate`, otherwise `the container`. */
  readonly theContainer: string
  /** ` in namespace shop`; empty for an object without a namespace. */
  readonly inNamespace: string
  /** `kubectl describe` of the target. */
  readonly describeTarget: string
  /** `kubectl describe` of the pod that has the problem, otherwise of the target. */
  readonly describePod: string
  /**
   * A kubectl command in the namespace of the target, as inline code: `kubectl describe deployment/web -n shop`.
   * Names come from the cluster. Therefore unusual words are quoted for the shell, and backticks are removed.
   */
  readonly command: (...words: readonly string[]) => string
  /**
   * An operator's command as inline code, from a template with `{kind}`, `{name}`, `{namespace}` and `{release}` (of
   * Helm). Undefined if there is no template, or if a value is absent or needs quotes in a shell.
   */
  readonly operatorCommand: (template: string | undefined) => string | undefined
  /** How the user writes an input: `stall-timeout` or `--stall-timeout`, `fail-fast: false` or `--fail-fast=false`. */
  readonly setting: (name: string, value?: string) => string
}

/** The manifest field to change, as a path in the container, the pod or the object. `[]`: the whole container. */
interface ManifestField {
  readonly container?: readonly string[]
  readonly pod?: readonly string[]
  readonly object?: readonly string[]
}

/** The traits of a reason. Code in other folders reads traits, and never compares reason codes. */
interface ReasonTraits {
  /** How many observations prove the problem; absent if their number proves nothing. */
  readonly provenAfter?: number
  /** What may end the problem without a new apply. */
  readonly awaits?: /** Time alone. Other targets that depend on this target may crash meanwhile. */
    | 'time'
    /** A node or volume that another pod frees. */
    | 'node'
    | 'volume'
    /** An action of a user. */
    | 'user'
    /** The deletion of the object, which has begun. */
    | 'deletion'
    /** The arrival of the gated change. Until then, the target has no current milestone. */
    | 'change'
  /** What may explain the problem, and is then shown in its place. */
  readonly yieldsTo?: /** The terminal or strike problem of a pod. */
    | 'pods'
    /** The problem of an owned object that failed. The subject itself only reports the failure. */
    | 'owned'
    /** The owner of the subject, because the owner decides whether it has failed too. */
    | 'owner'
    /** The object for which the subject waits. While it is a target and not ready, the log omits the problem. */
    | 'awaited'
    /** The node of the pod. */
    | 'node'
    /** The present problem of the target, which also gives the hint. */
    | 'problem'
  /** The problem is that a container died. */
  readonly isDeath?: true
  /** The headline says "it …" in place of the subject's name, so renderers add the name. */
  readonly isAnonymous?: true
  /** Answers to `http-checks` prove the problem. If the problem breaks the hold, it replaces the reason `not-held`. */
  readonly isAnswer?: true
  /** The cause is the node, the registry or a webhook, not the pod template. */
  readonly isOutsideTemplate?: true
  /** A deadline ended a target that has no problem. */
  readonly hasNoProblem?: true
  /** `on-superseded: pass` accepts a target that ended with this reason. */
  readonly mayPass?: true
  /** The node of the pod may be the cause, so the gate reads the node as evidence. */
  readonly isOfNode?: true
}

/** One reason. `Detail` is the detail of its problems. The texts are raw: renderers escape them. */
export interface ReasonSpec<Detail> extends ReasonTraits {
  readonly class: ReasonClass
  /** The class of one problem, if the class depends on the problem's detail. */
  classOf?(detail: Detail): ProblemClass
  /**
   * The headline. A phrase in braces gets a name from the field that its last word names: the container, or a field of
   * the detail. `{image} not found` becomes `image app:v2 not found`, and without a problem `image not found`.
   */
  readonly title: string
  /** The headline of one problem, if the title with a name is not enough. @param title the title with the name */
  headline?(detail: Detail, facts: SentenceFacts, title: string): string
  /** What is wrong, in one sentence. A string continues the name of the object: `is paused`. */
  sentence(detail: Detail, facts: SentenceFacts): string | Sentence
  /** What to do: one or two sentences, and perhaps a command. The documentation shows the hint for an empty detail. */
  hint(detail: Partial<Detail>, words: HintWords): string
  /** The node of the problem's pod, for a reason about nodes. `isLost`: the node no longer reports. */
  node?(detail: Detail): { readonly name: string; readonly isLost: boolean }
  /** Other objects that the problem involves, such as the missing Service that a route names. */
  otherSubjects?(detail: Detail, problem: Occurrence): readonly Subject[]
  /** Whether no other object can end the problem: the object's spec is wrong, or the cluster lacks a service. */
  isUnaffectedByOthers?(detail: Detail): boolean
  readonly field?: ManifestField
}

/** The reasons of one file. `Details` maps each reason code to the detail of its problems. */
export type ReasonFamily<Details> = { readonly [Reason in keyof Details]: ReasonSpec<Details[Reason]> }
