import type { RunRecord } from '../../src/gate/run-record.ts'
import { redactRecord } from '../../src/report/redact-record.ts'
import { createProblem, createRecord, createTarget, createTargetRecord } from '../report/builders.ts'

/** A record with every field that has a text: one that is missing here does not compile. */
type Whole<T> = T extends readonly (infer Each)[]
  ? readonly Whole<Each>[]
  : T extends object
    ? {
        readonly [Name in keyof T as T[Name] extends number | boolean | undefined ? never : Name]-?: Whole<
          NonNullable<T[Name]>
        >
      }
    : T

const named = { apiVersion: '', kind: '', namespace: '', name: '' }
const clocks = { milestoneTimeoutsMs: {} }
const cluster = { context: '', version: '' }
const verdict = { outcome: 'failed', reason: 'crash-loop', message: '' } as const

const wayBack = { sentences: [''], command: '' }

const whole: Whole<RunRecord> = {
  ...verdict,
  cluster,
  run: { id: '', commit: '' },
  httpChecks: [
    {
      request: '',
      answers: [{ pod: '', body: '', error: '', location: '' }],
    },
  ],
  hold: {},
  entries: [
    {
      kind: 'note',
      outcome: 'failed',
      text: '',
      added: { ...named, selector: '', gate: '', clocks },
    },
  ],
  hint: '',
  targets: [
    {
      ...named,
      ...verdict,
      target: '',
      selector: '',
      gate: '',
      context: '',
      form: 'clause',
      causedBy: '',
      causedByNamespace: '',
      source: { file: '' },
      clocks,
      milestones: [{ name: '', state: 'done', source: 'object', message: '' }],
      problems: [
        {
          reason: 'crash-loop',
          class: 'strike',
          subject: '',
          namespace: '',
          container: '',
          message: '',
          headline: '',
          chain: [''],
          evidence: [{ type: 'log', title: '', text: '', events: [{ text: '' }] }],
        },
      ],
      hint: '',
      hintWithoutLog: '',
      changes: [''],
      notes: [''],
      warnings: [''],
      change: 'recent',
      undo: { obstacle: '', serving: { images: [''] } },
      deployedBy: named,
      hook: { annotation: '', removal: '' },
      release: { name: '', namespace: '', revisions: [{ status: '', createdAt: '' }] },
    },
  ],
  annotations: [''],
  healthCheckKinds: [''],
  gates: [
    {
      ...verdict,
      name: '',
      path: '',
      cluster,
      hint: '',
      wayBack,
    },
  ],
  wayBack,
}

const marker = 'sesame'
const marked = JSON.parse(JSON.stringify(whole), (_, value) => (typeof value === 'string' ? marker : value))

/** The fields of a record that contain a text, as paths without the numbers of lists. */
function textsIn(part: unknown, text: string, path = ''): string[] {
  if (part === text) return [path.slice(1)]
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]) =>
    textsIn(value, text, Array.isArray(part) ? path : `${path}.${key}`),
  )
}

test('every text of a record is redacted except identifiers', () => {
  const redacted = redactRecord(marked, (text) => text.replaceAll(marker, '***'))
  const names = (path: string) => ['apiVersion', 'kind', 'name', 'namespace'].map((key) => `${path}.${key}`)
  expect(textsIn(redacted, marker).toSorted()).toEqual(
    [
      ...['outcome', 'reason'].flatMap((key) => [key, `gates.${key}`, `targets.${key}`]),
      ...['context', 'version'].flatMap((key) => [`cluster.${key}`, `gates.cluster.${key}`]),
      ...['id', 'commit'].map((key) => `run.${key}`),
      ...names('targets'),
      ...['target', 'selector', 'gate', 'context', 'form', 'causedBy', 'causedByNamespace', 'change'].map(
        (key) => `targets.${key}`,
      ),
      'targets.source.file',
      ...['name', 'state', 'source'].map((key) => `targets.milestones.${key}`),
      ...['reason', 'class', 'subject', 'namespace', 'container', 'chain', 'evidence.type'].map(
        (key) => `targets.problems.${key}`,
      ),
      ...names('targets.deployedBy'),
      ...['name', 'namespace', 'revisions.status', 'revisions.createdAt'].map((key) => `targets.release.${key}`),
      ...['name', 'path'].map((key) => `gates.${key}`),
      ...['kind', 'outcome'].map((key) => `entries.${key}`),
      ...[...names('entries.added'), 'entries.added.selector', 'entries.added.gate'],
      'httpChecks.answers.pod',
    ].toSorted(),
  )
  expect(textsIn(redacted, '***')).toHaveLength(textsIn(marked, marker).length - textsIn(redacted, marker).length)
})

test('the facts behind a record are not part of the report', () => {
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name: marker } }
  const target = createTargetRecord({
    target: createTarget({ manifest: object }),
    problems: [createProblem({ detail: { text: marker } })],
  })
  const record = createRecord({
    verdict: { ...verdict, denied: { wasReadable: true, access: [] }, unreadable: marker },
    targets: [{ ...target, basis: { ...target.basis, snapshot: [object] } }],
  })
  expect(textsIn(record, marker)).toHaveLength(4)
  expect(
    textsIn(
      redactRecord(record, (text) => text),
      marker,
    ),
  ).toEqual([])
})
