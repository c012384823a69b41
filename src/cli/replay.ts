import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { explain } from '../diagnosis/explain.ts'
import { type Mistake, UserError } from '../errors.ts'
import { gateTimeoutMs } from '../gate/settings.ts'
import { type EndedTimeline, misconfiguredTimeline } from '../gate/timeline.ts'
import { parseInputs } from '../inputs.ts'
import { readHealthChecks } from '../plan/health-checks.ts'
import { parseReferences } from '../plan/references.ts'
import { readHeader } from '../recording/reader.ts'
import { indexRecording } from '../recording/recording-index.ts'
import { type ReplayHooks, replay as replayRecording } from '../recording/replay.ts'
import { inputsOf, planReplay, settingsOf } from '../recording/replay-plan.ts'
import type { RecordingHeader } from '../recording/writer.ts'
import { plain } from '../report/escape.ts'
import { count } from '../report/wording.ts'
import type { Arguments } from './arguments.ts'
import { type Surface, tell } from './output.ts'
import { inputsAmong, onFlag } from './prepare.ts'
import { openStory } from './story.ts'
import { complain, exitCodeOf, reportLine } from './verdict.ts'

/** What the flags say of every file. */
interface Options {
  readonly given: ReadonlyMap<string, string>
  /** Inputs that go before the recorded ones. */
  readonly overrides: Readonly<Record<string, string>>
  /** Recorded time for each second of real time; by default no time passes at all. */
  readonly speed: number | undefined
  readonly isJson: boolean
}

/** `replay`: the verdict on each recording, in their order. Returns the worst exit code of them. */
export async function replay(args: Arguments, surface: Surface): Promise<number> {
  const { given, files } = args
  const overrides = inputsAmong(given)
  const mistakes = [...args.mistakes]
  const speed = readSpeed(given.get('speed'), mistakes)
  if (files.length === 0) mistakes.push({ input: 'FILE', message: 'Say which recording to replay.' })
  try {
    parseInputs(overrides, mistakes)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    complain(surface.stderr, new UserError(error.mistakes.map(onFlag), error.reason))
    return 2
  }
  const options = { given, overrides, speed, isJson: given.has('json') }
  let worst = 0
  for (const [index, file] of files.entries()) {
    if (surface.cancelled.aborted) break
    if (files.length > 1 && !options.isJson) {
      if (index > 0) surface.stdout.write('\n')
      tell(surface.stdout, `${file}:`)
    }
    worst = Math.max(worst, await replayFile(file, options, surface))
  }
  return worst
}

async function replayFile(file: string, options: Options, surface: Surface): Promise<number> {
  const { stdout, stderr } = surface
  let header: RecordingHeader | undefined
  try {
    header = await readHeader(file)
    const { timeline, code } = await judge(file, header, options, surface)
    if (options.isJson) stdout.write(reportLine(timeline))
    return code
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    const inFile = new UserError(
      error.mistakes.map((mistake) => mistakeIn(file, mistake)),
      error.reason,
    )
    complain(stderr, inFile)
    const startedAt = Date.parse(header?.startedAt ?? '') || 0
    const timeline = misconfiguredTimeline(inFile, startedAt, startedAt)
    if (options.isJson) stdout.write(reportLine(timeline))
    return exitCodeOf(timeline)
  }
}

/**
 * A recording names the file of its health checks, which may be elsewhere by now: then the kinds' own rules hold, and the
 * user is told. A file that he names himself must be there.
 */
async function recordedHealthChecks(path: string | undefined, isNamed: boolean, onMissing: (why: string) => void) {
  if (path === undefined || isNamed || existsSync(path)) return readHealthChecks(path)
  onMissing(`it was judged by the health checks of ${plain(path)}, which is not here: give it by --health-checks.`)
  return []
}

