import { isPassing, type Outcome } from '../../src/gate/outcome.ts'
import { reportSchema } from '../../src/gate/report-schema.ts'
import type { EndedRunRecord, RunRecord, WorkflowRunRecord } from '../../src/gate/run-record.ts'
import type { Entry } from '../../src/gate/timeline-entries.ts'
import { buildOutputs } from '../../src/outputs.ts'
import { buildAnnotations } from '../../src/report/annotations.ts'
import { namedTargets } from '../../src/report/headline.ts'
import { buildReport, readRecord } from '../../src/report/json-report.ts'
import { renderMergedLog } from '../../src/report/log.ts'
import { mergeReports, type ReportFile } from '../../src/report/merge-reports.ts'
import { wayBackLines } from '../../src/report/rollback.ts'
import { renderSummary } from '../../src/report/summary.ts'
import { renderDetails } from '../../src/report/target-details.ts'
import { at, createRecord, createTarget, createTargetRecord, start } from './builders.ts'
import { records } from './recorded.ts'
import { expectSnapshot } from './snapshot.ts'

const plainLog = { color: false, groups: false }

/** The report of a gate as a job writes it and another one reads it. */
function file(written: EndedRunRecord, name?: string, path = `reports/${name}/report.json`): ReportFile {
  const record = readRecord(reportSchema.parse(JSON.parse(JSON.stringify(buildReport(written)))))
  return { path, record, ...(name === undefined ? {} : { name }) }
}

function ended(outcome: Outcome, seconds = 10): EndedRunRecord {
  const reason = outcome === 'ready' ? '' : 'no-progress'
  const message = `message of ${outcome}`
  return createRecord({
    finishedAt: at(seconds),
    verdict: { outcome, reason, message },
    targets: [createTargetRecord({ outcome, reason, message, endedAt: at(seconds) })],
  })
}

const caseOf = (name: string): EndedRunRecord => records[name] ?? createRecord()
const threeClusters = () => [
  file(caseOf('all-ready'), 'prod-us'),
  file({ ...caseOf('missing-image'), cluster: { context: 'eu-1', version: 'v1.34.4' } }, 'prod-eu'),
  { name: 'prod-ap', path: 'reports/prod-ap/report.json' },
]

it.each<[readonly Outcome[], Outcome]>([
  [['ready', 'ready'], 'ready'],
  [['ready', 'timed-out'], 'timed-out'],
  [['timed-out', 'stalled'], 'stalled'],
  [['stalled', 'superseded'], 'superseded'],
  [['superseded', 'failed'], 'failed'],
  [['failed', 'misconfigured'], 'misconfigured'],
  [['misconfigured', 'unknown'], 'unknown'],
  [['unknown', 'cancelled'], 'cancelled'],
])('the outcomes %j are merged to %s, in any order', (outcomes, expected) => {
  const files = outcomes.map((outcome) => file(ended(outcome), outcome))
  for (const order of [files, files.toReversed()]) {
    expect(mergeReports(order, 0).outcome).toBe(expected)
  }
})

it.each<[string, ReportFile]>([
  ['failed', file({ ...ended('failed'), targets: [] }, undefined, 'a.json')],
  ['superseded', file({ ...ended('superseded'), targets: [] }, undefined, 'a.json')],
])('a report that is %s and has no targets is no success', (_, forgery) => {
  for (const files of [[forgery], [file(ended('ready'), 'ready'), forgery]]) {
    const merged = mergeReports(files, 0)
    expect(merged.outcome).toBe(forgery.record?.outcome)
    expect(isPassing(merged, 'pass')).toBe(false)
    expect(merged.gates?.map(({ outcome }) => outcome)).toContain(forgery.record?.outcome)
  }
})

it('annotations that changed the gated objects are in the merged report once', () => {
  const files = ['eu', 'us'].map((name) => file(createRecord({ annotations: [`rollout-gate/skip of job/db`] }), name))
  const merged = mergeReports(files, 0)
  expect(merged.annotations).toEqual(['rollout-gate/skip of job/db'])
})

it('the log lines of each target are the same as in its own summary', () => {
  const entries: Entry[] = [
    { at: at(2), target: 0, kind: 'problem', text: 'container app of pod/web-x exited with code 1' },
    { at: at(3), target: 0, kind: 'note', text: 'scaled from 2 to 3 replicas' },
    { at: at(4), target: 0, kind: 'progress', text: '3 pods ready' },
    { at: at(4), target: 0, kind: 'verdict', outcome: 'ready', text: 'revision 2' },
    { at: at(4), kind: 'heartbeat', text: 'still waiting' },
  ]
  const merged = mergeReports(
    [file({ ...ended('ready'), entries: [] }, 'us'), file({ ...ended('ready'), entries }, 'eu')],
    0,
  )
  expect(merged.entries).toEqual(entries.slice(0, 4).map((entry) => ({ ...entry, target: 1 })))
})

