import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { Deployment, KubeObject } from '../../src/cluster/objects.ts'
import type { Target } from '../../src/plan/target.ts'
import {
  added,
  allSynced,
  at,
  createRecording,
  createTarget,
  createWorkload,
  deleted,
  failed,
  modified,
  progressing,
  type Run,
  run,
} from '../kit/gate.ts'
import { complete, condition, is, iso, make, ownedBy } from '../kit/objects.ts'
import { runCommand } from '../support/command.ts'
import {
  application,
  applicationsListed,
  applicationTarget,
  commit,
  newer,
  older,
  revisionSettings,
  wanted,
  webResource,
} from './gitops.ts'

type Steps = readonly (readonly FeedEvent[])[]

const web = createWorkload('web')
const settings = await revisionSettings([applicationTarget()])

/** How a gate of an Application ends. */
function gate(steps: Steps, target: Partial<Target> = {}, others: Partial<typeof settings> = {}): Run {
  return run(steps, { targets: [applicationTarget(target)], settings: { ...settings, ...others } })
}

/** The first lists, with the Deployment that the Application deployed. */
const begin = (object: KubeObject, ...workload: Parameters<typeof at>[1][]) =>
  at(0, added(object), applicationsListed, ...(workload.length > 0 ? workload : [web.done]), allSynced)
const then = (seconds: number, object: KubeObject) => at(seconds, modified(object))

const before = application()
const compared = application({ revision: wanted, status: 'OutOfSync' })
const syncing = application({ revision: wanted, status: 'OutOfSync', phase: 'Running', of: wanted })
const synced = (seconds: number) =>
  application({ revision: wanted, history: [older, wanted], finishedAt: seconds - 1, reconciledAt: seconds })
const failedSync = (overrides: object = {}) =>
  application({
    revision: wanted,
    status: 'OutOfSync',
    phase: 'Failed',
    of: wanted,
    message: 'one or more objects failed to apply',
    ...overrides,
  })
const hook = {
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  namespace: 'shop',
  name: 'migrate',
  hookType: 'PostSync',
  hookPhase: 'Failed',
  message: 'Job has reached the specified backoff limit',
}
const pulling = web.pod({
  phase: 'Pending',
  containerStatuses: [
    make.containerStatus({ state: { waiting: { reason: 'ErrImageNeverPull', message: 'image never pulled' } } }),
  ],
})

/** A sync of the revision, while the comparison and the result are still those of the commit before. */
const uncompared = { automated: undefined, of: wanted, result: older }

/** An Application whose last operation has neither a result nor an end (https://github.com/argoproj/argo-cd/issues/29636). */
function withoutResult(object: KubeObject): KubeObject {
  const status = object.status as Record<string, unknown>
  return { ...object, status: { ...status, operationState: { phase: 'Succeeded', startedAt: iso(-60) } } } as KubeObject
}

interface Race {
  readonly title: string
  readonly steps: Steps
  readonly ends: { readonly outcome: string; readonly reason: string; readonly seconds: number }
  readonly message?: string
  readonly target?: Partial<Target>
}

const ready = (seconds: number) => ({ outcome: 'ready', reason: '', seconds })
const failedAt = (seconds: number, reason = 'reported-failed') => ({ outcome: 'failed', reason, seconds })
const superseded = (seconds: number, reason = 'superseded') => ({ outcome: 'superseded', reason, seconds })
const wrongRevision = { outcome: 'stalled', reason: 'wrong-revision', seconds: 600 }

