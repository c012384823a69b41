import { openConclusion, type TargetRecord, type Timeline } from '../gate/timeline.ts'
import { fullNames, namespacesOf } from '../plan/target.ts'
import { counted } from '../reasons/wording.ts'
import { plain } from './escape.ts'
import { isFailing, waitingLines } from './headline.ts'
import { layoutLog, renderEvidence, tally } from './log.ts'
import { outcomeLabels } from './target-record.ts'

/**
 * One look as text: how many targets are ready, then for each that is not its reason, evidence and hint, the worst first,
 * with a line for those that only wait for it; then those that progress.
 */
export function renderLook(
  timeline: Timeline,
  options: { readonly color: boolean; readonly groups: boolean },
): string[] {
  const { cluster, targets } = timeline
  const names = fullNames(targets).map((name) => plain(name))
  const waiting = waitingLines(timeline)
  const bad = targets.flatMap((record, index) => (isFailing(record) ? [{ record, index }] : []))
  const open = targets.flatMap((record, index) => (record.outcome === 'progressing' ? [{ record, index }] : []))
  const where = placeOf(targets)
  const parts = [
    ...(cluster.context === '' ? [] : [`context ${plain(cluster.context)}`]),
    `${counted(targets.length, 'resource')}${where}`,
    ...(targets.length === 0 ? [] : [lookTally(targets)]),
  ]
  return [
    parts.join(' · '),
    ...bad.flatMap(({ record, index }) => [
      ...renderEvidence(only(timeline, record), layoutLog({ ...timeline, targets: [record] }, options)),
      ...(waiting.has(index) ? [`  ${plain(waiting.get(index) ?? '')}`] : []),
    ]),
    ...(open.length === 0 || bad.length === 0 ? [] : ['']),
    ...open.map(({ record, index }) => `… ${names[index]} ${plain(record.message)}`),
  ]
}

/** `1 failed, 2 not ready, 9 ready`: in one look, no clock has run out that could stall a target. */
export function lookTally(targets: readonly TargetRecord[]): string {
  return tally(targets, (outcome) => (outcome === 'stalled' ? 'not ready' : outcomeLabels[outcome].verb))
}

/** The timeline with this target alone. */
function only(timeline: Timeline, { causedBy: _, ...record }: TargetRecord): Timeline {
  return { ...timeline, ...openConclusion, targets: [record] }
}

function placeOf(targets: readonly TargetRecord[]): string {
  const namespaces = namespacesOf(targets)
  if (namespaces.length > 1) return ` in ${namespaces.length} namespaces`
  return namespaces.map((name) => ` in ${plain(name)}`).join('')
}
