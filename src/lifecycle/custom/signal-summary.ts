import { type Meaning, meaningOf, type Signal, tokensOf } from './status-vocabulary.ts'

/** Conditions that show whether the present spec is rolled out, where Ready may be about the pods of the previous one. */
const rolloutTypes =
  /^(?:(?:UpToDate|Updated|Stable|Quiesced)$|(?:Updat|Upgrad)(?:ing|eInProgress)|Rolling|Rollout|Progressing)/
/** The same in fields: `updatedReplicas`, `upgradeStatus`, `phase: Upgrading`, `state: rolling_update`. */
const rolloutWords = /^(?:updat|upgrad|rolling|rollout)/i

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
 * rollout in progress (UpToDate=False), and a contradiction (Degraded=True). Without Ready, the worst signal decides, of the object or of a part: a phase may
 * predate the change. If the object is good otherwise, the failure of a part does not fail it.
 */
export function summarizeSignals(signals: readonly Signal[]): SignalSummary {
  const find = (meaning: Meaning, ...weights: Signal['weight'][]) =>
    signals.filter((each) => each.meaning === meaning && weights.includes(each.weight))
  const isReconciling = signals.some(
    ({ part, name, value }) => part === undefined && name === 'Reconciling' && value === 'True',
  )
  const isReady = find('ready', 'summary').length > 0
  const isGood = isReady || find('ready', 'whole').length > 0
  const failedParts = find('failed', 'part')
  const failures = [
    ...find('failed', 'whole', 'change'),
    ...(isGood ? [] : [...failedParts, ...find('failed', 'error')]),
  ]
  const candidates: readonly (readonly [Meaning, readonly Signal[]])[] = [
    ['suspended', find('suspended', 'spec')],
    ['failed', find('failed', 'summary')],
    // A controller that is reconciling may repair the failure.
    ['failed', isReady || isReconciling ? [] : failures],
    ['suspended', find('suspended', 'whole', 'summary', 'change')],
    ['progressing', find('progressing', 'summary')],
    ['progressing', find('progressing', 'accepted')],
    // Ready=True together with Degraded=True or a bad health is progressing.
    [
      'progressing',
      isReady ? failures.filter((each) => each.weight === 'whole' && (each.condition || isBadHealth(each))) : [],
    ],
    ['progressing', isReady ? signals.filter(isOpenRollout) : []],
    ['ready', find('ready', 'summary')],
    ['progressing', [...find('progressing', 'whole', 'change'), ...failedParts]],
    // Many controllers never set the conditions of parts that are not used.
    ['progressing', isGood ? find('progressing', 'part').filter(({ value }) => value !== 'Unknown') : []],
    ['ready', find('ready', 'whole')],
    ['progressing', find('progressing', 'unknown')],
    ['progressing', find('progressing', 'part', 'error', 'copy')],
    ['ready', find('ready', 'accepted', 'change', 'part')],
  ]
  const [meaning, decisive] = candidates.find(([, found]) => found.length > 0) ?? [undefined, []]
  if (meaning === undefined || meaning === 'ready') return { meaning, signals: decisive, isReconciling }
  // Ready=False (ServerReady=False) is no failure, whatever its reason: many controllers set it at each attempt.
  const mayFail = meaning === 'progressing' && !isReconciling && !isWorking(signals)
  const errors = mayFail ? decisive.filter((each) => isError(each) && !/ready$/i.test(each.name)) : []
  if (errors.length > 0)
    return { meaning: 'failed', signals: quoteOnce(errors.map((each) => ({ ...each, weight: 'error' }))) }
  const quoted =
    meaning === 'progressing'
      ? decisive.toSorted((a, b) => Number(isError(b)) - Number(isError(a)))
      : [...decisive, ...causesOf(decisive, signals)]
  return { meaning, signals: quoteOnce(quoted), isReconciling }
}

/** Words for a bad health, which is also that of an object whose parts start: `unhealthy`. */
const badHealth = /^(?:unhealthy|degraded|critical|red)$/

/** Whether a failed signal is about the health of an object, which is no failed attempt. */
export function isBadHealth({ name, value = '' }: Signal): boolean {
  return [...tokensOf(name), ...tokensOf(value)].some((token) => badHealth.test(token))
}

/** Whether a signal shows that the present spec is not rolled out yet. */
export function isOpenRollout({ meaning, name, value = '', condition }: Signal): boolean {
  if (meaning !== 'progressing') return false
  return condition === undefined ? rolloutWords.test(name) || rolloutWords.test(value) : rolloutTypes.test(name)
}

/** Whether a condition is not good, and its reason is a failure: Synced=False with the reason `SyncError`. */
export function isError({ meaning, value, reason = '', condition }: Signal): boolean {
  return condition !== undefined && meaning === 'progressing' && value !== 'Unknown' && meaningOf(reason) === 'failed'
}

/**
 * Whether a signal shows that the controller is still working: a condition that is True or Unknown, a state, a count.
 */
function isWorking(signals: readonly Signal[]): boolean {
  return signals.some((each) => each.meaning === 'progressing' && !isError(each) && each.value !== 'False')
}

/** Stalled=True reports that the controller has given up; a False condition beside it contains the cause. */
function causesOf([first]: readonly Signal[], signals: readonly Signal[]): readonly Signal[] {
  if (first?.meaning !== 'failed' || first.weight !== 'summary') return []
  return signals.filter(({ condition, value, message }) => condition !== undefined && value === 'False' && message)
}

/** The signals with each message only once. */
function quoteOnce(signals: readonly Signal[]): readonly Signal[] {
  const quoted: string[] = []
  return signals.map((each) => {
    const message = String(each.message ?? '')
    if (message === '') return each
    if (quoted.some((text) => text.includes(message) || message.includes(text))) return { ...each, message: undefined }
    quoted.push(message)
    return each
  })
}
