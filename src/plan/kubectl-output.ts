import { type AddMistake, type Mistake, removeFinalPunctuation } from '../errors.ts'
import { label } from './names.ts'

/* Reads what kubectl prints, and separates it from references to targets. */

/** One word of a line. `quoted`: the word begins with a quote. */
interface Word {
  readonly text: string
  readonly quoted: boolean
}

/** Matches a part of a line: white space, a text in quotes, an escaped character, other text, or an unclosed quote. */
const piece = /(\s+)|"((?:\\["\\$`]|[^"\\]|\\(?!["\\$`]))*)"|'([^']*)'|\\(.)|([^\s"'\\]+|\\$)|(["'])/gs

/**
 * Splits a line into words as a POSIX shell does, with quotes, backslashes and `#` comments, but without expansions.
 * @returns the words; undefined if a quote is not closed
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
type KubectlLine =
  /** The words that name a resource, and what kubectl did with the resource: `configured`. */
  | { readonly type: 'resource'; readonly words: readonly string[]; readonly applied: string }
  | { readonly type: 'skipped'; readonly why: string }
  /** An error of kubectl, or a line that must not be in the output. */
  | { readonly type: 'mistake'; readonly message: string }
  /** A line that the message of a mistake covers, such as a detail of an error. */
  | { readonly type: 'covered' }

/**
 * Classifies lines that may contain kubectl's output and references to targets (`deployment/web`). A line that is not
 * kubectl's output is a reference. In the output of another command, only the first line is a mistake.
 * @returns one element for each line; undefined for a reference
 */
