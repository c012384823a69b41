import type { Problem } from '../lifecycle/assessment.ts'
import type { Manifest, Step } from '../plan/manifests/manifest.ts'
import type { ReasonCode } from '../reasons.ts'

/** The field of a manifest that a problem is about. */
export interface Place {
  readonly path: readonly Step[]
  readonly line: number
}

/** Fields of the container that has the problem. */
const containerFields: Readonly<Partial<Record<ReasonCode, readonly string[]>>> = {
  'image-not-found': ['image'],
  'image-platform-missing': ['image'],
  'image-unauthorized': ['image'],
  'image-rate-limited': ['image'],
  'image-registry-unreachable': ['image'],
  'image-name-invalid': ['image'],
  'image-never-pull': ['imagePullPolicy'],
  'image-pull-failed': ['image'],
  'image-mismatch': ['image'],
  'exec-format': ['image'],
  'out-of-memory': ['resources', 'limits', 'memory'],
  'bad-command': ['command'],
  'crash-loop': [],
  'init-container-failed': [],
  'config-missing': ['env'],
  'liveness-failing': ['livenessProbe'],
  'startup-failing': ['startupProbe'],
  'readiness-failing': ['readinessProbe'],
}

/** Fields of the pod, below its template. */
const podFields: Readonly<Partial<Record<ReasonCode, readonly string[]>>> = {
  'config-missing': ['spec', 'volumes'],
  'volume-not-mounted': ['spec', 'volumes'],
  unschedulable: ['spec'],
  'service-account-missing': ['spec', 'serviceAccountName'],
  'admission-denied': ['spec'],
}

/** Fields of the object itself. */
const objectFields: Readonly<Partial<Record<ReasonCode, readonly string[]>>> = {
  'selector-matches-nothing': ['spec', 'selector'],
  'no-endpoints': ['spec', 'ports'],
  paused: ['spec', 'paused'],
  suspended: ['spec', 'suspend'],
  'progress-deadline-exceeded': ['spec', 'progressDeadlineSeconds'],
  'job-deadline-exceeded': ['spec', 'activeDeadlineSeconds'],
  'claim-pending': ['spec', 'storageClassName'],
}

/**
 * The field that mends a problem, and its line; where it is not written, the line of the nearest field around it.
 * Undefined for problems that no field is about.
 */
export function placeOf(problem: Problem, manifest: Manifest): Place | undefined {
  const path = pathOf(problem, manifest)
  return path === undefined ? undefined : { path, line: manifest.lineOf(path) }
}

function pathOf({ reason, container }: Problem, manifest: Manifest): readonly Step[] | undefined {
  const template: readonly Step[] = manifest.object.kind === 'Pod' ? [] : ['spec', 'template']
  const ofContainer = containerFields[reason]
  if (container !== undefined && ofContainer !== undefined) {
    const list = isInit(manifest, template, container) ? 'initContainers' : 'containers'
    return [...template, 'spec', list, { name: container }, ...ofContainer]
  }
  const ofPod = podFields[reason]
  return ofPod === undefined ? objectFields[reason] : [...template, ...ofPod]
}

function isInit(manifest: Manifest, template: readonly Step[], container: string): boolean {
  const root = manifest.object as { spec?: { template?: PodLike } & PodLike['spec'] }
  const pod: PodLike | undefined = template.length === 0 ? (root as PodLike) : root.spec?.template
  return pod?.spec?.initContainers?.some(({ name }) => name === container) ?? false
}

interface PodLike {
  readonly spec?: { readonly initContainers?: readonly { readonly name?: string }[] }
}
