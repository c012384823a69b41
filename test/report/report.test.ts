import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reportJsonSchema, reportSchema } from '../../src/gate/report-schema.ts'
import type { TargetRecord } from '../../src/gate/run-record.ts'
import { emptyRecord, verdictOf } from '../../src/gate/run-record.ts'
import { buildOutputs } from '../../src/outputs.ts'
import { buildAnnotations, buildWarnings } from '../../src/report/annotations.ts'
import { buildReport, renderReport } from '../../src/report/json-report.ts'
import {
  at,
  createMilestone,
  createRecord,
  createTarget,
  createTargetRecord,
  type RecordOverrides,
  reached,
} from './builders.ts'
import { records } from './recorded.ts'

it.each(Object.keys(records))('the report of %s matches its schema', (name) => {
  const text = renderReport(records[name] ?? createRecord())
  expect(reportSchema.safeParse(JSON.parse(text)).error).toBeUndefined()
})

it('the report of a gate that ended before it had targets contains nothing but its conclusion', () => {
  const verdict = verdictOf('unknown', 'api-unreachable', { outage: 'no answer' })
  expect(JSON.parse(renderReport(emptyRecord(verdict, 0, 1_000)))).toEqual({
    schema: 1,
    outcome: 'unknown',
    reason: 'api-unreachable',
    message: 'no answer',
    startedAt: '1970-01-01T00:00:00.000Z',
    finishedAt: '1970-01-01T00:00:01.000Z',
    durationSeconds: 1,
    cluster: { context: '', version: '' },
    targets: [],
  })
})

it('the report contains the fields of the contract', () => {
  const report = buildReport(records['missing-image'] ?? createRecord())
  expect(report).toMatchObject({
    schema: 1,
    outcome: 'failed',
    reason: 'image-not-found',
    startedAt: '2025-01-15T12:00:00.000Z',
    finishedAt: '2025-01-15T12:00:22.000Z',
    durationSeconds: 22,
    cluster: { context: 'prod', version: 'v1.34.4' },
  })
  expect(report.targets[0]).toMatchObject({
    target: 'deployment.apps/web',
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    namespace: 'shop',
    name: 'web',
    outcome: 'failed',
    source: { file: 'k8s/web.yaml', line: 12 },
    problems: [{ class: 'terminal', container: 'app', count: 2, firstSeen: '2025-01-15T12:00:03.000Z' }],
  })
  expect(report.targets[0]?.milestones.slice(3, 6)).toEqual([
    { name: 'scheduled', state: 'done', at: '2025-01-15T12:00:02.000Z', seconds: 2, message: '1 of 1 pods' },
    { name: 'pulled', state: 'failed', message: '0 of 1 pods: refused twice' },
    { name: 'started', state: 'pending', message: '' },
  ])
})

it('the report has a published schema that is up to date', () => {
  const published = readFileSync(join(import.meta.dirname, '../../schemas/report.schema.json'), 'utf8')
  // Else run: npm run docs
  expect(JSON.parse(published)).toEqual(reportJsonSchema())
})

const files = { report: '/tmp/report.json', summary: '/tmp/summary.md' }

it('the outputs of a failure name every target that is not ready', () => {
  const outputs = buildOutputs(records['missing-image'] ?? createRecord(), files)
  expect(outputs).toMatchObject({ outcome: 'failed', reason: 'image-not-found', 'duration-seconds': '22' })
  expect(JSON.parse(outputs['failed-resources'])).toEqual([
    {
      target: 'deployment.apps/web',
      namespace: 'shop',
      outcome: 'failed',
      reason: 'image-not-found',
      message: 'the registry has no image `ghcr.io/acme/web:v2` (manifest unknown)',
    },
    {
      target: 'job.batch/migrate',
      namespace: 'shop',
      outcome: 'progressing',
      reason: '',
      message: 'running, 1 pod active',
    },
  ])
})

const verdict = { outcome: 'failed', reason: 'crash-loop', message: 'x' } as const
const failed = (name: string, seconds: number, overrides: RecordOverrides = {}) =>
  createTargetRecord({
    target: createTarget({ name }),
    outcome: 'failed',
    reason: 'crash-loop',
    message: 'it crashes',
    endedAt: at(seconds),
    ...overrides,
  })
