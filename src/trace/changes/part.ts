import type { KubeObject } from '../../cluster/objects.ts'

/** What of an object is followed. */
export type Part = 'status' | 'object'

/** Fields of the metadata that change with every write and say nothing of it. */
const noise: ReadonlySet<string> = new Set(['managedFields', 'resourceVersion', 'selfLink'])

/** The part of an object that people read: without noise, and with the hashes of hidden values made short. */
export function partOf(object: KubeObject, part: Part): unknown {
  if (part === 'status') return hide(object.status ?? {})
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([name]) => !noise.has(name)))
  return hide({ ...object, metadata })
}

/** Values of Secrets, ConfigMaps and environments come as keyed hashes (cluster/redact): enough to see that one changed. */
function hide(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/^hmac:([\w-]{6})[\w-]{37}$/, '(hidden, $1)')
  if (Array.isArray(value)) return value.map(hide)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, hide(child)]))
}
