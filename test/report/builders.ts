import { subjectText } from '../../src/cluster/objects.ts'
import type { Verdict } from '../../src/gate/outcome.ts'
import type {
  EndedRunRecord,
  Evidence,
  JudgedProblem,
  JudgedRunRecord,
  JudgedTargetRecord,
  MilestoneRecord,
  ProblemRecord,
  RequestRecord,
  TargetRecord,
} from '../../src/gate/run-record.ts'
import { type Entry, problemHeadline } from '../../src/gate/timeline-entries.ts'
import { type Target, targetId } from '../../src/plan/target.ts'
import type { Problem, ProblemWith, ReasonCode } from '../../src/reasons/reasons.ts'
import { toSubject } from '../kit/subject.ts'

/** Start of every record in these tests. */
export const start = Date.UTC(2025, 0, 15, 12, 0, 0)

/** A moment, in seconds since the start. */
export function at(seconds: number): number {
  return start + seconds * 1_000
}

export function createTarget(overrides: Partial<Target> = {}): Target {
  return { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web', clocks: {}, ...overrides }
}

/** Reached milestones: `{ observed: 0.4, ready: 31 }`, in seconds since the start. */
export function reached(moments: Readonly<Record<string, number>>): MilestoneRecord[] {
  return Object.entries(moments).map(([name, seconds]) => createMilestone({ name, at: at(seconds) }))
}

export function createMilestone(overrides: Partial<MilestoneRecord> = {}): MilestoneRecord {
  return { name: 'observed', state: 'done', message: '', ...overrides }
}

export interface ProblemOverrides
  extends Partial<Omit<ProblemWith<ReasonCode>, 'detail'>>,
    Partial<Pick<ProblemRecord, 'class' | 'message' | 'headline' | 'chain' | 'evidence'>> {
  readonly detail?: object
}

export function createProblem(overrides: ProblemOverrides = {}): JudgedProblem {
  const { class: kind = 'terminal', detail, message, headline, chain, evidence = [], ...facts } = overrides
  const text = message ?? 'the registry has no image ghcr.io/acme/web:v2'
  const basis = {
    reason: 'image-not-found',
    detail: { text, signals: [], ...detail },
    subject: toSubject('pod/web-fc8bbfff5-8xkbh'),
    container: 'app',
    count: 2,
    firstSeenAt: at(3),
    proven: true,
    ...facts,
  } as Problem
  const { reason, subject, container, isInit, firstSeenAt, count } = basis
  return {
    reason,
    class: kind,
    subject: subjectText(subject),
    container,
    isInit,
    message: text,
    headline: headline ?? problemHeadline(basis, createTarget()),
    chain,
    firstSeen: firstSeenAt,
    count,
    evidence,
    basis,
  }
}

export function createEvidence(overrides: Partial<Evidence> = {}): Evidence {
  return { type: 'event', title: 'Events', text: '', ...overrides }
}

export type RecordOverrides = Partial<Omit<JudgedTargetRecord, 'target'>> & { readonly target?: Target }

/** A Deployment that became ready after 31 seconds. */
export function createTargetRecord({
  target = createTarget(),
  ...overrides
}: RecordOverrides = {}): JudgedTargetRecord {
  const { apiVersion, kind, namespace, name, selector, source, clocks, deployedBy, hook, release } = target
  return {
    target: targetId(target),
    apiVersion,
    kind,
    namespace,
    name,
    selector,
    source,
    clocks,
    deployedBy,
    hook,
    release,
    basis: { target },
    outcome: 'ready',
    reason: '',
    message: '3 of 3 new pods ready',
    endedAt: at(31),
    milestones: [
      createMilestone({ name: 'created', at: at(0) }),
      createMilestone({ name: 'observed', at: at(0.4), message: 'generation 7' }),
      createMilestone({ name: 'replicaset', at: at(0.6), message: 'revision 3 → ReplicaSet web-688899976b' }),
      createMilestone({ name: 'scheduled', at: at(2), message: '3 of 3 pods' }),
      createMilestone({ name: 'pulled', at: at(9), message: 'slowest pull 6.8 s' }),
      createMilestone({ name: 'started', at: at(12), message: '3 of 3 pods' }),
      createMilestone({ name: 'ready', at: at(29), message: '3 of 3 pods' }),
      createMilestone({ name: 'available', at: at(29.1) }),
      createMilestone({ name: 'drained', at: at(31), message: 'no old pods left' }),
    ],
    problems: [],
    ...overrides,
  }
}

export function createEntry(overrides: Partial<Entry> = {}): Entry {
  return { at: at(0), target: 0, kind: 'progress', text: 'generation 7 observed', ...overrides }
}

type RunOverrides<T extends TargetRecord> = Partial<EndedRunRecord<T>> & {
  readonly verdict?: Verdict
  readonly context?: string
}

/** A gate that became ready with one target after 31 seconds. */
export function createRecord<T extends TargetRecord = JudgedTargetRecord>({
  verdict: { denied, unreadable, ...conclusion } = { outcome: 'ready', reason: '', message: 'all targets are ready' },
  context = 'prod',
  ...overrides
}: RunOverrides<T> = {}): EndedRunRecord<T> & Pick<JudgedRunRecord, 'basis'> {
  return {
    ...conclusion,
    startedAt: start,
    finishedAt: at(31),
    cluster: { context, version: 'v1.34.4' },
    basis: { denied, unreadable },
    timeoutMs: 600_000,
    stallTimeoutMs: 300_000,
    targets: [createTargetRecord() as TargetRecord as T],
    entries: [
      createEntry({ text: 'generation 7 observed · revision 3 → ReplicaSet web-688899976b' }),
      createEntry({ at: at(2), text: '3 pods scheduled' }),
      createEntry({ at: at(12), text: '3 pods started (slowest pull 6.8 s)' }),
      createEntry({ at: at(30), kind: 'heartbeat', text: 'waiting for drained: 1 old pod still running' }),
      createEntry({ at: at(31), kind: 'verdict', outcome: 'ready', text: '' }),
    ],
    ...overrides,
  }
}

export function createRequest(overrides: Partial<RequestRecord> = {}): RequestRecord {
  const request = 'service/web GET /healthz'
  return { request, asked: 0, errors: 0, answers: [], ...overrides }
}
