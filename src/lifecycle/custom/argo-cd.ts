import { isDeepStrictEqual } from 'node:util'
import { type Fields, isObject, type KubeObject, type ObjectName } from '../../cluster/objects.ts'
import { isWantedRevision, type WantedRevision } from '../../plan/revision.ts'
import { argoPollMs } from '../../thresholds.ts'
import { objectsIn } from '../conditions.ts'
import { parseMoment } from '../proof.ts'
import type { KnownRevision } from '../reader.ts'
import { objectNameFrom } from './dependents.ts'
import {
  type Attempt,
  describeVersion,
  hasRevisions,
  isSameVersion,
  nonEmptyText,
  nonEmptyTexts,
  type RevisionReport,
  toFields,
  type Version,
} from './revision-report.ts'

/**
 * Reads the revisions of an Argo CD Application. `OutOfSync` at a revision means only that Argo CD has compared the
 * revision. The phase shows whether an operation is finished: a PostSync hook may fail after `Synced` and `Healthy`.
 * @param named the awaited revisions, as the user named them
 */
export function readApplication(
  object: KubeObject,
  named: readonly WantedRevision[],
  known: KnownRevision | undefined,
): RevisionReport {
  // Once a newer commit is hydrated, the status no longer contains the hydrated commit of the wanted revision.
  const wanted = hydratedRevisions(object, named) ?? known?.wanted ?? named
  const { operation } = object as KubeObject & Fields
  const spec = toFields(object.spec)
  const status = toFields(object.status)
  const sync = toFields(status['sync'])
  const state = toFields(status['operationState'])
  const isElsewhere = isOtherCluster(toFields(spec['destination']))
  const entries = objectsIn(status['history'])
  const history = entries.flatMap((entry) => versionOf(entry, entry, entry['deployedAt']) ?? [])
  const compared = versionOf(sync, toFields(sync['comparedTo']))
  const attempt = lastAttempt(state, isElsewhere)
  const last = history.at(-1)
  const synced = syncedVersion(compared, status, last, attempt)
  const deployed = synced ?? last
  const isUnderWay = attempt?.state === 'running' || attempt?.state === 'retried'
  // An operation stays in the object until it is finished.
  const isQueued = operation !== undefined && !isUnderWay
  const isAutomated = isSyncedAutomatically(spec)
  const comparedTo = sync['comparedTo']
  const isCurrent =
    !isObject(comparedTo) || isDeepStrictEqual(comparedSourceFields(spec), comparedSourceFields(comparedTo))
  const requested = versionOf(toFields(toFields(operation)['sync']), {}) ?? compared
  // A commit without its own sync has the content of the last synced commit. A partial sync is not in the history.
  const hasOwnSync = deployed !== undefined && attempt !== undefined && isSameVersion(attempt.version, deployed)
  const isUnchanged = last === undefined || !hasOwnSync || isSameVersion(last, deployed)
  const { id, revision, revisions } = entries.at(-1) ?? {}
  const waits =
    sync['status'] === 'OutOfSync' && !isAutomated && compared !== undefined && hasRevisions(compared, wanted)
  const other = isUnderWay && !hasRevisions(attempt.version, wanted) ? attempt : undefined
  return {
    operator: 'Argo CD',
    intervalMs: argoPollMs,
    failureMs: 0,
    wanted,
    deployed: [...(deployed === undefined ? [] : [deployed]), ...(isUnchanged ? history.slice(-1) : [])],
    content: isUnchanged ? JSON.stringify([history.length, id, revision, revisions]) : undefined,
    isSettled: isCurrent && !isQueued && !isUnderWay && synced !== undefined,
    isCurrent,
    attempt: isQueued ? undefined : attempt,
    next: isUnderWay ? attempt.version : isAutomated || isQueued ? requested : undefined,
    history,
    complaint:
      firstError(status) ??
      (other && `the sync of ${describeVersion(other.version)} runs: ${other.message}`) ??
      (waits ? 'the revision is compared, but not synced: automatic sync is off' : undefined),
    objects: isElsewhere ? 'elsewhere' : objectsIn(status['resources']).flatMap(objectNameIn),
  }
}

