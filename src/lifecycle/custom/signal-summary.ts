import type { Say } from './signal.ts'
import type { Meaning } from './status-vocabulary.ts'

/** What all that an object says comes to. */
export interface Standing {
  /** Undefined where it says nothing of itself. */
  readonly meaning: Meaning | undefined
  /** What decided, the most telling first. */
  readonly because: readonly Say[]
  /** Its controller says that it is at work. */
  readonly isReconciling?: boolean
}

/**
 * Weighs what an object says of itself.
 *
 * Ready=True speaks for the object, as all tools have it; only Stalled, Reconciling, a spec that was not accepted and
 * a flat contradiction (Degraded=True) stand against it. Without it, the worst word about the whole decides; words about
 * parts count where nothing speaks for the whole.
 */
export function weigh(says: readonly Say[]): Standing {
  const find = (meaning: Meaning, ...weights: Say['weight'][]) =>
    says.filter((say) => say.meaning === meaning && weights.includes(say.weight))
  const reconciling = says.filter(({ key }) => key === 'Reconciling=True')
  const isReconciling = reconciling.length > 0
  const isReady = find('ready', 'summary').length > 0
  const isGood = isReady || find('ready', 'whole').length > 0
  const failures = [
    ...find('failed', 'whole', 'change'),
    ...(isGood ? [] : find('failed', 'part')),
    ...(isGood ? [] : find('failed', 'error')),
  ]
  const candidates: readonly (readonly [Meaning, readonly Say[]])[] = [
    ['suspended', find('suspended', 'spec')],
    ['failed', find('failed', 'summary')],
    // A controller that is at work again may mend what it complains of.
    ['failed', isReady || isReconciling ? [] : failures],
    ['suspended', find('suspended', 'whole', 'summary', 'change')],
    ['progressing', find('progressing', 'summary')],
    ['progressing', find('progressing', 'accepted')],
    // Ready and, in the same breath, Degraded: neither is believed.
    [
      'progressing',
      isReady ? failures.filter(({ condition, weight }) => condition !== undefined && weight === 'whole') : [],
    ],
    ['ready', find('ready', 'summary')],
    ['progressing', find('progressing', 'whole', 'change')],
    ['ready', find('ready', 'whole')],
    ['progressing', find('progressing', 'unknown')],
    ['progressing', find('progressing', 'part')],
    ['ready', find('ready', 'accepted', 'change', 'part')],
  ]
  const [meaning, because] = candidates.find(([, found]) => found.length > 0) ?? [undefined, []]
  return { meaning, because, ...(isReconciling ? { isReconciling } : {}) }
}
