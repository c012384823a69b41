import type { Condition } from '../../cluster/objects.ts'
import type { ConditionSignal } from '../conditions.ts'

/** The meaning of a signal: the four states of an object. */
export type Meaning = 'ready' | 'progressing' | 'failed' | 'suspended'

/** One signal of an object's state. */
export interface Signal extends ConditionSignal {
  readonly meaning: Meaning
  /**
   * What it is about. `summary`: it summarizes the whole object (Ready). `accepted`: whether the spec was accepted. `whole`:
   * the whole object, without summarizing it (Available, `phase`). `part`: a part of the object (DatabaseReady).
   * `change`: the change in progress (updateStatus, replica counts). `error`: the text of an error. `unknown`: a state
   * without a known meaning. `spec`: what the user requested in the spec. `copy`: the state of an external object, as its
   * controller has read it.
   */
  readonly weight: 'summary' | 'accepted' | 'whole' | 'part' | 'change' | 'error' | 'unknown' | 'spec' | 'copy'
}

/** The meaning and weight of a condition. */
type Reading = Pick<Signal, 'meaning' | 'weight'>

/** The words of a text as a set. */
export function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/))
}

/*
 * Words. No standard exists: these are the words that controllers commonly use (`phase` in the Kubernetes API conventions,
 * "Typical status properties").
 */

const failed = words(`
  failed failure failures fail failing error errors err errored degraded unhealthy crashed crash crashing crashloop lost
  aborted abort cancelled canceled rejected denied invalid broken fatal faulted faulty critical red stalled timeout
  timedout exceeded expired misconfigured unsatisfiable corrupted exhausted declined refused revoked orphaned
`)
const suspended = words(`
  suspended suspend suspending paused pause pausing hibernated hibernating stopped halted frozen sleeping asleep dormant
  shutdown poweredoff parked onhold
`)
const progressing = words(`
  pending waiting queued unknown partial partially yellow submitted requested start init initialize progress wait
  unavailable unreachable unready unscheduled unschedulable below uninitialized undetermined unsynced outofsync incomplete inconclusive
  inactive missing absent awaited conflict conflicted terminated deleted detached disconnected warn warning unsupported disabled
  offline down blocked failingover failingback abnormal unbalanced inprogress notready notfound noncompliant new scheduled
`)
const ready = words(`
  ready available active healthy bound succeeded succeed success successful successfully completed complete done finished online
  operational operating ok okay green serving listening working established deployed installed provisioned created
  configured applied synced synchronized synchronised reconciled released published registered joined attached mounted
  connected reachable responding succeeding passing functioning accepted admitted approved issued valid validated verified passed pass compliant protected promoted
  stable steady normal idle exists existing found enabled initialized initialised loaded latest updated upgraded restored
  imported exported resolved programmed uptodate insync running adopted advertised generated elected failedover failedback
  provided satisfied formed balanced injected delivered hydrated realized collected processed downloaded claimed
  activated assigned associated fulfilled alive inuse enforced enforcing converged subscribed propagated distributed
  replicated enrolled onboarded paired peered linked unsealed rotated renewed rolledout nominal unchanged authorized
  authenticated recovered current quiesced selected up
`)
/** Words that have a meaning only as a whole name, not in compounds. */
const wholeNames = words('up new scheduled')
/** Words of work that ends (a Job, a backup), which mean that it has started, not that it is done. */
const startedWords = words('running active started accepted created working scheduled enabled assigned')
/** The words with which such work ends; `Ready` and `Available` may be about what it has prepared. */
const endWords = words(
  'succeeded succeed success successful successfully completed complete done finished passed pass ended',
)
/** In a state of several words they name a step: `ResourcesCreated`. Alone, `Created` names the goal. */
const stepWords = words('created scheduled submitted')
/** What a controller runs on the way to its goal: `RunningMigrations`, `Build Running`. */
export const activities =
  /^(?:build|workflow|test|migration|job|task|hook|command|check|script|step|pipeline|backup|restore|upgrade|update|install|plan)s?(?:status|state)?$/
/** Words that negate those that follow: `NotReady`, `NoErrors`. */
const negations = words('not non un never no without')
/** Words between a negation and its word: `NotYetSynced`. */
const fillers = words('yet currently fully any all')
/** The noun before these words counts: `ErrorOccurred`, `FailureDetected`. */
const happened = words('occurred occured detected encountered present seen')
/** Words with `-ing` that name what a ready object does. */
const lasting = words('archiving monitoring streaming replicating polling mirroring logging watching')
/** Words after one with `-ing`: `ScalingUp`. */
const particles = words('up down in out over back off')
/** Compounds of one meaning: in `FailedOver` and `FailSafe`, `fail` is no failure. */
const compounds =
  /\b(?:(?:fail|failed|failing|timed) (?:over|back|safe|fast|open|closed|out)|up to date|in sync|in progress$)\b/gi
