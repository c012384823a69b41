import type { Condition, KubeObject } from '../cluster/objects.ts'
import { namesGeneration } from './says.ts'
import type { View } from './view.ts'

/**
 * Until when a good word may still be about the spec before. Many controllers never say of which generation they speak:
 * right after an apply their "Ready" is that of before, until they come by. Where `managedFields` say that the spec was
 * written after the status, they are given the settle time, from that write or at the most from first sight.
 *
 * https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management: the API server dates each manager's
 * last write, and keeps those of the status subresource apart.
 *
 * @param because the conditions that say so; undefined for what is said otherwise
 * @returns milliseconds since the epoch on the runner's clock; undefined when the word can be believed now
 */
export function afterglowUntil(
  object: KubeObject,
  because: readonly (Condition | undefined)[],
  view: View,
): number | undefined {
  const { generation = 1, managedFields = [] } = object.metadata
  const isDated = namesGeneration(object) || because.every((each) => each?.observedGeneration !== undefined)
  // What was only created once has no status of before.
  if (generation <= 1 || isDated) return undefined
  const lastOf = (entries: typeof managedFields) => Math.max(...entries.map(({ time }) => view.time(time) ?? -Infinity))
  const answered = lastOf(managedFields.filter(({ subresource }) => subresource === 'status'))
  const written = lastOf(managedFields.filter(({ subresource }) => subresource === undefined))
  // Whoever writes no status subresource cannot be told from the one who wrote the spec.
  if (answered === -Infinity || answered > written) return undefined
  const until = Math.min(written, view.history.firstSeenAt) + view.settings.settleMs
  return until > view.now ? until : undefined
}
