import type { Condition } from '../../cluster/objects.ts'
import type { ConditionSignal } from '../conditions.ts'

/** The meaning of a signal: the four states of an object. */
export type Meaning = 'ready' | 'progressing' | 'failed' | 'suspended'

/**
 * What a condition is about. `summary`: it summarizes the whole object (Ready). `accepted`: whether the spec was
 * accepted. `whole`: the whole object, without summarizing it (Available, `phase`). `part`: a part of the object
 * (DatabaseReady).
 */
type Weight = 'summary' | 'accepted' | 'whole' | 'part'

/** One signal of an object's state. */
export interface Signal extends ConditionSignal {
  readonly meaning: Meaning
  /**
   * In addition to `Weight`: `change` is about the change in progress (updateStatus, replica counts); `error` is the
   * text of an error; `unknown` is a phase without a known meaning; `spec` is what the user requested in the spec; `copy` is
   * the state of an external object, as its controller has read it.
   */
  readonly weight: Weight | 'change' | 'error' | 'unknown' | 'spec' | 'copy'
}

/** The signal of a field; empty if its value has no known meaning. */
export function fieldSignal(
  name: string,
  value: string,
  meaning: Meaning | undefined,
  weight: Signal['weight'],
): readonly Signal[] {
  return meaning === undefined ? [] : [{ meaning, weight, name, value }]
}

/** The meaning and weight of a condition. */
export interface Reading {
  readonly meaning: Meaning
  readonly weight: Weight | 'unknown'
}

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
  offline down blocked failingover failingback abnormal unbalanced inprogress notready notfound noncompliant
`)
const ready = words(`
  ready available active healthy bound succeeded succeed successful success successfully completed complete done finished online
  operational operating ok okay green serving listening working established deployed installed provisioned created
  configured applied synced synchronized synchronised reconciled released published registered joined attached mounted
  connected reachable responding succeeding passing functioning accepted admitted approved issued valid validated verified passed pass compliant protected promoted
  stable steady normal idle exists existing found enabled initialized initialised loaded latest updated upgraded restored
  imported exported resolved programmed uptodate running adopted advertised generated elected failedover failedback
  provided satisfied formed balanced injected delivered hydrated realized collected processed downloaded claimed
  activated assigned associated fulfilled alive inuse enforced enforcing converged subscribed propagated distributed
  replicated enrolled onboarded paired peered linked unsealed rotated renewed rolledout nominal unchanged authorized
  authenticated recovered current quiesced selected
`)
/** Words that have a meaning only as a whole name, not in compounds. */
const standaloneWords: ReadonlyMap<string, Meaning> = new Map([
  ['up', 'ready'],
  ['new', 'progressing'],
  ['scheduled', 'progressing'],
])
/** For work that ends (a Job, a backup), these words mean that it has started, not that it is done. */
const startedWords: ReadonlySet<string> = words(
  'running active started accepted created working scheduled enabled assigned',
)
/** The words with which such work ends; `Ready` and `Available` may be about what it has prepared. */
const endWords: ReadonlySet<string> = words(`
  succeeded succeed success successful successfully completed complete done finished passed pass ended
