import type { AddMistake } from '../errors.ts'
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

/** The resource in a line of kubectl's output and what was done with it (`configured`), or why the line is skipped. */
type KubectlLine =
  | { readonly words: readonly string[]; readonly applied: string; readonly skip?: undefined }
  | { readonly skip: string }

/**
 * Reads a line of kubectl's output: `deployment.apps/web configured`, `service/web created (server dry run)`. Old
 * releases and `kubectl delete` print the name in quotes (k8s.io/cli-runtime pkg/printers, `NamePrinter`;
 * k8s.io/kubectl pkg/cmd/delete).
 *
 * After the resource, kubectl prints participles (`configured`, `serverside-applied`, `rolled back`,
 * `skipped rollback (…)`) or `condition met`. Other words there may be names.
 * @returns undefined for a line that kubectl does not print
 */
export function parseKubectlLine(line: string): KubectlLine | undefined {
  if (/^warning:/i.test(line)) return { skip: 'a warning' }
  if (isLogLine(line)) return { skip: 'a log line' }

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

  if (rest.join(' ').endsWith('dry run)')) return { skip: 'a dry run' }
  if (verb.includes('deleted')) return { skip: 'deleted' }
  if (verb.includes('pruned')) return { skip: 'pruned' }
  return { words: words.slice(0, inQuotes ? 2 : 1).map(({ text }) => text), applied: verb.join(' ') }
}

/** The line of another command's output, and what to pass instead. */
interface ForeignOutput {
  /** Counted from 1. */
  readonly line: number
  readonly message: string
}

/**
 * Recognizes other output, which contains no references: a table of `kubectl get`, a manifest, or Helm's report of a
 * release.
 * @param lines the text, line by line
 */
export function recognizeForeignOutput(lines: readonly string[]): ForeignOutput | undefined {
  const find = (pattern: RegExp, message: string): ForeignOutput | undefined => {
    const index = lines.findIndex((line) => pattern.test(line))
    return index < 0 ? undefined : { line: index + 1, message }
  }
  const isHelm = lines.some((line) => /^(?:LAST DEPLOYED|Release "[^"]*" (?:has been|does not exist))\b/.test(line))
  return (
    (isHelm ? find(/^(?:Release "|NAME: )/, explainHelm(lines)) : undefined) ??
    find(
      /^\s*(?:- )?["']?apiVersion["']?\s*:/,
      'This is a manifest, not a reference. Write it to a file, and name the file in manifests.',
    ) ??
    find(
      /^(?:NAMESPACE +)?NAME {2,}[A-Z]/,
      'This is a table of kubectl get. Print names instead: kubectl get … -o name.',
    )
  )
}

/** Helm's report contains `NAME: web`, `NAMESPACE: shop` (helm.sh/helm pkg/cmd/status.go, `statusPrinter`). */
function explainHelm(lines: readonly string[]): string {
  const field = (name: string) => {
    const value = lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
    return value !== undefined && value.length <= 63 && label.test(value) ? value : undefined
  }
  const namespace = field('NAMESPACE')
  const place = namespace === undefined ? '' : ` -n ${namespace}`
  return `This is output of Helm, which contains no resources. Pass the manifests of the release instead: helm get manifest ${field('NAME') ?? 'RELEASE'}${place} > rendered.yaml, and manifests: rendered.yaml.`
}

/** Error messages of kubectl and helm (k8s.io/kubectl pkg/cmd/util, `StandardErrorMessage`). */
const failure =
  /^(?:error: |error (?:validating|parsing|when) |Error from server\b|Error: |Unable to connect to the server|The connection to the server \S+ was refused|The \S+ "[^"]*" is invalid|unable to recognize )/

export function isFailureLine(line: string): boolean {
  return failure.test(line)
}

/** Whether a line is from kubectl's own log: `W0101 10:00:00.000000   12345 warnings.go:70] …` (k8s.io/klog). */
function isLogLine(line: string): boolean {
  return /^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\]/.test(line)
}

/** Whether a text contains manifests, not kubectl's output: manifests contain an `apiVersion`. */
export function looksLikeManifests(text: string): boolean {
  return /^\s*[{[]/.test(text) || /^[ \t-]*["']?apiVersion["']?[ \t]*:/m.test(text)
}
