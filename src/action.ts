import { appendFileSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { inspect } from 'node:util'
import * as core from '@actions/core'
import { systemClock } from './cluster/clock.ts'
import { Secrets } from './cluster/secrets.ts'
import { describeMistakes, errorText, type Mistake, throwMistakes, UserError } from './errors.ts'
import { isPassing, type Outcome } from './gate/outcome.ts'
import { type EndedRunRecord, emptyRecord, misconfiguredRecord, pendingRecord } from './gate/run-record.ts'
import type { Extras, ExtrasHooks } from './github/extras.ts'
import { describeExtra } from './github/failure.ts'
import { endAction, JobState, readOpenObjects } from './github/job-state.ts'
import { currentRun, type WorkflowRun, workflowRunRecord } from './github/workflow-run.ts'
import { type ActionName, type Inputs, inputNames, knownExtras, readInputs } from './inputs.ts'
import { buildOutputs, type ExtraOutputs, setOutputs } from './outputs.ts'
import { readTargetInputs } from './plan/parse-references.ts'
import type { Source } from './plan/target.ts'
import { annotationPlace, buildAnnotations, buildWarnings } from './report/annotations.ts'
import { safeLine, safeLines } from './report/escape.ts'
import { titleOfRecord } from './report/headline.ts'
import { renderReport } from './report/json-report.ts'
import { LogPrinter, renderMergedLog } from './report/log.ts'
import { omitPublicLogs, redactRecord } from './report/redact-record.ts'
import { renderSummary } from './report/summary.ts'
import { isManifest } from './report/target-details.ts'
import type { Reporter } from './run/redacted-output.ts'
import { checkInputs, gateRollout } from './run/start-run.ts'
import { findTrackedFiles, linkMistakes, type TrackedFile } from './workspace.ts'

const crashMessage = 'Rollout Gate itself failed'

/**
 * An action: reads the inputs, gates the rollout or merges reports, prints the log, writes the summary and outputs, passes
 * or fails the job. Only this function uses the runner and catches all errors.
 */
export async function runAction(action: ActionName): Promise<void> {
  const startedAt = systemClock.now()
  const cancelled = new AbortController()
  const cancel = () => cancelled.abort()
  process.on('SIGINT', cancel).on('SIGTERM', cancel)
  const secrets = new Secrets()
  const state = new JobState()
  const decide = (outcome: Outcome, title: string) => tryToWrite('The state', () => state.decided({ outcome, title }))
  const reportCrash = (error: unknown) => {
    core.setFailed(`${crashMessage}. Please report it with the lines below.`)
    for (const line of safeLines(secrets.redact(inspect(error)))) console.error(line)
    tryToWrite('The outputs', () => setOutputs({ outcome: 'unknown', message: crashMessage }))
  }
  // For an error that rejects no promise of the gate, such as an error of a stream. The gate might never end.
  const crash = (error: unknown) => {
    reportCrash(error)
    decide('unknown', crashMessage)
    process.stdout.write('', () => process.exit())
  }
  process.on('uncaughtException', crash)
  let extras: Extras | undefined
  // Called last: a failed extra must not hide the verdict.
  const finishExtras = async (record: EndedRunRecord) => {
    decide(record.outcome, titleOfRecord(record))
    await extras?.finish(record, cancelled.signal)
  }
  try {
    const texts = inputNames.map((name) => [name, core.getInput(name, { trimWhitespace: false })])
    // These variables contain the kubeconfig and tokens: no program that this process starts must get them.
    for (const name of Object.keys(process.env)) if (name.startsWith('INPUT_')) delete process.env[name]
    const read = readInputs(Object.fromEntries(texts), action)
    const run = workflowRun(read.inputs)
    const mask = (secret: string) => maskOnce(secret, secrets)
    if (read.inputs.githubToken !== undefined) mask(read.inputs.githubToken)
    // Before anything can fail: a run with a mistake must not leave the green status of an earlier run.
    const links: ExtraOutputs = {}
    const tracked = new Map<string, TrackedFile | 'untracked'>()
    extras = await openExtras(read, run, { tracked, secrets }, recordExtras(state, links))
    const job: Job = { read, run, tracked, secrets, mask, extras, cancelled: cancelled.signal }
    const work = action === 'merge' ? mergeGates(job) : runGate(job)
    const record = await work.catch((error: unknown) => {
      if (!(error instanceof UserError)) throw error
      for (const text of describeMistakes(error.mistakes)) core.error(safeLine(secrets.redact(text)))
      return redactRecord(misconfiguredRecord(error, startedAt, systemClock.now()), secrets.redact)
    })
    publish(record, publishableRecord(record, job), job, links)
    await finishExtras(record)
  } catch (error) {
    reportCrash(error)
    const conclusion = { outcome: 'unknown', reason: '', message: crashMessage } as const
    await finishExtras(emptyRecord(conclusion, startedAt, systemClock.now()))
  } finally {
    process.off('SIGINT', cancel).off('SIGTERM', cancel).off('uncaughtException', crash)
  }
}

/** Records the objects that the extras open: for the step at the end of the job, and as outputs for later steps. */
function recordExtras(state: JobState, links: ExtraOutputs): Pick<ExtrasHooks, 'onOpened' | 'onClosed'> {
  return {
    onOpened: (opened) => {
      tryToWrite('The state', () => state.opened(opened))
      const { output } = knownExtras[opened.extra]
      const link = opened.url || String(opened.id)
      if (output === undefined || links[output.name] === link) return
      links[output.name] = link
      tryToWrite('The outputs', () => setOutputs({ [output.name]: link }))
    },
    onClosed: (extra) => tryToWrite('The state', () => state.closed(extra)),
  }
}

/** Masks a secret in the log, unless it is masked already: credentials that are read again contain the same secrets. */
function maskOnce(secret: string, secrets: Secrets): void {
  if (secrets.has(secret)) return
  secrets.add(secret)
  // One write for all secrets of a kubeconfig, still before any other output.
  if (process.stdout.writableCorked === 0) {
    process.stdout.cork()
    process.nextTick(() => process.stdout.uncork())
  }
  core.setSecret(secret)
}

/**
 * The step at the end of the job: closes what the action left open on GitHub, since it was killed, or because GitHub did not
 * answer in time. Without this step, a required status could block merging for ever. Never fails the job.
 */
export async function runPost(): Promise<void> {
  try {
    const left = readOpenObjects()
    if (left === undefined) return
    const token = core.getInput('github-token')
    // The runner warns about an empty mask.
    if (token !== '') core.setSecret(token)
    const endedItself = await endAction(left, systemClock)
    // A process that ended by itself has closed its comment. Statuses show whether they are open.
    const open = endedItself ? left.open.filter(({ extra }) => extra !== 'comment') : left.open
    const { closeExtras, createOctokit } = await import('./github/extras.ts')
    await closeExtras(
      { ...left, open },
      { octokit: createOctokit(token), run: currentRun(process.env, undefined), clock: systemClock },
      {
        onClosed: (extra) => console.log(`${describeExtra(extra)} was still open, and is closed now.`),
        onWarning: (text) => core.warning(safeLine(text)),
      },
    )
  } catch (error) {
    for (const line of safeLines(inspect(error))) console.log(line)
  }
}

/** What the steps of an action share. */
interface Job {
  readonly read: ReadInputs
  readonly run: WorkflowRun | Error
  /** Empty until git has listed the files of the commit. */
  readonly tracked: Map<string, TrackedFile | 'untracked'>
  readonly secrets: Secrets
  readonly mask: (secret: string) => void
  readonly extras: Extras | undefined
  readonly cancelled: AbortSignal
}

async function runGate(job: Job): Promise<EndedRunRecord> {
  const { tracked, secrets, mask, extras, cancelled } = job
  const { inputs, mistakes } = job.read
  extras?.begin(pendingRecord(systemClock.now()))
  // If the secret of the input is missing, this may be another cluster than the user means.
  const onSource = (source: string) => console.log(safeLine(`The input kubeconfig is empty, so ${source} is used.`))
  const onWaiting = (message: string) => console.log(safeLine(secrets.redact(message)))
  const connection = { mask, secrets, onSource, onWaiting, clock: systemClock }
  const references = await readTargetInputs(inputs, workspace())
  const links = linkMistakes(inputs, workspace())
  // The other checks would read these files.
  if (links.length > 0) throw new UserError([...mistakes, ...references.mistakes, ...links])
  const checked = await checkInputs(inputs, references, mistakes, connection)
  const print = (lines: readonly string[]) => {
    for (const line of lines) console.log(line)
  }
  const log = new LogPrinter(print, { color: !process.env['NO_COLOR'], groups: true })
  const reporter: Reporter = {
    onStart: (present, notices) => {
      log.onStart(present, notices)
      extras?.start(present)
    },
    onEntry: (entry) => {
      log.onEntry(entry)
      extras?.update()
    },
    onLog: (output) => log.onLog(output),
    onWarning: (text, source) => core.warning(safeLine(text), { ...annotationPlace(source, tracked) }),
  }
  // In parallel: git needs longer than reading the inputs, and the first link is written after the first requests.
  const finding = findTracked(
    references.references.map(({ manifest }) => manifest),
    job,
  )
  const record = await gateRollout({ ...checked, ...connection, purpose: 'gate', reporter, cancelled })
  await finding
  log.end(record)
  return record
}

/** Merges the reports of other gates. The modules that read reports are loaded only for this. */
async function mergeGates(job: Job): Promise<EndedRunRecord> {
  const { inputs, mistakes } = job.read
  throwMistakes([...mistakes, ...mergeMistakes(job)])
  const { readReportFiles } = await import('./report/report-files.ts')
  const { mergeReports } = await import('./report/merge-reports.ts')
  const files = readReportFiles(inputs.reports.split(/\r?\n/), workspace(), 'reports')
  const own = job.run instanceof Error ? undefined : workflowRunRecord(job.run)
  for (const { path, record } of files) {
    const attempt = record?.run?.attempt ?? Infinity
    if (own === undefined || record?.run?.id !== own.id || attempt >= own.attempt) continue
    core.warning(
      safeLine(`${path} is of attempt ${attempt} of this run: its job did not run again, or ended before its gate.`),
    )
  }
  const record = redactRecord(mergeReports(files, systemClock.now(), own), job.secrets.redact)
  await findTracked(
    record.targets.map(({ source }) => source),
    job,
  )
  for (const line of renderMergedLog(record, { color: !process.env['NO_COLOR'], groups: true })) console.log(line)
  return record
}

/** Reports may be of several environments, so only a deployment that triggered the workflow can show the merged outcome. */
function mergeMistakes({ read, run }: Job): readonly Mistake[] {
  const hasDeployment = !(run instanceof Error) && run.deploymentId !== undefined
  if (!read.inputs.reportTo.includes('deployment') || hasDeployment) return []
  const message = 'No deployment triggered this workflow, and a merge creates none. Write `deployment` in the gates.'
  return [{ input: 'report-to', message }]
}

type ReadInputs = ReturnType<typeof readInputs>

/** The workflow run, or why there is none. */
function workflowRun({ sha }: Inputs): WorkflowRun | Error {
  try {
    return currentRun(process.env, sha)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Finds out which manifests the run's commit contains. */
async function findTracked(sources: readonly (Source | undefined)[], { run, tracked }: Job): Promise<void> {
  if (run instanceof Error) return
  const files = sources.flatMap((source) => (isManifest(source) ? [source.file] : []))
  // The checkout of a pull request is its merge or its head.
  const repository = { url: run.repositoryUrl, commits: [process.env['GITHUB_SHA'], run.headSha] }
  for (const [file, place] of await findTrackedFiles(files, workspace(), repository)) tracked.set(file, place)
}

function workspace(): string {
  return resolve(process.env['GITHUB_WORKSPACE'] || '.')
}

/** With a mistake in one of these inputs, an extra would write to another place than the user means. */
const placesOfExtras = ['name', 'sha']

/** The enabled extras. GitHub's API is loaded only if one is enabled. */
async function openExtras(
  { inputs, mistakes }: ReadInputs,
  run: WorkflowRun | Error,
  { tracked, secrets }: Pick<Job, 'tracked' | 'secrets'>,
  state: Pick<ExtrasHooks, 'onOpened' | 'onClosed'>,
): Promise<Extras | undefined> {
  if (inputs.reportTo.length === 0) return undefined
  if (inputs.githubToken === undefined || mistakes.some(({ input }) => placesOfExtras.includes(input))) return undefined
  const cause = run instanceof Error ? run.message : run.conflict
  if (run instanceof Error || cause !== undefined) {
    core.warning(safeLine(`report-to is off: ${cause}`))
    return undefined
  }
  const { openExtras } = await import('./github/extras.ts')
  const hooks = {
    ...state,
    onWarning: (text: string) => core.warning(safeLine(secrets.redact(text))),
    onNotice: (text: string) => console.log(safeLine(secrets.redact(text))),
  }
  return openExtras(inputs, run, tracked, hooks, systemClock)
}

/** The record for the report: with the workflow run, and only with logs that may be published. Unchanged outside of a workflow. */
function publishableRecord(record: EndedRunRecord, { run }: Job): EndedRunRecord {
  if (run instanceof Error) return record
  // Merged reports contain only logs that may be published.
  return { ...(record.gates === undefined ? omitPublicLogs(record, run) : record), run: workflowRunRecord(run) }
}

/**
 * Fails the job unless the outcome passes; writes outputs, report, summary and annotations. The outputs come first,
 * since later steps depend on them. If a file cannot be written, there is a warning, and the verdict does not change.
 */
function publish(record: EndedRunRecord, reported: EndedRunRecord, { read, tracked }: Job, extras: ExtraOutputs): void {
  const { summary: isSummaryOn, onSuperseded } = read.inputs
  const hasPassed = isPassing(record, onSuperseded)
  // `setFailed` would add a second error.
  if (!hasPassed) process.exitCode = 1
  const folder = tryToWrite('The folder of the report', createResultFolder)
  const files =
    folder === undefined ? undefined : { report: join(folder, 'report.json'), summary: join(folder, 'summary.md') }
  tryToWrite('The outputs', () => setOutputs(buildOutputs(record, { report: '', summary: '', ...files, extras })))
  if (files !== undefined)
    tryToWrite('The report', () => writeFileSync(files.report, renderReport(reported), privateFile))
  const summary = renderSummary(record, { reportPath: files?.report, tracked })
  if (files !== undefined) tryToWrite('The summary file', () => writeFileSync(files.summary, summary, privateFile))
  const stepSummary = process.env['GITHUB_STEP_SUMMARY']
  if (stepSummary && isSummaryOn) tryToWrite('The job summary', () => appendFileSync(stepSummary, summary))
  // A superseded gate that passes gets warnings instead of errors.
  const annotate = hasPassed ? core.warning : core.error
  for (const { title, message, ...place } of buildAnnotations(record, tracked)) annotate(message, { title, ...place })
  for (const { title, message, ...place } of buildWarnings(record, tracked)) core.warning(message, { title, ...place })
}

/** Other users of a self-hosted runner must not read names, events and logs. */
const privateFile = { mode: 0o600 }

/** Runs an action that writes. If it fails, there is a warning, and the result is undefined. */
function tryToWrite<T>(what: string, action: () => T): T | undefined {
  try {
    return action()
  } catch (error) {
    core.warning(safeLine(`${what} could not be written: ${errorText(error)}`))
    return undefined
  }
}

/** A new folder: several gates of one job must not overwrite each other's reports. */
function createResultFolder(): string {
  const parent = process.env['RUNNER_TEMP'] || tmpdir()
  // With `recursive`, Node.js never returns for a folder under /proc.
  if (!existsSync(parent)) mkdirSync(parent)
  return mkdtempSync(join(parent, 'rollout-gate-'))
}
