import { type ApiResource, findResource, kindNameOf } from '../cluster/feed.ts'
import type { KindName } from '../cluster/objects.ts'
import {
  type AddMistake,
  didYouMean,
  type MistakeReason,
  type MistakeWithReason,
  quote,
  throwMistakes,
} from '../errors.ts'
import {
  checkReleaseName,
  kindsOfRelease,
  type Release,
  releaseKind,
  releaseSelector,
  type Selection,
} from './helm-release.ts'
import { explainUnknownKind, explainUnservedKind, findKind, kindsOfCrds } from './kinds.ts'
import { checkName, checkNamespace } from './names.ts'
import { isRevisionKind } from './revision.ts'
import type { ParsedReferences, Reference, WaitFor } from './target.ts'

/* Finds the kind of each reference: the first step from references to targets. `resolve-targets.ts` is the second. */

/** Default values for references, and the milestones of each kind. */
export interface PlanDefaults {
  /** The input `namespace`, else the namespace of the kubeconfig's context. */
  readonly namespace: string
  /** The milestones in the input `milestone-timeouts`. */
  readonly milestones: readonly string[]
  milestonesOf(kind: KindName): readonly string[]
  /** Whether a Helm release selects objects of a kind. If undefined, a reference to a release is a mistake. */
  isInRelease?(kind: KindName): boolean
}

/** The defaults for references in `http-checks` and `stream-logs`, which need no namespace and no milestones here. */
export const noDefaults: PlanDefaults = { namespace: 'default', milestones: [], milestonesOf: () => [] }

/** A reference, and its resource type on the server. */
export interface ResolvedReference {
  readonly reference: Reference
  readonly resource: ApiResource
  readonly namespace: string | undefined
  /** Set if the reference names a Helm release. Then the reference selects objects of this release and kind. */
  readonly release?: Release
}

/** All references with their resource types. The objects that selectors match are not yet known. */
export interface Resolution {
  readonly parsed: ParsedReferences
  readonly resolved: readonly ResolvedReference[]
  /** The list requests of all selectors, without duplicates. */
  readonly selections: readonly Selection[]
}

/**
 * Finds the kind of each reference among the kinds of the server and of the CustomResourceDefinitions in the manifests.
 * @param resources the server's resource types, in the order of discovery
 * @throws UserError with every mistake in the lines, kinds, names and milestones
 */
export function resolveReferences(
  parsed: ParsedReferences,
  resources: readonly ApiResource[],
  defaults: PlanDefaults,
): Resolution {
  const { references } = parsed
  const mistakes: MistakeWithReason[] = [...parsed.mistakes]
  const resolved: ResolvedReference[] = []
  const kinds = [...resources, ...kindsOfCrds(references)]

  for (const reference of references) {
    const { name, manifest } = reference
    const place = manifest === undefined ? reference.place : { input: manifest.file, line: manifest.lineOf(['kind']) }
    const addMistake = (message: string, reason?: MistakeReason) => mistakes.push({ ...place, message, reason })
    if (manifest === undefined && reference.kind.toLowerCase() === releaseKind.word) {
      resolved.push(...resolveRelease(reference, kinds, defaults, addMistake))
      continue
    }
    const resource = findGateableKind(reference, kinds)
    if (typeof resource === 'string') {
      addMistake(resource, 'kind-unknown')
      continue
    }
    checkWaitFor(reference.waitFor, resource, addMistake)
    checkRevisions(reference, resource, addMistake)
    // The name in a manifest was checked when the manifest was read.
    if (name !== undefined && manifest === undefined) checkName(name, resource.group, addMistake)
    checkMilestones(Object.keys(reference.clocks.milestoneTimeoutsMs ?? {}), [resource], defaults, addMistake)
    const namespace = resource.namespaced ? (reference.namespace ?? defaults.namespace) : undefined
    resolved.push({ reference, resource, namespace })
  }

  if (resolved.some(({ reference, namespace }) => namespace !== undefined && reference.namespace === undefined))
    checkNamespace(defaults.namespace, (message) => mistakes.push({ input: 'namespace', message }))
  const gated = resolved.filter(({ reference }) => !reference.exclude).map(({ resource }) => resource)
  if (mistakes.length === 0 && gated.length > 0)
    checkMilestones(defaults.milestones, gated, defaults, (message) =>
      mistakes.push({ input: 'milestone-timeouts', message }),
    )
  throwMistakes(mistakes)

  // `!secret --all` works without permission to list Secrets: for a whole kind, no list is needed.
  const selecting = resolved.filter(({ reference }) => reference.selector !== undefined && !isKindExcluded(reference))
  const selections = new Map(selecting.map(listRequest).map((request) => [JSON.stringify(request), request]))
  return { parsed, resolved, selections: [...selections.values()] }
}

