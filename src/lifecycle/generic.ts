import type { Condition, KubeObject } from '../cluster/objects.ts'
import type { Assessment, Milestone, Problem } from './assessment.ts'
import { conclude, createdMilestone, type Rule } from './rule.ts'
import type { View } from './view.ts'

/** Conditions that say of an object whether it is ready, the most telling first. */
const positive = [
  'Ready',
  'Available',
  'Established',
  'Complete',
  'Succeeded',
  'Healthy',
  'Programmed',
  'Accepted',
  'Synced',
]
/** How long a resource's own word of failure must stand before it is believed. */
const reportedMs = 10_000

/**
 * Any kind without a rule of its own, by what it says of itself: the observed generation and the conditions that kstatus
 * and the API conventions name (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties).
 * An object that says nothing is ready once it exists, and the message says that nothing could be known.
 */
export const genericRule: Rule = {
  milestones: ['created', 'observed', 'ready'],
  relatives: () => [],
  assess: (object, view) => assessGeneric(object, view),
}

function assessGeneric(object: KubeObject, view: View): Assessment {
  const { generation = 0 } = object.metadata
  const status = (object.status ?? {}) as { observedGeneration?: number | string; conditions?: unknown }
  const conditions = (Array.isArray(status.conditions) ? status.conditions : []) as Condition[]
  const isObserved = status.observedGeneration === undefined || Number(status.observedGeneration) >= generation
  const present = conditions.filter(
    (each) => each.observedGeneration === undefined || Number(each.observedGeneration) >= generation,
  )
  const holds = (type: string) => present.find((each) => each.type === type)
  const stalled = present.find((each) => (each.type === 'Stalled' || each.type === 'Failed') && each.status === 'True')
  const reconciling = holds('Reconciling')?.status === 'True' || holds('Progressing')?.status === 'True'
  const telling = positive.map(holds).find((each) => each !== undefined)
  const isSilent = conditions.length === 0
  const ready =
    isObserved &&
    stalled === undefined &&
    holds('Reconciling')?.status !== 'True' &&
    (isSilent || telling === undefined || telling.status === 'True')
  const problems = isObserved ? problemsOf(object, stalled, telling, view) : []
  const failure = problems.find(({ proven }) => proven)
  return conclude(object, view, {
    ready,
    readyMessage:
      telling === undefined ? 'exists; it publishes no readiness signal' : `${telling.type} is ${telling.status}`,
    milestones: [createdMilestone, observed(isObserved, generation), readiness(ready, telling)],
    problems,
    ...(failure === undefined ? {} : { failure }),
    ...(reconciling ? { patience: 'its controller is reconciling it' } : {}),
    ...(stalled === undefined
      ? {}
      : { recheckAt: (view.time(stalled.lastTransitionTime) ?? view.history.firstSeenAt) + reportedMs }),
    notes: telling === undefined ? ['no readiness signal: it exists, nothing more can be known'] : [],
  })
}

function observed(isObserved: boolean, generation: number): Milestone {
  return isObserved
    ? { name: 'observed', state: 'done', message: generation === 0 ? 'observed' : `generation ${generation} observed` }
    : { name: 'observed', state: 'open', message: `waiting for its controller to observe generation ${generation}` }
}

function readiness(ready: boolean, telling: Condition | undefined): Milestone {
  const words =
    telling === undefined
      ? 'exists'
      : `${telling.type} is ${telling.status}${telling.message ? `: ${telling.message}` : ''}`
  return { name: 'ready', state: ready ? 'done' : 'open', message: words }
}

/**
 * Strike: a resource's own word of failure that has stood for ten seconds. Slow: a bare False, which many controllers set
 * while they are still at work.
 */
function problemsOf(
  object: KubeObject,
  stalled: Condition | undefined,
  telling: Condition | undefined,
  view: View,
): readonly Problem[] {
  const subject = `${object.kind.toLowerCase()}/${object.metadata.name}`
  const describe = (about: Condition): Pick<Problem, 'subject' | 'message' | 'count' | 'firstSeenAt'> => ({
    subject,
    message: `${about.type} is ${about.status}${about.reason ? ` (${about.reason})` : ''}${about.message ? `: ${about.message}` : ''}`,
    count: 1,
    firstSeenAt: Math.min(view.time(about.lastTransitionTime) ?? view.history.firstSeenAt, view.now),
  })
  if (stalled !== undefined) {
    const problem = describe(stalled)
    return [
      { ...problem, reason: 'reported-failed', class: 'strike', proven: view.now >= problem.firstSeenAt + reportedMs },
    ]
  }
  if (telling === undefined || telling.status === 'True') return []
  return [{ ...describe(telling), reason: 'condition-false', class: 'slow', proven: false }]
}
