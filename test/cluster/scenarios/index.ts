import type { Scenario } from '../scenario.ts'
import { access } from './access.ts'
import { accidents } from './accidents.ts'
import { admission } from './admission.ts'
import { before } from './before.ts'
import { clocks } from './clocks.ts'
import { connections } from './connections.ts'
import { deaths } from './deaths.ts'
import { digests } from './digests.ts'
import { failing } from './failing.ts'
import { folders } from './folders.ts'
import { healthy } from './healthy.ts'
import { jobs } from './jobs.ts'
import { missing } from './missing.ts'
import { nodes } from './nodes.ts'
import { overtaken } from './overtaken.ts'
import { placement } from './placement.ts'
import { removals } from './removals.ts'
import { services } from './services.ts'
import { sets } from './sets.ts'
import { shell } from './shell.ts'
import { sidecars } from './sidecars.ts'
import { streamed } from './streamed.ts'

/** Every scenario, in the order of the table. */
export const scenarios: readonly Scenario[] = [
  ...healthy,
  ...accidents,
  ...sets,
  ...sidecars,
  ...jobs,
  ...streamed,
  ...failing,
  ...deaths,
  ...before,
  ...digests,
  ...missing,
  ...admission,
  ...placement,
  ...nodes,
  ...services,
  ...folders,
  ...clocks,
  ...overtaken,
  ...connections,
  ...access,
  ...removals,
  ...shell,
]

/** The scenarios of these names, all of them when there is none. */
export function choose(names: readonly string[]): readonly Scenario[] {
  const unknown = names.filter((name) => !scenarios.some((scenario) => scenario.name === name))
  if (unknown.length > 0) {
    throw new Error(`no scenario ${unknown.join(', ')}; there are: ${scenarios.map(({ name }) => name).join(', ')}`)
  }
  return names.length === 0 ? scenarios : scenarios.filter(({ name }) => names.includes(name))
}
