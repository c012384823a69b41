import { isDeepStrictEqual } from 'node:util'
import type { WatchRequest } from '../../cluster/feed.ts'
import type { Fields, Job, KindName, KubeObject, ObjectName, Subject } from '../../cluster/objects.ts'
import { groupOf, isObject, isSameSubject, nameOf, subjectOf } from '../../cluster/objects.ts'
import {
  ageByCheckout,
  gitNameOf,
  hasDigest,
  isLowerVersion,
  matchesRevision,
  shortRevision,
  type WantedRevision,
} from '../../plan/revision.ts'
import type { Target } from '../../plan/target.ts'
import { messageOf, type Problem, traitsOf } from '../../reasons/reasons.ts'
import { argoPollMs, maxDeployed, reportedFailureMs } from '../../thresholds.ts'
import type { Draft } from '../assessment.ts'
import { conditionsIn, fieldsOf } from '../conditions.ts'
import type { KnownRevision, Reader } from '../reader.ts'
import { type Arrival, type ArrivalFacts, type Rule, waitingDraft, withCheck } from '../rule.ts'
import { formatSelector } from '../selector.ts'
import { isOfPresentGeneration, isStale } from '../status-age.ts'
import { ownProblem } from '../status-problems.ts'
import { jobRule } from '../workloads/job.ts'
import { assessOwned } from './cause.ts'
import { inventoryOf } from './owned-objects.ts'

/** The revision of one source, in every form that its operator reports. */
interface SourceRevision {
  /** The name, position or chart by which the user may name the source. */
  readonly names: readonly string[]
  /** A commit, a version or a digest first; then the tag that it was resolved from, and others. */
  readonly revisions: readonly string[]
}

/** What an operator deployed, or tries to deploy, at one time. */
interface Version {
  readonly sources: readonly SourceRevision[]
  /** When it was deployed, and when it was deployed first. */
  readonly since?: string | undefined
  readonly first?: string | undefined
  /** The digest of its objects. */
  readonly content?: string | undefined
}

/** The latest attempt to deploy a version. */
interface Attempt {
  readonly version: Version
  /** `begun`: only its name shows it. `retried`: it failed, and the operator tries again by itself. */
  readonly state: 'begun' | 'running' | 'retried' | 'failed' | 'succeeded'
  readonly message: string
  /** Since when it has failed, and how long a failure must persist. */
  readonly since?: string | undefined
  readonly mustPersistMs: number
  /** The hook that failed. */
  readonly hook?: Subject | undefined
}

/** What the object of a GitOps operator reports. */
interface OperatorReport {
  readonly operator: 'Argo CD' | 'Flux'
  /** The wanted revisions, as the operator reports them. */
  readonly wanted: readonly WantedRevision[]
  /** The version that is deployed, by the last comparison or reconciliation; undefined if none is. */
  readonly deployed: Version | undefined
  /** Other versions with the same content. */
  readonly sameContent: readonly Version[]
  /** The content of what is deployed: the same text for each version with the same content; undefined if unknown. */
  readonly content: string | undefined
  /** Nothing is under way that may change `deployed`. */
  readonly isSettled: boolean
  /** The report is about the present spec, which names what is deployed next. */
  readonly isCurrent: boolean
  readonly attempt: Attempt | undefined
  /** What the operator deploys next by itself; undefined if it deploys nothing by itself. */
  readonly next: Version | undefined
  /** What was deployed, the oldest first. */
  readonly history: readonly Version[]
  /** Why the operator deploys nothing, in its own words. */
  readonly complaint: string | undefined
  /** How often it looks for a new revision, in milliseconds; undefined if its source decides it. */
  readonly intervalMs: number | undefined
  /** The objects that it has deployed; `elsewhere`: in another cluster. */
  readonly objects: readonly ObjectName[] | 'elsewhere' | 'unknown'
  /** The objects that an attempt under way has already applied. */
  readonly applied: readonly ObjectName[]
  /** The Jobs of its hooks that run or have failed. */
  readonly hookJobs: readonly ObjectName[]
  /** Whether the operator finds what it deployed healthy; undefined: its conditions state it. */
  readonly isHealthy: boolean | undefined
}

type ReportReader = (object: KubeObject, wanted: readonly WantedRevision[]) => OperatorReport

const fields = (value: unknown): Fields => (isObject(value) ? value : {})
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)
const texts = (...values: readonly unknown[]): readonly string[] => values.flatMap((value) => text(value) ?? [])

/** Whether a version has each wanted revision, in the source that the user named or in any. */
function hasRevisions({ sources }: Version, wanted: readonly WantedRevision[]): boolean {
  return wanted.every(({ source, revision }) =>
    sources.some(
      ({ names, revisions }) =>
        (source === undefined || names.includes(source)) && revisions.some((each) => matchesRevision(revision, each)),
    ),
  )
}

