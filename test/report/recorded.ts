import type { EndedRunRecord, TargetRecord } from '../../src/gate/run-record.ts'
import { type Target, targetId } from '../../src/plan/target.ts'
import { replayOnce } from '../support/recordings.ts'
import {
  at,
  createEntry,
  createMilestone,
  createRecord,
  createTarget,
  createTargetRecord,
  reached,
} from './builders.ts'
import { cases } from './cases.ts'

async function recorded(name: string): Promise<EndedRunRecord> {
  return (await replayOnce(name)).runRecord
}

const missingImage = await recorded('image-not-found')
const crashLoop = await recorded('crash-loop')
const unschedulable = await recorded('unschedulable-cpu')

function targetOf(index: number): Target {
  const namespace = ['shop', 'billing', 'search'][index % 3] ?? ''
  return createTarget({ name: `service-${String(index).padStart(3, '0')}`, namespace })
}

/** The only target of a recording, as if another one had ended so after some seconds. */
function ended({ startedAt, targets: [recorded] }: EndedRunRecord, target: Target, seconds: number): TargetRecord {
  if (recorded === undefined) throw new Error('the recording has no target')
  const moved = (moment: number) => moment - startedAt + at(0)
  return {
    ...recorded,
    target: targetId(target),
    name: target.name,
    namespace: target.namespace,
    endedAt: at(seconds),
    milestones: recorded.milestones.map((each) => (each.at === undefined ? each : { ...each, at: moved(each.at) })),
    problems: recorded.problems.map((each) => ({ ...each, firstSeen: moved(each.firstSeen) })),
  }
}

function recordOf(index: number): TargetRecord {
  const target = targetOf(index)
  if (index % 25 === 3) return ended(missingImage, target, 14)
  if (index % 50 === 7) return ended(crashLoop, target, 31)
  if (index % 50 === 9) return ended(unschedulable, target, 301)
  if (index % 20 === 11) {
    const milestones = [...reached({ created: 0 }), createMilestone({ name: 'succeeded', state: 'current' })]
    return createTargetRecord({ target, outcome: 'progressing', endedAt: undefined, hint: 'Look at it.', milestones })
  }
  const end = 5 + (index % 40)
  return createTargetRecord({ target, endedAt: at(end), milestones: reached({ scheduled: 2, ready: end }) })
}

/** Targets in three namespaces: most are ready, one in eleven failed, stalled or is still running. */
function manyTargets(count: number): EndedRunRecord {
  const targets = Array.from({ length: count }, (_, index) => recordOf(index))
  const verdict = {
    outcome: 'failed',
    reason: 'image-not-found',
    message: 'deployment/service-003: not found',
  } as const
  const entries = targets.map(({ outcome, message, endedAt = at(305) }, target) =>
    createEntry({ at: endedAt, target, kind: 'verdict', outcome, text: message }),
  )
  return createRecord({ finishedAt: at(305), verdict, targets, entries: entries.toSorted((a, b) => a.at - b.at) })
}

/** Records of each outcome: made ones, those of recordings, and one of 500 targets. */
export const records: Readonly<Record<string, EndedRunRecord>> = {
  ...cases,
  'many-targets': manyTargets(500),
  'crash-loop': crashLoop,
  stalled: unschedulable,
  'timed-out': await recorded('timeout'),
  cancelled: await recorded('cancelled'),
  superseded: await recorded('second-apply'),
  unknown: await recorded('half-open-for-good-healthy'),
}
