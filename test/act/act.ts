import { spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { stripVTControlCharacters } from 'node:util'
import { stringify } from 'yaml'
import { installGoProgram } from '../cluster/build.ts'

/** The release of act: https://github.com/nektos/act */
const version = 'v0.2.89'

/** Longer than any workflow of the tests; act itself has no limit. */
const limitMs = 180_000

/** An annotation that a step printed. */
export interface Annotation {
  readonly level: 'error' | 'warning' | 'notice'
  readonly message: string
  readonly title?: string
  readonly file?: string
  readonly line?: string
}

/** One step of a workflow run. */
export interface StepRun {
  /** `skipped` also when the step was never reached. */
  result: 'success' | 'failure' | 'skipped'
  /** The step's part of the job log, with masked secrets, without colours and runner commands. */
  log: string
  /** The same of its post step, which runs at the end of the job. */
  postLog: string
  annotations: Annotation[]
  /** Values of the step's `::add-mask::` commands. */
  masks: string[]
  /** The step's part of the job summary. */
  summary: string
  outputs: Record<string, string>
}

/** A finished job. */
export interface JobRun {
  hasPassed: boolean
  /** A step by its `id`; a step of a composite action by `id/id`. */
  step(id: string): StepRun
}

/** A finished run of a workflow. */
export interface WorkflowRun {
  hasPassed: boolean
  /** The log as GitHub shows it, with masked secrets, without `::add-mask::` commands. */
  log: string
  /**
   * A job by act's name for it: `deploy`; `gates-1`, the first leg of a matrix; `eu/Gate/gate`, the job `gate` of a called
   * workflow with the name `Gate`.
   */
  job(name: string): JobRun
}

/** The event that starts a workflow, what the runner's environment has besides the default, and when it is cancelled. */
export interface WorkflowEvent {
  name: 'push' | 'pull_request' | 'merge_group'
  payload?: object
  /** Environment variables of all steps. */
  variables?: Readonly<Record<string, string>>
  /** The workflow is cancelled at the first line of its log that contains this text. */
  cancelAt?: string
}

/** What GitHub has for a repository. */
export interface ActSettings {
  readonly secrets: Readonly<Record<string, string>>
  /** Values of the context `vars`. */
  readonly vars: Readonly<Record<string, string>>
  /** The folder that stands for a released action, by its name: `actions/checkout@v6`. */
  readonly actions: Readonly<Record<string, string>>
}

/** A line of act's output with `--json`. Secrets are masked in `msg` only. */
interface Entry {
  msg: string
  raw_output?: boolean
  /** `Deploy/gates-1`, padded with spaces. */
  job?: string
  jobResult?: 'success' | 'failure'
  stage?: 'Pre' | 'Main' | 'Post'
  stepID?: string[]
  stepResult?: StepRun['result']
  command?: string
  kvPairs?: Record<string, string>
  arg?: string
  content?: string
  name?: string
}

/** Builds act (a minute; then cached). Returns its path. */
export function installAct(): Promise<string> {
  return installGoProgram('act', 'github.com/nektos/act', version)
}

/**
 * Node option that delays the exit by 300 ms. act reads a step through a terminal and stops as soon as the process has
 * failed, so the last lines may be lost otherwise.
 */
const delayedExit = `--import=data:text/javascript,${encodeURIComponent(
  "process.on('exit',()=>Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0,300))",
)}`

/**
 * Runs the workflow `.github/workflows/deploy.yml` of a checkout on this machine, without network. Only jobs with
 * `container:` use containers.
 * @param act the path of the program
 * @param folder for the log and act's files
 * @param env the whole environment of act and the steps. The first `node` on its `PATH` runs the action, whatever
 *   `runs.using` names. Jobs with `container:` need `DOCKER_HOST`, and their steps do not get this environment
 */
export async function runWorkflow(
  act: string,
  checkout: string,
  folder: string,
  { secrets, vars, actions }: ActSettings,
  env: NodeJS.ProcessEnv,
  event: WorkflowEvent,
): Promise<WorkflowRun> {
  mkdirSync(folder, { recursive: true })
  const secretFile = join(folder, 'secrets.yaml')
  writeFileSync(secretFile, stringify(secrets), { mode: 0o600 })
  const eventFile = join(folder, 'event.json')
  writeFileSync(eventFile, JSON.stringify(event.payload ?? {}))
  const options = [
    [event.name, '--json', '--directory', checkout, '--secret-file', secretFile, '--eventpath', eventFile],
    Object.entries(event.variables ?? {}).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    Object.entries(vars).flatMap(([name, value]) => ['--var', `${name}=${value}`]),
    Object.entries(actions).flatMap(([name, path]) => ['--local-repository', `${name}=${path}`]),
    ['--platform', 'ubuntu-latest=-self-hosted', '--container-daemon-socket', '-', '--no-cache-server', '--pull=false'],
    ['--action-cache-path', join(folder, 'act')],
  ].flat()
  const child = spawn(act, options, { env: { ...env, NODE_OPTIONS: delayedExit }, stdio: ['ignore', 'pipe', 'pipe'] })
  const limit = setTimeout(() => child.kill('SIGKILL'), limitMs)
  const entries: Entry[] = []
  let isWaiting = event.cancelAt !== undefined
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      const entry = entryOf(line)
      entries.push(entry)
      if (isWaiting && entry.msg.includes(event.cancelAt ?? '')) {
        isWaiting = false
        child.kill('SIGINT')
      }
    })
  }
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  }).finally(() => {
    clearTimeout(limit)
    rmSync(secretFile)
  })
  const shown = entries.filter(({ command }) => command !== 'add-mask')
  const log = shown.map(({ msg, raw_output: isOutput }) => `${isOutput ? '  | ' : ''}${msg}\n`).join('')
  writeFileSync(join(folder, 'log.txt'), log)
  return { hasPassed: exitCode === 0, log, job: (name) => jobOf(entries, name) }
}

