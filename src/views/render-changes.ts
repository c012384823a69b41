import { isDeepStrictEqual } from 'node:util'
import { structuredPatch } from 'diff'
import { createPatch, type Operation, type Pointer } from 'rfc6902'
import { isMap, isScalar, isSeq, type ParsedNode, parseDocument, stringify } from 'yaml'
import { displayName, targetId } from '../plan/target.ts'
import { printableJson } from '../report/escape.ts'
import { formatElapsed } from '../report/target-record.ts'
import type { ObjectChange } from './changes.ts'
import { dim, emptyLine, type Line, line } from './line.ts'

/* Renders changes (`changes.ts`) as lines or JSON. */

/**
 * A change as text: time, object, author and YAML. The first change of an object shows its whole YAML, later changes show the
 * differences.
 */
export function changeLines(change: ObjectChange, startedAt: number): readonly Line[] {
  const { before, after, type } = change
  const head = line(
    0,
    dim(elapsed(change.at - startedAt)),
    { text: changedName(change), style: 'bold' },
    { text: describeChange(change), style: type === 'DELETED' ? 'red' : type === 'ADDED' ? 'green' : 'yellow' },
    change.by === undefined ? undefined : `by ${change.by}`,
    noteOf(change),
  )
  return [head, ...bodyLines(before, after), emptyLine]
}

/**
 * A change as one line of JSON. `patch` (RFC 6902) converts the previous state to the present one. Before the first
 * state, the state is null.
 */
export function changeJson({ at, type, object, by, before, after }: ObjectChange, startedAt: number): string {
  const { namespace } = object.metadata
  const patch =
    before === undefined
      ? [{ op: 'add', path: '', value: after }]
      : after === undefined
        ? [{ op: 'remove', path: '' }]
        : createPatch(before, after, limitPairs())
  const target = targetId({ ...object, name: object.metadata.name })
  return printableJson({
    at: new Date(at).toISOString(),
    elapsedSeconds: (at - startedAt) / 1000,
    target,
    namespace,
    by,
    type,
    patch,
  })
}

/** How many pairs of list elements are compared for one patch. Each pair costs time and memory. */
const maxPairs = 100_000

/** Replaces a list as a whole once too many pairs of elements were compared. */
function limitPairs(): (before: unknown, after: unknown, path: Pointer) => Operation[] | undefined {
  let pairs = 0
  return (before, after, path) => {
    if (!Array.isArray(before) || !Array.isArray(after)) return undefined
    if (pairs + before.length * after.length > maxPairs)
      return isDeepStrictEqual(before, after) ? [] : [{ op: 'replace', path: path.toString(), value: after }]
    pairs += before.length * after.length
    return undefined
  }
}

/** Elapsed time with tenths of a second, because a pod is created in less than a second. */
function elapsed(ms: number): string {
  const tenths = Math.floor(Math.max(0, ms) / 100)
  return `${formatElapsed(tenths * 100)}.${tenths % 10}`.padStart(7)
}

function changedName({ object }: ObjectChange): string {
  return displayName({ ...object, name: object.metadata.name })
}

function describeChange({ type, existedBefore, before, after }: ObjectChange): string {
  if (type === 'ADDED') return existedBefore ? 'as it is' : 'created'
  if (type === 'DELETED') return 'deleted'
  const isTerminating = (part: unknown) =>
    (part as { metadata?: { deletionTimestamp?: string } } | undefined)?.metadata?.deletionTimestamp !== undefined
  return !isTerminating(before) && isTerminating(after) ? 'is being deleted' : 'changed'
}

function noteOf({ type, object }: ObjectChange) {
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata
  if (type !== 'DELETED' || deletionTimestamp !== undefined || deletionGracePeriodSeconds !== undefined)
    return undefined
  return dim('(at once)')
}

