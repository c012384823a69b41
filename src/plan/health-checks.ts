import { readFileSync } from 'node:fs'
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml'
import type { z } from 'zod'
import { cachePerObject, groupOf, isObject, type KindName, type KubeObject } from '../cluster/objects.ts'
import { type AddMistake, errorText, type Mistake, removeQuotedText, UserError } from '../errors.ts'
import type { MilestoneName } from '../inputs.ts'
import { expressionMs, expressionSteps } from '../thresholds.ts'
import type { entrySchema } from './health-check-schema.ts'
import { isBuiltInGroup } from './kinds.ts'

/* Reads, compiles and selects health checks in CEL, from the input `health-check-exprs` and from the catalogue. */

/** A compiled condition. Returns whether the condition is true for an object. `error`: why the evaluation failed. */
type Expression = (object: KubeObject) => { readonly holds: boolean; readonly error?: string }

/** A compiled text expression. Returns a text for an object, or the first text of a list; undefined without text. */
type TextExpression = (object: KubeObject) => string | undefined

/** Compiles CEL expressions over the fields of an object. Both functions throw an error if the syntax is invalid. */
interface Compiler {
  /** An expression that reads a missing field is false. */
  readonly condition: (source: string) => Expression
  readonly text: (source: string) => TextExpression
}

/** The maximum length of a text from an object, in characters. */
const maxTextLength = 1_000

