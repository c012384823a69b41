import { type InputDefinition, inputDefinitions } from '../inputs.ts'

/** A flag of the command line. */
export interface Flag {
  readonly name: string
  readonly short?: string
  /** What its value is called in the help; a flag without one is a switch. */
  readonly value?: string
  /** A switch that also takes one of these, `--color=never`. */
  readonly choices?: readonly string[]
  readonly description: string
  readonly default?: string
  /** May be given more than once: its values are lines. */
  readonly repeats?: boolean
  /** Left out of the help. */
  readonly hidden?: boolean
}

/** What a flag says where it stands: to one reference, or to the gate. */
export const referenceFlags: readonly Flag[] = [
  { name: 'namespace', short: 'n', value: 'NAMESPACE', description: 'Where it lies; by default the context says.' },
  { name: 'selector', short: 'l', value: 'LABELS', description: 'Every object of a kind with these labels: app=shop.' },
  { name: 'all', description: 'Every object of a kind.' },
  {
    name: 'for',
    value: 'WHAT',
    description: "What it must come to: condition=Ready, jsonpath='{.status.phase}'=Running, create, delete.",
  },
  { name: 'timeout', value: 'DURATION', description: 'How long it may take.' },
  { name: 'stall-timeout', value: 'DURATION', description: 'How long it may go without any progress.' },
  { name: 'milestone-timeouts', value: 'LIST', description: 'How long single milestones may take: ready=5m.' },
]

/** Of the reference flags, those that are inputs of the gate when they stand before the first reference. */
export const sharedFlags: ReadonlySet<string> = new Set(['namespace', 'timeout', 'stall-timeout', 'milestone-timeouts'])

/** Manifests are named as for kubectl. */
export const filenameFlag: Flag = {
  name: 'filename',
  short: 'f',
  value: 'FILE',
  description: 'Manifests whose objects are waited for: a file, a folder, a glob, or - for stdin. May be repeated.',
  repeats: true,
}

/** Every input as a flag of the same name, except those of the extras on GitHub. */
export const inputFlags: readonly Flag[] = inputDefinitions.filter(({ flag }) => flag !== 'none').map(flagOf)

/** The inputs that change how a replay decides. */
export const judgingFlags: readonly Flag[] = inputDefinitions.filter(({ isReplayed }) => isReplayed).map(flagOf)

function flagOf({ name, placeholder, description, default: fallback, isLines, flag }: InputDefinition): Flag {
  return {
    name,
    short: name === 'namespace' ? 'n' : undefined,
    ...(placeholder === '' ? { choices: ['true', 'false'] } : { value: placeholder }),
    description,
    default: fallback,
    repeats: isLines && flag === 'shown',
    hidden: flag === 'hidden',
  }
}

export const helpFlag: Flag = { name: 'help', short: 'h', description: 'Show this help.' }

export const outputFlags: readonly Flag[] = [
  { name: 'json', description: 'Print the report as one line of JSON, and everything else to stderr.' },
  {
    name: 'color',
    choices: ['auto', 'always', 'never'],
    description: 'Colours: always, never, or auto, which a terminal without NO_COLOR gets.',
  },
]
