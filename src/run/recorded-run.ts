import { setImmediate } from 'node:timers/promises'
import { systemClock } from '../cluster/clock.ts'
import type { ApiResource, FeedEvent, WatchRequest } from '../cluster/feed.ts'
import { type EventConsumer, maxTogether } from '../cluster/follower.ts'
import type { KindName } from '../cluster/objects.ts'
import { throwMistakes } from '../errors.ts'
import { type GateSettings, gateSettings } from '../gate/settings.ts'
import { type Inputs, inputDefinitions, parseInputs } from '../inputs.ts'
import { type HealthCheck, readHealthChecks } from '../plan/health-checks.ts'
import { parseReferences } from '../plan/parse-references.ts'
import { noPlan, resolveTargets } from '../plan/resolve.ts'
import type { ParsedReferences } from '../plan/target.ts'
import { counted } from '../reasons/wording.ts'
import { readEvents, readHeader } from '../recording/reader.ts'
import { indexRecording, type RecordingIndex, servesKind } from '../recording/recording-index.ts'
import type { RecordingHeader } from '../recording/writer.ts'
import { maxRecordedMs, replayCancelMs } from '../thresholds.ts'
import { RedactedOutput } from './redacted-output.ts'
import { Run } from './run.ts'
import { completePlan, type FoundTargets, type RunOptions, type RunPlan, resolveKinds } from './run-plan.ts'
import { readChecks } from './start-run.ts'

/* A run on a recording: it passes the recorded events to a gate or view, on a virtual clock. */

interface RecordedRunOptions extends Pick<RunOptions, 'purpose' | 'reporter' | 'secrets' | 'cancelled' | 'usesFlags'> {
  readonly file: string
  /** Values of inputs that replace the recorded values. The keys are names of inputs. */
  readonly overrides: Readonly<Record<string, string>>
  /** References that replace the references of the recorded gate. */
  readonly references?: ParsedReferences | undefined
  /** The time that a view shows, in milliseconds since the start of the gate; by default the end. A gate ignores it. */
  readonly atMs?: number | undefined
  /** Called with a warning about a line of the recording. The first line is 1. */
  readonly warn: (line: number, text: string) => void
}

/** A run on a recording. */
export class RecordedRun extends Run {
  readonly plan: RunPlan
  readonly inputs: Inputs
  readonly output: RedactedOutput
  readonly isLive = false
  readonly #options: RecordedRunOptions
  readonly #index: RecordingIndex
  /** The time that a view shows, in milliseconds since the epoch. */
  readonly #shownAt: number
  /** When the process could last handle signals, in real time. */
  #handledSignalsAt = performance.now()

  /** Called by `RecordedRun.open`, which reads the recording. */
  constructor(options: RecordedRunOptions, index: RecordingIndex, inputs: Inputs, plan: RunPlan) {
    super()
    this.plan = plan
    this.inputs = inputs
    // A recording contains no secrets, so no text waits for them.
    this.output = new RedactedOutput(options.reporter, options.secrets, systemClock)
    this.#options = options
    this.#index = index
    const { atMs } = options
    this.#shownAt = atMs === undefined ? index.lastAt : plan.settings.startedAt + atMs
  }

  /**
   * Opens a recording, with the settings and targets of its gate.
   * @throws UserError with all mistakes, or the reason of the aborted signal
   */
  static async open(options: RecordedRunOptions): Promise<RecordedRun> {
    const { file, overrides, cancelled, warn } = options
    const header = await readHeader(file)
    for (const name of Object.keys(header.inputs))
      if (header.inputs[name] !== null && !inputByName.has(name))
        warn(1, `the input ${name} is unknown to this version, and has no effect.`)
    const inputs = recordedInputs(header, overrides)
    const path = overrides['health-check-exprs']
    if (path === undefined && inputs.healthCheckExprs !== undefined)
      warn(
        1,
        `the recorded gate used the health checks in ${inputs.healthCheckExprs}: pass the file with --health-check-exprs.`,
      )
    // A stranger may have written the recording, so files that the header names are not opened.
    const healthChecks = await readHealthChecks(path)
    const index = await indexRecording(file, cancelled)
    const found = await planRecordedTargets(options, header, inputs, index, healthChecks)
    const plan = await completePlan(found, recordedSettings(header, inputs), healthChecks, options)
    return new RecordedRun(options, index, inputs, plan)
  }

