import { type Fields, groupOf, isObject, type KubeObject } from '../../cluster/objects.ts'
import { gitNameOf, hasHash, type WantedRevision } from '../../plan/revision.ts'
import { reportedFailureMs } from '../../thresholds.ts'
import { conditionsOf, objectsIn } from '../conditions.ts'
import { isStale, presentConditions } from '../stale-status.ts'
import { inventoryOf } from './dependents.ts'
import {
  isSameVersion,
  nonEmptyText,
  nonEmptyTexts,
  type RevisionReport,
  toFields,
  type Version,
} from './revision-report.ts'

/**
 * Reads the revisions of a Flux Kustomization. `lastAppliedRevision` is applied and healthy. The history begins with
 * the revision that was applied last (https://github.com/fluxcd/pkg/blob/main/apis/meta/history.go).
 */
export function readKustomization(object: KubeObject, wanted: readonly WantedRevision[]): RevisionReport {
  const { lastAppliedRevision, lastAppliedOriginRevision, lastAttemptedRevision, history } = toFields(object.status)
  const entries = objectsIn(history)
  // Only the history contains the commit of an OCI artifact, and only if the artifact was applied.
  const { originRevision } =
    entries.map(({ metadata }) => toFields(metadata)).find(({ revision }) => revision === lastAttemptedRevision) ?? {}
  const [attempted] = versionOf(nonEmptyTexts(lastAttemptedRevision, originRevision))
  const applied = nonEmptyTexts(lastAppliedRevision, lastAppliedOriginRevision)
  const [front] = entries
  const isFront = applied.includes(nonEmptyText(toFields(front?.['metadata'])['revision']) ?? '')
  // `status.history` has one entry for each digest and result. The entry contains only the latest revision.
  const digest = isFront ? nonEmptyText(front?.['digest']) : undefined
  const [appliedRevision = ''] = applied
  // Flux writes `lastAppliedRevision` after Ready. Until then, Ready is about the attempted revision.
  const isAttempted = attempted !== undefined && !applied.includes(nonEmptyText(lastAttemptedRevision) ?? '')
  const { ready, hasFailed, isWorking, progress, report } = readFluxObject(object, wanted, attempted)
  const { objects } = report
  return {
    ...report,
    deployed: [
      ...versionOf(applied, { since: isFront ? front?.['firstReconciled'] : undefined }),
      ...entries.flatMap((entry) => (digest !== undefined && entry['digest'] === digest ? historyVersion(entry) : [])),
    ],
    content: digest ?? (hasHash(appliedRevision) ? gitNameOf(appliedRevision) : undefined),
    isSettled: !isAttempted,
    attempt: attempted && {
      version: attempted,
      state: hasFailed
        ? 'failed'
        : !isAttempted || ready?.status === 'False'
          ? 'succeeded'
          : isWorking || ready?.status === 'Unknown'
            ? 'running'
            : 'begun',
      message: ready?.message ?? '',
      since: ready?.lastTransitionTime,
      applied: Array.isArray(objects) && progress.startsWith('Running health checks') ? objects : [],
      hookJobs: [],
    },
    history: entries
      .filter(({ lastReconciledStatus }) => lastReconciledStatus === 'ReconciliationSucceeded')
      .flatMap(historyVersion)
      .toReversed(),
  }
}

/**
 * Reads the revisions of a Flux HelmRelease. `history[0]` is the newest release. A failure is final only with
 * `Stalled=True`, when no retry is left (https://github.com/fluxcd/helm-controller/blob/main/api/v2/snapshot_types.go).
 */