/** The maximum number of values in an object; an object of 1.5 MiB has fewer. */
const maxValues = 200_000
/** Matches a call of a CEL macro. A macro evaluates an expression for each element of a list. */
const macro = /\.\s*(?:all|exists|exists_one|existsOne|filter|map)\s*\(/g

/**
 * Loads the CEL library. Call this function only if there are expressions, because loading delays the start.
 * @param limitMs the time limit for one evaluation. Only expressions with patterns or many steps have a time limit.
 */
export async function loadCompiler(limitMs = expressionMs): Promise<Compiler> {
  const [{ Environment }, vm] = await Promise.all([import('@marcbachmann/cel-js'), import('node:vm')])
  const environment = new Environment({ unlistedVariablesAreDyn: true, enableOptionalTypes: true })
  // From the list library of Kubernetes (https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-list-library).
  environment.registerFunction('list.sum(): dyn', (numbers: readonly bigint[]) =>
    numbers.reduce((total, each) => total + each, 0n),
  )
  const limited = createTimeLimiter(vm, limitMs)
  const compileExpression = (source: string) => {
    const evaluate = environment.parse(expandConditionCalls(source))
    const hasPattern = source.includes('matches')
    const macros = source.match(macro)?.length ?? 0
    return (object: KubeObject): unknown => {
      const { fields, values } = toCelObject(object)
      // The maximum number of steps: each macro may be nested in the other macros.
      const steps = values ** macros
      if (steps > expressionSteps) return limited(() => evaluate(withStepLimit(fields, { left: expressionSteps })))
      return hasPattern ? limited(() => evaluate(fields)) : evaluate(fields)
    }
  }
  /** @param convert converts the result of the expression. @param fail returns the value after a failed evaluation */
  const compile =
    <Value>(convert: (result: unknown) => Value, fail: (error: unknown) => Value) =>
    (source: string) => {
      const evaluate = compileExpression(source)
      return cachePerObject((object: KubeObject) => {
        try {
          return convert(evaluate(object))
        } catch (error) {
          return fail(error)
        }
      })
    }
  return {
    condition: compile<ReturnType<Expression>>(
      (result) => ({ holds: result === true }),
      (error) => ({ holds: false, error: firstLine(error) }),
    ),
    text: compile(firstNonEmptyText, () => undefined),
  }
}

/** Matches a call of `isTrue`, `isFalse` or `messageOf` whose arguments are texts in quotes. */
const conditionCall = /\b(isTrue|isFalse|messageOf)\(((?:\s*(?:'[^']*'|"[^"]*")\s*,?)*)\)/g

/**
 * Replaces calls of three functions with CEL over `status.conditions`:
 *
 * - `isTrue('Ready')`: the condition is True. `isTrue('Ready', 'Synced', 'Healthy')`: and its reason is one of these
 * two.
 * - `isFalse('Ready', 'InvalidConfig')`: the condition is False, and this is its reason.
 * - `messageOf('Ready')`: the message of a condition that is not True. `messageOf('Degraded', 'False')`: that is not
 * False.
 * @throws Error if an argument is not a text in quotes
 */
function expandConditionCalls(source: string): string {
  const replaced = source.replace(conditionCall, (_, name: string, list: string) => {
    const [type = "''", ...others] = [...list.matchAll(/'[^']*'|"[^"]*"/g)].map(([text]) => text)
    if (name === 'messageOf')
      return `status.conditions.filter(c, c.type == ${type} && c.status != ${others[0] ?? "'True'"}).map(c, c.message)`
    const reasons = others.length === 0 ? '' : ` && c.reason in [${others.join(', ')}]`
    return `status.conditions.exists(c, c.type == ${type} && c.status == '${name === 'isTrue' ? 'True' : 'False'}'${reasons})`
  })
  const [, left] = /\b(isTrue|isFalse|messageOf)\(/.exec(replaced) ?? []
  if (left !== undefined) throw new Error(`${left}() takes texts in quotes, like ${left}('Ready')`)
  return replaced
}

/** Creates a function that calls `work` with a time limit, from a `Script` whose limit also applies to its calls. */
function createTimeLimiter({ createContext, Script }: typeof import('node:vm'), limitMs: number) {
  const script = new Script('work()')
  return (work: () => unknown): unknown => {
    try {
      return script.runInContext(createContext({ work }), { timeout: limitMs })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      throw new Error(`the expression takes longer than ${limitMs / 1_000} s`)
    }
  }
}

/** Copies a value, and counts the reads of list elements. Throws an error if an expression reads too many elements. */
function withStepLimit<Value>(value: Value, steps: { left: number }): Value {
  if (Array.isArray(value)) {
    const get = (list: readonly unknown[], key: PropertyKey) => {
      if (steps.left-- <= 0)
        throw new Error(`the expression takes more than ${expressionSteps.toLocaleString('en')} steps`)
      return Reflect.get(list, key)
    }
    return new Proxy(
      value.map((each) => withStepLimit(each, steps)),
      { get },
    ) as Value
  }
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withStepLimit(each, steps)])) as Value
}

function firstLine(error: unknown): string {
  return errorText(error).split('\n')[0] ?? ''
}

function firstNonEmptyText(value: unknown): string | undefined {
  const texts = (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string')
  return texts.map((each) => each.trim().slice(0, maxTextLength)).find((each) => each !== '')
}

interface CelObject {
  readonly fields: Record<string, unknown>
  /** The number of values in the object, at any depth. */
  readonly values: number
}

/** Converts an object for CEL, and counts its values. Throws an error if there are too many values. */
const toCelObject = cachePerObject((object): CelObject => {
  let values = 0
  /** Converts a value. As in the API server, whole numbers become integers. */
  const toCel = (value: unknown): unknown => {
    values += 1
    if (values > maxValues) throw new Error(`the object has more than ${maxValues} values`)
    if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
    if (Array.isArray(value)) return value.map(toCel)
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toCel(item)]))
  }
  const fields = toCel(object) as Record<string, unknown>
  return { fields, values }
})

/** An entry in the file of `health-check-exprs`, or in the catalogue of operators. */
export type HealthCheckEntry = z.infer<typeof entrySchema>

/** The kinds that an entry applies to: a group or `*.suffix`, and a kind or `*`. */
interface KindPattern {
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
  /** Whether the health check comes from the user, not from the catalogue. */
  readonly isUsers: boolean
  readonly current: Expression
  readonly failed?: Expression
  readonly inProgress?: Expression
  readonly suspended?: Expression
  readonly stallHold?: Expression
  readonly cause: readonly TextExpression[]
  readonly milestones: readonly { readonly name: MilestoneName; readonly done: Expression }[]
  readonly revision?: TextExpression
  readonly follows?: Readonly<
    Record<'object', TextExpression> & Partial<Record<'generation' | 'every', TextExpression>>
  >
  /** The status fields that the expressions `current` and `failed` read. */
  readonly statusFields: readonly string[]
}

/** Finds the most specific entry for a kind: an exact group, else the longest suffix; then the kind, else `*`. */
export function findEntry<Entry extends KindPattern>(
  { apiVersion, kind }: KindName,
  entries: readonly Entry[],
): Entry | undefined {
  const group = groupOf(apiVersion)
  // The gate has its own rules for built-in kinds. No entry replaces these rules.
  if (isBuiltInGroup(group)) return undefined
  const isOfGroup = (name: string) => name === group || (name.startsWith('*.') && group.endsWith(name.slice(1)))
  const found = entries.filter((each) => isOfGroup(each.group) && (each.kind === kind || each.kind === '*'))
  const [best] = found.toSorted((one, other) => matchRank(other, group) - matchRank(one, group))
  return best
}

function matchRank({ group, kind }: KindPattern, wanted: string): number {
  return 2 * (group === wanted ? Number.MAX_SAFE_INTEGER / 4 : group.length) + (kind === '*' ? 0 : 1)
}

/**
 * Reads the entries of a file, but does not compile their expressions.
 * @param path the path of the file, for messages
 * @throws UserError with every mistake
 */
export async function parseEntries(text: string, path: string): Promise<readonly HealthCheckEntry[]> {
  const { mistakes, entries } = await readEntries(text, path)
  if (mistakes.length > 0) throw new UserError(mistakes)
  return entries.map(({ entry }) => entry)
}

/** Reads the valid entries, each with its place for messages, and all mistakes. */
async function readEntries(text: string, path: string) {
  // Loaded only here: its library would delay the start.
  const { isHealthCheckEntry } = await import('./health-check-schema.ts')
  const mistakes: Mistake[] = []
  const addMistake: AddMistake = (message) => mistakes.push({ input: path, message })
  const entries: { readonly entry: HealthCheckEntry; readonly where: string }[] = []
  try {
    // Supports merge keys: `<<: *other` copies the fields of another entry.
    const list = load(text, { schema: CORE_SCHEMA.withTags(mergeTag) })
    if (!Array.isArray(list)) addMistake('This is not a list. Write a YAML list of {apiVersion, kind, current, …}.')
    for (const [index, entry] of (Array.isArray(list) ? list : []).entries()) {
      const where = `Entry ${index + 1}`
      if (isHealthCheckEntry(entry, where, addMistake)) entries.push({ entry, where })
    }
  } catch (error) {
    addMistake(`This is not valid YAML: ${removeQuotedText(firstLine(error))}`)
  }
  return { mistakes, addMistake, entries }
}

/**
 * Reads a YAML list of health checks and compiles their expressions.
 * @param path the path of the file, for messages
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

/**
 * Compiles the expressions of an entry.
 * @param onMistake called for each expression with invalid syntax; by default, the first error is thrown
 */
export function compileEntry(
  entry: HealthCheckEntry,
  compiler: Compiler,
  { isUsers = false, onMistake }: { readonly isUsers?: boolean; readonly onMistake?: (message: string) => void } = {},
): HealthCheck {
  /** Undefined if the source is absent or its syntax is invalid. */
  const compile = <Result>(field: string, source: string | undefined, compileSource: (source: string) => Result) => {
    try {
      return source === undefined ? undefined : compileSource(source)
    } catch (error) {
      if (onMistake === undefined) throw error
      onMistake(`${field}: ${firstLine(error)}`)
      return undefined
    }
  }
  const condition = (field: string, source: string | undefined) => compile(field, source, compiler.condition)
  const text = (field: string, source: string | undefined) => compile(field, source, compiler.text)
  const neverHolds = () => ({ holds: false })
  const { apiVersion = '', kind, current, failed, cause = [], milestones = [], follows } = entry
  return {
    ...entry,
    group: entry.group ?? groupOf(apiVersion),
    kind,
    isUsers,
    current: condition('current', current) ?? neverHolds,
    failed: condition('failed', failed),
    inProgress: condition('inProgress', entry.inProgress),
    suspended: condition('suspended', entry.suspended),
    stallHold: condition('stallHold', entry.stallHold),
    cause: cause.flatMap((source) => text('cause', source) ?? []),
    milestones: milestones.map(({ name, done }) => ({ name, done: condition('milestones', done) ?? neverHolds })),
    revision: text('revision', entry.revision),
    follows: follows && {
      object: text('follows', follows.object) ?? (() => undefined),
      generation: text('follows', follows.generation),
      every: text('follows', follows.every),
    },
    statusFields: statusFieldsOf(`${current} ${failed}`),
  }
}

function statusFieldsOf(source: string): readonly string[] {
  const named = [...source.matchAll(/\bstatus\.\??(\w+)/g)].flatMap(([, name]) => name ?? [])
  return [...new Set([...named, ...(/\b(isTrue|isFalse)\(/.test(source) ? ['conditions'] : [])])]
}

/**
 * Reads the health checks in a file. Returns an empty list without a path.
 * @throws UserError if the file cannot be read or contains mistakes
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
