import { readFileSync } from 'node:fs'
import type { KindName } from '../cluster/objects.ts'
import { groupOf } from '../cluster/objects.ts'
import { type AddMistake, type Mistake, UserError, withoutQuotedText } from '../errors.ts'
import { type MilestoneName, milestoneNames } from '../inputs.ts'
import { type Compiler, type Expression, firstLine, loadCompiler, type TextExpression } from './expressions.ts'
import { isBuiltInGroup } from './kinds.ts'

/**
 * How the status of the objects of a kind is read: an entry of the file of the input `health-check-exprs`, and of the catalogue
 * of operators. The expressions are CEL over the object, as in Flux' `healthCheckExprs`: one that reads a missing field is
 * false. A status of an older generation is in progress, whatever they return; otherwise `inProgress`, `suspended`,
 * `failed` and `current` decide, in this order, and an object for which none holds is in progress. A suspension that the
 * spec alone requests counts with any status.
 *
 * In the catalogue, conditions of an older generation are ignored, and a status without any field that `current` and
 * `failed` read, because another version of the operator wrote it, is judged by the general conventions.
 */
export interface HealthCheckEntry {
  /** `argoproj.io`, in any version; `*.aws.upbound.io` matches every group with this suffix. In its place: `apiVersion`. */
  readonly group?: string
  readonly apiVersion?: string
  /** `*` matches every kind of the group that has no entry. */
  readonly kind: string
  /** The address of the source or documentation that the expressions are based on. */
  readonly documentation?: string
  /** True when the object is ready; `true` for a kind whose status no controller writes, or writes only for some. */
  readonly current: string
  /**
   * True when the operator has given up: it does not try again, or it repeats what only a change of the object corrects. A
   * failure that may end by itself, or by a change of another object, is no reason to fail.
   */
  readonly failed?: string
  /** True when the status is incomplete or old although its generation is current. */
  readonly inProgress?: string
  /** True when the operator does nothing until a user acts. */
  readonly suspended?: string
  /** The command that resumes a suspended object; `{kind}`, `{name}` and `{namespace}` are replaced. */
  readonly resume?: string
  /**
   * True while the object itself states how long it takes, such as a timed pause: the stall clock is stopped. Default:
   * while the condition Reconciling is True.
   */
  readonly stallHold?: string
  /**
   * Texts, or lists of texts: the operator's own sentence about why the object is not ready. The first that is not empty is
   * quoted.
   */
  readonly cause?: readonly string[]
  /** Stages between `observed` and `ready`, in order: names of milestones. */
  readonly milestones?: readonly { readonly name: MilestoneName; readonly done: string }[]
  /** Kinds of the objects that it owns, directly or through each other, whose problems explain its own. */
  readonly owns?: readonly KindName[]
  /**
   * Its operator lists what it has applied in `status.inventory`, also in other namespaces, with the labels `GROUP/name` and
   * `GROUP/namespace`. These kinds among them have entries that explain them.
   */
  readonly applies?: readonly KindName[]
  /** Kinds of the objects that its spec names with `kind` and `name`: of a missing one, similar names are shown. */
  readonly refersTo?: readonly KindName[]
  /**
   * It runs pods as a workload does: a proven problem of its own pods fails it, and it awaits the Deployments, StatefulSets
   * and DaemonSets that were written since its spec.
   */
  readonly isWorkload?: boolean
  /** Its status does not show that its workloads are updated: the Deployments, StatefulSets and DaemonSets of `owns`. */
  readonly awaitsWorkloads?: boolean
  /** Its `status.observedGeneration` is not the generation that its status is about. The expressions show what is old. */
  readonly ignoresGeneration?: boolean
  /**
   * A text: the value of a label that only the objects of its present revision have, such as a hash of its template. Without
   * it, the objects that were created since the last write of its spec are those of the present revision.
   */
  readonly revision?: string
}

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
      | 'documentation'
      | 'ignoresGeneration'
      | 'resume'
      | 'owns'
      | 'applies'
      | 'refersTo'
      | 'isWorkload'
      | 'awaitsWorkloads'
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

