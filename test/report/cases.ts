import type { AnswerRecord, EndedRunRecord, TargetRecord } from '../../src/gate/run-record.ts'
import type { Target } from '../../src/plan/target.ts'
import type { ReasonCode } from '../../src/reasons/reasons.ts'
import { toSubject } from '../kit/subject.ts'
import {
  at,
  createEntry,
  createEvidence,
  createMilestone,
  createProblem,
  createRecord,
  createRequest,
  createTarget,
  createTargetRecord,
  type RecordOverrides,
  reached,
} from './builders.ts'

function readyService(overrides: RecordOverrides = {}): TargetRecord {
  return createTargetRecord({
    target: createTarget({ apiVersion: 'v1', kind: 'Service' }),
    message: '3 endpoints ready',
    endedAt: at(29.2),
    milestones: reached({ created: 0, endpoints: 29, ready: 29.2 }),
    ...overrides,
  })
}

function readyWorker(): TargetRecord {
  return createTargetRecord({
    target: createTarget({ name: 'worker' }),
    message: '12 of 12 new pods ready',
    endedAt: at(24),
    milestones: reached({ created: 0, observed: 0.3, scheduled: 1.2, pulled: 8, started: 11, ready: 20, drained: 24 }),
    notes: ['2 old pods still draining'],
  })
}

function openJob(end: number): TargetRecord {
  const { endedAt: _, ...record } = createTargetRecord({
    target: createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' }),
    outcome: 'progressing',
    message: 'running, 1 pod active',
    hint: 'It was still running when the gate ended. Look at it with `kubectl -n shop get job/migrate`.',
    milestones: [
      ...reached({ created: 0, started: Math.min(3, end) }),
      createMilestone({ name: 'succeeded', state: 'current', message: '0 of 1 pods' }),
      createMilestone({ name: 'complete', state: 'pending' }),
    ],
  })
  return record
}

function allReady(): EndedRunRecord {
  const init = createProblem({
    reason: 'readiness-failing',
    class: 'slow',
    subject: toSubject('pod/web-688899976b-4nztp'),
    message: 'readiness probe failed: HTTP probe failed with statuscode: 503',
    count: 4,
    firstSeenAt: at(14),
    evidence: [
      createEvidence({
        text: '0:14  Warning  Unhealthy ×4  Readiness probe failed: HTTP probe failed with statuscode: 503',
      }),
    ],
  })
  return createRecord({
    targets: [createTargetRecord({ problems: [init] }), readyService(), readyWorker()],
    entries: [
      createEntry({ text: 'generation 7 observed · revision 3 → ReplicaSet web-688899976b' }),
      createEntry({ at: at(2), text: '3 pods scheduled' }),
      createEntry({ at: at(11), target: 2, text: '12 pods started (slowest pull 6.8 s)' }),
      createEntry({ at: at(12), text: '3 pods started (slowest pull 6.8 s)' }),
      createEntry({
        at: at(14),
        kind: 'problem',
        text: 'readiness probe failed: HTTP probe failed with statuscode: 503',
      }),
      createEntry({ at: at(24), target: 2, kind: 'note', text: '2 old pods still draining' }),
      createEntry({ at: at(24), target: 2, kind: 'verdict', outcome: 'ready', text: '' }),
      createEntry({ at: at(29.2), target: 1, text: '3 endpoints ready' }),
      createEntry({ at: at(29.2), target: 1, kind: 'verdict', outcome: 'ready', text: '' }),
      createEntry({ at: at(31), kind: 'verdict', outcome: 'ready', text: '' }),
    ],
  })
}

function alreadyReady(): EndedRunRecord {
  return createRecord({
    finishedAt: at(0.2),
    targets: [
      createTargetRecord({
        endedAt: at(0.2),
        milestones: reached({ created: 0, observed: 0, replicaset: 0, scheduled: 0, ready: 0, drained: 0 }),
      }),
    ],
    entries: [createEntry({ at: at(0.2), kind: 'verdict', outcome: 'ready', text: '' })],
  })
}

