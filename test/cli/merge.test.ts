import { writeFileSync } from 'node:fs'
import { renderReport } from '../../src/report/json-report.ts'
import { rows } from '../kit/rows.ts'
import { cases } from '../report/cases.ts'
import { runCommand } from '../support/command.ts'
import { useWorkFolder } from './work-folder.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

useWorkFolder()

beforeEach(() => {
  for (const [name, key] of Object.entries({ eu: 'one-ready', us: 'missing-image' })) {
    const record = cases[key]
    if (record !== undefined) writeFileSync(`${name}.json`, renderReport(record))
  }
})

const merge = (...args: readonly string[]) => runCommand(['merge', ...args])

it('the command merge prints a line for each gate and the evidence, and exits like the command wait', async () => {
  const { code, stdout, stderr } = await merge('eu=eu.json', 'us=us.json')
  expect(code).toBe(1)
  expect(stdout).toContain('  eu  ✓ ready in 31 s: 1 of 1 target\n  us  ✗ failed after 22 s: image-not-found: ')
  expect(stdout).toContain('✗ Rollout failed after 22 s · deployment/web in us: image ghcr.io/acme/web:v2 not found\n')
  expect(stderr).toBe('')
  expect((await merge('eu.json')).code).toBe(0)
})

it('the command merge prints Markdown with --summary, and its log to stderr', async () => {
  const { stdout, stderr } = await merge('eu=eu.json', 'us=us.json', '--summary')
  expect(stdout).toMatch(/^### ❌ Rollout failed /)
  expect(stderr).toMatch(/^Rollout Gate · 2 gates/)
})

it('the command merge prints one report with --json, which cannot be merged again', async () => {
  const { stdout } = await merge('eu=eu.json', 'us=us.json', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ outcome: 'failed', gates: [{ name: 'eu' }, { name: 'us' }] })
  writeFileSync('all.json', stdout)
  const again = await merge('west=all.json')
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('all.json: It is a merged report.')])
})

it.each(rows<[string, readonly string[], string]>(data, 'the mistakes of merge'))(
  '%s is rejected',
  async (_, args, message) => {
    const { code, stderr } = await merge(...args)
    expect([code, stderr]).toEqual([2, message])
  },
)
