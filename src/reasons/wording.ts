import { isPodSubject, subjectText } from '../cluster/objects.ts'
import type { HintFacts, HintTarget, ProblemFields, ReasonSpec } from './spec.ts'

/** `second`, `third`; `12th` */
export function nth(number: number): string {
  return ['first', 'second', 'third', 'fourth', 'fifth'][number - 1] ?? `${number}th`
}

/** `1 pod`, `3 pods` */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** The name of the image, else `the image`. */
export function imageOf({ problem, spec }: HintFacts<{ readonly image?: string }>): string {
  return problem?.detail.image ?? spec?.image ?? 'the image'
}

/** `container app`, `init container migrate`, else `the container`. */
export function containerOf({ problem }: HintFacts<unknown>): string {
  return problem?.container === undefined
    ? 'the container'
    : `${problem.isInit ? 'init container' : 'container'} ${problem.container}`
}

/** ` in namespace shop`; empty for an object without a namespace. */
export function inNamespace({ target }: HintFacts<unknown>): string {
  return target.namespace === undefined ? '' : ` in namespace ${target.namespace}`
}

/**
 * A command to copy, as inline code: `kubectl describe deployment/web -n shop`. Names may be hostile: unusual words are
 * quoted for the shell, and backticks are removed.
 */
export function command({ target }: HintFacts<unknown>, ...words: readonly string[]): string {
  const namespace = target.namespace === undefined ? [] : ['-n', target.namespace]
  return `\`kubectl ${[...words, ...namespace].map(quoted).join(' ')}\``
}

/**
 * An operator's command to copy, as inline code.
 * @param template with `{kind}`, `{name}` and `{namespace}`
 * @returns undefined if a value is absent, or no plain word for the shell
 */
export function filledCommand({ target }: HintFacts<unknown>, template: string): string | undefined {
  const values = { '{kind}': target.kind.toLowerCase(), '{name}': target.name, '{namespace}': target.namespace ?? '' }
  let filled = template
  for (const [placeholder, value] of Object.entries(values)) {
    if (template.includes(placeholder) && quoted(value) !== value) return undefined
    filled = filled.replaceAll(placeholder, () => value)
  }
  return `\`${filled}\``
}

/** How the user writes an input: `stall-timeout` or `--stall-timeout`, `fail-fast: false` or `--fail-fast=false`. */
export function setting({ usesFlags }: Pick<HintFacts<unknown>, 'usesFlags'>, name: string, value?: string): string {
  if (usesFlags) return value === undefined ? `--${name}` : `--${name}=${value}`
  return value === undefined ? name : `${name}: ${value}`
}

/** A command about an object that has no namespace. */
export function clusterCommand(...words: readonly string[]): string {
  return `\`kubectl ${words.map(quoted).join(' ')}\``
}

/** The target as arguments of a command: `deployment/web`, or a kind with its selector. */
function argumentsOf({ kind, selector, name }: HintTarget): readonly string[] {
  if (selector === undefined) return [`${kind.toLowerCase()}/${name}`]
  return [kind.toLowerCase(), ...(selector === '' ? ['--all'] : ['-l', selector])]
}

/** `kubectl describe` of the target. */
export function describeTarget(facts: HintFacts<unknown>): string {
  return command(facts, 'describe', ...argumentsOf(facts.target))
}

/** `kubectl describe` of the pod that has the problem, else of the target. */
export function describePod(facts: HintFacts<unknown>): string {
  const about = facts.problem?.subject
  return command(
    facts,
    'describe',
    ...(about !== undefined && isPodSubject(about) ? [subjectText(about)] : argumentsOf(facts.target)),
  )
}

