import type { RunRecord } from '../gate/run-record.ts'

/* Removes secrets and logs from a record before it leaves the process. */

/**
 * The fields of a record that identify something: names, kinds, codes, times, and what the user wrote. Every other
 * string is a text, which may contain a secret.
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

/** Fields that never leave the process: the facts from which the texts were made. */
const internal: ReadonlySet<string> = new Set(['basis'])

/** A copy of a record (or of a part) that may leave the process: texts are redacted, `internal` fields are left out. */
export function redactRecord<T>(record: T, redact: (text: string) => string): T {
  const redactText = (value: unknown, key: string) =>
    typeof value === 'string' && !identifying.has(key) ? redact(value) : value
  return mapRecord(record, redactText, internal) as T
}

/**
 * A copy of a record (or of a part) without the fields `omitted`.
 * @param change returns the new value of a string, number or boolean. In a list, `key` is the field of the list
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

const shownElsewhere = 'Shown in the job log and the job summary only, because the repository may be public.'

/**
 * The record for everyone who can read the repository. Unless the repository is private, container logs are removed. A
 * log may contain secrets that no rule finds, and the runner masks secrets only in the job log.
 */
export function omitLogsUnlessPrivate<T extends RunRecord>(
  record: T,
  { isPrivate }: { readonly isPrivate: boolean },
): T {
  if (isPrivate) return record
  return {
    ...record,
    targets: record.targets.map((target) => ({
      ...target,
      hint: target.hintWithoutLog ?? target.hint,
      problems: target.problems.map((problem) => ({
        ...problem,
        evidence: problem.evidence.map((piece) => (piece.type === 'log' ? { ...piece, text: shownElsewhere } : piece)),
      })),
    })),
  }
}
