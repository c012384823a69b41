import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createVerdict } from '../../src/gate/outcome.ts'
import { reportJsonSchema, reportSchema } from '../../src/gate/report-schema.ts'
import { type EndedRunRecord, emptyRecord, type TargetRecord } from '../../src/gate/run-record.ts'
import { buildOutputs } from '../../src/outputs.ts'
import { buildAnnotations, buildWarnings } from '../../src/report/annotations.ts'
import { buildReport, renderReport } from '../../src/report/json-report.ts'
import { readData, rows } from '../kit/rows.ts'
import { at, createRecord, createTarget, createTargetRecord, type RecordOverrides } from './builders.ts'
import { type RecordData, toRecord } from './record-data.ts'
import { records } from './recorded.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const caseOf = (name: string): EndedRunRecord => records[name] ?? createRecord()

const expected = readData(data) as Readonly<
  Record<'report without targets' | 'fields of the report' | 'milestones of the report', object>
>

it.each(Object.keys(records))('the report "%s" matches the published schema', (name) => {
  const text = renderReport(caseOf(name))
  expect(reportSchema.safeParse(JSON.parse(text)).error).toBeUndefined()
})

it('the report of a gate without targets contains only its conclusion', () => {
  const verdict = createVerdict('unknown', 'api-unreachable', { outage: 'no answer' })
  expect(JSON.parse(renderReport(emptyRecord(verdict, 0, 1_000)))).toEqual(expected['report without targets'])
})

it('the report contains all documented fields', () => {
  const report = buildReport(caseOf('missing-image'))
  expect(report).toMatchObject(expected['fields of the report'])
  expect(report.targets[0]?.milestones.slice(3, 6)).toEqual(expected['milestones of the report'])
})

it('the published schema of the report is up to date', () => {
  const published = readFileSync(join(import.meta.dirname, '../../schemas/report.schema.json'), 'utf8')
  // Else run: npm run docs
  expect(JSON.parse(published)).toEqual(reportJsonSchema())
})

const files = { report: '/tmp/report.json', summary: '/tmp/summary.md' }

/** What each of these reads of a record. */
const views: Readonly<Record<string, (record: EndedRunRecord) => unknown>> = {
  'the outputs': (record) => {
    const outputs = buildOutputs(record, files)
    return [outputs.outcome, outputs.reason, outputs['duration-seconds'], JSON.parse(outputs['failed-resources'])]
  },
  'the slowest milestone': (record) => buildOutputs(record, files)['slowest-milestone'],
  'the annotations': (record) => buildAnnotations(record),
  'the warnings': (record) => buildWarnings(record),
}

it.each(rows<[string, string, string | RecordData, unknown]>(data, 'what a record shows'))(
  '%s %s',
  (view, _, record, expected) => {
    expect(views[view]?.(typeof record === 'string' ? caseOf(record) : toRecord(record))).toEqual(expected)
  },
)

const verdict = { outcome: 'failed', reason: 'crash-loop', message: 'x' } as const
const failed = (name: string, seconds: number, overrides: RecordOverrides = {}) =>
  createTargetRecord({
    target: createTarget({ name }),
    outcome: 'failed',
    reason: 'crash-loop',
    message: 'it crashes',
    endedAt: at(seconds),
    ...overrides,
  })
const read = (...targets: TargetRecord[]) => {
  const text = buildOutputs(createRecord({ verdict, targets }), files)['failed-resources']
  return { text, entries: JSON.parse(text) as { target?: string; namespace?: string; more?: number }[] }
}

it('failed-resources begins with the deciding target; the other targets follow in the order of the input', () => {
  const stalled = failed('a', 1, { outcome: 'stalled', reason: 'no-progress' })
  const open = createTargetRecord({ target: createTarget({ name: 'd' }), outcome: 'progressing' })
  const { entries } = read(stalled, failed('b', 9), failed('c', 5), open, createTargetRecord())
  expect(entries.map(({ target }) => target)).toEqual(['c', 'a', 'b', 'd'].map((name) => `deployment.apps/${name}`))
})

