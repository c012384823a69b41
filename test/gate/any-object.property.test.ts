import fc from 'fast-check'
import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { Redactor } from '../../src/cluster/redact.ts'
import { addDiagnosis } from '../../src/diagnosis/diagnosis.ts'
import { Gate } from '../../src/gate/gate.ts'
import { isEndedRecord } from '../../src/gate/run-record.ts'
import type { GateSettings } from '../../src/gate/settings.ts'
import { loadCatalogue } from '../../src/lifecycle/custom/catalogue.ts'
import type { Target } from '../../src/plan/target.ts'
import { readHeader } from '../../src/recording/reader.ts'
import { buildAnnotations } from '../../src/report/annotations.ts'
import { renderReport } from '../../src/report/json-report.ts'
import { renderSummary } from '../../src/report/summary.ts'
import { recordedSettings } from '../../src/run/recorded-run.ts'
import { renderLog } from '../report/whole-log.ts'
import { type Path, pathsOf, withValue } from '../support/json-paths.ts'
import { operatorRecordingsFolder, recordedEvents, recordingPath } from '../support/recordings.ts'
import { parameters } from '../support/thorough.ts'

/** What a live gate read, before it is judged. */
interface Read {
  readonly targets: readonly Target[]
  readonly settings: GateSettings
  readonly events: readonly FeedEvent[]
}

async function read(name: string, folder?: string): Promise<Read> {
  const path = recordingPath(name, folder)
  const header = await readHeader(path)
  const targets = header.targets ?? []
  const events = await recordedEvents(path)
  return { targets, settings: { ...recordedSettings(header), catalogue: await loadCatalogue(targets) }, events }
}

/** Fields of built-in kinds, which a custom resource may have with other types. */
const foreignPaths: readonly Path[] = [
  ...['containers', 'initContainers', 'template', 'replicas', 'selector', 'minReadySeconds', 'paused', 'suspend'],
  ...['volumes', 'strategy', 'updateStrategy', 'resourceRefs', 'rules', 'parentRefs', 'volumeClaimTemplates'],
]
  .map((name): Path => ['spec', name])
  .concat(
    [
      'conditions',
      'containerStatuses',
      'replicas',
      'observedGeneration',
      'phase',
      'inventory',
      'parents',
      'loadBalancer',
    ].map((name): Path => ['status', name]),
    [
      ['spec', 'template', 'metadata'],
      ['spec', 'template', 'spec'],
      ['spec', 'template', 'spec', 'containers'],
      ['spec', 'template', 'spec', 'volumes'],
      ['metadata', 'managedFields'],
      ['metadata', 'annotations'],
      ['metadata', 'labels'],
      ['metadata', 'ownerReferences'],
      ['metadata', 'finalizers'],
      ['metadata', 'deletionTimestamp'],
      ['spec'],
      ['status'],
    ],
  )

/** Judges events as a live gate does, and renders everything. */
function recordWith({ targets, settings, events }: Read, changed: ReadonlyMap<number, KubeObject>) {
  const { redact } = new Redactor()
  const gate = new Gate(targets, settings, () => true)
  for (const [index, event] of events.entries()) {
    if (gate.verdict !== undefined) break
    const object = 'object' in event ? redact(changed.get(index) ?? event.object) : undefined
    gate.handle([object === undefined ? event : ({ ...event, object } as FeedEvent)])
  }
  for (let next = gate.nextDeadline(); next !== undefined; next = gate.nextDeadline()) gate.advance(next)
  const record = addDiagnosis(gate.record(), gate.store, 0)
  if (!isEndedRecord(record)) throw new Error('The gate has no verdict.')
  for (const render of [renderLog, renderSummary, renderReport, buildAnnotations]) render(record)
  return record
}

/** Moments that no report can contain, and no moments. */
const moments = [
  ...['9999-12-31T23:59:59Z', '0000-00-00T00:00:00Z', '+275760-09-13T00:00:00Z', '-271821-04-20T00:00:00Z'],
  ...['275760-09-13', '1970-01-01', '', 8.64e15, -1, 1e300, {}, []],
]

