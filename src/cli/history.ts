import { errorText, throwMistakes, UserError } from '../errors.ts'
import { printableJson } from '../report/escape.ts'
import type { Arguments } from './arguments.ts'
import { type CommandContext, endWithMistakes, printLines, printMessage } from './output.ts'

/** `history`: what the gates of a history show over time. Returns the exit code. */
export async function history({ files, flags, mistakes }: Arguments, context: CommandContext): Promise<number> {
  const { stdout, stderr, program } = context
  try {
    const example = `${program} history gates.ndjson`
    const [path = '', ...others] = files
    throwMistakes([
      ...mistakes,
      ...(path === '' || others.length > 0
        ? [{ input: 'FILE', message: `Name one history, the file of --history: ${example}` }]
        : []),
    ])
    const { readHistory, describeSkipped } = await import('../history/history-file.ts')
    const { describeHistory, historyStatistics } = await import('../history/statistics.ts')
    const { gates, skipped } = read(path, readHistory)
    if (skipped.length > 0) printMessage(stderr, `${path}: ${describeSkipped(skipped)}`)
    const statistics = historyStatistics(gates)
    printLines(stdout, flags.has('json') ? [printableJson(statistics)] : describeHistory(statistics))
    return 0
  } catch (error) {
    return endWithMistakes(error, context)
  }
}

function read<T>(path: string, readHistory: (path: string) => T): T {
  try {
    return readHistory(path)
  } catch (error) {
    throw new UserError([{ input: 'FILE', message: `${path} cannot be read: ${errorText(error)}` }])
  }
}
