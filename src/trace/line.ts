import { styleText } from 'node:util'
import { duration } from '../duration.ts'
import { plain } from '../report/escape.ts'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** A piece of a line. Its text may come from the cluster: it is made harmless when the line is painted. */
export interface Span {
  readonly text: string
  readonly style?: Style
  /** Padded to this many characters, so that columns align. */
  readonly width?: number
  /** No news to somebody who reads snapshots: it changes with the time alone, as an age does. */
  readonly isVolatile?: boolean
}

export interface Line {
  readonly indent: number
  /** Joined with one blank. */
  readonly spans: readonly Span[]
}

/** A line of pieces; plain strings have no style, and what is undefined is left out. */
export function line(indent: number, ...spans: readonly (Span | string | undefined)[]): Line {
  return {
    indent,
    spans: spans.flatMap((span) => (span === undefined ? [] : typeof span === 'string' ? { text: span } : span)),
  }
}

export const emptyLine: Line = { indent: 0, spans: [] }

export interface Paint {
  readonly color: boolean
  /** The width of the terminal; what is longer ends in `…`. */
  readonly columns?: number
}

/** A line as text: safe to print, coloured, and no longer than the terminal is wide. */
export function paintLine({ indent, spans }: Line, { color, columns = Number.POSITIVE_INFINITY }: Paint): string {
  let text = ' '.repeat(indent)
  let left = columns - indent
  for (const [index, span] of spans.entries()) {
    if (left <= 0) break
    const isLast = index === spans.length - 1
    const shown = plain(span.text)
    const full = isLast ? shown : `${shown.padEnd(span.width ?? 0)} `
    const piece = cut(full, left)
    left -= piece.length
    text += span.style !== undefined && color ? paintText(span.style, piece) : piece
  }
  return text.trimEnd()
}

/** What is news in lines: two pictures of the same news need not be printed twice. */
export function stableText(lines: readonly Line[]): string {
  const told = lines.map(({ spans }) => spans.filter(({ isVolatile }) => !isVolatile).map(({ text }) => text))
  return JSON.stringify(told.filter((texts) => texts.length > 0))
}

function paintText(style: Style, piece: string): string {
  // Whether there are colours is decided by the shell, not by the process' own standard output.
  return styleText(style, piece, { validateStream: false })
}

function cut(text: string, limit: number): string {
  if (text.trimEnd().length <= limit) return text.slice(0, limit)
  return `${text.slice(0, Math.max(0, limit - 1)).replace(/\p{Cs}$/u, '')}…`
}

/** How something stands: done, on its way, worth a look, failed; of what is neither good nor bad, a dot. */
export type Mark = '✓' | '…' | '!' | '✗' | '·'

const styles: Readonly<Record<Mark, Style>> = { '✓': 'green', '…': 'yellow', '!': 'yellow', '✗': 'red', '·': 'dim' }

export function mark(text: Mark): Span {
  return { text, style: styles[text] }
}

/** Words in the colour of their mark; what is well needs none. */
export function colored(text: string, as: Mark): Span {
  return as === '✓' ? { text } : { text, style: styles[as] }
}

export function dim(text: string): Span {
  return { text, style: 'dim' }
}

/** Words that change with the time alone. */
export function volatile(text: string): Span {
  return { text, style: 'dim', isVolatile: true }
}

/** How long ago something was, in whole seconds: tenths would flicker. */
export function age(ms: number): string {
  return duration(Math.floor(Math.max(0, ms) / 1_000) * 1_000)
}

/** The heading of a section. */
export function heading(text: string): Span {
  return { text, style: 'cyan' }
}