it.each<[string, Outcome, object]>([
  [
    'decides the merged outcome if all others are ready',
    'ready',
    { outcome: 'unknown', message: 'us: there is no report us.json' },
  ],
  [
    'does not decide if another one failed',
    'failed',
    { outcome: 'failed', message: /^eu: .* \(and 1 more gate not ready\)$/ },
  ],
  ['does not decide if another one stalled', 'stalled', { outcome: 'stalled' }],
])('a gate that did not run %s', (_, outcome, expected) => {
  const { message, ...merged } = mergeReports([{ name: 'us', path: 'us.json' }, file(ended(outcome), 'eu')], 0)
  const { message: text = /^/, ...rest } = expected as { readonly message?: string | RegExp }
  expect(merged).toMatchObject(rest)
  expect(message).toMatch(text)
})

it('the message about a pattern without a match or an empty path contains the cause', () => {
  const messageOf = (missing: ReportFile) => mergeReports([missing], start).message
  expect(messageOf({ path: 'reports/*.json', isPattern: true })).toBe(
    'reports/*.json: no report matches reports/*.json',
  )
  expect(messageOf({ name: 'eu', path: '' })).toBe('eu: the path of its report is empty')
})

it('among equal outcomes, the gate with the shortest duration decides, then the first', () => {
  const deciding = (...seconds: readonly number[]) =>
    mergeReports(
      seconds.map((each, index) => file(ended('failed', each), `gate-${index}`)),
      0,
    ).message.split(':')[0]
  expect(deciding(20, 10)).toBe('gate-1')
  expect(deciding(10, 10)).toBe('gate-0')
})

it('the headline, the annotation and failed-resources name the deciding gate', () => {
  const record = mergeReports(threeClusters().slice(0, 2), 0)
  expect(renderSummary(record).split('\n')[0]).toBe(
    '### ❌ Rollout failed after 22 s · deployment/web in prod-eu: image ghcr.io/acme/web:v2 not found',
  )
  expect(buildAnnotations(record)).toMatchObject([{ title: expect.stringContaining('deployment/web in prod-eu') }])
  const [first] = JSON.parse(buildOutputs(record, { report: '', summary: '' })['failed-resources'])
  expect(first).toMatchObject({ target: 'deployment.apps/web', gate: 'prod-eu' })
})

it('each gate that is not ready shows what serves now and its undo', () => {
  const undo = { revision: 6, serving: { revision: 6, images: ['acme/web:v1'], ready: 2, wanted: 2 } }
  const failed = (context: string) => {
    const verdict = { outcome: 'failed', reason: 'crash-loop', message: '' } as const
    const target = createTargetRecord({ ...verdict, undo, changedAt: at(-60), change: 'recent' })
    return file(createRecord({ context, verdict, targets: [target] }), context)
  }
  const merged = mergeReports([failed('eu'), failed('us'), file(ended('ready'), 'ap')], 0)
  const undone = 'rollout undo deployment/web -n shop --to-revision=6'
  expect(wayBackLines(merged)).toEqual([
    'eu: Revision 6 (acme/web:v1) still serves with 2 of 2 pods.',
    'us: Revision 6 (acme/web:v1) still serves with 2 of 2 pods.',
    `Back: kubectl --context eu ${undone} && kubectl --context us ${undone}`,
  ])
})

it('the merged report is valid and contains the names, contexts and times of each gate', () => {
  const later = 3_600_000
  const ready = caseOf('one-ready')
  const shifted: EndedRunRecord = {
    ...ready,
    startedAt: ready.startedAt + later,
    finishedAt: ready.finishedAt + later,
    entries: ready.entries.map((entry) => ({ ...entry, at: entry.at + later })),
    targets: ready.targets.map((target) => ({
      ...target,
      endedAt: (target.endedAt ?? 0) + later,
      milestones: target.milestones.map(({ at = 0, ...rest }) => ({ ...rest, at: at + later })),
    })),
  }
  const single = buildReport(shifted)
  const report = reportSchema.parse(buildReport(mergeReports([file(ready, 'eu'), file(shifted, 'us')], 0)))
  expect(report).toMatchObject({ schema: 1, outcome: 'ready', reason: '', durationSeconds: 31 })
  expect([report.startedAt, report.finishedAt]).toEqual([buildReport(ready).startedAt, single.finishedAt])
  expect(report.gates?.map(({ name, durationSeconds }) => [name, durationSeconds])).toEqual([
    ['eu', 31],
    ['us', 31],
  ])
  expect(report.targets[1]).toEqual({ ...single.targets[0], gate: 'us', context: 'prod' })
})

