import { type ApiResource, kindNameOf } from '../cluster/feed.ts'
import { groupOf, isObject } from '../cluster/objects.ts'
import { nearestWords, quote } from '../errors.ts'
import { wordSet } from './names.ts'
import type { ManifestObject, Reference } from './target.ts'

/* Finds the kind for a word like `deploy`, as kubectl does. Also decides which API groups are built in. */

/** The built-in API groups that end in `.k8s.io`, without this suffix. */
const builtInGroups = wordSet(`
  admissionregistration apiextensions apiregistration authentication authorization certificates coordination
  discovery events flowcontrol.apiserver internal.apiserver networking node rbac.authorization resource scheduling
  storage storagemigration`)

/**
 * Whether an API version belongs to a built-in group: a group without a dot, or a group in `builtInGroups`. Groups of
 * custom resources may end in `.k8s.io` too: gateway.networking.k8s.io, snapshot.storage.k8s.io.
 */
export function isBuiltIn(apiVersion: string): boolean {
  return isBuiltInGroup(groupOf(apiVersion))
}

export function isBuiltInGroup(group: string): boolean {
  return !group.includes('.') || builtInGroups.has(group.replace(/\.k8s\.io$/, ''))
}

/** The plural of a kind, as in controller-gen: `Ingresses`, `NetworkPolicies`, `Pods`. */
export function pluralOf(kind: string): string {
  if (/(s|x|z|ch|sh)$/.test(kind)) return `${kind}es`
  return /[^aeiou]y$/.test(kind) ? kind.replace(/y$/, 'ies') : `${kind}s`
}

/**
 * Finds the resource type for a word, as kubectl does: `deploy`, `Deployment`, `deployments`, `deployment.apps`,
 * `deployments.v1.apps`, `storageclass.storage` (the start of the group is enough). Ignores case.
 *
 * If several types match, full names win over short names, then the order of discovery decides: built-in groups first,
 * and in each group the preferred version (k8s.io/client-go pkg/restmapper; k8s.io/apimachinery `ParseResourceArg`).
 */
export function findKind(word: string, resources: readonly ApiResource[]): ApiResource | undefined {
  const { name, group } = splitKind(word)
  const dot = group.indexOf('.')
  const [version, versionGroup] = dot < 0 ? [] : [group.slice(0, dot), group.slice(dot + 1)]
  return (
    (version && findByName(name, resources, (it) => it.version === version && it.group === versionGroup)) ||
    findByName(name, resources, (it) => group === '' || it.group === group) ||
    findByName(name, resources, (it) => it.group.startsWith(group)) ||
    undefined
  )
}

function splitKind(word: string): { name: string; group: string } {
  const [name = ''] = word.toLowerCase().split('.', 1)
  return { name, group: word.toLowerCase().slice(name.length + 1) }
}

function findByName(
  name: string,
  resources: readonly ApiResource[],
  accept: (resource: ApiResource) => boolean,
): ApiResource | undefined {
  const accepted = resources.filter((resource) => accept(resource) && !resource.plural.includes('/'))
  return (
    accepted.find(({ plural, singular }) => plural === name || singular === name) ??
    accepted.find(({ shortNames }) => shortNames?.includes(name)) ??
    accepted.find(({ kind }) => kind.toLowerCase() === name)
  )
}

/** The message for a word that `findKind` does not find, with suggestions. */
export function explainUnknownKind(word: string, resources: readonly ApiResource[]): string {
  const { name, group } = splitKind(word)
  if (group === '' && resources.some(({ categories }) => categories?.includes(name))) {
    return `${quote(word)} is a category of many kinds. Name the kinds: deploy,sts --all.`
  }

  const kindWithGroup = ({ kind, group }: ApiResource): string =>
    `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}`
  const elsewhere = findByName(name, resources, () => true)
  const near = elsewhere === undefined ? nearestKinds(name, resources) : [elsewhere]
  const hint = near.length === 0 ? '' : ` Did you mean ${[...new Set(near.map(kindWithGroup))].join(' or ')}?`
  return `The server has no kind ${quote(word)}.${hint} "kubectl api-resources" lists all kinds; a custom kind exists once its CustomResourceDefinition is applied.`
}

/** The message for a manifest whose kind the server does not serve, with the versions that the server does serve. */
export function explainUnservedKind(apiVersion: string, kind: string, resources: readonly ApiResource[]): string {
  const group = groupOf(apiVersion)
  const served = resources.filter((it) => it.kind === kind && it.group === group && !it.plural.includes('/'))
  const versions = [...new Set(served.map((each) => kindNameOf(each).apiVersion))]
  const named = `${quote(kind)} in ${apiVersion}`
  if (versions.length > 0)
    return `The server has no kind ${named}, only in ${versions.join(' and ')}. Change the apiVersion.`
  return `The server has no kind ${named}. Is its CustomResourceDefinition applied? "kubectl api-resources" lists all kinds.`
}

function nearestKinds(name: string, resources: readonly ApiResource[]): ApiResource[] {
  const byName = new Map<string, ApiResource>()
  for (const resource of resources) {
    const { plural, singular, kind, shortNames } = resource
    for (const known of [plural, singular, kind.toLowerCase(), ...(shortNames ?? [])]) {
      if (known && !plural.includes('/') && !byName.has(known)) byName.set(known, resource)
    }
  }
  return nearestWords(name, byName.keys()).flatMap((known) => byName.get(known) ?? [])
}

/** The fields of a CustomResourceDefinition's spec that define kinds. A manifest may lack any of them. */
interface CrdSpec {
  readonly group?: unknown
  readonly scope?: unknown
  readonly names?: { readonly kind?: unknown; readonly plural?: unknown }
  readonly versions?: unknown
}

/**
 * The kinds that CustomResourceDefinitions in the manifests define. Discovery may lack these kinds, because the server
 * serves them only after a CRD is established (apiextensions.k8s.io/v1, `CustomResourceDefinitionSpec`).
 */
export function kindsOfCrds(references: readonly Reference[]): readonly ApiResource[] {
  return references.flatMap(({ manifest }) => {
    const { apiVersion, kind: ownKind, spec } = manifest?.object ?? ({} as Partial<ManifestObject>)
    const isCrd = apiVersion === 'apiextensions.k8s.io/v1' && ownKind === 'CustomResourceDefinition'
    const { group, scope, names, versions } = (isCrd && isObject(spec) ? spec : {}) as CrdSpec
    const { kind, plural } = names ?? {}
    if (typeof group !== 'string' || typeof kind !== 'string' || typeof plural !== 'string') return []
    const singular = kind.toLowerCase()
    const served = Array.isArray(versions) ? versions.filter((each) => isObject(each) && each['served'] === true) : []
    return served.flatMap(({ name: version, subresources }) => {
      const status = isObject(subresources) && 'status' in subresources
      const resource = { group, version, kind, plural, singular, namespaced: scope === 'Namespaced', status }
      return typeof version === 'string' ? [resource] : []
    })
  })
}