/** Resolves a reference to a Helm release. The result is one reference for each kind that the release may contain. */
function resolveRelease(
  reference: Reference,
  resources: readonly ApiResource[],
  defaults: PlanDefaults,
  addMistake: AddMistake,
): readonly ResolvedReference[] {
  const { name, clocks, waitFor, revisions, namespace = defaults.namespace } = reference
  const { isInRelease } = defaults
  if (name === undefined) {
    addMistake(`A Helm release is named: write ${releaseKind.word}/NAME, without -l and --all.`)
    return []
  }
  if (isInRelease === undefined) {
    addMistake(`A Helm release is many resources. Name one of them, like deployment/${name}.`)
    return []
  }
  if (revisions !== undefined)
    addMistake('A Helm release takes no --revision: helm upgrade ends once it has applied its own. Leave it out.')
  checkReleaseName(name, addMistake)
  const kinds = kindsOfRelease(resources, (resource) => isInRelease(kindNameOf(resource)))
  checkMilestones(Object.keys(clocks.milestoneTimeoutsMs ?? {}), kinds, defaults, addMistake)
  const release = { name, namespace, includesTerminating: waitFor?.type === 'delete' }
  return kinds.map((resource) => ({
    reference: { ...reference, name: undefined, selector: releaseSelector },
    resource,
    namespace: resource.namespaced ? namespace : undefined,
    release,
  }))
}

/** Finds the kind of a reference, or explains why the kind cannot be gated. For a manifest, `apiVersion` must be equal. */
function findGateableKind(
  { kind: word, manifest }: Reference,
  resources: readonly ApiResource[],
): ApiResource | string {
  const apiVersion = manifest?.object.apiVersion
  const resource =
    apiVersion === undefined ? findKind(word, resources) : findResource(resources, { apiVersion, kind: word })
  if (resource === undefined) {
    return apiVersion === undefined
      ? explainUnknownKind(word, resources)
      : explainUnservedKind(apiVersion, word, resources)
  }
  if (resource.verbs?.includes('list') === false)
    return `Objects of kind ${quote(word)} cannot be listed, so there is nothing to watch. Leave the line out.`
  return resource
}

/** Adds a mistake for a `--for` that can never match, because the values of ConfigMaps and Secrets are redacted. */
function checkWaitFor(waitFor: WaitFor | undefined, { group, kind }: ApiResource, addMistake: AddMistake): void {
  const isRedacted = group === '' && (kind === 'ConfigMap' || kind === 'Secret')
  if (!isRedacted || waitFor?.type !== 'jsonpath' || waitFor.value === undefined) return
  if (/^\{\s*\$?\.?\[?['"]?(?:data|binaryData|stringData)\b/.test(waitFor.path))
    addMistake(`Values of a ${kind} are redacted, so --for cannot compare them. Omit the value to wait for the key.`)
}

function checkRevisions({ revisions }: Reference, resource: ApiResource, addMistake: AddMistake): void {
  if (revisions === undefined || isRevisionKind(kindNameOf(resource))) return
  addMistake(
    `${resource.plural}.${resource.group} have no revision to deploy. --revision is for applications.argoproj.io of Argo CD, and for kustomizations and helmreleases of Flux.`,
  )
}

export function milestonesInReferences({ references }: ParsedReferences): readonly string[] {
  return references.flatMap(({ clocks }) => Object.keys(clocks.milestoneTimeoutsMs ?? {}))
}

function checkMilestones(
  names: readonly string[],
  resources: readonly ApiResource[],
  { milestonesOf }: PlanDefaults,
  addMistake: AddMistake,
): void {
  const known = new Set(resources.flatMap((resource) => milestonesOf(kindNameOf(resource))))
  const kinds = [...new Set(resources.map(({ kind }) => kind))].join(', ')
  for (const name of names) {
    if (known.has(name)) continue
    const hint = didYouMean(name, known) || ` There are ${[...known].join(', ')}.`
    addMistake(`${quote(name)} is not a milestone of ${kinds}.${hint}`)
  }
}

/** Whether a reference is an exclude for all objects of its kind and namespace. */
export function isKindExcluded({ exclude, selector }: Reference): boolean {
  return exclude && selector === ''
}

export function listRequest({ reference, resource, namespace, release }: ResolvedReference): Selection {
  const labelSelector = reference.selector || undefined
  const request = { ...kindNameOf(resource), namespace, labelSelector }
  return release === undefined
    ? request
    : { ...request, release: { ...release, namespace: namespace ?? release.namespace } }
}
