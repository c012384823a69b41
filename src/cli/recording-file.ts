import type { AfterReadyFactory } from '../gate/after-ready.ts'
import type { GateSettings } from '../gate/settings.ts'
import type { Inputs } from '../inputs.ts'
import { loadChecks } from '../lifecycle/rules.ts'
import { readHealthChecks } from '../plan/health-check-entries.ts'
import type { ParsedReferences } from '../plan/reference.ts'
import { counted } from '../reasons/wording.ts'
import { indexRecording, type RecordingIndex } from '../recording/recording-index.ts'
import { inputsOf, planReplay, type ReplayPlan, recordedChecks, settingsOf } from '../recording/replay-gate.ts'
import type { RecordingHeader } from '../recording/writer.ts'

/** Prints a warning about a line of a recording; the first is 1. */
type WarnOfLine = (line: number, text: string) => void

/** A recording with the settings and targets of its gate. */
interface OpenRecording {
  readonly index: RecordingIndex
  readonly inputs: Inputs
  readonly plan: ReplayPlan
  readonly settings: GateSettings
  readonly afterReady: AfterReadyFactory | undefined
}

/**
 * Opens a recording.
 * @param overrides values of inputs that replace the recorded ones, by name
 * @param references the user's own references; by default those of the recorded gate
 * @throws UserError with every mistake, or the reason of the signal
 */
export async function openRecording(
  file: string,
  header: RecordingHeader,
  overrides: Readonly<Record<string, string>>,
  warn: WarnOfLine,
  cancelled: AbortSignal,
  references?: ParsedReferences,
): Promise<OpenRecording> {
  const { inputs, unknown } = inputsOf(header, overrides)
  for (const name of unknown) warn(1, `the input ${name} is unknown to this version, and has no effect.`)
  const path = overrides['health-check-exprs']
  if (path === undefined && inputs.healthCheckExprs !== undefined)
    warn(
      1,
      `the recorded gate used the health checks in ${inputs.healthCheckExprs}: pass the file with --health-check-exprs.`,
    )
  // A recording may be of a stranger: what it names is not opened.
  const healthChecks = await readHealthChecks(path)
  const index = await indexRecording(file, cancelled)
  const plan = await planReplay(index, header, inputs, overrides, healthChecks, references)
  const settings = { ...settingsOf(header, inputs), healthChecks, ...(await loadChecks(plan.targets, index.kinds)) }
  const afterReady = await recordedChecks(inputs, index, plan.targets)
  return { index, inputs, plan, settings, afterReady }
}

/** The lines that this version cannot use: one warning for each reason. */
export class SkippedLines {
  readonly #byReason = new Map<string, { readonly line: number; readonly count: number }>()

  add(line: number, why: string): void {
    const { line: first = line, count = 0 } = this.#byReason.get(why) ?? {}
    this.#byReason.set(why, { line: first, count: count + 1 })
  }

  warn(warn: WarnOfLine): void {
    for (const [why, { line, count }] of this.#byReason)
      warn(line, `${why}. ${count === 1 ? 'The line is' : `${counted(count, 'line')} like it are`} skipped.`)
  }
}