const races: readonly Race[] = [
  {
    title: 'is ready at once if the revision was synced before the gate began',
    steps: [begin(application({ revision: wanted, history: [older, wanted] }))],
    ends: ready(0),
  },
  {
    title: 'is not ready while it is Synced and Healthy at the old commit',
    steps: [begin(before)],
    ends: wrongRevision,
    message:
      'application/shop: Argo CD is at a000000 (main) since 11:57 UTC, 3 m before the gate began, not at b000000',
  },
  {
    title: 'is not ready while it is OutOfSync at the revision: it was only compared',
    steps: [begin(before), then(5, compared)],
    ends: wrongRevision,
  },
  {
    title: 'names the automatic sync that is off',
    steps: [begin(before), then(5, application({ revision: wanted, status: 'OutOfSync', automated: undefined }))],
    ends: wrongRevision,
    message:
      'application/shop: Argo CD is at a000000 (main) since 11:57 UTC, 3 m before the gate began, not at b000000: the revision is compared, but not synced: automatic sync is off',
  },
  {
    title: 'is ready once a queued sync has run of a revision that was not compared before',
    steps: [
      begin(application({ automated: undefined, queued: wanted })),
      then(5, application({ ...uncompared, phase: 'Running' })),
      then(6, application({ ...uncompared, phase: 'Running', history: [older, wanted] })),
      then(7, application({ ...uncompared, result: wanted, history: [older, wanted], finishedAt: 7 })),
      then(8, synced(8)),
    ],
    ends: ready(8),
  },
  {
    title: 'is ready once a queued sync has run',
    steps: [
      begin(before),
      then(5, application({ revision: wanted, status: 'OutOfSync', queued: wanted })),
      then(6, syncing),
      then(9, synced(9)),
    ],
    ends: ready(9),
  },
  {
    title: 'is not ready while the PostSync hook runs, although Synced and Healthy',
    steps: [
      begin(before),
      then(5, application({ revision: wanted, phase: 'Running', of: wanted })),
      then(
        30,
        failedSync({
          status: 'Synced',
          message: 'one or more synchronization tasks completed unsuccessfully',
          results: [hook],
        }),
      ),
    ],
    ends: failedAt(30, 'job-failed'),
    message:
      'application/shop: job/migrate in namespace shop: the Job failed: one or more synchronization tasks completed unsuccessfully',
  },
  {
    title: 'fails at once when the sync of the revision failed',
    steps: [begin(before), then(5, syncing), then(8, failedSync())],
    ends: failedAt(8),
    message: 'application/shop: one or more objects failed to apply',
  },
  {
    title: 'fails at once when the sync of the revision ended with an error',
    steps: [begin(before), then(5, syncing), then(8, failedSync({ phase: 'Error' }))],
    ends: failedAt(8),
  },
  {
    title: 'does not fail when the sync of another revision failed',
    steps: [begin(application({ phase: 'Failed', of: older, status: 'OutOfSync' })), then(9, synced(9))],
    ends: ready(9),
  },
  {
    title: 'does not fail while a failed sync of the revision is queued again',
    steps: [begin(before), then(5, failedSync({ queued: wanted })), then(7, syncing), then(9, synced(9))],
    ends: ready(9),
  },
  {
    title: 'waits while Argo CD retries the sync',
    steps: [
      begin(before),
      then(5, syncing),
      then(
        8,
        application({
          revision: wanted,
          status: 'OutOfSync',
          phase: 'Running',
          of: wanted,
          retryCount: 2,
          message: 'retrying attempt #2',
        }),
      ),
      then(60, synced(60)),
    ],
    ends: ready(60),
  },
  {
    title: 'names the sync of the revision before, which Argo CD retries and which keeps it from this one',
    steps: [
      begin(before),
      then(
        5,
        application({
          revision: wanted,
          status: 'OutOfSync',
          phase: 'Running',
          of: older,
          retryCount: 3,
          message: 'one or more objects failed to apply. Retrying attempt #3',
        }),
      ),
    ],
    ends: wrongRevision,
    message:
      'application/shop: Argo CD is at a000000 (main) since 11:57 UTC, 3 m before the gate began, not at b000000: the sync of a000000 (main) runs: one or more objects failed to apply. Retrying attempt #3',
  },
  {
    title: 'is not ready by an operation that succeeded without a result, as a restart of Argo CD leaves it',
    steps: [begin(withoutResult(before)), then(5, withoutResult(compared))],
    ends: wrongRevision,
  },
  {
    title: 'is not ready while Synced at the branch that its spec named before',
    steps: [
      begin(application({ targetRevision: 'v2', comparedTo: 'v1' })),
      then(
        9,
        application({
          revision: wanted,
          history: [older, wanted],
          targetRevision: 'v2',
          finishedAt: 8,
          reconciledAt: 9,
        }),
      ),
    ],
    target: { revisions: [{ revision: 'v2' }] },
    ends: ready(9),
  },
  {
    title: 'is not ready while it is Synced with the parameters that its spec had before',
    steps: [
      begin(application({ revision: wanted, history: [wanted], tag: 'v2', comparedTag: 'v1' })),
      then(9, application({ revision: wanted, history: [wanted], tag: 'v2', reconciledAt: 9 })),
    ],
    ends: ready(9),
  },
  {
    title: 'is not ready while an object differs from the revision and self-heal is off',
    steps: [
      begin(application({ revision: wanted, status: 'OutOfSync', history: [older, wanted], automated: {} })),
      then(40, application({ revision: wanted, history: [older, wanted], reconciledAt: 40 })),
    ],
    ends: ready(40),
  },
  {
    title: 'waits for what Argo CD deploys again when it is deleted',
    steps: [begin(before, web.creating), then(5, synced(5)), at(20, deleted(web.deployment())), at(50, web.done)],
    ends: ready(50),
  },
  {
    title: 'is superseded when a newer revision is synced after it',
    steps: [
      begin(before, web.creating),
      then(5, synced(5)),
      then(30, application({ revision: newer, history: [older, wanted, newer], finishedAt: 29, reconciledAt: 30 })),
    ],
    ends: superseded(30),
    message: 'application/shop: Argo CD is at c000000 (main) since 11:57 UTC, a newer revision than b000000',
  },
  {
    title: 'is superseded when the retried sync went on with a newer revision',
    steps: [
      begin(before),
      then(5, syncing),
      then(30, application({ revision: newer, history: [older, newer], finishedAt: 29, reconciledAt: 30 })),
    ],
    ends: superseded(30),
  },
  {
    title: 'is superseded by a revision of before the gate',
    steps: [begin(application({ revision: newer, history: [older, wanted, newer] }))],
    ends: superseded(0),
  },
  {
    title: 'stays deployed when a newer commit changes nothing here',
    steps: [
      begin(before, web.creating),
      then(5, synced(5)),
      then(30, application({ revision: newer, history: [older, wanted], finishedAt: 4, reconciledAt: 30 })),
      at(40, web.done),
    ],
    ends: ready(40),
  },
  {
    title: 'stays deployed when neither it nor a newer commit changes anything here',
    steps: [
      begin(before, web.creating),
      then(5, application({ revision: wanted, reconciledAt: 5 })),
      then(30, application({ revision: newer, reconciledAt: 30 })),
      at(40, web.done),
    ],
    ends: ready(40),
  },
  {
    title: 'is deployed if a newer commit changed nothing here before the gate began',
    steps: [begin(application({ revision: newer, history: [older, wanted], reconciledAt: -9 }))],
    ends: ready(0),
  },
  {
    title: 'is superseded by a newer commit whose partial sync is in no history',
    steps: [
      begin(before, web.creating),
      then(5, synced(5)),
      then(30, application({ revision: newer, history: [older, wanted], of: newer, finishedAt: 29, reconciledAt: 30 })),
    ],
    ends: superseded(30),
  },
  {
    title: 'is superseded, not rolled back, by a commit that reverts it',
    steps: [
      begin(before, web.creating),
      then(5, synced(5)),
      then(30, application({ revision: newer, history: [older, wanted, newer], finishedAt: 29, reconciledAt: 30 })),
    ],
    ends: superseded(30),
  },
  {
    title: 'waits when a newer revision is only compared with',
    steps: [
      begin(before, web.creating),
      then(5, synced(5)),
      then(6, application({ revision: newer, status: 'OutOfSync', history: [older, wanted] })),
      then(9, application({ revision: newer, history: [older, wanted, newer], finishedAt: 9, reconciledAt: 9 })),
    ],
    ends: superseded(9),
  },
  {
    title: 'is rolled back when the history has an older revision again',
    steps: [
      begin(before, web.creating),
      then(5, synced(5)),
      then(
        30,
        application({
          revision: wanted,
          status: 'OutOfSync',
          history: [older, wanted, older],
          automated: undefined,
          finishedAt: 30,
          reconciledAt: 31,
        }),
      ),
    ],
    ends: superseded(30, 'rolled-back'),
    message: 'application/shop: Argo CD is at a000000 (main) since 11:57 UTC, an older revision than b000000',
  },
  {
    title: 'is not ready by the comparison of before a rollback, which stands for a moment after it',
    steps: [
      begin(
        application({
          revision: wanted,
          history: [older, wanted, older],
          finishedAt: -1,
          reconciledAt: -60,
          automated: undefined,
        }),
      ),
    ],
    ends: superseded(0, 'rolled-back'),
  },
  {
    title: 'is ready when a commit that changes nothing is compared, without a sync',
    steps: [begin(before), then(40, application({ revision: wanted, reconciledAt: 40 }))],
    ends: ready(40),
  },
  {
    title: 'heals: a change of the live objects does not end it',
    steps: [
      begin(before, web.creating),
      then(5, synced(5)),
      then(6, application({ revision: wanted, status: 'OutOfSync', history: [older, wanted] })),
      then(7, application({ revision: wanted, status: 'OutOfSync', history: [older, wanted], phase: 'Running' })),
      at(9, modified(synced(9)), web.done),
    ],
    ends: ready(9),
  },
  {
    title: 'waits while the source is not found, and then names what Argo CD reports',
    steps: [
      begin(before),
      then(
        5,
        application({ status: 'Unknown', conditions: [{ type: 'ComparisonError', message: 'repository not found' }] }),
      ),
    ],
    ends: wrongRevision,
    message:
      'application/shop: Argo CD is at a000000 (main) since 11:57 UTC, 3 m before the gate began, not at b000000: ComparisonError: repository not found',
  },
  {
    title: 'waits for the tag that its spec names now, although its history has it behind another one',
    steps: [
      begin(application({ revision: newer, history: [wanted, newer], targetRevision: 'v1', comparedTo: 'v2' })),
      then(
        4,
        application({
          revision: wanted,
          history: [wanted, newer, wanted],
          targetRevision: 'v1',
          finishedAt: 3,
          reconciledAt: 4,
        }),
      ),
    ],
    target: { revisions: [{ revision: 'v1' }] },
    ends: ready(4),
  },
  {
    title: 'is followed when it is deleted and made again while its revision is awaited',
    steps: [
      begin(before),
      at(5, deleted(before)),
      at(
        20,
        added(
          application({
            uid: 'other',
            history: [],
            phase: 'Running',
            of: wanted,
            status: 'OutOfSync',
            revision: wanted,
          }),
        ),
      ),
      then(25, application({ uid: 'other', revision: wanted, history: [wanted], finishedAt: 24, reconciledAt: 25 })),
    ],
    ends: ready(25),
  },
  {
    title: 'fails when it is deleted after its revision arrived and does not come back',
    steps: [begin(synced(0), web.creating), at(10, deleted(synced(0)))],
    ends: failedAt(15, 'deleted'),
  },
  {
    title: 'fails by the pod of what it deployed, with the cause',
    steps: [begin(before, web.creating), then(5, synced(5)), at(8, modified(pulling))],
    ends: failedAt(8, 'image-never-pull'),
  },
  {
    title: 'fails at once by a pod of what a running sync has applied: Argo CD only waits for it',
    steps: [
      begin(before),
      then(
        5,
        application({
          revision: wanted,
          status: 'OutOfSync',
          phase: 'Running',
          of: wanted,
          results: [{ ...webResource, status: 'Synced' }],
        }),
      ),
      at(8, modified(web.deployment(progressing)), modified(pulling)),
    ],
    ends: failedAt(8, 'image-never-pull'),
  },
  {
    title: 'does not fail by a pod of what the sync before has applied, while another begins',
    steps: [
      begin(before, web.creating),
      then(5, application({ ...uncompared, phase: 'Running', results: [webResource] })),
      at(6, modified(pulling)),
      then(8, synced(8)),
    ],
    ends: failedAt(8, 'image-never-pull'),
  },
  {
    title: 'counts by the word of Argo CD what it deployed to another cluster, not an object of the same name here',
    steps: [
      begin(
        application({
          revision: wanted,
          history: [wanted],
          destination: { server: 'https://prod.example.com', namespace: 'shop' },
        }),
        web.creating,
      ),
    ],
    ends: ready(0),
  },
  {
    title: 'counts by the word of Argo CD what the credentials may not read',
    steps: [
      at(0, added(application({ revision: wanted, history: [wanted] })), applicationsListed),
      at(1, { ...failed(403, 'Deployment'), namespace: 'shop', name: 'web' }),
    ],
    ends: ready(0),
  },
  {
    title: 'does not gate hooks, what is to be pruned, and what is ready once it exists',
    steps: [
      begin(
        application({
          revision: wanted,
          history: [wanted],
          resources: [
            webResource,
            { version: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'settings', status: 'Synced' },
            { ...hook, hook: true, name: 'gone' },
            { ...webResource, name: 'old', requiresPruning: true },
          ],
        }),
      ),
    ],
    ends: ready(0),
  },
]

