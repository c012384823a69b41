import { isObject, type KubeObject, oncePerObject } from '../cluster/objects.ts'
import { errorText } from '../errors.ts'
import { expressionMs, expressionSteps } from '../thresholds.ts'

/** Whether an expression is true for an object, or why it could not be evaluated. */
export type Expression = (object: KubeObject) => { readonly holds: boolean; readonly error?: string }

/** The text that an expression returns for an object: the first one of a list; undefined without a text. */
export type TextExpression = (object: KubeObject) => string | undefined

/** Compiles expressions in CEL over the fields of an object. Both functions throw an error for invalid syntax. */
export interface Compiler {
  /** An expression that reads a missing field is false. */
  condition(source: string): Expression
  text(source: string): TextExpression
}

/** The maximum length of a text from an object, in characters. */
const maxTextLength = 1_000

/** The maximum number of values in an object; an object of 1.5 MiB has fewer. */
const maxValues = 200_000
/** The macros, which evaluate an expression for each element of a list; nested ones for each pair, triple, and so on. */
const macro = /\.\s*(?:all|exists|exists_one|existsOne|filter|map)\s*\(/g

/**
 * Loads the CEL library: only when it is needed, because loading it delays the start.
 *
 * @param limitMs how long one evaluation may take that has patterns or many steps
 */
export async function loadCompiler(limitMs = expressionMs): Promise<Compiler> {
  const [{ Environment }, vm] = await Promise.all([import('@marcbachmann/cel-js'), import('node:vm')])
  const environment = new Environment({ unlistedVariablesAreDyn: true, enableOptionalTypes: true })
  // From the list library of Kubernetes (https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-list-library).
  environment.registerFunction('list.sum(): dyn', sum)
  const limited = timeLimiter(vm, limitMs)
  const parse = (source: string) => {
    const evaluate = environment.parse(withConditions(source))
    const hasPattern = source.includes('matches')
    const macros = source.match(macro)?.length ?? 0
    return (object: KubeObject): unknown => {
      const { fields, values } = fieldsInCel(object)
      // The maximum number of steps: as if each macro were nested in the others.
      const steps = values ** macros
      if (steps > expressionSteps) return limited(() => evaluate(countingSteps(fields, { left: expressionSteps })))
      return hasPattern ? limited(() => evaluate(fields)) : evaluate(fields)
    }
  }
  return {
    condition: (source) => {
      const evaluate = parse(source)
      return oncePerObject((object) => {
        try {
          return { holds: evaluate(object) === true }
        } catch (error) {
          return { holds: false, error: firstLine(error) }
        }
      })
    },
    text: (source) => {
      const evaluate = parse(source)
      return oncePerObject((object) => {
        try {
          return firstText(evaluate(object))
        } catch {
          return undefined
        }
      })
    },
  }
}

/** A call of `isTrue`, `isFalse` or `messageOf`, with texts in quotes. */
const conditionCall = /\b(isTrue|isFalse|messageOf)\(((?:\s*(?:'[^']*'|"[^"]*")\s*,?)*)\)/g

/**
 * Replaces the functions about `status.conditions` by what they stand for:
 *
 * - `isTrue('Ready')`: the condition is True; with reasons, `isTrue('Ready', 'Synced', 'Healthy')`, for one of them.
 * - `isFalse('Ready', 'InvalidConfig')`: the condition is False.
 * - `messageOf('Ready')`: the message of the condition while it is not True; `messageOf('Degraded', 'False')`, not False.
 *
 * @throws Error if an argument is no text in quotes
 */
function withConditions(source: string): string {
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

/** Returns a function that does work with a time limit: that of a script also applies to the functions that it calls. */
function timeLimiter({ createContext, Script }: typeof import('node:vm'), limitMs: number) {
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

/** A copy of a value whose lists count each read of an entry, and throw when none is left. */
function countingSteps<Value>(value: Value, steps: { left: number }): Value {
  if (Array.isArray(value)) {
    const get = (list: readonly unknown[], key: PropertyKey) => {
      if (steps.left-- <= 0)
        throw new Error(`the expression takes more than ${expressionSteps.toLocaleString('en')} steps`)
      return Reflect.get(list, key)
    }
    return new Proxy(
      value.map((each) => countingSteps(each, steps)),
      { get },
    ) as Value
  }
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, countingSteps(each, steps)])) as Value
}

function sum(numbers: readonly bigint[]): bigint {
  return numbers.reduce((total, each) => total + each, 0n)
}

export function firstLine(error: unknown): string {
  return errorText(error).split('\n')[0] ?? ''
}

function firstText(value: unknown): string | undefined {
  const texts = (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string')
  return texts.map((each) => each.trim().slice(0, maxTextLength)).find((each) => each !== '')
}

interface CelObject {
  readonly fields: Record<string, unknown>
  /** The number of values in all fields. */
  readonly values: number
}

/** @throws Error for an object with too many values */
const fieldsInCel = oncePerObject((object): CelObject => {
  let values = 0
  /** Whole numbers of JSON are integers in CEL, as for the API server. */
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