async function judge(
  file: string,
  header: RecordingHeader,
  { given, overrides, speed, isJson }: Options,
  surface: Surface,
): Promise<{ timeline: EndedTimeline; code: number }> {
  const { stderr, cancelled } = surface
  const { inputs, unknown } = inputsOf(header, overrides)
  for (const name of unknown)
    tell(stderr, `${file}, line 1: this version knows no input ${name}; it has no effect here.`)
  const healthChecks = await recordedHealthChecks(
    inputs.healthChecks,
    overrides['health-checks'] !== undefined,
    (why) => tell(stderr, `${file}, line 1: ${why}`),
  )
  const settings = { ...settingsOf(header, inputs), healthChecks }
  const resources = overrides['resources']
  const index = await indexRecording(file)
  const plan = planReplay(index, header, inputs, resources === undefined ? undefined : parseReferences(resources))
  const { startedAt, context, stallTimeoutMs, serverOffsetMs } = settings
  const timeoutMs = gateTimeoutMs(settings, plan.targets)

  // A report is all that is asked for, or the lines of the log as fast as they come; only in real time there is a present to see.
  const story = openStory(isJson ? silence : surface.stdout, given, surface, { live: speed !== undefined })
  const skipped = new Map<string, { line: number; count: number }>()
  const time = speed === undefined ? undefined : new ReplayTime(startedAt, speed, cancelled)
  const hooks: ReplayHooks = {
    index,
    place: plan.place,
    cancelled,
    onEntry: (entry) => story.entry(entry),
    onDamage: (line, why) => tell(stderr, `${file}, line ${line}: ${why}. What comes before it is replayed.`),
    onSkipped: (line, why) => {
      const known = skipped.get(why)
      skipped.set(why, { line: known?.line ?? line, count: (known?.count ?? 0) + 1 })
    },
    ...(time === undefined
      ? {}
      : { waitUntil: (at) => time.passTo(at), onGate: (gate) => story.watch(() => gate.timeline(time.now)) }),
  }
  try {
    story.begin({ startedAt, context, timeoutMs, stallTimeoutMs, ...plan })
    const gate = await replayRecording(file, plan.targets, settings, hooks)
    const { verdict, ...rest } = explain(gate.timeline(), gate.store, serverOffsetMs)
    if (verdict === undefined) throw new Error(`${file}: the replay ended without a verdict`)
    const timeline = { ...rest, verdict }
    story.end(timeline)
    return { timeline, code: exitCodeOf(timeline, inputs.onSuperseded) }
  } finally {
    story.close()
    for (const [why, { line, count: n }] of skipped) {
      tell(
        stderr,
        `${file}, line ${line}: ${why}. ${n === 1 ? 'The line is' : `${count(n, 'line')} like it are`} passed over.`,
      )
    }
  }
}

const silence = { write: () => {} }

/** The recording's time while it passes in step with real time. */
class ReplayTime {
  readonly #startedAt: number
  readonly #speed: number
  readonly #cancelled: AbortSignal
  readonly #beganAt = performance.now()

  constructor(startedAt: number, speed: number, cancelled: AbortSignal) {
    this.#startedAt = startedAt
    this.#speed = speed
    this.#cancelled = cancelled
  }

  get now(): number {
    return Math.round(this.#startedAt + (performance.now() - this.#beganAt) * this.#speed)
  }

  async passTo(at: number): Promise<number> {
    const signal = this.#cancelled
    // Timers of Node.js end at 24 days, and a wait that is aborted is over.
    const waitMs = Math.min((at - this.now) / this.#speed, 2 ** 31 - 1)
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => {})
    return signal.aborted ? Math.min(at, this.now) : at
  }
}

function readSpeed(written: string | undefined, mistakes: Mistake[]): number | undefined {
  if (written === undefined) return undefined
  const speed = Number(written)
  if (speed > 0 && speed <= 1e6) return speed
  mistakes.push({ input: '--speed', message: 'Write 1 for real time, 10 for ten times as fast, or leave it out.' })
  return undefined
}

function mistakeIn(file: string, mistake: Mistake): Mistake {
  return mistake.input === file ? mistake : { ...mistake, input: `${file}: ${mistake.input}` }
}
