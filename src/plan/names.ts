import { type AddMistake, quote } from '../errors.ts'

/* Which names, namespaces and label selectors the API server accepts. */

/** An RFC 1123 label of any length. */
export const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/

/** Adds a mistake and returns false if `text` cannot be a namespace, that is, an RFC 1123 label. */
export function checkNamespace(text: string, addMistake: AddMistake): boolean {
  if (text.length <= 63 && label.test(text)) return true
  addMistake(
    `${quote(text)} cannot be a namespace: at most 63 lower-case letters, digits and "-", a letter or digit at both ends.`,
  )
  return false
}

/**
 * Adds a mistake and returns false if no object of this API group can have the name `text`. Most names are RFC 1123 subdomains.
 * Two groups accept any segment of a URL path: `system:node`, an IP address (Kubernetes: "Object Names and IDs").
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

/** Adds a mistake and returns false if `text` is no label selector of kubectl: `app=shop,tier!=db,env in (prod, stage),!canary`. */
export function checkSelector(text: string, addMistake: AddMistake): boolean {
  const invalid = splitSelector(text).find((part) => parseRequirement(part) === undefined)
  if (invalid === undefined) return true
  addMistake(
    `${quote(invalid)} is not a label selector. Write -l app=shop, -l 'app!=shop', -l 'app in (shop, cart)' or --all for every object.`,
  )
  return false
}

/**
 * Whether a valid label selector matches these labels (k8s.io/apimachinery pkg/labels: an absent label matches `!=` and
 * `notin`). An empty selector matches everything.
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

/** The words of a text as a set. */
export function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/))
}
