import { label } from './names.ts'

/** A line that shows that a whole text is something else than references, and what to hand over instead. */
export interface ForeignOutput {
  /** Counted from 1. */
  readonly line: number
  readonly message: string
}

/**
 * Recognizes what other commands print: Helm's report of a release, a manifest, a table of `kubectl get`.
 *
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
      'This is a manifest, and no reference. Write it into a file, and name the file in manifests.',
    ) ??
    find(
      /^(?:NAMESPACE +)?NAME {2,}[A-Z]/,
      'kubectl get printed this table. Let it print names: kubectl get … -o name.',
    )
  )
}

/** The form of helm's report: `NAME: web`, `NAMESPACE: shop` (helm.sh/helm pkg/cmd/status.go, `statusPrinter`). */
function explainHelm(lines: readonly string[]): string {
  const field = (name: string) => {
    const value = lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
    return value !== undefined && value.length <= 63 && label.test(value) ? value : undefined
  }
  const namespace = field('NAMESPACE')
  const place = namespace === undefined ? '' : ` -n ${namespace}`
  return `Helm printed this, and it names no resources. Hand over the manifests of the release instead: helm get manifest ${field('NAME') ?? 'RELEASE'}${place} > rendered.yaml, and manifests: rendered.yaml.`
}

/** The forms in which kubectl and helm report that they failed (k8s.io/kubectl pkg/cmd/util, `StandardErrorMessage`). */
const failure =
  /^(?:error: |error (?:validating|parsing|when) |Error from server\b|Error: |Unable to connect to the server|The connection to the server \S+ was refused|The \S+ "[^"]*" is invalid|unable to recognize )/

/** Whether a line reports that a command failed. */
export function isFailureLine(line: string): boolean {
  return failure.test(line)
}

/** Whether a line is from the log of kubectl itself: `W0101 10:00:00.000000   12345 warnings.go:70] …` (k8s.io/klog). */
export function isLogLine(line: string): boolean {
  return /^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\]/.test(line)
}
