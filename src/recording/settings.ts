import { type GateSettings, gateSettings } from '../gate/settings.ts'
import { parseInputs } from '../inputs.ts'
import type { RecordingHeader } from './format.ts'

/**
 * The settings that the recorded gate had, from the first line of its recording.
 * @throws UserError where it holds inputs that the gate does not take
 */
export function settingsOf({ startedAt, server, context, serverOffsetMs, inputs }: RecordingHeader): GateSettings {
  const written = Object.entries(inputs).map(([name, value]) => {
    const text = Array.isArray(value) ? value.join('\n') : String(value)
    return [name, text] as const
  })
  return gateSettings(parseInputs(Object.fromEntries(written)), {
    startedAt: Date.parse(startedAt),
    context,
    serverVersion: server,
    serverOffsetMs,
  })
}
