import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../cluster/clock.ts'
import type { FeedEvent, WatchRequest } from '../cluster/feed.ts'
import { Exit } from '../exit.ts'
import type { Gate } from '../gate/gate.ts'
import { type Purpose, settingsFor } from '../gate/settings.ts'
import type { Inputs } from '../inputs.ts'
import { loadChecks } from '../lifecycle/rules.ts'
import { readHealthChecks } from '../plan/health-check-entries.ts'
import type { ParsedReferences } from '../plan/reference.ts'
import { counted } from '../reasons/wording.ts'
import { readEvents } from '../recording/reader.ts'
import { inputsOf, planReplay, type ReplayPlan, recordedChecks, settingsOf } from '../recording/recorded-plan.ts'
import { indexRecording, type RecordingIndex } from '../recording/recording-index.ts'
import type { RecordingHeader } from '../recording/writer.ts'
import { maxRecordedMs, replayCancelMs, replaySliceMs } from '../thresholds.ts'
import type { View } from '../trace/views.ts'
import { Run, type RunPlan } from './run.ts'
import type { RunOptions } from './run-inputs.ts'

/** The clock of a replay: recorded time passes so many times as fast as real time. */
export interface ReplayTime {
  now(): number
  /**
   * Waits until `at`, a time of the recording, and returns the time reached: earlier only if the replay was cancelled.
   * Called only while the gate is open.
   */
  waitUntil(at: number, now: number): Promise<number>
}

interface RecordedRunOptions extends Pick<RunOptions, 'reporter' | 'secrets' | 'cancelled' | 'usesFlags'> {
  readonly file: string
  readonly header: RecordingHeader
  readonly purpose: Purpose
  /** Values of inputs that replace the recorded ones, by name. */
  readonly overrides: Readonly<Record<string, string>>
  /** The user's own references; by default those of the recorded gate. */
  readonly references?: ParsedReferences | undefined
  /** The moment that is shown, in milliseconds since the start of the gate; by default the end. A gate goes on beyond it. */
  readonly atMs?: number | undefined
  /** By default, a replay does not wait. */
  readonly time?: ReplayTime | undefined
  /** Called with a warning about a line of the recording; the first is 1. */
  readonly warn: (line: number, text: string) => void
}

/** A run on a recording. */
export class RecordedRun extends Run {
  readonly plan: RunPlan & ReplayPlan
  readonly inputs: Inputs
  readonly exit: Exit
  readonly cluster = undefined
  readonly #options: RecordedRunOptions
  readonly #index: RecordingIndex

  /** Use `open`. */
  constructor(options: RecordedRunOptions, index: RecordingIndex, inputs: Inputs, plan: RunPlan & ReplayPlan) {
    super()
    this.plan = plan
    this.inputs = inputs
    // A recording contains no secrets that a text could wait for.
    this.exit = new Exit(options.reporter, options.secrets, systemClock, 0)
    this.#options = options
    this.#index = index
  }

  /**
   * Reads a recording with the settings and targets of its gate.
   * @throws UserError with every mistake, or the reason of the signal
   */
  static async open(options: RecordedRunOptions): Promise<RecordedRun> {
    const { file, header, purpose, overrides, references, cancelled, usesFlags = false, warn } = options
    const { inputs, unknown } = inputsOf(header, overrides)
    for (const name of unknown) warn(1, `the input ${name} is unknown to this version, and has no effect.`)
    const path = overrides['health-check-exprs']
    if (path === undefined && inputs.healthCheckExprs !== undefined)
      warn(
        1,
        `the recorded gate used the health checks in ${inputs.healthCheckExprs}: pass the file with --health-check-exprs.`,
      )
    // A recording may be of a stranger: what it names is not opened.
    const healthChecks = await readHealthChecks(path)
    const index = await indexRecording(file, cancelled)
    const replayed = await planReplay(index, header, inputs, overrides, healthChecks, references)
    const checks = await loadChecks(replayed.targets, index.kinds)
    const settings = { ...settingsOf(header, inputs), healthChecks, ...checks }
    return new RecordedRun(options, index, inputs, {
      annotations: [],
      manifests: new Map(),
      ...replayed,
      settings: settingsFor(purpose, settings),
      references: references ?? { input: 'resources' },
      afterReady: purpose === 'gate' ? await recordedChecks(inputs, index, replayed.targets) : undefined,
      usesFlags,
    })
  }

