import type { Clock } from '../cluster/clock.ts'
import { isForbidden, messageOf, statusOf } from '../cluster/failures.ts'
import type { ContainerRef } from '../cluster/feed.ts'
import type { ContainerStatus, Pod } from '../cluster/objects.ts'
import { Semaphore } from '../cluster/semaphore.ts'
import { containersOf, type PodContainer } from '../lifecycle/workloads/history.ts'
import { ContainerLog, type ContainerRun, type LogSource } from './container-log.ts'
import { allowedLines, heldLines, type LineAllowance, LogThrottle, type ThrottledLine } from './log-throttle.ts'

/** A line of a container's log, or a note about the log. Not yet escaped. */
export interface LogOutput {
  /** When it arrived, in milliseconds since the epoch. */
  readonly at: number
  /** The target's place among the targets. */
  readonly target: number
  readonly pod: string
  readonly container: string
  readonly type: 'line' | 'note'
  readonly text: string
  /** How many bytes are left out of a line that is too long. */
  readonly cutBytes?: number
}

export interface LogStreamsListener {
  readonly onOutput: (output: LogOutput) => void
  /** Called once for the same warning. Not yet escaped. */
  readonly onWarning: (text: string) => void
}

/** A target whose logs are shown. */
export interface StreamedTarget {
  /** Its place among the targets. */
  readonly index: number
  /** Whether its pods end by themselves, as those of a Job: their logs end with the target. */
  readonly podsEnd: boolean
}

export interface LogStreamsOptions {
  readonly targets: readonly StreamedTarget[]
  /** The known pods of a target's gated revision. */
  readonly podsOf: (target: number) => readonly Pod[]
  readonly source: LogSource
  readonly clock: Clock
  /** When the gate began, on the server's clock. */
  readonly startedAt: number
  readonly listener: LogStreamsListener
}

const streamsAtATime = 20
/** Older lines are not read: they are of earlier rollouts. */
const beforeStartMs = 10 * 60_000

interface Stream {
  readonly target: number
  readonly log: ContainerLog
  readonly throttle: LogThrottle
}

/**
 * Shows the logs of some targets while they are gated: of all containers, also init containers and sidecars, of the pods
 * of the gated revision. Decides nothing: a log never changes a verdict.
 */
export class LogStreams {
  readonly #options: LogStreamsOptions
  readonly #slots = new Semaphore(streamsAtATime)
  readonly #allowance: LineAllowance = { lines: allowedLines }
  readonly #streams = new Map<string, Stream>()
  readonly #warned = new Set<string>()
  #isScheduled = false

  constructor(options: LogStreamsOptions) {
    this.#options = options
  }

  /** Pods may have changed: reads them once after all changes of the present turn. */
  update(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(() => {
      this.#isScheduled = false
      this.#updateRuns()
    })
  }

  /**
   * Shows the last lines of the ended containers of a target, within the given time. Undefined when none of its logs is
   * shown.
   */
  complete(target: number, withinMs: number): Promise<void> | undefined {
    const streamed = this.#options.targets.find(({ index }) => index === target)
    if (streamed === undefined) return undefined
    this.#updateRuns()
    if (streamed.podsEnd) this.#openAll(target)
    const ended = [...this.#streams.values()].filter(
      (stream) => stream.target === target && (streamed.podsEnd || stream.log.hasEnded),
    )
    return ended.length === 0 ? undefined : this.#finish(ended, withinMs)
  }

