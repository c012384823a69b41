import type { FeedEvent } from '../cluster/feed.ts'
import type { KindName } from '../cluster/objects.ts'
import { throwMistakes } from '../errors.ts'
import type { AfterReadyFactory } from '../gate/after-ready.ts'
import { type GateSettings, gateSettings } from '../gate/settings.ts'
import { hasChecks, type Inputs, inputDefinitions, parseInputs } from '../inputs.ts'
import { isJudged, loadMilestones } from '../lifecycle/rules.ts'
import type { HealthCheck } from '../plan/health-check-entries.ts'
import { parseReferences } from '../plan/parse-references.ts'
import type { ParsedReferences } from '../plan/reference.ts'
import { type PlanDefaults, resolveReferences, writtenMilestones } from '../plan/resolve.ts'
import { type Plan, resolveTargets } from '../plan/resolve-targets.ts'
import { definedClocks, type Target } from '../plan/target.ts'
import { isKind, type RecordingIndex } from './recording-index.ts'
import type { RecordingHeader } from './writer.ts'

interface RecordedInputs {
  readonly inputs: Inputs
  /** Recorded inputs that this version does not support. Without them the verdict may differ. */
  readonly unknown: readonly string[]
}

/**
 * The inputs of a recorded gate, from the header of its recording.
 * @param overrides values by input name; they take precedence over the recorded ones
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
 * The checks of the recorded gate once its targets were ready: requests and the hold. Undefined if it had none.
 * @throws UserError with the mistakes of these inputs
 */
export async function recordedChecks(
  inputs: Inputs,
  index: RecordingIndex,
  targets: readonly Target[],
): Promise<AfterReadyFactory | undefined> {
  if (!hasChecks(inputs)) return undefined
  const { parseChecks, placeChecks, resolveCheckKinds } = await import('../plan/checks.ts')
  const { afterReady } = await import('../gate/after-ready.ts')
  const { mistakes, ...checks } = parseChecks(inputs)
  throwMistakes(mistakes)
  return afterReady(placeChecks(resolveCheckKinds(checks, index.kinds), targets, namespaceOf(index, inputs)))
}

/**
 * The settings of the recorded gate.
 * @param inputs by default the recorded ones
 * @throws UserError if the recording contains invalid values of inputs
 */
export function settingsOf(header: RecordingHeader, inputs: Inputs = inputsOf(header).inputs): GateSettings {
  const { startedAt, server, context, serverOffsetMs } = header
  return gateSettings(inputs, { startedAt: Date.parse(startedAt), context, serverVersion: server, serverOffsetMs })
}

export interface ReplayPlan extends Plan {
  /** Adds a missing namespace to an object, or removes it from a cluster-scoped one. */
  readonly correctNamespace: (event: FeedEvent) => FeedEvent
}

/**
 * Resolves the targets of a replay: the user's own references, else the targets in the header, else the `resources` in the
 * header. A clock in the overrides replaces the recorded clock of each reference.
 * @param overrides the user's own values by input name
 * @param references the user's own references; by default those of `resources` among the overrides
 * @throws UserError when the targets cannot be found
 */
export async function planReplay(
  index: RecordingIndex,
  header: RecordingHeader,
  inputs: Inputs,
  overrides: Readonly<Record<string, string | undefined>>,
  healthChecks: readonly HealthCheck[],
  references?: ParsedReferences,
): Promise<ReplayPlan> {
  const { kinds } = index
  const namespace = namespaceOf(index, inputs)
  // The recorded gate has checked the names of the milestones that every kind has after ready.
  const milestones = Object.keys(inputs.milestoneTimeoutsMs).filter(
    (name) => !(hasChecks(inputs) && ['answers', 'held'].includes(name)),
  )
  const isNamespaced = ({ apiVersion, kind }: KindName) =>
    kinds.find((each) => isKind(each, apiVersion, kind))?.namespaced

  const isWritten = references !== undefined || overrides['resources'] !== undefined
  const recorded = isWritten ? undefined : await recordedTargets(header)
  const found =
    recorded === undefined
      ? await resolve(references ?? parseReferences(inputs.resources), index, { namespace, milestones }, healthChecks)
      : { targets: recorded.map((target) => withScope(target, isNamespaced(target), namespace)), notices: [] }
  const plan = isWritten ? found : { ...found, targets: found.targets.map((each) => withoutClocks(each, overrides)) }

  const namespaces = new Set(plan.targets.map((target) => target.namespace))
  const [only = namespace] = namespaces.size === 1 ? namespaces : []
  const correctNamespace = (event: FeedEvent): FeedEvent => {
    if (!('object' in event)) return event
    const { object } = event
    const metadata = withScope(object.metadata, isNamespaced(object), only)
    return metadata === object.metadata ? event : { ...event, object: { ...object, metadata } }
  }
  return { ...plan, correctNamespace }
}

/** The namespace of references without one. */
function namespaceOf({ onlyNamespace }: RecordingIndex, { namespace }: Pick<Inputs, 'namespace'>): string {
  return namespace ?? onlyNamespace ?? 'default'
}

async function resolve(
  references: ParsedReferences,
  index: RecordingIndex,
  defaults: Pick<PlanDefaults, 'namespace' | 'milestones'>,
  healthChecks: readonly HealthCheck[],
): Promise<Plan> {
  const written = [...defaults.milestones, ...writtenMilestones(references)]
  const milestonesOf = await loadMilestones(written, index.kinds, healthChecks)
  const resolution = resolveReferences(references, index.kinds, { ...defaults, milestonesOf, isInRelease: isJudged })
  return resolveTargets(resolution, (selection) => index.namesOf(selection))
}

function withoutClocks(target: Target, overrides: Readonly<Record<string, string | undefined>>): Target {
  const { timeoutMs, stallTimeoutMs, milestoneTimeoutsMs, requireChangeMs } = target.clocks
  const unless = <T>(name: string, clock: T) => (overrides[name] === undefined ? clock : undefined)
  const clocks = definedClocks({
    timeoutMs: unless('timeout', timeoutMs),
    stallTimeoutMs: unless('stall-timeout', stallTimeoutMs),
    milestoneTimeoutsMs: unless('milestone-timeouts', milestoneTimeoutsMs),
    requireChangeMs: unless('require-change', requireChangeMs),
  })
  return { ...target, clocks }
}

/**
 * Adds a missing namespace, or removes it for a cluster-scoped kind: recordings of other tools may be wrong. Unknown kinds
 * stay unchanged.
 */
function withScope<T extends { readonly namespace?: string }>(
  named: T,
  isNamespaced: boolean | undefined,
  namespace: string,
): T {
  if (isNamespaced === undefined || isNamespaced === (named.namespace !== undefined)) return named
  if (isNamespaced) return { ...named, namespace }
  const { namespace: _none, ...rest } = named
  return rest as T
}

/** The targets in the header. Undefined if there are none, or if any target is incomplete or damaged. */
async function recordedTargets({ targets }: RecordingHeader): Promise<readonly Target[] | undefined> {
  const { areTargets } = await import('./recording-schema.ts')
  if (!areTargets(targets) || targets.length === 0) return undefined
  return targets.map((target) => ({ ...target, clocks: target.clocks ?? {} }))
}
