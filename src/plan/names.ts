import { type AddMistake, quote } from '../errors.ts'

/** An RFC 1123 label of any length. */
export const label = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/

/** Whether `text` can be a namespace: an RFC 1123 label. */
export function checkNamespace(text: string, addMistake: AddMistake): boolean {
  if (text.length <= 63 && label.test(text)) return true
  addMistake(
    `${quote(text)} cannot be a namespace: at most 63 lower-case letters, digits and "-", a letter or digit at both ends.`,
  )
  return false
}

/**
 * Whether `text` can be the name of an object of this API group: an RFC 1123 subdomain, or for some groups
 * (`system:node`, an IP address) a segment of a URL path (Kubernetes: "Object Names and IDs").
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

const key = '(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-\\w.]*[A-Za-z0-9])?'
const value = '(?:[A-Za-z0-9](?:[-\\w.]*[A-Za-z0-9])?)?'
const requirement = new RegExp(
  `^(?:!\\s*${key}|${key}|${key}\\s*(?:==?|!=)\\s*${value}|${key}\\s+(?:in|notin)\\s*\\(\\s*${value}\\s*(?:,\\s*${value}\\s*)*\\))$`,
)

/** Whether `text` is a label selector as for `kubectl -l`: `app=shop,tier!=db,env in (prod, stage),!canary`. */
export function checkSelector(text: string, addMistake: AddMistake): boolean {
  // Commas within parentheses do not separate requirements.
  const parts = text.length > 2_000 ? [text] : text.split(/,(?![^(]*\))/).map((part) => part.trim())
  const invalid = parts.find((part) => !requirement.test(part))
  if (invalid === undefined) return true
  addMistake(
    `${quote(invalid)} is not a label selector. Write -l app=shop, -l 'app!=shop', -l 'app in (shop, cart)' or --all for every object.`,
  )
  return false
}
