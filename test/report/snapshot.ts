import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ownFolder = join(import.meta.dirname, 'snapshots')

/**
 * Compares a rendered text with the file of this name, which a reviewer can open.
 * With UPDATE_SNAPSHOTS=1 the file is written instead.
 */
export function expectSnapshot(text: string, name: string, folder: string = ownFolder): void {
  const path = join(folder, name)
  if (process.env['UPDATE_SNAPSHOTS'] === '1') {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path, text)
    return
  }
  const howTo = `If the change is intended, run UPDATE_SNAPSHOTS=1 npm test with this test's path, and review ${path}`
  if (!existsSync(path)) throw new Error(`Snapshot ${name} does not exist. ${howTo}`)
  const expected = readFileSync(path, 'utf8')
  if (text === expected) return
  process.stderr.write(`${howTo}\n`)
  expect(text).toBe(expected)
}