function jobOf(all: readonly Entry[], name: string): JobRun {
  const entries = all.filter(({ job = '' }) => {
    const path = job.trim()
    // The jobs of a called workflow have the path of the calling job.
    return path === name || path.slice(path.indexOf('/') + 1) === name
  })
  if (entries.length === 0) throw new Error(`no job ${name} was run`)
  return {
    hasPassed: entries.some(({ jobResult }) => jobResult === 'success'),
    step: (id) => stepOf(entries.filter(({ stepID = [] }) => stepID.join('/') === id)),
  }
}

function entryOf(line: string): Entry {
  try {
    const entry: Entry = JSON.parse(line)
    return { ...entry, msg: stripVTControlCharacters(entry.msg).replace(/[\r\n]+$/, '') }
  } catch {
    return { msg: line }
  }
}

const levels: ReadonlySet<string> = new Set(['error', 'warning', 'notice'])

function stepOf(entries: readonly Entry[]): StepRun {
  const step: StepRun = {
    result: 'skipped',
    log: '',
    postLog: '',
    annotations: [],
    masks: [],
    summary: '',
    outputs: {},
  }
  for (const entry of entries) {
    const { command = '', arg = '', kvPairs = {} } = entry
    if (entry.stage === 'Post') {
      if (entry.raw_output) step.postLog += `${entry.msg}\n`
      continue
    }
    if (entry.stepResult) step.result = entry.stepResult
    if (entry.raw_output) step.log += `${entry.msg}\n`
    if (command === 'summary') step.summary = entry.content ?? ''
    if (command === 'set-output' && entry.name) step.outputs[entry.name] = arg
    if (command === 'add-mask') step.masks.push(arg)
    if (levels.has(command)) {
      step.annotations.push({ ...kvPairs, level: command as Annotation['level'], message: arg })
    }
  }
  return step
}
