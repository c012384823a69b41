import { redactRecord } from '../../src/gate/redact-record.ts'
import type { Timeline } from '../../src/gate/timeline.ts'
import { createProblem, createTarget, createTargetRecord, createTimeline } from '../report/builders.ts'

/** A record with every field: one that is missing here does not compile. */
type Whole<T> = T extends readonly (infer Each)[]
  ? readonly Whole<Each>[]
  : T extends object
    ? { readonly [Name in keyof T]-?: Whole<NonNullable<T[Name]>> }
    : T

const named = { apiVersion: '', kind: '', namespace: '', name: '' }
const clocks = { timeoutMs: 1, stallTimeoutMs: 1, milestoneTimeoutsMs: {}, requireChangeMs: 1 }
const verdict = { outcome: 'failed', reason: 'crash-loop', message: '' } as const

const whole: Omit<Whole<Omit<Timeline, 'verdict' | 'checks'>>, 'entries'> = {
  startedAt: 1,
  finishedAt: 1,
  context: '',
  serverVersion: '',
  timeoutMs: 1,
  stallTimeoutMs: 1,
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
      source: { file: '', line: 1 },
      clocks,
      endedAt: 1,
      milestones: [{ name: '', state: 'done', at: 1, source: 'object', message: '' }],
      problems: [
        {
          reason: 'crash-loop',
          class: 'strike',
          subject: '',
          namespace: '',
          container: '',
          isInit: true,
          message: '',
          headline: '',
          chain: [''],
          firstSeen: 1,
          count: 1,
          evidence: [{ type: 'log', title: '', text: '', isUnread: true }],
        },
      ],
      hint: '',
      hintWithoutLog: '',
      changes: [''],
      notes: [''],
      warnings: [''],
      changedAt: 1,
      change: 'recent',
      hasRun: true,
      undo: { revision: 1, since: 1, obstacle: '', isOnlyRestart: true },
      deployedBy: named,
      hook: { annotation: '', removal: '', isSkipped: true },
      release: { name: '', namespace: '', revisions: [{ number: 1, status: '', createdAt: '' }] },
    },
  ],
  annotations: [''],
  healthCheckKinds: [''],
  gates: [
    {
      ...verdict,
      form: 'clause',
      denied: undefined as never,
      unreadable: '',
      name: '',
      path: '',
      context: '',
      serverVersion: '',
      startedAt: 1,
      finishedAt: 1,
      hint: '',
    },
  ],
}

const marker = 'sesame'
const marked = JSON.parse(
  JSON.stringify({
    ...whole,
    verdict,
    entries: [{ at: 1, target: 0, kind: 'note', outcome: 'failed', text: '', added: named, isUnquoted: true }],
    checks: {
      httpChecks: [{ text: '', answers: [{ at: 1, pod: '', body: '', error: '', location: '', isRight: true }] }],
      hold: { holdMs: 1, since: 1 },
    },
  }),
  (_, value) => (typeof value === 'string' ? marker : value),
)

/** The fields of a record that contain a text, as paths without the numbers of lists. */
function textsIn(part: unknown, text: string, path = ''): string[] {
  if (part === text) return [path.slice(1)]
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]) =>
    textsIn(value, text, Array.isArray(part) ? path : `${path}.${key}`),
  )
}

test('every text of a record is redacted but those that identify', () => {
  const redacted = redactRecord(marked, (text) => text.replaceAll(marker, '***'))
  const names = (path: string) => ['apiVersion', 'kind', 'name', 'namespace'].map((key) => `${path}.${key}`)
  expect(textsIn(redacted, marker).toSorted()).toEqual(
    [
      'context',
      'serverVersion',
      ...['outcome', 'reason'].flatMap((key) => [`verdict.${key}`, `gates.${key}`, `targets.${key}`]),
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
      ...['name', 'path', 'context', 'serverVersion', 'form'].map((key) => `gates.${key}`),
      ...['kind', 'outcome'].map((key) => `entries.${key}`),
      ...names('entries.added'),
      'checks.httpChecks.answers.pod',
    ].toSorted(),
  )
  expect(textsIn(redacted, '***')).toHaveLength(textsIn(marked, marker).length - textsIn(redacted, marker).length - 1)
})

test('the facts behind a record stay in the process', () => {
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name: marker } }
  const target = createTargetRecord({
    target: createTarget({ manifest: object }),
    problems: [createProblem({ detail: { text: marker } })],
  })
  const timeline = createTimeline({
    verdict: { ...verdict, denied: { wasReadable: true, access: [] }, unreadable: marker },
    targets: [{ ...target, basis: { ...target.basis, snapshot: [object] } }],
  })
  expect(textsIn(timeline, marker)).toHaveLength(4)
  expect(
    textsIn(
      redactRecord(timeline, (text) => text),
      marker,
    ),
  ).toEqual([])
})
