import { parseArgs } from 'node:util'
import { formatDuration, parseDuration } from '../duration.ts'
import { type AddMistake, didYouMean, type Mistake, quote } from '../errors.ts'
import type { Parse } from '../input-types.ts'
import { parseMilestoneTimeouts } from '../inputs.ts'
import { checkNamespace, checkSelector } from './names.ts'
import { parseRevision } from './revision.ts'
import { omitUndefinedClocks, type Reference, type WaitFor } from './target.ts'

/* Reads the flags of references, such as `--for` and `--timeout`. */

const flagOptions = {
  all: { type: 'boolean' },
  for: { type: 'string' },
  'milestone-timeouts': { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  'require-change': { type: 'string' },
  revision: { type: 'string', multiple: true },
  selector: { type: 'string', short: 'l' },
  'stall-timeout': { type: 'string' },
  timeout: { type: 'string' },
} as const

/** The value of each flag. If a flag is given several times, line breaks separate its values. */
export type Flags = ReadonlyMap<string, string>

/** The flags that a line may contain. A flag with `multiple` may be given several times. */
export type FlagOptions = Readonly<
  Record<string, { readonly type: 'boolean' | 'string'; readonly short?: string; readonly multiple?: boolean }>
>

/** A flag or another word among arguments. */
export interface Argument {
  readonly index: number
  /** The name of the flag; undefined for another word. */
  readonly name: string | undefined
  /** The word, or the flag as the user wrote it, without its value. */
  readonly written: string
  readonly value?: string | undefined
  /** Whether the value follows an equals sign. */
  readonly isInline?: boolean
}

/** Reads arguments, in which flags may be at any place, like kubectl. */
export function splitArguments(args: readonly string[], options: FlagOptions): Argument[] {
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true })
  return tokens.flatMap((token): Argument[] => {
    const { index } = token
    if (token.kind === 'positional') return [{ index, name: undefined, written: token.value }]
    if (token.kind !== 'option') return []
    const { name, rawName, inlineValue: isInline = false } = token
    // `parseArgs` reads an unknown `-web` as three flags.
    const [written = ''] = Object.hasOwn(options, name) ? [rawName] : (args[index] ?? rawName).split('=', 1)
    // As in kubectl, `-n=shop` means `-n shop`.
    const value = isInline && !rawName.startsWith('--') ? token.value?.replace(/^=/, '') : token.value
    return [{ index, name, written, value, isInline }]
  })
}

/**
 * Separates flags from other words.
 * @param options the valid flags; by default, the flags of a reference
 * @param owner the thing that has the flags, for messages: `reference`
 */
export function splitFlags(
  args: readonly string[],
  addMistake: AddMistake,
  options: FlagOptions = flagOptions,
  owner = 'reference',
): { words: string[]; flags: Flags } {
  const words: string[] = []
  const flags = new Map<string, string>()
  const unknown = new Set<string>()
  for (const { name, written, value } of splitArguments(args, options)) {
    if (name === undefined) {
      words.push(written)
      continue
    }
    const option = Object.hasOwn(options, name) ? options[name] : undefined
    const earlier = flags.get(name)
    if (option === undefined) unknown.add(written)
    else if (option.type === 'boolean') {
      if (value === undefined) flags.set(name, '')
      else addMistake(`${written} takes no value. Leave out ${quote(`=${value}`)}.`)
    } else if (value === undefined || value === '') addMistake(`${written} has no value.`)
    else if (earlier !== undefined && !option.multiple) addMistake(`--${name} is given twice. Keep one of them.`)
    else flags.set(name, earlier === undefined ? value : `${earlier}\n${value}`)
  }
  const known = Object.keys(options)
  for (const flag of unknown) {
    const hint = didYouMean(flag, known, '--') || ` A ${owner} takes ${known.map((name) => `--${name}`).join(', ')}.`
    addMistake(`${quote(flag)} is not a flag of a ${owner}.${hint}`)
  }
  return { words, flags }
}

/** Parses the values of the flags. The value of an absent or invalid flag is undefined. */
export function readFlagValues(
  flags: Flags,
  addMistake: AddMistake,
): Pick<Reference, 'namespace' | 'clocks' | 'waitFor' | 'revisions'> {
  const parseFlag = <T>(flag: string, parse: Parse<T>): T | undefined => {
    const text = flags.get(flag)
    return text === undefined ? undefined : parse(text, (message) => addMistake(`--${flag}: ${message}`))
  }
  const clocks = omitUndefinedClocks({
    timeoutMs: parseFlag('timeout', parseDuration),
    stallTimeoutMs: parseFlag('stall-timeout', parseDuration),
    milestoneTimeoutsMs: parseFlag('milestone-timeouts', parseMilestoneTimeouts),
    requireChangeMs: parseFlag('require-change', parseDuration),
  })
  const waitForText = flags.get('for')
  const waitFor = waitForText === undefined ? undefined : parseWaitFor(waitForText, addMistake)
  const namespace = flags.get('namespace')
  if (namespace !== undefined) checkNamespace(namespace, addMistake)
  const revisions = parseFlag('revision', (text, addFlagMistake) =>
    text.split('\n').flatMap((each) => parseRevision(each, addFlagMistake) ?? []),
  )
  if (revisions === undefined) return { namespace, clocks, waitFor }
  if (waitFor !== undefined) addMistake('--revision and --for are given together. Keep one of them.')
  if (new Set(revisions.map(({ source }) => source)).size < revisions.length)
    addMistake('--revision is given twice for one source. Name the source of each: --revision=app=a1b2c3d.')
  return { namespace, clocks, waitFor, revisions }
}