/**
 * Reads a version: from `revisions` and `sources` of an Application with several sources, else from `revision` and
 * `source`. If the user deploys a tag, `targetRevision` is the tag, and `revision` is the commit
 * (https://github.com/argoproj/argo-cd/blob/master/pkg/apis/application/v1alpha1/types.go).
 */
function versionOf(revisions: Fields, sources: Fields, since?: unknown): Version | undefined {
  const several = nonEmptyTexts(...(Array.isArray(revisions['revisions']) ? revisions['revisions'] : []))
  const all = several.length > 0 ? several : nonEmptyTexts(revisions['revision'])
  const named = several.length > 0 ? objectsIn(sources['sources']) : [toFields(sources['source'])]
  if (all.length === 0) return undefined
  return {
    since: nonEmptyText(since),
    sources: all.map((revision, index) => {
      const { name, ref, chart, targetRevision } = named[index] ?? {}
      return {
        names: [...nonEmptyTexts(name, ref, chart), String(index + 1)],
        revisions: nonEmptyTexts(revision, targetRevision),
      }
    }),
  }
}

/**
 * The version that is synced, by the last comparison. A comparison from before the last operation is outdated. In the
 * same second as a sync, the comparison counts only if it agrees with the history.
 */
function syncedVersion(
  compared: Version | undefined,
  { sync, reconciledAt }: Fields,
  last: Version | undefined,
  attempt: Attempt | undefined,
): Version | undefined {
  if (toFields(sync)['status'] !== 'Synced' || compared === undefined) return undefined
  const isLast = last !== undefined && isSameVersion(last, compared)
  const at = comparableMoment(reconciledAt)
  const isOutdated = at < comparableMoment(attempt?.since) || (!isLast && at <= comparableMoment(last?.since))
  return isOutdated ? undefined : { ...compared, since: isLast ? last.since : undefined }
}

/** The moment of a timestamp. NaN without a timestamp, so that every comparison is false. */
const comparableMoment = (timestamp: unknown): number => parseMoment(timestamp) ?? Number.NaN

/**
 * The last operation: a sync or a rollback, but no dry run. When an operation begins, its result may be the result of
 * the previous operation. The result of a retry may be a newer commit than requested.
 */
function lastAttempt(state: Fields, isElsewhere: boolean): Attempt | undefined {
  const requested = toFields(toFields(state['operation'])['sync'])
  const result = toFields(state['syncResult'])
  const [asked, reached] = [versionOf(requested, requested), versionOf(result, result)]
  const mayBegin = state['phase'] === 'Running' && !isRetry(state)
  const isOfBefore = mayBegin && asked && reached && isCommit(asked) && !isSameVersion(asked, reached)
  const version = isOfBefore ? asked : (reached ?? asked)
  if (version === undefined || requested['dryRun'] === true) return undefined
  const resources = isOfBefore ? [] : objectsIn(result['resources'])
  const states = new Map<unknown, Attempt['state']>([
    ['Running', isRetry(state) ? 'retried' : 'running'],
    ['Terminating', 'running'],
    ['Failed', 'failed'],
    ['Error', 'failed'],
  ])
  return {
    version,
    state: states.get(state['phase']) ?? 'succeeded',
    message: nonEmptyText(state['message']) ?? '',
    since: nonEmptyText(state['finishedAt']),
    applied: (isElsewhere ? [] : resources).flatMap((each) =>
      each['status'] === 'Synced' && nonEmptyText(each['hookType']) === undefined ? objectNameIn(each) : [],
    ),
    hookJobs: resources.flatMap(unfinishedHookJob),
  }
}

/** Whether all revisions of a version are full commit hashes. */
function isCommit({ sources }: Version): boolean {
  return sources.every(({ revisions: [revision = ''] }) => /^[0-9a-f]{40}$/.test(revision))
}

