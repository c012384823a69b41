import { type ChildProcess, spawn } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'yaml'

const root = resolve(import.meta.dirname, '../..')

/** A finished run of the action. */
export interface ActionRun {
  exitCode: number | null
  /** Standard output and error, in order. */
  log: string
  outputs: Record<string, string>
  /** The job summary. */
  summary: string
  /** The variables of the step at the end of the job. */
  state: Record<string, string>
  startedAt: number
  endedAt: number
}

/** A running action. */
export interface StartedAction {
  /** Resolves with the first log line of a target, or at the end. */
  watching: Promise<void>
  ended: Promise<ActionRun>
  /** Sends a signal, as the runner does to a cancelled job. */
  kill(signal: 'SIGINT' | 'SIGTERM'): void
}

export interface ActionOptions {
  /** Overrides the variables of the runner; undefined: not set. */
  readonly env?: NodeJS.ProcessEnv
  readonly onText?: (text: string) => void
}

/** A log line that starts with the elapsed time, possibly coloured. */
const targetLine = /^\S{0,5} *\d+:\d\d/m

/** The folders, variables and output of one run of the action. */
export class RunnerJob {
  readonly workspace: string
  readonly env: NodeJS.ProcessEnv
  readonly watching = Promise.withResolvers<void>()
  readonly #files: { readonly output: string; readonly summary: string; readonly state: string }
  readonly #logFile: string
  readonly #onText: (text: string) => void
  readonly #startedAt = Date.now()
  #log = ''

  constructor(
    folder: string,
    inputs: Readonly<Record<string, string>>,
    { env = {}, onText = () => {} }: ActionOptions = {},
  ) {
    this.#files = {
      output: join(folder, 'outputs.txt'),
      summary: join(folder, 'summary.md'),
      state: join(folder, 'state.txt'),
    }
    this.workspace = join(folder, 'workspace')
    const temp = join(folder, 'temp')
    for (const path of [this.workspace, temp]) mkdirSync(path, { recursive: true })
    for (const path of [...Object.values(this.#files), join(folder, 'log.txt')]) writeFileSync(path, '')
    this.#logFile = join(folder, 'log.txt')
    this.#onText = onText
    const variables: NodeJS.ProcessEnv = {
      PATH: process.env['PATH'],
      HOME: this.workspace,
      CI: 'true',
      GITHUB_ACTIONS: 'true',
      GITHUB_WORKSPACE: this.workspace,
      GITHUB_OUTPUT: this.#files.output,
      GITHUB_STEP_SUMMARY: this.#files.summary,
      GITHUB_STATE: this.#files.state,
      RUNNER_TEMP: temp,
      ...environmentOf(inputs),
      ...env,
    }
    this.env = Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== undefined))
  }

  readonly write = (text: string): void => {
    this.#log += text
    appendFileSync(this.#logFile, text)
    this.#onText(text)
    if (targetLine.test(this.#log)) this.watching.resolve()
  }

  /** The variables that the runner sets for the step at the end of the job. */
  get state(): Record<string, string> {
    const saved = Object.entries(parseOutputs(readFileSync(this.#files.state, 'utf8')))
    return Object.fromEntries(saved.map(([name, value]) => [`STATE_${name}`, value]))
  }

  end(exitCode: number | null, endedAt = Date.now()): ActionRun {
    this.watching.resolve()
    return {
      exitCode,
      log: this.#log,
      outputs: parseOutputs(readFileSync(this.#files.output, 'utf8')),
      summary: readFileSync(this.#files.summary, 'utf8'),
      state: this.state,
      startedAt: this.#startedAt,
      endedAt,
    }
  }
}

/**
 * Starts the action as a process like GitHub's runner, in a folder for its log and files.
 * @param entry the program, relative to the repository: `dist/index.js`, `src/index.ts`
 * @param inputs by name; the others have the defaults of `action.yml`
 */
export function startAction(
  entry: string,
  folder: string,
  inputs: Readonly<Record<string, string>>,
  options: ActionOptions = {},
): StartedAction & { readonly process: ChildProcess; readonly job: RunnerJob } {
  const job = new RunnerJob(folder, inputs, options)
  const child = spawn(process.execPath, [resolve(root, entry)], {
    cwd: job.workspace,
    env: job.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', job.write)
  let endedAt = 0
  child.once('exit', () => {
    endedAt = Date.now()
  })
  const ended = new Promise<ActionRun>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode) => resolve(job.end(exitCode, endedAt)))
  })
  const kill = (signal: NodeJS.Signals) => child.kill(signal)
  return { watching: job.watching.promise, ended, process: child, job, kill }
}

/** The runner sets a variable for every input of action.yml, empty if the input has no default. */
function environmentOf(inputs: Readonly<Record<string, string>>): Record<string, string> {
  const manifest = join(root, 'action.yml')
  const declared: Record<string, { default?: unknown }> = existsSync(manifest)
    ? parse(readFileSync(manifest, 'utf8')).inputs
    : {}
  const defaults = Object.entries(declared).map(([name, input]) => [name, String(input?.default ?? '')] as const)
  return Object.fromEntries(
    [...defaults, ...Object.entries(inputs)].map(([name, value]) => [
      `INPUT_${name.replaceAll(' ', '_').toUpperCase()}`,
      value,
    ]),
  )
}

/** Parses the file `GITHUB_OUTPUT`: `name=value`, or `name<<DELIMITER`, lines, `DELIMITER`. */
function parseOutputs(text: string): Record<string, string> {
  const outputs: Record<string, string> = {}
  const lines = text.split(/\r?\n/)
  for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
    const [, name, operator, rest = ''] = /^([^=<]+)(=|<<)(.*)$/.exec(line) ?? []
    if (!name) continue
    outputs[name] = operator === '=' ? rest : lines.splice(0, lines.indexOf(rest)).join('\n')
  }
  return outputs
}
