import { isDeepStrictEqual } from 'node:util'
import { isOfKind, type KubeObject, type ManagedFields, replicasOf } from './objects.ts'

/**
 * The name of the client that changed an object, from its `managedFields`: `kubelet (status)`, `kubectl-client-side-apply`.
 *
 * Each entry has the time of its client's last change, in whole seconds
 * (https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers). If a client writes twice within one second,
 * its entry stays the same. The author is then known only if the write changed the status alone and one status entry has the
 * latest time. An entry of the subresource `scale` has no time: a change of `replicas` shows the write. Binding and deletion
 * leave no entry.
 */
export function authorOf(before: KubeObject | undefined, after: KubeObject): string | undefined {
  const entries = after.metadata.managedFields ?? []
  if (before === undefined) return entries.length === 1 ? authorText(entries[0]) : undefined
  const isBound = nodeOf(before) === undefined && nodeOf(after) !== undefined
  if (isBound) return `${schedulerOf(after)} (binding)`

  const written = writtenEntries(before, after)
  if (written.length > 0) return namesOf(written)

  const scalers = entries.filter(({ subresource, time }) => subresource === 'scale' && time === undefined)
  if (replicasOf(before) !== replicasOf(after)) return scalers.length === 1 ? authorText(scalers[0]) : undefined
  if (!differsOnlyInStatus(before, after)) return undefined
  const latest = entries
    .map(({ time = '' }) => time)
    .sort()
    .at(-1)
  const possible = entries.filter(({ subresource, time }) => subresource === 'status' && time === latest)
  return possible.length === 1 ? authorText(possible[0]) : undefined
}

/**
 * The clients that changed an object outside its status. Undefined if `managedFields` does not show them: a client
 * wrote twice within one second, or has no name.
 */
export function specAuthorOf(before: KubeObject, after: KubeObject): string | undefined {
  const written = writtenEntries(before, after).filter(
    ({ manager, subresource }) => subresource !== 'status' && manager !== 'unknown',
  )
  if (written.length > 0) return namesOf(written)
  return replicasOf(before) === replicasOf(after) ? undefined : authorOf(before, after)
}

function writtenEntries(before: KubeObject, after: KubeObject): readonly ManagedFields[] {
  const known = new Map((before.metadata.managedFields ?? []).map((entry) => [authorKey(entry), entry.time]))
  return (after.metadata.managedFields ?? []).filter(
    (entry) => !known.has(authorKey(entry)) || known.get(authorKey(entry)) !== entry.time,
  )
}

function namesOf(entries: readonly ManagedFields[]): string {
  return [...new Set(entries.map(authorText))].join(', ')
}

function authorText({ manager = 'somebody', operation, subresource }: ManagedFields = {}): string {
  const how = [...(operation === 'Apply' ? ['server-side apply'] : []), ...(subresource ? [subresource] : [])]
  return how.length === 0 ? manager : `${manager} (${how.join(', ')})`
}

function authorKey({ manager, operation, subresource }: ManagedFields): string {
  return JSON.stringify([manager, operation, subresource])
}

/** Whether two versions of an object are equal apart from the status and from what each write changes. */
export function differsOnlyInStatus(before: KubeObject, after: KubeObject): boolean {
  const rest = ({ status: _status, metadata, ...object }: KubeObject) => {
    const { resourceVersion: _version, managedFields: _fields, ...others } = metadata
    return { ...object, metadata: others }
  }
  return isDeepStrictEqual(rest(before), rest(after))
}

function nodeOf(object: KubeObject): string | undefined {
  return isOfKind(object, 'Pod') ? object.spec?.nodeName : undefined
}

function schedulerOf(pod: KubeObject): string {
  return (pod.spec as { schedulerName?: string } | undefined)?.schedulerName ?? 'a scheduler'
}
