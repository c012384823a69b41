import { isPassing, type Outcome, type TargetOutcome } from '../../src/gate/outcome.ts'
import type { ReasonCode } from '../../src/reasons/reasons.ts'
import { createTargetRecord } from '../report/builders.ts'

const ended = (outcome: Outcome, ...targets: [TargetOutcome, ReasonCode | ''][]) => ({
  outcome,
  targets: targets.map(([each, reason]) => createTargetRecord({ outcome: each, reason })),
})

describe('the job', () => {
  it.each<[string, boolean, ReturnType<typeof ended>, 'fail' | 'pass']>([
    ['passes if all targets are ready', true, ended('ready', ['ready', '']), 'fail'],
    ['fails if a newer change superseded a target', false, ended('superseded', ['superseded', 'superseded']), 'fail'],
    [
      'passes if a newer change superseded a target, with on-superseded: pass',
      true,
      ended('superseded', ['superseded', 'superseded'], ['ready', '']),
      'pass',
    ],
    [
      'fails if another target stalled, even with on-superseded: pass',
      false,
      ended('superseded', ['superseded', 'superseded'], ['stalled', 'unschedulable']),
      'pass',
    ],
    [
      'fails if another target was still open, even with on-superseded: pass',
      false,
      ended('superseded', ['superseded', 'superseded'], ['progressing', '']),
      'pass',
    ],
    [
      'fails if a target was rolled back, even with on-superseded: pass',
      false,
      ended('superseded', ['superseded', 'rolled-back']),
      'pass',
    ],
    ['fails with any other outcome', false, ended('timed-out', ['timed-out', 'still-running']), 'pass'],
  ])('%s', (_, expected, record, onSuperseded) => {
    expect(isPassing(record, onSuperseded)).toBe(expected)
  })
})
