import { format } from 'node:util'
import { runAction } from '../../src/action.ts'
import type { ActionName } from '../../src/inputs.ts'
import { type ActionOptions, type ActionRun, RunnerJob, type StartedAction } from './runner.ts'

/** The run that has the variables and the output of this process. */
let previous: Promise<unknown> = Promise.resolve()

/**
 * Runs the action in this process, which is faster than `startAction`: with the variables, working folder, standard output
 * and exit code of a job. Runs that are started at the same time run one after the other.
 */
export function startInProcess(
  folder: string,
  inputs: Readonly<Record<string, string>>,
  options: ActionOptions & { readonly action?: ActionName } = {},
): StartedAction {
  const job = new RunnerJob(folder, inputs, options)
  const ended = previous.then(() => run(job, options.action))
  previous = ended.catch(() => {})
  return { watching: job.watching.promise, ended, kill: (signal) => process.emit(signal) }
}

async function run(job: RunnerJob, action: ActionName = 'gate'): Promise<ActionRun> {
  const { env, cwd, exitCode } = process
  const { write } = process.stdout
  const { log, error } = console
  const print = (...values: readonly unknown[]) => job.write(`${format(...values)}\n`)
  process.env = job.env
  process.cwd = () => job.workspace
  process.exitCode = undefined
  process.stdout.write = (text: string | Uint8Array) => {
    job.write(text.toString())
    return true
  }
  Object.assign(console, { log: print, error: print })
  try {
    await runAction(action)
    return job.end(Number(process.exitCode ?? 0))
  } finally {
    process.env = env
    process.cwd = cwd
    process.exitCode = exitCode
    process.stdout.write = write
    Object.assign(console, { log, error })
  }
}
