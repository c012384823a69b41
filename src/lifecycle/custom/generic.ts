import type { KubeObject } from '../../cluster/objects.ts'
import { groupOf } from '../../cluster/store.ts'
import type { Problem } from '../../reasons/reasons.ts'
import type { Assessment, Milestone } from '../assessment.ts'
import {
  conditionProblem,
  failingSince,
  notReconciled,
  ownProblem,
  proveReported,
  reportedMs,
} from '../platform/condition-problems.ts'
import { conclude, createdMilestone, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import type { Say } from './signal.ts'
import { type Standing, weigh } from './signal-summary.ts'
import { isSchedule, wishes } from './spec-suspension.ts'
import { isSilent, isUnobserved, namesGeneration, saysOf } from './status-signals.ts'

/** A controller tries again what it writes an error about: as long as a missing object may take to appear. */
const errorMs = 60_000

/**
 * Any kind without a rule of its own, by what it says of itself: the observed generation, conditions, `phase`, `state` and
 * `health` words, flags, errors and counts. The conventions are those of the Kubernetes API
 * (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties)
 * and of kstatus; `polarity.ts` and `words.ts` say what is understood, `standing.ts` what weighs more.
 *
 * An object that says nothing is ready once it exists, and its notes say that nothing could be known; unless its status is
 * still to be written.
 */
export const genericRule: Rule = {
  milestones: ['created', 'observed', 'ready'],
  relatives: () => [],
  failures: (object) => saysOf(object).flatMap(({ meaning, key }) => (meaning === 'failed' ? [key] : [])),
  assess: assessGeneric,
}

function assessGeneric(object: KubeObject, context: RuleContext): Assessment {
  const observed = !isUnobserved(object)
  const standing = observed ? weigh(saysOf(object)) : unobservedStanding(object)
  const isSignal = standing.meaning !== undefined
  const isAwaited = observed && !isSignal && isStatusAwaited(object, context)
  const signalUntil = isAwaited || isSignal ? undefined : awaitsSignalUntil(object, context)
  const ready = !isAwaited && signalUntil === undefined && (standing.meaning ?? 'ready') === 'ready'
  const words = standing.because.map(({ text }) => text).join(', ')
  const problems = isAwaited ? [notReconciled(object, context)] : ready ? [] : problemsOf(object, standing, context)
  const failure = problems.find(({ proven }) => proven)
  return conclude(object, context, {
    ready,
    ...(standing.meaning === 'ready' ? { signals: standing.because.map(({ condition }) => condition) } : {}),
    readyMessage: words === '' ? 'exists; it gives no readiness signal, so nothing more can be known' : words,
    milestones: [
      createdMilestone,
      observedMilestone(object, observed && !isAwaited),
      { name: 'ready', state: ready ? 'done' : 'open', message: words === '' ? readinessWords(ready) : words },
    ],
    problems,
    ...(failure === undefined ? {} : { failure }),
    ...(standing.isReconciling ? { stallHold: 'its controller is reconciling it' } : {}),
    ...(signalUntil === undefined ? {} : { recheckAt: signalUntil }),
    notes: [],
  })
}

/** Of what is said of an older generation nothing counts, but that nobody is to act on the present one. */
function unobservedStanding(object: KubeObject): Standing {
  const wished = weigh(wishes(object))
  return wished.meaning === undefined ? { meaning: 'progressing', because: [] } : wished
}

function readinessWords(ready: boolean): string {
  return ready ? 'exists' : 'waiting for its controller to say how it is'
}

/**
 * Whether its controller has yet to write a status, as far as anyone can know: discovery says whether the kind has the
 * status subresource. Without discovery (a recording of a few lines), a custom object with a `spec` is taken to have a
 * controller that answers it, for a false "ready" costs more than the wait; a status that is there but empty proves that
 * the kind has one. Schedules may stay without a status until they first run.
 */
function isStatusAwaited(object: KubeObject, context: RuleContext): boolean {
  if (!isSilent(object) || isSchedule(object) || isBuiltIn(object.apiVersion)) return false
  return context.declaresStatus(object) ?? (object.spec !== undefined || object.status !== undefined)
}

/**
 * Until when a status without any signal may still get one: many controllers write where they begin before they write how
 * it goes. It is believed to be all that there is when it names the generation that it is about, when no field has been
 * added for the settle time, or when nobody has written the object for that long; values may move.
 * @returns milliseconds since the epoch on the runner's clock; undefined when the object can be believed to give no signal
 */
function awaitsSignalUntil(object: KubeObject, { now, time, history, settings }: RuleContext): number | undefined {
  if (isSilent(object) || namesGeneration(object) || isBuiltIn(object.apiVersion)) return undefined
  const writes = (object.metadata.managedFields ?? []).map((entry) => time(entry.time) ?? Infinity)
  const lastWrite = writes.length === 0 ? Infinity : Math.max(...writes)
  const until = Math.min(lastWrite, Math.max(history.fieldsMovedAt, history.specSeenAt)) + settings.settleMs
  return until > now ? until : undefined
}

/**
 * Kubernetes' own groups: no dot, or one of the names under k8s.io that are no custom resources' (those need an approval
 * annotation, and some have it: gateway.networking.k8s.io, snapshot.storage.k8s.io).
 */
function isBuiltIn(apiVersion: string): boolean {
  const group = groupOf(apiVersion)
  return !group.includes('.') || builtInGroups.has(group.replace(/\.k8s\.io$/, ''))
}

const builtInGroups = new Set([
  'admissionregistration',
  'apiextensions',
  'apiregistration',
  'authentication',
  'authorization',
  'certificates',
  'coordination',
  'discovery',
  'events',
  'flowcontrol.apiserver',
  'internal.apiserver',
  'networking',
  'node',
  'rbac.authorization',
  'resource',
  'scheduling',
  'storage',
  'storagemigration',
])

function observedMilestone({ metadata: { generation } }: KubeObject, observed: boolean): Milestone {
  const name = generation === undefined ? 'it' : `generation ${generation}`
  return observed
    ? { name: 'observed', state: 'done', message: generation === undefined ? 'observed' : `${name} observed` }
    : { name: 'observed', state: 'open', message: `waiting for its controller to observe ${name}` }
}

/**
 * Strike: a resource's own word of failure, when it has stood for a while. Slow: that it is suspended, and a bare False,
 * which many controllers set while they are still at work.
 */
function problemsOf(object: KubeObject, standing: Standing, context: RuleContext): readonly Problem[] {
  const [say] = standing.because
  if (say === undefined) return []
  const signals = standing.because.map(({ text }) => text).join(', ')
  const detail = { text: signals }
  switch (standing.meaning) {
    case 'failed': {
      const since = failingSince(object, say.key, say.condition, context)
      const proof = proveReported(since, standsFor(standing), context.now)
      return [{ ...ownProblem(object, since), reason: 'reported-failed', detail, ...proof }]
    }
    case 'suspended':
      return [
        { ...ownProblem(object, context.history.firstSeenAt), reason: suspensionReason(say), detail: { signals } },
      ]
    default:
      return say.condition === undefined
        ? [{ ...ownProblem(object, context.history.firstSeenAt), reason: 'condition-false', detail }]
        : [{ ...conditionProblem(object, say.condition, context), reason: 'condition-false', detail }]
  }
}

function suspensionReason({ key, text }: Say): 'paused' | 'suspended' {
  return /pause/i.test(key) || /pause/i.test(text) ? 'paused' : 'suspended'
}

function standsFor({ because: [say] }: Standing): number {
  return say?.weight === 'error' ? errorMs : reportedMs
}