  /** Shows what was written until now, within the given time, and ends all streams. */
  async finish(withinMs: number): Promise<void> {
    this.#updateRuns()
    for (const { index, podsEnd } of this.#options.targets) if (podsEnd) this.#openAll(index)
    await this.#finish([...this.#streams.values()], withinMs)
  }

  /** Ends all streams at once. */
  close(): void {
    closeAll(this.#streams.values())
  }

  async #finish(streams: readonly Stream[], withinMs: number): Promise<void> {
    if (streams.length === 0) return
    const { promise: late, resolve } = Promise.withResolvers<'late'>()
    const stop = this.#options.clock.after(withinMs, () => resolve('late'))
    const end = await Promise.race([Promise.all(streams.map(({ log }) => log.finish())), late])
    stop()
    if (end === 'late')
      this.#warn('late', 'The last lines of some logs may be missing: the cluster did not give them in time.')
    closeAll(streams)
  }

  #updateRuns(): void {
    for (const { index } of this.#options.targets) {
      for (const [pod, { container, status }] of this.#containersOf(index)) {
        const run = runOf(status)
        if (run !== undefined) this.#streamOf(index, pod, container.name).log.update(run)
      }
    }
  }

  /** A container's status may arrive after the end of its Job, so containers without a start are read too. */
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
    const show = (output: Pick<LogOutput, 'type' | 'text' | 'cutBytes'>) =>
      listener.onOutput({ at: clock.now(), target, pod, container, ...output })
    const throttle = new LogThrottle(clock, this.#allowance, (line) => {
      show(outputOf(line))
      if (this.#allowance.lines <= 0) this.#warn('allowance', allowanceUsedUp)
    })
    const log = new ContainerLog(
      ref,
      startedAt - beforeStartMs,
      {
        onLine: (line) => throttle.add(line),
        onGap: () => throttle.addGap(),
        onRunEnd: () => throttle.flush(),
        onRestart: () => {
          throttle.flush()
          show({ type: 'note', text: 'restarted' })
        },
        onFailure: (error) => this.#warnUnreadable(ref, error),
      },
      { source, clock, slots: this.#slots },
    )
    if (this.#slots.isFull) this.#warn('slots', allSlotsTaken)
    return { target, log, throttle }
  }

  #warnUnreadable({ namespace, pod, container }: ContainerRef, error: unknown): void {
    const remedy = isForbidden(error) ? ' Showing logs takes the right to `get` `pods/log`.' : ''
    this.#warn(
      `${namespace} ${statusOf(error)}`,
      `The log of pod ${pod}, container ${container} cannot be shown: ${messageOf(error)}.${remedy} The gate goes on without it.`,
    )
  }

  #warn(key: string, text: string): void {
    if (this.#warned.has(key)) return
    this.#warned.add(key)
    this.#options.listener.onWarning(text)
  }
}

const allowanceUsedUp = `${allowedLines} lines of logs are shown. From here on only the last ${heldLines} of each container are, at its end.`
const allSlotsTaken = `${streamsAtATime} logs are shown at a time. Others follow as these end.`

function closeAll(streams: Iterable<Stream>): void {
  for (const { log, throttle } of streams) {
    log.close()
    throttle.flush()
  }
}

function outputOf(throttled: ThrottledLine): Pick<LogOutput, 'type' | 'text' | 'cutBytes'> {
  if (throttled.type === 'left-out') return { type: 'note', text: leftOutNote(throttled) }
  const { text, cutBytes } = throttled.line
  return { type: 'line', text, cutBytes: cutBytes || undefined }
}

function leftOutNote({ lines, orMore }: { readonly lines: number; readonly orMore: boolean }): string {
  if (lines === 0) return 'some lines not shown'
  return `${orMore ? 'more than ' : ''}${lines.toLocaleString('en-US')} ${lines === 1 ? 'line' : 'lines'} not shown`
}

/** The latest run in a container's status; undefined before the first. */
function runOf(status: ContainerStatus | undefined): ContainerRun | undefined {
  const { state = {}, lastState = {}, restartCount = 0 } = status ?? {}
  if (state.running) return { restarts: restartCount, hasEnded: false }
  // While a restart is pending, the count is still that of the previous run.
  return state.terminated || lastState.terminated ? { restarts: restartCount, hasEnded: true } : undefined
}
