import type { RunRecord } from '../gate/run-record.ts'
import { fullNames } from '../plan/target.ts'
import { outcomeLabels } from '../report/target-record.ts'
import { lookTally } from '../report/why.ts'
import { colored, emptyLine, type Line, line, type Mark, mark } from './line.ts'

/** One line for each object, the worst first, below the number of objects by outcome; nothing if none exists. */
export function overviewLines({ targets }: RunRecord): readonly Line[] {
  if (targets.every(({ milestones }) => milestones.every(({ state }) => state !== 'done'))) return []
  const names = fullNames(targets)
  const width = Math.max(...names.map((name) => name.length))
  return [
    ...(targets.length === 1
      ? []
      : [line(0, { text: `${targets.length} objects: ${lookTally(targets)}`, style: 'cyan' })]),
    ...targets.map(({ outcome, reason, message }, index) => {
      const as: Mark = outcomeLabels[outcome].mark
      return line(
        0,
        mark(as),
        { text: names[index] ?? '', style: 'bold', width },
        colored(reason === '' ? outcomeLabels[outcome].verb : reason, as),
        message === outcomeLabels[outcome].verb ? undefined : `· ${message}`,
      )
    }),
    emptyLine,
  ]
}
