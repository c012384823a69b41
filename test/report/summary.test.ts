import { UserError } from '../../src/errors.ts'
import { type EndedRunRecord, misconfiguredRecord, openConclusion } from '../../src/gate/run-record.ts'
import { renderSummary } from '../../src/report/summary.ts'
import type { TrackedFiles } from '../../src/workspace.ts'
import { rows } from '../kit/rows.ts'
import {
  at,
  createEntry,
  createEvidence,
  createProblem,
  createRecord,
  createTarget,
  createTargetRecord,
} from './builders.ts'
import { cases, hostileWords } from './cases.ts'
import { type RecordData, toRecord } from './record-data.ts'
import { records } from './recorded.ts'
import { expectSnapshot } from './snapshot.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

/** Every manifest of a record is a tracked file, in the same folder. */
const trackedOf = ({ targets }: EndedRunRecord): TrackedFiles =>
  new Map(
    targets.map(({ source }) => {
      const path = source?.file ?? ''
      return [
        path,
        { path, url: `https://github.com/acme/shop/blob/0123abc/${path.split('/').map(encodeURIComponent).join('/')}` },
      ]
    }),
  )
const caseOf = (name: string): EndedRunRecord => records[name] ?? createRecord()

it.each(Object.entries(cases))('the summary of the test record %s matches its snapshot', (name, record) => {
  expectSnapshot(renderSummary(record, { tracked: trackedOf(record) }), `${name}.md`)
})

