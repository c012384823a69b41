import { systemClock } from '../cluster/clock.ts'
import { compareWithHistory, exportJunit, exportToCollector } from '../exports.ts'
import type { EndedTimeline } from '../gate/timeline.ts'
import type { Inputs } from '../inputs.ts'
import { slowerThanUsual } from '../report/comparison.ts'
import { gateRollout } from '../rollout/rollout.ts'
import type { Arguments } from './arguments.ts'
import { readCommandInputs } from './inputs.ts'
import {
  type CommandContext,
  cancelledCode,
  connectionOf,
  endWithMistakes,
  exitCodeOf,
  printMessage,
  printReport,
} from './output.ts'
import { openTerminalLog } from './terminal-log.ts'

/** Writes the files of `history` and `junit`, and prints what was slower than usual. */
async function exportResults(timeline: EndedTimeline, inputs: Inputs, context: CommandContext, isJson: boolean) {
  const { stdout, stderr } = context
  const exported = { run: undefined, onWarning: (text: string) => printMessage(stderr, text) }
  for (const text of slowerThanUsual(await compareWithHistory(timeline, inputs, exported)))
    printMessage(isJson ? stderr : stdout, `  slower than usual: ${text}`)
  await exportJunit(timeline, inputs, exported)
  await exportToCollector(timeline, context.env, exported)
}

/** `wait`: gates a rollout. Returns the exit code. */
export async function wait(args: Arguments, context: CommandContext): Promise<number> {
  const { stdout, stderr, cancelled } = context
  const isJson = args.flags.has('json')
  const startedAt = systemClock.now()
  const log = openTerminalLog(isJson ? stderr : stdout, args.flags, context)
  try {
    const inputs = await readCommandInputs(args, context, 'wait')
    if (inputs === undefined) return cancelledCode
    const rollout = { ...inputs, reporter: log, ...connectionOf(context), cancelled }
    const timeline = await inputs.located(() => gateRollout(rollout))
    log.end(timeline)
    if (isJson) printReport(stdout, timeline)
    await exportResults(timeline, inputs.inputs, context, isJson)
    return exitCodeOf(timeline, inputs.inputs.onSuperseded)
  } catch (error) {
    log.close()
    return endWithMistakes(error, context, isJson ? [startedAt, systemClock.now()] : undefined)
  } finally {
    log.close()
  }
}
