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
  offline down blocked
`)
const ready = set(`
  ready available active healthy bound succeeded successful success successfully completed complete done finished online
  operational operating ok okay green serving listening working established deployed installed provisioned created
  configured applied synced synchronized synchronised reconciled released published registered joined attached mounted
  connected reachable accepted admitted approved issued valid validated verified passed pass compliant protected promoted
  stable steady normal idle exists existing found enabled initialized initialised loaded latest updated upgraded restored
  imported exported resolved programmed uptodate running adopted advertised generated elected
`)
/** Words that mean something only when they stand alone: in company they are parts of names. */
const alone: ReadonlyMap<string, Meaning> = new Map([
  ['up', 'ready'],
  ['new', 'progressing'],
  ['scheduled', 'progressing'],
])
/** Of a piece of work (a Job, a backup), these say that it has begun, not that it is done. */
export const begun: ReadonlySet<string> = set('running active started accepted created working scheduled enabled')
const negations = set('not non no un')
/** A status that is longer than this is a sentence for people, not a word. */
const longest = 5

/** The words that a name is made of, in lower case: `RollingUpdate`, `rolling_update` and `Rolling update` are the same. */
export function tokensOf(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
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
  const isNegated = tokens.some((token) => negations.has(token)) || (tokens[0] === 'out' && tokens[1] === 'of')
  if (has(failed)) return isNegated ? undefined : 'failed'
  if (has(suspended)) return isNegated ? undefined : 'suspended'
  if (has(progressing) || (isWork && has(begun))) return 'progressing'
  if (tokens.some(isGoingOn)) return 'progressing'
  if (isNegated) return 'progressing'
  if (has(ready) || joined === 'insync') return 'ready'
  return tokens.length === 1 ? alone.get(joined) : undefined
}

/** `creating`, `scaling`: an `-ing` that is not itself a good state to be in. */
export function isGoingOn(token: string): boolean {
  return token.length > 5 && token.endsWith('ing') && !ready.has(token)
}

function set(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/))
}
