import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { programPath } from '../support/program.ts'

const program = programPath('cli.js')

/** How a run of the command line ended. */
export interface CliRun {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CliOptions {
  readonly stdin?: string
  readonly env?: NodeJS.ProcessEnv
  /** A link to the program, by which it is called. */
  readonly calledAs?: string
  readonly nodeOptions?: readonly string[]
}

/** A run that has not ended. */
export interface StartedCli {
  readonly ended: Promise<CliRun>
  /** Resolves when the output so far contains the text. */
  until(text: string): Promise<void>
  interrupt(): void
}

/** Starts the bundled program as a process. */
export function startCli(args: readonly string[], options: CliOptions = {}): StartedCli {
  const { stdin = '', env = {}, calledAs = program, nodeOptions = [] } = options
  const { GITHUB_ACTIONS: _, ...inherited } = process.env
  const child = spawn(process.execPath, [...nodeOptions, calledAs, ...args], {
    env: { ...inherited, ...env, NODE_OPTIONS: '' },
  })
  const printed = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text
      for (const check of waiting) check()
    })
  }
  child.stdin.on('error', () => {}).end(stdin)
  const ended = once(child, 'close').then(([code]) => {
    for (const check of waiting) check()
    return { code: code as number | null, ...printed }
  })
  return {
    ended,
    until: (text) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (`${printed.stdout}${printed.stderr}`.includes(text)) resolve()
          else if (child.exitCode !== null)
            reject(new Error(`It ended without printing ${text}:\n${printed.stdout}${printed.stderr}`))
          else return
          waiting.delete(check)
        }
        waiting.add(check)
        check()
      }),
    interrupt: () => child.kill('SIGINT'),
  }
}

export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  return startCli(args, options).ended
}
