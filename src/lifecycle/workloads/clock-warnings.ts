import type { KubeObject, PodSpec, PodTemplate, Probe } from '../../cluster/objects.ts'
import { probeSeconds } from './container.ts'

/** The clocks of one target; 0 is off. */
export interface Clocks {
  readonly timeoutMs: number
  readonly stallTimeoutMs: number
  /** The user wrote the stall timeout himself, so nothing makes that clock stand still. */
  readonly stallIsLiteral: boolean
}

/** What a workload says of its own time: the fields of Deployments, StatefulSets, DaemonSets, Jobs and Pods. */
interface Spec extends PodSpec {
  readonly template?: PodTemplate
  readonly replicas?: number
  readonly minReadySeconds?: number
  readonly progressDeadlineSeconds?: number
  readonly activeDeadlineSeconds?: number
  readonly podManagementPolicy?: string
}

/** What the API server fills in, so that nobody need have meant it; and what stands for none (HasProgressDeadline). */
const impliedDeadlines: ReadonlySet<number> = new Set([600, 2_147_483_647])

/**
 * Which of the user's clocks the workload's own numbers cannot meet, a sentence each, for the moment when it is first seen:
 * later it would be told that it stalled, although it did as it was told.
 */
export function clockWarnings(
  object: KubeObject,
  { timeoutMs, stallTimeoutMs, stallIsLiteral }: Clocks,
): readonly string[] {
  const spec = (object.spec ?? {}) as Spec
  const warnings: string[] = []
  const timeout = timeoutMs === 0 ? Infinity : timeoutMs / 1000
  const least = leastSeconds(object.kind, spec)
  if (least > timeout)
    warnings.push(
      `needs ${least} s at the least by its own numbers (minReadySeconds, initialDelaySeconds): the timeout of ${timeout} s cannot be met`,
    )
  const deadline = spec.activeDeadlineSeconds ?? spec.progressDeadlineSeconds ?? 0
  if (deadline > timeout && !impliedDeadlines.has(deadline)) {
    const field = spec.activeDeadlineSeconds === undefined ? 'progressDeadlineSeconds' : 'activeDeadlineSeconds'
    warnings.push(`may take ${deadline} s by its ${field}, but the timeout is ${timeout} s`)
  }
  const [silence, why] = longestSilence(spec)
  const stall = stallTimeoutMs / 1000
  if (stallIsLiteral && stall > 0 && silence > stall)
    warnings.push(
      `may be without progress for ${silence} s by its ${why}, but the stall-timeout is ${stall} s and is taken literally`,
    )
  return warnings
}

/** No rollout of this workload can be ready sooner: its pods may not be probed before, nor count as available. */
function leastSeconds(kind: string, spec: Spec): number {
  const delays = containers(spec).map(({ startupProbe, readinessProbe }) => delay(startupProbe) + delay(readinessProbe))
  // An ordered StatefulSet waits for each pod before it makes the next.
  const steps = kind === 'StatefulSet' && spec.podManagementPolicy !== 'Parallel' ? (spec.replicas ?? 1) : 1
  return (Math.max(0, ...delays) + (spec.minReadySeconds ?? 0)) * steps
}

/** How long a pod may show no progress without anything being wrong, and what says so. */
function longestSilence(spec: Spec): readonly [seconds: number, why: string] {
  const silences: [number, string][] = [
    [spec.minReadySeconds ?? 0, 'minReadySeconds'],
    ...containers(spec).flatMap(({ name, startupProbe, readinessProbe }): [number, string][] => [
      [probeSeconds(startupProbe), `startup probe (container ${name})`],
      [delay(readinessProbe), `readiness probe's initialDelaySeconds (container ${name})`],
    ]),
  ]
  return silences.reduce((longest, each) => (each[0] > longest[0] ? each : longest))
}

function containers({ template, containers = [] }: Spec) {
  return template?.spec?.containers ?? containers
}

function delay(probe: Probe | undefined): number {
  return probe?.initialDelaySeconds ?? 0
}
