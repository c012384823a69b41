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
  readonly cwd?: string
  /** The path by which the program is called, where it is not its own: a link to it. */
  readonly calledAs?: string
  readonly nodeOptions?: readonly string[]
}

/** A run that goes on. */
export interface StartedCli {
  readonly ended: Promise<CliRun>
  /** Resolves when this stands in what was printed so far. */
  until(text: string): Promise<void>
  interrupt(): void
}

/** Starts the real program. */
export function startCli(args: readonly string[], options: CliOptions = {}): StartedCli {
  const { stdin = '', env = {}, cwd, calledAs = program, nodeOptions = [] } = options
  const { KUBECONFIG: _, GITHUB_ACTIONS: __, ...inherited } = process.env
  const child = spawn(process.execPath, [...nodeOptions, calledAs, ...args], {
    env: { ...inherited, ...env, NODE_OPTIONS: '' },
    ...(cwd === undefined ? {} : { cwd }),
  })
  const printed = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text
      for (const look of waiting) look()
    })
  }
  child.stdin.on('error', () => {}).end(stdin)
  const ended = once(child, 'close').then(([code]) => {
    for (const look of waiting) look()
    return { code: code as number | null, ...printed }
  })
  return {
    ended,
    until: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (`${printed.stdout}${printed.stderr}`.includes(text)) resolve()
          else if (child.exitCode !== null)
            reject(new Error(`It ended without ${text}:\n${printed.stdout}${printed.stderr}`))
          else return
          waiting.delete(look)
        }
        waiting.add(look)
        look()
      }),
    interrupt: () => child.kill('SIGINT'),
  }
}

export function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  return startCli(args, options).ended
}