/** Whether two versions are the same, by their commits or digests: a tag or a version of a chart may be pushed again. */
function isSameVersion(one: Version, other: Version): boolean {
  return (
    one.sources.length === other.sources.length &&
    one.sources.every(({ revisions }, index) => {
      const revision = revisions.find(hasDigest) ?? revisions[0] ?? ''
      return other.sources[index]?.revisions.some((each) => matchesRevision(revision, each))
    })
  )
}

/**
 * Argo CD: `revisions` and `sources` of an application with several sources, else `revision` and `source`. A tag stands in the
 * `targetRevision` of its source, and is resolved to a commit
 * (https://github.com/argoproj/argo-cd/blob/master/pkg/apis/application/v1alpha1/types.go).
 */
function argoVersion(revisions: Fields, sources: Fields, since?: unknown): Version | undefined {
  const several = texts(...(Array.isArray(revisions['revisions']) ? revisions['revisions'] : []))
  const all = several.length > 0 ? several : texts(revisions['revision'])
  const named = several.length > 0 ? fieldsOf(sources['sources']) : [fields(sources['source'])]
  if (all.length === 0) return undefined
  return {
    since: text(since),
    sources: all.map((revision, index) => {
      const { name, ref, chart, targetRevision } = named[index] ?? {}
      return { names: [...texts(name, ref, chart), String(index + 1)], revisions: texts(revision, targetRevision) }
    }),
  }
}

/** Whether a version consists of commits with all their digits. */
function isCommit({ sources }: Version): boolean {
  return sources.every(({ revisions: [revision = ''] }) => /^[0-9a-f]{40}$/.test(revision))
}

const inClusterNames: ReadonlySet<unknown> = new Set(['https://kubernetes.default.svc', undefined, ''])

/**
 * An Application of Argo CD. `OutOfSync` at a revision only means that it was compared with it. An operation is finished by its
 * phase, not by `Synced` and `Healthy`: a PostSync hook may fail after both.
 */
const readApplication: ReportReader = (object, named) => {
  const { operation } = object as KubeObject & Fields
  const spec = fields(object.spec)
  const status = fields(object.status)
  const wanted = hydrated(status, named)
  const sync = fields(status['sync'])
  const history = fieldsOf(status['history']).flatMap((entry) => argoVersion(entry, entry, entry['deployedAt']) ?? [])
  const compared = argoVersion(sync, fields(sync['comparedTo']))
  const attempt = argoAttempt(fields(status['operationState']))
  const deployed = argoDeployed(status, history, compared, attempt, wanted)
  const isUnderWay = attempt?.state === 'running' || attempt?.state === 'retried'
  // An operation stays in the object until it is finished.
  const isQueued = operation !== undefined && !isUnderWay
  const isAutomated = isSyncedAutomatically(spec)
  const comparedTo = sync['comparedTo']
  const isCurrent = !isObject(comparedTo) || isDeepStrictEqual(sourceFields(spec), sourceFields(comparedTo))
  const requested = argoVersion(fields(fields(operation)['sync']), {}) ?? compared
  const results = fieldsOf(argoResult(fields(status['operationState']))['resources'])
  const elsewhere = isElsewhere(fields(spec['destination']))
  const waits =
    sync['status'] === 'OutOfSync' && !isAutomated && compared !== undefined && hasRevisions(compared, wanted)
  const other = isUnderWay && !hasRevisions(attempt.version, wanted) ? attempt : undefined
  const last = history.at(-1)
  // A commit that is synced without a sync of its own changes nothing here. A partial sync is not in the history.
  const isSynced =
    deployed?.version !== undefined && attempt !== undefined && isSameVersion(attempt.version, deployed.version)
  const isUnchanged = last === undefined || !isSynced || isSameVersion(last, deployed.version)
  const { id, revision, revisions } = fieldsOf(status['history']).at(-1) ?? {}
  return {
    operator: 'Argo CD',
    wanted,
    deployed: deployed?.version,
    sameContent: last !== undefined && isUnchanged ? [last] : [],
    content: isUnchanged ? JSON.stringify([history.length, id, revision, revisions]) : undefined,
    isSettled: isCurrent && !isQueued && !isUnderWay && deployed?.isSynced === true,
    isCurrent,
    attempt: isQueued ? undefined : attempt,
    next: isUnderWay ? attempt.version : isAutomated || isQueued ? requested : undefined,
    history,
    complaint:
      argoError(status) ??
      (other && `the sync of ${describeVersion(other.version)} runs: ${other.message}`) ??
      (waits ? 'the revision is compared, but not synced: automatic sync is off' : undefined),
    intervalMs: argoPollMs,
    objects: elsewhere ? 'elsewhere' : fieldsOf(status['resources']).flatMap(objectName),
    applied: results.flatMap((each) =>
      each['status'] === 'Synced' && text(each['hookType']) === undefined ? objectName(each) : [],
    ),
    hookJobs: elsewhere
      ? []
      : results.filter((each) => isHookJob(each) && each['hookPhase'] !== 'Succeeded').flatMap(objectName),
    isHealthy: fields(status['health'])['status'] === 'Healthy',
  }
}

