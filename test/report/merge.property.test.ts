import fc from 'fast-check'
import { reportSchema } from '../../src/gate/report-schema.ts'
import { buildOutputs } from '../../src/outputs.ts'
import { buildAnnotations } from '../../src/report/annotations.ts'
import { buildReport, readRecord } from '../../src/report/json-report.ts'
import { renderMergedLog } from '../../src/report/log.ts'
import type { ReportFile } from '../../src/report/merge-reports.ts'
import { mergeReports } from '../../src/report/merge-reports.ts'
import { renderSummary } from '../../src/report/summary.ts'
import { parameters } from '../support/thorough.ts'
import { records } from './recorded.ts'

/** Large reports would only take longer. */
const whole = Object.values(records)
  .filter(({ targets }) => targets.length < 10)
  .map((record) => JSON.stringify(buildReport(record)))

const values = fc.oneof(
  fc.constantFrom(
    '',
    '::error::x',
    '##[error]x',
    '\n::add-mask::a',
    '`|<b>',
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59Z',
  ),
  fc.string(),
  fc.constantFrom(0, 1, 1e15, 1e300),
)

/** Replaces some values of a report by others of their type. */
function mutate(report: unknown, changes: readonly (string | number)[]): unknown {
  let next = 0
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit)
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, visit(each)]))
    next = (next + 1) % (changes.length * 3)
    const change = changes[next]
    return typeof change === typeof value ? change : value
  }
  return visit(report)
}

const reports = fc
  .tuple(fc.constantFrom(...whole), fc.array(values, { minLength: 1, maxLength: 40 }))
  .map(
    ([text, changes]) =>
      reportSchema.safeParse(mutate(JSON.parse(text), changes)).data ?? reportSchema.parse(JSON.parse(text)),
  )

const files: fc.Arbitrary<ReportFile> = fc.record(
  { path: fc.string(), name: fc.string({ minLength: 1 }), record: reports.map(readRecord), isPattern: fc.boolean() },
  { requiredKeys: ['path'] },
) as fc.Arbitrary<ReportFile>

it('any reports are merged into a valid report whose log contains no runner commands', () => {
  fc.assert(
    fc.property(fc.array(files, { minLength: 1, maxLength: 5 }), (all) => {
      const record = mergeReports(all, 0)
      const report = reportSchema.parse(buildReport(record))
      expect(report.gates?.length).toBeGreaterThanOrEqual(all.length)
      expect(new Set(report.gates?.map(({ name }) => name)).size).toBe(report.gates?.length)
      const isReady = all.every((file) => file.record?.outcome === 'ready')
      expect(report.outcome === 'ready').toBe(isReady)
      const lines = renderMergedLog(record, { color: false, groups: true })
      expect(lines.filter((line) => /[\n\r]|##\[|^\s*::(?!group::|endgroup::)/.test(line))).toEqual([])
      renderSummary(record)
      buildAnnotations(record)
      buildOutputs(record, { report: '', summary: '' })
    }),
    parameters,
  )
})
