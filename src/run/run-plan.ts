import type { Cluster } from '../cluster/cluster.ts'
import { deniedAccess } from '../cluster/failures.ts'
import type { ApiResource } from '../cluster/feed.ts'
import { mapMistakes, UserError } from '../errors.ts'
import { readRequests } from '../gate/watch-requests.ts'
import type { Checks } from '../plan/checks.ts'
import type { HealthCheck } from '../plan/health-check-entries.ts'
import {
  historyUntil,
  isHelmAtWork,
  isRevisionOf,
  type Release,
  releaseKind,
  selectionReader,
} from '../plan/helm-release.ts'
import { listRequest, type Resolution, type ResolvedReference } from '../plan/resolve.ts'
import {
  type MatchWait,
  matchLimitMs,
  matchSelections,
  noPlan,
  type Plan,
  resolveTargets,
} from '../plan/resolve-targets.ts'
import { gitNameOf } from '../plan/revision.ts'
import { selectStreamedTargets } from '../plan/stream-logs.ts'
import type { Target } from '../plan/target.ts'
import { describeGrants } from '../reasons/access.ts'
import { importChecks, type RunOptions, resolveKinds } from './run-inputs.ts'

/** A cluster, and what a run on it is given. */
export interface Source {
  readonly options: RunOptions
  readonly startedAt: number
  readonly healthChecks: readonly HealthCheck[]
  readonly cluster: Cluster
}

/** A plan with the kinds of its targets. */
export interface LivePlan extends Plan {
  readonly kinds: readonly ApiResource[]
  /** The checks after the targets are ready, with the objects that they name. */
  readonly checks?: Checks | undefined
  /** Indexes of the targets whose logs are shown live. */
  readonly streamed: ReadonlySet<number>
  /** The targets are only the revisions that Helm installs, upgrades or rolls back now. */
  readonly awaitsHelm?: boolean
}

/**
 * Finds the targets. At first, a gate has only the revisions of Helm releases that are pending as targets, if there are any; else a
 * pending revision is a target like the others.
 * @param awaited the revisions of Helm releases for which the gate has waited until now
 * @param until aborted when the targets must be known
 */
export async function planTargets(
  { options, cluster, healthChecks }: Source,
  kinds: readonly ApiResource[],
  awaited: readonly Target[],
  until: AbortSignal,
): Promise<LivePlan> {
  const { purpose, inputs } = options
  const isWritten = options.references.references.length > 0 || options.references.skipped.length > 0
  const references = (isWritten ? undefined : await options.findReferences?.(cluster, kinds)) ?? options.references
  const resolving = resolveKinds({ ...options, references }, kinds, cluster.namespace, healthChecks)
  const [[resolution, streamed], checks] = await resolving.catch((error) => {
    throw withStaleGroups(error, cluster.staleGroups)
  })
  // Every forbidden list has the same remedy, which grants all that is missing.
  let remedy: Promise<string | undefined> | undefined
  const remedyOf = () => {
    remedy ??= grantsFor(resolution, cluster)
    return remedy
  }
  const selections = [...resolution.selections, ...streamed.selections]
  const { namesOf, ...releases } = selectionReader(selections, cluster, remedyOf)
  // A view shows no revisions.
  if (purpose !== 'view') await releases.readHistories()
  // A gate that begins before the change does not know which revision will be the user's, unless that is pending.
  const historyOf = (release: Release) => {
    const history = releases.historyOf(release)
    const isAwaited = isHelmAtWork(history) || awaited.some((target) => isRevisionOf(target, release))
    return history && (isAwaited || inputs.awaitChangeMs === 0) ? historyUntil(history, awaited) : undefined
  }
  const gatedKinds = [...new Set(resolution.resolved.map(({ resource }) => resource))]
  const isPending = ({ reference: { exclude, waitFor }, release }: ResolvedReference) =>
    release !== undefined && !exclude && waitFor === undefined && isHelmAtWork(historyOf(release))
  const isAwaiting = purpose === 'gate' && awaited.length === 0 && resolution.resolved.some(isPending)
  const waits = !isAwaiting && (purpose === 'gate' || purpose === 'recording')
  const wait = waits ? matchWait(options, until) : undefined
  const matched = await matchSelections(resolution, namesOf, wait)
  const plan = resolveTargets(resolution, matched, historyOf)
  const isRevision = ({ kind, release }: Target) => kind === releaseKind.kind && isHelmAtWork(release)
  const pending = isAwaiting ? plan.targets.filter(isRevision) : []
  if (pending.length > 0)
    return { ...noPlan, targets: pending, kinds: gatedKinds, streamed: new Set(), awaitsHelm: true }
  cluster.redact.keepRecordsOf([...plan.manifests.keys()])
  const dated = await withCommits(plan)
  return {
    ...dated,
    notices: [...dated.notices, ...releases.notices()],
    kinds: gatedKinds,
    streamed: await selectStreamedTargets(streamed, dated.targets, namesOf),
    checks: checks && (await importChecks()).placeChecks(checks, dated.targets, cluster.namespace),
  }
}

/** A kind may be unknown only because its API server did not answer. */
function withStaleGroups(error: unknown, stale: readonly string[]): unknown {
  if (!(error instanceof UserError && error.reason === 'kind-unknown') || stale.length === 0) return error
  const note = `Discovery of ${stale.join(', ')} failed, so kinds of it may be missing ("kubectl get apiservices").`
  return mapMistakes(error, (mistake) => ({ ...mistake, message: `${mistake.message} ${note}` }))
}

function matchWait({ inputs, clock, onRetry }: RunOptions, signal: AbortSignal): MatchWait {
  return {
    limitMs: (reference) => matchLimitMs(reference, inputs),
    clock,
    signal,
    onWaiting: (selectors) => onRetry?.(`Nothing matches ${selectors.join(' or ')} yet: waiting for the first match.`),
  }
}

/** How to grant all access that the gate lacks for these references; undefined if no refusal names the missing access. */
async function grantsFor({ resolved }: Resolution, cluster: Cluster): Promise<string | undefined> {
  const gated = resolved.filter(({ reference }) => !reference.exclude)
  const requests = gated.map((entry) => ({ ...listRequest(entry), name: entry.reference.name }))
  const denied = await cluster.findDenied(readRequests(requests))
  const access = denied.flatMap(({ message }) => deniedAccess(message) ?? [])
  return access.length === 0 ? undefined : describeGrants(access)
}

/** Adds to each awaited revision which commits of the checkout are before and after it. */
async function withCommits<P extends Plan>(plan: P): Promise<P> {
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
  const manifests = plan.targets.map((target, index) => [dated[index] ?? target, plan.manifests.get(target)] as const)
  return {
    ...plan,
    targets: dated,
    manifests: new Map(manifests.flatMap(([target, manifest]) => (manifest === undefined ? [] : [[target, manifest]]))),
  }
}
