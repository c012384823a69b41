import { isDeepStrictEqual } from 'node:util'
import {
  type Container,
  isOfKind,
  type KubeObject,
  type Pod,
  type PodTemplate,
  type Workload,
} from '../../cluster/objects.ts'
import { hookAnnotation, nameAnnotation } from '../../plan/helm-release.ts'
import type { MissingObject } from '../../reasons/containers.ts'
import { type Problem, traitsOf } from '../../reasons/reasons.ts'
import { hookLeadMs } from '../../thresholds.ts'
import type { PodView } from '../pod-view.ts'
import type { Reader } from '../reader.ts'
import type { ServingRevision, Undo, UndoRule } from '../rule.ts'
import { jobsRequest } from '../selector.ts'
import { findCondition, isReplaced } from './pod-fields.ts'
import { isSettled } from './pod-state.ts'
import { containersInSpec, haveSameContainers, isSameTemplate } from './pod-template.ts'
import {
  creationTimestampOf,
  findRevision,
  hashLabel,
  isRestoredRevision,
  newestRevision,
  podTemplateOf,
  revisionNumber,
  revisionsOfWorkload,
} from './revision.ts'

/** Decides whether `kubectl rollout undo` can restore a workload (pkg/polymorphichelpers/rollback.go in kubectl). */
export const undoRule: UndoRule<Workload> = { availableRevision, find: findUndo }

/** The known revisions of a workload. */
interface Revisions {
  readonly all: readonly KubeObject[]
  /** The revision of the present template; undefined until the controller has created it. */
  readonly present: KubeObject | undefined
  /** The revisions with another template. */
  readonly older: readonly KubeObject[]
  /** The pods of a revision that are not being replaced. */
  podsOf(revision: KubeObject): readonly PodView[]
}

function findRevisions(object: Workload, reader: Reader): Revisions {
  const { uid } = object.metadata
  const template = podTemplateOf(object)
  const all = revisionsOfWorkload(uid, reader.listKnownOwned)
  return {
    all,
    present: findRevision(template, all),
    older: all.filter((each) => !Number.isNaN(revisionNumber(each)) && !isSameTemplate(podTemplateOf(each), template)),
    podsOf: (revision) => {
      const pods = isOfKind(revision, 'ReplicaSet')
        ? reader.listKnownOwned(revision.metadata.uid, 'Pod')
        : reader.listKnownOwned(uid, 'Pod').filter((pod) => isOfRevision(pod, revision))
      return pods.filter((pod) => !isReplaced(pod)).map((pod) => reader.podView(pod))
    },
  }
}

/** Whether a pod has the label of a ControllerRevision: its name for a StatefulSet, its hash for a DaemonSet. */
function isOfRevision({ metadata }: Pod, { metadata: { name, labels } }: KubeObject): boolean {
  const hash = metadata.labels?.[hashLabel]
  return hash !== undefined && (hash === name || hash === labels?.[hashLabel])
}

/** See `UndoRule.availableRevision`. A revision is available if all its pods are available. */
function availableRevision(object: Workload, reader: Reader): number | undefined {
  if (findCondition(object, 'Available')?.status === 'False') return undefined
  const { older, podsOf } = findRevisions(object, reader)
  const newest = newestRevision(older.filter((revision) => isRevisionAvailable(revision, podsOf(revision), reader)))
  return newest && revisionNumber(newest)
}

/** Whether a revision has pods, and all are available. For a ReplicaSet, its counts must show this too. */
function isRevisionAvailable(revision: KubeObject, pods: readonly PodView[], reader: Reader): boolean {
  const areSettled = pods.every((pod) => isSettled(pod, reader))
  if (!isOfKind(revision, 'ReplicaSet')) return areSettled && pods.length > 0
  const { spec = {}, status = {} } = revision
  const wanted = Math.max(1, spec.replicas ?? 1, status.replicas ?? 0)
  return areSettled && (status.availableReplicas ?? 0) >= wanted
}

/** See `UndoRule.find`. */
function findUndo(object: Workload, number: number | undefined, problem: Problem | undefined, reader: Reader): Undo {
  const revisions = findRevisions(object, reader)
  const serving = servingRevision(object, revisions, reader)
  const known = serving && { serving }
  const revision = revisions.older.find((each) => revisionNumber(each) === number)
  if (number === undefined || revision === undefined)
    return { ...known, obstacle: 'no older revision had all its pods ready and settled at the start' }
  const [before, after] = [podTemplateOf(revision), podTemplateOf(object)]
  const since =
    helmReleaseName(object) === undefined ? undefined : previousRevisionCreatedAt(revision, revisions, reader)
  const areReady = revisions.podsOf(revision).every(({ ready }) => ready)
  const blocked =
    ownerObstacle(object) ??
    strategyObstacle(object) ??
    hookObstacle(object, revisions, reader) ??
    (areReady ? undefined : `its revision ${number} is not ready any more either, so this change may not be the cause`)
  const isOnlyRestart = blocked === undefined && haveSameContainers(before, after)
  const obstacle =
    blocked ??
    (isOnlyRestart ? 'its containers are the same in both revisions' : changeObstacle(before, after, problem))
  return {
    ...known,
    revision: number,
    ...(since !== undefined && { since }),
    ...(obstacle !== undefined && { obstacle }),
    ...(isOnlyRestart && { isOnlyRestart }),
  }
}

