import { isPassing, type Outcome, type TargetOutcome } from '../../src/gate/outcome.ts'
import type { ReasonCode } from '../../src/reasons/reasons.ts'
import { createTargetRecord } from '../report/builders.ts'

const ended = (outcome: Outcome, ...targets: [TargetOutcome, ReasonCode | ''][]) => ({
  outcome,
  targets: targets.map(([each, reason]) => createTargetRecord({ outcome: each, reason })),
})

describe('the job', () => {
  it.each<[string, boolean, ReturnType<typeof ended>, 'fail' | 'pass']>([
    ['passes when all is ready', true, ended('ready', ['ready', '']), 'fail'],
    ['fails when a newer change took over', false, ended('superseded', ['superseded', 'superseded']), 'fail'],
    [
      'passes when a newer change took over and that is welcome',
      true,
      ended('superseded', ['superseded', 'superseded'], ['ready', '']),
      'pass',
    ],
    [
      'fails when another target stalled besides',
      false,
      ended('superseded', ['superseded', 'superseded'], ['stalled', 'unschedulable']),
      'pass',
    ],
    [
      'fails when another target was still open',
      false,
      ended('superseded', ['superseded', 'superseded'], ['progressing', '']),
      'pass',
    ],
    ['fails on a rollback, whatever is welcome', false, ended('superseded', ['superseded', 'rolled-back']), 'pass'],
    ['fails on anything else', false, ended('timed-out', ['timed-out', 'still-running']), 'pass'],
  ])('%s', (_, expected, record, onSuperseded) => {
    expect(isPassing(record, onSuperseded)).toBe(expected)
  })
})
