import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Observation } from '../../src/cluster/feed.ts'
import type { KubeObject, ManagedFields } from '../../src/cluster/objects.ts'
import { buildOutputs } from '../../src/outputs.ts'
import type { Target } from '../../src/plan/target.ts'
import { reasons } from '../../src/reasons/reasons.ts'
import { buildReport } from '../../src/report/json-report.ts'
import { renderSummary } from '../../src/report/summary.ts'
import {
  added,
  allSynced,
  at,
  createRecording,
  createTarget,
  createWorkload,
  modified,
  type RawInputs,
  run,
  runUntil,
  synced,
} from '../kit/gate.ts'
import { complete, iso, make, ownedBy, podIs } from '../kit/objects.ts'
import { renderLog } from '../report/whole-log.ts'
import { replayRecording } from '../support/recordings.ts'

const web = createWorkload('web')
const minute = 60
const day = 86_400
/** The age of the present version in these tests. */
const old = -(3 * day + 4 * 3_600)

const wrote = (manager: string, seconds: number, subresource?: string): ManagedFields => ({
  manager,
  operation: 'Update',
  time: iso(seconds),
  ...(subresource && { subresource }),
})

/** A healthy Deployment whose ReplicaSet was created at this second. */
function version(seconds: number, metadata: object = {}, spec: object = {}, status = complete()): Observation[] {
  const deployment = web.deployment(status, { metadata: { creationTimestamp: iso(old), ...metadata }, spec })
  const annotations = { 'deployment.kubernetes.io/revision': '7' }
  const set = make.replicaSet({ metadata: { creationTimestamp: iso(seconds), annotations } }, deployment)
  return added(deployment, set, make.pod({ status: podIs.ready(seconds + 3) }, set))
}

const settings = { requireChangeMs: 30 * minute * 1_000 }
const image = (name: string) => make.template({ containers: [make.container({ image: name })] })
const manifestOf = (template: object) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: { template },
})

