import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { buildReport } from '../src/report/json-report.ts'
import { replayOnce } from './support/recordings.ts'

const hasTools = ['jq', 'bash'].every((tool) => spawnSync(tool, ['--version']).status === 0)
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'report-recipes-'))
  const { runRecord: record } = await replayOnce('helm-4-hook-fails')
  writeFileSync(join(folder, 'report.json'), JSON.stringify(buildReport(record)))
  // Prints its arguments: the recipe is tested, not the tool.
  writeFileSync(join(folder, 'otel-cli'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 })
})

afterAll(() => rmSync(folder, { recursive: true }))

function runExample(name: string): string {
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH']}`, REPORT: 'report.json' }
  const ended = spawnSync('bash', [resolve('examples/reports', name)], { cwd: folder, env })
  expect({ status: ended.status, stderr: String(ended.stderr) }).toEqual({ status: 0, stderr: '' })
  return String(ended.stdout)
}

const describeWithTools = hasTools ? describe : describe.skip

describeWithTools('the recipe for the report creates', () => {
  it('a JUnit report with a test case for each resource and the reason of the failed one', () => {
    runExample('junit.sh')
    const xml = readFileSync(join(folder, 'rollout.xml'), 'utf8')
    expect(xml.match(/<testcase /g)).toHaveLength(3)
    expect(xml).toContain('failures="1"')
    expect(xml).toMatch(/<failure type="[a-z-]+" message="[^"<>]+">[^<>]+<\/failure>/)
  })

  it('a trace with a span for each resource and the status of the failed one', () => {
    const spans = runExample('trace.sh').trim().split('\n')
    expect(spans).toHaveLength(3)
    expect(spans.filter((span) => span.includes('--status-code error --attrs outcome=failed'))).toHaveLength(1)
    for (const span of spans) expect(span).toMatch(/--start \d{4}-\S+Z --end \d{4}-\S+Z/)
  })

  it('a table with a line for each report', () => {
    copyFileSync(join(folder, 'report.json'), join(folder, 'other.json'))
    expect(runExample('runs.sh').trim().split('\n')).toEqual(
      Array(2).fill(expect.stringMatching(/^\S+Z {2}failed {2}[a-z-]+ {2}[\d.]+ s$/)),
    )
  })
})
