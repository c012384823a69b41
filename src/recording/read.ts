import { failureFromStatus } from '../cluster/failures.ts'
import type { FeedEvent } from '../cluster/feed.ts'
import type { KubeObject } from '../cluster/objects.ts'
import { UserError } from '../errors.ts'
import type { Target } from '../plan/target.ts'
import { type RecordingHeader, recordingVersion } from './format.ts'
import { readLines } from './lines.ts'
import { holdsObjects, isObject, readObjects } from './objects.ts'
import { whyMisshapen } from './shape.ts'

/**
 * Reads the header of a recording; what it lacks is completed, so that a few lines written by hand are a recording too.
 * That of a file of bare objects (see `readObjects`) names the first of them as the target.
 * @throws UserError where the file cannot be read, or is no recording
 */
export async function readHeader(path: string): Promise<RecordingHeader> {
  const first = await firstLine(path)
  const header = parse(first) as Partial<RecordingHeader> | undefined | null
  if (header?.recording === recordingVersion || holdsObjects(first)) {
    const completed = await completeHeader(path, holdsObjects(first) ? {} : (header ?? {}))
    if (completed !== undefined) return completed
  }
  const message = `This is no recording: its first line does not say "recording":"${recordingVersion}".`
  throw new UserError([{ input: path, line: 1, message }])
}

async function completeHeader(path: string, header: Partial<RecordingHeader>): Promise<RecordingHeader | undefined> {
  const isDated = !Number.isNaN(Date.parse(header.startedAt ?? ''))
  const first = isDated ? undefined : await firstEvent(path)
  const isBare = header.recording === undefined
  if (isBare && first === undefined) return undefined
  return {
    server: '',
    context: '',
    serverOffsetMs: 0,
    inputs: {},
    ...header,
    recording: recordingVersion,
    startedAt: isDated && header.startedAt ? header.startedAt : new Date(first?.at ?? 0).toISOString(),
    ...(isBare && first !== undefined && 'object' in first ? { targets: [targetOf(first.object)] } : {}),
  }
}

function targetOf({ apiVersion, kind, metadata: { namespace, name } }: KubeObject): Target {
  return { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name, clocks: {} }
}

async function firstEvent(path: string): Promise<FeedEvent | undefined> {
  for await (const event of readEvents(path, () => {})) return event
  return undefined
}

async function firstLine(path: string): Promise<string> {
  try {
    for await (const line of readLines(path)) if (line.trim() !== '') return line
    return ''
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new UserError([{ input: path, message: `The recording cannot be read: ${why}` }])
  }
}

/**
 * The events of a recording in their order, read as a stream. A line that cannot be read ends it: what came before is
 * whole, and `onDamage` hears of the line and why. A line that can be read but says nothing to this version is passed
 * over, and `onSkipped` hears of it.
 */
export async function* readEvents(
  path: string,
  onDamage: (line: number, why: string) => void,
  onSkipped: (line: number, why: string) => void = () => {},
): AsyncGenerator<FeedEvent> {
  let number = 0
  let last: number | undefined
  try {
    for await (const line of readLines(path)) {
      number++
      if (line.trim() === '') continue
      if (last === undefined) {
        if (holdsObjects(line)) {
          yield* readObjects(path, onDamage, onSkipped)
          return
        }
        last = Date.parse((parse(line) as Partial<RecordingHeader> | undefined)?.startedAt ?? '') || 0
        continue
      }
      const event = eventOf(parse(line))
      if (event === undefined) {
        onDamage(number, 'it is no event of a recording')
        return
      }
      // The gate's time never runs backwards, whatever a clock did while it was recorded.
      last = Math.max(last, event.at ?? last)
      const why = whyUseless(event)
      if (why !== undefined) onSkipped(number, why)
      else if (event.type === 'ERROR') yield* failureIn(event, last)
      else yield { ...event, at: last } as FeedEvent
    }
  } catch (error) {
    onDamage(number + 1, error instanceof Error ? error.message : String(error))
  }
}

/** An event as it may be written: only its type is certain, or its object. */
type Written = { readonly type: string; readonly at?: number } & Partial<Record<string, unknown>>

/** What lacks may be left out: the moment is that of the line before, an object without a word of what happened is there. */
function eventOf(line: unknown): Written | undefined {
  if (typeof line !== 'object' || line === null || Array.isArray(line)) return undefined
  const { at: moment, ...event } = (isObject(line) ? { object: line } : line) as Record<string, unknown>
  const at = typeof moment === 'string' ? Date.parse(moment) : undefined
  const type = event['type'] ?? (isObject(event['object']) ? 'ADDED' : undefined)
  if (typeof type !== 'string' || (moment !== undefined && !Number.isFinite(at))) return undefined
  const defaults = type === 'ERROR' ? { code: 0, message: '' } : type === 'LOG' ? { previous: false, text: '' } : {}
  return { ...defaults, ...event, type, ...(at === undefined ? {} : { at }) }
}

/** The failure that an `ERROR` line stands for; none where the server only asks for a new list (410). */
function* failureIn({ type: _type, ...written }: Written, at: number): Generator<FeedEvent> {
  const { code, message, lastSuccessAt, final, apiVersion, kind, namespace, name, labelSelector } = written
  const since = typeof lastSuccessAt === 'string' ? Date.parse(lastSuccessAt) : Number.NaN
  const request = Object.fromEntries(
    Object.entries({ apiVersion, kind, namespace, name, labelSelector }).filter(
      ([, value]) => typeof value === 'string',
    ),
  )
  const failure = failureFromStatus(Number(code) || 0, typeof message === 'string' ? message : '', {
    ...request,
    ...(Number.isNaN(since) ? {} : { lastSuccessAt: since }),
    final: final === true,
  })
  if (failure !== undefined) yield { ...failure, at }
}

function whyUseless(event: Written): string | undefined {
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return isObject(event['object']) ? whyMisshapen(event['object']) : 'its object lacks apiVersion, kind or name'
    case 'DISCOVERY':
      return isResources(event['resources']) ? undefined : 'it lists no resources'
    case 'SYNCED':
    case 'ERROR':
    case 'ALIVE':
    case 'LOG':
    case 'CANCEL':
    case 'END':
      return undefined
    default:
      return `this version knows no ${event.type}`
  }
}

function isResources(resources: unknown): boolean {
  return Array.isArray(resources) && resources.every((each) => typeof each?.kind === 'string')
}

function parse(line: string): unknown {
  try {
    // An editor may have put a byte order mark before the first line, which is white space here and not in JSON.
    return JSON.parse(line.trim())
  } catch {
    return undefined
  }
}