function missingImage(): EndedRunRecord {
  const events = [
    '0:02  Normal   Scheduled   pod/web-fc8bbfff5-8xkbh  Successfully assigned shop/web-fc8bbfff5-8xkbh to node-1',
    '0:02  Normal   Pulling ×2  pod/web-fc8bbfff5-8xkbh  Pulling image "ghcr.io/acme/web:v2"',
    '0:03  Warning  Failed ×2   pod/web-fc8bbfff5-8xkbh  Failed to pull image "ghcr.io/acme/web:v2": manifest unknown',
  ]
  const web = createTargetRecord({
    target: createTarget({ source: { file: 'k8s/web.yaml', line: 12 } }),
    outcome: 'failed',
    reason: 'image-not-found',
    message: 'the registry has no image `ghcr.io/acme/web:v2` (manifest unknown)',
    hint: 'Push the tag `v2` before you deploy, or correct `image:` in k8s/web.yaml.',
    endedAt: at(17),
    undo: {
      obstacle: 'a GitOps operator applies it: revert the commit',
      serving: { revision: 2, images: ['ghcr.io/acme/web:v1'], ready: 3, wanted: 3 },
    },
    milestones: [
      ...reached({ created: 0 }),
      createMilestone({ name: 'observed', at: at(0.5), message: 'generation 7' }),
      createMilestone({ name: 'replicaset', at: at(0.6), message: 'revision 3 → ReplicaSet web-fc8bbfff5' }),
      createMilestone({ name: 'scheduled', at: at(2), message: '1 of 1 pods' }),
      createMilestone({ name: 'pulled', state: 'failed', message: '0 of 1 pods: refused twice' }),
      createMilestone({ name: 'started', state: 'pending' }),
      createMilestone({ name: 'ready', state: 'pending' }),
      createMilestone({ name: 'available', state: 'pending' }),
      createMilestone({ name: 'drained', state: 'pending' }),
    ],
    problems: [
      createProblem({
        detail: { image: 'ghcr.io/acme/web:v2' },
        evidence: [createEvidence({ text: events.join('\n') })],
      }),
    ],
  })
  return createRecord({
    finishedAt: at(22),
    verdict: {
      outcome: 'failed',
      reason: 'image-not-found',
      message: 'deployment/web: the registry has no image `ghcr.io/acme/web:v2`',
    },
    targets: [
      web,
      readyService({ endedAt: at(0.2), milestones: reached({ created: 0, endpoints: 0.2 }) }),
      readyWorkerBy(20),
      openJob(22),
    ],
    entries: [
      createEntry({ text: 'generation 7 observed · revision 3 → ReplicaSet web-fc8bbfff5' }),
      createEntry({ at: at(0.2), target: 1, kind: 'verdict', outcome: 'ready', text: '' }),
      createEntry({ at: at(2), text: '1 pod scheduled' }),
      createEntry({
        at: at(3),
        kind: 'problem',
        text: 'image-not-found: the registry has no image ghcr.io/acme/web:v2 (first refusal)',
      }),
      createEntry({ at: at(3), target: 3, text: '1 pod started' }),
      createEntry({
        at: at(17),
        kind: 'verdict',
        outcome: 'failed',
        text: 'image-not-found: the registry has no image ghcr.io/acme/web:v2',
      }),
      createEntry({ at: at(20), target: 2, kind: 'verdict', outcome: 'ready', text: '' }),
    ],
  })
}

function readyWorkerBy(end: number): TargetRecord {
  return {
    ...readyWorker(),
    endedAt: at(end),
    milestones: reached({ created: 0, scheduled: 1.2, pulled: 8, started: 11, ready: end }),
  }
}

