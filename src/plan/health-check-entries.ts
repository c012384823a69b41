import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { groupOf, type KindName } from '../cluster/objects.ts'
import { type AddMistake, type Mistake, UserError, withoutQuotedText } from '../errors.ts'
import type { MilestoneName } from '../inputs.ts'
import { type Compiler, type Expression, firstLine, loadCompiler, type TextExpression } from './expressions.ts'
import type { entrySchema } from './health-check-schema.ts'
import { isBuiltInGroup } from './kinds.ts'

/** An entry of the file of the input `health-check-exprs`, and of the catalogue of operators. */
export type HealthCheckEntry = z.infer<typeof entrySchema>

/** Which kinds an entry is about: a group or `*.suffix`, and a kind or `*`. */
export interface KindPattern {
  readonly group: string
  readonly kind: string
}

/** An entry with compiled expressions. */
export interface HealthCheck
  extends KindPattern,
    Pick<
      HealthCheckEntry,
      'documentation' | 'ignoresGeneration' | 'resume' | 'owns' | 'applies' | 'isWorkload' | 'awaitsWorkloads'
    > {
  /** Whether the user wrote the health check. */
  readonly isUsers: boolean
  readonly current: Expression
  readonly failed?: Expression
  readonly inProgress?: Expression
  readonly suspended?: Expression
  readonly stallHold?: Expression
  readonly cause: readonly TextExpression[]
  readonly milestones: readonly { readonly name: MilestoneName; readonly done: Expression }[]
  readonly revision?: TextExpression
  /** The fields of the status that `current` and `failed` read. */
  readonly statusFields: readonly string[]
}

/** The entry for a kind: that of its group, else that of the longest suffix; that of its kind, else that of `*`. */
export function findEntry<Entry extends KindPattern>(
  { apiVersion, kind }: KindName,
  entries: readonly Entry[],
): Entry | undefined {
  const group = groupOf(apiVersion)
  // No entry decides in place of the gate's own rules.
  if (isBuiltInGroup(group)) return undefined
  const isOfGroup = (name: string) => name === group || (name.startsWith('*.') && group.endsWith(name.slice(1)))
  const found = entries.filter((each) => isOfGroup(each.group) && (each.kind === kind || each.kind === '*'))
  const [best] = found.toSorted((one, other) => rank(other, group) - rank(one, group))
  return best
}

function rank({ group, kind }: KindPattern, wanted: string): number {
  return 2 * (group === wanted ? Number.MAX_SAFE_INTEGER / 4 : group.length) + (kind === '*' ? 0 : 1)
}

/**
 * Reads the entries of a file, without compiling their expressions.
 * @param path of the file, for messages
 * @throws UserError with every mistake
 */
export async function parseEntries(text: string, path: string): Promise<readonly HealthCheckEntry[]> {
  const { mistakes, entries } = await readEntries(text, path)
  if (mistakes.length > 0) throw new UserError(mistakes)
  return entries.map(({ entry }) => entry)
}

/** Each valid entry with its place for messages, and all mistakes. */
async function readEntries(text: string, path: string) {
  // Loaded when needed: the libraries cost start-up time.
  const [{ CORE_SCHEMA, load, mergeTag }, { isEntry }] = await Promise.all([
    import('js-yaml'),
    import('./health-check-schema.ts'),
  ])
  const mistakes: Mistake[] = []
  const addMistake: AddMistake = (message) => mistakes.push({ input: path, message })
  const entries: { readonly entry: HealthCheckEntry; readonly where: string }[] = []
  try {
    // With merge keys: `<<: *other` takes the fields of another entry.
    const list = load(text, { schema: CORE_SCHEMA.withTags(mergeTag) })
    if (!Array.isArray(list)) addMistake('This is not a list. Write a YAML list of {apiVersion, kind, current, …}.')
    for (const [index, entry] of (Array.isArray(list) ? list : []).entries()) {
      const where = `Entry ${index + 1}`
      if (isEntry(entry, where, addMistake)) entries.push({ entry, where })
    }
  } catch (error) {
    addMistake(`This is not valid YAML: ${withoutQuotedText(firstLine(error))}`)
  }
  return { mistakes, addMistake, entries }
}

