import type { DeniedAccess } from '../cluster/failures.ts'
import type { Container, KubeObject, Pod, Subject } from '../cluster/objects.ts'
import type { Target } from '../plan/target.ts'

/* What a reason consists of: its class, traits and texts, and the facts that its texts get. */

/**
 * How a problem fails its target. `terminal`: at once, because only a new apply can fix it. `strike`: after it has
 * occurred several times, or for long. `slow`: not by itself; it is the reason when a deadline ends the target.
 */
export type ProblemClass = 'terminal' | 'strike' | 'slow'

/**
 * The class of a reason: the class of its problems. For a reason without problems, what ended the target: a deadline
 * (`clock`), another change (`identity`), an unavailable API (`api`), the user's input or cancellation (`input`).
 */
type ReasonClass = ProblemClass | 'clock' | 'identity' | 'api' | 'input'

/**
 * Text about an object, and how it follows the object's name. Predicate: `web` + `is paused`. Clause: `web:` + `its selector
 * matches no pod`. Complete: the text contains the name already, as in `pod/web-x cannot be scheduled`.
 */
export interface Sentence {
  readonly text: string
  readonly form: 'predicate' | 'clause' | 'complete'
}

/** Joins a sentence to the name of its subject: `web is paused`, `web: its selector matches no pod`. */
export function joinSubject(subject: string, { text, form }: Sentence): string {
  if (subject === '' || text === '') return `${subject}${text}`
  return `${subject}${form === 'predicate' ? '' : ':'} ${text}`
}

/** Text with a subject of its own: `its selector app=wbe matches no pod`. */
export function clause(text: string): Sentence {
  return { text, form: 'clause' }
}

/** Where and how often a problem occurs: the fields of problems of all reasons. */
export interface Occurrence {
  /** The object that has the problem. */
  readonly subject: Subject
  /** The object is in another namespace than the target. */
  readonly isElsewhere?: true | undefined
  readonly container?: string
  /** The container is an init container. */
  readonly isInit?: boolean
  /** The container has just started, and may only need time: the log does not show the problem yet. */
  readonly isStarting?: boolean
  /** The pod has ended, and its controller creates another one. */
  readonly isReplaced?: boolean
  /** The pod belongs to an older revision: it blocks the update, or stays because the strategy is OnDelete. */
  readonly oldRevision?: 'blocks-update' | 'stays'
  /** The problem never fails its target: a Job's controller decides whether failed pods fail the Job. */
  readonly neverFails?: boolean
  /** How often it occurred: refusals of a pull, deaths of a container. */
  readonly count: number
  /** The number of pods with this problem, if several; `subject` is one of them. */
  readonly pods?: number
  /** Milliseconds since the epoch on the runner's clock. */
  readonly firstSeenAt: number
}

/** The detail of a reason whose texts need no facts. */
export type NoDetail = Readonly<Record<string, never>>

/** What the sentence and the headline of a problem may contain besides its detail. */
export interface SentenceFacts extends Occurrence {
  /** `, 3 times`; empty if it happened only once. */
  readonly times: string
  /** The problem that causes this one, with its texts: `container app of pod/web-x exited with code 3`. */
  readonly cause?: { readonly sentence: string; readonly headline: string } | undefined
}

/** The object that a hint is about: the target, or a controller on which the target depends. */
export interface HintTarget extends Pick<Target, 'kind' | 'name' | 'namespace' | 'selector' | 'hook' | 'manifest'> {
  /** The object is such a controller: it has the problem. */
  readonly isNotTarget?: true
}

/** The known facts for a hint. Names and messages are hostile text: the report escapes them. */
export interface HintFacts {
  readonly target: HintTarget
  /** Whether the user writes flags of the command line, not inputs of the action. */
  readonly usesFlags?: boolean | undefined
  readonly problem?: Occurrence & { readonly detail: unknown }
  readonly spec?: Container
  /** The line of the log to quote: the last line that looks like an error, else the last line. */
  readonly logLine?: { readonly text: string; readonly isError: boolean }
  /** Whether the node no longer has the log of the present or the previous run of the container. */
  readonly lostLogs?: { readonly present: boolean; readonly previous: boolean }
  /** The log contains the error of a program for another architecture: a shell starts the program, and exits. */
  readonly isOfOtherArchitecture?: boolean
  /** The pod that has the problem. */
  readonly pod?: Pod
  /** The target itself. */
  readonly object?: KubeObject
  /** All denied access, if some of it ended the gate; `wasReadable`: the target could be read before. */
  readonly denied?: { readonly wasReadable: boolean; readonly access: readonly DeniedAccess[] }
  /** The kinds that the API server could not read (`Widgets`), if that ended the gate. */
  readonly unreadable?: string | undefined
  /** An event reports that a Job with the target's name has ended. */
  readonly hasEnded?: boolean
  /** The problem that causes this one, with its own hint. */
  readonly cause?: { readonly hint: string } | undefined
}

