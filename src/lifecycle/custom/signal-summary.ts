import type { Signal } from './status-conditions.ts'
import { isEnd, type Meaning, meaningOf, tokensOf } from './words.ts'

/** The combined result of all signals of an object. */
export interface SignalSummary {
  /** Undefined if there is no signal. */
  readonly meaning: Meaning | undefined
  /** The signals that decided, the most significant first. */
  readonly signals: readonly Signal[]
  /** The condition Reconciling is True. */
  readonly isReconciling?: boolean
}

/**
 * Combines the signals of an object.
 *
 * Ready=True decides, as in other tools. Only these override it: Stalled, Reconciling, a spec that is not accepted, a
 * rollout in progress (UpToDate=False), and a contradiction (Degraded=True). Without Ready, the worst signal decides, of the
 * object or of a part: a phase may predate the change. If the object is good otherwise, the failure of a part does not fail
 * it.
 */
export function summarizeSignals(signals: readonly Signal[]): SignalSummary {
  const find = (meaning: Meaning, ...scopes: Signal['scope'][]) =>
    signals.filter((each) => each.meaning === meaning && scopes.includes(each.scope))
  const isReconciling = signals.some(
    ({ part, name, value }) => part === undefined && name === 'Reconciling' && value === 'True',
  )
  const isReady = find('ready', 'summary').length > 0
  const isGood = isReady || find('ready', 'whole').length > 0
  // After the end, parts that are still in progress do not matter: Running=True may remain.
  const isEnded = find('ready', 'whole').some(({ name, value = '', condition }) =>
    isEnd(condition !== undefined ? name : /^(?:phase|state)$/i.test(name) ? value : ''),
  )
  const failedParts = find('failed', 'part')
  const failures = [
    ...find('failed', 'whole', 'change'),
    ...(isGood ? [] : [...failedParts, ...find('failed', 'error')]),
  ]
  const isContradiction = (each: Signal) => each.scope === 'whole' && (each.condition || isBadHealth(each))
  const candidates: readonly (readonly [Meaning, readonly Signal[]])[] = [
    ['suspended', find('suspended', 'spec')],
    ['failed', find('failed', 'summary')],
    // A controller that is reconciling may repair the failure.
    ['failed', isReady || isReconciling ? [] : failures],
    ['suspended', find('suspended', 'whole', 'summary', 'change')],
    ['progressing', find('progressing', 'summary')],
    ['progressing', find('progressing', 'accepted')],
    // Ready=True together with Degraded=True or a bad health is progressing.
    ['progressing', isReady ? failures.filter(isContradiction) : []],
    ['progressing', isReady ? signals.filter(isOpenRollout) : []],
    ['ready', find('ready', 'summary')],
    ['progressing', [...find('progressing', 'whole', 'change'), ...failedParts]],
    // Many controllers never set the conditions of parts that are not used.
    ['progressing', isGood && !isEnded ? find('progressing', 'part').filter(({ value }) => value !== 'Unknown') : []],
    ['ready', find('ready', 'whole')],
    ['progressing', find('progressing', 'unknown')],
    ['progressing', find('progressing', 'part', 'error')],
    ['ready', find('ready', 'accepted', 'change', 'part')],
  ]
  const [meaning, decisive] = candidates.find(([, found]) => found.length > 0) ?? [undefined, []]
  if (meaning !== 'progressing') {
    // Stalled=True reports that the controller has given up; a False condition beside it contains the cause.
    const isStalled = meaning === 'failed' && decisive[0]?.scope === 'summary'
    const causes = signals.filter(({ condition, value, message }) => condition && value === 'False' && message)
    return { meaning, signals: isStalled ? [...decisive, ...causes] : decisive, isReconciling }
  }
  // A condition that is True or Unknown, a state or a count shows that the controller is still working.
  const isWorking = signals.some((each) => each.meaning === 'progressing' && !isError(each) && each.value !== 'False')
  // Ready=False (ServerReady=False) is no failure, whatever its reason: many controllers set it at each attempt.
  const errors =
    isReconciling || isWorking ? [] : decisive.filter((each) => isError(each) && !/ready$/i.test(each.name))
  if (errors.length > 0) return { meaning: 'failed', signals: errors.map((each) => ({ ...each, scope: 'error' })) }
  return { meaning, signals: decisive.toSorted((a, b) => Number(isError(b)) - Number(isError(a))), isReconciling }
}

/**
 * Whether a failed signal is about the health of an object, which is no failed attempt: that of an object whose parts
 * start is bad too.
 */
function isBadHealth({ name, value = '' }: Signal): boolean {
  return [...tokensOf(name), ...tokensOf(value)].some((token) => /^(?:unhealthy|degraded|critical|red)$/.test(token))
}

/**
 * Whether a signal shows that the present spec is not rolled out yet, where Ready may be about the pods of the previous
 * one: UpToDate=False, `updatedReplicas`, `phase: Upgrading`.
 */
function isOpenRollout({ meaning, name, value = '', condition }: Signal): boolean {
  const words = /^(?:updat|upgrad|rolling|rollout)/i
  const types =
    /^(?:(?:UpToDate|Updated|Stable|Quiesced)$|(?:Updat|Upgrad)(?:ing|eInProgress)|Rolling|Rollout|Progressing)/
  if (meaning !== 'progressing') return false
  return condition === undefined ? words.test(name) || words.test(value) : types.test(name)
}

/** Whether a condition is not good, and its reason is a failure: Synced=False with the reason `SyncError`. */
export function isError({ meaning, value, reason = '', condition }: Signal): boolean {
  return condition !== undefined && meaning === 'progressing' && value !== 'Unknown' && meaningOf(reason) === 'failed'
}