function quoted(word: string): string {
  const safe = word.replaceAll('`', '')
  return /^[\w./:=,@%+{}-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'\\''`)}'`
}

/** Shortens a long text in the middle: its start and end distinguish it. Raw text: renderers escape it. */
export function withoutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text
  const tailLength = Math.floor((limit - 1) / 3)
  const head = text.slice(0, limit - 1 - tailLength)
  const tail = text.slice(text.length - tailLength)
  // A cut must not leave half a character.
  return `${head.isWellFormed() ? head : head.slice(0, -1)}…${tail.isWellFormed() ? tail : tail.slice(1)}`
}

export const imageLimit = 70
export const nameLimit = 50

type Headline<Detail> = NonNullable<ReasonSpec<Detail>['headline']>

/** A headline that names the container; `render` gets `container app`. */
export function containerHeadline<Detail>(
  render: (container: string, problem: ProblemFields<Detail>) => string,
): Headline<Detail> {
  return (problem) =>
    problem.container === undefined
      ? undefined
      : render(`container ${withoutMiddle(problem.container, nameLimit)}`, problem)
}

/** A headline that names the image. */
export function imageHeadline(render: (image: string) => string): Headline<{ readonly image?: string }> {
  return ({ detail: { image } }) => (image === undefined ? undefined : render(withoutMiddle(image, imageLimit)))
}

/** ` (exit code 3)`; empty if no exit code is known. */
export function exitCode({ detail }: ProblemFields<{ readonly exitCode?: number }>): string {
  return detail.exitCode === undefined ? '' : ` (exit code ${detail.exitCode})`
}

/** `, 3 times`; empty if it happened only once. */
export function timesSoFar(count: number): string {
  return count > 1 ? `, ${count} times` : ''
}

/** The end of a container. */
export interface Exit {
  readonly exitCode?: number
  readonly signal?: number
  /** The code has the meaning of the program itself, not the usual one. */
  readonly isOwnCode?: boolean
}

/** The usual meanings of exit codes; a program may give others its own meaning. */
const exitCodes: Readonly<Record<number, string>> = {
  126: 'its command cannot be run: no program, or no permission',
  127: 'its command was not found',
  132: 'illegal instruction',
  134: 'aborted',
  135: 'bus error',
  137: 'killed',
  139: 'segmentation fault',
  143: 'ended by SIGTERM',
}

/** How a container ended: `exited with code 3`, `was ended by signal 11`. */
export function exited({ exitCode, signal, isOwnCode }: Exit): string {
  return signal ? `was ended by signal ${signal}` : `exited with ${isOwnCode ? `code ${exitCode}` : codeText(exitCode)}`
}

/** How a container ended: `exit code 137 (killed)`, `signal 11`. */
export function exitText({ exitCode, signal }: Exit): string {
  if (signal) return `signal ${signal}`
  return `exit ${codeText(exitCode)}`
}

function codeText(exitCode: number | undefined): string {
  const meaning = exitCode === undefined ? undefined : exitCodes[exitCode]
  return `code ${exitCode ?? 'unknown'}${meaning === undefined ? '' : ` (${meaning})`}`
}

/** The target of a hint: `deployment/web`. */
export function nameOf({ target: { kind, name } }: { readonly target: HintTarget }): string {
  return `${kind.toLowerCase()}/${name}`
}

/** Hint for an image that was built for another platform than the node's. */
export function platformHint(facts: HintFacts<{ readonly image?: string }>): string {
  return `Build ${imageOf(facts)} for the architecture of the cluster's nodes: \`docker buildx build --platform …\`. ${clusterCommand('get', 'nodes', '-L', 'kubernetes.io/arch')} shows it.`
}

/**
 * The line of the container's log that most likely shows the cause, and the command for the whole log; what to do, if the
 * log shows a program for another architecture.
 * @param shape.isPrevious the container was restarted in its pod, so its log is that of the previous run
 * @param shape.isNamed the sentence before already names the container
 */
export function logHint(facts: HintFacts<unknown>, { isPrevious = false, isNamed = false } = {}): string {
  const { problem, logLine, lostLogs } = facts
  if (facts.isOfOtherArchitecture) return platformHint({ ...facts, problem: undefined })
  const who = containerOf(facts)
  const log = isNamed ? 'Its log' : `The log of ${who}`
  const quote =
    logLine === undefined
      ? ''
      : `The last ${logLine.isError ? 'error' : 'line'} that ${isNamed ? 'it' : who} logged is "${logLine.text}".`
  const ofPrevious = isPrevious && !problem?.isReplaced && !lostLogs?.previous
  // The other run is worth reading as well: it fails in the same way.
  if (lostLogs?.present && !ofPrevious)
    return quote || `${log} is gone from the node. With \`stream-logs\`, the job log shows it while it is written.`
  const words = quote === '' ? `${log} may show why` : `${quote} The whole log`
  const { subject, container } = problem ?? {}
  if (subject === undefined || !isPodSubject(subject)) return `${words}.`
  const name = container === undefined ? [] : ['-c', container]
  return `${words}: ${command(facts, 'logs', subjectText(subject), ...name, ...(ofPrevious ? ['--previous'] : []))}.`
}