/** Whether an entry of a sync result is a hook that is a Job. */
function isHookJob({ hookType, kind, group }: Fields): boolean {
  return text(hookType) !== undefined && kind === 'Job' && group === 'batch'
}

/**
 * The result of the last operation of Argo CD. While an operation begins, its state may still have the result of the one before.
 * The result of a retry may be a newer commit than the requested one.
 */
function argoResult(state: Fields): Fields {
  const requested = fields(fields(state['operation'])['sync'])
  const result = fields(state['syncResult'])
  const [asked, reached] = [argoVersion(requested, requested), argoVersion(result, result)]
  if (state['phase'] !== 'Running' || isRetry(state) || !asked || !reached || !isCommit(asked)) return result
  return isSameVersion(asked, reached) ? result : {}
}

/** `successfully synced (all tasks run)` */
const isSuccess = (message: unknown): boolean => text(message)?.startsWith('successfully synced') === true

const isRetry = ({ retryCount }: Fields): boolean => Number(retryCount ?? 0) > 0

/** The last operation of Argo CD: a sync, or a rollback. A dry run deploys nothing. */
function argoAttempt(state: Fields): Attempt | undefined {
  const requested = fields(fields(state['operation'])['sync'])
  const result = argoResult(state)
  const version = argoVersion(result, result) ?? argoVersion(requested, requested)
  if (version === undefined || requested['dryRun'] === true) return undefined
  const states = new Map<unknown, Attempt['state']>([
    ['Running', isRetry(state) ? 'retried' : 'running'],
    ['Terminating', 'running'],
    ['Failed', 'failed'],
    ['Error', 'failed'],
  ])
  const failedPhases: readonly unknown[] = ['Failed', 'Error']
  const hook = fieldsOf(result['resources']).find(({ hookPhase }) => failedPhases.includes(hookPhase))
  return {
    version,
    state: states.get(state['phase']) ?? 'succeeded',
    // While an operation begins, its state may still have the message of the one before.
    message: state['phase'] === 'Running' && isSuccess(state['message']) ? '' : (text(state['message']) ?? ''),
    since: text(state['finishedAt']),
    mustPersistMs: 0,
    hook: hook && subjectOfName(hook),
  }
}

/**
 * What Argo CD has deployed: what it finds synced, which may be a commit that changes nothing; else the last entry of the history.
 * After an operation, the previous comparison still has `Synced` for a moment: then the history is right.
 */
function argoDeployed(
  status: Fields,
  history: readonly Version[],
  compared: Version | undefined,
  attempt: Attempt | undefined,
  wanted: readonly WantedRevision[],
): { readonly version: Version; readonly isSynced: boolean } | undefined {
  const last = history.at(-1)
  const isWanted = (version: Version) => hasRevisions(version, wanted)
  const wasLeft = last !== undefined && !isWanted(last) && history.some(isWanted)
  const isOfOther = attempt !== undefined && !isWanted(attempt.version)
  const isOfLast = last === undefined || isSameVersion(last, compared ?? last)
  const isFormer = compared !== undefined && history.some((each) => isSameVersion(each, compared))
  const isOutdated =
    (isOfOther && isOlder(status['reconciledAt'], attempt.since, wasLeft)) ||
    (!isOfLast && isOlder(status['reconciledAt'], last.since, isFormer))
  if (fields(status['sync'])['status'] !== 'Synced' || compared === undefined || isOutdated)
    return last && { version: last, isSynced: false }
  const since = last !== undefined && isSameVersion(last, compared) ? last.since : undefined
  return { version: { ...compared, since }, isSynced: true }
}

function isSyncedAutomatically({ syncPolicy }: Fields): boolean {
  const { automated } = fields(syncPolicy)
  return isObject(automated) && automated['enabled'] !== false
}

/** The first error of an Application: `ComparisonError: repository not found`. */
function argoError({ conditions, sourceHydrator }: Fields): string | undefined {
  const found = fieldsOf(conditions).find(({ type, message }) => /Error$/.test(text(type) ?? '') && text(message))
  const { phase, message } = fields(fields(sourceHydrator)['currentOperation'])
  if (found === undefined) return phase === 'Failed' ? `hydration failed: ${text(message) ?? ''}` : undefined
  return `${text(found['type'])}: ${text(found['message'])}`
}

/**
 * The wanted revisions with the commits that Argo CD made from them and syncs, if it hydrates manifests
 * (https://argo-cd.readthedocs.io/en/stable/user-guide/source-hydrator/).
 */
function hydrated({ sourceHydrator }: Fields, wanted: readonly WantedRevision[]): readonly WantedRevision[] {
  const { drySHA, hydratedSHA } = fields(fields(sourceHydrator)['lastSuccessfulOperation'])
  const [dry, made] = [text(drySHA), text(hydratedSHA)]
  if (dry === undefined || made === undefined || !wanted.some(({ revision }) => matchesRevision(revision, dry)))
    return wanted
  return wanted.map((each) => (matchesRevision(each.revision, dry) ? { ...each, revision: made } : each))
}