/** Text that tries to break out of every format in which it is printed. */
export const hostileWords = [
  '::error::owned',
  '  ::add-mask::a',
  'text ##[error]owned',
  '##\u200b[error]owned',
  ':\u200b:error::owned',
  '\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07',
  'line\nbreak\r\n::error::two\u2028three\u2029four\u0085::error::five',
  '``` fence ````` of `ticks`',
  '| a | pipe \\| b |',
  '</details></summary><script>alert(1)</script><img src=x onerror=alert(1)>',
  'right \u202eto left\u202c \u2066isolated\u2069 \ufeff',
  '@octocat fixed #12 and GH-7, see https://evil.example www.evil.example :smile: a@b.example',
  '[link](javascript:alert(1)) ![image](https://evil.example/x.png) **bold** _em_ ~~no~~ $x$ <b>',
  'end; click a call b() %%{init: {}}%% # comment, more: yes "quoted"',
  '<!-- comment --> &lt;b&gt; &#35;1 <details open>',
  `long ${'w'.repeat(300)} 😀 שלום`,
  'null\0bell\x07back\bspace \ud800 lone',
]

function hostile(): EndedRunRecord {
  const words = hostileWords.join(' ')
  const evil = (name: string, text: string): TargetRecord =>
    createTargetRecord({
      target: createTarget({
        kind: 'Click',
        apiVersion: 'evil.example/v1',
        name,
        source: { file: 'k8s/ev`il (1).yaml', line: 3 },
      }),
      outcome: 'failed',
      reason: 'reported-failed',
      message: text,
      hint: text,
      endedAt: at(20),
      milestones: [
        createMilestone({ name: 'created', at: at(1), message: text }),
        createMilestone({ name: 'title; click a', state: 'failed', message: text }),
      ],
      problems: [
        createProblem({
          reason: 'reported-failed',
          subject: { group: '', kind: text, name: 'x' },
          container: '`a|b`',
          message: text,
          evidence: [
            createEvidence({ title: text, text: hostileWords.join('\n') }),
            createEvidence({ type: 'log', title: 'Log', text: 'x'.repeat(1_000_000) }),
          ],
        }),
      ],
      notes: [text],
    })
  return createRecord({
    context: 'prod::error::|`',
    finishedAt: at(20),
    verdict: { outcome: 'failed', reason: 'reported-failed', message: words },
    targets: [
      ...hostileWords.map((text) => evil(text, text)),
      evil('constructor', words),
      evil('a; b: c, d # e', words),
      evil('a; b: c, d # f', words),
    ],
    entries: hostileWords.flatMap((text, target) => [
      createEntry({ at: at(1), target, kind: 'problem', text }),
      createEntry({ at: at(20), target, kind: 'verdict', outcome: 'failed', text }),
    ]),
    httpChecks: [createRequest({ request: words, asked: 30, errors: 29, answers: hostileWords.map(answerWith) })],
  })
}

function answerWith(text: string): AnswerRecord {
  return { at: at(5), pod: text, status: 500, body: text, location: text, right: false }
}