/** The revision that serves while the object is not ready; undefined if unknown, or if the object wants no pods. */
function servingRevision(
  object: Workload,
  { all, present, older, podsOf }: Revisions,
  reader: Reader,
): ServingRevision | undefined {
  const readyPodCount = (revision: KubeObject) => podsOf(revision).filter(({ ready }) => ready).length
  const revision = newestRevision(older.filter((each) => readyPodCount(each) > 0))
  const wanted = object.spec?.replicas ?? object.status?.desiredNumberScheduled ?? 1
  if (revision !== undefined) {
    const images = containersInSpec(podTemplateOf(revision)?.spec).flatMap(({ image }) => image ?? [])
    return { revision: revisionNumber(revision), images, ready: readyPodCount(revision), wanted }
  }
  const settled = present === undefined ? 0 : podsOf(present).filter((pod) => isSettled(pod, reader)).length
  const mayCrash = settled === 0 && all.some((each) => readyPodCount(each) > 0)
  // If no revision is known, the gate may not be permitted to read revisions.
  if (all.length === 0 || mayCrash || wanted === 0) return undefined
  return { images: [], ready: settled, wanted, ...(older.length === 0 && { isFirst: true }) }
}

/** When a revision was created. Undefined if it does not directly precede the present one, or was restored before. */
function previousRevisionCreatedAt(revision: KubeObject, { present }: Revisions, reader: Reader): number | undefined {
  const isBefore = present !== undefined && revisionNumber(revision) === revisionNumber(present) - 1
  return isBefore && !isRestoredRevision(revision) ? reader.time(creationTimestampOf(revision)) : undefined
}

/** The domains in labels and annotations of tools that apply objects again, or choose the version of objects. */
const operatorDomains = [
  'toolkit.fluxcd.io',
  'fluxcd.io',
  'argocd.argoproj.io',
  'configmanagement.gke.io',
  'configsync.gke.io',
  'operators.coreos.com',
  'objectset.rio.cattle.io',
  'fleet.cattle.io',
  'crossplane.io',
  'addonmanager.kubernetes.io',
  'kro.run',
  'karmada.io',
  'projectsveltos.io',
  'app.oam.dev',
  'keel.sh',
] as const

/** Whether a label or annotation belongs to a tool that applies objects. Keys of OLM have no domain: `olm.owner`. */
function isOperatorKey(key: string): boolean {
  const [domain = ''] = key.split('/')
  return key.startsWith('olm.') || operatorDomains.some((each) => domain === each || domain.endsWith(`.${each}`))
}

/**
 * Field managers of GitOps tools and operators, and usual names of controllers. The default field manager is the name
 * of the program (https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers).
 */
const operatorManager =
  /^(?:manager|olm|catalog|eks)$|argocd|flux|gotk|configsync|crossplane|fleet|(?:controller|operator|reconciler)$/

/** Why another controller would replace the template that an undo restores. */
function ownerObstacle({ metadata }: KubeObject): string | undefined {
  const { ownerReferences = [], labels = {}, annotations = {}, managedFields = [] } = metadata
  const owner = ownerReferences.find(({ controller }) => controller) ?? ownerReferences[0]
  if (owner !== undefined) return `${owner.kind} ${owner.name} writes it: undo the change there`
  if (Object.keys({ ...labels, ...annotations }).some(isOperatorKey))
    return 'a GitOps operator applies it: revert the commit'
  const writers = managedFields.flatMap(({ manager, subresource }) =>
    subresource === undefined ? (manager ?? []) : [],
  )
  const operator = [...writers, labels['app.kubernetes.io/managed-by'] ?? ''].find((each) => operatorManager.test(each))
  return operator === undefined ? undefined : `${operator} writes it: undo the change there`
}