/** What the sources name and which values they set. When one of these changes, Argo CD compares again. */
function sourceFields({ source, sources, sourceHydrator }: Fields): readonly unknown[] {
  const { targetBranch, path } = fields(fields(sourceHydrator)['syncSource'])
  const single = isObject(sourceHydrator) ? { targetRevision: targetBranch, path } : fields(source)
  return (Array.isArray(sources) ? fieldsOf(sources) : [single]).map((each: Fields) => {
    const { targetRevision = '', path = '', chart = '', helm, kustomize } = each
    const { parameters = [], values = '', valuesObject = {} } = fields(helm)
    return [targetRevision, path, chart, parameters, values, valuesObject, fields(kustomize)['images'] ?? []]
  })
}

/** Whether a comparison is older than the end of an operation; their times are whole seconds. */
function isOlder(comparedAt: unknown, finishedAt: unknown, unlessLater: boolean): boolean {
  const [compared, finished] = [Date.parse(text(comparedAt) ?? ''), Date.parse(text(finishedAt) ?? '')]
  return unlessLater ? !(compared > finished) : compared < finished
}

/** Whether a destination is another cluster than that of the Application. */
function isElsewhere({ server, name }: Fields): boolean {
  return text(name) === undefined ? !inClusterNames.has(server) : name !== 'in-cluster'
}

/** An entry of `status.resources` or of a sync result. Hooks and what is to be pruned are not part of the revision. */
function objectName(entry: Fields): readonly ObjectName[] {
  const { group, version, kind, namespace, name, hook, requiresPruning } = entry
  const [apiVersion] = texts(version).map((each) => (text(group) === undefined ? each : `${String(group)}/${each}`))
  if (hook === true || requiresPruning === true || apiVersion === undefined) return []
  if (text(kind) === undefined || text(name) === undefined) return []
  const within = text(namespace)
  return [
    { apiVersion, kind: String(kind), name: String(name), ...(within === undefined ? {} : { namespace: within }) },
  ]
}

function subjectOfName({ group, kind, namespace, name }: Fields): Subject {
  return { group: text(group) ?? '', kind: text(kind) ?? '', namespace: text(namespace), name: text(name) ?? '' }
}

const fluxVersion = (revisions: readonly string[], since?: unknown, first?: unknown): Version | undefined =>
  revisions.length === 0
    ? undefined
    : { sources: [{ names: ['1'], revisions }], since: text(since), first: text(first) }

/** The version of an entry in the history of a Kustomization. */
function fluxVersionOf({ metadata, lastReconciled, firstReconciled, digest }: Fields): readonly Version[] {
  const { revision, originRevision } = fields(metadata)
  const version = fluxVersion(texts(revision, originRevision), lastReconciled, firstReconciled)
  return version === undefined ? [] : [{ ...version, content: text(digest) }]
}

/** What the controllers of Flux report in the same way. */
function readFlux(object: KubeObject, wanted: readonly WantedRevision[], attempted: Version | undefined) {
  const spec = fields(object.spec)
  const all = conditionsIn(fields(object.status)['conditions'])
  const conditions = all.filter((each) => isOfPresentGeneration(each, object))
  const ready = conditions.find(({ type }) => type === 'Ready')
  const isStalled = conditions.some(({ type, status }) => type === 'Stalled' && status === 'True')
  const isSuspended = spec['suspend'] === true
  const reconciling = conditions.find(({ type, status }) => type === 'Reconciling' && status === 'True')
  const progress = reconciling?.message ?? ''
  const message = ready?.message ?? ''
  return {
    ready,
    isStalled,
    isWorking: reconciling !== undefined && reconciling.reason !== 'ProgressingWithRetry',
    message,
    progress,
    operator: 'Flux' as const,
    wanted,
    isCurrent: !isStale(fields(object.status)['observedGeneration'], object.metadata.generation),
    next: isSuspended ? undefined : attempted,
    // Only `Running health checks …` and `Running 'upgrade' action …` take long.
    complaint: isSuspended
      ? 'it is suspended'
      : ready?.status === 'False'
        ? message
        : progress.startsWith('Running ')
          ? progress
          : undefined,
    intervalMs: undefined,
    inventory: isObject(spec['kubeConfig'])
      ? ('elsewhere' as const)
      : isObject(fields(object.status)['inventory'])
        ? inventoryOf(object)
        : ('unknown' as const),
    // A suspension makes a generation that Flux does not observe, so the conditions of the generation before it still count.
    isHealthy: isSuspended && all.some(({ type, status }) => type === 'Ready' && status === 'True') ? true : undefined,
  }
}

/** Reasons of `Ready=False` that are about something else than the attempted revision: these never fail it. */
const waitingReasons: ReadonlySet<string | undefined> = new Set([
  'DependencyNotReady',
  'ArtifactFailed',
  'HealthCheckCanceled',
])

