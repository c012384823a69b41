import { type GateSettings, gateSettings } from '../gate/settings.ts'
import { extraInputs, type Inputs, inputs as known, parseInputs } from '../inputs.ts'
import type { RecordingHeader } from './format.ts'

/** Inputs that a recording keeps to itself, or that say nothing to a replay. */
const idle = new Set(['kubeconfig', 'context', 'record', 'summary', ...extraInputs])

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
  const written = Object.entries(inputs)
    .filter(([name, value]) => !idle.has(name) && value !== null)
    .map(([name, value]) => [name, Array.isArray(value) ? value.join('\n') : String(value)] as const)
  const isKnown = ([name]: readonly [string, string]) => known.some((input) => input.name === name)
  return {
    inputs: parseInputs({ ...Object.fromEntries(written.filter(isKnown)), ...overrides }),
    unknown: written.filter((each) => !isKnown(each)).map(([name]) => name),
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
