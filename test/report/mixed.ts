import type { EndedTimeline, TargetRecord } from '../../src/gate/timeline.ts'
import type { Target } from '../../src/plan/target.ts'
import { toSubject } from '../kit/subject.ts'
import {
  at,
  createEntry,
  createEvidence,
  createMilestone,
  createProblem,
  createTarget,
  createTargetRecord,
  createTimeline,
  reached,
} from './builders.ts'

const namespaces = ['shop', 'billing', 'search']

/** A timeline of many targets in three namespaces: most are ready, one in eleven failed, stalled or is still running. */
export function mixedTargets(count: number): EndedTimeline {
  const targets = Array.from({ length: count }, (_, index) => recordOf(index))
  return createTimeline({
    finishedAt: at(305),
    verdict: {
      outcome: 'failed',
      reason: 'image-not-found',
      message: `deployment/service-003: the registry has no image ghcr.io/acme/service-003:v2`,
    },
    targets,
    entries: targets
      .flatMap((record, target) => [
        createEntry({ at: at(0.3), target, text: 'generation 2 observed' }),
        ...record.problems.map(({ message, firstSeen }) =>
          createEntry({ at: firstSeen, target, kind: 'problem', text: message }),
        ),
        ...(record.endedAt === undefined
          ? []
          : [
              createEntry({
                at: record.endedAt,
                target,
                kind: 'verdict',
                outcome: record.outcome,
                text: record.outcome === 'ready' ? '' : `${record.reason}: ${record.message}`,
              }),
            ]),
      ])
      .toSorted((one, other) => one.at - other.at),
  })
}

function recordOf(index: number): TargetRecord {
  const name = `service-${String(index).padStart(3, '0')}`
  const target = createTarget({ name, namespace: namespaces[index % 3] ?? 'shop' })
  if (index % 25 === 3) return missingImage(target)
  if (index % 50 === 7) return crashing(target)
  if (index % 50 === 9) return unschedulable(target)
  if (index % 20 === 11) return running({ ...target, apiVersion: 'batch/v1', kind: 'Job' })
  const end = 5 + (index % 40)
  return createTargetRecord({ target, endedAt: at(end), milestones: reached({ created: 0, scheduled: 2, ready: end }) })
}

function missingImage(target: Target): TargetRecord {
  const image = `ghcr.io/acme/${target.name}:v2`
  const pod = `pod/${target.name}-fc8bbfff5-8xkbh`
  const message = `cannot pull image "${image}": not found, 2 times`
  return createTargetRecord({
    target: { ...target, source: { file: `k8s/${target.name}.yaml`, line: 12 } },
    outcome: 'failed',
    reason: 'image-not-found',
    message: `container app of ${pod} ${message}`,
    form: 'complete',
    hint: `Push ${image} before deploying it, or correct the image's name or tag.`,
    endedAt: at(14),
    milestones: [
      ...reached({ created: 0, observed: 0.3, scheduled: 0.6 }),
      createMilestone({ name: 'pulled', state: 'failed', message: '0 of 3 pods with images pulled' }),
      createMilestone({ name: 'ready', state: 'pending' }),
    ],
    problems: [
      createProblem({
        subject: toSubject(pod),
        message,
        detail: { image },
        evidence: [createEvidence({ text: ` 0:13  Failed ×2  Failed to pull image "${image}": not found` })],
      }),
    ],
  })
}

function crashing(target: Target): TargetRecord {
  const pod = `pod/${target.name}-7d9c6-x2x9p`
  const log = Array.from({ length: 120 }, (_, line) => `12:00:${line % 60} ERROR cannot reach the database (${line})`)
  return createTargetRecord({
    target,
    outcome: 'failed',
    reason: 'crash-loop',
    message: `container app of ${pod} exited with code 3, 3 times`,
    form: 'complete',
    hint: 'Find out why container app exits. The last line that it logged is "cannot reach the database".',
    endedAt: at(31),
    milestones: [
      ...reached({ created: 0, observed: 0.3, scheduled: 0.6, pulled: 1.4 }),
      createMilestone({ name: 'started', state: 'failed', message: '0 of 3 pods started' }),
    ],
    problems: [
      createProblem({
        reason: 'crash-loop',
        class: 'strike',
        subject: toSubject(pod),
        message: 'exited with code 3, 3 times',
        count: 3,
        detail: { exitCode: 3 },
        evidence: [createEvidence({ type: 'log', title: 'Last log lines of container app', text: log.join('\n') })],
      }),
    ],
  })
}

function unschedulable(target: Target): TargetRecord {
  const subject = `pod/${target.name}-5dfc8-nlg8z`
  const message = 'cannot be scheduled: of 12 nodes, 8 lack memory, 4 have a taint that the pod does not tolerate'
  return createTargetRecord({
    target,
    outcome: 'stalled',
    reason: 'unschedulable',
    message: `${subject} ${message}`,
    hint: 'The pod asks for 64Gi memory: lower `resources.requests`, or add a node with so much free.',
    endedAt: at(301),
    milestones: [
      ...reached({ created: 0, observed: 0.3 }),
      createMilestone({ name: 'scheduled', state: 'failed', message: '0 of 3 pods scheduled' }),
    ],
    problems: [
      createProblem({
        reason: 'unschedulable',
        class: 'slow',
        subject: toSubject(subject),
        message,
        detail: { causes: [] },
        count: 1,
      }),
    ],
  })
}

function running(target: Target): TargetRecord {
  const { endedAt: _, ...record } = createTargetRecord({
    target,
    outcome: 'progressing',
    message: '0 of 1 succeeded',
    hint: 'See where it stands.',
    milestones: [
      ...reached({ created: 0, started: 3 }),
      createMilestone({ name: 'succeeded', state: 'current', message: '0 of 1 succeeded' }),
    ],
  })
  return record
}