/**
 * A Kustomization of Flux: what is applied and healthy is `lastAppliedRevision`. The history names the newest first, moves what
 * is applied again to the front, and keeps when it was applied first (https://github.com/fluxcd/pkg/blob/main/apis/meta/history.go).
 */
const readKustomization: ReportReader = (object, wanted) => {
  const { lastAppliedRevision, lastAppliedOriginRevision, lastAttemptedRevision, history } = fields(object.status)
  // The status has the commit that an OCI artifact was made from only in the history, and of what is applied.
  const attempts = fieldsOf(history).map(({ metadata }) => fields(metadata))
  const { originRevision } = attempts.find(({ revision }) => revision === lastAttemptedRevision) ?? {}
  const attempted = fluxVersion(texts(lastAttemptedRevision, originRevision))
  const {
    ready,
    isStalled: _,
    isWorking,
    inventory,
    message,
    progress,
    ...common
  } = readFlux(object, wanted, attempted)
  const hasFailed = ready?.status === 'False' && !waitingReasons.has(ready.reason)
  const applied = texts(lastAppliedRevision, lastAppliedOriginRevision)
  const [front] = fieldsOf(history)
  const isFront = applied.includes(text(fields(front?.['metadata'])['revision']) ?? '')
  // An entry of the history is of one content, and names the latest revision with this content and result.
  const digest = isFront ? text(front?.['digest']) : undefined
  const [appliedRevision = ''] = applied
  // The status names the applied revision at the end, after Ready: until then Ready is about the attempted one.
  const isAttempted = attempted !== undefined && !applied.includes(text(lastAttemptedRevision) ?? '')
  const isApplied =
    attempted !== undefined && progress.startsWith('Running health checks') && hasRevisions(attempted, wanted)
  return {
    ...common,
    deployed: fluxVersion(applied, isFront ? front?.['firstReconciled'] : undefined),
    sameContent: fieldsOf(history).flatMap((entry) =>
      digest !== undefined && entry['digest'] === digest ? fluxVersionOf(entry) : [],
    ),
    content: digest ?? (hasDigest(appliedRevision) ? gitNameOf(appliedRevision) : undefined),
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
      message,
      since: ready?.lastTransitionTime,
      mustPersistMs: reportedFailureMs,
    },
    history: fieldsOf(history)
      .filter(({ lastReconciledStatus }) => lastReconciledStatus === 'ReconciliationSucceeded')
      .flatMap(fluxVersionOf)
      .toReversed(),
    objects: inventory,
    applied: isApplied && typeof inventory !== 'string' ? inventory : [],
    hookJobs: [],
  }
}

/**
 * A HelmRelease of Flux: `history[0]` is the newest release. While retries are left, a failed one is not final: then there is
 * no `Stalled` (https://github.com/fluxcd/helm-controller/blob/main/api/v2/snapshot_types.go).
 */
const readHelmRelease: ReportReader = (object, wanted) => {
  const { history, lastAttemptedRevision, lastAttemptedRevisionDigest, lastAppliedRevision } = fields(object.status)
  const attempted = fluxVersion(texts(lastAttemptedRevision, lastAttemptedRevisionDigest))
  const {
    ready,
    isStalled,
    isWorking,
    inventory,
    message,
    progress: _,
    ...common
  } = readFlux(object, wanted, attempted)
  const releases = fieldsOf(history).flatMap(({ chartVersion, ociDigest, lastDeployed, status }) => {
    const version = fluxVersion(texts(chartVersion, ociDigest), lastDeployed)
    return version === undefined ? [] : [{ version, status }]
  })
  const [front] = releases
  const hasFailed = ready?.status === 'False' && !waitingReasons.has(ready.reason)
  const deployed = releases.find(({ status }) => status === 'deployed')
  const version = front === undefined ? fluxVersion(texts(lastAppliedRevision)) : deployed?.version
  // While its action is no release yet, Ready is about the release before.
  const isBegun =
    attempted !== undefined &&
    common.next !== undefined &&
    isWorking &&
    (version === undefined || !isSameVersion(attempted, version))
  const isOfOther = hasFailed && front && attempted && !isSameVersion(attempted, front.version)
  return {
    ...common,
    deployed: version,
    sameContent: [],
    content: undefined,
    isSettled: front === undefined || (front === deployed && !isOfOther),
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
      message,
      since: ready?.lastTransitionTime,
      mustPersistMs: reportedFailureMs,
    },
    history: releases
      .filter(({ status }) => status === 'deployed' || status === 'superseded')
      .map(({ version }) => version)
      .toReversed(),
    objects: inventory,
    applied: [],
    hookJobs: [],
  }
}

const readers: Readonly<Record<string, ReportReader>> = {
  Application: readApplication,
  Kustomization: readKustomization,
  HelmRelease: readHelmRelease,
}