/** The replay of a recording with these steps. */
async function replayed(steps: Steps) {
  const inputs = { resources: [`application/shop -n argocd --revision=${wanted.slice(0, 8)}`] }
  const folder = mkdtempSync(join(tmpdir(), 'revision-'))
  writeFileSync(join(folder, 'shop.ndjson'), createRecording(inputs, steps))
  const run = await runCommand(['replay', '--json', join(folder, 'shop.ndjson')])
  rmSync(folder, { recursive: true })
  return run
}

describe('an Application at a revision', () => {
  it.each(races)('$title', ({ steps, ends, message, target }) => {
    const { outcome, reason, seconds, message: found, entries } = gate(steps, target)
    expect({ outcome, reason, seconds, ...(message === undefined ? {} : { message: found }), entries }).toMatchObject({
      ...ends,
      ...(message === undefined ? {} : { message }),
    })
  })

  it('names the container of a hook Job that failed, whose log is then read', () => {
    const job: KubeObject = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'migrate', namespace: 'shop', uid: 'migrate-uid', creationTimestamp: iso(5) },
      spec: { template: { spec: { containers: [{ name: 'app' }] } } },
      status: {
        conditions: [condition('Failed', 'True', { reason: 'BackoffLimitExceeded', message: 'no more tries' })],
      },
    }
    const pod = make.pod({
      metadata: { name: 'migrate-x', ownerReferences: ownedBy(job) },
      status: { phase: 'Failed', containerStatuses: [make.containerStatus({ state: is.terminated(3, 7) })] },
    })
    const withHook = (hookPhase: string) => ({ revision: wanted, results: [{ ...hook, hookPhase }] })
    const { timeline, ...end } = gate([
      begin(before),
      then(5, application({ ...withHook('Running'), phase: 'Running', of: wanted })),
      at(7, added(job, pod)),
      then(8, failedSync(withHook('Failed'))),
    ])
    expect(end).toMatchObject(failedAt(8, 'job-failed'))
    expect(end.message).toBe(
      'application/shop: container app of pod/migrate-x in namespace shop exited with code 3; the Job failed: no more tries (BackoffLimitExceeded)',
    )
    expect(timeline.targets[0]?.problems[0]).toMatchObject({ container: 'app', namespace: 'shop' })
  })

  it('does not log the message of the operation before as the state of a sync that begins', () => {
    const message = 'successfully synced (all tasks run)'
    const begun = application({ revision: wanted, phase: 'Running', of: wanted, result: older, message })
    const { entries } = gate([begin(before), then(5, begun), then(9, synced(9))])
    expect(entries.filter((entry) => entry.includes(message))).toEqual([])
  })

  it('ends in the replay of a recording as in the live gate', async () => {
    const steps = [begin(before, web.creating), then(5, synced(5)), at(8, modified(pulling))]
    const { code, stdout } = await replayed(steps)
    const { outcome, reason, targets } = JSON.parse(stdout)
    expect({ code, outcome, reason }).toEqual({ code: 1, outcome: 'failed', reason: 'image-never-pull' })
    expect(targets.map(({ target, namespace }: Record<string, string>) => [target, namespace])).toEqual([
      ['application.argoproj.io/shop', 'argocd'],
      ['deployment.apps/web', 'shop'],
    ])
  })

  it.each([
    ['shows', { 'argocd.argoproj.io/tracking-id': 'shop:apps/Deployment:shop/web' }],
    ['does not show', {}],
  ])(
    '%s the events of a pod in another namespace, by the tracking annotation of Argo CD',
    async (shows, annotations) => {
      const marked = web.deployment(progressing, { metadata: { annotations } })
      const dead = web.pod({
        containerStatuses: [
          make.containerStatus({ state: { waiting: { reason: 'ErrImageNeverPull', message: 'image never pulled' } } }),
        ],
      })
      const failure = make.event(dead, {
        type: 'Warning',
        reason: 'Failed',
        message: 'text of the event',
        lastTimestamp: iso(1),
      })
      const steps = [begin(synced(0), added(marked, web.replicaSet, dead, failure))]
      const { stdout } = await replayed(steps)
      expect(JSON.parse(stdout)).toMatchObject({ reason: 'image-never-pull' })
      expect(stdout.includes('text of the event')).toBe(shows === 'shows')
    },
  )

  it('counts the timeout from the arrival, unless the user wrote one', () => {
    const steps = [begin(before, web.creating), then(500, synced(500))]
    expect(gate(steps, { clocks: { stallTimeoutMs: 0 } })).toMatchObject({ outcome: 'timed-out', seconds: 1_100 })
    expect(gate(steps, { clocks: { stallTimeoutMs: 0 } }, { timeoutIsLiteral: true })).toMatchObject({
      outcome: 'timed-out',
      seconds: 600,
    })
  })

  it('waits as long as await-change of the user says', () => {
    expect(gate([begin(before)], {}, { awaitRevisionMs: 60_000 })).toMatchObject({
      reason: 'wrong-revision',
      seconds: 60,
    })
  })

  it.each([
    ['a newer commit of the checkout, which skipped it', { newer: [newer] }, newer, 'superseded'],
    ['an older commit of the checkout', { older: [older] }, older, 'wrong-revision'],
    ['a commit that the checkout does not have', {}, commit('d4'), 'wrong-revision'],
  ])('asks the checkout when its history lacks the revision: %s', (_, known, revision, reason) => {
    const target = { revisions: [{ revision: wanted, ...known }] }
    expect(gate([begin(application({ revision, history: [revision] }))], target).reason).toBe(reason)
  })

  it('orders revisions by the checkout rather than by its history', () => {
    const target = { revisions: [{ revision: wanted, newer: [older] }] }
    const steps = [begin(application({ revision: older, history: [older, wanted, older] }))]
    expect(gate(steps, target).reason).toBe('superseded')
  })

  it('adds what it deployed to the targets, and states in the log which objects only Argo CD judges', () => {
    const elsewhere = application({ revision: wanted, history: [wanted], destination: { name: 'prod' } })
    expect(gate([begin(elsewhere)]).entries).toEqual([
      '0 note Argo CD has deployed b000000',
      '0 verdict health.status is Healthy · it deploys to another cluster: its objects there count by the word of Argo CD',
    ])
    const { entries, targets } = gate([begin(application({ revision: wanted, history: [wanted] }))])
    expect(targets.map(({ outcome }) => outcome)).toEqual(['ready', 'ready'])
    expect(entries).toContain('0 note deployed by application/shop')
  })

  describe('of manifests that Argo CD hydrates', () => {
    const [dry, made] = [commit('d1'), commit('e2')]
    const hydrated = (object: KubeObject, drySHA: string, hydratedSHA: string, current: object = {}): KubeObject => {
      const spec = {
        ...(object.spec as object),
        source: undefined,
        sourceHydrator: { syncSource: { targetBranch: 'main', path: '.' } },
      }
      const sourceHydrator = { lastSuccessfulOperation: { drySHA, hydratedSHA }, currentOperation: current }
      return { ...object, spec, status: { ...(object.status as object), sourceHydrator } } as KubeObject
    }
    const target = { revisions: [{ revision: dry }] }
    const first = hydrated(before, commit('d0'), older)

    it('is ready when the commit that was made from the wanted one is synced, and not before', () => {
      const steps = [
        begin(first),
        then(5, hydrated(before, dry, made)),
        then(
          9,
          hydrated(application({ revision: made, history: [older, made], finishedAt: 8, reconciledAt: 9 }), dry, made),
        ),
      ]
      expect(gate(steps, target)).toMatchObject(ready(9))
    })

    it('is superseded when a newer commit is hydrated and synced', () => {
      const at5 = hydrated(
        application({ revision: made, history: [older, made], finishedAt: 4, reconciledAt: 5 }),
        dry,
        made,
      )
      const next = application({ revision: newer, history: [older, made, newer], finishedAt: 29, reconciledAt: 30 })
      const steps = [begin(first, web.creating), then(5, at5), then(30, hydrated(next, commit('d2'), newer))]
      expect(gate(steps, target)).toMatchObject(superseded(30))
    })

    it('is ready when a newer commit is only hydrated, before and after its sync', () => {
      const mine = { revision: made, history: [older, made], finishedAt: 8, reconciledAt: 9 }
      const syncing = application({ revision: made, status: 'OutOfSync', history: [older], phase: 'Running', of: made })
      const steps = [
        begin(first, web.creating),
        then(5, hydrated(syncing, dry, made)),
        then(7, hydrated(syncing, commit('d2'), newer)),
        then(9, hydrated(application(mine), commit('d2'), newer)),
        then(20, hydrated(application(mine), commit('d3'), made)),
        at(30, web.done),
      ]
      expect(gate(steps, target)).toMatchObject(ready(30))
    })

    it('waits when the hydration failed, and names why', () => {
      const failure = { phase: 'Failed', message: 'failed to push' }
      const { message, ...end } = gate([begin(hydrated(before, commit('d0'), older, failure))], target)
      expect(end).toMatchObject(wrongRevision)
      expect(message).toContain(': hydration failed: failed to push')
    })
  })

  it('judges an Application that it deployed by its own rule', () => {
    const child = {
      ...application({ health: 'Progressing' }),
      metadata: { name: 'child', namespace: 'argocd', uid: 'child' },
    }
    const resources = [
      { group: 'argoproj.io', version: 'v1alpha1', kind: 'Application', namespace: 'argocd', name: 'child' },
    ]
    const parent = application({ revision: wanted, history: [wanted], resources })
    const healthy = { ...application(), metadata: child.metadata }
    expect(gate([at(0, added(parent, child), applicationsListed), at(7, modified(healthy))])).toMatchObject(ready(7))
  })

  it('needs each source of several at its revision', () => {
    const sources = [
      { repoURL: 'r', name: 'app', path: '.' },
      { repoURL: 'c', chart: 'web', targetRevision: '1.*' },
    ]
    const at2 = (revisions: readonly string[]) => {
      const one = application({ history: [] })
      const status = {
        ...(one.status as object),
        sync: { status: 'Synced', revisions, comparedTo: { sources } },
        history: [{ id: 1, revisions, sources, deployedAt: iso(-9) }],
        operationState: { phase: 'Succeeded', syncResult: { revisions, sources } },
      }
      return { ...one, spec: { sources, destination: {} }, status }
    }
    const target = {
      revisions: [
        { source: 'app', revision: wanted.slice(0, 7) },
        { source: 'web', revision: '1.4.2' },
      ],
    }
    expect(gate([begin(at2([wanted, '1.4.1'])), then(5, at2([wanted, '1.4.2']))], target)).toMatchObject(ready(5))
    const positions = {
      revisions: [
        { source: '1', revision: wanted },
        { source: '2', revision: '1.4.2' },
      ],
    }
    expect(gate([begin(at2([wanted, '1.4.2']))], positions)).toMatchObject(ready(0))
  })
})

