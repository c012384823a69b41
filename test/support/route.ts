/** What a path of the API names; the verb and the query are not looked at. */
export type Route =
  | { readonly to: 'version' }
  | { readonly to: 'root'; readonly path: 'api' | 'apis' }
  | { readonly to: 'group'; readonly group: string }
  | { readonly to: 'resources'; readonly group: string; readonly version: string }
  | ({ readonly to: 'objects' } & ObjectsRoute)

/** A collection, an object in it, or a subresource of that. */
export interface ObjectsRoute {
  readonly group: string
  readonly version: string
  /** Empty at the cluster scope. */
  readonly namespace: string
  readonly plural: string
  readonly name?: string
  readonly subresource?: string
}

/** Reads a path as the API server's `RequestInfoFactory` does; undefined where nothing is served. */
export function parseRoute(path: string): Route | undefined {
  const [root, ...rest] = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent)
  if (root === 'version' && rest.length === 0) return { to: 'version' }
  if (root !== 'api' && root !== 'apis') return undefined
  if (rest.length === 0) return { to: 'root', path: root }
  const [group = '', version, ...names] = root === 'api' ? ['', ...rest] : rest
  if (version === undefined) return { to: 'group', group }
  if (names.length === 0) return { to: 'resources', group, version }
  const objects = parseNames(names)
  return objects && { to: 'objects', group, version, ...objects }
}

/** Namespaces are objects too: `namespaces/shop` and `namespaces/shop/status` name one, `namespaces/shop/pods` lies in it. */
function parseNames(
  names: readonly string[],
): Pick<ObjectsRoute, 'namespace' | 'plural' | 'name' | 'subresource'> | undefined {
  const inNamespace = names[0] === 'namespaces' && names.length > 2 && names[2] !== 'status' && names[2] !== 'finalize'
  const [plural, name, subresource, ...more] = inNamespace ? names.slice(2) : names
  if (plural === undefined || more.length > 0) return undefined
  return {
    namespace: inNamespace ? (names[1] ?? '') : '',
    plural,
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  }
}
