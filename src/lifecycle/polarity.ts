import type { Condition } from '../cluster/objects.ts'
import { isGoingOn, type Meaning, meaningOf, tokensOf } from './words.ts'

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
/** Reasons for which a part is False because nobody asked for it. */
const unwanted = /^(?:not|un)?(?:disabled|required|applicable|needed|requested|used|enabled|configured|skipped)$/i
/** `ErrorOccurred`, `FailureDetected`: the noun before it is what counts. */
const happened = new Set(['occurred', 'occured', 'detected', 'encountered', 'present', 'seen'])
/** With these reasons, Progressing=True says that it has arrived, as a Deployment's NewReplicaSetAvailable does. */
const arrived = new Set(['available', 'completed', 'complete', 'succeeded', 'finished', 'done', 'healthy', 'expected'])

/**
 * What one condition says, whichever way round its type is meant: `Ready=False`, `Degraded=True` and `Progressing=True`
 * all say "not yet" or worse. Undefined where it says nothing: the good status of a bad type (Degraded=False), and types
 * unknown to us.
 *
 * Rests on the API conventions (conditions of either polarity, "Typical status properties"), kstatus (Ready, Reconciling,
 * Stalled; https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus), the Gateway API (Accepted, Programmed,
 * ResolvedRefs), Crossplane (Synced) and Knative (Succeeded=False is final).
 */
export function readCondition({ type, status, reason = '' }: Condition): Reading | undefined {
  const tokens = tokensOf(type)
  const name = tokens.join('')
  const last = tokens.at(-1) ?? ''
  const first = tokens[0] ?? ''
  const is = status.toLowerCase()
  if (name === 'ready') return positive(is, reason, 'summary')
  if (name === 'notready' || name === 'unready') return positive(is === 'true' ? 'false' : 'true', reason, 'summary')
  if (name === 'stalled') return is === 'true' ? { meaning: 'failed', weight: 'summary' } : undefined
  if (name === 'reconciling') return is === 'true' ? { meaning: 'progressing', weight: 'summary' } : undefined
  if (acceptance.has(name)) return positive(is, reason, 'accepted')
  const weight = tokens.length === 1 || name === 'uptodate' || name === 'insync' ? 'whole' : 'part'
  if (name === 'progressing') return readProgressing(is, reason)
  if (meaningOf(last) === 'suspended') return is === 'true' ? { meaning: 'suspended', weight } : undefined
  if (isBad(last) || first === 'invalid' || (happened.has(last) && tokens.some(isBad))) {
    const isWhole = tokens.some((token) => token.startsWith('error')) || first === 'invalid'
    return is === 'true' ? { meaning: 'failed', weight: isWhole ? 'whole' : weight } : undefined
  }
  if (isGoingOn(last) || last === 'pending') return is === 'true' ? { meaning: 'progressing', weight } : undefined
  const isGood = meaningOf(last) === 'ready' || /[ai]ble$/.test(last) || name.endsWith('uptodate') || name === 'insync'
  // A type unknown to us that is not True, for a reason that says that something failed.
  if (!isGood) return is !== 'true' && meaningOf(reason) === 'failed' ? { meaning: 'progressing', weight } : undefined
  if (weight === 'part' && is === 'false' && unwanted.test(reason)) return undefined
  // A piece of work that did not succeed stays so; while it is at work, it is Unknown.
  if (name === 'succeeded' && is === 'false' && meaningOf(reason, true) !== 'progressing')
    return { meaning: 'failed', weight }
  return positive(is, reason, weight)
}

function positive(status: string, reason: string, weight: Weight): Reading {
  if (status === 'true') return { meaning: 'ready', weight }
  return { meaning: meaningOf(reason) === 'suspended' ? 'suspended' : 'progressing', weight }
}

/** Deployment-like controllers keep Progressing=True when they are done, and set False when they give up. */
function readProgressing(status: string, reason: string): Reading | undefined {
  const why = meaningOf(reason)
  if (why === 'suspended') return { meaning: 'suspended', weight: 'whole' }
  if (status === 'true')
    return arrived.has(tokensOf(reason).at(-1) ?? '') ? undefined : { meaning: 'progressing', weight: 'whole' }
  if (status === 'false') return why === 'failed' ? { meaning: 'failed', weight: 'whole' } : undefined
  return { meaning: 'progressing', weight: 'whole' }
}

function isBad(token: string): boolean {
  return meaningOf(token) === 'failed'
}
