/** What a word of a status says of the object: the same four things that people want to know. */
export type Meaning = 'ready' | 'progressing' | 'failed' | 'suspended'

const failed = set(`
  failed failure failures fail failing error errors err errored degraded unhealthy crashed crash crashing crashloop lost
  aborted abort cancelled canceled rejected denied invalid broken fatal faulted faulty critical red stalled timeout
  timedout exceeded expired misconfigured
`)
const suspended = set(`
  suspended suspend suspending paused pause pausing hibernated hibernating stopped halted frozen
`)
const progressing = set(`
  pending waiting queued unknown partial partially yellow submitted requested start init initialize progress wait
  unavailable unreachable unready unscheduled uninitialized undetermined unsynced outofsync incomplete inconclusive
  inactive missing absent conflict conflicted terminated deleted detached disconnected warn warning unsupported disabled
  offline down blocked failingover failingback
`)
const ready = set(`
  ready available active healthy bound succeeded successful success successfully completed complete done finished online
  operational operating ok okay green serving listening working established deployed installed provisioned created
  configured applied synced synchronized synchronised reconciled released published registered joined attached mounted
  connected reachable accepted admitted approved issued valid validated verified passed pass compliant protected promoted
  stable steady normal idle exists existing found enabled initialized initialised loaded latest updated upgraded restored
  imported exported resolved programmed uptodate running adopted advertised generated elected failedover failedback
`)
/** Words that mean something only when they stand alone: in company they are parts of names. */
const alone: ReadonlyMap<string, Meaning> = new Map([
  ['up', 'ready'],
  ['new', 'progressing'],
  ['scheduled', 'progressing'],
])
/** Of a piece of work (a Job, a backup), these say that it has begun, not that it is done. */
export const begun: ReadonlySet<string> = set('running active started accepted created working scheduled enabled')
/** They negate the word behind them: `NotReady`, `NonCompliant`. */
const adverbs = set('not non un never')
/** They negate the noun that a name ends with: `NoErrors`, `NoClusterDataConflict`. */
const determiners = set('no without')
/** Words that may stand between a negation and what it negates: `NotYetSynced`. */
const fillers = set('yet currently fully any all')
/** Behind them, `fail` is no failure but part of the name of an action or a design: `FailedOver`, `FailSafe`. */
const compound = /\b(fail|failed|failing) (over|back|safe|fast|open|closed)\b/gi
/** A status that is longer than this is a sentence for people, not a word. */
const longest = 5

/** The words that a name is made of, in lower case: `RollingUpdate`, `rolling_update` and `Rolling update` are the same. */
export function tokensOf(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .replace(compound, '$1$2')
    .split(' ')
    .filter((token) => token !== '')
    .map((token) => token.toLowerCase())
}

/**
 * What a word such as `Running`, `InProgress`, `FailedToStart` or `up-to-date` says of an object that names its state by
 * it; undefined for words that say nothing to us. There is no standard for them: these are the words that controllers
 * commonly use (`phase` in the Kubernetes API conventions, "Typical status properties"), in whichever form they write them.
 *
 * The worst part of a compound decides. An English `-ing` is something still going on.
 * @param isWork the object is a piece of work that ends, so that `Running` is not its goal
 */
export function meaningOf(word: string, isWork = false): Meaning | undefined {
  // `ERROR, the secret cannot be found`: what follows is for people.
  const tokens = tokensOf(word.split(/[,:;(]/, 1)[0] ?? '')
  if (tokens.length === 0 || tokens.length > longest) return undefined
  const joined = tokens.join('')
  const has = (words: ReadonlySet<string>) => words.has(joined) || tokens.some((token) => words.has(token))
  const isNegated =
    tokens.some((token) => adverbs.has(token) || determiners.has(token)) || (tokens[0] === 'out' && tokens[1] === 'of')
  if (has(failed)) return isNegated || tokens.at(-1) === 'free' ? undefined : 'failed'
  if (has(suspended)) return isNegated ? undefined : 'suspended'
  if (has(progressing) || (isWork && has(begun))) return 'progressing'
  if (tokens.some(isGoingOn)) return 'progressing'
  if (isNegated) return 'progressing'
  if (has(ready) || joined === 'insync') return 'ready'
  return tokens.length === 1 ? alone.get(joined) : undefined
}

/**
 * How a name negates one of its words, given by its index: `word` is negated itself (`NotReady`, `NoErrors`); `kind` means
 * that there is none of a kind, which is neither good nor bad by itself (`NoUpdateAvailable`); undefined where nothing
 * negates it, as in `ConfigNotFoundError`, whose negation ends at the word that it stands before.
 */
export function negationOf(tokens: readonly string[], index: number): 'word' | 'kind' | undefined {
  const before = tokens.slice(0, index)
  const adverb = before.findLastIndex((token) => adverbs.has(token))
  if (adverb >= 0 && before.slice(adverb + 1).every((token) => fillers.has(token))) return 'word'
  const determiner = before.findLastIndex((token) => determiners.has(token))
  if (determiner < 0) return undefined
  const word = tokens[index] ?? ''
  // `NoSuchHostError` is the name of an error; `NoReplicationErrors` says that there are none.
  const isNoun = determiner === index - 1 || (!ready.has(word) && !/^(?:error|err)$/.test(word))
  return isNoun ? 'word' : 'kind'
}

/** Whether a word is the opposite of a good one: `unbound`, `unattached`. */
export function isOpposite(token: string): boolean {
  return token.startsWith('un') && ready.has(token.slice(2))
}

/** `creating`, `scaling`: an `-ing` that is not itself a good state to be in. */
export function isGoingOn(token: string): boolean {
  return token.length > 5 && token.endsWith('ing') && !ready.has(token)
}

function set(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/))
}