/** An entry or a part of one, unchecked. */
type Raw = Readonly<Partial<Record<keyof HealthCheckEntry | 'name' | 'done' | 'kinds', unknown>>>

function isMapping(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What the value of a field must be; undefined if it is. */
type Shape = (value: unknown) => string | undefined

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''
const text: Shape = (value) => (isText(value) ? undefined : 'a text')
const flag: Shape = (value) => (typeof value === 'boolean' ? undefined : 'true or false')
const expression: Shape = (value) =>
  isText(value) ? undefined : "an expression in CEL, like status.phase == 'Running'"
const listOf =
  (shape: Shape, what: string): Shape =>
  (value) =>
    Array.isArray(value) && value.every((each) => shape(each) === undefined) ? undefined : `a list of ${what}`
const kindName: Shape = (value) =>
  isMapping(value) && isText(value.apiVersion) && isText(value.kind) ? undefined : '{apiVersion, kind}'
const stage: Shape = (value) =>
  isMapping(value) && isText(value.done) && milestoneNames.some((name) => name === value.name) ? undefined : 'stages'
const kinds = listOf(kindName, '{apiVersion, kind}')

const shapes: Readonly<Record<keyof HealthCheckEntry, Shape>> = {
  apiVersion: text,
  group: text,
  kind: text,
  documentation: text,
  current: expression,
  failed: expression,
  inProgress: expression,
  suspended: expression,
  resume: text,
  stallHold: expression,
  cause: listOf(expression, 'expressions that return a text'),
  milestones: listOf(stage, `{name, done}, with an expression and a name of ${milestoneNames.join(', ')}`),
  owns: kinds,
  applies: kinds,
  refersTo: kinds,
  isWorkload: flag,
  awaitsWorkloads: flag,
  ignoresGeneration: flag,
  revision: expression,
}

/**
 * Checks an entry of a file.
 * @param where its place for messages: `Entry 2`
 * @param addMistake gets every mistake
 */
function isEntry(raw: unknown, where: string, addMistake: AddMistake): raw is HealthCheckEntry {
  if (!isMapping(raw)) {
    addMistake(`${where} is not a mapping. Write apiVersion, kind and current.`)
    return false
  }
  let isValid = true
  const mistake = (message: string) => {
    isValid = false
    addMistake(message)
  }
  const named = isText(raw.kind) ? `${where} (${raw.kind})` : where
  for (const name of Object.keys(raw))
    if (!Object.hasOwn(shapes, name))
      mistake(`${where} has an unknown field "${name}". There are ${Object.keys(shapes).join(', ')}.`)
  if (raw.kind === undefined) mistake(`${where} lacks kind.`)
  if ((raw.apiVersion === undefined) === (raw.group === undefined))
    mistake(`${named} ${raw.group === undefined ? 'lacks apiVersion' : 'has apiVersion and group: write one of them'}.`)
  if (raw.current === undefined) mistake(`${named} lacks current: ${expression(undefined)}.`)
  for (const [name, shape] of Object.entries(shapes)) {
    const value = raw[name as keyof HealthCheckEntry]
    const wanted = value === undefined ? undefined : shape(value)
    if (wanted !== undefined) mistake(`${named}, ${name}: write ${wanted}.`)
  }
  const group = typeof raw.apiVersion === 'string' ? groupOf(raw.apiVersion) : raw.group
  if (typeof group === 'string' && isBuiltInGroup(group))
    mistake(
      `${named} is a kind of Kubernetes, which the gate judges by its own rule. Write --for at the reference of an object that is ready otherwise.`,
    )
  return isValid
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
  // Loaded when needed: the library costs start-up time.
  const { CORE_SCHEMA, load, mergeTag } = await import('js-yaml')
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
