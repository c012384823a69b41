import { inClusterContext } from '../cluster/feed.ts'
import {
  type EndedRunRecord,
  type GateRecord,
  isEndedRecord,
  type RunRecord,
  type TargetRecord,
} from '../gate/run-record.ts'
import type { ServingRevision } from '../lifecycle/rule.ts'
import { label } from '../plan/names.ts'
import { displayName, type ReleaseHistory, type ReleaseRevision } from '../plan/target.ts'
import { counted, listNames } from '../reasons/wording.ts'
import { hookLeadMs, recentVersionMs, releaseClockMs } from '../thresholds.ts'
import { namedTargets } from './headline.ts'

/* How to go back to the version before a failed change: the commands, and which version serves now. */

/** The outputs `rollback-command` and `rollback-note`. */
interface Rollback {
  /** Shell commands, joined with ` && `. Empty if no command is certain to restore the previous version. */
  readonly command: string
  /** What the command restores and what not, or why there is no command. Empty if the gate is ready. Raw text. */
  readonly note: string
}

/**
 * The command that undoes the failed targets. If a Job of the same change has run, there is no command: an older
 * version may not work with what the Job changed.
 */
export function rollbackOf(record: EndedRunRecord): Rollback {
  const { outcome } = record
  if (outcome === 'ready') return { command: '', note: '' }
  if (outcome !== 'failed') return { command: '', note: `The outcome ${outcome} proves no failure of this change.` }
  // A merged record is read from reports, which do not contain `undo`.
  if (record.gates !== undefined) return { command: '', note: 'Each gate has a rollback-command of its own.' }
  const { command, note } = undoTargets(record, ({ outcome }) => outcome === 'failed')
  return { command, note }
}

/** Sentences about the version that serves now, and the command that restores it. Raw text: renderers escape it. */
export type WayBack = NonNullable<RunRecord['wayBack']>

const namedServing = 3
const noUndo = { command: '', note: '', kept: '' }

/** For the targets that are not ready: which version serves now, and how to go back. Undefined if unknown. */
export function wayBackOf(record: RunRecord): WayBack | undefined {
  const servingOf = ({ causedBy, undo }: TargetRecord) => (causedBy === undefined ? undo?.serving : undefined)
  const isOnly = record.targets.length === 1
  const found = namedTargets(record).flatMap(({ target, name }) => {
    const revision = servingOf(target)
    if (revision === undefined) return []
    return { serves: revision.ready > 0, text: servingText(revision, isOnly ? undefined : name) }
  })
  // Targets without a ready pod come first.
  const serving = found.toSorted((a, b) => Number(a.serves) - Number(b.serves))
  if (!isEndedRecord(record)) return undefined
  if (record.gates !== undefined) return wayBackOfGates(record.gates)
  // Targets of a record that was read from a report have no `undo`.
  if (serving.length === 0) return record.wayBack
  const isUndone = (target: TargetRecord) => (servingOf(target) ?? { isFirst: true }).isFirst === undefined
  const { command, note, kept } = record.targets.some(isUndone) ? undoTargets(record, isUndone) : noUndo
  const more = serving.slice(namedServing)
  const moreServing = more.filter(({ serves }) => serves).length
  const moreDown = more.length - moreServing
  return {
    sentences: [
      ...serving.slice(0, namedServing).map(({ text }) => text),
      ...(moreDown > 0 ? [`${counted(moreDown, 'more target')}: no pod is ready.`] : []),
      ...(moreServing > 0 ? [`${counted(moreServing, 'more target')}: pods are ready.`] : []),
      ...[command === '' ? note : kept].filter((text) => text !== ''),
    ],
    command,
  }
}

/** The way back as lines: its sentences, then `Back: kubectl rollout undo …`. Raw text: renderers escape it. */
export function wayBackLines(record: RunRecord): readonly string[] {
  const { sentences = [], command = '' } = wayBackOf(record) ?? {}
  return command === '' ? sentences : [...sentences, `Back: ${command}`]
}

/** Joins the ways back of merged gates. The gate's name precedes the sentences of each gate. */
function wayBackOfGates(gates: readonly GateRecord[]): WayBack | undefined {
  const known = gates.flatMap(({ name, wayBack }) => (wayBack === undefined ? [] : { name, ...wayBack }))
  if (known.length === 0) return undefined
  return {
    sentences: known.map(({ name, sentences }) => `${name}: ${sentences.join(' ')}`),
    command: known.flatMap(({ command }) => (command === '' ? [] : command)).join(' && '),
  }
}

function servingText({ revision, images, ready, wanted, isFirst }: ServingRevision, name: string | undefined): string {
  if (revision === undefined && ready > 0) {
    const rest = isFirst ? ', and no older revision to go back to' : ''
    return `${name ?? 'It'} has ${ready} of ${counted(wanted, 'pod')} ready, all of this revision${rest}.`
  }
  if (isFirst) return `${name ?? 'It'} does not serve: no pod is ready, and there is no older revision to go back to.`
  if (revision === undefined)
    return `${name ?? 'It'} does not serve: no pod is ready, neither of this revision nor of an older one.`
  const what = images.length === 0 ? '' : ` (${listNames(images, 1)})`
  const owner = name === undefined ? '' : ` of ${name}`
  return `Revision ${revision}${owner}${what} still serves with ${ready} of ${counted(wanted, 'pod')}.`
}

