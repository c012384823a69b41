/** Replaces the secrets of a text. */
export type Redact = (text: string) => string

/**
 * The fields of a record that identify: names, kinds, codes, times, and what the user wrote. Every other string is a text, which
 * may contain a secret.
 */
const identifying: ReadonlySet<string> = new Set([
  'apiVersion',
  'causedBy',
  'causedByNamespace',
  'chain',
  'change',
  'class',
  'commit',
  'container',
  'context',
  'createdAt',
  'file',
  'form',
  'gate',
  'id',
  'kind',
  'name',
  'namespace',
  'outcome',
  'path',
  'pod',
  'reason',
  'selector',
  'source',
  'state',
  'status',
  'subject',
  'target',
  'type',
  'version',
])

/** The facts behind the texts: they stay in the process. */
const internal: ReadonlySet<string> = new Set(['basis'])

/** A record, or a part of one, as it may leave the process: with its texts redacted, and without the facts behind them. */
export function redactRecord<T>(record: T, redact: Redact): T {
  const leave = (value: unknown, key: string) =>
    typeof value === 'string' && !identifying.has(key) ? redact(value) : value
  return mapRecord(record, leave, internal) as T
}

/**
 * A copy of a record, or of a part of one, without the fields `omitted`.
 * @param change returns the new value of a text, number or boolean by the key of its field, also in a list
 */
export function mapRecord(
  part: unknown,
  change: (value: unknown, key: string) => unknown,
  omitted: ReadonlySet<string> = new Set(),
  key = '',
): unknown {
  if (Array.isArray(part)) return part.map((each) => mapRecord(each, change, omitted, key))
  if (typeof part !== 'object' || part === null) return change(part, key)
  const fields = Object.entries(part).filter(([name, value]) => value !== undefined && !omitted.has(name))
  return Object.fromEntries(fields.map(([name, value]) => [name, mapRecord(value, change, omitted, name)]))
}
