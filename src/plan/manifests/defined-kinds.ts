import type { ApiResource } from '../../cluster/feed.ts'
import type { Reference } from '../references.ts'

interface Definition {
  readonly group?: unknown
  readonly scope?: unknown
  readonly names?: { readonly kind?: unknown; readonly plural?: unknown; readonly singular?: unknown }
  readonly versions?: readonly { readonly name?: unknown; readonly served?: unknown; readonly subresources?: object }[]
}

/**
 * The kinds that the CustomResourceDefinitions among the manifests define. They were applied a moment ago, and the server
 * serves a kind only when its definition is established: whoever is planned for by then is watched as soon as it does
 * (apiextensions.k8s.io/v1, `CustomResourceDefinitionSpec`).
 */
export function definedKinds(references: readonly Reference[]): readonly ApiResource[] {
  return references.flatMap(({ manifest }) => {
    if (manifest === undefined) return []
    const { apiVersion, kind, spec } = manifest.object
    const isDefinition = apiVersion === 'apiextensions.k8s.io/v1' && kind === 'CustomResourceDefinition'
    return isDefinition && typeof spec === 'object' && spec !== null ? kindsOf(spec) : []
  })
}

function kindsOf({ group, scope, names, versions }: Definition): readonly ApiResource[] {
  const { kind, plural } = names ?? {}
  if (typeof group !== 'string' || typeof kind !== 'string' || typeof plural !== 'string') return []
  if (!Array.isArray(versions)) return []
  return (versions as NonNullable<Definition['versions']>).flatMap(({ name, served, subresources }) =>
    typeof name === 'string' && served === true
      ? [
          {
            group,
            version: name,
            kind,
            plural,
            singular: kind.toLowerCase(),
            namespaced: scope === 'Namespaced',
            status: subresources !== undefined && 'status' in subresources,
          },
        ]
      : [],
  )
}
