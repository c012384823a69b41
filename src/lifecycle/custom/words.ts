import { wordSet } from '../../plan/names.ts'

/*
 * The meanings of the words that controllers use for states, such as `phase: Running`. There is no standard for them.
 */

export type Meaning = 'ready' | 'progressing' | 'failed' | 'suspended'

/** The words in states, by their meaning. */
const stateWords: Readonly<Record<Meaning, ReadonlySet<string>>> = {
  failed: wordSet(`
    failed failure failures fail failing error errors err errored degraded unhealthy crashed crash crashing crashloop
    lost aborted abort cancelled canceled killed rejected denied invalid broken fatal faulted faulty critical red stalled
    timeout timedout exceeded expired misconfigured unsatisfiable corrupted exhausted declined refused revoked
    orphaned terminal unable cannot
  `),
  suspended: wordSet(`
    suspended suspend suspending paused pause pausing hibernated hibernating stopped halted frozen sleeping asleep
    dormant shutdown poweredoff poweroff parked onhold
  `),
  progressing: wordSet(`
    pending waiting queued unknown partial partially yellow submitted requested start init initialize progress wait
    below undetermined outofsync incomplete inconclusive inactive missing absent awaited conflict conflicted
    terminated deleted detached disconnected warn warning unsupported disabled offline down blocked failingover
    failingback abnormal unbalanced inprogress outofdate outdated needs notready notfound noncompliant forbidden incompatible
  `),
  ready: wordSet(`
    ready available active healthy bound succeeded succeed success successful successfully completed complete done
    finished accomplished online operational operating ok okay green serving listening working established deployed installed
    provisioned created configured applied synced synchronized synchronised reconciled released published registered
    joined attached mounted connected reachable responding succeeding passing functioning accepted admitted approved
    issued valid validated verified passed pass compliant protected promoted stable steady normal idle exists existing
    found enabled initialized initialised loaded latest updated upgraded restored imported exported resolved
    programmed uptodate insync running adopted advertised generated elected failedover failedback provided satisfied
    formed balanced injected delivered hydrated realized collected processed downloaded claimed activated assigned allocated
    associated fulfilled alive inuse enforced enforcing converged subscribed propagated distributed replicated
    enrolled onboarded paired peered linked unsealed rotated renewed rolledout nominal unchanged authorized
    authenticated recovered current quiesced selected up archiving monitoring streaming replicating polling mirroring
    logging watching managing discoverable schedulable resolvable accessible usable addressable contactable matched aligned executed ran
  `),
}

/** Words that change the meaning of other words in a state. */
export const otherWords = {
  /** For work that ends (a Job, a backup), these words mean that the work has started and is not done. */
  started: wordSet('running active started accepted created working scheduled enabled assigned'),
  /** For work that ends, these words mean that the work has ended. `Ready` may mean only that the work is prepared. */
  end: wordSet(
    'succeeded succeed success successful successfully completed complete done finished accomplished passed pass ended',
  ),
  /** Words for first steps: at the end of a state (`ResourcesCreated`), they do not mean ready. */
  step: wordSet('created started launched scheduled submitted prepared applied'),
  /** Words that negate the next word: `NotReady`, `NoErrors`. */
  negation: wordSet('not non un never no without'),
  /** Words in a type that add no meaning: `ErrorOccurred`, `NotYetSynced`, `ScalingUp`. */
  neutral: wordSet(
    'occurred occured detected encountered present seen yet currently fully up down in out over back off',
  ),
}
/** Matches words for work that a controller does to reach its goal: `RunningMigrations`, `Build Running`. */
export const activities =
  /^(?:build|workflow|test|migration|job|task|hook|command|check|script|step|pipeline|backup|restore|upgrade|update|install|plan|(?:up|down)scale|rebalance)s?(?:status|state)?$/
/** Matches words that are read as one word: in `FailedOver` and `FailSafe`, `fail` does not mean a failure. */
const compounds =
  /\b(?:(?:fail|failed|failing|timed) (?:over|back|safe|fast|open|closed|out)|up to date|in sync|out of (?:sync|date)|in progress$)\b/gi
/** The maximum number of words in a state: a longer value is a sentence. */
const maxTokens = 5
const maxLength = 200

/** Splits a name into words in lower case: `RollingUpdate`, `rolling_update` and `Rolling update` are the same. */
export function wordsOf(name: string): readonly string[] {
  const text = name
    .slice(0, maxLength)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .replace(compounds, (found) => found.replaceAll(' ', ''))
    .trim()
    .toLowerCase()
  return text === '' ? [] : text.split(' ')
}

export function hasAnyWord(tokens: readonly string[], searched: ReadonlySet<string>): boolean {
  return tokens.some((token) => searched.has(token))
}

/**
 * The meaning of a state such as `Running`, `FailedToStart` or `up-to-date`. The worst word decides. Most words with
 * `-ing` mean in progress (not `running`). Undefined for unknown words.
 * @param isWork whether the object does work that ends, so that `Running` is not its goal
 */
export function meaningOf(state: string, isWork = false): Meaning | undefined {
  const tokens = wordsOf(state)
  if (tokens.length === 0 || tokens.length > maxTokens) return undefined
  const hasWord = (words: ReadonlySet<string>) => hasAnyWord([...tokens, tokens.join('')], words)
  const isNegated = otherWords.negation.has(tokens[0] ?? '')
  // `NoUpgrade`: no activity is in progress.
  if (tokens.length === 2 && tokens[0] === 'no' && activities.test(tokens[1] ?? '')) return undefined
  if (hasWord(stateWords.failed)) return isNegated ? undefined : 'failed'
  if (hasWord(stateWords.suspended)) return isNegated ? undefined : 'suspended'
  const isActivity = tokens.includes('running') && tokens.some((token) => activities.test(token))
  // With the prefix `un` or after `not`, a word for ready or for a first step means not ready: `unbound`, `SomeNotReady`.
  const negated = tokens.flatMap((token, at) => (tokens[at - 1] === 'not' ? token : (/^un(.+)/.exec(token)?.[1] ?? [])))
  const isOpposite = negated.some((token) => stateWords.ready.has(token) || otherWords.step.has(token))
  if (hasWord(stateWords.progressing) || isNegated || isOpposite || isActivity || tokens.some(isInProgress))
    return 'progressing'
  if (!hasWord(stateWords.ready)) return undefined
  if (isWork && hasWord(otherWords.started)) return 'progressing'
  const isStep = tokens.length > 1 && !isEndState(state) && (isWork || otherWords.step.has(tokens.at(-1) ?? ''))
  return isStep ? 'progressing' : 'ready'
}

/** Whether a word means in progress (`creating`, `scaling`): it ends with `-ing` and does not mean ready. */
export function isInProgress(token: string): boolean {
  return token.length > 5 && token.endsWith('ing') && !stateWords.ready.has(token)
}

/** Whether a state means that work has ended successfully: `Succeeded`, `Sync completed`. */
export function isEndState(state: string): boolean {
  return hasAnyWord(wordsOf(state), otherWords.end)
}
