import { openConclusion, type RunRecord, type TargetRecord } from '../gate/run-record.ts'
import { counted } from '../reasons/wording.ts'
import { safeLine } from './escape.ts'
import { isFailing, withNames } from './headline.ts'
import { layoutLog, namespaceText, renderEvidence, tally } from './log.ts'
import { wayBackLines } from './rollback.ts'
import { outcomeLabels } from './target-record.ts'

/**
 * The record of a single check as text: how many targets are ready; for each target that is not, its reason, evidence and hint,
 * the worst first, with a line for those that only wait for it; what serves and the way back; the targets that progress.
 */
export function renderSingleCheck(
  record: RunRecord,
  options: { readonly color: boolean; readonly groups: boolean },
): string[] {
  const { cluster, targets } = record
  const named = withNames(record)
  const wayBack = wayBackLines(record)
  const bad = named.filter(({ target }) => isFailing(target))
  const open = named.filter(({ target }) => target.outcome === 'progressing')
  const parts = [
    ...(cluster.context === '' ? [] : [`context ${safeLine(cluster.context)}`]),
    `${counted(targets.length, 'resource')}${namespaceText(targets)}`,
    ...(targets.length === 0 ? [] : [singleCheckTally(targets)]),
  ]
  return [
    parts.join(' · '),
    ...bad.flatMap(({ target, waiting }) => [
      ...renderEvidence(
        only(record, target),
        layoutLog({ ...record, targets: [target] }, { ...options, times: false }),
      ),
      ...(waiting === '' ? [] : [`  ${safeLine(waiting)}`]),
    ]),
    ...(wayBack.length === 0 ? [] : ['']),
    ...wayBack.map((line) => safeLine(line)),
    ...(open.length === 0 || bad.length === 0 ? [] : ['']),
    ...open.map(({ target, name }) => `… ${safeLine(name)} ${safeLine(target.message)}`),
  ]
}

/** `1 failed, 2 not ready, 9 ready`: in a single check, no target is stalled by a timeout. */
function singleCheckTally(targets: readonly TargetRecord[]): string {
  return tally(targets, (outcome) => (outcome === 'stalled' ? 'not ready' : outcomeLabels[outcome].verb))
}

/** The record with this target alone. */
function only(record: RunRecord, { causedBy: _, ...target }: TargetRecord): RunRecord {
  return { ...record, ...openConclusion, targets: [target] }
}