export function readKubectlLines(lines: readonly string[]): readonly (KubectlLine | undefined)[] {
  const foreign = recognizeForeignOutput(lines)
  if (foreign !== undefined)
    return lines.map((_, index) =>
      index === foreign.index ? { type: 'mistake', message: foreign.message } : { type: 'covered' },
    )
  const excludes = findExcludesInOutput(lines)
  return classifyLines(lines.map((text) => text.trim().replace(/^#.*/, ''))).map((line, index) =>
    excludes.has(index) ? { type: 'mistake', message: excludeInOutput } : line,
  )
}

/** Classifies lines. After an error of kubectl, a line that is not kubectl's output is a detail of the error. */
function classifyLines(lines: readonly string[]): readonly (KubectlLine | undefined)[] {
  let hasFailed = false
  return lines.map((line, index) => {
    if (failures.some((pattern) => pattern.test(line))) {
      hasFailed = true
      const message = [removeFinalPunctuation(line), ...listBelow(lines, index)].join(': ')
      return { type: 'mistake', message: explainFailedApply(message) }
    }
    return parseKubectlLine(line) ?? (hasFailed ? { type: 'covered' } : undefined)
  })
}

const excludeInOutput =
  'This exclude stands between lines that kubectl printed, so a name with a line break may contain it. Write excludes above or below the output.'

/** Matches the end of a line that kubectl prints for a resource, such as `configured`. */
const printedEnd =
  /(?:^|\s)(?:created|configured|unchanged|serverside-applied|replaced|patched|pruned|deleted|condition met)(?: \([^)]*\))?$/

/**
 * Finds excludes (`!`) between lines of kubectl's output. They must not exclude anything: the name of an RBAC object
 * may contain line breaks, so the line may be part of a name (apimachinery pkg/api/validation/path,
 * `ValidatePathSegmentName`).
 * @returns the indexes of the lines
 */
function findExcludesInOutput(lines: readonly string[]): ReadonlySet<number> {
  const last = lines.findLastIndex((line) => printedEnd.test(line.trim()))
  const found = new Set<number>()
  /** The last line so far that is not empty, a comment or an exclude. */
  let above: string | undefined
  for (const [index, line] of lines.entries()) {
    const text = line.trim()
    if (index > last) break
    if (!text.startsWith('!')) {
      if (text !== '' && !text.startsWith('#')) above = text
      continue
    }
    // A name never contains a slash, so a line with a slash is not part of a name.
    const isPrinted = text.includes('/') && printedEnd.test(text)
    if (above !== undefined && !(isPrinted && printedEnd.test(above))) found.add(index)
  }
  return found
}

/** Joins the list below an error to one text. List items look like `* spec.selector: Required value`. */
function listBelow(lines: readonly string[], index: number): readonly string[] {
  const items: string[] = []
  for (let next = index + 1; /^[-*] /.test(lines[next] ?? ''); next++) items.push(lines[next]?.slice(2) ?? '')
  return items.length === 0 ? [] : [items.join(', ')]
}

/**
 * Reads a line of kubectl's output: `deployment.apps/web configured`, `service/web created (server dry run)`. Old
 * releases and `kubectl delete` print the name in quotes (k8s.io/cli-runtime pkg/printers, `NamePrinter`).
 *
 * After the resource, kubectl prints participles (`configured`, `rolled back`, `skipped rollback (…)`) or `condition
 * met`. A line with other words is not kubectl's output, because the words may be names.
 */
function parseKubectlLine(line: string): KubectlLine | undefined {
  if (/^warning:/i.test(line)) return { type: 'skipped', why: 'a warning' }
  // `W0101 10:00:00.000000   12345 warnings.go:70] …` (k8s.io/klog)
  if (/^[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\]/.test(line)) return { type: 'skipped', why: 'a log line' }
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

/**
 * Recognizes text that contains no references: a table of `kubectl get`, a manifest, or Helm's report about a release.
 * @returns the index of its first line, and a message with the input to use instead
 */
function recognizeForeignOutput(lines: readonly string[]): { index: number; message: string } | undefined {
  const findLine = (pattern: RegExp, message: string) => {
    const index = lines.findIndex((line) => pattern.test(line))
    return index < 0 ? undefined : { index, message }
  }
  const isHelm = lines.some((line) => /^(?:LAST DEPLOYED|Release "[^"]*" (?:has been|does not exist))\b/.test(line))
  return (
    (isHelm ? findLine(/^(?:Release "|NAME: )/, explainHelmOutput(lines)) : undefined) ??
    findLine(
      /^\s*(?:- )?["']?apiVersion["']?\s*:/,
      'This is a manifest, not a reference. Write it to a file, and name the file in manifests.',
    ) ??
    findLine(
      /^(?:NAMESPACE +)?NAME +[A-Z]{3}/,
      'This is a table of kubectl get. Print names instead: kubectl get … -o name.',
    )
  )
}

/** The message for Helm's report, which contains `NAME: web` (helm.sh/helm pkg/cmd/status.go, `statusPrinter`). */
function explainHelmOutput(lines: readonly string[]): string {
  const fieldValue = (name: string) => {
    const value = lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
    return value !== undefined && value.length <= 63 && label.test(value) ? value : undefined
  }
  const namespace = fieldValue('NAMESPACE')
  const place = namespace === undefined ? '' : ` -n ${namespace}`
  return `This is output of Helm, which contains no resources. Name the release instead: helm/${fieldValue('NAME') ?? 'RELEASE'}${place}.`
}

/** Information that kubectl prints besides results (k8s.io/kubectl pkg/cmd/config, pkg/cmd/rollout; spf13/pflag). */
const information =
  /^(?:Waiting for .*\.\.\.|Flag --\S+ has been deprecated, .*|Switched to context ".*"\.|(?:Context|Cluster|User|Property) ".*" \w+\.)$/

/**
 * Error messages of kubectl, helm and the shell. kubectl writes `error: ` before a single error, but no prefix before
 * several errors (k8s.io/kubectl pkg/cmd/util, `checkErr` and `MultipleErrors`; pkg/cmd/apply; k8s.io/apimachinery
 * pkg/api/meta; k8s.io/cli-runtime pkg/resource).
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

/** Whether a text contains manifests in YAML or JSON. Manifests contain an `apiVersion`, kubectl's output does not. */
export function isManifestText(text: string): boolean {
  return /^\s*[{[]/.test(text) || /^[ \t-]*["']?apiVersion["']?[ \t]*:/m.test(text)
}

/**
 * Separates objects that kubectl printed (`-o yaml`, `-o json`) from kubectl's warnings, log lines and errors.
 * @param file the name of the text in messages
 * @returns the text with an empty line for each warning and log line, so line numbers stay; and the errors as mistakes
 */
export function readPrintedObjects(
  printed: string,
  file: string,
): { readonly text: string; readonly mistakes: readonly Mistake[] } {
  const lines = printed.split('\n')
  // An indented line is part of an object, not a message of kubectl.
  const read = classifyLines(lines.map((line) => (/^\s/.test(line) ? '' : line)))
  return {
    text: lines.map((line, index) => (read[index]?.type === 'skipped' ? '' : line)).join('\n'),
    mistakes: read.flatMap((each, index) =>
      each?.type === 'mistake' ? [{ input: file, line: index + 1, message: each.message }] : [],
    ),
  }
}

const maxFailureLength = 300

function explainFailedApply(message: string): string {
  const shown = message.length > maxFailureLength ? `${message.slice(0, maxFailureLength)}…` : message
  return `The apply failed: ${shown}${/[!?…]$/.test(shown) ? '' : '.'} Correct that first. With set -o pipefail the step of the apply fails by itself.`
}
