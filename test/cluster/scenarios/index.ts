import type { Scenario } from '../scenario.ts'
import { access } from './access.ts'
import { admission } from './admission.ts'
import { before } from './already-failing.ts'
import { connections } from './connections.ts'
import { deaths } from './crashes.ts'
import { clocks } from './deadlines.ts'
import { removals } from './deletions.ts'
import { digests } from './expected-images.ts'
import { failing } from './failures.ts'
import { healthy } from './healthy.ts'
import { jobs } from './jobs.ts'
import { streamed } from './live-logs.ts'
import { folders } from './manifests.ts'
import { missing } from './missing-objects.ts'
import { nodes } from './nodes.ts'
import { placement } from './placement.ts'
import { services } from './services.ts'
import { shell } from './shell.ts'
import { sidecars } from './sidecars.ts'
import { sets } from './statefulsets-daemonsets.ts'
import { overtaken } from './superseded.ts'
import { accidents } from './temporary-failures.ts'

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
