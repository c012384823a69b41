import type { Condition } from '../../cluster/objects.ts'
import { begun, isGoingOn, isOpposite, type Meaning, meaningOf, negationOf, tokensOf } from './status-vocabulary.ts'

/**
 * How much a word weighs: `summary` speaks for the whole object (Ready), `accepted` for whether the spec was taken,
 * `whole` for the object without being its last word (Available, `phase`), `part` for a part of it (DatabaseReady).
 */
export type Weight = 'summary' | 'accepted' | 'whole' | 'part'

export interface Reading {
  readonly meaning: Meaning
  readonly weight: Weight
}

/** They say whether the present spec was understood and taken over, which Ready does not: Ready may speak of the spec before. */
const acceptance = new Set([
  'accepted',
  'admitted',
  'applied',
  'compliant',
  'namesaccepted',
  'programmed',
  'reconciled',
  'resolvedrefs',
  'synced',
  'valid',
  'validated',
])
/** Bad as types of conditions, though not as words for a state. */
const badTypes = new Set(['terminal'])
/** Types that keep an object from being ready while they are True, without being a failure. */
const unreadyTypes = new Set(
  'pending unavailable unreachable unready unschedulable incomplete missing conflict conflicted blocked'.split(' '),
)
/** Good words that name an option or an ability as a type, and not a state of the object. */
const options = new Set(['enabled', 'supported', 'existing', 'failedover', 'failedback'])
const abilities = new Set([
  'reachable',
  'discoverable',
  'schedulable',
  'resolvable',
  'accessible',
  'usable',
  'addressable',
])
/** `ErrorOccurred`, `FailureDetected`: the noun before it is what counts. */
const happened = new Set(['occurred', 'occured', 'detected', 'encountered', 'present', 'seen'])
/** Reasons for which a part is False because nobody asked for it. */
const unwanted = /^(?:not|un)?(?:disabled|required|applicable|needed|requested|used|enabled|configured|skipped)$/i
/** With these reasons, Progressing=True has arrived, as with a Deployment's NewReplicaSetAvailable, and Running=False is over. */
const arrived = new Set(['available', 'completed', 'complete', 'succeeded', 'finished', 'done', 'healthy', 'expected'])

/**
 * What one condition says, whichever way round its type is meant: `Ready=False`, `Degraded=True` and `Progressing=True`
 * all say "not yet" or worse. Undefined where it says nothing: the good status of a bad type (Degraded=False), and types
 * unknown to us.
 *
 * Rests on the API conventions (conditions of either polarity, "Typical status properties"), kstatus (Ready, Reconciling,
 * Stalled; https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus), the Gateway API (Accepted, Programmed,
 * ResolvedRefs), Crossplane (Synced) and Knative (Succeeded=False is final).
 * @param isWork the object is a piece of work that ends, so that `Running=True` is not its goal
 */
export function readCondition(condition: Condition, isWork = false): Reading | undefined {
  const { type, reason = '' } = condition
  const tokens = tokensOf(type)
  const name = tokens.join('')
  const is = condition.status.toLowerCase()
  switch (name) {
    case 'ready':
      return positive(is, reason, 'summary')
    case 'notready':
    case 'unready':
      return positive(is === 'true' ? 'false' : 'true', reason, 'summary')
    case 'stalled':
      return whenTrue(is, 'failed', 'summary')
    case 'reconciling':
      return whenTrue(is, 'progressing', 'summary')
    case 'progressing':
      return readProgressing(is, reason)
    default:
      return acceptance.has(name) ? positive(is, reason, 'accepted') : readByWord(tokens, is, condition, isWork)
  }
}