it('failed-resources names the namespace of a namespaced target', () => {
  const { namespace: _, ...node } = createTarget({ apiVersion: 'v1', kind: 'PersistentVolume', name: 'disk' })
  const { entries } = read(failed('web', 1), failed('disk', 2, { target: node }))
  expect(entries.map(({ namespace }) => namespace)).toEqual(['shop', undefined])
})

it('failed-resources is cut at 64 KiB, and then its last entry counts the rest', () => {
  const message = 'ü'.repeat(300)
  const { text, entries } = read(...Array.from({ length: 500 }, (_, index) => failed(`w${index}`, 1, { message })))
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536)
  expect(Buffer.byteLength(text)).toBeGreaterThan(64_000)
  expect(entries.at(-1)).toEqual({ more: 500 - (entries.length - 1) })
  expect(entries[0]?.target).toBe('deployment.apps/w0')
})

it('the outputs are one harmless line each', () => {
  for (const value of Object.values(buildOutputs(caseOf('hostile'), files))) {
    expect(value).not.toMatch(/^\s*::|##\[|[\p{Cc}\p{Cf}\u2028\u2029]/u)
  }
})

describe('the annotations', () => {
  const failed = (overrides = {}) =>
    createTargetRecord({
      outcome: 'failed',
      reason: 'crash-loop',
      message: 'it crashes',
      hint: 'Fix it.',
      endedAt: at(9),
      ...overrides,
    })

  it('refer to the path in the repository after a checkout into a folder', () => {
    const tracked = new Map([['k8s/web.yaml', { path: 'deploy/web.yaml', url: 'https://github.com' }]])
    expect(buildAnnotations(caseOf('missing-image'), tracked)).toMatchObject([
      { file: 'deploy/web.yaml', startLine: 12 },
    ])
  })

  it('have no place if the file is not tracked, and name the file in their text', () => {
    const tracked = new Map([['k8s/web.yaml', 'untracked' as const]])
    const [annotation] = buildAnnotations(caseOf('missing-image'), tracked)
    expect(annotation).not.toHaveProperty('file')
    expect(annotation?.message).toMatch(/\nk8s\/web\.yaml, line 12$/)
  })

  it.each(['resources', '-', '/etc/web.yaml', '../web.yaml', 'C:\\web.yaml'])(
    'have no line if the target comes from %s',
    (file) => {
      const target = createTarget({ source: { file, line: 3 } })
      expect(buildAnnotations(createRecord({ targets: [failed({ target })] }))[0]).not.toHaveProperty('file')
    },
  )

  it('are at most eight, and the last one counts the rest', () => {
    const targets = Array.from({ length: 12 }, (_, index) => failed({ target: createTarget({ name: `web-${index}` }) }))
    const annotations = buildAnnotations(createRecord({ targets }))
    expect(annotations).toHaveLength(8)
    expect(annotations[7]?.title).toBe('5 more targets not ready')
    expect(annotations[7]?.message).toContain('deployment/web-11')
    expect(buildAnnotations(createRecord({ targets: targets.slice(0, 8) }))[7]?.title).toContain('web-7')
  })

  it('begin with the deciding target', () => {
    const verdict = { outcome: 'failed', reason: 'crash-loop', message: 'x' } as const
    const targets = Array.from({ length: 12 }, (_, index) =>
      failed({ target: createTarget({ name: `web-${index}` }), endedAt: at(20 - index) }),
    )
    expect(buildAnnotations(createRecord({ verdict, targets }))[0]?.title).toContain('web-11')
  })

  it('do not exceed the maximum length', () => {
    const message = Array.from({ length: 50 }, () => 'x'.repeat(500)).join('\n')
    expect(buildAnnotations(createRecord({ targets: [failed({ message })] }))[0]?.message).toHaveLength(1_500)
  })
})
