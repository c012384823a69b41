import { appendFileSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as core from '@actions/core'
import { systemClock } from './cluster/clock.ts'
import { Secrets } from './cluster/secrets.ts'
import { describeMistake, UserError } from './errors.ts'
import { passes } from './gate/outcome.ts'
import type { EndedTimeline } from './gate/timeline.ts'
import { redactTimeline } from './gate/timeline.ts'
import type { Extras } from './github/extras.ts'
import { readInputs } from './input-files.ts'
import { type Inputs, inputs as inputNames } from './inputs.ts'
import { misconfigured, neverBegun } from './never-begun.ts'
import type { Reference } from './plan/references.ts'
import { readTargetInputs } from './plan/references.ts'
import { buildAnnotations } from './report/annotations.ts'
import { plain } from './report/escape.ts'
import { renderReport } from './report/json-report.ts'
import {
  type LogLayout,
  LogPrinter,
  layoutLog,
  renderEvidence,
  renderHeader,
  renderLogOutput,
  renderVerdict,
} from './report/log.ts'
import { buildOutputs } from './report/outputs.ts'
import { renderSummary } from './report/summary.ts'
import { isManifest } from './report/target-details.ts'
import { gateRollout, type Listener } from './rollout.ts'

/** What the extras on GitHub may take after the verdict; a cancelled job is killed 10 s after it was told so. */
const extrasMs = 10_000
const extrasWhenCancelledMs = 4_000

/**
 * The action: reads inputs, gates, prints, writes summary and outputs, passes or fails the job. The only place that talks
 * to the runner, and the only one that catches everything.
 */
export async function runAction(): Promise<void> {
  const startedAt = systemClock.now()
  const cancelled = new AbortController()
  const cancel = () => cancelled.abort()
  process.on('SIGINT', cancel).on('SIGTERM', cancel)
  const secrets = new Secrets()
  let extras: Extras | undefined
  // Whatever happens to the extras, the verdict is out by then.
  const finish = (timeline: EndedTimeline) =>
    extras?.finish(timeline, cancelled.signal.aborted ? extrasWhenCancelledMs : extrasMs)
  try {
    const whole = await gate(secrets, cancelled.signal, (opened) => {
      extras = opened
    }).catch((error: unknown) => tellMistakes(error, startedAt))
    // The runner masks its log; files, and what goes to GitHub, nobody does.
    const timeline = redactTimeline(whole, secrets.redact)
    publish(timeline)
    await finish(timeline)
  } catch (error) {
    const message = 'Rollout Gate itself failed'
    core.setFailed(`${message}. Please report it with the lines below.`)
    console.error(error)
    setOutputs({ outcome: 'unknown', message })
    await finish(neverBegun({ outcome: 'unknown', reason: '', message }, startedAt, systemClock.now()))
  } finally {
    process.off('SIGINT', cancel).off('SIGTERM', cancel)
  }
}

async function gate(
  secrets: Secrets,
  cancelled: AbortSignal,
  onExtras: (extras: Extras) => void,
): Promise<EndedTimeline> {
  const raw = Object.fromEntries(inputNames.map(({ name }) => [name, core.getInput(name, { trimWhitespace: false })]))
  // Credentials that are read again bring the same secrets again.
  const mask = (secret: string) => {
    if (!secrets.has(secret)) core.setSecret(secret)
    secrets.add(secret)
  }
  const token = raw['github-token']?.trim()
  if (token) mask(token)
  const workspace = process.env['GITHUB_WORKSPACE'] || process.cwd()
  const parsed = await readTargetInputs({ resources: raw['resources'], manifests: raw['manifests'] }, workspace)
  const inputs = await readInputs(raw, parsed, [], { mask })
  const extras = await openExtras(inputs, parsed.references)
  if (extras !== undefined) onExtras(extras)
  let layout: LogLayout | undefined
  let entries: LogPrinter | undefined
  const listener: Listener = {
    mask,
    onHead: (head) => {
      layout = layoutLog(head, { color: usesColor() })
      entries = new LogPrinter(layout, (line) => console.log(line))
      console.log(renderHeader(head, layout))
      for (const text of head.notices) console.log(plain(text))
    },
    onStart: (look) => extras?.start(() => redactTimeline(look(systemClock.now()), secrets.redact)),
    onEntry: (entry) => {
      entries?.entry(entry)
      extras?.update()
    },
    onLog: (output) => {
      if (layout !== undefined) console.log(renderLogOutput(output, layout))
    },
    onWarning: (text, source) =>
      core.warning(plain(text), isManifest(source) ? { file: source.file, startLine: source.line } : {}),
    cancelled,
  }
  const timeline = await gateRollout(inputs, raw, parsed, listener)
  entries?.flush()
  const shown = layout ?? layoutLog({ ...timeline, targets: [] }, { color: usesColor() })
  for (const line of [...renderVerdict(timeline, shown), ...renderEvidence(timeline, shown)]) console.log(line)
  return timeline
}

/** The extras that are on. What they need of GitHub's API is loaded for them alone. */
async function openExtras(inputs: Inputs, references: readonly Reference[]): Promise<Extras | undefined> {
  if (!inputs.checkRun && !inputs.deploymentStatus && !inputs.comment) return undefined
  const listener = {
    onWarning: (text: string) => core.warning(plain(text)),
    onNotice: (text: string) => console.log(plain(text)),
  }
  try {
    const { openExtras } = await import('./github/extras.ts')
    return openExtras(inputs, references, listener, systemClock)
  } catch (error) {
    // The event's file, which is read while the module loads, may be anything.
    listener.onWarning(
      `check-run, deployment-status and comment are off: ${error instanceof Error ? error.message : error}`,
    )
    return undefined
  }
}

/** What only the user can mend is told and is an outcome; anything else is a mistake of ours. */
function tellMistakes(error: unknown, startedAt: number): EndedTimeline {
  if (!(error instanceof UserError)) throw error
  for (const mistake of error.mistakes) core.error(plain(describeMistake(mistake)))
  return misconfigured(error, startedAt, systemClock.now())
}

function publish(timeline: EndedTimeline): void {
  const folder = resultFolder()
  const report = join(folder, 'report.json')
  const summaryFile = join(folder, 'summary.md')
  writeFileSync(report, renderReport(timeline))
  const base = sourceBaseUrl()
  const summary = renderSummary(timeline, {
    reportPath: report,
    ...(base === undefined ? {} : { sourceBaseUrl: base }),
  })
  writeFileSync(summaryFile, summary)
  const stepSummary = process.env['GITHUB_STEP_SUMMARY']
  if (stepSummary && core.getInput('summary').toLowerCase() !== 'false') appendSummary(stepSummary, summary)
  setOutputs({ ...buildOutputs(timeline), report, 'summary-file': summaryFile })
  const hasPassed = passes(timeline, core.getInput('on-superseded') === 'pass' ? 'pass' : 'fail')
  // A job that passes has no error to show: that another change took over is worth a warning then.
  const annotate = hasPassed ? core.warning : core.error
  for (const { title, message, ...place } of buildAnnotations(timeline)) annotate(message, { title, ...place })
  // `setFailed` would be a second error about the same.
  if (!hasPassed) process.exitCode = 1
}

/** A summary that cannot be written is no reason to fail the job. */
function appendSummary(path: string, summary: string): void {
  try {
    appendFileSync(path, summary)
  } catch (error) {
    core.warning(plain(`The job summary could not be written: ${error instanceof Error ? error.message : error}`))
  }
}

/** A folder of this run's own: several gates of one job must not overwrite each other's reports. */
function resultFolder(): string {
  const parent = process.env['RUNNER_TEMP'] || tmpdir()
  mkdirSync(parent, { recursive: true })
  return mkdtempSync(join(parent, 'rollout-gate-'))
}

function setOutputs(outputs: Readonly<Record<string, string>>): void {
  // Without the file core falls back to a command that runners no longer take.
  if (!existsSync(process.env['GITHUB_OUTPUT'] ?? '')) return
  for (const [name, value] of Object.entries(outputs)) core.setOutput(name, value)
}

function sourceBaseUrl(): string | undefined {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, GITHUB_SHA: sha } = process.env
  return server && repository && sha ? `${server}/${repository}/blob/${sha}/` : undefined
}

function usesColor(): boolean {
  return !process.env['NO_COLOR']
}
