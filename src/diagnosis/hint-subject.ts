import type { Container, KubeObject, Pod } from '../cluster/objects.ts'
import type { Problem } from '../lifecycle/assessment.ts'
import { containerWord } from '../lifecycle/sentence.ts'
import { displayName, type Target } from '../plan/target.ts'

/** What a hint may be specific about, where it is known. */
export interface HintDetails {
  readonly problem?: Problem | undefined
  /** The container that has the problem, as its pod runs it, and the last line that it logged. */
  readonly spec?: Container | undefined
  readonly lastLine?: string | undefined
  /** The pod that has the problem. */
  readonly pod?: Pod | undefined
  /** The target itself. */
  readonly object?: KubeObject | undefined
  /** What the kubelet said last of the container's failing probe: `HTTP probe failed with statuscode: 503`. */
  readonly probeSaid?: string | undefined
  /** What the gate itself said when it ended without the target. */
  readonly said?: string | undefined
  /** The target that ended the gate while this one was open, and how: `deployment/web failed`. */
  readonly endedBy?: string
  /** The reason of the last event about an object of the target's name. */
  readonly lastEvent?: string
  /** The target's namespace does not exist, or is being deleted. */
  readonly namespaceLack?: 'missing' | 'terminating'
  /** The problem of a pod that is behind this one. */
  readonly cause?: HintDetails | undefined
}

/** What a hint is about: facts of the cluster, hostile text among them, which the report escapes. */
export interface HintSubject extends HintDetails {
  readonly target: Target
}

/** The image by its name, or words for it. */
export function imageOf({ problem, spec }: HintSubject): string {
  return problem?.detail?.image ?? spec?.image ?? 'the image'
}

/** `container app`, `init container migrate`, or words for it. */
export function containerOf({ problem }: HintSubject): string {
  return problem?.container === undefined ? 'the container' : `${containerWord(problem)} ${problem.container}`
}

/** ` in namespace shop`; nothing for what has no namespace. */
export function inNamespace({ target }: HintSubject): string {
  return target.namespace === undefined ? '' : ` in namespace ${target.namespace}`
}

/**
 * A command to copy, as inline code: `kubectl describe deployment/web -n shop`. Whatever is no plain word is quoted for the
 * shell, as names may come from a hostile cluster; backticks, which would end the code, go.
 */
export function command({ target }: HintSubject, ...words: readonly string[]): string {
  const namespace = target.namespace === undefined ? [] : ['-n', target.namespace]
  return `\`kubectl ${[...words, ...namespace].map(quoted).join(' ')}\``
}

/** A command about an object that has no namespace. */
export function clusterCommand(...words: readonly string[]): string {
  return `\`kubectl ${words.map(quoted).join(' ')}\``
}

/** The target as the words of a command: `deployment/web`, or a kind with its selector. */
function wordsOf({ kind, selector, ...target }: Target): readonly string[] {
  if (selector === undefined) return [displayName({ kind, ...target })]
  return [kind.toLowerCase(), ...(selector === '' ? ['--all'] : ['-l', selector])]
}

/** The target itself, described. */
export function described(subject: HintSubject): string {
  return command(subject, 'describe', ...wordsOf(subject.target))
}

/** The pod that has the problem, described; else the target. */
export function describedPod(subject: HintSubject): string {
  const about = subject.problem?.subject
  return command(subject, 'describe', ...(about?.startsWith('pod/') ? [about] : wordsOf(subject.target)))
}

function quoted(word: string): string {
  const safe = word.replaceAll('`', '')
  return /^[\w./:=,@%+{}-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'\\''`)}'`
}

/** What a message names, by a pattern with one group: of `storageclass "fast" not found` the `fast`. */
export function namedIn(message: string | undefined, pattern: RegExp): string | undefined {
  return pattern.exec(message ?? '')?.[1]
}
