import { type AddMistake, type Mistake, withoutEnd } from '../errors.ts'
import { label } from './names.ts'

/** One word of a line; `quoted`: it began with a quote. */
interface Word {
  readonly text: string
  readonly quoted: boolean
}

/** White space, a text in double or single quotes, an escaped character, other text, or a quote that is never closed. */
const piece = /(\s+)|"((?:\\["\\$`]|[^"\\]|\\(?!["\\$`]))*)"|'([^']*)'|\\(.)|([^\s"'\\]+|\\$)|(["'])/gs

/**
 * Splits a line into words as a POSIX shell does, with quotes, backslashes and `#` comments. Nothing is expanded.
 * @returns the words; undefined after a mistake
 */
export function splitWords(line: string, addMistake: AddMistake): Word[] | undefined {
  const words: Word[] = []
  let word: Word | undefined
  for (const [written, blank, double, single, escaped, plain, open] of line.matchAll(piece)) {
    if (open !== undefined) {
      addMistake(`A ${open === '"' ? 'double' : 'single'} quote is opened and never closed. Close it.`)
      return undefined
    }
    if (word === undefined && written.startsWith('#')) return words
    if (blank !== undefined) {
      if (word !== undefined) words.push(word)
      word = undefined
      continue
    }
    const text = double?.replace(/\\(["\\$`])/g, '$1') ?? single ?? escaped ?? plain ?? ''
    word = { text: `${word?.text ?? ''}${text}`, quoted: word?.quoted ?? /^["']/.test(written) }
  }
  if (word !== undefined) words.push(word)
  return words
}

/** A line of kubectl's output. */
export type KubectlLine =
  /** The resource of the line, and what was done with it: `configured`. */
  | { readonly type: 'resource'; readonly words: readonly string[]; readonly applied: string }
  | { readonly type: 'skipped'; readonly why: string }
  /** An error, with the list below it: the fields in conflict, the invalid fields. */
  | { readonly type: 'failure'; readonly message: string }
  /** A further line of an error. */
  | { readonly type: 'failure-detail' }

/**
 * Classifies lines that may mix kubectl's output with references to targets (`deployment/web`). A line that kubectl
 * does not print is a reference; after an error of kubectl, it is a detail of the error.
 * @returns one element for each line; undefined for a reference
 */
export function readKubectlLines(lines: readonly string[]): readonly (KubectlLine | undefined)[] {
  let hasFailed = false
  return lines.map((line, index) => {
    if (isFailureLine(line)) {
      hasFailed = true
      return { type: 'failure', message: [withoutEnd(line), ...listBelow(lines, index)].join(': ') }
    }
    return parseKubectlLine(line) ?? (hasFailed ? { type: 'failure-detail' } : undefined)
  })
}

/** How kubectl ends the line of a resource that it applied or deleted. */
const printedEnd =
  /(?:^|\s)(?:created|configured|unchanged|serverside-applied|replaced|patched|pruned|deleted|condition met)(?: \([^)]*\))?$/

/**
 * Finds the excludes (`!`) between lines of kubectl's output. They must exclude nothing: such a line may be a part of
 * the name of an RBAC object, which may contain line breaks (apimachinery pkg/api/validation/path,
 * `ValidatePathSegmentName`).
 * @param lines the whole text
 * @returns the numbers of the lines, counted from 1
 */
export function findExcludesInOutput(lines: readonly string[]): number[] {
  const last = lines.findLastIndex((line) => printedEnd.test(line.trim()))
  const found: number[] = []
  /** The last line above that is neither empty nor a comment or an exclude. */
  let above: string | undefined
  for (const [index, line] of lines.entries()) {
    const text = line.trim()
    if (index > last) break
    if (!text.startsWith('!')) {
      if (text !== '' && !text.startsWith('#')) above = text
      continue
    }
    // A line with a slash is no part of a name: no name contains one.
    const isPrinted = text.includes('/') && printedEnd.test(text)
    if (above !== undefined && !(isPrinted && printedEnd.test(above))) found.push(index + 1)
  }
  return found
}

/** The list below an error, as one text: `* spec.selector: Required value`, `- .spec.replicas`. */
function listBelow(lines: readonly string[], index: number): readonly string[] {
  const items: string[] = []
  for (let next = index + 1; /^[-*] /.test(lines[next] ?? ''); next++) items.push(lines[next]?.slice(2) ?? '')
  return items.length === 0 ? [] : [items.join(', ')]
}

/**
 * Reads a line of kubectl's output: `deployment.apps/web configured`, `service/web created (server dry run)`. Old
 * releases and `kubectl delete` print the name in quotes (k8s.io/cli-runtime pkg/printers, `NamePrinter`;
 * k8s.io/kubectl pkg/cmd/delete).
 *
 * After the resource, kubectl prints participles (`configured`, `serverside-applied`, `rolled back`,
 * `skipped rollback (…)`) or `condition met`. A line with other words is not kubectl's output: the words may be names.
 */
function parseKubectlLine(line: string): KubectlLine | undefined {
  if (/^warning:/i.test(line)) return { type: 'skipped', why: 'a warning' }
  if (isLogLine(line)) return { type: 'skipped', why: 'a log line' }
  if (information.test(line)) return { type: 'skipped', why: 'information' }

  const words = splitWords(line, () => {})
  const resource = words?.[0]
  if (words === undefined || resource === undefined) return undefined

  const inQuotes = !resource.text.includes('/') && words[1]?.quoted === true
  if (!inQuotes && !resource.text.includes('/')) return undefined

  const rest = words.slice(inQuotes ? 2 : 1).map(({ text, quoted }) => (quoted ? '' : text))
  const parenthesis = rest.findIndex((word) => word.startsWith('('))
  const verb = parenthesis < 0 ? rest : rest.slice(0, parenthesis)
  if (!verb.every((word) => /^[a-z0-9][a-z0-9-]*$/.test(word)) || !verb.some((word) => /ed$|^met$/.test(word))) {
    return undefined
  }

  if (rest.join(' ').endsWith('dry run)')) return { type: 'skipped', why: 'a dry run' }
  const removed = verb.find((word) => word === 'deleted' || word === 'pruned')
  if (removed !== undefined) return { type: 'skipped', why: removed }
  return { type: 'resource', words: words.slice(0, inQuotes ? 2 : 1).map(({ text }) => text), applied: verb.join(' ') }
}

/** The line of another command's output, and what to pass instead. */
interface ForeignOutput {
  /** Counted from 1. */
  readonly line: number
  readonly message: string
}

/**
 * Recognizes output of another command, which contains no references: a table of `kubectl get`, a manifest, or Helm's
 * report of a release.
 * @param lines the text, line by line
 */
export function recognizeForeignOutput(lines: readonly string[]): ForeignOutput | undefined {
  const find = (pattern: RegExp, message: string): ForeignOutput | undefined => {
    const index = lines.findIndex((line) => pattern.test(line))
    return index < 0 ? undefined : { line: index + 1, message }
  }
  const isHelm = lines.some((line) => /^(?:LAST DEPLOYED|Release "[^"]*" (?:has been|does not exist))\b/.test(line))
  return (
    (isHelm ? find(/^(?:Release "|NAME: )/, explainHelmOutput(lines)) : undefined) ??
    find(
      /^\s*(?:- )?["']?apiVersion["']?\s*:/,
      'This is a manifest, not a reference. Write it to a file, and name the file in manifests.',
    ) ??
    find(
      /^(?:NAMESPACE +)?NAME +[A-Z]{3}/,
      'This is a table of kubectl get. Print names instead: kubectl get … -o name.',
    )
  )
}

/** Helm's report contains `NAME: web`, `NAMESPACE: shop` (helm.sh/helm pkg/cmd/status.go, `statusPrinter`). */
function explainHelmOutput(lines: readonly string[]): string {
  const field = (name: string) => {
    const value = lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
    return value !== undefined && value.length <= 63 && label.test(value) ? value : undefined
  }
  const namespace = field('NAMESPACE')
  const place = namespace === undefined ? '' : ` -n ${namespace}`
  return `This is output of Helm, which contains no resources. Name the release instead: helm/${field('NAME') ?? 'RELEASE'}${place}.`
}

/** What kubectl prints besides results (k8s.io/kubectl pkg/cmd/config, pkg/cmd/rollout; spf13/pflag for flags). */
const information =
  /^(?:Waiting for .*\.\.\.|Flag --\S+ has been deprecated, .*|Switched to context ".*"\.|(?:Context|Cluster|User|Property) ".*" \w+\.)$/

/**
 * Error messages of kubectl, helm and the shell. kubectl writes `error: ` before a single error, but nothing before
 * each of several errors (k8s.io/kubectl pkg/cmd/util, `checkErr` and `MultipleErrors`; pkg/cmd/apply;
 * k8s.io/apimachinery pkg/api/meta; k8s.io/cli-runtime pkg/resource).
 */
const failures = [
  /^\[?error(?:: | [a-z]+ing | (?:when|in|from server)\b)/i,
  /^\[?(?:unable to|failed to|couldn't|could not|cannot) /i,
  /^\[?the (?:server|connection|path|request|namespace from|order in patch list)\b/i,
  /^The .*"[^"]*" is invalid\b/,
  /^\[?(?:resource mapping not found|no matches|no resources found|no objects passed|invalid configuration)\b/i,
  /^(?:Apply failed|Server-side apply not available|Server returned an unexpected response|An error occurred) ?/,
  /^(?:F\d{4} [\d:.]+ |panic: |fatal error: )/,
  /^(?:You must be logged in|Object '\w+' is missing|from .*: cannot use generate name)\b/,
  /^\S+: (?:.*: )?(?:command )?not found(?:: \S+)?$/,
]

function isFailureLine(line: string): boolean {
  return failures.some((pattern) => pattern.test(line))
}

/** Whether a line is from kubectl's own log: `W0101 10:00:00.000000   12345 warnings.go:70] …` (k8s.io/klog). */
function isLogLine(line: string): boolean {
  return /^[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\]/.test(line)
}

/** Whether a text contains manifests, not kubectl's output: manifests contain an `apiVersion`. */
export function isManifestText(text: string): boolean {
  return /^\s*[{[]/.test(text) || /^[ \t-]*["']?apiVersion["']?[ \t]*:/m.test(text)
}

/**
 * Separates the objects that kubectl printed with `-o yaml` or `-o json` from warnings, log lines and errors of kubectl.
 * @param file the name of the text in mistakes
 * @returns the text with an empty line in place of each warning and log line, so line numbers stay; the errors as mistakes
 */
export function readPrintedObjects(
  printed: string,
  file: string,
): { readonly text: string; readonly mistakes: readonly Mistake[] } {
  const lines = printed.split('\n')
  // An indented line is a field of an object, and no message of kubectl.
  const read = readKubectlLines(lines.map((line) => (/^\s/.test(line) ? '' : line)))
  return {
    text: lines.map((line, index) => (read[index]?.type === 'skipped' ? '' : line)).join('\n'),
    mistakes: read.flatMap((each, index) =>
      each?.type === 'failure' ? [{ input: file, line: index + 1, message: explainFailedApply(each.message) }] : [],
    ),
  }
}

const maxFailureLength = 300

export function explainFailedApply(message: string): string {
  const shown = message.length > maxFailureLength ? `${message.slice(0, maxFailureLength)}…` : message
  return `The apply failed: ${shown}${/[!?…]$/.test(shown) ? '' : '.'} Correct that first. With set -o pipefail the step of the apply fails by itself.`
}
