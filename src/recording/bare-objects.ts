import type { FeedEvent } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { type OnLine, readText } from './lines.ts'
import { isObject, objectMistake } from './object-schema.ts'

/** Whether a file that begins with this line contains bare objects. */
export function containsObjects(firstLine: string): boolean {
  const line = firstLine.trim()
  if (line.startsWith('[') || line === '{') return true
  try {
    return isObject(JSON.parse(line))
  } catch {
    return false
  }
}

/**
 * The bare objects of a file, as events: what `kubespy record` writes (a JSON array of every version of one object), or
 * `kubectl get -w -o json` (one after the other). They contain no types and moments of events, so
 *
 * - the moment of a version is the latest moment that it contains, and never before that of the version before;
 * - a new uid under one name means that the object was deleted and created: the store recognises that;
 * - the first version is the first list of its kind.
 *
 * Text that cannot be read ends the events and is reported to `onDamage`. An object that no API server would have served
 * is left out and reported to `onSkipped`.
 */
export async function* readObjects(path: string, onDamage: OnLine, onSkipped: OnLine): AsyncGenerator<FeedEvent> {
  let at: number | undefined
  let line = 1
  try {
    for await (const text of splitObjects(path)) {
      line = text.line
      const object = JSON.parse(text.json) as KubeObject
      if (!isObject(object)) throw new Error('it is no Kubernetes object')
      const why = objectMistake(object)
      if (why !== undefined) {
        onSkipped(line, why)
        continue
      }
      const { apiVersion, kind, metadata } = object
      const { namespace } = metadata
      const isFirst = at === undefined
      at = Math.max(at ?? 0, latestMoment(object) ?? 0)
      yield { at, type: isFirst ? 'ADDED' : 'MODIFIED', object }
      if (isFirst) yield { at, type: 'SYNCED', apiVersion, kind, namespace }
    }
  } catch (error) {
    onDamage(error instanceof Damage ? error.line : line, error instanceof Error ? error.message : String(error))
  }
}

const moments = new Set([
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
 * The latest moment in an object's metadata and status, in milliseconds since the epoch. Only fields of past moments count:
 * a deletionTimestamp or an expiry date lies ahead.
 */
function latestMoment({ metadata, status }: KubeObject): number | undefined {
  let latest: number | undefined
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, child] of Object.entries(value)) {
      const at = moments.has(name) && typeof child === 'string' ? Date.parse(child) : Number.NaN
      if (at > (latest ?? Number.NEGATIVE_INFINITY)) latest = at
      visit(child)
    }
  }
  visit([{ creationTimestamp: metadata.creationTimestamp }, metadata.managedFields, status])
  return latest
}

/** The JSON of an object, with its first line. */
interface ObjectText {
  readonly json: string
  readonly line: number
}

/** The objects of a file of JSON, with any brackets, commas and blanks between them. */
async function* splitObjects(path: string): AsyncGenerator<ObjectText> {
  const mark = /["\\{}\n]/g
  let line = 1
  let startLine = 1
  let depth = 0
  let inString = false
  let begun = ''
  let isEscaped = false
  for await (const piece of readText(path)) {
    let start = 0
    // The character after a backslash is skipped, also where it begins the next piece.
    mark.lastIndex = isEscaped && piece !== '' ? 1 : 0
    isEscaped = isEscaped && piece === ''
    for (let match = mark.exec(piece); match !== null; match = mark.exec(piece)) {
      const [char] = match
      if (char === '\n') line++
      if (depth === 0 && char !== '\n') {
        checkBetween(piece.slice(start, match.index), char, line)
        start = match.index
        startLine = line
        depth = 1
      } else if (inString) {
        if (char === '"') inString = false
        if (char === '\\') isEscaped = ++mark.lastIndex > piece.length
      } else if (char === '"') {
        inString = true
      } else if (char === '{') {
        depth++
      } else if (char === '}' && --depth === 0) {
        yield { json: begun + piece.slice(start, match.index + 1), line: startLine }
        begun = ''
        start = match.index + 1
      }
    }
    if (depth > 0) begun += piece.slice(start)
    else checkBetween(piece.slice(start), '{', line)
  }
  if (depth > 0) throw new Damage('the file ends within an object', startLine)
}

function checkBetween(text: string, next: string, line: number): void {
  if (next !== '{' || /[^\s[\],]/.test(text)) throw new Damage('it is no list of Kubernetes objects', line)
}

/** The file cannot be read on from this line. */
class Damage extends Error {
  readonly line: number

  constructor(message: string, line: number) {
    super(message)
    this.line = line
  }
}
