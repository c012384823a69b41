import { type Meaning, meaningOf, readCondition, tokensOf } from '../../src/lifecycle/custom/status.ts'
import { condition } from '../kit/objects.ts'

describe('a name is split into words', () => {
  it.each([
    ['RollingUpdate', ['rolling', 'update']],
    ['rolling_update', ['rolling', 'update']],
    ['in-sync', ['insync']],
    ['HTTPRouteReady', ['http', 'route', 'ready']],
    ['up to date', ['uptodate']],
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
  return reading === undefined ? undefined : `${reading.meaning} ${reading.weight}`
}

describe('a condition', () => {
  it.each([
    ['Ready=True', 'ready summary'],
    ['Ready=False', 'progressing summary'],
    ['Ready=Unknown', 'progressing summary'],
    ['NotReady=True', 'progressing summary'],
    ['Stalled=True', 'failed summary'],
    ['Reconciling=True', 'progressing summary'],
    ['Synced=False', 'progressing accepted'],
    ['ResolvedRefs=True', 'ready accepted'],
    ['Available=True', 'ready whole'],
    ['Established=False', 'progressing whole'],
    ['DatabaseReady=False', 'progressing part'],
    ['ResourcesUpToDate=True', 'ready part'],
    ['Degraded=True', 'failed whole'],
    ['ReconcileError=True', 'failed whole'],
    ['InvalidSpec=True', 'failed whole'],
    ['ErrorOccurred=True', 'failed whole'],
    ['FetchFailed=True', 'failed part'],
    ['Updating=True', 'progressing whole'],
    ['ControlPlaneUpdating=True', 'progressing part'],
    ['Unreachable=True', 'progressing whole'],
    ['Paused=True', 'suspended whole'],
    ['Ready=False Suspended', 'suspended summary'],
    ['Progressing=True ReplicaSetUpdated', 'progressing whole'],
    ['Progressing=Unknown RolloutPaused', 'suspended whole'],
    ['Progressing=False ProgressDeadlineExceeded', 'failed whole'],
    ['Succeeded=Unknown Running', 'progressing whole'],
    ['Succeeded=False', 'failed whole'],
    ['Succeeded=False Pending', 'progressing whole'],
    ['Running=True Running: Creating the database', 'progressing whole'],
    ['Running=True', 'ready whole'],
    ['NoErrors=True', 'ready part'],
    ['NoErrors=False', 'progressing part'],
    ['NoErrors=Unknown', 'progressing part'],
    ['NoErrorsDetected=True', 'ready part'],
    ['WithoutFailures=True', 'ready part'],
    ['NotDegraded=True', 'ready part'],
    ['NotStalled=True', 'ready part'],
    ['Non-Degraded=False', 'progressing part'],
    ['NotAvailable=True', 'progressing part'],
    ['NonCompliant=True', 'progressing part'],
    ['NotYetSynced=True', 'progressing part'],
    ['Unbound=True', 'progressing whole'],
    ['VolumeUnattached=True', 'progressing part'],
    ['ReconciliationPaused=True', 'suspended whole'],
    ['Scheduled=False NoRackFits', 'progressing whole'],
    ['UpdatingTrustBundle=True', 'progressing part'],
    ['RollingRestart=True', 'progressing part'],
    ['ScalingReady=True', 'ready part'],
    ['ContinuousBinlogArchiving=True', 'ready part'],
    ['ContinuousBinlogArchiving=False ArchiverFailed', 'progressing part'],
    ['OwnerForbidden=True', 'progressing part'],
    ['Enforced=False', 'progressing whole'],
    ['NodesCurrent=False', 'progressing part'],
    // Whatever the polarity of a type without a meaning, Unknown is not good.
    ['Turnstile=Unknown', 'progressing part'],
    // Something was not found; an error exists.
    ['ConfigNotFoundError=True', 'failed whole'],
  ])('%s means %s', (written, reading) => {
    expect(read(written)).toBe(reading)
  })

  it.each([
    'Degraded=False',
    'Stalled=False',
    'Reconciling=False',
    'Paused=False',
    'Updating=False',
    'Progressing=True NewReplicaSetAvailable',
    'Progressing=False AsExpected',
    'Running=False Completed',
    'MonitoringReady=False Disabled',
    'Upgradeable=False',
    'BackupsEnabled=False',
    'Primary=True',
    'Primary=False',
    'NotAvailable=False',
    'NonCompliant=False',
    'Unbound=False',
    'NotPaused=True',
    // The name of an error, or that there is none of a kind.
    'NoReplicationErrors=True',
    'NoSuchHostError=True',
    'NoUpdateAvailable=True',
    'NoUpdateAvailable=False',
    'FailedOver=True',
    'FailedOver=False',
    'Turnstile=True',
    // Its controller has nothing left to do.
    'Marbled=True',
    'InUse=False',
    'Turnstile=False',
    'DeletionIsBlocked=True',
    'DeletionFailed=False',
    'UpdatingTrustBundle=False',
    'ProvisioningStarted=True',
    'SecretRotated=False',
    'Failover=True',
  ])('%s has no meaning', (written) => {
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
