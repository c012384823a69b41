import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
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
  startedAt: number
  endedAt: number
}

/** A running action. */
export interface StartedAction {
  process: ChildProcess
  /** Resolves with the first log line of a target, or at the end. */
  watching: Promise<void>
  ended: Promise<ActionRun>
}

/** A log line that starts with the elapsed time, possibly coloured. */
const targetLine = /^\S{0,5} *\d+:\d\d/m

/**
 * Starts the action like GitHub's runner, in a folder for its log and files.
 * @param entry the program, relative to the repository: `dist/index.js`, `src/index.ts`
 * @param inputs by name; the others have the defaults of `action.yml`
 * @param env overrides the variables of the runner; undefined: not set
 */
export function startAction(
  entry: string,
  folder: string,
  inputs: Readonly<Record<string, string>>,
  { env = {}, onText = () => {} }: { env?: NodeJS.ProcessEnv; onText?: (text: string) => void } = {},
): StartedAction {
  const files = {
    output: join(folder, 'outputs.txt'),
    summary: join(folder, 'summary.md'),
    log: join(folder, 'log.txt'),
  }
  const workspace = join(folder, 'workspace')
  const temp = join(folder, 'temp')
  for (const path of [workspace, temp]) mkdirSync(path, { recursive: true })
  for (const path of [files.output, files.summary]) writeFileSync(path, '')

  const startedAt = Date.now()
  const child = spawn(join(root, 'node_modules/.bin/node'), [resolve(root, entry)], {
    cwd: workspace,
    env: {
      PATH: process.env['PATH'],
      HOME: workspace,
      CI: 'true',
      GITHUB_ACTIONS: 'true',
      GITHUB_WORKSPACE: workspace,
      GITHUB_OUTPUT: files.output,
      GITHUB_STEP_SUMMARY: files.summary,
      RUNNER_TEMP: temp,
      ...environmentOf(inputs),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const file = createWriteStream(files.log)
  const watching = Promise.withResolvers<void>()
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log += text
      file.write(text)
      onText(text)
      if (targetLine.test(log)) watching.resolve()
    })
  }
  let endedAt = 0
  child.once('exit', () => {
    endedAt = Date.now()
  })
  const ended = new Promise<ActionRun>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode) => {
      file.end()
      watching.resolve()
      const outputs = parseOutputs(readFileSync(files.output, 'utf8'))
      resolve({ exitCode, log, outputs, summary: readFileSync(files.summary, 'utf8'), startedAt, endedAt })
    })
  })
  return { process: child, watching: watching.promise, ended }
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
