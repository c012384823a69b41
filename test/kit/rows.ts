import { readFileSync } from 'node:fs'
import { dump, load } from 'js-yaml'
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

/** The data of a file with its moments, where `@9` is second 9 of the gate, and its conditions. */
export function revive(value: unknown, key = ''): unknown {
  if (typeof value === 'string' && /^@-?[\d.]+$/.test(value)) return iso(Number(value.slice(1)))
  if (Array.isArray(value))
    return value.map((each) => (key === 'conditions' && typeof each === 'string' ? toCondition(each) : revive(each)))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, revive(each, name)]))
}

/** The rows of a table in a file of data, for `it.each`. */
export function rows<Row>(path: string, table: string): readonly Row[] {
  const rows = (load(readFileSync(path, 'utf8')) as Record<string, readonly Row[]>)[table]
  if (rows === undefined) throw new Error(`${path} has no table "${table}"`)
  return revive(rows) as readonly Row[]
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
