import { type ApiResource, kindNameOf } from '../cluster/feed.ts'
import type { ObjectName } from '../cluster/objects.ts'
import { formatDuration, parseDuration } from '../duration.ts'
import { type AddMistake, didYouMean, type Mistake, quote } from '../errors.ts'
import { number, oneOf, type Parse, writtenLines } from '../input-types.ts'
import type { Inputs } from '../inputs.ts'
import { defaultRequestTimeoutMs, maxRequestLines } from '../thresholds.ts'
import { splitWords } from './kubectl-output.ts'
import { checkName, checkNamespace } from './names.ts'
import { type FlagOptions, splitFlags } from './reference-flags.ts'
import { noDefaults, resolveReferences } from './resolve.ts'
import { nameKey, type Target } from './target.ts'

/* Reads the inputs `http-checks` and `hold`: the checks after the targets are ready. */

export type Scheme = 'http' | 'https'
export type Header = readonly [name: string, value: string]
/** A range of HTTP statuses, which includes both ends. */
type StatusRange = readonly [first: number, last: number]

/** A line of `http-checks`: a request to the pods of a target, and the expected answer. */
export interface RequestCheck {
  /** The index of this check among the lines, counted from 0. `Answer.check` contains this index. */
  readonly index: number
  /** The number of the line in the input, counted from 1. */
  readonly line: number
  /** The line as written, with `***` for the values of headers. */
  readonly text: string
  readonly method: string
  /** The path of the URL, including the query string. */
  readonly path: string
  /** The target whose pods receive the request. Until `resolveCheckKinds`, its `kind` is as written. */
  readonly reference: ObjectName
  /** The name or number of the port, as written. */
  readonly port?: string | undefined
  readonly scheme: Scheme
  readonly headers: readonly Header[]
  readonly expectStatus: readonly StatusRange[]
  readonly expectBody?: string | undefined
  readonly timeoutMs: number
  readonly times: number
  readonly eachPod: boolean
}

/** The checks after the targets are ready. */
export interface Checks {
  readonly httpChecks: readonly RequestCheck[]
  /** How long all targets must stay ready, in milliseconds. 0 turns this check off. */
  readonly holdMs: number
}

const input = 'http-checks'

/**
 * Reads the lines of `http-checks`. Never throws: mistakes are collected with their lines. Lines with mistakes are
 * omitted, but counted in `index` and `line`.
 */
export function parseChecks({
  httpChecks: text,
  holdMs,
}: Pick<Inputs, 'httpChecks' | 'holdMs'>): Checks & { readonly mistakes: readonly Mistake[] } {
  const mistakes: Mistake[] = []
  const lines = writtenLines(text)
  if (lines.length > maxRequestLines)
    mistakes.push({ input, message: `It has more than ${maxRequestLines} lines. Split them among several gates.` })
  const httpChecks = lines.slice(0, maxRequestLines).flatMap(({ text, line }, index) => {
    const before = mistakes.length
    const parsed = parseRequest(text, (message) => mistakes.push({ input, line, message }))
    return parsed === undefined || mistakes.length > before ? [] : [{ index, line, ...parsed }]
  })
  return { httpChecks, holdMs, mistakes }
}

const requestFlags = {
  'each-pod': { type: 'boolean' },
  'expect-body': { type: 'string' },
  'expect-status': { type: 'string' },
  header: { type: 'string', multiple: true },
  namespace: { type: 'string', short: 'n' },
  scheme: { type: 'string' },
  timeout: { type: 'string' },
  times: { type: 'string' },
} as const satisfies FlagOptions