describe('a deploy', () => {
  const folder = mkdtempSync(join(tmpdir(), 'unchanged-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  /** All that a user reads of a gate on these objects, replayed from a recording. */
  async function gate(objects: readonly Observation[], inputs: RawInputs, targets: readonly Target[]) {
    const path = join(folder, 'recording.ndjson')
    const kinds = targets.map(
      ({ apiVersion, kind }) => ({ type: 'SYNCED', apiVersion, kind, namespace: 'shop' }) as const,
    )
    writeFileSync(path, createRecording(inputs, [at(0, objects, allSynced, kinds)], { targets }))
    const { runRecord: record } = await replayRecording(path)
    return {
      log: renderLog(record, { color: false }).join('\n'),
      summary: renderSummary(record),
      report: buildReport(record),
      changed: JSON.parse(buildOutputs(record, { report: '', summary: '' }).changed) as { target: string }[],
    }
  }

  const configMap: KubeObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'web', namespace: 'shop', uid: 'c', managedFields: [wrote('kubectl', -20)] },
  }
  const cronJob: KubeObject = {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'web', namespace: 'shop', uid: 'c', managedFields: [wrote('kubectl', old)] },
    spec: { schedule: '@daily' },
  }
  const applied = (seconds: number) => ({ managedFields: [wrote('kubectl-client-side-apply', seconds)] })
  const scaled = { replicas: 2, template: make.template() }
  const second = make.pod({ metadata: { name: 'web-1-b' }, status: podIs.ready(-15) }, web.replicaSet)

  it.each<[string, Observation[], Partial<Target>?]>([
    ['applies the tag that is there', version(old, applied(old)), { applied: 'unchanged' }],
    [
      'applies the digest that is there',
      version(old, applied(-20), { template: image(`acme/web@sha256:${'b'.repeat(64)}`) }),
      { applied: 'configured' },
    ],
    [
      'changes only the number of replicas',
      [
        ...version(
          old,
          { generation: 2, managedFields: [wrote('kubectl', old), wrote('kubectl', -20, 'scale')] },
          scaled,
          complete(2, { observedGeneration: 2 }),
        ),
        ...added(second),
      ],
    ],
    [
      'is a server-side apply of the same by another manager',
      version(old, { managedFields: [wrote('kubectl', old), { ...wrote('argocd', -20), operation: 'Apply' }] }),
      { applied: 'serverside-applied' },
    ],
    ['was applied to another namespace', version(old, applied(old)), { applied: 'configured' }],
    ['runs the job of an earlier deploy again', version(old, applied(old))],
    ['waits for an image updater that is late', version(old, { managedFields: [wrote('argocd-image-updater', old)] })],
    ['changes only a label', version(old, { labels: { a: 'b' }, managedFields: [wrote('kubectl-label', -20)] })],
  ])('that %s is named as unchanged, and fails with require-change', async (_, objects, rest = {}) => {
    const targets = [createTarget(rest)]
    const shown = await gate(objects, {}, targets)
    expect(shown.log).toMatch(/deployment\/web +✓ ready in 0 s: unchanged for 3 d 4 h, revision 7/)
    expect(shown.log).toMatch(/✓ Ready, but nothing changed in the last 3 d/)
    expect(shown.summary).toMatch(/^### ✅ Ready, but nothing changed in the last 3 d/)
    expect(shown.summary).toContain('unchanged for 3 d 4 h')
    const { applied: printed } = rest
    if (printed !== undefined) expect(shown.log).toContain(`kubectl: ${printed}`)
    expect(shown.report).toMatchObject({ outcome: 'ready', targets: [{ change: 'none' }] })
    expect(shown.changed).toEqual([])

    const failed = await gate(objects, { 'require-change': '30m' }, targets)
    const kubectl = printed === undefined ? '' : `; kubectl reported it as ${printed}`
    const sentence = `unchanged for 3 d 4 h, and require-change is 30 m${kubectl}`
    for (const text of [failed.log, failed.summary]) expect(text).toContain(sentence)
    expect(failed.report).toMatchObject({ outcome: 'failed', reason: 'not-changed', durationSeconds: 0 })
    expect(failed.changed).toEqual([])
  })

  it('that changes only a ConfigMap is named as unchanged, and fails with require-change', async () => {
    const targets = [createTarget(), createTarget({ apiVersion: 'v1', kind: 'ConfigMap' })]
    const objects = [...version(old, applied(old)), ...added(configMap)]
    const shown = await gate(objects, {}, targets)
    expect(shown.log).toMatch(/deployment\/web +✓ ready in 0 s: unchanged for 3 d 4 h, revision 7/)
    expect(shown.summary).toContain('unchanged for 3 d 4 h')
    expect(shown.report.outcome).toBe('ready')
    expect(shown.changed.map(({ target }) => target)).toEqual(['configmap/web'])
    const { report } = await gate(objects, { 'require-change': '30m' }, targets)
    expect(report).toMatchObject({ outcome: 'failed', reason: 'not-changed' })
    expect(report.targets.map(({ reason }) => reason)).toEqual(['not-changed', ''])
  })

  it('of a CronJob that changes nothing is named as unchanged, and passes require-change, because it runs no pods', async () => {
    const targets = [createTarget({ apiVersion: 'batch/v1', kind: 'CronJob' })]
    const withoutAndWith: readonly RawInputs[] = [{}, { 'require-change': '30m' }]
    for (const inputs of withoutAndWith) {
      const { log, summary, report, changed } = await gate(added(cronJob), inputs, targets)
      expect(log).toMatch(/cronjob\/web +✓ ready in 0 s: unchanged for 3 d 4 h, exists, runs at "@daily"/)
      expect(summary).toMatch(/^### ✅ Ready, but nothing changed in the last 3 d/)
      expect(report.outcome).toBe('ready')
      expect(changed).toEqual([])
    }
  })
})

describe('require-change', () => {
  it.each<[string, number, string]>([
    ['passes a version that came within it', -29 * minute, 'ready'],
    ['fails one that is older', -31 * minute, 'failed'],
  ])('%s', (_, seconds, outcome) => {
    expect(run([at(0, version(seconds), allSynced)], { settings }).outcome).toBe(outcome)
  })

  it('of a reference applies only to that reference, and 0 turns off the limit of the gate for it', () => {
    const outcome = (requireChangeMs: number) =>
      run([at(0, version(old), allSynced)], { settings, targets: [createTarget({ clocks: { requireChangeMs } })] })
        .outcome
    expect(outcome(0)).toBe('ready')
    expect(outcome(100 * day * 1_000)).toBe('ready')
    const own = [createTarget({ clocks: { requireChangeMs: 60_000 } })]
    expect(run([at(0, version(-61), allSynced)], { targets: own }).reason).toBe('not-changed')
  })

  it('never fails a target whose age is unknown', () => {
    const unlisted = [at(0, added(web.deployment(complete())), synced('Deployment', 'Pod', 'Event'))]
    expect(runUntil(5, unlisted, { settings }).targets).toMatchObject([{ reason: '' }])
  })

  it.each<[string, KubeObject, number]>([
    ['a Job', { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'web' } }, 1],
    ['a Service', { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } }, 0],
    ['a custom resource', { apiVersion: 'acme.io/v1', kind: 'Widget', metadata: { name: 'web' } }, 0],
  ])('applies to the kinds that run pods: %s that is old', (_, { apiVersion, kind, metadata }, failures) => {
    const own = { namespace: 'shop', uid: 'u', creationTimestamp: iso(old), managedFields: [wrote('kubectl', old)] }
    const object = { apiVersion, kind, metadata: { ...metadata, ...own } }
    const steps = [
      at(0, added(object), [{ type: 'SYNCED', apiVersion, kind, namespace: 'shop' }], synced('Event', 'Pod')),
    ]
    const { targets } = runUntil(1, steps, { settings, targets: [createTarget({ apiVersion, kind })] })
    expect(targets.filter(({ reason }) => reason === 'not-changed')).toHaveLength(failures)
  })

  it('asks by the kind, also where --for decides what is ready', () => {
    const targets = [createTarget({ waitFor: { type: 'create' } })]
    const written = web.deployment(complete(), { metadata: { managedFields: [wrote('kubectl', old)] } })
    expect(run([at(0, added(written), allSynced)], { settings, targets }).reason).toBe('not-changed')
  })

  it('does not fail an undo that the controller has not observed, or whose rollout goes on', () => {
    const next = { template: image('acme/web:v2') }
    const annotations = (number: string) => ({ 'deployment.kubernetes.io/revision': number })
    const now = web.deployment(complete(), {
      metadata: { generation: 3, managedFields: [wrote('kubectl-rollout', -2)], annotations: annotations('2') },
    })
    const before = make.replicaSet({ metadata: { creationTimestamp: iso(old), annotations: annotations('1') } }, now)
    const undone = make.replicaSet(
      { metadata: { name: 'web-2', creationTimestamp: iso(old + day), annotations: annotations('2') }, spec: next },
      now,
    )
    const pod = make.pod({ status: podIs.ready(old) }, undone)
    expect(runUntil(1, [at(0, added(now, before, undone, pod), allSynced)], { settings }).outcome).toBeUndefined()
  })

  it('fails at once also a target that is not ready', () => {
    const broken = version(old, {}, {}, complete(1, { availableReplicas: 0 }))
    expect(run([at(0, broken, allSynced)], { settings })).toMatchObject({ reason: 'not-changed', seconds: 0 })
  })

  describe('with await-change', () => {
    const awaiting = { ...settings, awaitChangeMs: 120_000 }

    it('fails an old version when the time of await-change is over', () => {
      expect(run([at(0, version(old), allSynced)], { settings: awaiting })).toMatchObject({
        outcome: 'failed',
        reason: 'not-changed',
        seconds: 120,
      })
    })

    it('leaves the verdict to await-change if the version is young enough, but came before the gate', () => {
      expect(run([at(0, version(-60), allSynced)], { settings: awaiting })).toMatchObject({
        outcome: 'stalled',
        reason: 'change-not-seen',
        seconds: 120,
      })
    })

    it('fails an old version when a change arrives that is only a label', () => {
      const manifest = { ...manifestOf({}), spec: {}, metadata: { name: 'web', labels: { a: 'b' } } }
      const labelled = version(old, { labels: { a: 'b' }, managedFields: [wrote('kubectl', 50)] }).slice(0, 1)
      const steps = [
        at(0, version(old), allSynced),
        at(50, modified(...labelled.flatMap((each) => ('object' in each ? each.object : [])))),
      ]
      const targets = [createTarget({ manifest })]
      expect(run(steps, { settings: awaiting, targets })).toMatchObject({ reason: 'not-changed', seconds: 50 })
    })

    it('passes a change that arrives', () => {
      const next = web.deployment(complete(1, { observedGeneration: 2 }), {
        metadata: { generation: 2, managedFields: [wrote('kubectl', 50)] },
        spec: { template: image('acme/web:v2') },
      })
      const set = make.replicaSet({ metadata: { name: 'web-2', creationTimestamp: iso(50) } }, next)
      const pod = make.pod(
        {
          metadata: { name: 'web-2-a', creationTimestamp: iso(50), ownerReferences: ownedBy(set) },
          status: podIs.ready(51),
        },
        set,
      )
      const steps = [at(0, version(old), allSynced), at(50, modified(next), added(set, pod))]
      expect(run(steps, { settings: awaiting })).toMatchObject({ outcome: 'ready', seconds: 60 })
    })
  })

  it('has a hint that lists what to look at', () => {
    const hint = reasons['not-changed'].hint({ target: { kind: 'Deployment', name: 'web', namespace: 'shop' } })
    for (const words of ['the image built', 'namespace shop', 'await-change', 'ConfigMap'])
      expect(hint).toContain(words)
  })
})

describe('a target is reported as unchanged', () => {
  it.each<[string, number, string | undefined]>([
    ['when its version is older than an hour', -61 * minute, 'none'],
    ['not when its version came within the last hour', -59 * minute, 'recent'],
  ])('%s', (_, seconds, change) => {
    expect(run([at(0, version(seconds), allSynced)]).record.targets[0]?.change).toBe(change)
  })

  it('not if it was not ready at first sight', () => {
    const broken = version(old, {}, {}, complete(1, { availableReplicas: 0 }))
    const steps = [at(0, broken, allSynced), at(5, modified(web.deployment(complete())))]
    const { outcome, record } = run(steps)
    expect(outcome).toBe('ready')
    expect(record.targets[0]?.change).toBeUndefined()
  })
})