type Workload = Readonly<Record<number, readonly Observation[]>>

/** A gate of an object of Flux at a revision. */
async function fluxGate(
  apiVersion: string,
  kind: string,
  revision: string,
  statuses: Readonly<Record<number, object>>,
  workload: Workload = { 0: web.done },
) {
  const namespace = 'shop'
  const target = createTarget({ apiVersion, kind, namespace, name: 'shop', revisions: [{ revision }] })
  const object = ({ spec, generation = 1, ...status }: { spec?: object; generation?: number }) =>
    ({
      apiVersion,
      kind,
      metadata: { name: 'shop', namespace, uid: 'flux-uid', generation, creationTimestamp: iso(-3_600) },
      spec: { interval: '10m', ...spec },
      status: {
        observedGeneration: 1,
        inventory: { entries: [{ id: 'shop_web_apps_Deployment', v: 'v1' }] },
        ...status,
      },
    }) as unknown as KubeObject
  const listed = { type: 'SYNCED' as const, apiVersion, kind, namespace }
  const times = [...new Set([...Object.keys(statuses), ...Object.keys(workload)].map(Number))].sort((a, b) => a - b)
  const steps = times.map((seconds) => {
    const status = statuses[seconds]
    const changes = [...(status === undefined ? [] : added(object(status))), ...(workload[seconds] ?? [])]
    return at(seconds, ...changes, ...(seconds === 0 ? [listed, ...allSynced] : []))
  })
  return run(steps, { targets: [target], settings: await revisionSettings([target]) })
}

