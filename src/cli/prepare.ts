import { systemClock } from '../cluster/clock.ts'
import { type Mistake, UserError } from '../errors.ts'
import { inputDefinitions, readInputs } from '../inputs.ts'
import type { ParsedReferences } from '../plan/references.ts'
import { mergeReferences } from '../plan/references.ts'
import { looksLikeManifests } from '../plan/resource-lines.ts'
import { checkInputs, type RolloutInputs } from '../rollout.ts'
import type { Arguments, WrittenReference } from './arguments.ts'
import { inputFlags, sharedFlags } from './flags.ts'
import { type Surface, tell } from './output.ts'
import { readReferences } from './references.ts'

/** What a command that watches a cluster begins with. */
export interface Prepared extends RolloutInputs {
  /** Finds a mistake of the plan again on the command line. */
  readonly place: (error: unknown) => unknown
}

/**
 * Reads the inputs and references of a command line, and stdin when it is one of them.
 *
 * @param command the name of the command, for an example
 * @param further mistakes found elsewhere
 * @returns nothing when it was cancelled while it read stdin
 * @throws UserError with all mistakes at once
 */
export async function prepare(
  args: Arguments,
  { readStdin, cancelled, program, secrets, stderr }: Surface,
  command: string,
  further: readonly Mistake[] = [],
): Promise<Prepared | undefined> {
  const files = (args.given.get('filename') ?? '').split('\n').filter((file) => file !== '')
  const stdinFile = files.includes('-') ? [{ words: ['-'], flags: new Map<string, string>() }] : []
  const references = [...args.references, ...stdinFile]
  const stdin = references.some(isStdin) ? await readStdin() : ''
  if (cancelled.aborted) return undefined

  const holdsManifests = looksLikeManifests(stdin)
  const manifests = [args.given.get('manifests') ?? '', ...files.filter((file) => file !== '-')].join('\n').trim()
  const alone = manifests === '' && !holdsManifests
  const { text, parsed, placeOf } = readReferences({ ...args, references }, holdsManifests ? '' : stdin, { alone })
  const raw = {
    ...inputsAmong(args.given),
    ...(holdsManifests ? flagsOfStdin(references) : {}),
    resources: text,
    ...(manifests === '' ? {} : { manifests }),
  }
  const named = await withManifests(parsed, manifests, holdsManifests ? stdin : '')
  const place = (error: unknown) => {
    return error instanceof UserError
      ? new UserError(
          error.mistakes.map((it) => onFlag(placeOf(it))),
          error.reason,
        )
      : error
  }
  const misplaced =
    holdsManifests && areMisplaced(references, args.common)
      ? [{ input: '-', message: 'Manifests take no flags of their own. Put -n and clocks before it, to hold for all.' }]
      : []
  const mistakes = [...args.mistakes, ...further, ...misplaced]
  if (references.length === 0 && text === '' && manifests === '') {
    const example = `${program} ${command} deployment/web`
    throw new UserError([...mistakes, { input: 'REFERENCE', message: `No resource is named. Write one: ${example}` }])
  }
  try {
    const { inputs, mistakes: invalid } = readInputs(raw)
    const connection = { mask: secrets.add, clock: systemClock }
    const checked = await checkInputs(inputs, named, [...invalid, ...mistakes], connection)
    const left = inputs.namespace === undefined ? leftOutside(args.references) : undefined
    if (left !== undefined) tell(stderr, left)
    return { ...checked, place }
  } catch (error) {
    throw place(error)
  }
}

/** The references and the objects of manifests; reading YAML is loaded only when there are some. */
async function withManifests(parsed: ParsedReferences, files: string, stdin: string): Promise<ParsedReferences> {
  if (files === '' && stdin === '') return parsed
  const { parseManifests, readManifests } = await import('../plan/manifests/read.ts')
  return [
    ...(files === '' ? [] : [readManifests(files, process.cwd(), '--filename')]),
    ...(stdin === '' ? [] : [parseManifests(stdin, 'stdin')]),
  ].reduce(mergeReferences, parsed)
}

/** kubectl would take a -n behind several references for all of them; here it belongs to the last. */
function leftOutside(references: readonly WrittenReference[]): string | undefined {
  const namespace = references.at(-1)?.flags.get('namespace')
  const others = references.slice(0, -1)
  if (namespace === undefined || others.length === 0 || others.some(({ flags }) => flags.has('namespace')))
    return undefined
  const names = others.map(({ words }) => words.join(' ')).join(', ')
  return `Note: -n ${namespace} belongs to ${references.at(-1)?.words.join(' ')} alone; ${names} is looked for where the context says. Put it first to hold for all.`
}

function isStdin({ words }: WrittenReference): boolean {
  return words[0] === '-'
}

/** Behind a lone `-` that turns out to be manifests, flags hold for all that there is: the gate. */
function flagsOfStdin(references: readonly WrittenReference[]): Record<string, string> {
  const [only, ...more] = references
  return only === undefined || more.length > 0 ? {} : Object.fromEntries([...only.flags].filter(isShared))
}

function areMisplaced(references: readonly WrittenReference[], common: ReadonlyMap<string, string>): boolean {
  const flags = references.filter(isStdin).flatMap((reference) => [...reference.flags])
  return common.size > 0 || (references.length > 1 ? flags.length > 0 : !flags.every(isShared))
}

function isShared([name]: readonly [string, string]): boolean {
  return sharedFlags.has(name)
}

/** Of the flags, those that are inputs. */
export function inputsAmong(given: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...given].filter(([name]) => inputDefinitions.some((input) => input.name === name)))
}

/** A mistake in an input, as one in the flag of its name. */
export function onFlag(mistake: Mistake): Mistake {
  return inputFlags.some(({ name }) => name === mistake.input) ? { ...mistake, input: `--${mistake.input}` } : mistake
}
