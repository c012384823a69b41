import type { FeedEvent } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { readText } from './lines.ts'
import { whyMisshapen } from './shape.ts'

/** Whether a file that begins with this line holds bare objects. */
export function holdsObjects(firstLine: string): boolean {
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
 * `kubectl get -w -o json` (one after the other). Nothing says what happened to them or when, so
 *
 * - the moment of a version is the latest moment that it tells of itself, and never before that of the version before;
 * - a new uid under one name means that the object was deleted and created, which whoever takes the events must see;
 * - the first version stands for the first list of its kind.
 *
 * What cannot be read ends it: `onDamage` hears of the line and why. An object that no API server would have served is
 * passed over, and `onSkipped` hears of it.
 */
export async function* readObjects(
  path: string,
  onDamage: (line: number, why: string) => void,
  onSkipped: (line: number, why: string) => void,
): AsyncGenerator<FeedEvent> {
  let at: number | undefined
  let line = 1
  try {
    for await (const text of splitObjects(path)) {
      line = text.line
      const object = JSON.parse(text.json) as KubeObject
      if (!isObject(object)) throw new Error('it is no Kubernetes object')
      const why = whyMisshapen(object)
      if (why !== undefined) {
        onSkipped(line, why)
        continue
      }
      const { apiVersion, kind, metadata } = object
      const { namespace } = metadata
      const isFirst = at === undefined
      at = Math.max(at ?? 0, latestMoment(object) ?? 0)
      yield { at, type: isFirst ? 'ADDED' : 'MODIFIED', object }
      if (isFirst) yield { at, type: 'SYNCED', apiVersion, kind, ...(namespace === undefined ? {} : { namespace }) }
    }
  } catch (error) {
    onDamage(error instanceof Damage ? error.line : line, error instanceof Error ? error.message : String(error))
  }
}

/** Whether a value of JSON can be told from others of its kind: all that the gate demands of an object. */
export function isObject(value: unknown): value is KubeObject {
  const { apiVersion, kind, metadata } = (value ?? {}) as Partial<KubeObject>
  return typeof apiVersion === 'string' && typeof kind === 'string' && typeof metadata?.name === 'string'
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
 * The latest moment that an object's metadata and status tell of, in milliseconds since the epoch. Only fields that say
 * when something happened count: a deletionTimestamp or an expiry date lies ahead.
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

/** An object of JSON as it was written, with the line that it begins in. */
interface Text {
  readonly json: string
  readonly line: number
}

/** The objects of a file of JSON, whatever brackets, commas and blanks stand between them. */
async function* splitObjects(path: string): AsyncGenerator<Text> {
  const mark = /["\\{}\n]/g
  let line = 1
  let startLine = 1
  let depth = 0
  let inString = false
  let begun = ''
  let isEscaped = false
  for await (const piece of readText(path)) {
    let start = 0
    // The character behind a backslash is none of ours, also where a piece ends between them.
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

class Damage extends Error {
  readonly line: number

  constructor(message: string, line: number) {
    super(message)
    this.line = line
  }
}
