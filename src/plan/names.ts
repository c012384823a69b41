import { type AddMistake, quote } from '../errors.ts'

/* Checks names, namespaces and label selectors as the API server does. */

/** An RFC 1123 label of any length. */
export const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/

/** Whether `text` is a valid namespace name (an RFC 1123 label). If not, adds a mistake. */
export function checkNamespace(text: string, addMistake: AddMistake): boolean {
  if (text.length <= 63 && label.test(text)) return true
  addMistake(
    `${quote(text)} cannot be a namespace: at most 63 lower-case letters, digits and "-", a letter or digit at both ends.`,
  )
  return false
}

/**
 * Whether `text` is a valid name for objects of this API group. If not, adds a mistake. Most names are RFC 1123
 * subdomains. Two groups accept any segment of a URL path, such as `system:node` (Kubernetes, "Object Names and IDs").
 */
export function checkName(text: string, group: string, addMistake: AddMistake): boolean {
  if (group === 'rbac.authorization.k8s.io' || group === 'networking.k8s.io') {
    if (text.length <= 253 && !/[/%\s]/.test(text) && text !== '' && text !== '.' && text !== '..') return true
    addMistake(`${quote(text)} cannot be a name: at most 253 characters, without "/", "%" and blanks.`)
    return false
  }
  if (text.length <= 253 && text.split('.').every((part) => label.test(part))) return true
  const lower = text.toLowerCase()
  const hint = lower !== text && lower.length <= 63 && label.test(lower) ? ` Did you mean ${lower}?` : ''
  addMistake(
    `${quote(text)} cannot be a name: at most 253 lower-case letters, digits, "-" and ".", a letter or digit at both ends.${hint}`,
  )
  return false
}

const selectorKey = /^(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?$/
const selectorValue = /^(?:[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?)?$/

/** One requirement of a label selector. */
interface Requirement {
  readonly key: string
  readonly operator: 'exists' | 'absent' | 'in' | 'not-in'
  readonly values: readonly string[]
}

/** Whether `text` is a label selector like `app=shop,tier!=db,env in (prod, stage),!canary`. If not, adds a mistake. */
export function checkSelector(text: string, addMistake: AddMistake): boolean {
  const invalid = splitSelector(text).find((part) => parseRequirement(part) === undefined)
  if (invalid === undefined) return true
  addMistake(
    `${quote(invalid)} is not a label selector. Write -l app=shop, -l 'app!=shop', -l 'app in (shop, cart)' or --all for every object.`,
  )
  return false
}

/**
 * Whether a valid label selector matches these labels. An absent label matches `!=` and `notin`, and an empty selector
 * matches everything (k8s.io/apimachinery pkg/labels).
 */
export function matchesSelector(selector: string, labels: Readonly<Record<string, string>>): boolean {
  return splitSelector(selector).every((part) => {
    const { key = '', operator, values = [] } = parseRequirement(part) ?? {}
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined
    if (operator === undefined) return part === ''
    if (operator === 'exists' || operator === 'absent') return (value === undefined) === (operator === 'absent')
    return (value !== undefined && values.includes(value)) === (operator === 'in')
  })
}

/** The requirements of a selector. A comma in parentheses does not separate requirements. */
function splitSelector(text: string): readonly string[] {
  const parts: string[][] = []
  let isOpen = false
  for (const piece of text.split(',')) {
    if (isOpen) parts.at(-1)?.push(piece)
    else parts.push([piece])
    const [opened, closed] = [piece.lastIndexOf('('), piece.lastIndexOf(')')]
    if (opened !== closed) isOpen = opened > closed
  }
  return parts.map((pieces) => pieces.join(',').trim())
}

function parseRequirement(text: string): Requirement | undefined {
  const [, not, key = '', rest = ''] = /^(!?)\s*([^\s!=(),]*)(.*)$/s.exec(text) ?? []
  if (!selectorKey.test(key)) return undefined
  const condition = rest.trim()
  if (condition === '') return { key, operator: not === '!' ? 'absent' : 'exists', values: [] }
  const [, sign, single] = /^(==?|!=)(.*)$/s.exec(condition) ?? []
  const [, word, list] = /^(in|notin)\s*\((.*)\)$/s.exec(rest.startsWith(condition) ? '' : condition) ?? []
  const values = (single === undefined ? (list ?? '').split(',') : [single]).map((value) => value.trim())
  const operator = sign ?? word
  if (not === '!' || operator === undefined || !values.every((value) => selectorValue.test(value))) return undefined
  return { key, operator: operator === '!=' || operator === 'notin' ? 'not-in' : 'in', values }
}

/** The words of a text, as a set. */
export function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/))
}