const isRetry = ({ retryCount }: Fields): boolean => Number(retryCount ?? 0) > 0

/** The Job of a hook in an entry of a sync result, unless the Job has succeeded. */
function unfinishedHookJob(entry: Fields): Attempt['hookJobs'] {
  const { hookType, hookPhase, kind, group } = entry
  if (nonEmptyText(hookType) === undefined || kind !== 'Job' || group !== 'batch' || hookPhase === 'Succeeded')
    return []
  const hasFailed = hookPhase === 'Failed' || hookPhase === 'Error'
  return objectNameIn(entry).map((job) => ({ ...job, hasFailed }))
}

function isSyncedAutomatically({ syncPolicy }: Fields): boolean {
  const { automated } = toFields(syncPolicy)
  return isObject(automated) && automated['enabled'] !== false
}

/** The first error of an Application: `ComparisonError: repository not found`. */
function firstError({ conditions, sourceHydrator }: Fields): string | undefined {
  const found = objectsIn(conditions).find(
    ({ type, message }) => /Error$/.test(nonEmptyText(type) ?? '') && nonEmptyText(message),
  )
  const { phase, message } = toFields(toFields(sourceHydrator)['currentOperation'])
  if (found === undefined) return phase === 'Failed' ? `hydration failed: ${nonEmptyText(message) ?? ''}` : undefined
  return `${nonEmptyText(found['type'])}: ${nonEmptyText(found['message'])}`
}

/**
 * Replaces wanted revisions by the commits that Argo CD made from them, if Argo CD hydrates manifests
 * (https://argo-cd.readthedocs.io/en/stable/user-guide/source-hydrator/).
 */
function hydratedRevisions(
  { status }: KubeObject,
  wanted: readonly WantedRevision[],
): readonly WantedRevision[] | undefined {
  const { drySHA, hydratedSHA } = toFields(toFields(toFields(status)['sourceHydrator'])['lastSuccessfulOperation'])
  const [dry, made] = [nonEmptyText(drySHA), nonEmptyText(hydratedSHA)]
  if (dry === undefined || made === undefined || !wanted.some(({ revision }) => isWantedRevision(revision, dry)))
    return undefined
  return wanted.map((each) => (isWantedRevision(each.revision, dry) ? { ...each, revision: made } : each))
}

/** The fields of the sources whose change makes Argo CD compare again. */
function comparedSourceFields({ source, sources, sourceHydrator }: Fields): readonly unknown[] {
  const { targetBranch, path } = toFields(toFields(sourceHydrator)['syncSource'])
  const single = isObject(sourceHydrator) ? { targetRevision: targetBranch, path } : toFields(source)
  return (Array.isArray(sources) ? objectsIn(sources) : [single]).map((each: Fields) => {
    const { targetRevision = '', path = '', chart = '', helm, kustomize } = each
    const { parameters = [], values = '', valuesObject = {} } = toFields(helm)
    return [targetRevision, path, chart, parameters, values, valuesObject, toFields(kustomize)['images'] ?? []]
  })
}

const inClusterNames: ReadonlySet<unknown> = new Set(['https://kubernetes.default.svc', undefined, ''])

/** Whether a destination is another cluster than the cluster of the Application. */
function isOtherCluster({ server, name }: Fields): boolean {
  return nonEmptyText(name) === undefined ? !inClusterNames.has(server) : name !== 'in-cluster'
}

/** The object name in an entry of `status.resources` or of a sync result. Empty for hooks and objects to prune. */
function objectNameIn(entry: Fields): readonly ObjectName[] {
  const { group, version, kind, namespace, name, hook, requiresPruning } = entry
  const [apiVersion] = nonEmptyTexts(version).map((each) =>
    nonEmptyText(group) === undefined ? each : `${String(group)}/${each}`,
  )
  return hook === true || requiresPruning === true ? [] : objectNameFrom({ apiVersion, kind, name, namespace })
}