  /** The moment that a view shows. */
  now(): number {
    const { atMs, time } = this.#options
    return time?.now() ?? (atMs === undefined ? this.#index.lastAt : this.plan.settings.startedAt + atMs)
  }

  willSync(request: WatchRequest): boolean {
    return this.#index.hasAnswer(request)
  }

  /** The recording contains only what its gate has watched. */
  namesOf(request: WatchRequest): readonly string[] | undefined {
    const names = this.#index.namesOf(request)
    return names.length > 0 ? names : undefined
  }

  /**
   * Passes the events to a gate, on a virtual clock: the verdict is the same as in the live run. The clocks go on beyond the last
   * line, so a recording that stops early ends by a deadline. A gate without clocks is cancelled.
   */
  async follow(gate: Gate): Promise<void> {
    const { purpose, cancelled, time } = this.#options
    const handle = (event: FeedEvent) => gate.handle(event)
    if (purpose !== 'gate') return this.#showEvents(handle)
    const waitUntil = time?.waitUntil ?? sliced(cancelled)
    let reached = this.plan.settings.startedAt
    const advanceTo = async (at: number) => {
      const end = Math.max(reached, at)
      for (let next = gate.nextDeadline(); next !== undefined && next.at < end; next = gate.nextDeadline()) {
        reached = await waitUntil(next.at, reached)
        if (cancelled.aborted) return
        gate.advance(reached)
      }
      reached = gate.verdict === undefined ? await waitUntil(end, reached) : end
    }
    for await (const event of this.#events('replayed')) {
      await advanceTo(event.at)
      if (cancelled.aborted) break
      handle(event)
    }
    const clocksMs = longestTimeoutMs(this.plan) + (this.plan.afterReady?.holdMs ?? 0)
    if (!cancelled.aborted) await advanceTo(reached + Math.min(clocksMs, maxRecordedMs) + replayCancelMs)
    gate.handle({ type: 'CANCEL', at: reached })
  }

  /** Shows the view as it is at its moment. */
  async show(view: View): Promise<boolean> {
    await this.#showEvents((event) => view.handle(event))
    view.draw(this.now(), true)
    return true
  }

  /** @throws the reason of the signal */
  async #showEvents(handle: (event: FeedEvent) => void): Promise<void> {
    const until = this.now()
    for await (const event of this.#events('shown')) {
      if (event.at > until) break
      handle(event)
    }
    this.#options.cancelled.throwIfAborted()
  }

  /** The events. Then warns once for each reason why this version cannot use lines. */
  async *#events(used: string): AsyncGenerator<FeedEvent> {
    const { file, cancelled, warn } = this.#options
    const skipped = new Map<string, { readonly first: number; readonly count: number }>()
    const onDamage = (line: number, why: string) => warn(line, `${why}. Earlier lines are ${used}.`)
    const onSkipped = (line: number, why: string) => {
      const { first = line, count = 0 } = skipped.get(why) ?? {}
      skipped.set(why, { first, count: count + 1 })
    }
    try {
      for await (const event of readEvents(file, onDamage, onSkipped, cancelled))
        yield this.plan.correctNamespace(event)
    } finally {
      for (const [why, { first, count }] of skipped)
        warn(first, `${why}. ${count === 1 ? 'The line is' : `${counted(count, 'line')} like it are`} skipped.`)
    }
  }
}

/** A clock that does not wait, but lets the process handle signals. */
function sliced(cancelled: AbortSignal): ReplayTime['waitUntil'] {
  let since = performance.now()
  return async (at, now) => {
    if (performance.now() - since < replaySliceMs) return at
    await setImmediate()
    since = performance.now()
    return cancelled.aborted ? now : at
  }
}

function longestTimeoutMs({ targets, settings }: RunPlan): number {
  const clocks = [settings, ...targets.map((target) => target.clocks)]
  const isAwaited = targets.some(({ revisions }) => revisions !== undefined)
  const longestMs = Math.max(
    ...clocks.flatMap(({ timeoutMs = 0, stallTimeoutMs = 0, milestoneTimeoutsMs = {} }) => [
      timeoutMs,
      stallTimeoutMs,
      ...Object.values(milestoneTimeoutsMs),
    ]),
  )
  return longestMs + (isAwaited ? settings.awaitRevisionMs : 0)
}