it('the summary of an open gate counts the ready targets', () => {
  const targets = [createTargetRecord(), createTargetRecord({ outcome: 'progressing', endedAt: undefined })]
  const open = { ...createRecord({ finishedAt: at(14), targets }), ...openConclusion }
  expect(renderSummary(open)).toMatch(/^### ⏳ Rollout in progress for 14 s · 1 of 2 targets ready\n/)
})

it.each(
  rows<[string, string | RecordData, readonly string[], readonly string[]]>(data, 'what a summary contains, and lacks'),
)('%s', (_, record, contained, lacking) => {
  const summary = renderSummary(typeof record === 'string' ? caseOf(record) : toRecord(record))
  for (const words of contained) expect(summary).toContain(words)
  for (const words of lacking) expect(summary).not.toContain(words)
})

it('the summary links a line of the manifest if the file is tracked', () => {
  const record = caseOf('missing-image')
  expect(renderSummary(record, { tracked: trackedOf(record) })).toContain(
    '[`k8s/web.yaml` line 12](https://github.com/acme/shop/blob/0123abc/k8s/web.yaml#L12)',
  )
  const untracked = new Map([['k8s/web.yaml', 'untracked' as const]])
  for (const tracked of [untracked, new Map(), undefined])
    expect(renderSummary(record, { tracked })).toContain('(manifest unknown) · `k8s/web.yaml` line 12\n')
})

it('the summary repeats neither the message nor a log that is the same in two runs', () => {
  const log = (title: string) => createEvidence({ type: 'log', title, text: 'no database' })
  const problem = createProblem({
    message: 'exited with code 3, 3 times',
    evidence: [createEvidence({ text: '0:01  BackOff' }), log('Last log lines'), log('Its run before')],
  })
  const text = renderSummary(
    createRecord({
      verdict: { outcome: 'failed', reason: 'crash-loop', message: 'x' },
      targets: [
        createTargetRecord({
          outcome: 'failed',
          reason: 'image-not-found',
          message: 'container app of pod/web-x exited with code 3, 3 times',
          form: 'complete',
          problems: [problem],
        }),
      ],
      entries: [],
    }),
  )
  expect(text.match(/exited with code 3/g)).toHaveLength(1)
  expect(text.match(/no database/g)).toHaveLength(1)
  expect(text.indexOf('Last log lines')).toBeLessThan(text.indexOf('BackOff'))
})

const text = renderSummary(caseOf('many-targets'))

it('the summary of 500 targets begins with the number of targets by outcome', () => {
  expect(text).toContain(
    '\n\n❌ 20 × image not found · ❌ 10 × a container keeps crashing · 🛑 10 × the pods have no node · ⏳ 25 × in progress · ✅ 435 × ready\n\n',
  )
})

it('the summary of 500 targets shows the first that are not ready, and folds the others', () => {
  const table = text.slice(text.indexOf('|  | Target'), text.indexOf('<details>'))
  expect(table.match(/^\| (?:❌|🛑) \| \*\*/gm)).toHaveLength(15)
  expect(text).toContain('<details><summary>50 more targets not ready</summary>')
  expect(text).toContain('<details><summary>✅ 435 targets ready</summary>')
  expect(Buffer.byteLength(text)).toBeLessThan(120_000)
})

it('the summary of 500 targets explains ten that are not ready, and folds the others', () => {
  expect(text).toContain('<details><summary>Details of 30 more targets</summary>')
  expect(text.slice(0, text.indexOf('Details of 30 more')).match(/<summary>\S+ <b>/g)).toHaveLength(10)
})

it('no word makes a table of the summary wider than the page', () => {
  const cells = renderSummary(caseOf('hostile')).match(/^\|.*\|$/gm) ?? []
  const table = cells.filter((line) => line.includes('step 2 of 2'))
  const words = table.flatMap((line) => line.replace(/<[^>]+>/g, ' ').split(/\s+/))
  expect(Math.max(...words.map((word) => word.replace(/&#\d+;|\\|\*/g, '').length))).toBeLessThan(80)
})

it('a summary may follow another summary', () => {
  const both = renderSummary(caseOf('crash-loop')) + renderSummary(caseOf('one-ready'))
  expect(both).toMatch(/\n\n### ✅/)
})

it('hostile text in the summary opens no tag, block, link or diagram', () => {
  const text = renderSummary(caseOf('hostile'))
  const outside = text.replace(/^(`{3,})(?:mermaid)?\n[\s\S]*?\n\1$/gm, '')
  const tags = outside.match(/<[^>]*>/g) ?? []
  expect(tags.filter((tag) => !/^<\/?(?:details|summary|b|sub|br|code|span)>$/.test(tag))).toEqual([])
  expect(outside).not.toMatch(/@\w|(?<!&)#\d|\w:\/\/|www\.|(?<!\\)\]\(/)
  expect(text).not.toMatch(/[\u200b-\u200f\u202a-\u202e\u2066-\u2069\x00-\x09\x0b-\x1f\x7f-\x9f]/)
})

const log = Array.from(
  { length: 150 },
  (_, index) => `line ${index} ${'```'.repeat(index % 3)} ${'é'.repeat(150)}`,
).join('\n')
const evidence = [createEvidence({ type: 'log', title: 'Log', text: log })]
const huge = (targets: number): EndedRunRecord =>
  createRecord({
    verdict: { outcome: 'failed', reason: 'crash-loop', message: 'it crashes' },
    targets: Array.from({ length: targets }, (_, index) =>
      createTargetRecord({
        target: createTarget({ name: `web-${index}` }),
        ...(index % 2 === 0 ? { outcome: 'failed', reason: 'crash-loop', message: hostileWords.join(' ') } : {}),
        problems: Array.from({ length: 3 }, () => createProblem({ reason: 'crash-loop', evidence })),
      }),
    ),
    entries: Array.from({ length: 5_000 }, () => createEntry({ text: 'é'.repeat(200) })),
  })
const balanced = (text: string): void => {
  const fences = text.match(/^`{3,}(?:mermaid)?$/gm) ?? []
  const open = fences.reduce<string | undefined>(
    (mark, line) => (mark === undefined ? line.replace('mermaid', '') : line === mark ? undefined : mark),
    undefined,
  )
  expect(open).toBeUndefined()
  expect(text.match(/<details/g)?.length ?? 0).toBe(text.match(/<\/details>/g)?.length ?? 0)
}

const tooLarge = huge(40)
it.each([1_040_000, 200_000, 65_000, 10_000])(
  'a large summary is cut to %d bytes with complete code fences and a note about the missing parts',
  (maxBytes) => {
    const text = renderSummary(tooLarge, { maxBytes, reportPath: '/tmp/report.json' })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes)
    balanced(text)
    expect(text).toMatch(/^### ❌ Rollout failed/)
    expect(text).toContain("> Left out, to stay below GitHub's size limit: the evidence of ready targets, ")
    expect(text).toContain('All of it is in the JSON report: `/tmp/report.json`.')
  },
)

it('a large summary omits the evidence of ready targets first', () => {
  const whole = renderSummary(caseOf('all-ready'))
  const text = renderSummary(caseOf('all-ready'), { maxBytes: Buffer.byteLength(whole) - 1 })
  expect(text).toContain('size limit: the evidence of ready targets. All')
  expect(text).toContain('```mermaid')
  expect(text).not.toContain('with problems on the way')
})

it('a large summary does not mention an omission without effect', () => {
  expect(renderSummary(caseOf('one-ready'), { maxBytes: 900 })).toContain('size limit: the diagram. All')
})

it('a large summary keeps the end of a log because it contains the reason', () => {
  const record = createRecord({
    targets: [
      {
        ...huge(1).targets[0],
        ...createTargetRecord({ outcome: 'failed', reason: 'crash-loop', problems: [createProblem({ evidence })] }),
      },
    ],
  })
  const text = renderSummary(record, { maxBytes: 12_000 })
  expect(text).toContain('… 135 earlier lines left out\n')
  expect(text).toContain('line 149')
})

it('the summary of a gate that never began contains no clocks', () => {
  const error = new UserError([{ input: 'timeout', message: '"5" has no unit.' }])
  expect(renderSummary(misconfiguredRecord(error, 0, 0))).not.toMatch(/timeout off|stall timeout/)
})

it('several ready targets without a change share one line below the changed ones', () => {
  const unchanged = ['a', 'b', 'c'].map((name) =>
    createTargetRecord({ target: createTarget({ name }), change: 'none', changedAt: at(-90_000) }),
  )
  const text = renderSummary(createRecord({ targets: [createTargetRecord(), ...unchanged] }))
  expect(text).toContain('<details><summary>✅ 3 unchanged targets ready</summary>')
  expect(text.indexOf('deployment/web')).toBeLessThan(text.indexOf('✅ 3 unchanged targets ready'))
  expect(text.slice(0, text.indexOf('✅ 3 unchanged'))).not.toMatch(/\| deployment\/a /)
})