/** Whether the wanted revision of an object is deployed. */
type Standing =
  | { readonly type: 'deployed' }
  /** It is deployed, and its operator reports that something differs from it or is under way. */
  | { readonly type: 'unsettled' }
  /** The operator deploys it. */
  | { readonly type: 'deploying'; readonly attempt: Attempt }
  | { readonly type: 'failed'; readonly attempt: Attempt }
  /** It was deployed, and is no longer. */
  | { readonly type: 'left'; readonly to: Version; readonly isOlder: boolean }
  | { readonly type: 'awaited' }

const notArrived: KnownRevision = { wasDeployed: false, wasAttempted: false, wanted: [] }

function standingOf(report: OperatorReport, facts: ArrivalFacts): Standing {
  const { wanted, deployed, sameContent, content, isSettled, isCurrent, attempt, next } = report
  const isWanted = (version: Version | undefined) => version !== undefined && hasRevisions(version, wanted)
  const isDeployed =
    isWanted(deployed) || sameContent.some(isWanted) || (content !== undefined && content === facts.known?.content)
  if (attempt?.state === 'failed' && isWanted(attempt.version)) return { type: 'failed', attempt }
  if (isDeployed && isSettled) return { type: 'deployed' }
  if (attempt !== undefined && ['begun', 'running', 'retried'].includes(attempt.state) && isWanted(attempt.version))
    return { type: 'deploying', attempt }
  if (isDeployed) return { type: 'unsettled' }
  if (deployed !== undefined && isCurrent && !isWanted(next)) {
    const isOlder = isOlderThanWanted(deployed, report, facts)
    if (isOlder !== undefined) return { type: 'left', to: deployed, isOlder }
  }
  return { type: 'awaited' }
}

/**
 * Whether what is deployed is older than the wanted revision, which was deployed before; undefined if the wanted one may still
 * come. The checkout decides if it is deep enough, then the order of the operator.
 */
function isOlderThanWanted(
  deployed: Version,
  { wanted, history, operator }: OperatorReport,
  { before, known: { wasDeployed, wasAttempted } = notArrived }: ArrivalFacts,
): boolean | undefined {
  const index = history.findLastIndex((each) => hasRevisions(each, wanted))
  const entry = history[index]
  const ages = wanted.flatMap((each) =>
    deployed.sources.flatMap(({ revisions }) => revisions.map((one) => ageByCheckout(each, one))),
  )
  const age = ages.find((each) => each !== undefined)
  const { deployed: atFirst, history: historyAtFirst = [] } =
    before === undefined ? {} : readerOf(before)(before, wanted)
  const isAsBefore = atFirst !== undefined && isSameVersion(atFirst, deployed)
  const wasThere = entry !== undefined || wasDeployed
  if (age !== undefined) return age === 'newer' ? false : wasThere ? true : undefined
  if (!wasThere) return wasAttempted && !isAsBefore ? false : undefined
  if (isAsBefore && wasDeployed) return true
  if (history.slice(0, index).some((each) => isSameVersion(each, deployed))) return true
  const front = history.at(-1)
  // The commit that reverts a change is newer, although its content was deployed before.
  const isRevert = historyAtFirst.some(
    ({ content, ...each }) => content !== undefined && content === front?.content && !isSameVersion(each, deployed),
  )
  const isFirst = operator === 'Flux' && front?.first !== undefined && entry?.first !== undefined && !isRevert
  if (isFirst && Date.parse(front.first ?? '') < Date.parse(entry.first ?? '')) return true
  const [one = ''] = deployed.sources[0]?.revisions ?? []
  const names = [...wanted.map(({ revision }) => revision), ...(entry?.sources[0]?.revisions ?? [])]
  return names.some((each) => isLowerVersion(one, each) === true)
}

function readerOf({ kind }: KubeObject): ReportReader {
  return readers[kind] ?? readApplication
}

/** A version for people: `a1b2c3d (main)`, of an OCI artifact also the commit, and for several sources each of them. */
function describeVersion({ sources }: Version): string {
  return sources
    .map(({ revisions: [revision = '', ...others] }) => {
      const short = shortRevision(revision)
      const origin = others.find((each) => each.includes('@'))
      if (origin !== undefined) return `${short}, made from ${shortRevision(origin)}`
      const branch = others.find((each) => !matchesRevision(revision, each) && !each.includes(':'))
      return short.includes(' ') || branch === undefined || short === revision ? short : `${short} (${branch})`
    })
    .join(', ')
}

function describeWanted(wanted: readonly WantedRevision[]): string {
  return wanted
    .map(({ source, revision }) => `${source === undefined ? '' : `${source} at `}${shortRevision(revision)}`)
    .join(', ')
}

/** The facts of the reason `wrong-revision`. */
function wrongRevision(
  object: KubeObject,
  report: OperatorReport,
  wanted: readonly WantedRevision[],
  { time, startedAt, firstSeenAt }: ArrivalFacts,
): Problem<'wrong-revision'> {
  const { operator, deployed, complaint, intervalMs } = report
  const since = time(deployed?.since)
  return {
    ...ownProblem(object, firstSeenAt),
    reason: 'wrong-revision',
    detail: {
      operator,
      wanted: describeWanted(wanted),
      ...(deployed && { current: describeVersion(deployed) }),
      ...(since !== undefined && { since: deployed?.since, beforeStartMs: startedAt - since }),
      complaint,
      intervalMs,
    },
  }
}

