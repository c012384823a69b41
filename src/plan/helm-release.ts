import { Semaphore } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { type ApiResource, helmRevisions, type WatchRequest } from '../cluster/feed.ts'
import { controllerUidOf, type KubeObject, type ObjectMeta } from '../cluster/objects.ts'
import { type AddMistake, quote, UserError } from '../errors.ts'
import { releaseListsAtOnce } from '../thresholds.ts'
import { label } from './names.ts'
import type { ReleaseHistory, ReleaseRevision, Target } from './target.ts'

/* References to Helm releases, like `helm/web`: finds the objects and the revisions of a release. */

/** The word for a Helm release in a reference, and the kind of a release as a target. No server has this kind. */
export const releaseKind = { word: 'helm', ...helmRevisions } as const

/**
 * Helm sets this label and two annotations on all objects of a release (`setMetadataVisitor`, pkg/action/validate.go).
 * Hooks do not get them (`execHook`, pkg/action/hooks.go).
 */
export const releaseSelector = 'app.kubernetes.io/managed-by=Helm'
export const nameAnnotation = 'meta.helm.sh/release-name'
const namespaceAnnotation = 'meta.helm.sh/release-namespace'
export const hookAnnotation = 'helm.sh/hook'

/** A Helm release whose objects a list request selects. */
export interface Release {
  readonly name: string
  readonly namespace: string
  /** Whether terminating objects are selected too (`--for=delete`). */
  readonly includesTerminating: boolean
}

/** A list request. With `release`, the request selects only objects of this Helm release. */
export interface Selection extends WatchRequest {
  readonly release?: Release
}

type ReleaseSelection = Selection & { readonly release: Release }

/**
 * Whether an object belongs to a release. Excludes objects with a controller, which may have copied the annotations. Also
 * excludes terminating objects, because an upgrade has removed them from the release.
 */
export function isOfRelease({ metadata }: Pick<KubeObject, 'metadata'>, release: Release): boolean {
  const { annotations = {}, deletionTimestamp } = metadata
  return (
    annotations[nameAnnotation] === release.name &&
    annotations[namespaceAnnotation] === release.namespace &&
    annotations[hookAnnotation] === undefined &&
    controllerUidOf({ metadata }) === undefined &&
    (deletionTimestamp === undefined || release.includesTerminating)
  )
}

export function revisionsRequest({ name, namespace }: Pick<Release, 'name' | 'namespace'>): WatchRequest {
  return { ...helmRevisions, namespace, labelSelector: `owner=helm,name=${name}` }
}

/** Creates the history of a release from the Secrets of its revisions. Undefined without revisions. */
function createHistory({ name, namespace }: Release, revisions: readonly KubeObject[]): ReleaseHistory | undefined {
  const known = revisions
    .map(({ metadata }) => readRevision(metadata))
    .filter(({ number }) => number > 0)
    .toSorted((a, b) => a.number - b.number)
  return known.length === 0 ? undefined : { name, namespace, revisions: known }
}

/** The history up to the revision that the gate waited for. That revision is `superseded` if a newer revision exists. */
export function historyUntilAwaited(history: ReleaseHistory, awaited: readonly Target[]): ReleaseHistory {
  const last = awaited.find((target) => isRevisionOf(target, history))
  if (last === undefined) return history
  const newest = readRevision(last).number
  const revisions = history.revisions.filter(({ number }) => number <= newest)
  const isReplaced = ({ number, status }: ReleaseRevision) =>
    number === newest && status === 'deployed' && revisions.length < history.revisions.length
  return {
    ...history,
    revisions: revisions.map((each) => (isReplaced(each) ? { ...each, status: 'superseded' } : each)),
  }
}

export function isRevisionOf({ release }: Target, { name, namespace }: Pick<Release, 'name' | 'namespace'>): boolean {
  return release?.name === name && release.namespace === namespace
}

/** Whether the last revision of a release is pending. Then objects of this revision may be missing or outdated. */
export function hasPendingRevision(history: ReleaseHistory | undefined): boolean {
  return isPendingStatus(history?.revisions.at(-1)?.status ?? '')
}

/** Whether a revision with this status is being installed, or Helm was killed during the installation. */
export function isPendingStatus(status: string): boolean {
  return status.startsWith('pending-')
}