/** The facts for a hint, and the words that hints are made of. */
export interface HintWords extends HintFacts {
  /** The target: `deployment/web`. */
  readonly name: string
  /** The name of the image, else `the image`. */
  readonly theImage: string
  /** `container app`, `init container migrate`, else `the container`. */
  readonly theContainer: string
  /** ` in namespace shop`; empty for an object without a namespace. */
  readonly inNamespace: string
  /** `kubectl describe` of the target. */
  readonly describeTarget: string
  /** `kubectl describe` of the pod that has the problem, else of the target. */
  readonly describePod: string
  /**
   * A command about the namespace of the target, to copy, as inline code: `kubectl describe deployment/web -n shop`.
   * Names come from the cluster: unusual words are quoted for the shell, and backticks are removed.
   */
  readonly command: (...words: readonly string[]) => string
  /**
   * An operator's command to copy, as inline code, from a template with `{kind}`, `{name}`, `{namespace}` and `{release}`
   * (of Helm); undefined without a template, and if a value is absent or needs quotes in a shell.
   */
  readonly operatorCommand: (template: string | undefined) => string | undefined
  /** How the user writes an input: `stall-timeout` or `--stall-timeout`, `fail-fast: false` or `--fail-fast=false`. */
  readonly setting: (name: string, value?: string) => string
}

/** The manifest field to change, as a path inside the container, the pod or the object. `[]`: the whole container. */
interface ManifestField {
  readonly container?: readonly string[]
  readonly pod?: readonly string[]
  readonly object?: readonly string[]
}

/** The traits of a reason. Code outside of this folder reads traits, and never compares a reason code. */
interface ReasonTraits {
  /** How many observations prove the problem; absent if their number does not decide. */
  readonly provenAfter?: number
  /**
   * What may end the problem without a new apply. `time`: only time; containers of other targets may crash meanwhile.
   * `node`, `volume`: another pod may free one. `user`: an action of a user. `deletion`: the object is being deleted.
   * `change`: the gated change has not arrived, so the target has no current milestone.
   */
  readonly awaits?: 'time' | 'node' | 'volume' | 'user' | 'deletion' | 'change'
  /**
   * What may explain the problem, and is then shown instead. `pods`: the terminal or strike problem of a pod. `owned`:
   * an object that this one owns, if this one itself reports the failure. `owner`: the owner of this object, which
   * decides whether it has failed too. `awaited`: the awaited object; while that is a target and not ready, the log
   * omits the problem. `node`: the node of the pod. `problem`: the present problem of the target, which gives the hint.
   */
  readonly yieldsTo?: 'pods' | 'owned' | 'owner' | 'awaited' | 'node' | 'problem'
  /** The problem is that a container died. */
  readonly isDeath?: true
  /** The headline does not contain the name of its subject ("it …"), so renderers add the name. */
  readonly isAnonymous?: true
  /** Answers to `http-checks` prove the problem. If it breaks the hold, it is the reason in place of `not-held`. */
  readonly isAnswer?: true
  /** The pod template is not the cause: it is the node, the registry or a webhook. */
  readonly isOutsideTemplate?: true
  /** A deadline ended a target that has no problem. */
  readonly hasNoProblem?: true
  /** `on-superseded: pass` accepts a target that ended with this reason. */
  readonly mayPass?: true
  /** The node of the pod may be the cause: its state is read as evidence. */
  readonly isOfNode?: true
}

/** Everything about one reason. `Detail` is the detail of its problems. Its texts are raw: renderers escape them. */
export interface ReasonSpec<Detail> extends ReasonTraits {
  readonly class: ReasonClass
  /** The class of one problem, if it depends on its detail. */
  classOf?(detail: Detail): ProblemClass
  /**
   * The headline. The phrase in braces gets the name of the container, or of what a field of the detail names:
   * `{image} not found` is `image app:v2 not found` for a problem, and `image not found` without one.
   */
  readonly title: string
  /** The headline of one problem, if it depends on more than a name. @param title its title with the name */
  headline?(detail: Detail, facts: SentenceFacts, title: string): string
  /** What is wrong, in one sentence: a text that continues the name of the object (`is paused`), or a clause. */
  sentence(detail: Detail, facts: SentenceFacts): string | Sentence
  /** What to do: one or two sentences, and a command if one helps. The documentation shows the hint without a detail. */
  hint(detail: Partial<Detail>, words: HintWords): string
  /** The node of the problem's pod, if the node is the problem; `isLost`: the node no longer reports. */
  node?(detail: Detail): { readonly name: string; readonly isLost: boolean }
  /** The other objects that the problem is about: the Service that a route names. */
  otherSubjects?(detail: Detail, problem: Occurrence): readonly Subject[]
  /** Whether the object's own spec is wrong, or the cluster lacks a service: no other object can end the problem. */
  isOwnMistake?(detail: Detail): boolean
  readonly field?: ManifestField
}

/** The specs of the reasons of one file; `Details` maps each reason to its detail. */
export type ReasonFamily<Details> = { readonly [Reason in keyof Details]: ReasonSpec<Details[Reason]> }
