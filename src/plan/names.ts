import leven from 'leven'
import { type AddMistake, quote } from '../errors.ts'

/** The form of an RFC 1123 label, whatever its length. */
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
 * Whether `text` can be the name of an object of this API group: an RFC 1123 subdomain, or, for the groups whose names
 * are freer (`system:node`, an IP address), anything that can be a part of a URL's path.
 * Kubernetes: "Object Names and IDs", "Path Segment Names".
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

/** Whether `text` is a label selector as `kubectl -l` takes it: `app=shop,tier!=db,env in (prod, stage),!canary`. */
export function checkSelector(text: string, addMistake: AddMistake): boolean {
  const wrong = text.length > 2_000 ? text : splitRequirements(text).find((part) => !requirement.test(part))
  if (wrong === undefined) return true
  addMistake(
    `${quote(wrong)} is no label selector. Write -l app=shop, -l 'app!=shop', -l 'app in (shop, cart)' or --all for every object.`,
  )
  return false
}

/** Parts at commas that stand outside of parentheses. */
function splitRequirements(text: string): string[] {
  return text.split(/,(?![^(]*\))/).map((part) => part.trim())
}

/** Longer words are no typos of anything, and the distance costs the product of both lengths. */
const longestWord = 80

/** The candidates that `word` is most probably a misspelling of, the nearest first; none when nothing is near. */
export function nearest(word: string, candidates: Iterable<string>, limit = 3): string[] {
  if (word.length > longestWord) return []
  const allowed = word.length <= 5 ? 1 : Math.max(2, Math.floor(word.length / 3))
  return [...new Set(candidates)]
    .filter((candidate) => Math.abs(candidate.length - word.length) <= allowed)
    .map((candidate) => ({ candidate, distance: distanceOf(word, candidate) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map(({ candidate }) => candidate)
}

/** How many mistakes make one word of the other: two letters that changed places are one. */
function distanceOf(word: string, other: string): number {
  const distance = leven(word, other)
  return distance === 2 && lettersOf(word) === lettersOf(other) ? 1 : distance
}

function lettersOf(word: string): string {
  return [...word].sort().join('')
}

/** ` Did you mean timeout?`, or nothing, to be put at the end of a message. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const near = nearest(word, candidates)
  return near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`
}

/** The same for a flag: its dashes do not count. `names` are without dashes. */
export function didYouMeanFlag(flag: string, names: Iterable<string>): string {
  const near = nearest(flag.replace(/^--?/, ''), names)
  return near.length === 0 ? '' : ` Did you mean ${near.map((name) => `--${name}`).join(' or ')}?`
}
