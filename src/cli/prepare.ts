import { type Mistake, UserError } from '../errors.ts'
import { type Inputs, inputs as inputNames, parseInputs } from '../inputs.ts'
import type { ParsedReferences } from '../plan/references.ts'
import type { Arguments } from './arguments.ts'
import { inputFlags } from './flags.ts'
import type { Surface } from './output.ts'
import { readReferences } from './references.ts'

/** What a command that watches a cluster begins with. */
export interface Prepared {
  readonly inputs: Inputs
  /** The inputs as they were written, for a recording. */
  readonly raw: Readonly<Record<string, string>>
  readonly parsed: ParsedReferences
  /** Finds a mistake of the plan again on the command line. */
  readonly place: (error: unknown) => unknown
}

/**
 * Reads the inputs and references of a command line, and stdin when it is one of them.
 *
 * @param what what the references are for, to ask for one: `wait for`
 * @param further mistakes found elsewhere
 * @returns nothing when it was cancelled while it read stdin
 * @throws UserError with all mistakes at once
 */
export async function prepare(
  args: Arguments,
  { readStdin, cancelled, program }: Surface,
  what: string,
  further: readonly Mistake[] = [],
): Promise<Prepared | undefined> {
  const readsStdin = args.references.some(({ words }) => words[0] === '-')
  const stdin = readsStdin ? await readStdin() : ''
  if (cancelled.aborted) return undefined
  const { text, parsed, placeOf } = readReferences(args, stdin)
  const raw = { ...inputsAmong(args.given), resources: text }
  const place = (error: unknown) => {
    return error instanceof UserError
      ? new UserError(
          error.mistakes.map((it) => onFlag(placeOf(it))),
          error.reason,
        )
      : error
  }
  const nothing =
    args.references.length === 0 && text === ''
      ? [{ input: 'REFERENCE', message: `Say what to ${what}, like ${program} ${what.split(' ')[0]} deployment/web.` }]
      : parsed.mistakes
  try {
    const inputs = parseInputs(raw, [...args.mistakes, ...further, ...nothing])
    return { inputs, raw, parsed, place }
  } catch (error) {
    throw place(error)
  }
}

/** Of the flags, those that are inputs. */
export function inputsAmong(given: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...given].filter(([name]) => inputNames.some((input) => input.name === name)))
}

/** A mistake in an input, as one in the flag of its name. */
export function onFlag(mistake: Mistake): Mistake {
  return inputFlags.some(({ name }) => name === mistake.input) ? { ...mistake, input: `--${mistake.input}` } : mistake
}
