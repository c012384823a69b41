import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { KubeObject, ManagedFields } from '../../src/cluster/objects.ts'
import { Redactor } from '../../src/cluster/redact.ts'
import { ManifestDrift } from '../../src/diagnosis/manifest-drift.ts'
import { parseManifests } from '../../src/plan/read-manifests.ts'
import { resolveReferences, resolveTargets } from '../../src/plan/resolve.ts'
import { buildAnnotations } from '../../src/report/annotations.ts'
import { resources } from '../plan/discovery.ts'
import { createRecord, createTargetRecord } from '../report/builders.ts'

const web = `# web
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3
  template:
    spec:
      containers:
        - name: app
          image: app:v2
          env:
            - { name: TOKEN, value: hunter2 }
`
const redactor = new Redactor()
redactor.keepRecordsOf([{ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' }])

function driftOf(text: string) {
  const parsed = parseManifests(text, 'k8s/web.yaml')
  const plan = resolveTargets(
    resolveReferences(parsed, resources, { namespace: 'shop', milestones: [], milestonesOf: () => [] }),
    () => [],
  )
  return { drift: new ManifestDrift(plan, redactor), plan }
}

interface Live {
  readonly replicas?: number
  readonly image?: string
  readonly token?: string
  readonly managedFields?: ManagedFields[]
}

function seen({ replicas = 3, image = 'app:v2', token = 'hunter2', managedFields = [] }: Live, at = 5): FeedEvent {
  const env = [{ name: 'TOKEN', value: token }]
  const object = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', managedFields },
    spec: { replicas, template: { spec: { containers: [{ name: 'app', image, env }] } } },
  }
  return { at, type: 'ADDED', object: redactor.redact(object as KubeObject) }
}

describe('a live object that differs from its manifest', () => {
  it('is a warning at the line of the first difference when it is first received', () => {
    const text =
      'the live object differs from k8s/web.yaml:2: spec.replicas is 5, not 3 (line 7); spec.template.spec.containers[app].image is app:v1, not app:v2 (line 12)'
    expect(driftOf(web).drift.observe(seen({ replicas: 5, image: 'app:v1' }))).toEqual([
      {
        entry: { at: 5, target: 0, kind: 'note', text },
        warning: { text: `deployment/web: ${text}`, source: { file: 'k8s/web.yaml', line: 7 } },
      },
    ])
  })

  it('is reported only once, and only if it differs when it is first received', () => {
    const { drift } = driftOf(web)
    expect(drift.observe(seen({}))).toEqual([])
    expect(drift.observe(seen({ replicas: 5 }))).toEqual([])
  })

  it('is reported without the values of its environment variables', () => {
    const [note] = driftOf(web).drift.observe(seen({ token: 'hunter3' }))
    expect(note?.entry.text).toContain('env[TOKEN].value differs (line 14)')
    expect(JSON.stringify(note)).not.toMatch(/hunter|hmac/)
  })

  it('is a note instead of a warning if an autoscaler sets the replicas', () => {
    const soft = [
      {
        entry: {
          at: 5,
          target: 0,
          kind: 'note',
          text: 'spec.replicas is 5, not 3 as in k8s/web.yaml:7: something scales it',
        },
      },
    ]
    const managedFields = [{ manager: 'kube-controller-manager', operation: 'Update', subresource: 'scale' }]
    expect(driftOf(web).drift.observe(seen({ replicas: 5, managedFields }))).toEqual(soft)
  })

  it('is a note instead of a warning if something scaled it to zero, which the server records for no owner', () => {
    const entry = (spec: object) => [{ manager: 'helm', operation: 'Update', fieldsV1: { 'f:spec': spec } }]
    const warningsOf = (spec: object) =>
      driftOf(web)
        .drift.observe(seen({ replicas: 0, managedFields: entry(spec) }))
        .flatMap(({ warning = [] }) => warning)
    expect(warningsOf({ 'f:template': {} })).toEqual([])
    expect(warningsOf({ 'f:template': {}, 'f:replicas': {} })).toHaveLength(1)
  })

  it('is reported with at most five differences', () => {
    const labels = Array.from({ length: 8 }, (_, index) => `l${index}: x`).join(', ')
    const [note] = driftOf(web.replace('  name: web', `  name: web\n  labels: {${labels}}`)).drift.observe(seen({}))
    expect(note?.entry.text).toMatch(/l4 is missing, not x \(line 6\) and 3 more$/)
  })

  it('is not reported if it is another object or missing', () => {
    const { drift } = driftOf(web)
    const other = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'other' } }
    expect(drift.observe({ at: 1, type: 'ADDED', object: other })).toEqual([])
    expect(drift.observe({ at: 2, type: 'SYNCED', apiVersion: 'apps/v1', kind: 'Deployment' })).toEqual([])
    expect(drift.observe(seen({ replicas: 5 }))).toHaveLength(1)
  })
})

describe('the report of a live object that differs from its manifest', () => {
  const { drift, plan } = driftOf(web)
  const judged = createTargetRecord({
    target: plan.targets[0],
    outcome: 'failed',
    reason: 'image-not-found',
    message: 'the registry has no image app:v2',
    notes: ['1 old pod still draining'],
  })
  const record = createRecord({
    targets: [judged],
    entries: [
      { at: 4, kind: 'note', text: 'before' },
      { at: 9, kind: 'note', text: 'after' },
    ],
  })

  it('contains the differences as entries and as notes of the target', () => {
    expect(drift.addNotesTo(record)).toBe(record)
    const [note] = drift.observe(seen({ replicas: 5 }))
    const { entries, targets } = drift.addNotesTo(record)
    expect(entries.map(({ text }) => text)).toEqual(['before', note?.entry.text, 'after'])
    expect(targets[0]?.notes).toEqual(['1 old pod still draining', note?.entry.text])
  })

  it('has an annotation at the line of the manifest', () => {
    expect(buildAnnotations(record)).toMatchObject([{ file: 'k8s/web.yaml', startLine: 2 }])
  })
})