function forbidden(): EndedRunRecord {
  const hint = 'Give user deployer get, list and watch on configmaps in namespace shop.'
  const openOf = (target: Partial<Target>) =>
    createTargetRecord({
      target: createTarget(target),
      outcome: 'progressing',
      message: 'waiting for it to be created',
      hint,
      endedAt: undefined,
      milestones: [createMilestone({ name: 'created', state: 'current', message: '' })],
    })
  return createRecord({
    finishedAt: at(3),
    verdict: { outcome: 'misconfigured', reason: 'forbidden', message: 'configmap/settings cannot be read: no' },
    hint,
    targets: [openOf({}), openOf({ apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' })],
    entries: [],
  })
}

function misconfigured(): EndedRunRecord {
  return createRecord({
    cluster: { context: '', version: '' },
    finishedAt: at(0),
    verdict: {
      outcome: 'misconfigured',
      reason: 'input-invalid',
      message: [
        'timeout: `5` has no unit. Write `5m` for five minutes or `5s` for five seconds.',
        'resources, line 3: `deploymnt/web`: no such kind. Did you mean `deployment`?',
      ].join('\n'),
    },
    targets: [],
    entries: [],
  })
}

/** A broken Deployment that three targets wait for, a Job that fails by itself, and ready targets. */
function withConsequences(): EndedRunRecord {
  const log = [
    ...Array.from({ length: 12 }, (_, index) => `INFO  migration ${index + 1} applied`),
    'ERROR cannot apply migration 13',
    'panic: relation "orders" does not exist',
    '',
    'goroutine 1 [running]:',
    'main.migrate()',
    'INFO  Shutting down',
  ]
  const crash = createProblem({
    reason: 'crash-loop',
    class: 'strike',
    subject: toSubject('pod/api-7d9c6-x2x9p'),
    headline: 'container app keeps crashing (exit code 2)',
    message: 'exited with code 2, 3 times',
    count: 3,
    firstSeenAt: at(1),
    evidence: [
      createEvidence({
        text: '0:04  Warning  BackOff ×3  pod/api-7d9c6-x2x9p  Back-off restarting failed container app',
      }),
      createEvidence({ type: 'log', title: 'Last log lines of container app, previous run', text: log.join('\n') }),
    ],
  })
  const waiting = (apiVersion: string, kind: string, reason: ReasonCode): TargetRecord => {
    const { endedAt: _, ...record } = createTargetRecord({
      target: createTarget({ apiVersion, kind, name: 'api' }),
      outcome: 'progressing',
      reason,
      message: 'waits',
      hint: 'Look at its pods.',
      causedBy: 'deployment.apps/api',
      milestones: [
        ...reached({ created: 0 }),
        createMilestone({ name: 'ready', state: 'current', message: 'not ready' }),
      ],
    })
    return record
  }
  return createRecord({
    finishedAt: at(48),
    verdict: { outcome: 'failed', reason: 'crash-loop', message: 'deployment/api: container app exited with code 2' },
    targets: [
      createTargetRecord({
        target: createTarget({ name: 'api', source: { file: 'k8s/api.yaml', line: 3 } }),
        outcome: 'failed',
        reason: 'crash-loop',
        message: 'container app of pod/api-7d9c6-x2x9p exited with code 2, 3 times (2 pods have this problem)',
        hint: 'Find out why container app exits. The last error that it logged is "panic: relation "orders" does not exist".',
        endedAt: at(43),
        milestones: [
          ...reached({ created: 0, pulled: 0.9, started: 1.2 }),
          createMilestone({ name: 'ready', state: 'failed', message: '0 of 2 pods ready' }),
        ],
        problems: [crash],
        changes: ['container app: image acme/api:v1 → acme/api:v2', 'container app: env MIGRATE (none) → "true"'],
      }),
      waiting('v1', 'Service', 'no-endpoints'),
      waiting('networking.k8s.io/v1', 'Ingress', 'backend-missing'),
      waiting('autoscaling/v2', 'HorizontalPodAutoscaler', 'condition-false'),
      createTargetRecord({
        target: createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'report' }),
        outcome: 'failed',
        reason: 'job-failed',
        message: 'the Job failed: BackoffLimitExceeded',
        hint: 'A failed Job does not run again: once the cause is fixed, delete the Job and apply it again.',
        endedAt: at(46),
        milestones: [
          ...reached({ created: 0, started: 3 }),
          createMilestone({ name: 'succeeded', state: 'failed', message: '0 of 1 succeeded' }),
        ],
      }),
      readyService({ endedAt: at(0.2), milestones: reached({ created: 0, endpoints: 0.2 }) }),
      readyWorker(),
    ],
    entries: [
      createEntry({ at: at(1), kind: 'problem', text: 'container app exited with code 2' }),
      createEntry({
        at: at(43),
        kind: 'verdict',
        outcome: 'failed',
        text: 'crash-loop: container app exited with code 2',
      }),
      createEntry({ at: at(46), target: 4, kind: 'verdict', outcome: 'failed', text: 'job-failed: the Job failed' }),
    ],
  })
}

/** Complete records that no recording shows. */
export const cases: Readonly<Record<string, EndedRunRecord>> = {
  'one-ready': createRecord(),
  'all-ready': allReady(),
  'already-ready': alreadyReady(),
  'missing-image': missingImage(),
  consequences: withConsequences(),
  hostile: hostile(),
  forbidden: forbidden(),
  misconfigured: misconfigured(),
}
