import { ApiError } from './status.ts'

/** The log of one container, or of the one that ran before it. */
export interface LogRef {
  readonly namespace: string
  readonly pod: string
  readonly container: string
  readonly previous?: boolean
}

/** The query of a log request (`v1.PodLogOptions`). */
export interface LogOptions {
  readonly tailLines?: number
  readonly limitBytes?: number
  readonly sinceTime?: Date
  readonly timestamps: boolean
}

interface Line {
  readonly at: Date
  /** With its line break; only the last line may lack one. */
  readonly text: string
}

interface Log {
  lines: Line[]
  ended: boolean
  readonly followers: Set<Follower>
}

interface Follower {
  readonly onText: (text: string) => void
  readonly onEnd: () => void
  readonly timestamps: boolean
}

/** What containers have written, as far as tests say so. */
export class LogStore {
  #logs = new Map<string, Log>()
  #now: () => Date

  /** `now` stamps the lines. */
  constructor(now: () => Date) {
    this.#now = now
  }

  /** Replaces the whole log, for those who follow it too: they go on from what is appended. */
  set(ref: LogRef, text: string): void {
    const log = this.#log(ref)
    log.lines = this.#split(text)
    log.ended = false
  }

  append(ref: LogRef, text: string): void {
    const log = this.#log(ref)
    const lines = this.#split(text)
    log.lines.push(...lines)
    for (const { onText, timestamps } of log.followers) onText(lines.map((line) => printed(line, timestamps)).join(''))
  }

  /** The container has stopped: those who follow its log are told that there is no more. */
  end(ref: LogRef): void {
    const log = this.#log(ref)
    log.ended = true
    for (const { onEnd } of log.followers) onEnd()
    log.followers.clear()
  }

  has(ref: LogRef): boolean {
    return this.#logs.has(keyOf(ref))
  }

  read(ref: LogRef, { tailLines, limitBytes, sinceTime, timestamps }: LogOptions): string {
    let lines = this.#logs.get(keyOf(ref))?.lines ?? []
    if (sinceTime !== undefined) lines = lines.filter(({ at }) => at >= sinceTime)
    if (tailLines !== undefined) lines = tailLines === 0 ? [] : lines.slice(-tailLines)
    const text = lines.map((line) => printed(line, timestamps)).join('')
    return limitBytes === undefined ? text : Buffer.from(text).subarray(0, limitBytes).toString()
  }

  /** Tells `follower` what is appended from now on, until the returned function is called. */
  follow(ref: LogRef, follower: Follower): () => void {
    const log = this.#log(ref)
    if (log.ended) follower.onEnd()
    else log.followers.add(follower)
    return () => log.followers.delete(follower)
  }

  #log(ref: LogRef): Log {
    const key = keyOf(ref)
    const log = this.#logs.get(key) ?? { lines: [], ended: false, followers: new Set() }
    this.#logs.set(key, log)
    return log
  }

  #split(text: string): Line[] {
    const at = this.#now()
    return (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).map((line) => ({ at, text: line }))
  }
}

/** Reads the query of a log request; throws a 400 for numbers that are none. */
export function logOptions(query: URLSearchParams, now: Date): LogOptions {
  const tailLines = count(query, 'tailLines')
  const limitBytes = count(query, 'limitBytes')
  const sinceSeconds = count(query, 'sinceSeconds')
  const since = query.get('sinceTime') ?? (sinceSeconds === undefined ? undefined : now.getTime() - sinceSeconds * 1000)
  return {
    ...(tailLines !== undefined && { tailLines }),
    ...(limitBytes !== undefined && { limitBytes }),
    ...(since !== undefined && { sinceTime: new Date(since) }),
    timestamps: query.get('timestamps') === 'true',
  }
}

function count(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^\d+$/.test(text)) throw new ApiError(400, `PodLogOptions "" is invalid: ${name}: Invalid value: "${text}"`)
  return Number(text)
}

function printed({ at, text }: Line, timestamps: boolean): string {
  return timestamps ? `${at.toISOString().replace('Z', '000000Z')} ${text}` : text
}

function keyOf({ namespace, pod, container, previous = false }: LogRef): string {
  return [namespace, pod, container, previous].join('/')
}
