import type { Clock } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { parseDeniedAccess } from '../cluster/failures.ts'
import type { ApiResource } from '../cluster/feed.ts'
import type { KindName } from '../cluster/objects.ts'
import type { Secrets } from '../cluster/secrets.ts'
import { collectMistakes, mapMistakes, UserError } from '../errors.ts'
import type { AfterReady } from '../gate/after-ready.ts'
import { type GateSettings, type Purpose, settingsForPurpose } from '../gate/settings.ts'
import { gateRequests } from '../gate/watch-requests.ts'
import type { Inputs } from '../inputs.ts'
import { hasPods, hasReadinessCriteria, loadChecks, loadMilestoneNames } from '../lifecycle/rules.ts'
import type { Checks } from '../plan/checks.ts'
import { findEntry, type HealthCheck } from '../plan/health-checks.ts'
import {
  createSelectionReader,
  hasPendingRevision,
  historyUntilAwaited,
  isRevisionOf,
  type Release,
  releaseKind,
} from '../plan/helm-release.ts'
import {
  listRequests,
  matchSelections,
  milestonesInReferences,
  noPlan,
  type Plan,
  type Resolution,
  type ResolvedReference,
  resolveReferences,
  resolveTargets,
} from '../plan/resolve.ts'
import { gitNameOf } from '../plan/revision.ts'
import { resolveStreamLogs, selectStreamedTargets } from '../plan/stream-logs.ts'
import { nameKey, type ParsedReferences, type Reference, type Target } from '../plan/target.ts'
import { describeGrants } from '../reasons/wording.ts'
import type { Reporter } from './redacted-output.ts'

/* The inputs of a run, and its plan: the kinds and targets that the inputs select, and how to judge them. */

/** The user's inputs, which contain no mistakes. */
export interface RunInputs {
  readonly inputs: Inputs
  /** The references of `resources` and `manifests`. */
  readonly references: ParsedReferences
  readonly streamLogs: readonly Reference[]
  /** `http-checks` and `hold`; absent if neither is set. */
  readonly checks?: Checks | undefined
}

/** The inputs of a run on a cluster, and the functions and objects that the run uses. */
export interface RunOptions extends RunInputs {
  readonly purpose: Purpose
  /** Prints redacted texts. */
  readonly reporter: Reporter
  /** The run adds the secrets of the credentials and of objects. The process redacts its later output with them. */
  readonly secrets: Secrets
  /** Called before the first request with the place of the kubeconfig (`~/.kube/config`), if the input is empty. */
  readonly onSource?: (source: string) => void
  /** Called with a sentence while a selector waits for its first match. */
  readonly onWaiting?: (message: string) => void
  /** Aborted when the job is cancelled. */
  readonly cancelled: AbortSignal
  readonly clock: Clock
  /** Whether a recording that cannot be written is an error. */
  readonly requiresRecording?: boolean
  /** Whether hints name flags of the command line, not inputs of the action. */
  readonly usesFlags?: boolean
  /** Finds references in the cluster if the user has written none. */
  readonly findReferences?: ((cluster: Cluster, kinds: readonly ApiResource[]) => Promise<ParsedReferences>) | undefined
}

/**
 * Resolves the kinds in the references, in `stream-logs` and in `http-checks`.
 * @throws UserError with all mistakes
 */
export async function resolveKinds(
  { inputs, references, streamLogs, checks }: RunInputs,
  kinds: readonly ApiResource[],
  namespace: string,
  healthChecks: readonly HealthCheck[],
): Promise<[Resolution, Resolution, Checks | undefined]> {
  const milestones = Object.keys(inputs.milestoneTimeoutsMs)
  const ofKind = await loadMilestoneNames([...milestones, ...milestonesInReferences(references)], kinds, healthChecks)
  const { httpChecks = [], holdMs = 0 } = checks ?? {}
  const ofChecks = [...(httpChecks.length > 0 ? ['answers'] : []), ...(holdMs > 0 ? ['held'] : [])]
  const options = {
    namespace,
    milestones,
    milestonesOf: (kind: KindName) => [...ofKind(kind), ...ofChecks],
    isInRelease: hasReadinessCriteria,
  }
  return collectMistakes(
    () => resolveReferences(references, kinds, options),
    () => resolveStreamLogs(streamLogs, kinds, hasPods),
    async () => checks && (await import('../plan/checks.ts')).resolveCheckKinds(checks, kinds),
  )
}

/** A cluster, and the options of the run. */
export interface LiveSource {
  readonly options: RunOptions
  readonly startedAt: number
  readonly healthChecks: readonly HealthCheck[]
  readonly cluster: Cluster
}

/** The found targets of a run, with the kinds that are known. */
export interface FoundTargets extends Plan {
  readonly kinds: readonly ApiResource[]
  /** `http-checks` and `hold`, with the objects that they name. */
  readonly checks?: Checks | undefined
  /** The indexes of the targets whose logs are shown live. */
  readonly streamed?: ReadonlySet<number>
  /** Whether the only targets are revisions that Helm is still deploying. A second plan then finds the real targets. */
  readonly awaitsHelm?: boolean
}

/** The targets of a run, and how to judge them. */
export interface RunPlan extends FoundTargets {
  readonly settings: GateSettings
  /** Runs `http-checks` and `hold`; absent if neither is set. */
  readonly afterReady?: AfterReady | undefined
  /** Whether hints name flags of the command line, not inputs of the action. */
  readonly usesFlags: boolean
}

/**
 * Adds the settings to the found targets, and for a gate `http-checks` and `hold`. Their code is loaded only if needed.
 * @param settings the settings from the inputs, without those that depend on the targets
 * @param singleCheckEndsAt see `GateSettings`
 */