`)
/** In a phase of several words they name a step: `ResourcesCreated`. Alone, `Created` names the goal. */
const stepWords = words('created scheduled submitted')
/** What a controller runs on the way to its goal: `RunningMigrations`, `Build Running`. */
const activities =
  /^(?:build|workflow|test|migration|job|task|hook|command|check|script|step|pipeline|backup|restore|upgrade|update|install|plan)s?(?:status|state)?$/
/** Whether a field is about such an activity, whose goal is not to be running: `buildStatus`. */
export function isActivity(key: string): boolean {
  return tokensOf(key).some((token) => activities.test(token))
}

/** Words that negate the next word: `NotReady`, `NonCompliant`. */
const adverbs = words('not non un never')
/** Words that negate the noun at the end of a name: `NoErrors`, `NoClusterDataConflict`. */
const determiners = words('no without')
/** Words between a negation and its word: `NotYetSynced`. */
const fillers = words('yet currently fully any all')
/** Compounds in which `fail` means no failure, as `FailedOver` and `FailSafe`, and `TimedOut`. */
const compound = /\b(fail|failed|failing|timed) (over|back|safe|fast|open|closed|out)\b/gi
/** A longer value is a sentence, not a state. */
const maxTokens = 5
const maxLength = 200

/** The words of a name in lower case: `RollingUpdate`, `rolling_update` and `Rolling update` are the same. */
export function tokensOf(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .replace(compound, '$1$2')
    .split(' ')
    .filter((token) => token !== '')
    .map((token) => token.toLowerCase())
}

/**
 * The meaning of a state such as `Running`, `InProgress`, `FailedToStart` or `up-to-date`; undefined for unknown words.
 * No standard exists: these are the words that controllers commonly use (`phase` in the Kubernetes API conventions,
 * "Typical status properties"). The worst word of a compound decides. A word with `-ing` means in progress, unless it
 * is a ready word (`running`).
 * @param isWork whether the object does work that ends: then `Running` is not its goal
 */
export function meaningOf(word: string, isWork = false): Meaning | undefined {
  // `ERROR, the secret cannot be found`: the first word counts, unless a good one is followed by a bad one:
  // `Active (degraded)`.
  const [first = '', ...rest] = word.slice(0, maxLength).split(/[,:;(]/)
  const meaning = meaningOfName(first, isWork)
  const remark = meaning === 'ready' && rest.length === 1 ? meaningOfName(rest[0] ?? '', isWork) : undefined
  return remark === 'failed' || remark === 'progressing' ? remark : meaning
}

function meaningOfName(word: string, isWork: boolean): Meaning | undefined {
  const tokens = tokensOf(word)
  if (tokens.length === 0 || tokens.length > maxTokens) return undefined
  const joined = tokens.join('')
  const has = (some: ReadonlySet<string>) => some.has(joined) || tokens.some((token) => some.has(token))
  const isNegated =
    tokens.some((token) => adverbs.has(token) || determiners.has(token)) || (tokens[0] === 'out' && tokens[1] === 'of')
  if (has(failed)) return isNegatedFailure(tokens) ? undefined : 'failed'
  if (has(suspended)) return isNegated ? undefined : 'suspended'
  if (has(progressing) || (isWork && has(startedWords))) return 'progressing'
  if (tokens.some(isInProgress) || (tokens.includes('running') && tokens.some((token) => activities.test(token))))
    return 'progressing'
  if (isNegated) return 'progressing'
  if (has(ready) || joined === 'insync') {
    const isStep = tokens.length > 1 && !isEnd(word) && (isWork || stepWords.has(tokens.at(-1) ?? ''))
    return isStep ? 'progressing' : 'ready'
  }
  return tokens.length === 1 ? standaloneWords.get(joined) : undefined
}

/** `NoErrors`, `ErrorFree`, `FailureNotDetected`; but `FailedNonRetriable` is a failure. */
function isNegatedFailure(tokens: readonly string[]): boolean {
  const isNegation = (token: string) => adverbs.has(token) || determiners.has(token)
  const last = tokens.at(-1) ?? ''
  const bad = happened.has(last) ? tokens.length : tokens.findIndex((token) => failed.has(token))
  return last === 'free' || tokens.slice(0, bad).some(isNegation)
}

/** Whether a state or reason means that something was never requested: `Disabled`, `BackupNotConfigured`. */
export function isNotRequested(text: string): boolean {
  return notRequested.test(text)
}

/** Whether a state is one in which work ends successfully: `Succeeded`, `Sync completed`. */
export function isEnd(word: string): boolean {
  return tokensOf(word).some((token) => endWords.has(token))
}

/** Whether a state only shows that work has started: alone, it is no readiness. */
export function isStart(word: string): boolean {
  return /^(?:created|initiali[sz]ed)$/i.test(word)
}

/**
 * How a name negates the word at an index. `word`: the word itself is negated (`NotReady`, `NoErrors`). `kind`: none of
 * a kind exists, which is neutral (`NoUpdateAvailable`). Undefined: nothing negates it; in `ConfigNotFoundError` the
 * negation ends before it.
 */
export function negationOf(tokens: readonly string[], index: number): 'word' | 'kind' | undefined {
  const before = tokens.slice(0, index)
  const adverb = before.findLastIndex((token) => adverbs.has(token))
  if (adverb >= 0 && before.slice(adverb + 1).every((token) => fillers.has(token))) return 'word'
  const determiner = before.findLastIndex((token) => determiners.has(token))
  if (determiner < 0) return undefined
  const word = tokens[index] ?? ''
  // `NoSuchHostError` names an error; `NoReplicationErrors` means that there are none.
  const isNoun = determiner === index - 1 || (!ready.has(word) && !/^(?:error|err)$/.test(word))
  return isNoun ? 'word' : 'kind'
}

/** `unbound`, `unattached`: the opposite of a ready word. */
function isOpposite(token: string): boolean {
  return token.startsWith('un') && ready.has(token.slice(2))
}

/** `Updating`, `ScalingUp`, `UpdateInProgress`, `In-progress`; but `ContinuousArchiving` goes on. */
function namesProgress(tokens: readonly string[]): boolean {
  const [before = '', last = ''] = tokens.slice(-2)
  if (tokens.join('').endsWith('inprogress')) return true
  return isChange(particles.has(last) ? before : (tokens.at(-1) ?? ''))
}

function isChange(token: string): boolean {
  return isInProgress(token) && !activitiesWithoutEnd.has(token)
}

const particles = words('up down in out over back off')
/** What a controller does to the part that follows: `UpdatingConfig`. */
const changes = words(`
  updating upgrading creating deploying installing configuring provisioning initializing migrating restoring scaling
  reconciling rolling waiting
