import { runCommandLine } from '../../src/cli/main.ts'
import { type Output, redactOutput } from '../../src/cli/output.ts'
import { Secrets } from '../../src/cluster/secrets.ts'

/** A stream that stores its output. */
export class CapturedOutput implements Output {
  text = ''
  readonly isTTY: boolean
  readonly columns = 100
  readonly rows = 30
  readonly #waiting = new Set<() => void>()

  constructor(isTTY = false) {
    this.isTTY = isTTY
  }

  write(text: string): void {
    this.text += text
    for (const check of this.#waiting) check()
  }

  /** Resolves when the text contains `expected`. */
  until(expected: string | RegExp): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        const isThere = typeof expected === 'string' ? this.text.includes(expected) : expected.test(this.text)
        if (!isThere) return
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
      check()
    })
  }
}

export interface CommandOptions {
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string>>
  readonly isTTY?: boolean
}

/** How a command ended. */
export interface CommandRun {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** A command that runs in this process. */
export interface StartedCommand {
  readonly stdout: CapturedOutput
  readonly stderr: CapturedOutput
  readonly ended: Promise<CommandRun>
  /** Like the first Ctrl-C. */
  cancel(): void
}

/** Runs the command line in this process, with its streams captured. */
export function startCommand(
  argv: readonly string[],
  { stdin = '', env = {}, isTTY = false }: CommandOptions = {},
): StartedCommand {
  const [stdout, stderr] = [new CapturedOutput(isTTY), new CapturedOutput()]
  const cancelled = new AbortController()
  const secrets = new Secrets()
  const code = runCommandLine(argv, {
    stdout: redactOutput(stdout, secrets),
    stderr: redactOutput(stderr, secrets),
    env,
    program: 'rollout-gate',
    secrets,
    cancelled: cancelled.signal,
    outputEnded: new AbortController().signal,
    readStdin: async () => stdin,
  })
  const ended = code.then((code) => ({ code, stdout: stdout.text, stderr: stderr.text }))
  return { stdout, stderr, ended, cancel: () => cancelled.abort() }
}

export function runCommand(argv: readonly string[], options: CommandOptions = {}): Promise<CommandRun> {
  return startCommand(argv, options).ended
}
