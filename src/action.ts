import { appendFileSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { inspect } from 'node:util'
import * as core from '@actions/core'
import { systemClock } from './cluster/clock.ts'
import { Secrets } from './cluster/secrets.ts'
import { describeMistakes, errorText, type Mistake, throwMistakes, UserError } from './errors.ts'
import { isPassing, type Outcome } from './gate/outcome.ts'
import { type EndedRunRecord, emptyRecord, misconfiguredRecord, openConclusion } from './gate/run-record.ts'
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
import { omitLogsUnlessPrivate, redactRecord } from './report/redact-record.ts'
import { renderSummary } from './report/summary.ts'
import { isManifest } from './report/target-details.ts'
import type { Reporter } from './run/redacted-output.ts'
import { checkInputs, gateRollout } from './run/start-run.ts'
import { findTrackedFiles, linkMistakes, type TrackedFile } from './workspace.ts'

/* Runs an action for GitHub's runner: inputs, log, outputs, summary and annotations. */

const crashMessage = 'Rollout Gate itself failed'

/**
 * Runs an action: reads the inputs, gates the rollout or merges reports, prints the log, and writes the results. Passes
 * or fails the job. Only this function uses the runner and catches all errors.
 */
export async function runAction(action: ActionName): Promise<void> {
  const startedAt = systemClock.now()
  const cancelled = new AbortController()
  const cancel = () => cancelled.abort()
  process.on('SIGINT', cancel).on('SIGTERM', cancel)
  const secrets = new Secrets(maskInLog)
  const state = new JobState()
  const decide = (outcome: Outcome, title: string) => tryToWrite('The state', () => state.decided({ outcome, title }))
  const reportCrash = (error: unknown) => {
    core.setFailed(`${crashMessage}. Please report it with the lines below.`)
    for (const line of safeLines(secrets.redact(inspect(error)))) console.error(line)
    tryToWrite('The outputs', () => setOutputs({ outcome: 'unknown', message: crashMessage }))
  }
  // After an error that rejects no promise of the gate, such as a stream's, the gate might never end.
  const crash = (error: unknown) => {
    reportCrash(error)
    decide('unknown', crashMessage)
    process.stdout.write('', () => process.exit())
  }
  process.on('uncaughtException', crash)
  let extras: Extras | undefined
  // Called last, so that a failed extra does not hide the verdict.
  const finishExtras = async (record: EndedRunRecord) => {
    decide(record.outcome, titleOfRecord(record))
    await extras?.finish(record, cancelled.signal)
  }
  try {
    const texts = inputNames.map((name) => [name, core.getInput(name, { trimWhitespace: false })])
    // Programs that this process starts must not get these variables, which contain the kubeconfig and tokens.
    for (const name of Object.keys(process.env)) if (name.startsWith('INPUT_')) delete process.env[name]
    const read = readInputs(Object.fromEntries(texts), action)
    const run = findWorkflowRun(read.inputs)
    if (read.inputs.githubToken !== undefined) secrets.add(read.inputs.githubToken)
    // Opened before anything can fail: a run with a mistake must replace the green status of an earlier run.
    const links: ExtraOutputs = {}
    const tracked = new Map<string, TrackedFile | 'untracked'>()
    extras = await openExtras(read, run, { tracked, secrets }, recordExtras(state, links))
    const job: Job = { read, run, tracked, secrets, extras, cancelled: cancelled.signal }
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

/** Saves the objects that the extras open, for the post step, and sets them as outputs for later steps. */
function recordExtras(state: JobState, links: ExtraOutputs): Pick<ExtrasHooks, 'onOpened' | 'onClosed'> {
  return {
    onOpened: (opened) => {
      tryToWrite('The state', () => state.opened(opened))
      const { output } = knownExtras[opened.extra]
      const link = opened.url || String(opened.id)
      if (output === undefined || links[output] === link) return
      links[output] = link
      tryToWrite('The outputs', () => setOutputs({ [output]: link }))
    },
    onClosed: (extra) => tryToWrite('The state', () => state.closed(extra)),
  }
}

/**
 * Masks a credential in the log of the whole job. Values of Secrets in the cluster are redacted only in the gate's own
 * output.
 */
function maskInLog(secret: string): void {
  // All secrets of a kubeconfig are masked with one write, before any other output.
  if (process.stdout.writableCorked === 0) {
    process.stdout.cork()
    process.nextTick(() => process.stdout.uncork())
  }
  core.setSecret(secret)
}

/**
 * The post step: closes objects on GitHub that the action left open, because it was killed or GitHub did not answer.
 * Otherwise a required status could block merging for ever. Never fails the job.
 */
export async function runPost(): Promise<void> {
  try {
    const left = readOpenObjects()
    if (left === undefined) return
    const token = core.getInput('github-token')
    // The runner would warn about an empty secret.
    if (token !== '') core.setSecret(token)
    const endedItself = await endAction(left, systemClock)
    // A process that ended by itself has closed its comment. Statuses themselves show whether they are open.
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

/** The inputs, run, secrets and extras of an action, which its functions share. */
interface Job {
  readonly read: ReadInputs
  readonly run: WorkflowRun | Error
  /** The tracked files of the commit; empty until git has listed them. */
  readonly tracked: Map<string, TrackedFile | 'untracked'>
  readonly secrets: Secrets
  readonly extras: Extras | undefined
  readonly cancelled: AbortSignal
}

async function runGate(job: Job): Promise<EndedRunRecord> {
  const { tracked, secrets, extras, cancelled } = job
  const { inputs, mistakes } = job.read
  const now = systemClock.now()
  extras?.begin(emptyRecord(openConclusion, now, now))
  // A missing secret makes the input empty. Then the gate may use another cluster than the user means.
  const onSource = (source: string) => console.log(safeLine(`The input kubeconfig is empty, so ${source} is used.`))
  const onWaiting = (message: string) => console.log(safeLine(secrets.redact(message)))
  const connection = { secrets, onSource, onWaiting, clock: systemClock }
  const references = await readTargetInputs(inputs, workspacePath())
  const links = linkMistakes(inputs, workspacePath())
  // The other checks are left out, because they would read these files.
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
  // Runs in parallel: git is slow, and links are written only after the first requests.
  const finding = findTracked(
    references.references.map(({ manifest }) => manifest),
    job,
  )
  const record = await gateRollout({ ...checked, ...connection, purpose: 'gate', reporter, cancelled })
  await finding
  log.end(record)
  return record
}

/** Merges the reports of other gates. */
async function mergeGates(job: Job): Promise<EndedRunRecord> {
  const { inputs, mistakes } = job.read
  throwMistakes([...mistakes, ...mergeMistakes(job)])
  const { readReportFiles } = await import('./report/report-files.ts')
  const { mergeReports } = await import('./report/merge-reports.ts')
  const files = readReportFiles(inputs.reports.split(/\r?\n/), workspacePath(), 'reports')
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

/** The mistakes of a merge. Reports may be of several environments, so a merge creates no deployment. */
function mergeMistakes({ read, run }: Job): readonly Mistake[] {
  const hasDeployment = !(run instanceof Error) && run.deploymentId !== undefined
  if (!read.inputs.reportTo.includes('deployment') || hasDeployment) return []
  const message = 'No deployment triggered this workflow, and a merge creates none. Write `deployment` in the gates.'
  return [{ input: 'report-to', message }]
}

type ReadInputs = ReturnType<typeof readInputs>

/** The workflow run, or the error that explains why there is none. */
function findWorkflowRun({ sha }: Inputs): WorkflowRun | Error {
  try {
    return currentRun(process.env, sha)
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Finds out which manifests are files of the run's commit. */
async function findTracked(sources: readonly (Source | undefined)[], { run, tracked }: Job): Promise<void> {
  if (run instanceof Error) return
  const files = sources.flatMap((source) => (isManifest(source) ? [source.file] : []))
  // The checked-out commit of a pull request is its merge commit or its head.
  const repository = { url: run.repositoryUrl, commits: [process.env['GITHUB_SHA'], run.headSha] }
  for (const [file, place] of await findTrackedFiles(files, workspacePath(), repository)) tracked.set(file, place)
}

function workspacePath(): string {
  return resolve(process.env['GITHUB_WORKSPACE'] || '.')
}

/** Inputs that decide where extras write. With a mistake in one of them, no extra is written. */
const placesOfExtras = ['name', 'sha']

/** Opens the enabled extras. The client of GitHub's API is loaded only if one is enabled. */
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

/** The record for the report, with the workflow run, and only with logs that everyone may read. */
function publishableRecord(record: EndedRunRecord, { run }: Job): EndedRunRecord {
  if (run instanceof Error) return record
  // The reports of a merge contain only logs that everyone may read.
  return { ...(record.gates === undefined ? omitLogsUnlessPrivate(record, run) : record), run: workflowRunRecord(run) }
}

/**
 * Fails the job unless the outcome passes. Writes outputs, report, summary and annotations: the outputs first, because
 * later steps depend on them. A file that cannot be written causes a warning, and does not change the verdict.
 */
function publish(record: EndedRunRecord, reported: EndedRunRecord, { read, tracked }: Job, extras: ExtraOutputs): void {
  const { summary: isSummaryOn, onSuperseded } = read.inputs
  const hasPassed = isPassing(record, onSuperseded)
  // Not `setFailed`, which would add another error annotation.
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
  // If a superseded gate passes, its annotations are warnings.
  const annotate = hasPassed ? core.warning : core.error
  for (const { title, message, ...place } of buildAnnotations(record, tracked)) annotate(message, { title, ...place })
  for (const { title, message, ...place } of buildWarnings(record, tracked)) core.warning(message, { title, ...place })
}

/** Other users of a self-hosted runner must not read the report, which contains names, events and logs. */
const privateFile = { mode: 0o600 }

/** Writes something. If this fails, prints a warning, and returns undefined. */
function tryToWrite<T>(what: string, action: () => T): T | undefined {
  try {
    return action()
  } catch (error) {
    core.warning(safeLine(`${what} could not be written: ${errorText(error)}`))
    return undefined
  }
}

/** Creates a new folder, because gates of the same job must not overwrite each other's reports. */
function createResultFolder(): string {
  const parent = process.env['RUNNER_TEMP'] || tmpdir()
  // No `recursive`: for a folder under /proc, Node.js would never return.
  if (!existsSync(parent)) mkdirSync(parent)
  return mkdtempSync(join(parent, 'rollout-gate-'))
}
