import type { Secrets } from '../cluster/secrets.ts'
import { plain } from '../report/escape.ts'

/** A stream that is printed to: stdout, stderr, or what a test makes of them. */
export interface Output {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  hasColors?(): boolean
  on?(event: 'resize', listener: () => void): unknown
  off?(event: 'resize', listener: () => void): unknown
}

/** What a command works with besides its arguments. */
export interface Surface {
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Readonly<Record<string, string | undefined>>
  /** How the program was called: `rollout-gate`, `kubectl rollout-gate`. */
  readonly program: string
  /** Takes every secret out of a text; told of them as they turn up. */
  readonly secrets: Secrets
  /** Aborted at the first Ctrl-C. */
  readonly cancelled: AbortSignal
  readStdin(): Promise<string>
}

/** Whether to print in colour; `--color` goes before what the stream and its environment say. */
export function usesColor(output: Output, flag: string | undefined): boolean {
  if (flag === 'always' || flag === 'never') return flag === 'always'
  return output.isTTY === true && output.hasColors?.() === true
}

/** Whether the output is a terminal on which lines can be drawn anew. */
export function isLive({ isTTY }: Output, env: Surface['env']): boolean {
  return isTTY === true && !env['CI'] && env['TERM'] !== 'dumb'
}

/** Prints one line of words for people. */
export function tell(output: Output, text: string): void {
  output.write(`${plain(text)}\n`)
}

/** The same output, without secrets. */
export function guard(output: NodeJS.WriteStream, { redact }: Secrets): Output {
  return {
    write: (text) => output.write(redact(text)),
    get isTTY() {
      return output.isTTY
    },
    get columns() {
      return output.columns
    },
    get rows() {
      return output.rows
    },
    hasColors: () => output.hasColors?.() === true,
    on: (event, listener) => output.on(event, listener),
    off: (event, listener) => output.off(event, listener),
  }
}