export function readHelmRelease(object: KubeObject, wanted: readonly WantedRevision[]): RevisionReport {
  const { history, lastAttemptedRevision, lastAttemptedRevisionDigest, lastAppliedRevision } = toFields(object.status)
  const [attempted] = versionOf(nonEmptyTexts(lastAttemptedRevision, lastAttemptedRevisionDigest))
  const releases = objectsIn(history).flatMap(({ chartVersion, ociDigest, lastDeployed, status }) =>
    versionOf(nonEmptyTexts(chartVersion, ociDigest), { since: lastDeployed }).map((version) => ({ version, status })),
  )
  const [front] = releases
  const deployed = releases.filter(({ status }) => status === 'deployed').slice(0, 1)
  const versions =
    front === undefined ? versionOf(nonEmptyTexts(lastAppliedRevision)) : deployed.map(({ version }) => version)
  const { ready, hasFailed, isStalled, isWorking, report } = readFluxObject(object, wanted, attempted)
  // Until Helm has created the release, Ready is about the previous release.
  const isBegun =
    attempted !== undefined &&
    report.next !== undefined &&
    isWorking &&
    !versions.some((version) => isSameVersion(attempted, version))
  const isOfOther = hasFailed && front && attempted && !isSameVersion(attempted, front.version)
  return {
    ...report,
    deployed: versions,
    content: undefined,
    isSettled: front === undefined || (front === deployed[0] && !isOfOther),
    attempt: attempted && {
      version: attempted,
      state:
        isBegun || ready?.status === 'Unknown'
          ? 'running'
          : !hasFailed
            ? 'succeeded'
            : isStalled
              ? 'failed'
              : 'retried',
      message: ready?.message ?? '',
      since: ready?.lastTransitionTime,
      applied: [],
      hookJobs: [],
    },
    history: releases
      .filter(({ status }) => status === 'deployed' || status === 'superseded')
      .map((release) => release.version)
      .toReversed(),
  }
}

const versionOf = (
  revisions: readonly string[],
  { since, first }: { readonly since?: unknown; readonly first?: unknown } = {},
): readonly Version[] =>
  revisions.length === 0
    ? []
    : [{ sources: [{ names: ['1'], revisions }], since: nonEmptyText(since), first: nonEmptyText(first) }]

function historyVersion({ metadata, lastReconciled, firstReconciled, digest }: Fields): readonly Version[] {
  const { revision, originRevision } = toFields(metadata)
  const versions = versionOf(nonEmptyTexts(revision, originRevision), { since: lastReconciled, first: firstReconciled })
  return versions.map((version) => ({ ...version, content: nonEmptyText(digest) }))
}

/** The reasons of `Ready=False` that never fail a revision, because they are not about the revision. */
const waitingReasons: ReadonlySet<string | undefined> = new Set([
  'DependencyNotReady',
  'ArtifactFailed',
  'HealthCheckCanceled',
])

/** Reads what is common to all Flux kinds: the conditions of the present generation, and a part of the report. */
function readFluxObject(object: KubeObject, wanted: readonly WantedRevision[], attempted: Version | undefined) {
  const conditions = presentConditions(object)
  const ready = conditions.find(({ type }) => type === 'Ready')
  const reconciling = conditions.find(({ type, status }) => type === 'Reconciling' && status === 'True')
  const progress = reconciling?.message ?? ''
  const spec = toFields(object.spec)
  const { inventory, observedGeneration } = toFields(object.status)
  const isSuspended = spec['suspend'] === true
  // Only `Running health checks …` and `Running 'upgrade' action …` take long.
  const slow = progress.startsWith('Running ') ? progress : undefined
  const complaint = ready?.status === 'False' ? (ready.message ?? '') : slow
  const own = isObject(inventory) ? inventoryOf(object) : releaseLabels(object)
  const isReady = conditionsOf(object).some(({ type, status }) => type === 'Ready' && status === 'True')
  return {
    ready,
    hasFailed: ready?.status === 'False' && !waitingReasons.has(ready.reason),
    isStalled: conditions.some(({ type, status }) => type === 'Stalled' && status === 'True'),
    isWorking: reconciling !== undefined && reconciling.reason !== 'ProgressingWithRetry',
    progress,
    report: {
      operator: 'Flux' as const,
      failureMs: reportedFailureMs,
      wanted,
      isCurrent: !isStale(observedGeneration, object.metadata.generation),
      next: isSuspended ? undefined : attempted,
      complaint: isSuspended ? 'it is suspended' : complaint,
      objects: isObject(spec['kubeConfig']) ? ('elsewhere' as const) : own,
      // A suspended object never observes its present generation, so older conditions count.
      isHealthy: isSuspended && isReady,
    },
  }
}

/**
 * The labels of the objects of a HelmRelease. Older helm-controllers write no inventory
 * (https://github.com/fluxcd/helm-controller/blob/main/internal/postrender/common_renderer.go).
 */
function releaseLabels({ apiVersion, spec, metadata: { name, namespace = '' } }: KubeObject) {
  const group = groupOf(apiVersion)
  return {
    namespace: nonEmptyText(toFields(spec)['targetNamespace']) ?? namespace,
    labels: { [`${group}/name`]: name, [`${group}/namespace`]: namespace },
  }
}
