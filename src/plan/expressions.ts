import type { KubeObject } from '../cluster/objects.ts'

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

/** Loads the CEL library: only when it is needed, because loading it delays the start. */
export async function loadCompiler(): Promise<Compiler> {
  const { Environment } = await import('@marcbachmann/cel-js')
  const environment = new Environment({ unlistedVariablesAreDyn: true, enableOptionalTypes: true })
  const parse = (source: string) => {
    const evaluate = environment.parse(source)
    return (object: KubeObject): unknown => evaluate(fieldsInCel(object))
  }
  return {
    condition: (source) => {
      const evaluate = parse(source)
      return (object) => {
        try {
          return { holds: evaluate(object) === true }
        } catch (error) {
          return { holds: false, error: firstLine(error) }
        }
      }
    },
    text: (source) => {
      const evaluate = parse(source)
      return (object) => {
        try {
          return firstText(evaluate(object))
        } catch {
          return undefined
        }
      }
    },
  }
}

/** The first line of an error's message. */
export function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''
}

function firstText(value: unknown): string | undefined {
  const texts = (Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string')
  return texts.map((each) => each.trim().slice(0, maxTextLength)).find((each) => each !== '')
}

/** Several expressions read one object, so each object is converted once. */
const converted = new WeakMap<KubeObject, Record<string, unknown>>()

function fieldsInCel(object: KubeObject): Record<string, unknown> {
  let fields = converted.get(object)
  if (fields === undefined) {
    fields = toCel(object) as Record<string, unknown>
    converted.set(object, fields)
  }
  return fields
}

/** Whole numbers of JSON are integers in CEL, as for the API server. */
function toCel(value: unknown): unknown {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : value
  if (Array.isArray(value)) return value.map(toCel)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toCel(item)]))
}