/** The last word of a type says which way round it is meant: `DatabaseReady`, `ReconcileError`, `ControlPlaneUpdating`. */
function readByWord(
  tokens: readonly string[],
  is: string,
  { reason = '', message = '' }: Condition,
  isWork: boolean,
): Reading | undefined {
  const name = tokens.join('')
  const last = tokens.at(-1) ?? ''
  const isCurrent = name.endsWith('uptodate') || name.endsWith('insync')
  const weight = tokens.length === 1 || name === 'uptodate' || name === 'insync' ? 'whole' : 'part'
  const bad = happened.has(last) ? tokens.findLastIndex(isBad) : isBad(last) ? tokens.length - 1 : -1
  const negation = negationOf(tokens, bad < 0 ? tokens.length - 1 : bad)
  if (negation !== undefined) return readNegated(negation, last, bad >= 0, is, reason)
  if (meaningOf(last) === 'suspended') return whenTrue(is, 'suspended', weight)
  if (bad >= 0 || tokens[0] === 'invalid') {
    const isWhole = tokens[0] === 'invalid' || tokens.some((token) => token.startsWith('error'))
    return whenTrue(is, 'failed', isWhole ? 'whole' : weight)
  }
  if (isGoingOn(last) || unreadyTypes.has(last) || isOpposite(last)) return whenTrue(is, 'progressing', weight)
  const isGood = isCurrent || abilities.has(last) || (meaningOf(last) === 'ready' && !options.has(last))
  // A type unknown to us that is not True, for a reason that says that something failed.
  if (!isGood) return is !== 'true' && meaningOf(reason) === 'failed' ? { meaning: 'progressing', weight } : undefined
  if (is === 'false' && (isArrived(reason) || (weight === 'part' && unwanted.test(reason)))) return undefined
  if (isWork && begun.has(last)) return { meaning: 'progressing', weight: 'part' }
  // `Running`, of an operator that tells what it is doing: "Creating the database".
  if (last === 'running' && is === 'true' && /^\w+ing\b/.test(message)) return { meaning: 'progressing', weight }
  // A piece of work that did not succeed stays so; while it is at work, it is Unknown.
  const isOver = name === 'succeeded' && is === 'false' && meaningOf(reason, true) !== 'progressing'
  return isOver ? { meaning: 'failed', weight } : positive(is, reason, weight)
}

/**
 * What the negation of a word says: `NoErrors=True` is good, and `NotAvailable=True` is not yet. That there is no error is
 * said of a part, and its opposite is no failure by itself.
 */
function readNegated(
  negation: 'word' | 'kind',
  last: string,
  isBadWord: boolean,
  is: string,
  reason: string,
): Reading | undefined {
  if (negation === 'kind') return undefined
  if (isBadWord || unreadyTypes.has(last)) return positive(is, reason, 'part')
  const isFalse = is === 'false' ? 'true' : 'false'
  if (meaningOf(last) === 'suspended') return whenTrue(isFalse, 'suspended', 'part')
  if (isGoingOn(last)) return whenTrue(isFalse, 'progressing', 'part')
  const isGood = abilities.has(last) || (meaningOf(last) === 'ready' && !options.has(last))
  return isGood ? whenTrue(is, 'progressing', 'part') : undefined
}

function positive(status: string, reason: string, weight: Weight): Reading {
  if (status === 'true') return { meaning: 'ready', weight }
  return { meaning: meaningOf(reason) === 'suspended' ? 'suspended' : 'progressing', weight }
}

function whenTrue(status: string, meaning: Meaning, weight: Weight): Reading | undefined {
  return status === 'true' ? { meaning, weight } : undefined
}

/** Deployment-like controllers keep Progressing=True when they are done, and set False when they give up. */
function readProgressing(status: string, reason: string): Reading | undefined {
  const why = meaningOf(reason)
  if (why === 'suspended') return { meaning: 'suspended', weight: 'whole' }
  if (status === 'true') return isArrived(reason) ? undefined : { meaning: 'progressing', weight: 'whole' }
  if (status === 'false') return why === 'failed' ? { meaning: 'failed', weight: 'whole' } : undefined
  return { meaning: 'progressing', weight: 'whole' }
}

function isArrived(reason: string): boolean {
  return arrived.has(tokensOf(reason).at(-1) ?? '')
}

function isBad(token: string): boolean {
  return meaningOf(token) === 'failed' || badTypes.has(token)
}