/**
 * The rule of an object at a revision (`--revision`). Until its operator deploys that revision, it is not judged; then it is
 * ready as its own rule finds it, and what it deployed is gated too.
 * @param needsMoreThanToExist whether objects of a kind need more than to exist, which the operator's report shows
 */
export function withRevision(
  rule: Rule,
  { revisions = [] }: Pick<Target, 'revisions'>,
  needsMoreThanToExist: (kind: KindName) => boolean,
): Rule {
  const read = (object: KubeObject, known?: KnownRevision): OperatorReport => {
    const found = readerOf(object)(object, revisions)
    // A newer commit that is hydrated hides which one was made from the wanted one.
    const report = known !== undefined && found.wanted === revisions ? readerOf(object)(object, known.wanted) : found
    const { objects, applied } = report
    return {
      ...report,
      objects: typeof objects === 'string' ? objects : objects.filter(needsMoreThanToExist),
      applied: applied.filter(needsMoreThanToExist),
    }
  }
  const awaiting: Rule = {
    ...rule,
    arrival: (object, facts): Arrival => {
      const report = read(object, facts.known)
      const standing = standingOf(report, facts)
      const known = knownOf(report, standing, facts.known)
      switch (standing.type) {
        case 'deployed':
        case 'unsettled':
          return { type: 'deployed', known, text: `${report.operator} has deployed ${describeWanted(revisions)}` }
        case 'deploying':
        case 'failed':
          return { type: 'attempted', known, text: `${report.operator} deploys ${describeWanted(revisions)}` }
        case 'left': {
          const { isOlder, to } = standing
          const [wanted, current] = [describeWanted(revisions), describeVersion(to)]
          const detail = { operator: report.operator, wanted, current, since: to.since }
          return { type: isOlder ? 'rolled-back' : 'superseded', known, detail }
        }
        case 'awaited':
          return { type: 'awaited', known, problem: wrongRevision(object, report, revisions, facts) }
      }
    },
  }
  return withCheck(awaiting, (own, object, reader) => {
    const { hookJobs, objects } = read(object)
    const requests = [...hookJobs.flatMap(hookRequests), ...(objects === 'unknown' ? labelledRequests(object) : [])]
    for (const request of requests) reader.watch(request, 'optional')
    return judge(own, object, read(object, reader.knownRevision), revisions, reader)
  })
}

function knownOf({ wanted, content }: OperatorReport, { type }: Standing, before?: KnownRevision): KnownRevision {
  const isDeployed = type === 'deployed' || type === 'unsettled'
  const { wasDeployed, wasAttempted } = before ?? notArrived
  return {
    wasDeployed: wasDeployed || isDeployed,
    wasAttempted: wasAttempted || type !== 'awaited',
    wanted,
    content: isDeployed ? content : before?.content,
  }
}

function judge(
  own: Draft,
  object: KubeObject,
  report: OperatorReport,
  wanted: readonly WantedRevision[],
  reader: Reader,
): Draft {
  const { startedAt, time, history } = reader
  const facts = { startedAt, time, firstSeenAt: history.firstSeenAt, known: reader.knownRevision }
  const standing = standingOf(report, facts)
  switch (standing.type) {
    case 'deployed':
      return withDeployed(own, object, report, reader)
    case 'unsettled': {
      if (own.ready) return waitingDraft(own, `${report.operator} has not finished`)
      const { attempt } = report
      const isOfOther = attempt && attempt.state !== 'succeeded' && !hasRevisions(attempt.version, report.wanted)
      // The failure of another revision is none of the wanted one.
      return isOfOther ? waitingDraft(own, own.message) : own
    }
    case 'deploying': {
      const { state, message } = standing.attempt
      const started = {
        ...waitingDraft(own, message === '' ? `${report.operator} deploys ${describeWanted(wanted)}` : message),
        ...gatedToo(own, object, report.applied),
      }
      if (state === 'begun')
        return { ...started, problems: [wrongRevision(object, report, wanted, facts), ...started.problems] }
      return state === 'retried' ? started : { ...started, stallHold: `${report.operator} is deploying it` }
    }
    case 'failed': {
      const problem = failureOf(object, standing.attempt, reader)
      const failed = {
        ...waitingDraft(own, messageOf(problem)),
        problems: [problem, ...own.problems.filter((each) => traitsOf(each).yieldsTo !== 'owned')],
      }
      return problem.proven ? { ...failed, failure: problem } : failed
    }
    case 'left':
    case 'awaited': {
      const problem = wrongRevision(object, report, wanted, facts)
      return {
        ...waitingDraft(own, `${report.operator} has not deployed ${describeWanted(wanted)}`),
        problems: [problem, ...own.problems],
      }
    }
  }
}