/** The HTTP methods that a request may have. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

const scheme = oneOf('http', 'https')

const form = 'Write a reference, a method and a path, like service/web GET /healthz.'

function parseRequest(written: string, addMistake: AddMistake): Omit<RequestCheck, 'index' | 'line'> | undefined {
  const words = splitWords(written, addMistake)?.map(({ text }) => text)
  if (words === undefined) return undefined
  const { words: named, flags } = splitFlags(words, addMistake, requestFlags, 'request')
  if (named.some((word) => /^https?:\/\//i.test(word))) {
    addMistake(
      `A URL cannot be asked, only the pods of what is gated. ${form} For an address outside, use curl in a step of its own.`,
    )
    return undefined
  }
  const [object = '', method = '', path = '', ...more] = named
  if (path === '' || more.length > 0) {
    addMistake(more.length > 0 ? `${quote(more[0] ?? '')} is too much. ${form}` : `Something is missing. ${form}`)
    return undefined
  }
  if (!methods.some((known) => known === method)) {
    const hint = didYouMean(method.toUpperCase(), methods) || ` There are ${methods.join(', ')}.`
    addMistake(`${quote(method)} is no method of HTTP.${hint}`)
  }
  checkPath(path, addMistake)
  const readFlag = <T>(name: keyof typeof requestFlags, parse: Parse<T>, otherwise: T): T => {
    const text = flags.get(name)
    const addFlagMistake: AddMistake = (message) => addMistake(`--${name}: ${message}`)
    return (text === undefined ? undefined : parse(text, addFlagMistake)) ?? otherwise
  }
  return {
    text: maskHeaders(words),
    method,
    path,
    ...readReference(object, flags.get('namespace'), addMistake),
    scheme: readFlag('scheme', scheme.parse, 'http'),
    headers: readHeaders(flags.get('header'), addMistake),
    expectStatus: readFlag('expect-status', parseStatusRanges, [[200, 299]]),
    expectBody: flags.get('expect-body'),
    timeoutMs: readFlag('timeout', parseTimeout, defaultRequestTimeoutMs),
    times: readFlag('times', parseTimes, 1),
    eachPod: flags.has('each-pod'),
  }
}

/** Reads a reference with an optional port, like `service/web:8080`. */
function readReference(
  word: string,
  namespace: string | undefined,
  addMistake: AddMistake,
): Pick<RequestCheck, 'port' | 'reference'> {
  const [object = '', port, ...rest] = word.split(':')
  const [kind = '', name = '', ...more] = object.split('/')
  if (kind === '' || name === '' || more.length > 0 || rest.length > 0 || kind.includes(',')) {
    addMistake(`${quote(word)} is no reference. Write a kind and a name, and a port if needed: service/web:8080.`)
    return { reference: { apiVersion: '', kind, name } }
  }
  checkName(name, '', addMistake)
  if (port !== undefined && !isPort(port))
    addMistake(`${quote(port)} is no port. Write a number from 1 to 65535, or the name of a port.`)
  if (namespace !== undefined) checkNamespace(namespace, addMistake)
  return { reference: { apiVersion: '', kind, name, namespace }, port }
}

/** Whether a text is a port number, or a valid port name (IANA_SVC_NAME in the Kubernetes API). */
function isPort(text: string): boolean {
  if (/^\d+$/.test(text)) return Number(text) >= 1 && Number(text) <= 65_535
  return /^(?!.*--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text)
}

/** A path that HTTP clients would change, or read as a host (WHATWG URL, "path state"; RFC 3986, section 4.2). */
const otherPath = /^\/\/|^[^?]*(?:\\|\/(?:\.|%2e){1,2}(?:[/?]|$))/i

/** The characters that the value of a header may have (RFC 9110, section 5.5). */
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/

function checkPath(path: string, addMistake: AddMistake): void {
  if (/^\/[\x21-\x7e]*$/.test(path) && !path.includes('#') && !otherPath.test(path)) return
  addMistake(
    `${quote(path)} is no path. Write one that begins with one "/", with %20 for a blank and without "#", "\\", "." and "..".`,
  )
}

