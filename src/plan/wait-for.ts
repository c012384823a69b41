import { type AddMistake, quote } from '../errors.ts'
import type { WaitFor } from './target.ts'

const forms = "Write create, delete, condition=Ready, condition=Ready=False or jsonpath='{.status.phase}'=Running."

/**
 * Reads the value of `--for` as `kubectl wait` does (k8s.io/kubectl pkg/cmd/wait): a condition is awaited `True` unless
 * it says otherwise; a JSONPath needs neither its braces nor its first dot, and without a value any will do.
 */
export function parseWaitFor(text: string, addMistake: AddMistake): WaitFor | undefined {
  const [word = ''] = text.split('=', 1)
  const rest = text.slice(word.length + 1)
  if (/^(create|delete)$/i.test(text)) return { type: text.toLowerCase() === 'create' ? 'create' : 'delete' }
  if (word === 'condition') return parseCondition(rest, addMistake)
  if (word === 'jsonpath') return parseJsonPath(rest, addMistake)
  addMistake(`--for cannot wait for ${quote(text)}. ${forms}`)
  return undefined
}

function parseCondition(text: string, addMistake: AddMistake): WaitFor | undefined {
  const equals = text.indexOf('=')
  const condition = equals < 0 ? text : text.slice(0, equals)
  const status = equals < 0 ? 'True' : text.slice(equals + 1)
  if (condition !== '' && status !== '') return { type: 'condition', condition, status }
  addMistake(`--for=condition= names no ${condition === '' ? 'condition' : 'status'}. ${forms}`)
  return undefined
}

function parseJsonPath(text: string, addMistake: AddMistake): WaitFor | undefined {
  const [expression = '', value, ...more] = splitAtSingleEquals(text)
  const path = bracedPath(expression)
  if (path === undefined || more.length > 0) {
    addMistake(
      `--for=jsonpath= cannot read ${quote(text)}. Write jsonpath='{.status.phase}'=Running, or no value for any.`,
    )
    return undefined
  }
  if (value === undefined) return { type: 'jsonpath', path }
  const unquoted = value.replace(/^['"]+/, '').replace(/(?<!['"])['"]+$/, '')
  if (unquoted !== '') return { type: 'jsonpath', path, value: unquoted }
  addMistake("--for=jsonpath= has no value after its last equals sign. Write jsonpath='{.status.phase}'=Running.")
  return undefined
}

/** `==` belongs to a filter within the path; a single `=` ends the path. */
function splitAtSingleEquals(text: string): string[] {
  const parts = ['']
  for (let i = 0; i < text.length; i++) {
    if (text.startsWith('==', i)) parts.push(`${parts.pop()}${text.slice(i, ++i + 1)}`)
    else if (text.charAt(i) === '=') parts.push('')
    else parts.push(`${parts.pop()}${text.charAt(i)}`)
  }
  return parts
}

/** `{.status.phase}` of `{.status.phase}`, `{status.phase}`, `.status.phase` and `status.phase`. */
function bracedPath(expression: string): string | undefined {
  const inner = /^\{\.?([^{}]+)\}$|^\.?([^{}]+)$/.exec(expression)
  const path = inner?.[1] ?? inner?.[2]
  return path !== undefined && bracketsClose(path) ? `{.${path}}` : undefined
}

function bracketsClose(path: string): boolean {
  let depth = 0
  let quote = ''
  for (const char of path) {
    if (quote !== '') quote = char === quote ? '' : quote
    else if (char === '"' || char === "'") quote = char
    else if (char === '[' || char === '(') depth++
    else if ((char === ']' || char === ')') && --depth < 0) return false
  }
  return depth === 0 && quote === ''
}
