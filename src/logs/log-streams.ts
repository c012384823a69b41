import type { Clock } from '../cluster/clock.ts'
import { ApiError } from '../cluster/failures.ts'
import type { ContainerRef } from '../cluster/feed.ts'
import type { ContainerStatus, Pod } from '../cluster/objects.ts'
import { Semaphore } from '../cluster/semaphore.ts'
import { containersOf, type PodContainer } from '../lifecycle/workloads/history.ts'
import { ContainerLog, type LogSource, type Run } from './container-log.ts'
import { type Allowance, allowedLines, Dose, heldLines, type Shown } from './dose.ts'
import type { LogNews } from './log-news.ts'

export interface LogStreamsListener {
  readonly onNews: (news: LogNews) => void
  /** Something that the user should know; told once. Not yet escaped. */
  readonly onWarning: (text: string) => void
}

/** A target whose logs are shown. */
export interface StreamedTarget {
  /** Its place among the targets. */
  readonly index: number
  /** Its pods end by themselves: when it is over, so are their logs. */
  readonly ends: boolean
}

export interface LogStreamsOptions {
  readonly targets: readonly StreamedTarget[]
  /** The pods of a target's gated revision, as far as they are known now. */
  readonly podsOf: (target: number) => readonly Pod[]
  readonly source: LogSource
  readonly clock: Clock
  /** When the gate began, on the server's clock. */
  readonly startedAt: number
  readonly listener: LogStreamsListener
}

/** Logs that are read at a time. */
const streamsAtATime = 20
/** What was written so long before the gate began is of what it found, and not of what it gates. */
const beforeStartMs = 10 * 60_000

interface Stream {
  readonly target: number
  readonly log: ContainerLog
  readonly dose: Dose
}

/**
 * Shows the logs of some targets while they are gated: of all containers, init containers and sidecars too, of the pods
 * of the gated revision. It stands beside the gate and decides nothing: whatever becomes of a log, no verdict hears of it.
 */
export class LogStreams {
  readonly #options: LogStreamsOptions
  readonly #slots = new Semaphore(streamsAtATime)
  readonly #allowance: Allowance = { lines: allowedLines }
  readonly #streams = new Map<string, Stream>()
  readonly #warned = new Set<string>()
  #isPlanned = false

  constructor(options: LogStreamsOptions) {
    this.#options = options
  }

  /** Something may have changed: looks once the present turn is over, however often this is called in it. */
  look(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    queueMicrotask(() => {
      this.#isPlanned = false
      this.#look()
    })
  }

  /**
   * Shows what the containers of a target that is over have said to the last, for the given time at the most. Nothing to
   * wait for where nothing of it is shown.
   */
  complete(target: number, withinMs: number): Promise<void> | undefined {
    const streamed = this.#options.targets.find(({ index }) => index === target)
    if (streamed === undefined) return undefined
    this.#look()
    if (streamed.ends) this.#openAll(target)
    const over = [...this.#streams.values()].filter(
      (stream) => stream.target === target && (streamed.ends || stream.log.isOver),
    )
    return over.length === 0 ? undefined : this.#finish(over, withinMs)
  }

  /** Shows what was written by now, for the given time at the most, and ends all streams. */
  async finish(withinMs: number): Promise<void> {
    this.#look()
    for (const { index, ends } of this.#options.targets) if (ends) this.#openAll(index)
    await this.#finish([...this.#streams.values()], withinMs)
  }

  /** Ends all streams at once. */
  close(): void {
    for (const { log, dose } of this.#streams.values()) {
      log.close()
      dose.flush()
    }
  }

  async #finish(streams: readonly Stream[], withinMs: number): Promise<void> {
    if (streams.length === 0) return
    const { promise: late, resolve } = Promise.withResolvers<'late'>()
    const stop = this.#options.clock.after(withinMs, () => resolve('late'))
    const end = await Promise.race([Promise.all(streams.map(({ log }) => log.finish())), late])
    stop()
    if (end === 'late')
      this.#warn('late', 'The last lines of some logs may be missing: the cluster did not give them in time.')
    for (const { log, dose } of streams) {
      log.close()
      dose.flush()
    }
  }