/** Reads the label selector, which is empty for `--all`. Undefined without both flags. */
export function readSelector(flags: Flags, addMistake: AddMistake): string | undefined {
  const selector = flags.get('selector')
  const all = flags.has('all')
  if (selector === undefined) return all ? '' : undefined
  if (all) addMistake('-l and --all are given together. Keep one of them.')
  checkSelector(selector, addMistake)
  return selector
}

const waitForForms =
  "Write create, delete, condition=Ready, condition=Ready=False or jsonpath='{.status.phase}'=Running."

/**
 * Reads the value of `--for` like `kubectl wait` (k8s.io/kubectl pkg/cmd/wait). The default status of a condition is
 * `True`. A JSONPath needs no braces and no first dot. A JSONPath without a value matches any value.
 */
export function parseWaitFor(text: string, addMistake: AddMistake): WaitFor | undefined {
  const waitFor = readWaitFor(text)
  if (waitFor === undefined) addMistake(`--for cannot wait for ${quote(text)}. ${waitForForms}`)
  return waitFor
}

function readWaitFor(text: string): WaitFor | undefined {
  if (/^create$/i.test(text)) return { type: 'create' }
  if (/^delete$/i.test(text)) return { type: 'delete' }
  const [, condition, status = 'True'] = /^condition=([^=]+)(?:=(.+))?$/s.exec(text) ?? []
  if (condition !== undefined) return { type: 'condition', condition, status }
  return text.startsWith('jsonpath=') ? readJsonPath(text.slice('jsonpath='.length)) : undefined
}

function readJsonPath(text: string): WaitFor | undefined {
  // A single `=` ends the path. `==` is part of a filter in the path.
  const parts = text.replaceAll('==', '\0').split('=')
  const [expression = '', value, ...more] = parts.map((part) => part.replaceAll('\0', '=='))
  const path = bracedPath(expression)
  if (path === undefined || more.length > 0) return undefined
  if (value === undefined) return { type: 'jsonpath', path }
  const unquoted = value.replace(/^['"]+/, '').replace(/(?<!['"])['"]+$/, '')
  return unquoted === '' ? undefined : { type: 'jsonpath', path, value: unquoted }
}

/** The path in the form `{.status.phase}`, also from `{status.phase}`, `.status.phase` or `status.phase`. */
function bracedPath(expression: string): string | undefined {
  const inner = /^\{\.?([^{}]+)\}$|^\.?([^{}]+)$/.exec(expression)
  const path = inner?.[1] ?? inner?.[2]
  return path !== undefined && areBracketsClosed(path) ? `{.${path}}` : undefined
}

function areBracketsClosed(path: string): boolean {
  let depth = 0
  let quote = ''
  for (const char of path) {
    if (quote !== '') quote = char === quote ? '' : quote
    else if (char === '"' || char === "'") quote = char
    else if (char === '[' || char === '(') depth++
    else if ((char === ']' || char === ')') && --depth < 0) return false
  }
  return depth === 0 && quote === ''
}

/**
 * Finds references whose timeout has no effect, because the gate's timeout is shorter. 0 means no timeout.
 * @param gateMs the input `timeout` in milliseconds; if undefined, the timeouts of references extend the gate's timeout
 * @returns one mistake for each such reference
 */
export function findTimeoutMistakes(references: readonly Reference[], gateMs: number | undefined): readonly Mistake[] {
  if (gateMs === undefined || gateMs === 0) return []
  const gateText = `the gate's timeout of ${formatDuration(gateMs)}`
  const remedy = 'Raise timeout, or leave it out: then the gate may take as long as its references.'
  return references.flatMap(({ place, clocks: { timeoutMs }, manifest, exclude }) => {
    if (exclude || timeoutMs === undefined || (timeoutMs > 0 && timeoutMs <= gateMs)) return []
    const line = manifest?.lineOf(['metadata', 'annotations', 'rollout-gate/timeout']) ?? place.line
    const message =
      timeoutMs === 0
        ? `Its timeout is off, but ${gateText} ends it too. ${remedy}`
        : `Its timeout of ${formatDuration(timeoutMs)} is longer than ${gateText}, which ends it too. ${remedy}`
    return [{ ...place, line, message }]
  })
}