`)
/** Words with `-ing` that name what a ready object does. */
const activitiesWithoutEnd = words('archiving monitoring streaming replicating polling mirroring logging watching')

/** `creating`, `scaling`: a word with `-ing` that is not a ready word. */
function isInProgress(token: string): boolean {
  return token.length > 5 && token.endsWith('ing') && !ready.has(token)
}

/** Types that are True once the present spec is accepted; Ready may still be about the previous spec. */
const acceptanceTypes = words(`
  accepted admitted applied compliant namesaccepted programmed reconciled resolvedrefs synced valid validated
`)
/** Words that mean a failure as a condition type, but not as a state. */
const badTypes = words('terminal')
/** Types that mean "not ready" when True, without a failure. */
const unreadyTypes = words(
  'pending unavailable unreachable unready unschedulable incomplete missing conflict conflicted blocked forbidden ' +
    'incompatible irreconcilable',
)
/** Ready words that, as a type, name an option and not a state. */
const optionWords = words('enabled supported existing failedover failedback idle')
/** Words that, as a type, name an ability: ready when True. */
const abilities = words('reachable discoverable schedulable resolvable accessible usable addressable')
/** `ErrorOccurred`, `FailureDetected`: the noun before these words counts. */
const happened = words('occurred occured detected encountered present seen')
/** Types that are True after one of the first steps, and alone are no readiness: `Applied`, `JobCreated`. */
const stepTypes = words('initialized created started launched scheduled submitted prepared applied')
/** Types that begin with these words name a failure, whatever follows: `FailedToFetch`. */
const failedStarts = words('failed failing unable cannot invalid')
/** Words before the noun of a type that is True for a good part: `ValidBackendRefs`, `OwnerResolvedRef`. */
const goodAdjectives = words('valid accepted resolved healthy')
/** Reasons of a False part that was never requested. */
const notRequested =
  /disabled|skipped|optional|^(?:required|requested)$|(?:not|un)[-_ ]?(?:required|applicable|needed|requested|used|enabled|configured)/i
/** Types of what happens to a part only sometimes: False is normal. */
const events = words('upgraded restored imported exported promoted released elected migrated recovered rotated renewed')
/** Reasons that mean the end: of Progressing=True (a Deployment's NewReplicaSetAvailable), or of Running=False. */
const doneReasons = words('available completed complete succeeded successful finished done healthy expected')
/** Reasons with these words mean that the end is still to come: `WaitingForControlPlaneAvailable`. */
const openReasons = words('waiting awaiting pending')

/**
 * The meaning of a condition of either polarity: `Ready=False`, `Degraded=True` and `Progressing=True` all mean "not ready".
 * Undefined for the good status of a bad type (Degraded=False), and for unknown types.
 *
 * Based on the API conventions (conditions of either polarity, "Typical status properties"), kstatus (Ready, Reconciling,
 * Stalled; https://github.com/kubernetes-sigs/cli-utils/tree/master/pkg/kstatus), the Gateway API (Accepted, Programmed,
 * ResolvedRefs), Crossplane (Synced) and Knative (Succeeded=False is final).
 * A good condition with a reason or message of a failure contradicts itself: work has failed, the rest progresses.
 * @param isWork the object is a piece of work that ends, so that `Running=True` is not its goal
 */
export function readCondition(condition: Condition, isWork = false): Reading | undefined {
  const { status, reason = '', message = '' } = condition
  const reading = readTypeAndStatus(condition, isWork) ?? readStateAsStatus(status, isWork)
  const isContradiction =
    reading?.meaning === 'ready' &&
    status.toLowerCase() === 'true' &&
    (meaningOf(reason) === 'failed' || /^(?:error|failed|failure|unable to|cannot)\b/i.test(String(message)))
  if (isContradiction) return { ...reading, meaning: isWork ? 'failed' : 'progressing' }
  return reading?.meaning === 'ready' && stepTypes.has(tokensOf(condition.type).at(-1) ?? '') ? undefined : reading
}

/** Some operators write a state as the status of a condition: `Install` is `InProgress`. */
function readStateAsStatus(status: string, isWork: boolean): Reading | undefined {
  const meaning = /^(?:true|false|unknown)$/i.test(status) ? undefined : meaningOf(status, isWork)
  return meaning && { meaning, weight: 'part' }
}

/** Whether a type has a meaning, if only with another status: Degraded=False has none. */
export function isKnownType(condition: Condition): boolean {
  return ['True', 'False'].some(
    (status) => readTypeAndStatus({ ...condition, status, reason: '' }, false) !== undefined,
  )
}

function readTypeAndStatus(condition: Condition, isWork: boolean): Reading | undefined {
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
      return acceptanceTypes.has(name) ? positive(is, reason, 'accepted') : readByWord(tokens, is, condition, isWork)
  }
}

/** The last word of a type decides its polarity: `DatabaseReady`, `ReconcileError`, `ControlPlaneUpdating`. */
function readByWord(
  tokens: readonly string[],
  is: string,
  { reason = '', message = '' }: Condition,
  isWork: boolean,
): Reading | undefined {
  const name = tokens.join('')
  const last = tokens.at(-1) ?? ''
  const isCurrent = name.endsWith('uptodate') || name.endsWith('insync')
  // A warning does not affect readiness.
  if (last.startsWith('warning')) return undefined
  // Whether the object could be deleted: `DeletionIsBlocked`.
  if (tokens.includes('deletion')) return undefined
  const weight = tokens.length === 1 || name === 'uptodate' || name === 'insync' ? 'whole' : 'part'
  const bad = happened.has(last) ? tokens.findLastIndex(isBad) : isBad(last) ? tokens.length - 1 : -1
  const negation = negationOf(tokens, bad < 0 ? tokens.length - 1 : bad)
  if (negation !== undefined) return readNegated(negation, last, bad >= 0, is, reason)
  // Something that stopped because it is complete.
  if (meaningOf(last) === 'suspended') {
    const isWhole = tokens[0]?.startsWith('reconcil') ?? false
    return isDone(reason) ? undefined : whenTrue(is, 'suspended', isWhole ? 'whole' : weight)
  }
  const startsFailed = failedStarts.has(tokens[0] ?? '')
  if (bad >= 0 || startsFailed) {
    const isWhole = tokens[0] === 'invalid' || tokens.some((token) => token.startsWith('error'))
    return whenTrue(is, 'failed', isWhole ? 'whole' : weight)
  }
  if (namesProgress(tokens) || unreadyTypes.has(last) || isOpposite(last))
    return whenTrue(is === 'false' && meaningOf(reason) === 'failed' ? 'true' : is, 'progressing', weight)
  const isGood = isCurrent || isGoodWord(last)
  if (!isGood) {
    // An unknown type that is not True, with a reason that means failure or progress.
    const isOpen = is !== 'true' && (meaningOf(reason) === 'failed' || isUnderway(reason))
    if (isOpen) return { meaning: 'progressing', weight }
    if (changes.has(tokens[0] ?? '') && !last.endsWith('ed')) return whenTrue(is, 'progressing', 'part')
    if ([tokens[0], tokens.at(-2)].some((token) => goodAdjectives.has(token ?? ''))) return positive(is, reason, 'part')
    // Whatever the polarity of an unknown type, Unknown is not good.
    if (!stepTypes.has(name)) return is === 'unknown' ? { meaning: 'progressing', weight: 'part' } : undefined
  }
  if (
    is === 'false' &&
    ((isDone(reason) && (isWork || startedWords.has(last))) ||
      (weight === 'part' && (isNotRequested(reason) || events.has(last))))
  )
    return undefined
  if (isWork && startedWords.has(last)) return whenTrue(is, 'progressing', 'part')
  if (stepTypes.has(name)) return is === 'true' ? undefined : { meaning: 'progressing', weight: 'unknown' }
  // `Running` of an operator whose message is its present step: "Creating the database".
  if (last === 'running' && is === 'true' && /^\w+ing\b/.test(message) && !isDone(reason))
    return { meaning: 'progressing', weight }
  // Succeeded=False is final; while the work is in progress, it is Unknown.
  const isOver = name === 'succeeded' && is === 'false' && meaningOf(reason, true) !== 'progressing'
  return isOver ? { meaning: 'failed', weight } : positive(is, reason, weight)
}

/**
 * The meaning of a negated word: `NoErrors=True` is ready, `NotAvailable=True` is not. An absent error is about a part;
 * its opposite alone is no failure.
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
  if (isInProgress(last)) return whenTrue(isFalse, 'progressing', 'part')
  return isGoodWord(last) ? whenTrue(is, 'progressing', 'part') : undefined
}

function positive(status: string, reason: string, weight: Weight): Reading {
  if (status === 'true') return { meaning: 'ready', weight }
  const isSuspended = weight !== 'part' && meaningOf(reason) === 'suspended'
  return { meaning: isSuspended ? 'suspended' : 'progressing', weight }
}

function whenTrue(status: string, meaning: Meaning, weight: Weight): Reading | undefined {
  return status === 'true' ? { meaning, weight } : undefined
}

/** Some controllers keep Progressing=True after the end, and set False when they give up, as for Deployments. */
function readProgressing(status: string, reason: string): Reading | undefined {
  const why = meaningOf(reason)
  if (why === 'suspended') return { meaning: 'suspended', weight: 'whole' }
  if (status === 'true') return isDone(reason) ? undefined : { meaning: 'progressing', weight: 'whole' }
  if (status === 'false') return why === 'failed' ? { meaning: 'failed', weight: 'whole' } : undefined
  return { meaning: 'progressing', weight: 'whole' }
}

function isDone(reason: string): boolean {
  const tokens = tokensOf(reason)
  const isOpen = tokens.some((token) => adverbs.has(token) || determiners.has(token) || openReasons.has(token))
  return doneReasons.has(tokens.at(-1) ?? '') && !isOpen
}

/** `WaitingForVolume`, `ScalingOut`; but `NotScaling` is not. */
function isUnderway(reason: string): boolean {
  const tokens = tokensOf(reason)
  const isNegated = tokens.some((token) => adverbs.has(token) || determiners.has(token))
  return !isNegated && (openReasons.has(tokens[0] ?? '') || namesProgress(tokens))
}

/** Whether a name that ends in this word is good when True. */
export function isGoodWord(token: string): boolean {
  return abilities.has(token) || (meaningOf(token) === 'ready' && !optionWords.has(token))
}

function isBad(token: string): boolean {
  return meaningOf(token) === 'failed' || badTypes.has(token)
}

/** The words of a text as a set. */
export function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/))
}
