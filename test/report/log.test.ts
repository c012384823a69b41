import { openConclusion } from '../../src/gate/run-record.ts'
import type { Entry } from '../../src/gate/timeline-entries.ts'
import type { TargetClocks } from '../../src/plan/target.ts'
import { layoutLog, renderEntry, renderHeader, renderVerdict } from '../../src/report/log.ts'
import { rows } from '../kit/rows.ts'
import { toSubject } from '../kit/subject.ts'
import { at, createEntry, createProblem, createRecord, createTarget, createTargetRecord, start } from './builders.ts'
import { cases } from './cases.ts'
import { records } from './recorded.ts'
import { expectSnapshot } from './snapshot.ts'
import { renderLog } from './whole-log.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const head = {
  startedAt: start,
  cluster: { context: 'prod', version: '' },
  timeoutMs: 600_000,
  stallTimeoutMs: 300_000,
  targets: [createTarget(), createTarget({ name: 'web-worker' })],
}

it.each(Object.entries(cases))('the log of the test record %s matches its snapshot', (name, record) => {
  expectSnapshot(`${renderLog(record, { color: false }).join('\n')}\n`, `${name}.txt`)
})

it.each(Object.entries(records))(
  'the log of the test record %s contains no runner commands except groups',
  (_, record) => {
    for (const line of renderLog(record)) {
      const visible = line.replace(/\x1b\[\d+m/g, '').replace(/^::(?:group::[^\n]*|endgroup::)$/, '')
      expect(visible).not.toMatch(/^\s*::|##\[|[\p{Cc}\p{Cf}\u2028\u2029]/u)
    }
  },
)

it('the columns of the log align whatever the length of names', () => {
  const layout = layoutLog(head, { color: false })
  expect(renderEntry(createEntry({ text: 'one' }), layout)).toBe(' 0:00  deployment/web         one')
  expect(renderEntry(createEntry({ at: at(61), target: 1, text: 'two' }), layout)).toBe(
    ' 1:01  deployment/web-worker  two',
  )
  expect(renderEntry({ at: at(62), kind: 'note', text: 'three' }, layout)).toBe(' 1:02                         three')
})

it('the log of a gate with a timeout of hours has a wider clock', () => {
  const layout = layoutLog({ ...head, timeoutMs: 7_200_000 }, { color: false })
  expect(renderEntry(createEntry({ at: at(4_000), text: 'late' }), layout)).toBe('1:06:40  deployment/web         late')
})

it('the log contains namespaces only if there are several', () => {
  const targets = [createTarget({ namespace: 'a' }), createTarget({ namespace: 'b' })]
  const layout = layoutLog({ ...head, targets }, { color: false })
  expect(layout.names).toEqual(['deployment/web in a', 'deployment/web in b'])
  expect(renderHeader({ ...head, targets }, layout)).toContain('2 targets in 2 namespaces')
})

it('long names that differ only in the middle stay distinct in the log', () => {
  const nameOf = (colour: string) => `the-release-of-a-long-chart-with-a-${colour}-worker-for-the-shop`
  const targets = ['blue', 'pink'].map((colour) => createTarget({ name: nameOf(colour) }))
  expect(layoutLog({ ...head, targets }).names).toEqual(targets.map(({ name }) => `deployment/${name}`))
})

it('targets with the same short name are logged with their group', () => {
  const targets = [
    createTarget({ apiVersion: 'v1', kind: 'Service' }),
    createTarget({ apiVersion: 'serving.knative.dev/v1', kind: 'Service' }),
  ]
  expect(layoutLog({ ...head, targets }).names).toEqual(['service/web', 'service.serving.knative.dev/web'])
})

it('the header shows clocks that are off', () => {
  const layout = layoutLog(head, { color: false })
  expect(renderHeader({ ...head, timeoutMs: 0 }, layout)).toBe(
    'Rollout Gate · context prod · 2 targets in shop · timeout off · stall 5m',
  )
})

it.each(rows<[string, TargetClocks[], string]>(data, 'the clocks of the header'))(
  'the header shows the clocks %s',
  (_, clocks, expected) => {
    const targets = clocks.map((each, index) => createTarget({ name: `w${index}`, clocks: each }))
    const text = renderHeader({ ...head, targets }, layoutLog({ ...head, targets }, { color: false }))
    expect(text.slice(text.indexOf('timeout'))).toBe(expected)
  },
)

it('verdicts in the log are green, red or yellow', () => {
  const layout = layoutLog(head)
  const verdict = (outcome: 'ready' | 'failed' | 'superseded') =>
    renderEntry(createEntry({ kind: 'verdict', outcome, text: 'why' }), layout)
  expect(verdict('ready')).toContain('\x1b[32m✓ ready in 0 s\x1b[0m: why')
  expect(verdict('failed')).toContain('\x1b[31m✗ failed after 0 s\x1b[0m: why')
  expect(verdict('superseded')).toContain('\x1b[33m! superseded after 0 s\x1b[0m: why')
})

it('the last lines of the log do not repeat a verdict right above', () => {
  const message = 'container app of pod/web-x exited with code 3'
  const failed = createTargetRecord({
    outcome: 'failed',
    reason: 'crash-loop',
    message,
    form: 'complete',
    hint: 'Mend it.',
  })
  const end = createEntry({ kind: 'verdict', outcome: 'failed', text: `crash-loop: ${message}` })
  const verdict = { outcome: 'failed', reason: 'crash-loop', message } as const
  const rendered = (...entries: Entry[]) =>
    renderVerdict(
      createRecord({ verdict, targets: [failed, createTargetRecord()], entries }),
      layoutLog(head, { color: false }),
    )
  expect(rendered(end).slice(1)).toEqual(['  → Mend it.', '  1 failed, 1 ready'])
  // After lines of other targets, the log repeats the problem.
  const other = createEntry({ target: 1, text: '3 pods started' })
  expect(rendered(end, other)[1]).toBe('  Container app of pod/web-x exited with code 3')
})

it('the log of an open gate has no verdict', () => {
  const open = { ...createRecord(), ...openConclusion }
  expect(renderVerdict(open, layoutLog(head))).toEqual([])
})

it('the evidence of many targets is cut in the log, with a line about the rest', () => {
  const failed = createTargetRecord({ outcome: 'failed', reason: 'crash-loop', message: 'it crashes' })
  const lines = renderLog(createRecord({ targets: Array.from({ length: 50 }, () => failed) }), { color: false })
  expect(lines.filter((line) => line.startsWith('::group::'))).toHaveLength(20)
  expect(lines.at(-1)).toBe('30 more targets not ready: see the report.')
})

it('the evidence of the deciding target does not repeat the message and the hint above', () => {
  const target = (name: string) =>
    createTargetRecord({
      target: createTarget({ name }),
      outcome: 'failed',
      reason: 'crash-loop',
      message: `container app of pod/${name}-x exited with code 3`,
      form: 'complete',
      hint: `Mend ${name}.`,
      problems: [
        createProblem({ reason: 'crash-loop', subject: toSubject(`pod/${name}-x`), message: 'exited with code 3' }),
      ],
    })
  const text = renderLog(
    createRecord({
      verdict: { outcome: 'failed', reason: 'crash-loop', message: 'x' },
      targets: [target('web'), target('api')],
      entries: [],
    }),
    { color: false },
  )
  expect(text.filter((line) => line.includes('Mend web.'))).toHaveLength(1)
  expect(text.filter((line) => line.includes('pod/web-x exited with code 3'))).toHaveLength(1)
  expect(text).toContain('  What to do: Mend api.')
  expect(text).toContain('  crash-loop · container app of pod/api-x · 2 times since 0:03')
})

it('a deciding target without evidence has no empty group in the log', () => {
  const problem = createProblem({
    reason: 'suspended',
    subject: toSubject('job/migrate'),
    container: undefined,
    count: 1,
    message: 'is suspended',
  })
  const target = createTargetRecord({
    target: createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' }),
    outcome: 'stalled',
    reason: 'suspended',
    message: 'is suspended',
    problems: [problem],
  })
  const verdict = { outcome: 'stalled', reason: 'suspended', message: 'x' } as const
  const text = renderLog(createRecord({ verdict, targets: [target], entries: [] }), { color: false })
  expect(text.filter((line) => line.includes('evidence'))).toEqual([])
})

it('a percent sign in the title of a group survives the decoding of the runner', () => {
  const failed = createTargetRecord({ target: createTarget({ name: '100%0Aweb' }), outcome: 'failed', message: 'x' })
  expect(renderLog(createRecord({ targets: [failed] }))).toContain('::group::✗ deployment/100%250Aweb')
})
