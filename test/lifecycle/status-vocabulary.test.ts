import { type Meaning, meaningOf, tokensOf } from '../../src/lifecycle/custom/status-vocabulary.ts'

describe('a name is made of words', () => {
  it.each([
    ['RollingUpdate', ['rolling', 'update']],
    ['rolling_update', ['rolling', 'update']],
    ['in-sync', ['in', 'sync']],
    ['HTTPRouteReady', ['http', 'route', 'ready']],
    ['up to date', ['up', 'to', 'date']],
    ['FailedOver', ['failedover']],
    ['failing_back', ['failingback']],
    ['FailOverReady', ['failover', 'ready']],
    ['FailedOverlay', ['failed', 'overlay']],
    ['', []],
  ])('as %p', (name, tokens) => {
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
      'FailedOver',
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
      'new',
      'yellow',
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
      'red',
      'Aborted',
    ],
    suspended: ['Suspended', 'paused', 'Hibernated', 'Stopped'],
  }
  it.each(Object.entries(words).flatMap(([meaning, all]) => all.map((word) => [word, meaning])))(
    '%s says %s',
    (word, meaning) => {
      expect(meaningOf(word)).toBe(meaning)
    },
  )

  it.each(['Primary', 'v1.2.3', 'eu-west-1', '', 'NoErrors', 'WithoutErrors', 'ErrorFree', 'NeverFailed', 'NotPaused'])(
    '%p says nothing to us',
    (word) => {
      expect(meaningOf(word)).toBeUndefined()
    },
  )

  it('is what stands before an explanation', () => {
    expect(meaningOf('ERROR, the store has no such secret')).toBe('failed')
    expect(meaningOf('Healthy (3 of 3 members are there)')).toBe('ready')
  })

  it('is no sentence', () => {
    expect(meaningOf('the operator is now ready to take requests')).toBeUndefined()
  })

  it('of a piece of work says that it has begun, not that it is done', () => {
    expect(meaningOf('Running', true)).toBe('progressing')
    expect(meaningOf('Succeeded', true)).toBe('ready')
  })
})