const read = (...targets: TargetRecord[]) => {
  const text = buildOutputs(createRecord({ verdict, targets }), files)['failed-resources']
  return { text, entries: JSON.parse(text) as { target?: string; namespace?: string; more?: number }[] }
}

it('failed-resources begins with the deciding target; the other targets follow in the order of the input', () => {
  const stalled = failed('a', 1, { outcome: 'stalled', reason: 'no-progress' })
  const open = createTargetRecord({ target: createTarget({ name: 'd' }), outcome: 'progressing' })
  const { entries } = read(stalled, failed('b', 9), failed('c', 5), open, createTargetRecord())
  expect(entries.map(({ target }) => target)).toEqual(['c', 'a', 'b', 'd'].map((name) => `deployment.apps/${name}`))
})

it('failed-resources names the namespace of a namespaced target', () => {
  const { namespace: _, ...node } = createTarget({ apiVersion: 'v1', kind: 'PersistentVolume', name: 'disk' })
  const { entries } = read(failed('web', 1), failed('disk', 2, { target: node }))
  expect(entries.map(({ namespace }) => namespace)).toEqual(['shop', undefined])
})

it('failed-resources is cut at 64 KiB, and then its last entry counts the rest', () => {
  const message = 'ü'.repeat(300)
  const { text, entries } = read(...Array.from({ length: 500 }, (_, index) => failed(`w${index}`, 1, { message })))
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(65_536)
  expect(Buffer.byteLength(text)).toBeGreaterThan(64_000)
  expect(entries.at(-1)).toEqual({ more: 500 - (entries.length - 1) })
  expect(entries[0]?.target).toBe('deployment.apps/w0')
})

it('the outputs name the milestone that took longest after the one before it', () => {
  const slow = createTargetRecord({
    target: createTarget({ name: 'api' }),
    milestones: reached({ scheduled: 1, ready: 30.4 }),
  })
  expect(buildOutputs(createRecord({ targets: [createTargetRecord(), slow] }), files)['slowest-milestone']).toBe(
    'deployment.apps/api ready 29.4s',
  )
})

it('the outputs do not name the hold as the slowest milestone, because its time is an input', () => {
  const held = createTargetRecord({ milestones: reached({ scheduled: 1, ready: 5, held: 65 }) })
  expect(buildOutputs(createRecord({ targets: [held] }), files)['slowest-milestone']).toBe(
    'deployment.apps/web ready 4.0s',
  )
})

it('the outputs name the milestone that was not reached, when it took longest', () => {
  const milestones = [...reached({ scheduled: 1 }), createMilestone({ name: 'ready', state: 'failed' })]
  const stuck = createTargetRecord({ outcome: 'failed', endedAt: at(60.5), milestones })
  expect(buildOutputs(createRecord({ targets: [createTargetRecord(), stuck] }), files)['slowest-milestone']).toBe(
    'deployment.apps/web ready 59.5s',
  )
})

it('the outputs have no slowest milestone when none was reached', () => {
  const none = createTargetRecord({ milestones: [createMilestone({ name: 'created', state: 'current' })] })
  expect(buildOutputs(createRecord({ targets: [none] }), files)['slowest-milestone']).toBe('')
})

