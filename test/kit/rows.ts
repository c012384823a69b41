import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'

/** The rows of a table in a file of data, for `it.each`. */
export function rows<Row>(path: string, table: string): readonly Row[] {
  const rows = (load(readFileSync(path, 'utf8')) as Record<string, readonly Row[]>)[table]
  if (rows === undefined) throw new Error(`${path} has no table "${table}"`)
  return rows
}
