import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Observation } from '../../src/cluster/feed.ts'
import type { KubeObject, ManagedFields } from '../../src/cluster/objects.ts'
import { buildOutputs } from '../../src/outputs.ts'
import type { Target } from '../../src/plan/target.ts'
import { hintOf } from '../../src/reasons/reasons.ts'
import { buildReport } from '../../src/report/json-report.ts'
import { renderSummary } from '../../src/report/summary.ts'
import {
  added,
  allSynced,
  at,
  createRecording,
  createTarget,
  createWorkload,
  type RawInputs,
  synced,
} from '../kit/gate.ts'
import { complete, iso, make, podIs } from '../kit/objects.ts'
import { renderLog } from '../report/whole-log.ts'
import { replayRecording } from '../support/recordings.ts'

const web = createWorkload('web')
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

const image = (name: string) => make.template({ containers: [make.container({ image: name })] })

describe('a deploy', () => {
  const folder = mkdtempSync(join(tmpdir(), 'unchanged-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  /** All that a user reads of a gate on these objects, replayed from a recording. */
  async function shownFor(objects: readonly Observation[], inputs: RawInputs, targets: readonly Target[]) {
    const path = join(folder, 'recording.ndjson')
    const kinds = synced(...targets.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`))
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
    ['applies the present tag', version(old, applied(old)), { applied: 'unchanged' }],
    [
      'applies the present digest',
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
      'applies the same manifest by another manager',
      version(old, { managedFields: [wrote('kubectl', old), { ...wrote('argocd', -20), operation: 'Apply' }] }),
      { applied: 'serverside-applied' },
    ],
    ['applies to another namespace', version(old, applied(old)), { applied: 'configured' }],
    ['repeats an earlier deploy', version(old, applied(old))],
    ['waits for a late image updater', version(old, { managedFields: [wrote('argocd-image-updater', old)] })],
    ['changes only a label', version(old, { labels: { a: 'b' }, managedFields: [wrote('kubectl-label', -20)] })],
  ])('that %s is reported as unchanged, and fails with require-change', async (_, objects, rest = {}) => {
    const targets = [createTarget(rest)]
    const shown = await shownFor(objects, {}, targets)
    expect(shown.log).toMatch(/deployment\/web +✓ ready in 0 s: unchanged for 3 d 4 h, revision 7/)
    expect(shown.log).toMatch(/✓ Ready, but nothing changed in the last 3 d/)
    expect(shown.summary).toMatch(/^### ✅ Ready, but nothing changed in the last 3 d/)
    expect(shown.summary).toContain('unchanged for 3 d 4 h')
    const { applied: printed } = rest
    if (printed !== undefined) expect(shown.log).toContain(`kubectl: ${printed}`)
    expect(shown.report).toMatchObject({ outcome: 'ready', targets: [{ change: 'none' }] })
    expect(shown.changed).toEqual([])

    const failed = await shownFor(objects, { 'require-change': '30m' }, targets)
    const kubectl = printed === undefined ? '' : `; kubectl reported it as ${printed}`
    const sentence = `unchanged for 3 d 4 h, and require-change is 30 m${kubectl}`
    for (const text of [failed.log, failed.summary]) expect(text).toContain(sentence)
    expect(failed.report).toMatchObject({ outcome: 'failed', reason: 'not-changed', durationSeconds: 0 })
    expect(failed.changed).toEqual([])
  })

  it('that changes only a ConfigMap is reported as unchanged, and fails with require-change', async () => {
    const targets = [createTarget(), createTarget({ apiVersion: 'v1', kind: 'ConfigMap' })]
    const objects = [...version(old, applied(old)), ...added(configMap)]
    const shown = await shownFor(objects, {}, targets)
    expect(shown.log).toMatch(/deployment\/web +✓ ready in 0 s: unchanged for 3 d 4 h, revision 7/)
    expect(shown.summary).toContain('unchanged for 3 d 4 h')
    expect(shown.report.outcome).toBe('ready')
    expect(shown.changed.map(({ target }) => target)).toEqual(['configmap/web'])
    const { report } = await shownFor(objects, { 'require-change': '30m' }, targets)
    expect(report).toMatchObject({ outcome: 'failed', reason: 'not-changed' })
    expect(report.targets.map(({ reason }) => reason)).toEqual(['not-changed', ''])
  })

  it('of an unchanged CronJob is reported as unchanged, and passes require-change', async () => {
    const targets = [createTarget({ apiVersion: 'batch/v1', kind: 'CronJob' })]
    const withoutAndWith: readonly RawInputs[] = [{}, { 'require-change': '30m' }]
    for (const inputs of withoutAndWith) {
      const { log, summary, report, changed } = await shownFor(added(cronJob), inputs, targets)
      expect(log).toMatch(/cronjob\/web +✓ ready in 0 s: unchanged for 3 d 4 h, exists, runs at "@daily"/)
      expect(summary).toMatch(/^### ✅ Ready, but nothing changed in the last 3 d/)
      expect(report.outcome).toBe('ready')
      expect(changed).toEqual([])
    }
  })
})

it('the hint for not-changed lists what to check', () => {
  const hint = hintOf('not-changed', { target: { kind: 'Deployment', name: 'web', namespace: 'shop' } })
  for (const words of ['the image built', 'namespace shop', 'await-change', 'ConfigMap']) expect(hint).toContain(words)
})
