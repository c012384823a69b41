import type { EndedTimeline, TargetRecord } from '../gate/timeline.ts'
import { label } from '../plan/names.ts'
import { displayName, fullNames, type ReleaseHistory } from '../plan/target.ts'
import { releaseClockMs } from '../thresholds.ts'

/** What a failed gate recommends to undo. */
interface Rollback {
  /** Commands for a shell, joined with ` && `; empty if an undo is not known to restore what ran. */
  readonly command: string
  /** What the command does and does not restore, or why there is none; empty on ready. Raw text. */
  readonly note: string
}

/** The undo of one target. */
interface Step {
  readonly command: string
  /** For the note: `deployment/web to revision 6`. */
  readonly restores: string
}

/**
 * Undoes the targets whose change has failed, each to the revision that ran before. There is no command if a Job of the same
 * change has run: an older version may not work with what the Job changed.
 */
export function rollbackOf(timeline: EndedTimeline): Rollback {
  const { outcome } = timeline.verdict
  if (outcome === 'ready') return { command: '', note: '' }
  if (outcome !== 'failed') return { command: '', note: `The outcome ${outcome} proves no failure of this change.` }
  // Reports contain no undo.
  if (timeline.gates !== undefined) return { command: '', note: 'Each gate has a rollback-command of its own.' }
  const names = fullNames(timeline.targets.map(({ target }) => target))
  const named = timeline.targets.map((record, index) => ({ record, name: names[index] ?? '' }))
  const failed = named
    .filter(({ record }) => record.outcome === 'failed')
    .map((each) => ({ ...each, step: stepOf(each.record, each.name) }))
  const steps = new Map(failed.flatMap(({ step }) => (step === undefined ? [] : [[step.command, step.restores]])))
  const command = [...steps.keys()].join(' && ')
  const keptNotes = failed
    .filter(({ record, step }) => !record.hasRun && step === undefined)
    .map(({ record, name }) => `${name} is not undone: ${obstacleOf(record)}.`)
  const ran = named.filter(({ record }) => record.hasRun).map(({ name }) => name)
  if (ran.length > 0) {
    const verb = ran.length === 1 ? 'ran: a migration' : 'ran: migrations'
    const byHand = command === '' ? '' : ` If the older version works with what was changed: ${command}`
    return { command: '', note: [...keptNotes, `${ran.join(', ')} ${verb} may not be undone.${byHand}`].join(' ') }
  }
  if (failed.length === 0) return { command: '', note: 'No resource failed, so none is undone.' }
  const restores = steps.size === 0 ? [] : [`Undoes ${[...steps.values()].join(', ')}.`]
  return { command, note: [...restores, ...keptNotes].join(' ') }
}

function obstacleOf({ change, undo }: TargetRecord): string {
  if (change === 'none') return 'its version is older than this change'
  return undo?.obstacle ?? 'it has no revision that kubectl could restore'
}

/** The undo of a target; undefined if it does not restore what ran, or if a name is no plain word for a shell. */
function stepOf({ target, changedAt, change, undo = {} }: TargetRecord, name: string): Step | undefined {
  const { revision, obstacle, isOnlyRestart } = undo
  if (change === 'none' || revision === undefined || (obstacle !== undefined && !isOnlyRestart)) return undefined
  const { release, namespace = '' } = target
  const before = release && releaseBefore(release, changedAt)
  if (release !== undefined && before !== undefined && isPlainName(release.name) && label.test(release.namespace))
    return {
      command: `helm rollback ${release.name} ${before} -n ${release.namespace}`,
      restores: `the Helm release ${release.name} to revision ${before} (not what its hooks did)`,
    }
  if (obstacle !== undefined || !isPlainName(target.name) || !label.test(namespace) || !/^[A-Za-z]+$/.test(target.kind))
    return undefined
  return {
    command: `kubectl rollout undo ${displayName(target)} -n ${namespace} --to-revision=${revision}`,
    restores: `${name} to revision ${revision} (its pod template, no ConfigMaps, Secrets or replicas)`,
  }
}

/** Whether the API server accepts a name: then no shell reads more than a word in it. */
function isPlainName(name: string): boolean {
  return name.split('.').every((part) => label.test(part))
}

/**
 * The number of the last deployed revision of a release before the one that changed an object.
 * @param changedAt when the present version of the object came, in milliseconds since the epoch
 */
function releaseBefore({ revisions }: ReleaseHistory, changedAt: number | undefined): number | undefined {
  if (changedAt === undefined) return undefined
  const changing = revisions.findLast(({ createdAt = '' }) => Date.parse(createdAt) <= changedAt + releaseClockMs)
  if (changing === undefined) return undefined
  return revisions.findLast(
    ({ number, status }) => number < changing.number && (status === 'superseded' || status === 'deployed'),
  )?.number
}