/**
 * Reads a YAML list of health checks and compiles their expressions.
 * @param path of the file, for messages
 * @throws UserError with every mistake
 */
export async function parseHealthChecks(text: string, path: string): Promise<readonly HealthCheck[]> {
  const [{ mistakes, addMistake, entries }, compiler] = await Promise.all([readEntries(text, path), loadCompiler()])
  const checks = entries.map(({ entry, where }) =>
    compileEntry(entry, compiler, { isUsers: true, onMistake: (message) => addMistake(`${where}, ${message}`) }),
  )
  const names = entries.map(({ entry: { apiVersion, group, kind } }) => `${apiVersion ?? group} ${kind}`)
  for (const name of new Set(names.filter((name, index) => names.indexOf(name) !== index)))
    addMistake(`${name} is written twice. Put its expressions into one entry.`)
  if (mistakes.length > 0) throw new UserError(mistakes)
  return checks
}

/** A condition or text in place of an expression with invalid syntax. */
const invalid = () => ({ holds: false })
const noText = () => undefined

/**
 * Compiles the expressions of an entry.
 * @param onMistake gets the field and the mistake of each expression with invalid syntax; by default, the first one is
 * thrown
 */
export function compileEntry(
  entry: HealthCheckEntry,
  compiler: Compiler,
  { isUsers = false, onMistake }: { readonly isUsers?: boolean; readonly onMistake?: (message: string) => void } = {},
): HealthCheck {
  const compiled = <Result>(field: string, compile: () => Result, otherwise: Result): Result => {
    try {
      return compile()
    } catch (error) {
      if (onMistake === undefined) throw error
      onMistake(`${field}: ${firstLine(error)}`)
      return otherwise
    }
  }
  const condition = (field: string, source: string) => compiled(field, () => compiler.condition(source), invalid)
  const textOf = (field: string, source: string) => compiled(field, () => compiler.text(source), noText)
  const optional = (field: 'failed' | 'inProgress' | 'suspended' | 'stallHold') => {
    const source = entry[field]
    return source === undefined ? undefined : condition(field, source)
  }
  const optionalText = (field: string, source: string | undefined) =>
    source === undefined ? undefined : textOf(field, source)
  const { apiVersion = '', kind, current, cause = [], milestones = [], revision } = entry
  return {
    ...entry,
    group: entry.group ?? groupOf(apiVersion),
    kind,
    isUsers,
    current: condition('current', current),
    failed: optional('failed'),
    inProgress: optional('inProgress'),
    suspended: optional('suspended'),
    stallHold: optional('stallHold'),
    cause: cause.map((source) => textOf('cause', source)),
    milestones: milestones.map(({ name, done }) => ({ name, done: condition('milestones', done) })),
    revision: optionalText('revision', revision),
    statusFields: statusFieldsOf(`${current} ${entry.failed}`),
  }
}

function statusFieldsOf(source: string): readonly string[] {
  const named = [...source.matchAll(/\bstatus\.\??(\w+)/g)].flatMap(([, name]) => name ?? [])
  return [...new Set([...named, ...(/\b(isTrue|isFalse)\(/.test(source) ? ['conditions'] : [])])]
}

/**
 * Reads the health checks of a file; none without a path.
 * @throws UserError if the file cannot be read, or with every mistake in it
 */
export async function readHealthChecks(path: string | undefined): Promise<readonly HealthCheck[]> {
  if (path === undefined) return []
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'There is no such file' : firstLine(error)
    throw new UserError([
      { input: 'health-check-exprs', message: `${path} cannot be read: ${why}. Give a path from the workspace.` },
    ])
  }
  return parseHealthChecks(text, path)
}
