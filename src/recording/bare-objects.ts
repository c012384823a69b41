import type { FeedEvent } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { errorText } from '../errors.ts'
import { limitObject, maxLineLength, type OnInvalidLine, readText } from './lines.ts'
import { isKubeObject, objectMistake } from './object-schema.ts'

/** Whether a file with this first line contains bare objects. */
export function containsObjects(firstLine: string): boolean {
  const line = firstLine.trim()
  if (line.startsWith('[') || line === '{') return true
  try {
    return isKubeObject(JSON.parse(line))
  } catch {
    return false
  }
}

/**
 * Converts a file of bare objects to events: the output of `kubespy record` (a JSON array of every version of one
 * object) or of `kubectl get -w -o json` (one object after the other). The file contains no event types and no event
 * times, so
 *
 * - the time of a version is the latest time in the object, but never earlier than that of the previous version;
 * - a new uid under the same name means that the object was deleted and created: the store detects this;
 * - the first version counts as the complete first list of its kind.
 *
 * Text that cannot be read ends the events and is reported to `onDamage`. An invalid object is skipped and reported to
 * `onSkipped`.
 */
export async function* readObjects(
  path: string,
  onDamage: OnInvalidLine,
  onSkipped: OnInvalidLine,
): AsyncGenerator<FeedEvent> {
  let at: number | undefined
  let line = 1
  try {
    for await (const text of splitObjects(path)) {
      line = text.line
      const object = limitObject(JSON.parse(text.json)) as KubeObject
      if (!isKubeObject(object)) throw new Error('it is not a Kubernetes object')
      const why = objectMistake(object)
      if (why !== undefined) {
        onSkipped(line, why)
        continue
      }
      const { apiVersion, kind, metadata } = object
      const { namespace } = metadata
      const isFirst = at === undefined
      at = Math.max(at ?? 0, latestTime(object) ?? 0)
      yield { at, type: isFirst ? 'ADDED' : 'MODIFIED', object }
      if (isFirst) yield { at, type: 'SYNCED', apiVersion, kind, namespace }
    }
  } catch (error) {
    onDamage(error instanceof DamageError ? error.line : line, errorText(error))
  }
}

const timeFields = new Set([
  'completionTime',
  'creationTimestamp',
  'finishedAt',
  'lastProbeTime',
  'lastScheduleTime',
  'lastTransitionTime',
  'lastUpdateTime',
  'startTime',
  'startedAt',
  'time',
])

/**
 * The latest time in an object's metadata and status, in milliseconds since the epoch. Excludes fields with future times,
 * such as deletionTimestamp or an expiry date.
 */
function latestTime({ metadata, status }: KubeObject): number | undefined {
  let latest: number | undefined
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, child] of Object.entries(value)) {
      const at = timeFields.has(name) && typeof child === 'string' ? Date.parse(child) : Number.NaN
      if (at > (latest ?? Number.NEGATIVE_INFINITY)) latest = at
      visit(child)
    }
  }
  visit([{ creationTimestamp: metadata.creationTimestamp }, metadata.managedFields, status])
  return latest
}

/** The JSON of an object, with the number of its first line. */
interface ObjectText {
  readonly json: string
  readonly line: number
}

/** The text of each top-level object of a JSON file, without the brackets, commas and spaces between objects. */
async function* splitObjects(path: string): AsyncGenerator<ObjectText> {
  const mark = /["\\{}\n]/g
  let line = 1
  let startLine = 1
  let depth = 0
  let inString = false
  let begun = ''
  let isEscaped = false
  for await (const chunk of readText(path)) {
    let start = 0
    // Skip the character after a backslash, also at the start of the next chunk.
    mark.lastIndex = isEscaped && chunk !== '' ? 1 : 0
    isEscaped = isEscaped && chunk === ''
    for (let match = mark.exec(chunk); match !== null; match = mark.exec(chunk)) {
      const [char] = match
      if (char === '\n') line++
      if (depth === 0 && char !== '\n') {
        checkBetween(chunk.slice(start, match.index), char, line)
        start = match.index
        startLine = line
        depth = 1
      } else if (inString) {
        if (char === '"') inString = false
        if (char === '\\') isEscaped = ++mark.lastIndex > chunk.length
      } else if (char === '"') {
        inString = true
      } else if (char === '{') {
        depth++
      } else if (char === '}' && --depth === 0) {
        yield { json: begun + chunk.slice(start, match.index + 1), line: startLine }
        begun = ''
        start = match.index + 1
      }
    }
    if (depth > 0) begun += chunk.slice(start)
    else checkBetween(chunk.slice(start), '{', line)
    if (begun.length > maxLineLength)
      throw new DamageError(`an object is longer than ${maxLineLength >> 20} MiB`, startLine)
  }
  if (depth > 0) throw new DamageError('the file ends within an object', startLine)
}

function checkBetween(text: string, next: string, line: number): void {
  if (next !== '{' || /[^\s[\],]/.test(text)) throw new DamageError('it is not a list of Kubernetes objects', line)
}

/** The file cannot be read from this line on. */
class DamageError extends Error {
  readonly line: number

  constructor(message: string, line: number) {
    super(message)
    this.line = line
  }
}
