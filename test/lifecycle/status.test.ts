import { readCondition } from '../../src/lifecycle/custom/status-conditions.ts'
import { type Meaning, meaningOf, tokensOf } from '../../src/lifecycle/custom/words.ts'
import { condition } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

describe('a name is split into words', () => {
  it.each(rows<[string, readonly string[]]>(data, 'a name is split into words'))('as %p', (name, tokens) => {
    expect(tokensOf(name)).toEqual(tokens)
  })
})

describe('a word for a state', () => {
  const words: Readonly<Record<Meaning, readonly string[]>> = {
    ready: [
      'Running',
      'active',
      'Healthy',
      'HEALTH_OK',
      'green',
      'Bound',
      'Succeeded',
      'up',
      'UpToDate',
      'in-sync',
      'Idle',
      'RunningHealthy',
      'FailedOver',
      'in-use',
      'Enforced',
      'Current',
    ],
    progressing: [
      'Pending',
      'InProgress',
      'ScalingUp',
      'Initializing',
      'WaitingForQuorum',
      'Terminating',
      'NotReady',
      'Unavailable',
      'Unknown',
      'OutOfSync',
      'NonCompliant',
      'HEALTH_WARN',
      'yellow',
      'runningWorkflow',
      'Running migrations',
      'INPROGRESS',
      'notready',
      'FailingOver',
      'Failing back',
    ],
    failed: [
      'Failed',
      'FailedToStart',
      'PartiallyFailed',
      'ConfigError',
      'Degraded',
      'CrashLoopBackOff',
      'FailedNotRetriable',
      'ErrImageNeverPull',
      'red',
      'Aborted',
    ],
    suspended: ['Suspended', 'paused', 'Hibernated', 'Stopped', 'Sleeping', 'ShutDown', 'On hold'],
  }
  it.each(Object.entries(words).flatMap(([meaning, all]) => all.map((word) => [word, meaning])))(
    '%s means %s',
    (word, meaning) => {
      expect(meaningOf(word)).toBe(meaning)
    },
  )

  it.each(['Primary', 'v1.2.3', 'eu-west-1', '', 'NoErrors', 'WithoutErrors', 'NeverFailed', 'NotPaused'])(
    '%p has no known meaning',
    (word) => {
      expect(meaningOf(word)).toBeUndefined()
    },
  )

  it('with a remark has the worse meaning of the state and the remark', () => {
    expect(meaningOf('Active (Degraded)')).toBe('failed')
    expect(meaningOf('Ready: upgrading')).toBe('progressing')
    expect(meaningOf('Running (3/3)')).toBe('ready')
  })

  it('is not a sentence', () => {
    expect(meaningOf('the operator is now ready to take requests')).toBeUndefined()
  })

  it('of a piece of work means that it has begun, not that it is done', () => {
    expect(meaningOf('Running', true)).toBe('progressing')
    expect(meaningOf('Succeeded', true)).toBe('ready')
  })
})

function read(written: string, isWork = false): string | undefined {
  const [, type = '', status = '', reason = '', message = ''] =
    /^(\S+?)=(\w+)(?: (\w+))?(?:: (.*))?$/.exec(written) ?? []
  const reading = readCondition(condition(type, status, { reason, message }), isWork)
  return reading === undefined ? undefined : `${reading.meaning} ${reading.scope}`
}

describe('a condition', () => {
  it.each(rows<[string, string]>(data, 'a condition means'))('%s means %s', (written, reading) => {
    expect(read(written)).toBe(reading)
  })

  it.each(rows<string>(data, 'a condition has no meaning'))('%s has no meaning', (written) => {
    expect(read(written)).toBeUndefined()
  })

  it('Running is no goal of a piece of work', () => {
    expect(read('Running=True', true)).toBe('progressing part')
    expect(read('Complete=True', true)).toBe('ready whole')
  })
})

describe('a type that begins with a negation', () => {
  const negations = ['No', 'Not', 'Non', 'Without', 'Never']
  const bad = ['Errors', 'Failure', 'Failed', 'Degraded', 'Stalled', 'Unhealthy', 'Conflict', 'Expired']
  const good = ['Available', 'Synced', 'Healthy', 'Bound', 'Reachable', 'Compliant']
  const all = (words: readonly string[]) => negations.flatMap((negation) => words.map((word) => `${negation}${word}`))

  it.each(all(bad))('%s is no failure, and not ready while it is False', (type) => {
    expect(read(`${type}=True`)).toBe('ready part')
    expect(read(`${type}=False`)).toBe('progressing part')
  })

  it.each(all(good))('%s is never ready while it is True', (type) => {
    expect(read(`${type}=True`)).not.toMatch(/^ready/)
    expect(read(`${type}=False`)).toBeUndefined()
  })
})