/** A condition of Flux about the first generation. */
const fluxCondition = (type: string, status: string, reason = 'Progressing', message = '', since = -9) => ({
  type,
  status,
  reason,
  message,
  observedGeneration: 1,
  lastTransitionTime: iso(since),
})
const isReady = { conditions: [fluxCondition('Ready', 'True')] }
const isWorking = (message = '') => ({
  conditions: [fluxCondition('Ready', 'Unknown'), fluxCondition('Reconciling', 'True', 'Progressing', message)],
})

describe('a Kustomization at a revision', () => {
  const gateOf = (statuses: Readonly<Record<number, object>>, revision = wanted, workload?: Workload) =>
    fluxGate('kustomize.toolkit.fluxcd.io/v1', 'Kustomization', revision, statuses, workload)
  const both = (applied: string, attempted: string) => ({
    lastAppliedRevision: `main@sha1:${applied}`,
    lastAttemptedRevision: `main@sha1:${attempted}`,
  })

  it('is not ready while Ready is about a newer revision, which the status does not name as applied yet', async () => {
    const statuses = { 0: { ...both(wanted, newer), ...isReady }, 5: { ...both(newer, newer), ...isReady } }
    expect(await gateOf(statuses)).toMatchObject(superseded(5))
  })

  it('is not ready at the revision while the status is about the generation before', async () => {
    const statuses = {
      0: { ...both(wanted, wanted), ...isReady, generation: 2 },
      9: {
        ...both(wanted, wanted),
        conditions: [{ ...isReady.conditions[0], observedGeneration: 2 }],
        generation: 2,
        observedGeneration: 2,
      },
    }
    expect(await gateOf(statuses)).toMatchObject(ready(9))
  })

  it('waits while a dependency is not ready, however long Ready is False', async () => {
    const message = "dependency 'shop/database' is not ready"
    const waiting = {
      ...both(older, wanted),
      conditions: [fluxCondition('Ready', 'False', 'DependencyNotReady', message)],
    }
    expect(await gateOf({ 0: waiting, 60: { ...both(wanted, wanted), ...isReady } })).toMatchObject(ready(60))
    expect((await gateOf({ 0: waiting })).message).toContain(message)
  })

  it('waits for the health checks of the revision before, and is ready when Flux goes on', async () => {
    const checking = 'Running health checks for revision main@sha1:a0000001 with a timeout of 5m'
    const statuses = {
      0: { ...both(older, older), ...isWorking(checking) },
      200: {
        ...both(older, older),
        conditions: [fluxCondition('Ready', 'False', 'HealthCheckFailed', 'timeout', 200)],
      },
      240: { ...both(wanted, wanted), ...isReady },
    }
    expect(await gateOf(statuses)).toMatchObject(ready(240))
  })

  it('is at another revision if only its name was attempted, and Ready is about the one before', async () => {
    const begun = { 0: { ...both(older, older), ...isReady }, 10: { ...both(older, wanted), ...isReady } }
    expect(await gateOf(begun)).toMatchObject({ outcome: 'stalled', reason: 'wrong-revision' })
    expect(await gateOf({ ...begun, 20: { ...both(wanted, wanted), ...isReady } })).toMatchObject(ready(20))
  })

  const creating = { 0: web.creating, 60: web.done }
  const applied = (revision: string, digest: string, first = -90) => ({
    lastAppliedRevision: revision,
    lastAttemptedRevision: revision,
    history: [
      {
        digest,
        metadata: { revision },
        lastReconciledStatus: 'ReconciliationSucceeded',
        firstReconciled: iso(first),
        lastReconciled: iso(0),
      },
    ],
    ...isReady,
  })
  const onMain = (revision: string) => `main@sha1:${revision}`

  it('stays deployed when a newer commit has the same objects', async () => {
    const statuses = {
      0: applied(onMain(older), 'sha256:old'),
      5: applied(onMain(wanted), 'sha256:same', 5),
      20: { ...applied(onMain(wanted), 'sha256:same', 5), lastAttemptedRevision: onMain(newer), ...isWorking() },
      30: applied(onMain(newer), 'sha256:same', 5),
    }
    expect(await gateOf(statuses, wanted, creating)).toMatchObject(ready(60))
  })

  it('stays deployed when a newer tag of the artifact has the same digest', async () => {
    const artifact = (tag: string) => ({ lastAppliedRevision: `${tag}@sha256:${'b'.repeat(64)}`, ...isReady })
    const statuses = { 0: artifact('1.4.2'), 30: artifact('1.4.3') }
    expect(await gateOf(statuses, '1.4.2', creating)).toMatchObject(ready(60))
  })

  it('is superseded, not rolled back, by a commit that reverts it to objects of before', async () => {
    const statuses = {
      0: applied(onMain(older), 'sha256:old'),
      5: applied(onMain(wanted), 'sha256:new', 5),
      30: applied(onMain(newer), 'sha256:old'),
    }
    expect(await gateOf(statuses, wanted, creating)).toMatchObject(superseded(30))
  })

  it('is ready when it is suspended after the revision was applied', async () => {
    const suspended = { ...applied(onMain(wanted), 'sha256:new'), spec: { suspend: true }, generation: 2 }
    expect(await gateOf({ 0: suspended })).toMatchObject(ready(0))
    const statuses = { 0: applied(onMain(wanted), 'sha256:new'), 9: suspended }
    expect(await gateOf(statuses, wanted, creating)).toMatchObject(ready(60))
  })

  it('waits when it is suspended before the revision was applied', async () => {
    const suspended = { ...applied(onMain(older), 'sha256:old'), spec: { suspend: true }, generation: 2 }
    expect(await gateOf({ 0: suspended })).toMatchObject(wrongRevision)
  })

  it('fails by the health check of an OCI artifact that was made from the commit', async () => {
    const artifact = (letter: string) => `latest@sha256:${letter.repeat(64)}`
    const statuses = {
      0: { lastAppliedRevision: artifact('e'), lastAppliedOriginRevision: `main@sha1:${older}`, ...isReady },
      30: {
        lastAppliedRevision: artifact('e'),
        lastAppliedOriginRevision: `main@sha1:${older}`,
        lastAttemptedRevision: artifact('f'),
        history: [
          {
            metadata: { revision: artifact('f'), originRevision: `main@sha1:${wanted}` },
            lastReconciledStatus: 'HealthCheckFailed',
          },
        ],
        conditions: [
          fluxCondition('Ready', 'False', 'HealthCheckFailed', 'timeout waiting for: [Deployment/shop/web]', 30),
        ],
      },
    }
    const { message, ...end } = await gateOf(statuses)
    expect(end).toMatchObject(failedAt(40))
    expect(message).toContain('timeout waiting for: [Deployment/shop/web]')
  })
})