  now(): number {
    return this.#shownAt
  }

  willSync(request: WatchRequest): boolean {
    return this.#index.hasAnswer(request)
  }

  /**
   * Passes the events to a gate at their recorded times, so that the verdict is the same as live. If the recording
   * stops early, the clock goes on to the next deadlines. A gate without deadlines is cancelled. A view gets the events
   * up to the time that it shows.
   * @throws the reason of the aborted signal, if the purpose is not a gate
   */
  async follow(consumer: EventConsumer): Promise<void> {
    const { purpose, cancelled } = this.#options
    if (purpose !== 'gate') {
      await this.#replayUntil(this.#shownAt, consumer)
      return
    }
    let reached = this.plan.settings.startedAt
    const advanceTo = async (at: number) => {
      const end = Math.max(reached, at)
      for (let next = consumer.nextDeadline(); next !== undefined && next < end; next = consumer.nextDeadline()) {
        await this.#handleSignals()
        if (cancelled.aborted) return
        reached = next
        consumer.advance(reached)
      }
      await this.#handleSignals()
      if (!cancelled.aborted) reached = end
    }
    for await (const events of groupByTime(this.#events('replayed'))) {
      await advanceTo(events[0].at)
      if (cancelled.aborted) break
      consumer.handle(events)
    }
    const clocksMs = longestTimeoutMs(this.plan) + (this.plan.afterReady?.holdMs ?? 0)
    if (!cancelled.aborted) await advanceTo(reached + Math.min(clocksMs, maxRecordedMs) + replayCancelMs)
    consumer.handle([{ type: 'CANCEL', at: reached }])
  }

  /** Lets the process handle signals every 50 ms of real time. */
  async #handleSignals(): Promise<void> {
    if (performance.now() - this.#handledSignalsAt < 50) return
    await setImmediate()
    this.#handledSignalsAt = performance.now()
  }

  async #replayUntil(moment: number, consumer: EventConsumer): Promise<void> {
    for await (const events of groupByTime(this.#events('shown'))) {
      if (events[0].at > moment) break
      consumer.handle(events)
    }
    this.#options.cancelled.throwIfAborted()
    consumer.advance(moment)
  }

  /**
   * The events of the recording. At the end, prints one warning for each reason why lines were skipped.
   * @param used what happens to lines before a damaged line, as a word for the warning: `replayed` or `shown`
   */
  async *#events(used: string): AsyncGenerator<FeedEvent> {
    const { file, cancelled, warn } = this.#options
    const { kinds } = this.#index
    const namespaces = new Set(this.plan.targets.map(({ namespace }) => namespace))
    const [only = defaultNamespace(this.#index, this.inputs)] = namespaces.size === 1 ? namespaces : []
    const skipped = new Map<string, { readonly first: number; readonly count: number }>()
    const onDamage = (line: number, why: string) => warn(line, `${why}. Earlier lines are ${used}.`)
    const onSkipped = (line: number, why: string) => {
      const { first = line, count = 0 } = skipped.get(why) ?? {}
      skipped.set(why, { first, count: count + 1 })
    }
    try {
      for await (const event of readEvents(file, onDamage, onSkipped, cancelled)) {
        const object = 'object' in event ? event.object : undefined
        const metadata = object && correctNamespace(object.metadata, object, only, kinds)
        yield metadata === object?.metadata ? event : ({ ...event, object: { ...object, metadata } } as FeedEvent)
      }
    } finally {
      for (const [why, { first, count }] of skipped)
        warn(first, `${why}. ${count === 1 ? 'The line is' : `${counted(count, 'line')} like it are`} skipped.`)
    }
  }
}

/** Groups events of the same time: the live gate handled them together, and decided once. */
async function* groupByTime(events: AsyncIterable<FeedEvent>): AsyncGenerator<readonly [FeedEvent, ...FeedEvent[]]> {
  let moment: [FeedEvent, ...FeedEvent[]] | undefined
  for await (const event of events) {
    if (moment?.[0].at === event.at && moment.length < maxTogether) moment.push(event)
    else {
      if (moment !== undefined) yield moment
      moment = [event]
    }
  }
  if (moment !== undefined) yield moment
}

const noReferences = { references: [], skipped: [], mistakes: [] }

const inputByName = new Map(inputDefinitions.map((definition) => [definition.name, definition]))

/**
 * The inputs of the recorded gate, from the header of its recording.
 * @param overrides values that replace recorded values; the keys are names of inputs
 * @throws UserError with all mistakes
 */
function recordedInputs({ inputs }: RecordingHeader, overrides: RecordedRunOptions['overrides'] = {}): Inputs {
  const written = Object.entries(inputs)
    .filter(([name, value]) => inputByName.get(name)?.isReplayed && value !== null)
    .map(([name, value]) => [name, Array.isArray(value) ? value.join('\n') : String(value)] as const)
  return parseInputs({ ...Object.fromEntries(written), ...overrides })
}

/**
 * The settings of the recorded gate.
 * @param inputs the recorded inputs by default
 * @throws UserError if the recording contains invalid values of inputs
 */
export function recordedSettings(header: RecordingHeader, inputs: Inputs = recordedInputs(header)): GateSettings {
  const { startedAt, server, context, serverOffsetMs } = header
  return gateSettings(inputs, { startedAt: Date.parse(startedAt), context, serverVersion: server, serverOffsetMs })
}

/**
 * Finds the targets, and reads `http-checks` and `hold`. The user's references come first, then the targets in the
 * header, then the `resources` in the header.
 * @throws UserError if the targets cannot be found, or with the mistakes of the checks
 */
async function planRecordedTargets(
  { overrides, references }: RecordedRunOptions,
  header: RecordingHeader,
  inputs: Inputs,
  index: RecordingIndex,
  healthChecks: readonly HealthCheck[],
): Promise<FoundTargets> {
  const { kinds } = index
  const namespace = defaultNamespace(index, inputs)
  const { areTargets } = await import('../recording/recording-schema.ts')
  const isWritten = references !== undefined || overrides['resources'] !== undefined
  // If a target is incomplete or damaged, none is used.
  const ofHeader = isWritten || !areTargets(header.targets) ? [] : header.targets
  const recorded = ofHeader.map((target) => ({ ...target, clocks: target.clocks ?? {} }))
  const written = recorded.length > 0 ? noReferences : (references ?? parseReferences(inputs.resources))
  const parsed = await readChecks(inputs)
  throwMistakes(parsed?.mistakes ?? [])
  const read = { inputs, references: written, streamLogs: [], checks: parsed }
  const [resolution, , resolved] = await resolveKinds(read, kinds, namespace, healthChecks)
  const found =
    recorded.length > 0
      ? { ...noPlan, targets: recorded.map((target) => correctNamespace(target, target, namespace, kinds)) }
      : resolveTargets(resolution, (selection) => index.namesOf(selection))
  const checks = resolved && (await import('../plan/checks.ts')).addNamespaces(resolved, found.targets, namespace)
  return { ...found, kinds, checks }
}

/** The namespace for references that name none. */
function defaultNamespace({ onlyNamespace }: RecordingIndex, { namespace }: Pick<Inputs, 'namespace'>): string {
  return namespace ?? onlyNamespace ?? 'default'
}

/** Adds a missing namespace, or removes it from a cluster-scoped kind: recordings of other tools may be wrong. */
function correctNamespace<T extends { readonly namespace?: string }>(
  named: T,
  { apiVersion, kind }: KindName,
  namespace: string,
  kinds: readonly ApiResource[],
): T {
  const isNamespaced = kinds.find((each) => servesKind(each, apiVersion, kind))?.namespaced
  if (isNamespaced === undefined || isNamespaced === (named.namespace !== undefined)) return named
  if (isNamespaced) return { ...named, namespace }
  const { namespace: _none, ...rest } = named
  return rest as T
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
