import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'
import { access } from './access.ts'
import { admission } from './admission.ts'
import { alreadyFailing } from './already-failing.ts'
import { changeTimes } from './change-times.ts'
import { componentFaults } from './component-faults.ts'
import { connections } from './connections.ts'
import { crashes } from './crashes.ts'
import { deadlines } from './deadlines.ts'
import { deletions } from './deletions.ts'
import { expectedImages } from './expected-images.ts'
import { healthy } from './healthy.ts'
import { helm3Releases, helmReleases } from './helm.ts'
import { jobs } from './jobs.ts'
import { liveLogs } from './live-logs.ts'
import { lostKubelet } from './lost-kubelet.ts'
import { manifests } from './manifests.ts'
import { nodes } from './nodes.ts'
import { placement } from './placement.ts'
import { requests } from './requests.ts'
import { services } from './services.ts'
import { statefulSetsAndDaemonSets } from './statefulsets-daemonsets.ts'
import { superseded } from './superseded.ts'
import { temporaryFailures } from './temporary-failures.ts'
import { unproven } from './unproven.ts'
import { unreadableKinds } from './unreadable-kinds.ts'

/** The scenarios that need no fault of a component, by file. */
const groups: readonly (readonly Scenario[])[] = [
  healthy,
  temporaryFailures,
  statefulSetsAndDaemonSets,
  readScenarios('sidecars'),
  jobs,
  liveLogs,
  readScenarios('images'),
  crashes,
  alreadyFailing,
  expectedImages,
  readScenarios('missing-objects'),
  admission,
  placement,
  nodes,
  services,
  requests,
  unproven,
  manifests,
  deadlines,
  superseded,
  connections,
  access,
  deletions,
  unreadableKinds,
  changeTimes,
]

/** Every scenario, in the order of the result table. */
export const scenarios: readonly Scenario[] = [...groups.flat(), ...helmReleases, ...componentFaults, ...lostKubelet]

/** How many scenarios run on the versions of Kubernetes between the oldest and the newest. */
const coreScenarios = 60

/** The core of the scenarios: the first of each file, then the second of each, and so on. */
export function coreOfScenarios(): readonly Scenario[] {
  const longest = Math.max(...groups.map(({ length }) => length))
  const inTurn = Array.from({ length: longest }, (_, index) => groups.flatMap((group) => group[index] ?? []))
  return inTurn.flat().slice(0, coreScenarios)
}

/** The scenarios of these names; `helm` means all releases of Helm 3 and 4. Without names, all but those of Helm 3. */
export function choose(written: readonly string[]): readonly Scenario[] {
  const ofHelm = [...helmReleases, ...helm3Releases].map(({ name }) => name)
  const names = written.flatMap((word) => (word === 'helm' ? ofHelm : [word]))
  const known = [...scenarios, ...helm3Releases]
  const unknown = names.filter((name) => !known.some((scenario) => scenario.name === name))
  if (unknown.length > 0) {
    throw new Error(`no scenario ${unknown.join(', ')}; there are: ${known.map(({ name }) => name).join(', ')}`)
  }
  return names.length === 0 ? scenarios : known.filter(({ name }) => names.includes(name))
}