/** The draft of an object whose revision is deployed. */
function withDeployed(own: Draft, object: KubeObject, report: OperatorReport, reader: Reader): Draft {
  const { operator, objects, isHealthy } = report
  const known = objects === 'unknown' ? labelledBy(object, reader) : objects === 'elsewhere' ? [] : objects
  const listed = known.slice(0, maxDeployed)
  const left = known.length - listed.length
  const notes = [
    ...(objects === 'elsewhere'
      ? [`it deploys to another cluster: its objects there count by the word of ${operator}`]
      : []),
    ...(objects === 'unknown' && known.length === 0
      ? [`its status does not list what it deployed: that counts by the word of ${operator}`]
      : []),
    ...(left > 0 ? [`${left} more objects count by the word of ${operator}`] : []),
  ]
  const draft = {
    ...own,
    notes: [...own.notes, ...notes],
    ...gatedToo(own, object, listed),
  }
  const isReady = isHealthy === true && own.failure === undefined && object.metadata.deletionTimestamp === undefined
  if (!isReady || own.ready) return draft
  const message = 'its revision is deployed and healthy'
  const milestones = own.milestones.map((each) => ({
    ...each,
    state: 'done' as const,
    ...(each.name === 'ready' ? { message } : {}),
  }))
  return { ...draft, ready: true, message, problems: [], milestones }
}

/** The objects that are gated too: what is wrong with them, they report themselves. */
function gatedToo(
  own: Draft,
  object: KubeObject,
  names: readonly ObjectName[],
): Pick<Draft, 'deployed' | 'awaits' | 'problems'> {
  const self = subjectOf(object)
  const problems =
    names.length === 0 ? own.problems : own.problems.filter(({ subject }) => isSameSubject(subject, self))
  return { deployed: names, awaits: [...(own.awaits ?? []), ...names], problems }
}

const labelledKinds = ['Deployment', 'StatefulSet', 'DaemonSet']

/** Where a HelmRelease deploys, and the labels of its objects. */
function labelsOf({ apiVersion, spec, metadata: { name, namespace = '' } }: KubeObject) {
  const group = groupOf(apiVersion)
  return {
    within: text(fields(spec)['targetNamespace']) ?? namespace,
    labels: { [`${group}/name`]: name, [`${group}/namespace`]: namespace },
  }
}

/** The watches of the workloads that a HelmRelease deployed, if its status does not list them. */
function labelledRequests(object: KubeObject): readonly WatchRequest[] {
  const { within, labels } = labelsOf(object)
  const labelSelector = formatSelector({ matchLabels: labels })
  return labelledKinds.map((kind) => ({ apiVersion: 'apps/v1', kind, namespace: within, labelSelector }))
}

/**
 * The workloads that a HelmRelease deployed, if its status does not list them: an older helm-controller writes no inventory,
 * but its labels (https://github.com/fluxcd/helm-controller/blob/main/internal/postrender/common_renderer.go).
 */
function labelledBy(object: KubeObject, reader: Reader): readonly ObjectName[] {
  const wanted = Object.entries(labelsOf(object).labels)
  return labelledRequests(object)
    .flatMap((request) =>
      reader.known(request, ({ metadata }) => wanted.every(([key, value]) => metadata.labels?.[key] === value)),
    )
    .map(nameOf)
}

/** The watches of a hook that is a Job, and of its pods: they explain its failure. */
function hookRequests({ apiVersion, kind, namespace, name }: ObjectName): readonly WatchRequest[] {
  const labelSelector = `job-name=${name}`
  return [
    { apiVersion, kind, namespace, name },
    { apiVersion: 'v1', kind: 'Pod', namespace, labelSelector },
  ]
}

function findJob({ namespace, name }: Pick<ObjectName, 'namespace' | 'name'>, reader: Reader): Job | undefined {
  return reader.known({ apiVersion: 'batch/v1', kind: 'Job', namespace, name })[0]
}

/** The failure of the attempt to deploy the wanted revision. A hook that is a Job fails as Jobs do. */
function failureOf(object: KubeObject, attempt: Attempt, reader: Reader): Problem {
  const { now, time, history } = reader
  const { message, hook, mustPersistMs } = attempt
  const since = Math.min(time(attempt.since) ?? history.firstSeenAt, now)
  const proven = reader.passed(since + mustPersistMs)
  if (hook?.kind === 'Job' && hook.group === 'batch') {
    const job = findJob(hook, reader)
    const failure = job && assessOwned(job, jobRule as Rule, reader).assessment.failure
    return {
      ...ownProblem(object, since),
      subject: hook,
      reason: 'job-failed',
      detail: { message },
      ...failure,
      ...(hook.namespace === object.metadata.namespace ? {} : { isElsewhere: true }),
      proven,
    }
  }
  return {
    ...ownProblem(object, since),
    reason: 'reported-failed',
    detail: { signals: [], cause: message || undefined },
    proven,
  }
}
