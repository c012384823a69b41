/** A Secret or ConfigMap that a pod refers to and that is not there, or that lacks the key. */
export interface MissingObject {
  /** As kubectl writes it: `secret/database`; `secret` alone where the kubelet does not say which. */
  readonly object: string
  readonly key?: string
}

/**
 * What is missing, from the kubelet's words about environment variables (pkg/kubelet/kubelet_pods.go) and volumes
 * (pkg/volume/{secret,configmap,projected}); undefined when they are about something else. The kubelet's own cache that
 * is not filled yet ("not registered") is nothing missing.
 */
export function missingObject(message: string): MissingObject | undefined {
  const [, kind, name] = /\b(secret|configmap) "([^"]+)" not found/i.exec(message) ?? []
  if (kind !== undefined) return { object: `${kind.toLowerCase()}/${name}` }
  const [, key, holder, path = ''] = /couldn't find key (\S+) in (Secret|ConfigMap) (\S+)/i.exec(message) ?? []
  if (holder !== undefined && key !== undefined)
    return { object: `${holder.toLowerCase()}/${path.slice(path.indexOf('/') + 1)}`, key }
  const [, source = '', absent] = /references non-existent (secret|config) key: (\S+)/i.exec(message) ?? []
  return absent === undefined ? undefined : { object: source === 'secret' ? 'secret' : 'configmap', key: absent }
}