/** Reads a revision of a release from the name (`web.v7`) and the labels of its Secret. */
export function readRevision({
  name,
  labels,
  creationTimestamp,
}: Pick<ObjectMeta, 'name' | 'labels' | 'creationTimestamp'>): ReleaseRevision & { readonly release: string } {
  const [, release = name, number = '0'] = /^(.*)\.v(\d+)$/.exec(name) ?? []
  return { release, number: Number(number), status: labels?.['status'] ?? 'unknown', createdAt: creationTimestamp }
}

/**
 * The kinds that a release may contain, each in its preferred version.
 * @param isGated returns whether objects of a kind are gated
 */
export function kindsOfRelease(
  resources: readonly ApiResource[],
  isGated: (resource: ApiResource) => boolean,
): readonly ApiResource[] {
  const kinds = new Map<string, ApiResource>()
  for (const resource of resources) {
    const { group, kind, plural, verbs } = resource
    const isWatched = ['list', 'watch'].every((verb) => verbs?.includes(verb) !== false)
    const key = `${group}/${kind}`
    if (!plural.includes('/') && isWatched && !kinds.has(key) && isGated(resource)) kinds.set(key, resource)
  }
  return [...kinds.values()]
}

/** Adds a mistake if `text` cannot be the name of a release (`ValidateReleaseName`, Helm's pkg/chart/v2/util). */
export function checkReleaseName(text: string, addMistake: AddMistake): void {
  if (text.length <= 53 && text.split('.').every((part) => label.test(part))) return
  addMistake(
    `${quote(text)} cannot be the name of a Helm release: at most 53 lower-case letters, digits, "-" and ".", a letter or digit at both ends.`,
  )
}

/** Creates functions that list the objects and revisions of releases. Skips kinds of a release that cannot be listed. */
export function createSelectionReader(
  selections: readonly Selection[],
  cluster: Pick<Cluster, 'listObjects' | 'tryListObjects'>,
) {
  const slots = new Semaphore(releaseListsAtOnce)
  const list = (request: WatchRequest) => slots.run(() => cluster.tryListObjects(request, true))
  const ofReleases = selections.filter((each): each is ReleaseSelection => each.release !== undefined)
  const byRelease = Map.groupBy(ofReleases, ({ release }) => releaseReference(release))
  const skipped = new Set<string>()
  const skippedSelections = (release: string) =>
    (byRelease.get(release) ?? []).filter((each) => skipped.has(JSON.stringify(each)))
  const histories = new Map<string, ReleaseHistory>()

  /** @throws UserError if no kind of the release can be listed */
  const namesOfRelease = async (selection: ReleaseSelection): Promise<readonly string[]> => {
    const key = JSON.stringify(selection)
    if (skipped.has(key)) return []
    const { release, ...request } = selection
    const objects = await list(request)
    if (objects !== undefined)
      return objects.filter((object) => isOfRelease(object, release)).map(({ metadata }) => metadata.name)
    skipped.add(key)
    const reference = releaseReference(release)
    if (skippedSelections(reference).length !== byRelease.get(reference)?.length) return []
    const { name, namespace } = release
    const message = `No kind that the Helm release ${name} in namespace ${namespace} may contain can be listed. Grant get, list and watch on the kinds of its objects: examples/role.yaml of Rollout Gate has the Role to apply.`
    throw new UserError([{ input: 'kubeconfig', message }], 'forbidden')
  }
  return {
    namesOf: async ({ release, ...request }: Selection): Promise<readonly string[]> =>
      release === undefined
        ? (await cluster.listObjects(request)).map(({ metadata }) => metadata.name)
        : namesOfRelease({ ...request, release }),
    /** Lists the revisions of all releases. If the Secrets of a release cannot be read, the release has no history. */
    readHistories: async (): Promise<void> => {
      const releases = [...byRelease.values()].flatMap(([first]) => first?.release ?? [])
      await Promise.all(
        releases.map(async (release) => {
          const history = createHistory(release, (await list(revisionsRequest(release))) ?? [])
          if (history !== undefined) histories.set(releaseReference(release), history)
        }),
      )
    },
    /** The history of a release; undefined if its Secrets cannot be read. */
    historyOf: (release: Release): ReleaseHistory | undefined => histories.get(releaseReference(release)),
    /** One sentence for each release that has skipped kinds. */
    notices: (): readonly string[] =>
      [...byRelease.keys()].flatMap((name) => {
        const kinds = skippedSelections(name).map(({ kind }) => kind)
        if (kinds.length === 0) return []
        return [`${name}: objects of these kinds are not gated, because they may not be listed: ${kinds.join(', ')}.`]
      }),
  }
}

function releaseReference({ name, namespace }: Release): string {
  return `${releaseKind.word}/${name} -n ${namespace}`
}