/** Undoes the targets that `isUndone` selects. `kept`: why some of them are not undone, which the note contains too. */
function undoTargets(
  record: EndedRunRecord,
  isUndone: (target: TargetRecord) => boolean,
): Rollback & { readonly kept: string } {
  const named = namedTargets(record)
  const failed = named
    .filter(({ target }) => isUndone(target))
    .map((each) => ({ ...each, step: undoStep(each.target, each.name, record) }))
  const steps = new Map(failed.flatMap(({ step }) => (typeof step === 'string' ? [] : [[step.command, step.restores]])))
  const command = [...steps.keys()].join(' && ')
  const kept = failed
    .flatMap(({ target, name, step }) =>
      typeof step === 'string' && !hasRun(target) ? [`${name} is not undone: ${step}.`] : [],
    )
    .join(' ')
  const ran = named.filter(({ target }) => hasRun(target)).map(({ name }) => name)
  if (ran.length > 0) {
    const verb = ran.length === 1 ? 'ran: a migration' : 'ran: migrations'
    const byHand = command === '' ? '' : ` If the older version works with what was changed: ${command}`
    return { command: '', note: `${kept} ${ran.join(', ')} ${verb} may not be undone.${byHand}`.trim(), kept }
  }
  if (failed.length === 0) return { command: '', note: 'No resource failed, so none is undone.', kept }
  const restores = steps.size === 0 ? '' : `Undoes ${[...steps.values()].join(', ')}.`
  return { command, note: `${restores} ${kept}`.trim(), kept }
}

/** Whether a target is a Job that has run for this change, or a hook that is removed after its success. */
function hasRun({ kind, hook, hasRun }: TargetRecord): boolean {
  return hasRun === true || (kind === 'Job' && hook?.removal !== undefined)
}

/**
 * The command that undoes a target, and what it restores, for the note: `deployment/web to revision 6`. If no command
 * can undo the target, a text with the cause.
 */
function undoStep(
  target: TargetRecord,
  name: string,
  { startedAt, cluster: { context } }: EndedRunRecord,
): { readonly command: string; readonly restores: string } | string {
  const { changedAt, change, undo, deployedBy, release, namespace = '' } = target
  if (deployedBy !== undefined) return `${displayName(deployedBy)} deployed it: undo the change there`
  if (change === 'none') return 'its version is older than this change'
  if (undo === undefined) return 'it has no revision that kubectl could restore'
  if (changedAt === undefined) return 'the age of its version is unknown'
  if (startedAt - changedAt > recentVersionMs) return 'its version is more than an hour old'
  const { revision, obstacle, isOnlyRestart, since } = undo
  if (obstacle !== undefined && !isOnlyRestart) return obstacle
  const [ofHelm, ofKubectl] = [contextFlag('kube-context', context), contextFlag('context', context)]
  if (ofHelm === undefined || ofKubectl === undefined)
    return obstacle ?? 'the name of the context is no plain word for a shell'
  const before = revision && release && previousReleaseRevision(release, changedAt, since)
  if (before && isShellSafeName(release.name) && label.test(release.namespace))
    return {
      command: `helm${ofHelm} rollback ${release.name} ${before} -n ${release.namespace}`,
      restores: `the Helm release ${release.name} to revision ${before} (not what its hooks did)`,
    }
  if (obstacle !== undefined) return obstacle
  if (
    revision === undefined ||
    !isShellSafeName(target.name) ||
    !label.test(namespace) ||
    !/^[A-Za-z]+$/.test(target.kind)
  )
    return 'one of its names is no plain word for a shell'
  return {
    command: `kubectl${ofKubectl} rollout undo ${displayName(target)} -n ${namespace} --to-revision=${revision}`,
    restores: `${name} to revision ${revision} (its pod template, no ConfigMaps, Secrets or replicas)`,
  }
}

/** The flag for a context; empty in the cluster. Undefined if the name of the context needs quotes in a shell. */
function contextFlag(flag: string, context: string): string | undefined {
  if (context === '' || context === inClusterContext) return ''
  return /^\w[\w.:/@+=-]*$/.test(context) ? ` --${flag} ${context}` : undefined
}

/** Whether a name is a valid Kubernetes name. A valid name needs no quotes in a shell. */
function isShellSafeName(name: string): boolean {
  return name.split('.').every((part) => label.test(part))
}

/**
 * The Helm revision to roll back to: the last deployed revision before the revision that changed an object. Undefined
 * if no deployed revision wrote the object's previous version: a user may have changed the object by hand.
 * @param changedAt when the present version of the object was written, in milliseconds since the epoch
 * @param since when the previous version of the object was written
 */
function previousReleaseRevision(
  { revisions }: ReleaseHistory,
  changedAt: number,
  since: number | undefined,
): number | undefined {
  const lastRevisionAt = (at: number | undefined) =>
    at && revisions.findLast(({ createdAt = '' }) => Date.parse(createdAt) <= at + releaseClockMs)
  const [changedBy, madeBy] = [lastRevisionAt(changedAt), lastRevisionAt(since)]
  if (!changedBy || !madeBy || !since || madeBy.number >= changedBy.number) return undefined
  const wasDeployed = ({ status }: ReleaseRevision) => status === 'superseded' || status === 'deployed'
  if (!wasDeployed(madeBy) || since - Date.parse(madeBy.createdAt ?? '') > hookLeadMs) return undefined
  return revisions.findLast((each) => each.number < changedBy.number && wasDeployed(each))?.number
}