const value = fc.constantFrom<unknown>(
  ...[null, '', 'x', 7, true, {}, { a: null }, { a: {} }, { name: 7 }, { containers: 7 }, { spec: { containers: {} } }],
  ...[[], [null], [7], ['x'], [{}], [[]], [{ name: 7 }], [{ name: 'a', image: 7 }], [{ name: 'a', ports: 7, env: 7 }]],
  // No text and no number.
  ...[{ toString: 7, valueOf: 7 }, [{ toString: 7, valueOf: 7 }]],
  ...moments,
  ...[[{ type: 7, status: {} }], [{ type: 'Ready', message: 7 }], [{ apiVersion: 7, kind: 7, name: 7, uid: 7 }]],
)

/** Changes of one object of a recording, repeated in its later versions. */
function changeOf(reads: readonly Read[], isChanged: (object: KubeObject) => boolean) {
  const subjects = reads.flatMap((each) =>
    [
      ...new Set(
        each.events.flatMap((event) => ('object' in event && isChanged(event.object) ? event.object.kind : [])),
      ),
    ].map((kind) => ({ each, kind })),
  )
  return fc.constantFrom(...subjects).chain(({ each, kind }) => {
    const indices = each.events.flatMap((event, index) =>
      'object' in event && event.object.kind === kind ? index : [],
    )
    const paths = indices.flatMap((index) => pathsOf((each.events[index] as { object: KubeObject }).object))
    const distinct = [...new Map([...paths, ...foreignPaths].map((path) => [path.join('\0'), path])).values()]
    const kept = distinct.filter(
      (path) => !/^(?:apiVersion|kind|metadata(?:\.(?:name|namespace))?)$/.test(path.join('.')),
    )
    return fc.record({ each: fc.constant(each), indices: fc.constant(indices), path: fc.constantFrom(...kept), value })
  })
}

/** Fails for an error of the gate, or of a rule; an object whose metadata is invalid ends its target as unknown. */
function expectVerdicts(reads: readonly Read[], isChanged: (object: KubeObject) => boolean) {
  fc.assert(
    fc.property(changeOf(reads, isChanged), ({ each, indices, path, value }) => {
      const change = (index: number) => withValue((each.events[index] as { object: KubeObject }).object, path, value)
      const { targets } = recordWith(each, new Map(indices.map((index) => [index, change(index) as KubeObject])))
      expect(targets.map(({ message }) => message).join()).not.toContain('itself failed')
    }),
    parameters,
  )
}

const operators = [
  'cert-manager-healthy',
  'argo-rollouts-crashing',
  'flux--ks-failing',
  'kro-image-missing',
  'prometheus-operator-failing',
  'jobset--bad-whole',
  'external-secrets-key-missing',
]

const builtIn = [
  'manifests-of-many-kinds',
  'image-not-found',
  'daemonset-crash',
  'statefulset-blocked-by-an-old-pod',
  'job-with-a-sidecar-fails',
  'autoscaler-without-metrics',
]

test.each(moments)('a gate ends without an internal error if every timestamp is %j', async (moment) => {
  const reads = [
    ...(await Promise.all(operators.map((name) => read(name, operatorRecordingsFolder)))),
    ...(await Promise.all(builtIn.map((name) => read(name)))),
  ]
  const withMoment = (object: KubeObject) =>
    JSON.parse(JSON.stringify(object).replace(/"\d{4}-\d\d-\d\dT[^"]*"/g, JSON.stringify(moment)))
  for (const { targets, settings, events } of reads) {
    const changed = events.flatMap((event, index) =>
      'object' in event ? [[index, withMoment(event.object)] as const] : [],
    )
    // The clock of the server is behind by a minute, so that its last moment is none of this machine.
    const record = recordWith({ targets, settings: { ...settings, serverOffsetMs: -60_000 }, events }, new Map(changed))
    expect(JSON.stringify(record)).not.toContain('itself failed')
  }
})

// Nothing guarantees the types of a custom resource but its CustomResourceDefinition, which may permit anything.
test('a custom resource with fields of any type does not end the gate with an error', async () => {
  const reads = await Promise.all(operators.map((name) => read(name, operatorRecordingsFolder)))
  const isCustom = ({ apiVersion }: KubeObject) => /\.[^/]*\//.test(apiVersion) && !apiVersion.includes('k8s.io/')
  expectVerdicts(reads, isCustom)
}, 600_000)

test('a built-in object with fields of any type does not end the gate with an error', async () => {
  const reads = await Promise.all(builtIn.map((name) => read(name)))
  expectVerdicts(reads, () => true)
}, 600_000)
