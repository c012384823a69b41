import { rollbackOf, wayBackOf } from '../../src/report/rollback.ts'
import { renderSummary } from '../../src/report/summary.ts'
import { rows, titled } from '../kit/rows.ts'
import { createRecord } from './builders.ts'
import { type TargetData, toTargetRecord } from './record-data.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

/** A target that failed a minute after its change, and has an older revision; with what else is known. */
const failed = (other: TargetData = {}): TargetData => ({
  outcome: 'failed',
  reason: 'crash-loop',
  undo: { revision: 6 },
  changedAt: -60,
  change: 'recent',
  ...other,
})

/** The record of a gate that failed with these targets: those that failed, and others beside them. */
const recordOf = (targets: readonly TargetData[], others: readonly TargetData[] = [], context = 'prod') =>
  createRecord({
    context,
    verdict: { outcome: 'failed', reason: 'crash-loop', message: '' },
    targets: [...targets.map(failed), ...others].map(toTargetRecord),
  })

test.each(rows<[string, readonly TargetData[], readonly TargetData[], string, string]>(data, 'rollbacks'))(
  '%s',
  (_, targets, others, command, note) => {
    expect(rollbackOf(recordOf(targets, others))).toEqual({ command, note })
  },
)

test('a merged record refers to the outputs of its gates for the undo', () => {
  expect(rollbackOf({ ...recordOf([{}]), gates: [] })).toEqual({
    command: '',
    note: 'Each gate has a rollback-command of its own.',
  })
})

test.each(['stalled', 'timed-out', 'superseded', 'unknown', 'cancelled', 'misconfigured'] as const)(
  'the outcome %s has no undo command',
  (outcome) => {
    expect(rollbackOf({ ...recordOf([{}]), outcome, reason: 'no-progress' })).toEqual({
      command: '',
      note: `The outcome ${outcome} proves no failure of this change.`,
    })
  },
)

test.each(titled(rows<NonNullable<TargetData['target']>>(data, 'names that a shell may read as more than a word')))(
  'a name that is unsafe in a shell is in no undo command: %s',
  (_, target) => {
    expect(rollbackOf(recordOf([{ target }])).command).toBe('')
  },
)

test.each(rows<[string, string]>(data, 'contexts'))(
  'the undo command for the context %s contains the context unless the gate runs in its cluster',
  (context, flag) => {
    expect(rollbackOf(recordOf([{}], [], context)).command).toBe(
      `kubectl${flag} rollout undo deployment/web -n shop --to-revision=6`,
    )
  },
)

test.each(['prod; reboot', '$(reboot)', '-h', 'my prod', "o'brien", 'a`b`', 'prod\nx'])(
  'a context that is unsafe in a shell is in no undo command: %j',
  (context) => {
    expect(rollbackOf(recordOf([{}], [], context))).toEqual({
      command: '',
      note: 'deployment/web is not undone: the name of the context is no plain word for a shell.',
    })
  },
)

test('the summary has no undo command for a version that is three days old', () => {
  const serving = { revision: 6, images: ['acme/web:v1'], ready: 2, wanted: 2 }
  const { change: _, ...target } = failed({ undo: { revision: 6, serving }, changedAt: -259_200 })
  expect(renderSummary(recordOf([], [target]))).toContain(
    'deployment/web is not undone: its version is more than an hour old.',
  )
})

describe('the text about what serves now and the undo', () => {
  test.each(
    rows<[string, readonly TargetData[], readonly TargetData[], readonly string[] | null, string]>(data, 'ways back'),
  )('%s', (_, targets, others, sentences, command) => {
    expect(wayBackOf(recordOf(targets, others))).toEqual(sentences === null ? undefined : { sentences, command })
  })
})
