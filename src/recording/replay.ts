import { covers } from '../cluster/store.ts'
import { Gate } from '../gate/gate.ts'
import type { GateSettings } from '../gate/settings.ts'
import type { Entry } from '../gate/timeline.ts'
import type { Target } from '../plan/target.ts'
import { readAnswered, readEvents } from './read.ts'

/**
 * Plays a recording through the gate on a virtual clock: the verdict is that of the live run. After the last line
 * nothing changes any more, and the clocks still run, so a recording that ends in silence ends by one of them.
 */
export async function replay(
  path: string,
  targets: readonly Target[],
  settings: GateSettings,
  hooks: { readonly onEntry?: (entry: Entry) => void; readonly onDamage: (line: number, why: string) => void },
): Promise<Gate> {
  const answered = await readAnswered(path)
  const gate = new Gate(targets, settings, (request) => answered.some((known) => covers(known, request)), hooks.onEntry)
  for await (const event of readEvents(path, hooks.onDamage)) gate.handle(event)
  for (let clock = gate.nextClock(); clock !== undefined; clock = gate.nextClock()) gate.advance(clock.at)
  return gate
}