function helmReleaseName({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[nameAnnotation]
}

/** If an object belongs to a Helm release, asks for the watch of the Jobs in its namespace: some may be hooks. */
export function watchReleaseHooks(object: KubeObject, reader: Reader): void {
  if (helmReleaseName(object) !== undefined) reader.watch(jobsRequest(object), 'undo')
}

/** Why the older version may no longer work: a hook has run for this change, or the hooks are not listed yet. */
function hookObstacle(object: KubeObject, { present }: Revisions, reader: Reader): string | undefined {
  const changedAt = reader.time(present?.metadata.creationTimestamp) ?? reader.startedAt
  const release = helmReleaseName(object)
  if (release !== undefined && reader.listState(jobsRequest(object)) === 'pending')
    return 'the hooks of its release are not listed yet'
  const [hook] = reader.listKnown(jobsRequest(object), ({ metadata, status }) => {
    const { annotations = {}, labels = {} } = metadata
    const hook = annotations[hookAnnotation]
    const isOther = release !== undefined && (labels['app.kubernetes.io/instance'] ?? release) !== release
    const created = reader.time(metadata.creationTimestamp) ?? Number.NEGATIVE_INFINITY
    return (
      hook !== undefined &&
      !hook.startsWith('test') &&
      !isOther &&
      status?.startTime !== undefined &&
      created >= changedAt - hookLeadMs
    )
  })
  return hook && `the hook job/${hook.metadata.name} ran: a migration may not be undone`
}

/** Why the controller would not roll out the older template by itself. */
function strategyObstacle({ kind, spec = {} }: Workload): string | undefined {
  const { paused, podManagementPolicy, updateStrategy } = spec
  if (paused) return 'it is paused: resume it, then undo it'
  if (updateStrategy?.type === 'OnDelete') return 'its pods are replaced when they are deleted (OnDelete)'
  // See https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#forced-rollback
  if (kind === 'StatefulSet' && podManagementPolicy !== 'Parallel')
    return 'after an undo, its broken pod must be deleted too: an ordered StatefulSet waits for it'
  return undefined
}

/** Why the change between two templates may not be the cause of the failure; undefined if it may be. */
function changeObstacle(
  before: PodTemplate | undefined,
  after: PodTemplate | undefined,
  problem: Problem | undefined,
): string | undefined {
  const innermost = rootCauseOf(problem)
  if (innermost === undefined) return undefined
  const { container: name, reason } = innermost
  if (traitsOf(innermost).isOutsideTemplate) return `what fails (${reason}) is not in its template`
  const { missing } = innermost.detail as Partial<Problem<'config-missing'>['detail']>
  if (missing !== undefined && mayReferTo(before, missing)) return `both revisions need ${missing.kind} ${missing.name}`
  if (name !== undefined && findContainer(after, name) === undefined)
    return `its container ${name} is not in the template of this revision`
  const [old, present] = [before, after].map((template) => causingPart(template, innermost))
  return isDeepStrictEqual(old, present) ? `what fails (${reason}) is the same in both revisions` : undefined
}

function rootCauseOf(problem: Problem | undefined): Problem | undefined {
  return problem?.cause === undefined ? problem : rootCauseOf(problem.cause)
}

/** The part of a template that may be the cause of a problem. */
function causingPart(template: PodTemplate | undefined, problem: Problem): unknown {
  const { reason, container: name } = problem
  if (name !== undefined) {
    const container = findContainer(template, name)
    const isOfImage = traitsOf(problem).field?.container?.[0] === 'image'
    return isOfImage ? container?.image : [container, withoutContainers(template)]
  }
  switch (reason) {
    case 'unschedulable':
    case 'quota-exceeded':
      return [withoutContainers(template), containersInSpec(template?.spec).map(({ resources }) => resources ?? {})]
    case 'volume-not-mounted':
    case 'claim-pending':
    case 'claim-terminating':
    case 'config-missing':
      return template?.spec?.volumes ?? []
    case 'service-account-missing':
      return template?.spec?.serviceAccountName ?? ''
    default:
      return template
  }
}

/** Whether a template may refer to a missing Secret or ConfigMap, or to a missing key: it contains the names. */
function mayReferTo(template: PodTemplate | undefined, { name, key }: MissingObject): boolean {
  if (name === undefined) return false
  const { volumes = [] } = template?.spec ?? {}
  const references = containersInSpec(template?.spec).map(({ env = [], envFrom = [] }) => [env, envFrom])
  const text = JSON.stringify([volumes, references])
  return [name, key ?? name].every((word) => text.includes(JSON.stringify(word)))
}

function findContainer(template: PodTemplate | undefined, name: string): Container | undefined {
  return containersInSpec(template?.spec).find((container) => container.name === name)
}

function withoutContainers({ spec = {} }: PodTemplate = {}): object {
  const { containers: _, initContainers: __, ...rest } = spec
  return rest
}
