import type { MissingObject } from '../reasons/containers.ts'

/**
 * The missing Secret or ConfigMap in the kubelet's message about an environment variable (pkg/kubelet/kubelet_pods.go) or a
 * volume (pkg/volume/{secret,configmap,projected}); undefined for any other message. `not registered` is about the kubelet's
 * own cache, which is not filled yet.
 */
export function missingObject(message: string): MissingObject | undefined {
  const [, absent = '', name] = /\b(secret|configmap) "([^"]+)" not found/i.exec(message) ?? []
  if (name !== undefined) return { kind: kindOf(absent), name }
  const [, key, holder = '', path = ''] = /couldn't find key (\S+) in (Secret|ConfigMap) (\S+)/i.exec(message) ?? []
  if (key !== undefined) return { kind: kindOf(holder), name: path.slice(path.indexOf('/') + 1), key }
  const [, source = '', reference] = /references non-existent (secret|config) key: (\S+)/i.exec(message) ?? []
  return reference === undefined ? undefined : { kind: kindOf(source), key: reference }
}

function kindOf(word: string): MissingObject['kind'] {
  return word.toLowerCase() === 'secret' ? 'secret' : 'configmap'
}