describe('a HelmRelease at a version', () => {
  const gateOf = (statuses: Readonly<Record<number, object>>, workload?: Workload) =>
    fluxGate('helm.toolkit.fluxcd.io/v2', 'HelmRelease', '1.4.2', statuses, workload)
  const release = (version: number, chartVersion: string, status: string) => ({
    version,
    chartVersion,
    status,
    chartName: 'web',
    lastDeployed: iso(-60 + version),
  })
  const [first, second] = [release(1, '1.4.1', 'deployed'), release(2, '1.4.2', 'failed')]
  const rolledBack = [release(3, '1.4.1', 'deployed'), second]
  const remediated = [
    fluxCondition('Ready', 'False', 'RollbackSucceeded', 'Helm rollback to shop/web.v1 succeeded', 20),
    fluxCondition('Released', 'False', 'UpgradeFailed', 'Helm upgrade failed: timeout', 20),
    fluxCondition('Remediated', 'True', 'RollbackSucceeded', 'Helm rollback to shop/web.v1 succeeded', 20),
  ]
  const attempted = { lastAttemptedRevision: '1.4.2' }

  it('is not failed by a rollback while retries are left, and is ready when one succeeds', async () => {
    const statuses = {
      0: { history: [first], lastAttemptedRevision: '1.4.1', ...isReady },
      5: { history: [first], ...attempted, ...isWorking('Running upgrade action') },
      20: {
        history: rolledBack,
        ...attempted,
        conditions: [...remediated, fluxCondition('Reconciling', 'True', 'ProgressingWithRetry')],
      },
      80: { history: [release(4, '1.4.2', 'deployed'), release(3, '1.4.1', 'superseded')], ...attempted, ...isReady },
    }
    expect(await gateOf(statuses)).toMatchObject(ready(80))
  })

  it('fails once the rollback was the last retry, although the release before is deployed again', async () => {
    const statuses = {
      0: { history: [first], lastAttemptedRevision: '1.4.1', ...isReady },
      20: {
        history: rolledBack,
        ...attempted,
        conditions: [
          ...remediated,
          fluxCondition('Stalled', 'True', 'RetriesExceeded', 'Failed to upgrade after 1 attempt(s)', 20),
        ],
      },
    }
    expect(await gateOf(statuses)).toMatchObject(failedAt(30))
  })

  it('waits while drift of its objects is corrected, and while its tests run', async () => {
    const history = [release(2, '1.4.2', 'deployed')]
    const busy = { conditions: [...isReady.conditions, fluxCondition('Reconciling', 'True')] }
    expect(
      await gateOf({ 0: { history, ...attempted, ...busy }, 9: { history, ...attempted, ...isReady } }),
    ).toMatchObject(ready(9))
  })

  it('is not ready while the attempted version is new and Ready is still about the release before', async () => {
    const statuses = {
      0: { history: [first], ...attempted, ...isReady },
      9: { history: [release(2, '1.4.2', 'deployed'), release(1, '1.4.1', 'superseded')], ...attempted, ...isReady },
    }
    expect(await gateOf(statuses)).toMatchObject(ready(9))
  })

  it('is not failed by a newer version that failed and was rolled back to it', async () => {
    const newest = { lastAttemptedRevision: '1.4.3' }
    const statuses = {
      0: { history: [release(2, '1.4.2', 'deployed')], ...attempted, ...isWorking('Running upgrade action') },
      20: {
        history: [release(4, '1.4.2', 'deployed'), release(3, '1.4.3', 'failed')],
        ...newest,
        conditions: [...remediated, fluxCondition('Stalled', 'True', 'RetriesExceeded', 'Failed to upgrade', 20)],
      },
      90: { history: [release(5, '1.4.3', 'deployed'), release(4, '1.4.2', 'superseded')], ...newest, ...isReady },
    }
    expect(await gateOf(statuses)).toMatchObject(superseded(90))
  })

  it.each([
    ['True', [fluxCondition('Ready', 'True', 'UpgradeSucceeded')]],
    ['False', [fluxCondition('Ready', 'False', 'UpgradeFailed', 'Helm upgrade failed: timeout', -900)]],
    ['of the generation before', [{ ...fluxCondition('Ready', 'True'), observedGeneration: 0 }]],
  ])('waits for a long release of the version while Ready is %s by the release before', async (_, conditions) => {
    const working = [...conditions, fluxCondition('Reconciling', 'True', 'Progressing', "Running 'unlock' action")]
    const statuses = {
      0: { history: [first], lastAttemptedRevision: '1.4.1', conditions },
      5: { history: [first], ...attempted, conditions: working },
      590: { history: [release(2, '1.4.2', 'deployed'), release(1, '1.4.1', 'superseded')], ...attempted, ...isReady },
    }
    expect(await gateOf(statuses)).toMatchObject(ready(590))
  })

  it('is ready when it is suspended after the release', async () => {
    const statuses = {
      0: {
        history: [release(2, '1.4.2', 'deployed')],
        ...attempted,
        ...isReady,
        spec: { suspend: true },
        generation: 2,
      },
    }
    expect(await gateOf(statuses)).toMatchObject(ready(0))
  })

  describe('without an inventory', () => {
    const deployed = { history: [release(2, '1.4.2', 'deployed')], ...attempted, ...isReady, inventory: undefined }
    const labels = { 'helm.toolkit.fluxcd.io/name': 'shop', 'helm.toolkit.fluxcd.io/namespace': 'shop' }
    const labelled = (status: Deployment['status'], own: Readonly<Record<string, string>> = labels) =>
      added(web.deployment(status, { metadata: { labels: own } }))

    it('is not ready before the workloads with its labels are', async () => {
      const workload = { 0: [...web.creating, ...labelled(progressing)], 60: [...web.done, ...labelled(complete())] }
      expect(await gateOf({ 0: deployed }, workload)).toMatchObject(ready(60))
    })

    it('is ready by the word of Flux without the workloads of another release', async () => {
      const other = [...web.creating, ...labelled(progressing, { ...labels, 'helm.toolkit.fluxcd.io/name': 'other' })]
      expect(await gateOf({ 0: deployed }, { 0: other })).toMatchObject(ready(0))
    })
  })
})
