import { readFileSync } from 'node:fs'
import { CORE_SCHEMA, dump, load, mergeTag } from 'js-yaml'
import type { Condition } from '../../src/cluster/objects.ts'
import { iso } from './objects.ts'

/** The text of a condition as the API has it: `Ready False @9 Reason: message`; of generation 1: `Ready/1 False`. */
function toCondition(text: string): Condition {
  const [, type = '', generation, status = '', at, reason, message] =
    /^(\S+?)(?:\/(\d+))? (\S+?)(?: @(\S+?))?(?: (\w+))?(?:: (.*))?$/s.exec(text) ?? []
  return {
    type,
    status,
    ...(generation === undefined ? {} : { observedGeneration: Number(generation) }),
    ...(at === undefined ? {} : { lastTransitionTime: iso(Number(at)) }),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  }
}

/**
 * The data of a file with its moments, where `@9` is second 9 of the gate, its conditions, and its digests, `sha256:b…` for
 * one of 64 times the same digit.
 */
export function revive(value: unknown, key = ''): unknown {
  if (typeof value === 'string' && /^@-?[\d.]+$/.test(value)) return iso(Number(value.slice(1)))
  if (typeof value === 'string') return value.replace(/sha256:([0-9a-f])…/g, (_, digit) => `sha256:${digit.repeat(64)}`)
  if (Array.isArray(value))
    return value.map((each) => (key === 'conditions' && typeof each === 'string' ? toCondition(each) : revive(each)))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, revive(each, name)]))
}

/** The data of a YAML file, in which `<<` merges. */
export function readData(path: string): unknown {
  return revive(load(readFileSync(path, 'utf8'), { schema: CORE_SCHEMA.withTags(mergeTag) }))
}

/** The same for `toMatchObject`, where a text `/…/` stands for any text that the expression matches. */
export function patterns<Value>(value: Value): Value {
  const replaced = (each: unknown): unknown => {
    if (typeof each === 'string' && /^\/.+\/$/s.test(each)) return expect.stringMatching(new RegExp(each.slice(1, -1)))
    if (Array.isArray(each)) return each.map(replaced)
    if (typeof each !== 'object' || each === null) return each
    return Object.fromEntries(Object.entries(each).map(([key, field]) => [key, replaced(field)]))
  }
  return replaced(value) as Value
}

/** The rows of a table in a file of data, for `it.each`. */
export function rows<Row>(path: string, table: string): readonly Row[] {
  const rows = (readData(path) as Record<string, readonly Row[]>)[table]
  if (rows === undefined) throw new Error(`${path} has no table "${table}"`)
  return rows
}

/**
 * Throws if a case or its group has another option: one that is misspelt would expect nothing.
 * @param place the file, the group and the title of the case
 */
export function requireOptions(given: object, known: readonly string[], place: readonly string[]): void {
  const strange = Object.keys(given).find((option) => !known.includes(option))
  if (strange !== undefined) throw new Error(`${place.join(', ')}: a case has no option "${strange}"`)
}

/** Rows with a title in front, for the `%s` of `it.each`: a value as YAML in one line, cut if it is long. */
export function titled<Row>(table: readonly Row[], titleOf: (row: Row) => unknown = (row) => row): [string, Row][] {
  return table.map((row) => {
    const value = titleOf(row) ?? 'nothing'
    const yaml = typeof value === 'string' ? value : dump(value, { flowLevel: 0 })
    const text = yaml.replaceAll('%', 'percent ').replaceAll('{"', '{').replace(/\s+/g, ' ').trim()
    return [text.length > 90 ? `${text.slice(0, 90)}…` : text, row]
  })
}