it('the outputs are one harmless line each', () => {
  for (const value of Object.values(buildOutputs(records['hostile'] ?? createRecord(), files))) {
    expect(value).not.toMatch(/^\s*::|##\[|[\p{Cc}\p{Cf}\u2028\u2029]/u)
  }
})

describe('the annotations', () => {
  const failed = (overrides = {}) =>
    createTargetRecord({
      outcome: 'failed',
      reason: 'crash-loop',
      message: 'it crashes',
      hint: 'Fix it.',
      endedAt: at(9),
      ...overrides,
    })

  it('point to the line of the manifest', () => {
    expect(buildAnnotations(records['missing-image'] ?? createRecord())).toEqual([
      {
        title: 'deployment/web: image ghcr.io/acme/web:v2 not found',
        message:
          'deployment/web: the registry has no image `ghcr.io/acme/web:v2` (manifest unknown)\nPush the tag `v2` before you deploy, or correct `image:` in k8s/web.yaml.',
        file: 'k8s/web.yaml',
        startLine: 12,
      },
    ])
  })

  it('point to the path in the repository after a checkout into a folder', () => {
    const tracked = new Map([['k8s/web.yaml', { path: 'deploy/web.yaml', url: 'https://github.com' }]])
    expect(buildAnnotations(records['missing-image'] ?? createRecord(), tracked)).toMatchObject([
      { file: 'deploy/web.yaml', startLine: 12 },
    ])
  })

  it('have no place in the commit when the file is not tracked, and name the file in their text', () => {
    const tracked = new Map([['k8s/web.yaml', 'untracked' as const]])
    const [annotation] = buildAnnotations(records['missing-image'] ?? createRecord(), tracked)
    expect(annotation).not.toHaveProperty('file')
    expect(annotation?.message).toMatch(/\nk8s\/web\.yaml, line 12$/)
  })

  it.each(['resources', '-', '/etc/web.yaml', '../web.yaml', 'C:\\web.yaml'])(
    'have no line when the target comes from %s',
    (file) => {
      const target = createTarget({ source: { file, line: 3 } })
      expect(buildAnnotations(createRecord({ targets: [failed({ target })] }))[0]).not.toHaveProperty('file')
    },
  )

  it('are at most eight, and the last counts the rest', () => {
    const targets = Array.from({ length: 12 }, (_, index) => failed({ target: createTarget({ name: `web-${index}` }) }))
    const annotations = buildAnnotations(createRecord({ targets }))
    expect(annotations).toHaveLength(8)
    expect(annotations[7]?.title).toBe('5 more targets not ready')
    expect(annotations[7]?.message).toContain('deployment/web-11')
    expect(buildAnnotations(createRecord({ targets: targets.slice(0, 8) }))[7]?.title).toContain('web-7')
  })

  it('begin with the deciding target', () => {
    const verdict = { outcome: 'failed', reason: 'crash-loop', message: 'x' } as const
    const targets = Array.from({ length: 12 }, (_, index) =>
      failed({ target: createTarget({ name: `web-${index}` }), endedAt: at(20 - index) }),
    )
    expect(buildAnnotations(createRecord({ verdict, targets }))[0]?.title).toContain('web-11')
  })

  it('warn of what a ready target misses', () => {
    const warnings = ['its TLS Secret web-tls does not exist', 'no IngressClass is named ng\ninx']
    const target = createTarget({ name: 'web', source: { file: 'k8s/web.yaml', line: 3 } })
    const record = createRecord({
      targets: [
        createTargetRecord({ target, warnings }),
        createTargetRecord({ target: createTarget({ name: 'api' }) }),
      ],
    })
    expect(buildWarnings(record)).toEqual([
      {
        title: 'deployment/web',
        message: 'its TLS Secret web-tls does not exist\nno IngressClass is named ng\ninx',
        file: 'k8s/web.yaml',
        startLine: 3,
      },
    ])
  })

  it('are never longer than the limit', () => {
    const message = Array.from({ length: 50 }, () => 'x'.repeat(500)).join('\n')
    expect(buildAnnotations(createRecord({ targets: [failed({ message })] }))[0]?.message).toHaveLength(1_500)
  })

  it('of a gate that could not judge its targets are one, for the gate', () => {
    const verdict = {
      outcome: 'unknown',
      reason: 'api-unreachable',
      message: 'the API server has not answered for 120 s',
    } as const
    const open = createTargetRecord({ outcome: 'progressing', message: 'pulling images' })
    const record = createRecord({ verdict, hint: 'Check the network.', targets: [open, open] })
    expect(buildAnnotations(record)).toEqual([
      {
        title: 'Rollout unknown after 31 s · the cluster could not be reached',
        message: 'The API server has not answered for 120 s\nCheck the network.',
      },
    ])
  })

  it('are not created for ready or open targets', () => {
    expect(buildAnnotations(records['cancelled'] ?? createRecord())).toEqual([])
  })
})
