import type { KubeObject } from '../../src/cluster/objects.ts'
import type { Target } from '../../src/plan/target.ts'
import {
  added,
  allSynced,
  at,
  createTarget,
  createWorkload,
  deleted,
  modified,
  progressing,
  run,
  runUntil,
} from '../kit/gate.ts'
import { complete, iso, make } from '../kit/objects.ts'

const web = createWorkload('web')
const removal = 'helm.sh/hook-delete-policy=hook-succeeded'
const hook = { annotation: 'helm.sh/hook=pre-upgrade', removal }
const migrate = createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate', hook })
const account = createTarget({ apiVersion: 'v1', kind: 'ServiceAccount', name: 'migrate', hook })
const targets = [migrate, web.target]
const jobsListed = { type: 'SYNCED', apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop' } as const
const accountsListed = { type: 'SYNCED', apiVersion: 'v1', kind: 'ServiceAccount', namespace: 'shop' } as const
const removed = `does not exist: its tool removes it after success (${removal})`

function createObject({ apiVersion, kind, name, namespace }: Target, status?: object, uid = 'a'): KubeObject {
  const metadata = { name, namespace, uid: `${kind}-${uid}`, creationTimestamp: iso(1) } as KubeObject['metadata']
  return { apiVersion, kind, metadata, spec: {}, ...(status && { status }) } as KubeObject
}

const running = { active: 1, startTime: iso(1) }
const jobComplete = { succeeded: 1, conditions: [{ type: 'Complete', status: 'True' }] }
const jobFailed = { failed: 1, conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' }] }
const unready = added(web.deployment(progressing), web.replicaSet, web.pod())

describe('a hook that its tool removes after success, and that does not exist', () => {
  it('is ready with a note once all other targets are', () => {
    const steps = [at(0, web.done, allSynced, jobsListed)]
    expect(run(steps, { targets })).toMatchObject({
      outcome: 'ready',
      seconds: 0,
      targets: [{ outcome: 'ready', message: removed }, { outcome: 'ready' }],
      record: { targets: [{ hook }, { hook: undefined }] },
      entries: expect.arrayContaining([`0 verdict ${removed}`]),
    })
  })

  it('is reported while it waits', () => {
    const { entries } = runUntil(5, [at(0, unready, allSynced, jobsListed)], { targets })
    expect(entries).toContain('0 note does not exist: its tool creates it to run it, and removes it after success')
  })

  it('is not ready before its kind is listed', () => {
    const steps = [at(0, web.done, allSynced), at(7, jobsListed)]
    expect(run(steps, { targets, live: true })).toMatchObject({ outcome: 'ready', seconds: 7 })
  })

  it('waits for the other targets, also beyond the time for `created` and the stall clock', () => {
    expect(runUntil(280, [at(0, unready, allSynced, jobsListed)], { targets })).toMatchObject({
      outcome: undefined,
      entries: expect.arrayContaining([
        expect.stringMatching(/heartbeat still waiting for .*job\/migrate \(waits for deployment\/web\)/),
      ]),
    })
  })

  it('only waits for a target that fails, and is no failure of its own', () => {
    const steps = [at(0, unready, allSynced, jobsListed)]
    const { outcome, message, record } = run(steps, { targets, settings: { failFast: false } })
    expect({ outcome, message }).toMatchObject({
      outcome: 'stalled',
      message: expect.stringMatching(/^deployment\/web(?!.*more)/),
    })
    expect(record.targets[0]).toMatchObject({ causedBy: 'deployment.apps/web' })
  })

  it('never stands in for the other targets: alone, it is not found', () => {
    expect(run([at(0, jobsListed)], { targets: [migrate] })).toMatchObject({
      outcome: 'failed',
      reason: 'not-found',
      seconds: 30,
      message: 'job/migrate does not exist, 30 s after the gate began: it is a hook (helm.sh/hook=pre-upgrade)',
    })
  })
})

describe('a hook that its tool keeps', () => {
  it('is not found where it does not exist, and its annotation is named', () => {
    const kept = createTarget({ ...migrate, hook: { annotation: hook.annotation } })
    expect(run([at(0, web.done, allSynced, jobsListed)], { targets: [kept, web.target] })).toMatchObject({
      outcome: 'failed',
      message: expect.stringContaining('it is a hook (helm.sh/hook=pre-upgrade)'),
    })
  })
})

describe('a hook that exists', () => {
  it('is awaited while it runs, and stays ready when its tool removes it', () => {
    const job = createObject(migrate, running)
    const steps = [
      at(0, web.done, allSynced, added(job), jobsListed),
      at(20, modified(createObject(migrate, jobComplete))),
      at(21, deleted(createObject(migrate, jobComplete))),
    ]
    expect(runUntil(10, steps.slice(0, 1), { targets }).outcome).toBeUndefined()
    expect(run(steps, { targets })).toMatchObject({ outcome: 'ready', seconds: 20 })
  })

  it('fails the gate when it fails', () => {
    const steps = [at(0, web.done, allSynced, added(createObject(migrate, jobFailed)), jobsListed)]
    expect(run(steps, { targets })).toMatchObject({ outcome: 'failed', reason: 'job-failed' })
  })

  it('has not succeeded when it is deleted while it runs', () => {
    const job = createObject(migrate, running)
    const steps = [at(0, web.done, allSynced, added(job), jobsListed), at(10, deleted(job))]
    expect(run(steps, { targets })).toMatchObject({ outcome: 'failed', reason: 'deleted', seconds: 15 })
  })

  it('may be removed while the other targets are not ready yet, if it has no end of its own', () => {
    const object = createObject(account)
    const steps = [at(0, unready, allSynced, added(object), accountsListed), at(10, deleted(object)), at(30, web.done)]
    const result = run(steps, { targets: [account, web.target] })
    expect(result).toMatchObject({ outcome: 'ready', seconds: 30 })
    expect(result.entries).toContain(`10 note was deleted: its tool removes it after success (${removal})`)
  })
})

describe('a removed hook of a gate that awaits a change', () => {
  const settings = { awaitChangeMs: 60_000 }
  const next = make.template({ containers: [make.container({ image: 'acme/web:v2' })] })
  const changed = web.deployment(complete(1, { observedGeneration: 1 }), {
    metadata: { generation: 2 },
    spec: { template: next },
  })

  it('is never ready before another target has changed', () => {
    expect(run([at(0, web.done, allSynced, jobsListed)], { targets, settings })).toMatchObject({
      outcome: 'stalled',
      reason: 'change-not-seen',
      message: 'deployment/web: its change did not arrive in 1 m',
      seconds: 60,
    })
  })

  it('waits for a target whose change has arrived, also beyond the time for the change', () => {
    const steps = [at(0, web.done, allSynced, jobsListed), at(50, modified(changed))]
    expect(runUntil(100, steps, { targets, settings }).outcome).toBeUndefined()
  })
})
