import { type GateSettings, gateSettings } from '../gate/settings.ts'
import { type Inputs, inputDefinitions, parseInputs } from '../inputs.ts'
import type { RecordingHeader } from './format.ts'

/** What the user of a recorded gate wrote, as a replay reads it. */
export interface RecordedInputs {
  readonly inputs: Inputs
  /** Inputs that were written and that this version does not know: the verdict may be another for that. */
  readonly unknown: readonly string[]
}

/**
 * The inputs of a recorded gate, from the first line of its recording.
 *
 * @param overrides texts by the names of inputs, which go before the recorded ones
 * @throws UserError with every mistake
 */
export function inputsOf(
  { inputs }: RecordingHeader,
  overrides: Readonly<Record<string, string | undefined>> = {},
): RecordedInputs {
  const known = new Map(inputDefinitions.map((definition) => [definition.name, definition]))
  const written = Object.entries(inputs)
    .filter(([name, value]) => known.get(name)?.isReplayed && value !== null)
    .map(([name, value]) => [name, Array.isArray(value) ? value.join('\n') : String(value)] as const)
  return {
    inputs: parseInputs({ ...Object.fromEntries(written), ...overrides }),
    unknown: Object.keys(inputs).filter((name) => inputs[name] !== null && !known.has(name)),
  }
}

/**
 * The settings that the recorded gate had.
 *
 * @param inputs by default the recorded ones
 * @throws UserError where the recording holds values that an input does not take
 */
export function settingsOf(header: RecordingHeader, inputs: Inputs = inputsOf(header).inputs): GateSettings {
  const { startedAt, server, context, serverOffsetMs } = header
  return gateSettings(inputs, {
    startedAt: Date.parse(startedAt),
    context,
    serverVersion: server,
    serverOffsetMs,
  })
}
