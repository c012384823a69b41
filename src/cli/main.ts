import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import { Secrets } from '../cluster/secrets.ts'
import { describeMistake, didYouMean, quote } from '../errors.ts'
import { plain } from '../report/escape.ts'
import { version } from '../version.ts'
import { readArguments } from './arguments.ts'
import { type Command, commands } from './commands.ts'
import { renderCommandHelp, renderHelp } from './help.ts'
import { guard, type Surface } from './output.ts'

/**
 * The command line: finds the command and runs it. The only place that talks to the process, and the only one that
 * catches everything.
 */
export async function runCli(argv: readonly string[] = process.argv.slice(2)): Promise<void> {
  const cancelled = new AbortController()
  const cancel = () => cancelled.abort()
  // The second Ctrl-C ends the process at once, as if nobody listened.
  process.once('SIGINT', cancel).once('SIGTERM', cancel)
  process.stdout.on('error', endWithReader)
  const secrets = new Secrets()
  const surface: Surface = {
    stdout: guard(process.stdout, secrets),
    stderr: guard(process.stderr, secrets),
    env: process.env,
    program: programName(process.argv[1] ?? ''),
    secrets,
    cancelled: cancelled.signal,
    readStdin: () => readStdin(cancelled.signal),
  }
  try {
    process.exitCode = await run(argv, surface)
  } catch (error) {
    surface.stderr.write('Rollout Gate itself failed. Please report it with the lines below.\n')
    surface.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
    process.exitCode = 1
  } finally {
    process.off('SIGINT', cancel).off('SIGTERM', cancel)
  }
}

async function run([first = '', ...rest]: readonly string[], surface: Surface): Promise<number> {
  const { stdout, stderr, program } = surface
  if (first === '--version') {
    stdout.write(`${version}\n`)
    return 0
  }
  if (first === '' || first === '--help' || first === '-h' || first === 'help') {
    const asked = commands.find(({ name }) => name === rest[0])
    const output = first === '' ? stderr : stdout
    output.write(asked === undefined ? renderHelp(program, commands) : renderCommandHelp(program, asked))
    return first === '' ? 2 : 0
  }
  const command = commands.find(({ name }) => name === first)
  if (command === undefined) {
    stderr.write(`${plain(describeMistake({ input: program, message: explainNoCommand(first, program) }))}\n`)
    return 2
  }
  return runCommand(command, rest, surface)
}

async function runCommand(command: Command, argv: readonly string[], surface: Surface): Promise<number> {
  const args = readArguments(argv, command)
  if (!args.given.has('help')) return command.run(args, surface)
  surface.stdout.write(renderCommandHelp(surface.program, command))
  return 0
}

function explainNoCommand(word: string, program: string): string {
  const names = commands.map(({ name }) => name)
  if (word.includes('/')) return `Say what to do with it: ${program} wait ${word}`
  const hint = didYouMean(word, names) || ` There are ${names.join(', ')}.`
  return `There is no command ${quote(word)}.${hint}`
}

/** `rollout-gate`; `kubectl rollout-gate` when kubectl calls it as its plugin `kubectl-rollout_gate`. */
function programName(path: string): string {
  const name = basename(path).replace(/\.(js|ts|exe)$/, '')
  if (name.startsWith('kubectl-')) return `kubectl ${name.slice('kubectl-'.length).replaceAll('_', '-')}`
  return name === 'cli' || name === '' ? 'rollout-gate' : name
}

/** All of stdin; as much as there is when it is cancelled meanwhile. */
async function readStdin(signal: AbortSignal): Promise<string> {
  const stop = () => process.stdin.destroy()
  signal.addEventListener('abort', stop)
  try {
    return await text(process.stdin)
  } catch (error) {
    if (signal.aborted) return ''
    throw error
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Whoever read the output has seen enough: `rollout-gate replay … | head`. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit()
}