export async function completePlan(
  found: FoundTargets,
  settings: GateSettings,
  healthChecks: readonly HealthCheck[],
  { purpose, usesFlags = false }: Pick<RunOptions, 'purpose' | 'usesFlags'>,
  singleCheckEndsAt?: number,
): Promise<RunPlan> {
  const { targets, kinds, annotations, checks } = found
  const judged = targets.filter((target) => target.waitFor === undefined && findEntry(target, healthChecks))
  const complete = {
    ...settings,
    healthChecks,
    ...(await loadChecks(targets, kinds)),
    annotations,
    healthCheckKinds: [...new Set(judged.map(({ kind }) => kind))],
  }
  const isChecked = purpose === 'gate' && checks !== undefined
  return {
    ...found,
    settings: settingsForPurpose(purpose, complete, singleCheckEndsAt),
    afterReady: isChecked ? new (await import('../gate/after-ready.ts')).AfterReady(checks) : undefined,
    usesFlags,
  }
}

/**
 * Finds the targets. While Helm deploys a release, the first plan of a gate has only the pending revisions as targets.
 * In any other plan, a pending revision is a target like others.
 * @param awaited the revisions of Helm releases for which the gate has waited; empty for the first plan
 * @param until aborted when the time for finding the targets is over
 */
export async function planTargets(
  { options, cluster, healthChecks }: LiveSource,
  kinds: readonly ApiResource[],
  awaited: readonly Target[],
  until: AbortSignal,
): Promise<FoundTargets> {
  const { purpose, inputs } = options
  const isWritten = options.references.references.length > 0 || options.references.skipped.length > 0
  const references = (isWritten ? undefined : await options.findReferences?.(cluster, kinds)) ?? options.references
  const read = { ...options, references }
  const [resolution, streamed, checks] = await resolveKinds(read, kinds, cluster.namespace, healthChecks)
  const selections = [...resolution.selections, ...streamed.selections]
  const { namesOf, ...releases } = createSelectionReader(selections, cluster)
  // Views do not show Helm revisions.
  if (purpose !== 'view') await releases.readHistories()
  // If the gate starts before the change, the newest revision may be older than the change, unless Helm deploys it now.
  const historyOf = (release: Release) => {
    const history = releases.historyOf(release)
    const isAwaited = hasPendingRevision(history) || awaited.some((target) => isRevisionOf(target, release))
    return history && (isAwaited || inputs.awaitChangeMs === 0) ? historyUntilAwaited(history, awaited) : undefined
  }
  const gatedKinds = [...new Set(resolution.resolved.flatMap(({ resources }) => resources))]
  const isPending = ({ reference: { exclude, waitFor }, release }: ResolvedReference) =>
    release !== undefined && !exclude && waitFor === undefined && hasPendingRevision(historyOf(release))
  const isAwaiting = purpose === 'gate' && awaited.length === 0 && resolution.resolved.some(isPending)
  const waits = !isAwaiting && (purpose === 'gate' || purpose === 'recording')
  const onWaiting = (selectors: readonly string[]) =>
    options.onWaiting?.(`Nothing matches ${selectors.join(' or ')} yet: waiting for the first match.`)
  const wait = waits ? { inputs, clock: options.clock, signal: until, onWaiting } : undefined
  const matched = await matchSelections(resolution, namesOf, wait).catch(async (error) => {
    throw await addGrants(error, resolution, cluster)
  })
  const plan = resolveTargets(resolution, matched, historyOf)
  const isRevision = ({ kind, release }: Target) => kind === releaseKind.kind && hasPendingRevision(release)
  const pending = isAwaiting ? plan.targets.filter(isRevision) : []
  if (pending.length > 0) return { ...noPlan, targets: pending, kinds: gatedKinds, awaitsHelm: true }
  cluster.redactor.keepRecordsOf(plan.targets.filter((target) => plan.manifests.has(nameKey(target))))
  const dated = await addCommits(plan)
  return {
    ...dated,
    notices: [...dated.notices, ...releases.notices()],
    kinds: gatedKinds,
    streamed: await selectStreamedTargets(streamed, dated.targets, namesOf),
    checks: checks && (await import('../plan/checks.ts')).addNamespaces(checks, dated.targets, cluster.namespace),
  }
}

/** Adds to the error of a forbidden list the commands that grant all missing access, if the refusals contain it. */
async function addGrants(error: unknown, { resolved }: Resolution, cluster: Cluster): Promise<unknown> {
  if (!(error instanceof UserError) || error.reason !== 'forbidden') return error
  const gated = resolved.filter(({ reference }) => !reference.exclude)
  const requests = gated.flatMap((entry) =>
    listRequests(entry).map((request) => ({ ...request, name: entry.reference.name })),
  )
  const denied = await cluster.findDeniedAccess(gateRequests(requests))
  const access = denied.flatMap(({ message }) => parseDeniedAccess(message) ?? [])
  if (access.length === 0) return error
  return mapMistakes(error, ({ message, ...mistake }) => ({
    ...mistake,
    message: `${message} ${describeGrants(access)}`,
  }))
}

/** Adds to each awaited revision (`--revision`) the older and newer commits of the checkout. */
async function addCommits<P extends Plan>(plan: P): Promise<P> {
  if (plan.targets.every(({ revisions }) => revisions === undefined)) return plan
  const { findCommitsAround } = await import('../workspace.ts')
  const workspace = process.env['GITHUB_WORKSPACE'] || '.'
  const dated = await Promise.all(
    plan.targets.map(async (target): Promise<Target> => {
      if (target.revisions === undefined) return target
      const revisions = target.revisions.map(async (each) => ({
        ...each,
        ...(await findCommitsAround(gitNameOf(each.revision), workspace)),
      }))
      return { ...target, revisions: await Promise.all(revisions) }
    }),
  )
  return { ...plan, targets: dated }
}
