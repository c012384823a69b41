import { systemClock } from '../cluster/clock.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { contextNames } from '../cluster/kubeconfig.ts'
import { readInputs } from '../inputs.ts'
import { knownKinds } from '../lifecycle/rules.ts'
import { apiVersionOf, findKind } from '../plan/kinds.ts'
import { connectTo } from '../rollout/rollout-inputs.ts'
import { completionMs } from '../thresholds.ts'
import { type Arguments, type Flag, helpFlag, readArguments, referenceFlagsOf } from './arguments.ts'
import { commands } from './commands.ts'
import { shells } from './completion.ts'
import { inputsAmong } from './inputs.ts'
import { type CommandContext, connectionOf, printLines } from './output.ts'

/**
 * `__complete SHELL WORDS…`: prints the candidates for the last word, one a line. Fails silently, because its output is what
 * the user types. Returns 0.
 */
export async function complete([shell = '', ...written]: readonly string[], context: CommandContext): Promise<number> {
  const words = shell === 'bash' ? joinAssignments(written) : written
  const current = words.at(-1) ?? ''
  const found = await candidatesFor(words.slice(0, -1), current, context).catch(() => [])
  const candidates = found.filter((each) => each.startsWith(current) && /^[\w./:@=!-]+$/.test(each))
  // bash completes only what follows the last `=` of a word.
  const prefix = shell === 'bash' ? current.slice(0, current.indexOf('=') + 1) : ''
  printLines(
    context.stdout,
    candidates.map((each) => each.slice(prefix.length)),
  )
  return 0
}

/** bash passes `--namespace=shop` as three words. */
function joinAssignments(words: readonly string[]): readonly string[] {
  const joined: string[] = []
  for (const word of words) {
    const last = joined.at(-1) ?? ''
    if (last.startsWith('-') && (word === '=' || last.endsWith('='))) joined.splice(-1, 1, `${last}${word}`)
    else joined.push(word)
  }
  return joined
}

async function candidatesFor(
  [name, ...before]: readonly string[],
  current: string,
  context: CommandContext,
): Promise<readonly string[]> {
  if (name === undefined) return commands.map((command) => command.name)
  const command = commands.find((each) => each.name === name)
  if (command === undefined) return []
  if (command.name === 'completion') return shells
  const flags = [...referenceFlagsOf(command), ...command.flags.filter(({ hidden }) => !hidden), helpFlag]
  const args = readArguments(before, command)
  const inline = /^(--?[\w-]+)=/.exec(current)?.[1]
  const flag = findFlag(flags, inline ?? before.at(-1) ?? '')
  if (flag !== undefined && (inline !== undefined || flag.value !== undefined)) {
    const values = await valuesOf(flag, args, context)
    return inline === undefined ? values : values.map((value) => `${inline}=${value}`)
  }
  if (current.startsWith('-')) return flags.map((each) => `--${each.name}${each.value === undefined ? '' : '='}`)
  return command.takes === 'references' ? referencesFor(current, args, context) : []
}

function findFlag(flags: readonly Flag[], written: string): Flag | undefined {
  return flags.find(({ name, short }) => written === `--${name}` || (short !== undefined && written === `-${short}`))
}

async function valuesOf({ name, choices }: Flag, args: Arguments, context: CommandContext): Promise<readonly string[]> {
  if (choices !== undefined) return choices
  const { inputs } = readInputs(inputsAmong(args.flags))
  if (name === 'context') return contextNames(inputs)
  if (name !== 'namespace') return []
  return withCluster(args, context, (cluster) => namesOf(cluster, { apiVersion: 'v1', kind: 'Namespace' }))
}

/** `deployment/web`, the names after `deployment`, or the words of kinds. */
async function referencesFor(current: string, args: Arguments, context: CommandContext): Promise<readonly string[]> {
  const exclude = current.startsWith('!') ? '!' : ''
  const slash = current.indexOf('/')
  const [kindBefore = '', ...names] = args.references.at(-1) ?? []
  const isNamed = !/[/\s]/.test(kindBefore) && kindBefore !== '-' && kindBefore !== ''
  if (slash < 0 && !isNamed) return knownKinds.map(({ kind }) => `${exclude}${kind.toLowerCase()}/`)
  const word = slash < 0 ? kindBefore : current.slice(exclude.length, slash)
  const found = await withCluster(args, context, async (cluster) => {
    const resource = findKind(word, await cluster.discover())
    if (resource === undefined) return []
    const namespace = resource.namespaced ? cluster.namespace : undefined
    return namesOf(cluster, { apiVersion: apiVersionOf(resource), kind: resource.kind, namespace })
  })
  return slash < 0
    ? found.filter((name) => !names.includes(name))
    : found.map((name) => `${current.slice(0, slash + 1)}${name}`)
}

async function namesOf(
  cluster: Cluster,
  request: { readonly apiVersion: string; readonly kind: string; readonly namespace?: string | undefined },
): Promise<readonly string[]> {
  return ((await cluster.selectMetadata(request)) ?? []).map(({ metadata }) => metadata.name)
}

/** Reads the cluster that the words name, for at most `completionMs`. */
async function withCluster(
  { flags }: Arguments,
  context: CommandContext,
  read: (cluster: Cluster) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const { inputs } = readInputs(inputsAmong(flags))
  const cluster = connectTo(inputs, { ...connectionOf(context), onRetry: () => {} })
  const { promise: late, resolve } = Promise.withResolvers<readonly string[]>()
  const stop = systemClock.after(completionMs, () => resolve([]))
  try {
    const reading = read(cluster)
    reading.catch(() => {})
    return await Promise.race([reading, late])
  } finally {
    stop()
    cluster.close()
  }
}
