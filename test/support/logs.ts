import type { ServerResponse } from 'node:http'
import type { Pod } from '../../src/cluster/objects.ts'
import type { Cluster } from './cluster.ts'
import { ApiError } from './status.ts'

/** Identifies the log of a container or of its previous instance. */
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
  /** A kubelet writes the lines of one millisecond one after the other. */
  readonly microseconds: number
  /** With its line break; only the last line may have none. */
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

/** The logs of all containers. */
export class LogStore {
  #logs = new Map<string, Log>()
  #now: () => Date

  /** @param now time for the timestamps of lines */
  constructor(now: () => Date) {
    this.#now = now
  }

  /** Replaces the log; followers get only later text. */
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

  /** Ends the followed streams, as after the end of the container. */
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

  /** Sends later text to `follower` until the returned function is called. */
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
    return (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).map((line, index) => ({
      at,
      microseconds: index % 1_000,
      text: line,
    }))
  }
}

/** Parses the query of a log request; throws a 400 for invalid numbers. */
function logOptions(query: URLSearchParams, now: Date): LogOptions {
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

function printed({ at, microseconds, text }: Line, timestamps: boolean): string {
  const fraction = String(microseconds).padStart(3, '0')
  return timestamps ? `${at.toISOString().replace('Z', `${fraction}000Z`)} ${text}` : text
}

function keyOf({ namespace, pod, container, previous = false }: LogRef): string {
  return [namespace, pod, container, previous].join('/')
}

/** Serves `pods/NAME/log`; with `follow` also the text that is appended later. */
export function streamLog(cluster: Cluster, pod: Pod, query: URLSearchParams, response: ServerResponse): void {
  const options = logOptions(query, cluster.now())
  const ref: LogRef = {
    namespace: pod.metadata.namespace ?? '',
    pod: pod.metadata.name,
    container: chosenContainer(pod, query.get('container') ?? ''),
    previous: query.get('previous') === 'true',
  }
  if (!cluster.logs.has(ref)) checkHasRun(pod, ref)

  const stream = cluster.openStream(response, 'text/plain')
  stream.write(cluster.logs.read(ref, options))
  if (query.get('follow') !== 'true') {
    stream.end()
    return
  }
  const unfollow = cluster.logs.follow(ref, {
    onText: (text) => stream.write(text),
    onEnd: () => stream.end(),
    timestamps: options.timestamps,
  })
  stream.onClose(unfollow)
}

/** The container of a log request (kubernetes `pkg/registry/core/pod/strategy.go`, LogLocation). */
function chosenContainer({ metadata: { name }, spec }: Pod, requested: string): string {
  const containers = (spec?.containers ?? []).map((container) => container.name)
  const initContainers = (spec?.initContainers ?? []).map((container) => container.name)
  if (requested !== '') {
    if ([...containers, ...initContainers].includes(requested)) return requested
    throw new ApiError(400, `container ${requested} is not valid for pod ${name}`)
  }
  const [only, ...others] = containers
  if (only !== undefined && others.length === 0) return only
  const inits = initContainers.length > 0 ? ` or one of the init containers: [${initContainers.join(' ')}]` : ''
  throw new ApiError(
    400,
    `a container name must be specified for pod ${name}, choose one of: [${containers.join(' ')}]${inits}`,
  )
}

/** Throws if the container never ran, by its status; else a missing log is empty (kubelet `kubelet_pods.go`). */
function checkHasRun({ status }: Pod, { container, pod, previous }: LogRef): void {
  const containers = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]
  const { state, lastState } = containers.find(({ name }) => name === container) ?? {}
  if (lastState?.terminated) return
  if (previous) throw new ApiError(400, `previous terminated container "${container}" in pod "${pod}" not found`)
  if (state?.waiting) {
    throw new ApiError(
      400,
      `container "${container}" in pod "${pod}" is waiting to start: ${state.waiting.reason ?? ''}`,
    )
  }
}
