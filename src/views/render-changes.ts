import { isDeepStrictEqual } from 'node:util'
import { createPatch, type Operation, type Pointer } from 'rfc6902'
import { stringify } from 'yaml'
import { describePath, type PathStep } from '../cluster/field-paths.ts'
import { isObject } from '../cluster/objects.ts'
import { displayName, targetId } from '../plan/target.ts'
import { printableJson } from '../report/escape.ts'
import { formatElapsed } from '../report/target-record.ts'
import type { ObjectChange } from './changes.ts'
import { dim, emptyLine, type Line, line } from './line.ts'

/* Renders the changes of objects (`changes.ts`) as lines or JSON. */

/** A change as lines: time, object, author, and YAML. After the first change of an object, only the differences. */
export function changeLines(change: ObjectChange, startedAt: number): readonly Line[] {
  const { object, before, after, type } = change
  const head = line(
    0,
    dim(elapsedColumn(change.at - startedAt)),
    { text: displayName({ ...object, name: object.metadata.name }), style: 'bold' },
    { text: describeChange(change), style: type === 'DELETED' ? 'red' : type === 'ADDED' ? 'green' : 'yellow' },
    change.by === undefined ? undefined : `by ${change.by}`,
  )
  return [head, ...bodyLines(before, after), emptyLine]
}

/** A change as a line of JSON. `patch` (RFC 6902) converts the previous state, at first null, to the present state. */
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

/** The maximum number of pairs of list elements that are compared for a patch: each pair costs time and memory. */
const maxPairs = 100_000

/** Returns a function that replaces a list as a whole after too many pairs of elements were compared. */
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

/** The elapsed time with tenths of a second, because a pod may be created in less than a second. */
function elapsedColumn(ms: number): string {
  const tenths = Math.floor(Math.max(0, ms) / 100)
  return `${formatElapsed(tenths * 100)}.${tenths % 10}`.padStart(7)
}

function describeChange({ type, existedBefore, before, after }: ObjectChange): string {
  if (type === 'ADDED') return existedBefore ? 'as it is' : 'created'
  if (type === 'DELETED') return 'deleted'
  const isTerminating = (part: unknown) =>
    (part as { metadata?: { deletionTimestamp?: string } } | undefined)?.metadata?.deletionTimestamp !== undefined
  return !isTerminating(before) && isTerminating(after) ? 'is being deleted' : 'changed'
}

function bodyLines(before: unknown, after: unknown): readonly Line[] {
  if (after === undefined) return []
  if (before !== undefined) return differenceLines(before, after)
  // With `lineWidth: 0`, long strings are not folded.
  const yaml = stringify(after, { lineWidth: 0, aliasDuplicateObjects: false, singleQuote: true }).trimEnd()
  return yaml.split('\n').map((text) => line(9, text))
}

/** The fields that differ: old values after `-`, new values after `+`. */
export function differenceLines(before: unknown, after: unknown): readonly Line[] {
  const [old, present] = [new Map(scalarFields(before)), new Map(scalarFields(after))]
  const paths = [...new Set([...present.keys(), ...old.keys()])]
  const different = paths.filter((path) => old.get(path) !== present.get(path))
  return different.flatMap((path) => [
    ...valueLine('-', 'red', path, old.get(path)),
    ...valueLine('+', 'green', path, present.get(path)),
  ])
}

function valueLine(sign: '-' | '+', style: 'red' | 'green', path: string, value: string | undefined): readonly Line[] {
  return value === undefined ? [] : [line(7, { text: sign, style }, { text: `${path}: ${value}`, style })]
}

/** Path and JSON of each scalar, empty list and empty map in a value: `status.conditions[Ready].status`, `"True"`. */
function scalarFields(value: unknown, path: readonly PathStep[] = []): (readonly [path: string, json: string])[] {
  const children: readonly (readonly [PathStep, unknown])[] = Array.isArray(value)
    ? elementSteps(value).map((step, index) => [step, value[index]])
    : isObject(value)
      ? Object.entries(value)
      : []
  if (children.length > 0) return children.flatMap(([step, child]) => scalarFields(child, [...path, step]))
  return [[describePath(path), JSON.stringify(value)]]
}

/** The path steps to the elements of a list: their names or types if distinct, otherwise their indexes. */
function elementSteps(list: readonly unknown[]): readonly PathStep[] {
  const names = list.map((item) => (isObject(item) ? (item['name'] ?? item['type']) : undefined))
  const isNamed = names.every((name) => typeof name === 'string') && new Set(names).size === names.length
  return names.map((name, index) => (isNamed ? { name: String(name) } : index))
}