function readHeaders(text: string | undefined, addMistake: AddMistake): readonly Header[] {
  return (text?.split('\n') ?? []).flatMap((header) => {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+):\s*(\S.*?)\s*$/s.exec(header) ?? []
    if (name !== undefined && value !== undefined && !/\p{Cc}/u.test(value)) {
      if (headerValue.test(value)) return [[name, value] as const]
      addMistake(
        `The value of the header ${name} contains characters that HTTP cannot send. Encode them, as the server expects it.`,
      )
      return []
    }
    // The message does not quote the header, which may contain a secret.
    addMistake("--header is no header. Write its name, a colon and its value: --header='Authorization: Bearer …'.")
    return []
  })
}

/** Parses HTTP statuses like `200`, `200-299` or `200,302`. */
function parseStatusRanges(text: string, addMistake: AddMistake): readonly StatusRange[] {
  return text.split(',').flatMap((part) => {
    const [, first = '', last = first] = /^\s*([1-5]\d\d)(?:-([1-5]\d\d))?\s*$/.exec(part) ?? []
    if (first !== '' && Number(first) <= Number(last)) return [[Number(first), Number(last)] as const]
    addMistake(`${quote(part)} is no status. Write one like 204, a range like 200-299, or 200,302.`)
    return []
  })
}

function parseTimeout(text: string, addMistake: AddMistake): number | undefined {
  const timeoutMs = parseDuration(text, addMistake)
  if (timeoutMs === 0)
    addMistake(`A request cannot wait for ever. Write a duration, like ${formatDuration(defaultRequestTimeoutMs)}.`)
  return timeoutMs
}

function parseTimes(text: string, addMistake: AddMistake): number | undefined {
  const times = number.parse(text, addMistake)
  if (times === 0) addMistake('Write at least 1.')
  return times
}

/** Joins the words of a line, with `***` in place of the values of headers. A replay can parse the result. */
function maskHeaders(words: readonly string[]): string {
  let isValue = false
  return words
    .map((word) => {
      const [, flag, header = ''] = isValue ? ['', '', word] : (/^(--header=)(.*)$/s.exec(word) ?? [])
      isValue = word === '--header'
      const shown = flag === undefined ? word : `${flag}${header.slice(0, header.indexOf(':') + 1)} ***`
      return /^[\w@%+=,.:/?&!*~-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", "'\\''")}'`
    })
    .join(' ')
}

/** The lines of `http-checks` for a recording, without comments and without the values of headers. */
export function linesForRecording(text: string): readonly string[] {
  return writtenLines(text).map(({ text }) => maskHeaders(splitWords(text, () => {})?.map((word) => word.text) ?? []))
}

/**
 * Finds the kind of each reference in the checks.
 * @param resources the server's resource types, in the order of discovery
 * @throws UserError with every reference of an unknown kind
 */
export function resolveCheckKinds(checks: Checks, resources: readonly ApiResource[]): Checks {
  const references = checks.httpChecks.map(({ reference: { kind, name, namespace }, line }) => ({
    ...{ place: { input, line }, kind, name, namespace },
    exclude: false,
    clocks: {},
  }))
  const { resolved } = resolveReferences({ references, skipped: [], mistakes: [] }, resources, noDefaults)
  const httpChecks = checks.httpChecks.map((check, index) => {
    const [resource] = resolved.find(({ reference }) => reference === references[index])?.resources ?? []
    if (resource === undefined) return check
    return { ...check, reference: { ...check.reference, ...kindNameOf(resource) } }
  })
  return { ...checks, httpChecks }
}

/**
 * Sets the namespace of each reference without `-n`. If only one target has the kind and name, uses its namespace, else
 * the default namespace.
 * @param namespace the default namespace
 */
export function addNamespaces(checks: Checks, targets: readonly Target[], namespace: string): Checks {
  const withNamespace = (reference: ObjectName): ObjectName => {
    if (reference.namespace !== undefined) return reference
    const same = targets.filter((target) => nameKey({ ...target, namespace: '' }) === nameKey(reference))
    const [{ namespace: own } = { namespace }] = same.length === 1 ? same : []
    return { ...reference, namespace: own }
  }
  const httpChecks = checks.httpChecks.map((check) => ({ ...check, reference: withNamespace(check.reference) }))
  return { ...checks, httpChecks }
}