function bodyLines(before: unknown, after: unknown): readonly Line[] {
  if (after === undefined) return []
  if (before === undefined) return yamlLines(after).map((text) => line(9, text))
  return diffYaml(yamlLines(before), yamlLines(after)).flatMap(({ path, lines }) => [
    ...(path === '' ? [] : [line(7, { text: `@ ${path}`, style: 'cyan' })]),
    ...lines.map(({ sign, text }) => {
      if (sign === ' ') return line(9, dim(text))
      const style = sign === '+' ? 'green' : 'red'
      return line(7, { text: sign, style }, { text, style })
    }),
  ])
}

/** A value as the lines of a YAML document, without folded strings. */
export function yamlLines(value: unknown): readonly string[] {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, singleQuote: true }).trimEnd().split('\n')
}

/** One difference of two documents. */
interface Hunk {
  /** The field that contains the difference: `status.conditions[Ready]`. Empty at the top level. */
  readonly path: string
  readonly lines: readonly { readonly sign: ' ' | '+' | '-'; readonly text: string }[]
}

const contextLines = 2
/** The time to compare two documents grows with the square of the lines that differ. */
const maxChangedLines = 2_000

/** The differences of two documents, with lines of context. */
export function diffYaml(before: readonly string[], after: readonly string[]): readonly Hunk[] {
  const textOf = (lines: readonly string[]) => `${lines.join('\n')}\n`
  const options = { context: contextLines, maxEditLength: maxChangedLines }
  const patch = structuredPatch('', '', textOf(before), textOf(after), undefined, undefined, options)
  if (patch === undefined) {
    const counted = (sign: '-' | '+', lines: readonly string[]) =>
      ({ sign, text: `(${lines.length.toLocaleString('en')} lines)` }) as const
    return [{ path: '', lines: [counted('-', before), counted('+', after)] }]
  }
  const [pathBefore, pathAfter] = [pathsIn(before), pathsIn(after)]
  return patch.hunks.map(({ oldStart, newStart, lines }) => {
    const first = lines.findIndex((line) => !line.startsWith(' '))
    const isAdded = lines[first]?.startsWith('+') === true
    return {
      // Both documents are equal up to the first change.
      path: isAdded ? pathAfter(newStart - 1 + first) : pathBefore(oldStart - 1 + first),
      lines: lines.map((line) => ({ sign: signOf(line), text: line.slice(1) })),
    }
  })
}

function signOf(line: string): ' ' | '+' | '-' {
  return line.startsWith('+') ? '+' : line.startsWith('-') ? '-' : ' '
}

/** Returns a function: the path of the field that contains a line of a document, `status.containerStatuses[app].state`. */
function pathsIn(lines: readonly string[]): (line: number) => string {
  const { contents } = parseDocument(lines.join('\n'), { logLevel: 'silent', uniqueKeys: false })
  return (line) => {
    const start = lines.slice(0, line).reduce((length, each) => length + each.length + 1, 0)
    const end = start + (lines[line]?.length ?? 0)
    return pathTo(contents, start, end).replace(/^\./, '')
  }
}

/** The path from a node to the deepest node that contains the line from `start` to `end`. A list item contains its first line. */
function pathTo(node: ParsedNode | null | undefined, start: number, end: number): string {
  if (isMap(node)) {
    const pair = node.items.findLast(({ key }) => key.range[0] < end)
    return pair === undefined || pair.key.range[0] >= start ? '' : `.${pair.key}${pathTo(pair.value, start, end)}`
  }
  if (!isSeq(node)) return ''
  const index = node.items.findLastIndex(({ range }) => range[0] < end)
  const item = node.items[index]
  return `[${nameOfItem(item) ?? index}]${pathTo(item, start, end)}`
}

/** The name or type of a list item. */
function nameOfItem(item: ParsedNode | undefined): string | undefined {
  if (!isMap(item)) return undefined
  const named = item.items.find(({ key, value }) => /^(?:name|type)$/.test(String(key)) && isScalar(value))
  return named && String(named.value)
}