/** A longer value is a sentence, not a state. */
const maxTokens = 5
const maxLength = 200

/** The words of a name in lower case: `RollingUpdate`, `rolling_update` and `Rolling update` are the same. */
export function tokensOf(name: string): readonly string[] {
  const text = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .replace(compounds, (found) => found.replaceAll(' ', ''))
  return text
    .toLowerCase()
    .split(' ')
    .filter((token) => token !== '')
}

/**
 * The meaning of a state such as `Running`, `InProgress`, `FailedToStart` or `up-to-date`; undefined for unknown words. The
 * worst word of a compound decides. A word with `-ing` means in progress, unless it is a ready word (`running`). Of `ERROR,
 * the secret cannot be found` the first part counts, unless a good one is followed by a bad one: `Active (degraded)`.
 * @param isWork whether the object does work that ends: then `Running` is not its goal
 */
export function meaningOf(state: string, isWork = false): Meaning | undefined {
  const [first = '', ...rest] = state.slice(0, maxLength).split(/[,:;(]/)
  const meaning = meaningOfName(first, isWork)
  const remark = meaning === 'ready' && rest.length === 1 ? meaningOfName(rest[0] ?? '', isWork) : undefined
  return remark === 'failed' || remark === 'progressing' ? remark : meaning
}

function meaningOfName(name: string, isWork: boolean): Meaning | undefined {
  const tokens = tokensOf(name)
  if (tokens.length === 0 || tokens.length > maxTokens) return undefined
  const joined = tokens.join('')
  const has = (some: ReadonlySet<string>) =>
    some.has(joined) || tokens.some((token) => some.has(token) && !wholeNames.has(token))
  const negation = tokens.findIndex((token) => negations.has(token))
  const isNegated = negation >= 0 || joined.startsWith('outof')
  if (has(failed))
    return negation >= 0 && negation < tokens.findIndex((token) => failed.has(token)) ? undefined : 'failed'
  if (has(suspended)) return isNegated ? undefined : 'suspended'
  const isActivity = tokens.includes('running') && tokens.some((token) => activities.test(token))
  const isOpen = has(progressing) || tokens.some(isInProgress) || isActivity || (isWork && has(startedWords))
  if (isOpen || isNegated) return 'progressing'
  if (!has(ready)) return undefined
  const isStep = tokens.length > 1 && !isEnd(name) && (isWork || stepWords.has(tokens.at(-1) ?? ''))
  return isStep ? 'progressing' : 'ready'
}

/** `creating`, `scaling`: a word with `-ing` that is not a ready word. */
function isInProgress(token: string): boolean {
  return token.length > 5 && token.endsWith('ing') && !ready.has(token)
}

/** `Updating`, `ScalingUp`, `UpdateInProgress`; but `ContinuousArchiving` goes on. */
function namesProgress(tokens: readonly string[]): boolean {
  const [last = '', before = ''] = tokens.toReversed()
  const token = particles.has(last) ? before : last
  return last === 'inprogress' || (isInProgress(token) && !lasting.has(token))
}

/** Whether a state is one in which work ends successfully: `Succeeded`, `Sync completed`. */
export function isEnd(state: string): boolean {
  return tokensOf(state).some((token) => endWords.has(token))
}

/*
 * Conditions, of either polarity (API conventions), with the types of kstatus (Ready, Reconciling, Stalled;
 * https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus), the Gateway API (Accepted, Programmed,
 * ResolvedRefs), Crossplane (Synced) and Knative (Succeeded=False is final).
 */

/** Types of kstatus and their opposite, which summarize the object. */
const summaryTypes = words('ready notready stalled reconciling')
/** Types that are True once the present spec is accepted; Ready may still be about the previous spec. */
const acceptanceTypes = words(`
  accepted admitted applied compliant namesaccepted programmed reconciled resolvedrefs synced valid validated
`)
/** Types that mean "not ready" when True, without a failure. */
const unreadyTypes = words(`
  pending unavailable unreachable unready unschedulable incomplete missing conflict conflicted blocked forbidden incompatible
  irreconcilable
`)
/** Words that mean a failure at the end of a type, but not as a state. */
const badTypes = words('terminal')
/** Types that begin with these words name a failure, whatever follows: `FailedToFetch`. */
const failedStarts = words('failed failing unable cannot invalid')
/** Ready words that, as a type, name an option and not a state. */
const optionWords = words('enabled supported existing failedover failedback idle')
/** Words that, as a type, name an ability: ready when True. */
const abilities = words('reachable discoverable schedulable resolvable accessible usable addressable')
/** What a controller does to the part that follows: `UpdatingConfig`, `isRollingUpdate`. */
const changes = words(`
  updating upgrading creating deploying installing configuring provisioning initializing migrating restoring scaling
  reconciling rolling processing
`)
/** Types that are True after one of the first steps, and alone are no readiness: `Applied`, `JobCreated`. */
const stepTypes = words('initialized created started launched scheduled submitted prepared applied')
/** Types of what happens to a part only sometimes: False is normal. */
const events = words('upgraded restored imported exported promoted released elected migrated recovered rotated renewed')
/** Reasons of a False part that was never requested: `Disabled`, `BackupNotConfigured`. */
export const notRequested =
  /disabled|skipped|optional|^(?:required|requested)$|(?:not|un)[-_ ]?(?:required|applicable|needed|requested|used|enabled|configured)/i
/** Reasons that mean the end: of Progressing=True (a Deployment's NewReplicaSetAvailable), or of Running=False. */
const doneReasons = words('available completed complete succeeded successful finished done healthy expected')
/** Reasons with these words mean that the end is still to come: `WaitingForControlPlaneAvailable`. */
const openReasons = words('waiting awaiting pending')

/** The meaning of a type when it is True; undefined for unknown types. The last word decides: `DatabaseReady`. */
export function typeOf(type: string): Reading | undefined {
  const tokens = tokensOf(type).filter((token) => !happened.has(token))
  const [first = '', last = ''] = [tokens[0], tokens.at(-1)]
  const name = tokens.join('')
  if (summaryTypes.has(name)) return { meaning: meaningOf(name) ?? 'progressing', weight: 'summary' }
  if (acceptanceTypes.has(name)) return { meaning: 'ready', weight: 'accepted' }
  // Whether the object could be deleted, or a remark.
  if (tokens.includes('deletion') || last.startsWith('warning')) return undefined
  const weight = tokens.length === 1 ? 'whole' : 'part'
  const meaning = endOf(last)
  const negation = negationOf(tokens)
  if (negation !== undefined) return negated(meaning, negation)
  if (meaning === 'suspended') return { meaning, weight: first.startsWith('reconcil') ? 'whole' : weight }
  if (meaning === 'failed' || failedStarts.has(first)) {
    const isWhole = first === 'invalid' || tokens.some((token) => token.startsWith('error'))
    return { meaning: 'failed', weight: isWhole ? 'whole' : weight }
  }
  if (namesProgress(tokens)) return { meaning: 'progressing', weight }
  if (meaning !== undefined) return { meaning, weight }
  return changes.has(first) ? { meaning: 'progressing', weight: 'part' } : undefined
}

/** The meaning of the last word of a type; undefined for other words of states, which name an option in a type. */
function endOf(last: string): Meaning | undefined {
  const meaning = meaningOf(last)
  if (meaning === 'suspended') return meaning
  if (meaning === 'failed' || badTypes.has(last)) return 'failed'
  // `Unbound`: the opposite of a ready word.
  if (unreadyTypes.has(last) || (last.startsWith('un') && ready.has(last.slice(2)))) return 'progressing'
  if (abilities.has(last) || stepTypes.has(last)) return 'ready'
  return meaning === 'ready' && !optionWords.has(last) ? meaning : undefined
}

/** The opposite of a meaning. An absent error is about a part; its opposite alone is no failure. */
function negated(meaning: Meaning | undefined, negation: 'word' | 'kind'): Reading | undefined {
  if (negation === 'kind' || meaning === undefined || meaning === 'suspended') return undefined
  return { meaning: meaning === 'ready' ? 'progressing' : 'ready', weight: 'part' }
}

/**
 * How a type negates its last word. `word`: `NotYetSynced`, `NoReplicationErrors`. `kind`: none of a kind exists, which is
 * neutral (`NoUpdateAvailable`), or an error has this name (`NoSuchHostError`).
 */
function negationOf(tokens: readonly string[]): 'word' | 'kind' | undefined {
  const last = tokens.at(-1) ?? ''
  const index = tokens.slice(0, -1).findLastIndex((token) => negations.has(token))
  const between = tokens.slice(index + 1, -1)
  if (index < 0) return undefined
  if (!/^(?:no|without)$/.test(tokens[index] ?? ''))
    return between.every((token) => fillers.has(token)) ? 'word' : undefined
  return between.length > 0 && (endOf(last) === 'ready' || /^err(?:or)?$/.test(last)) ? 'kind' : 'word'
}

/**
 * The meaning of a condition: `Ready=False`, `Degraded=True` and `Progressing=True` all mean "not ready".
 * Undefined for the good status of a bad type (Degraded=False), and for unknown types.
 * @param isWork the object is a piece of work that ends, so that `Running=True` is not its goal
 */
export function readCondition(condition: Condition, isWork = false): Reading | undefined {
  const { type, status } = condition
  const known = typeOf(type)
  if (known === undefined) return readUnknownType(condition, isWork)
  const isTrue = status.toLowerCase() === 'true'
  if (known.meaning === 'ready')
    return isTrue ? readGoodTrue(known, condition, isWork) : readGoodNotTrue(known, condition, isWork)
  if (/^progressing$/i.test(type)) return readProgressing(condition)
  // `Progressing` or `Suspended` with a reason such as `Completed` is over, so it means nothing now.
  if (isTrue) return isDone(condition) && known.meaning !== 'failed' ? undefined : known
  const isFailedChange = known.meaning === 'progressing' && known.weight !== 'summary'
  return isFailedChange && whyOf(condition) === 'failed' ? known : undefined
}

/** The meaning of the reason of a condition. */
function whyOf({ reason = '' }: Condition): Meaning | undefined {
  return meaningOf(reason)
}

/** An unknown type has a meaning only by its reason, or if a state is its status: `Install` is `InProgress`. */
function readUnknownType(condition: Condition, isWork: boolean): Reading | undefined {
  const is = condition.status.toLowerCase()
  if (is === 'true') return undefined
  const isOpen = is === 'unknown' || (is === 'false' && (whyOf(condition) === 'failed' || isUnderway(condition)))
  const meaning = isOpen ? 'progressing' : is === 'false' ? undefined : meaningOf(is, isWork)
  return meaning && { meaning, weight: 'part' }
}

/** Some controllers keep Progressing=True after the end, and set False when they give up, as for Deployments. */
function readProgressing(condition: Condition): Reading | undefined {
  const is = condition.status.toLowerCase()
  const why = whyOf(condition)
  if (why === 'suspended') return { meaning: why, weight: 'whole' }
  if (is === 'false') return why === 'failed' ? { meaning: why, weight: 'whole' } : undefined
  return is === 'true' && isDone(condition) ? undefined : { meaning: 'progressing', weight: 'whole' }
}

/** A good condition with a reason or message of a failure contradicts itself: work has failed, the rest progresses. */
function readGoodTrue(good: Reading, condition: Condition, isWork: boolean): Reading | undefined {
  const last = tokensOf(condition.type).at(-1) ?? ''
  const message = String(condition.message ?? '')
  if (whyOf(condition) === 'failed' || /^(?:error|failed|failure|unable to|cannot)\b/i.test(message))
    return { ...good, meaning: isWork ? 'failed' : 'progressing' }
  if (stepTypes.has(last)) return undefined
  if (isWork && startedWords.has(last)) return { meaning: 'progressing', weight: 'part' }
  // `Running` of an operator whose message is its present step: "Creating the database".
  const isStep = last === 'running' && /^\w+ing\b/.test(message) && !isDone(condition)
  return isStep ? { ...good, meaning: 'progressing' } : good
}

/** A good condition that is False or Unknown. */
function readGoodNotTrue(good: Reading, condition: Condition, isWork: boolean): Reading | undefined {
  const { type, reason = '' } = condition
  const tokens = tokensOf(type)
  const last = tokens.at(-1) ?? ''
  const isFalse = /^false$/i.test(condition.status)
  const isStarted = startedWords.has(last)
  const isUnused = good.weight === 'part' && (notRequested.test(reason) || events.has(last))
  if (isFalse && (isUnused || (isDone(condition) && (isWork || isStarted)))) return undefined
  if (isWork && isStarted) return undefined
  if (good.weight === 'whole' && stepTypes.has(last)) return { meaning: 'progressing', weight: 'unknown' }
  // Succeeded=False is final; while the work is in progress, it is Unknown.
  if (type === 'Succeeded' && isFalse && meaningOf(reason, true) !== 'progressing')
    return { ...good, meaning: 'failed' }
  const isSuspended = whyOf(condition) === 'suspended' && good.weight !== 'part'
  return { ...good, meaning: isSuspended ? 'suspended' : 'progressing' }
}

function isDone({ reason = '' }: Condition): boolean {
  const tokens = tokensOf(reason)
  const isOpen = tokens.some((token) => negations.has(token) || openReasons.has(token))
  return doneReasons.has(tokens.at(-1) ?? '') && !isOpen
}

/** `WaitingForVolume`, `ScalingOut`; but `NotScaling` is not. */
function isUnderway({ reason = '' }: Condition): boolean {
  const tokens = tokensOf(reason)
  return !tokens.some((token) => negations.has(token)) && (openReasons.has(tokens[0] ?? '') || namesProgress(tokens))
}
