import type { Container, KubeObject, PodSpec, PodTemplate, Probe } from '../../cluster/objects.ts'
import { formatDuration } from '../../duration.ts'
import { fieldsOf } from '../conditions.ts'
import type { Clocks } from '../rule.ts'
import { probeSeconds } from './container.ts'

/** The fields of Deployments, StatefulSets, DaemonSets, Jobs and Pods that state how long they may take. */
interface Spec extends PodSpec {
  readonly template?: PodTemplate
  readonly replicas?: number
  readonly minReadySeconds?: number
  readonly progressDeadlineSeconds?: number
  readonly activeDeadlineSeconds?: number
  readonly podManagementPolicy?: string
}

/**
 * Deadlines that the user probably did not choose: the API server's default, and the value for "no deadline"
 * (HasProgressDeadline).
 */
const impliedDeadlines: ReadonlySet<number> = new Set([600, 2_147_483_647])

/**
 * Warns about each timeout that is shorter than the workload's own spec needs or allows: the gate would end although
 * the workload follows its spec.
 */
export function clockWarnings(
  object: KubeObject,
  { timeoutMs, stallTimeoutMs, stallIsLiteral }: Clocks,
): readonly string[] {
  const spec = (object.spec ?? {}) as Spec
  const warnings: string[] = []
  const timeout = timeoutMs === 0 ? Infinity : timeoutMs / 1000
  const least = minSeconds(object.kind, spec)
  if (least > timeout)
    warnings.push(
      `needs at least ${least} s (minReadySeconds, initialDelaySeconds), but the timeout is ${formatDuration(timeoutMs)}`,
    )
  const deadline = spec.activeDeadlineSeconds ?? spec.progressDeadlineSeconds ?? 0
  if (deadline > timeout && !impliedDeadlines.has(deadline)) {
    const field = spec.activeDeadlineSeconds === undefined ? 'progressDeadlineSeconds' : 'activeDeadlineSeconds'
    warnings.push(`may take ${deadline} s (${field}), but the timeout is ${formatDuration(timeoutMs)}`)
  }
  const [pause, why] = longestPause(spec)
  const stall = stallTimeoutMs / 1000
  if (stallIsLiteral && stall > 0 && pause > stall)
    warnings.push(
      `may make no progress for ${pause} s (${why}), but the stall-timeout is ${formatDuration(stallTimeoutMs)}`,
    )
  return warnings
}

/** The minimum duration of a rollout: the initial delays of its probes, and minReadySeconds. */
function minSeconds(kind: string, spec: Spec): number {
  const delays = containers(spec).map(({ startupProbe, readinessProbe }) => delay(startupProbe) + delay(readinessProbe))
  // An ordered StatefulSet waits for each pod before it creates the next.
  const steps = kind === 'StatefulSet' && spec.podManagementPolicy !== 'Parallel' ? (spec.replicas ?? 1) : 1
  return (Math.max(0, ...delays) + (spec.minReadySeconds ?? 0)) * steps
}

/** The longest time without progress that the spec allows, and the field that allows it. */
function longestPause(spec: Spec): readonly [seconds: number, why: string] {
  const pauses: [number, string][] = [
    [spec.minReadySeconds ?? 0, 'minReadySeconds'],
    ...containers(spec).flatMap(({ name, startupProbe, readinessProbe }): [number, string][] => [
      [probeSeconds(startupProbe), `startup probe of container ${name}`],
      [delay(readinessProbe), `initialDelaySeconds of the readiness probe of container ${name}`],
    ]),
  ]
  return pauses.reduce((longest, each) => (each[0] > longest[0] ? each : longest))
}

/** The containers, if they are a list: a custom resource may have other fields of these names. */
function containers({ template, containers }: Spec): readonly Container[] {
  return fieldsOf(template?.spec?.containers ?? containers) as readonly Partial<Container>[] as readonly Container[]
}

function delay(probe: Probe | undefined): number {
  return probe?.initialDelaySeconds ?? 0
}
