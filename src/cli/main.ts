import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import { Secrets } from '../cluster/secrets.ts'
import { describeMistake, didYouMean, quote } from '../errors.ts'
import { version } from '../version.ts'
import { readArguments } from './arguments.ts'
import { commands, renderCommandHelp, renderHelp } from './commands.ts'
import { type CommandContext, misconfiguredCode, printCrash, printMessage, redactOutput } from './output.ts'

/** Runs the command line with the arguments, streams and signals of the process. Catches all errors. */
export async function runCli(argv: readonly string[] = process.argv.slice(2)): Promise<void> {
  const cancelled = new AbortController()
  const cancel = () => cancelled.abort()
  // With `once`, the listener is gone after the first Ctrl-C, so a second one ends the process.
  process.once('SIGINT', cancel).once('SIGTERM', cancel)
  const secrets = new Secrets()
  const outputEnded = new AbortController()
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader of a pipe may end first, as in `rollout-gate wait … | head`: this is no error.
    if (error.code !== 'EPIPE' && !outputEnded.signal.aborted)
      printMessage(context.stderr, `The output cannot be written: ${error.message}.`)
    outputEnded.abort()
  })
  const context: CommandContext = {
    stdout: redactOutput(process.stdout, secrets),
    stderr: redactOutput(process.stderr, secrets),
    env: process.env,
    program: programName(process.argv[1] ?? ''),
    secrets,
    cancelled: cancelled.signal,
    outputEnded: outputEnded.signal,
    readStdin: () => readStdin(cancelled.signal),
  }
  try {
    process.exitCode = await runCommandLine(argv, context)
  } catch (error) {
    printCrash(context.stderr, 'Rollout Gate itself failed', error)
    process.exitCode = 1
  } finally {
    process.off('SIGINT', cancel).off('SIGTERM', cancel)
  }
}

/** Finds and runs the command. Returns the exit code. */
export async function runCommandLine(
  [first = '', ...rest]: readonly string[],
  context: CommandContext,
): Promise<number> {
  const { stdout, stderr, program } = context
  if (first === '--version' || first === 'version') {
    stdout.write(`${version}\n`)
    return 0
  }
  if (['', '--help', '-h', 'help'].includes(first)) {
    const command = commands.find(({ name }) => name === rest[0])
    const output = first === '' ? stderr : stdout
    output.write(command === undefined ? renderHelp(program) : renderCommandHelp(program, command))
    return first === '' ? misconfiguredCode : 0
  }
  // The scripts that `completion` prints call this command.
  if (first === '__complete') return (await import('./completion.ts')).complete(rest, commands, context)
  const command = commands.find(({ name }) => name === first)
  if (command === undefined) {
    printMessage(stderr, describeMistake({ input: program, message: unknownCommandMessage(first, program) }))
    return misconfiguredCode
  }
  const args = readArguments(rest, command)
  if (!args.flags.has('help')) return command.run(args, { ...context, program: `${program} ${first}` })
  stdout.write(renderCommandHelp(program, command))
  return 0
}

function unknownCommandMessage(word: string, program: string): string {
  const names = commands.map(({ name }) => name)
  if (word.includes('/')) return `Write a command before it: ${program} wait ${word}`
  const hint = didYouMean(word, names) || ` There are ${names.join(', ')}.`
  return `There is no command ${quote(word)}.${hint}`
}

/** The name of the program in messages: `rollout-gate`; as a plugin of kubectl, `kubectl rollout-gate`. */
function programName(path: string): string {
  const name = basename(path).replace(/\.(js|ts|exe)$/, '')
  if (name.startsWith('kubectl-')) return `kubectl ${name.slice('kubectl-'.length).replaceAll('_', '-')}`
  return name === 'cli' || name === '' ? 'rollout-gate' : name
}

/** Reads all of stdin. Empty if cancelled. */
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