  #look(): void {
    for (const { index } of this.#options.targets) {
      for (const [pod, { container, status }] of this.#containersOf(index)) {
        const run = runOf(status)
        if (run !== undefined) this.#streamOf(index, pod, container.name).log.update(run)
      }
    }
  }

  /** A container's status may come later than the end of its Job: those too are asked that seem not to have started. */
  #openAll(target: number): void {
    for (const [pod, { container }] of this.#containersOf(target)) this.#streamOf(target, pod, container.name)
  }

  #containersOf(target: number): readonly (readonly [Pod, PodContainer])[] {
    return this.#options.podsOf(target).flatMap((pod) => containersOf(pod).map((each) => [pod, each] as const))
  }

  #streamOf(target: number, { metadata }: Pod, container: string): Stream {
    const { namespace = 'default', name: pod, uid = pod } = metadata
    const key = `${target} ${uid} ${container}`
    const stream = this.#streams.get(key) ?? this.#open(target, { namespace, pod, container })
    this.#streams.set(key, stream)
    return stream
  }

  #open(target: number, ref: ContainerRef): Stream {
    const { source, clock, startedAt, listener } = this.#options
    const { pod, container } = ref
    const tell = (news: Pick<LogNews, 'type' | 'text' | 'cutBytes'>) =>
      listener.onNews({ at: clock.now(), target, pod, container, ...news })
    const dose = new Dose(clock, this.#allowance, (shown) => {
      tell(newsOf(shown))
      if (this.#allowance.lines <= 0) this.#warn('allowance', exhaustedWords)
    })
    const around = { source, clock, slots: this.#slots }
    const log = new ContainerLog(
      ref,
      startedAt - beforeStartMs,
      {
        onLine: (line) => dose.take(line),
        onGap: () => dose.skip(),
        onRunEnd: () => dose.flush(),
        onRestart: () => {
          dose.flush()
          tell({ type: 'note', text: 'restarted' })
        },
        onFailure: (error) => this.#warnOf(ref, error),
      },
      around,
    )
    if (this.#slots.isFull) this.#warn('slots', fullWords)
    return { target, log, dose }
  }

  #warnOf({ namespace, pod, container }: ContainerRef, error: unknown): void {
    const status = error instanceof ApiError ? error.status : 0
    const why = error instanceof Error ? error.message : String(error)
    const remedy = status === 403 ? ' Showing logs takes the right to `get` `pods/log`.' : ''
    this.#warn(
      `${namespace} ${status}`,
      `The log of pod ${pod}, container ${container} cannot be shown: ${why}.${remedy} The gate goes on without it.`,
    )
  }

  /** The same of several containers is told once. */
  #warn(key: string, text: string): void {
    if (this.#warned.has(key)) return
    this.#warned.add(key)
    this.#options.listener.onWarning(text)
  }
}

const exhaustedWords = `${allowedLines} lines of logs are shown. From here on only the last ${heldLines} of each container are, at its end.`
const fullWords = `${streamsAtATime} logs are shown at a time. Others follow as these end.`

function newsOf(shown: Shown): Pick<LogNews, 'type' | 'text' | 'cutBytes'> {
  if (shown.type === 'left-out') return { type: 'note', text: leftOutWords(shown) }
  const { text, cutBytes } = shown.line
  return { type: 'line', text, ...(cutBytes === 0 ? {} : { cutBytes }) }
}

function leftOutWords({ lines, orMore }: { readonly lines: number; readonly orMore: boolean }): string {
  if (lines === 0) return 'some lines not shown'
  return `${orMore ? 'more than ' : ''}${lines.toLocaleString('en-US')} ${lines === 1 ? 'line' : 'lines'} not shown`
}

/** Which run a container's status tells of; undefined before its first. */
function runOf(status: ContainerStatus | undefined): Run | undefined {
  const { state = {}, lastState = {}, restartCount = 0 } = status ?? {}
  if (state.running) return { restarts: restartCount, isOver: false }
  // While a restart waits, the count is still that of the run before.
  return state.terminated || lastState.terminated ? { restarts: restartCount, isOver: true } : undefined
}
