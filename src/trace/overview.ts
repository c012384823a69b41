import type { TargetOutcome, TargetRecord, Timeline } from '../gate/timeline.ts'
import { fullNames } from '../plan/target.ts'
import { tally } from '../report/log.ts'
import { outcomeLabels } from '../report/target-record.ts'
import { colored, emptyLine, type Line, line, type Mark, mark } from './line.ts'

/** The outcomes of targets, the worst first. */
const worstFirst: readonly TargetOutcome[] = ['unknown', 'failed', 'stalled', 'progressing', 'ready']

/** The records with their names, the worst first. */
export function sortWorstFirst<R extends TargetRecord>(
  targets: readonly R[],
): readonly { readonly record: R; readonly name: string }[] {
  const names = fullNames(targets.map(({ target }) => target))
  return targets
    .map((record, index) => ({ record, name: names[index] ?? '' }))
    .toSorted((a, b) => worstFirst.indexOf(a.record.outcome) - worstFirst.indexOf(b.record.outcome))
}

/** One line for each object, the worst first, below the number of objects by outcome; nothing if none exists. */
export function overviewLines({ targets }: Timeline): readonly Line[] {
  if (targets.every(({ milestones }) => milestones.every(({ state }) => state !== 'done'))) return []
  const width = Math.max(...sortWorstFirst(targets).map(({ name }) => name.length))
  return [
    ...(targets.length === 1 ? [] : [line(0, { text: `${targets.length} objects: ${tally(targets)}`, style: 'cyan' })]),
    ...sortWorstFirst(targets).map(({ record, name }) => {
      const { outcome, reason, message } = record
      const as: Mark = outcomeLabels[outcome].mark
      return line(
        0,
        mark(as),
        { text: name, style: 'bold', width },
        colored(reason === '' ? outcomeLabels[outcome].verb : reason, as),
        message === outcomeLabels[outcome].verb ? undefined : `· ${message}`,
      )
    }),
    emptyLine,
  ]
}