it('a gate without a name is named after its context, or after its path if contexts repeat', () => {
  const names = (...files: readonly ReportFile[]) => mergeReports(files, 0).gates?.map(({ name }) => name)
  const of = (context: string, path: string) =>
    file({ ...ended('ready'), cluster: { context, version: '' } }, undefined, path)
  expect(names(of('eu', 'a.json'), of('us', 'b.json'))).toEqual(['eu', 'us'])
  expect(names(of('prod', 'a.json'), of('prod', 'b.json'), of('', 'c.json'))).toEqual(['a.json', 'b.json', 'c.json'])
})

it('a merged report without any report has the present time', () => {
  const report = buildReport(mergeReports([{ path: 'a.json' }], start))
  expect(report).toMatchObject({ startedAt: new Date(start).toISOString(), durationSeconds: 0, targets: [] })
})

it('targets with the same name in two gates are distinguished in the summary and the diagram', () => {
  const files = [file(ended('ready'), 'eu'), file(ended('failed'), 'us')]
  const summary = renderSummary(mergeReports(files, 0))
  expect(summary).toContain('section deployment/web in eu')
  expect(summary).toContain('section deployment/web in us')
  expect(summary).toContain('| ✅ | deployment/web | eu |')
})

// What a report contains suffices to show a target as its own gate did.
it.each(Object.keys(records))('the merged details of the test record %s are those of its own summary', (name) => {
  const { startedAt, finishedAt } = caseOf(name)
  const merged = mergeReports([file(caseOf(name), 'eu')], 0)
  const options = { startedAt, finishedAt, evidenceLines: 200, tracked: undefined }
  const details = (record: RunRecord) =>
    namedTargets(record).map((each) =>
      renderDetails({ ...each, name: 'web', isDeciding: false, isHintAbove: false }, options),
    )
  expect(details(merged)).toEqual(details(caseOf(name)))
})

it('the summary and the log of three clusters match their snapshots', () => {
  const record = mergeReports(threeClusters(), 0)
  expectSnapshot(renderSummary(record), 'merged-three-clusters.md')
  expectSnapshot(`${renderMergedLog(record, plainLog).join('\n')}\n`, 'merged-three-clusters.txt')
})

it('the summary and the log of hostile names, contexts and messages match their snapshots', () => {
  const hostile: EndedRunRecord = {
    ...ended('unknown'),
    cluster: { context: '::error::x <b>|`', version: 'v1.34.4' },
    reason: 'api-unreachable',
    message: '::add-mask::a ##[error]b\n| <img src=x> @octocat',
  }
  const record = mergeReports([file(hostile, undefined, 'a.json'), file(hostile, '<img src=x>| `a` @octocat')], 0)
  expectSnapshot(renderSummary(record), 'merged-hostile.md')
  expectSnapshot(`${renderMergedLog(record, { ...plainLog, groups: true }).join('\n')}\n`, 'merged-hostile.txt')
})

it('a name that only one target has is as short as in the report of its gate', () => {
  const only = createTarget({ name: 'api' })
  const record = mergeReports([file(createRecord({ targets: [createTargetRecord({ target: only })] }), 'eu')], 0)
  expect(renderSummary(record)).not.toContain('in eu')
})

const own = { id: '77', attempt: 2, commit: '1'.repeat(40) }
const of = (run: WorkflowRunRecord | undefined) => file({ ...ended('ready'), run }, undefined, 'eu/report.json')
const mergedOf = (run: WorkflowRunRecord | undefined) => mergeReports([of(run)], 0, own)

it.each([
  ['of the same attempt', own],
  ['of an earlier attempt, whose job did not run again', { ...own, attempt: 1 }],
])('in a workflow run, a report %s counts', (_, run) => {
  expect(mergedOf(run).outcome).toBe('ready')
})

it.each([
  ['of another run', { ...own, id: '76' }],
  ['of another commit', { ...own, commit: '2'.repeat(40) }],
  ['without a run', undefined],
])('in a workflow run, a report %s is unknown, although it is ready', (_, run) => {
  expect(mergedOf(run)).toMatchObject({
    outcome: 'unknown',
    reason: 'report-missing',
    message: expect.stringContaining('the report eu/report.json is of another run or commit'),
  })
})

it('outside of a workflow run, a report of any run counts', () => {
  expect(mergeReports([of({ ...own, id: '76' })], 0).outcome).toBe('ready')
})
