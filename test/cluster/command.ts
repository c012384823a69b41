import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

/** Runs a program and returns its standard output. Throws its standard error if it fails. */
export async function run(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  try {
    const { stdout } = await execute(program, args, { ...options, maxBuffer: 64 * 1024 * 1024 })
    return stdout
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    throw new Error(`${program} ${args.slice(0, 3).join(' ')} … failed: ${stderr?.trim() || message}`, { cause: error })
  }
}

/** Runs a program; returns an empty string if it fails. */
export async function attempt(program: string, args: readonly string[]): Promise<string> {
  return run(program, args).catch(() => '')
}

/**
 * Waits until a condition holds; checks every 100 ms.
 * @param what the condition, for the error after `seconds`
 */
export async function until(what: string, seconds: number, holds: () => Promise<boolean> | boolean): Promise<void> {
  const end = Date.now() + seconds * 1000
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`${what}: not within ${seconds} s`)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Runs an entry point. If it throws, prints only the message and sets the exit code to 1. */
export async function runScript(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  }
}
