import { styleText } from 'node:util'
import { duration } from '../duration.ts'
import { safeLine, wrapWords } from '../report/escape.ts'

/* Lines of text with styles: all views consist of them. */

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** A part of a line. The text may come from the cluster: `paintLine` escapes it. */
export interface Span {
  readonly text: string
  readonly style?: Style
  /** Padded to this number of characters, to align columns. */
  readonly width?: number
  /** No space follows. */
  readonly isJoined?: boolean
  /** The text changes with time, such as an age. */
  readonly isVolatile?: boolean
}

export interface Line {
  readonly indent: number
  /** The parts of the line, with a space after each that is not joined. */
  readonly spans: readonly Span[]
  /** Whether a long line is wrapped in its last span, so that a command can be copied. Other lines are cut. */
  readonly wraps?: boolean
}

/** A line of spans; strings have no style, undefined is omitted. */
export function line(indent: number, ...spans: readonly (Span | string | undefined)[]): Line {
  return {
    indent,
    spans: spans.flatMap((span) => (span === undefined ? [] : typeof span === 'string' ? { text: span } : span)),
  }
}

export const emptyLine: Line = { indent: 0, spans: [] }

export interface Paint {
  readonly color: boolean
  /** Replaces secrets, before the text is cut. */
  readonly redact: (text: string) => string
  /** The width of the terminal; longer lines end in `…`. */
  readonly columns?: number
}

/** A line as escaped text, coloured and at most as wide as the terminal. */
export function paintLines({ wraps, ...whole }: Line, paint: Paint): readonly string[] {
  const { redact, columns = Number.POSITIVE_INFINITY } = paint
  const last = whole.spans.at(-1)
  if (!wraps || last === undefined) return [paintLine(whole, paint)]
  const before = whole.spans.slice(0, -1)
  const indent = whole.indent + before.reduce((sum, { text }) => sum + text.length + 1, 0)
  const [first = '', ...more] = wrapWords(safeLine(redact(last.text)), Math.max(20, columns - indent))
  const unbounded = { ...paint, columns: Number.POSITIVE_INFINITY }
  return [
    paintLine({ ...whole, spans: [...before, { ...last, text: first }] }, unbounded),
    ...more.map((text) => paintLine({ indent, spans: [{ ...last, text }] }, unbounded)),
  ]
}

/** A line as escaped text, coloured and cut to the width of the terminal. */
export function paintLine(
  { indent, spans }: Line,
  { color, redact, columns = Number.POSITIVE_INFINITY }: Paint,
): string {
  let text = ' '.repeat(indent)
  let left = columns - indent
  for (const [index, span] of spans.entries()) {
    if (left <= 0) break
    const isLast = index === spans.length - 1
    const shown = safeLine(redact(span.text))
    const full = isLast ? shown : `${shown.padEnd(span.width ?? 0)}${span.isJoined ? '' : ' '}`
    const piece = cutToWidth(full, left)
    left -= piece.length
    // With validation, styleText would drop the colours if stdout is no terminal; here `color` decides.
    text += span.style !== undefined && color ? styleText(span.style, piece, { validateStream: false }) : piece
  }
  return text.trimEnd()
}

/** The lines without volatile text. A view is printed again only if this text changed. */
export function stableText(lines: readonly Line[]): string {
  const texts = lines.map(({ spans }) => spans.filter(({ isVolatile }) => !isVolatile).map(({ text }) => text))
  return JSON.stringify(texts.filter((ofLine) => ofLine.length > 0))
}

function cutToWidth(text: string, limit: number): string {
  if (text.trimEnd().length <= limit) return text.slice(0, limit)
  return `${text.slice(0, Math.max(0, limit - 1)).replace(/\p{Cs}$/u, '')}…`
}

/** The mark before a text: done, in progress, warning or failed; a dot for anything else. */
export type Mark = '✓' | '…' | '!' | '✗' | '·'

const styles: Readonly<Record<Mark, Style>> = { '✓': 'green', '…': 'yellow', '!': 'yellow', '✗': 'red', '·': 'dim' }

export function mark(text: Mark): Span {
  return { text, style: styles[text] }
}

/** The marks of an assessment. */
export const statusMarks = { ready: '✓', progressing: '…', failed: '✗' } as const satisfies Record<string, Mark>

/** Text in the colour of its mark; no colour for `✓`. */
export function colored(text: string, as: Mark): Span {
  return as === '✓' ? { text } : { text, style: styles[as] }
}

export function dim(text: string): Span {
  return { text, style: 'dim' }
}

/** Text that changes with time. */
export function volatile(text: string): Span {
  return { text, style: 'dim', isVolatile: true }
}

/** How long ago something was, in whole seconds. @param ms milliseconds */
export function formatAge(ms: number): string {
  return duration(Math.floor(Math.max(0, ms) / 1_000) * 1_000)
}

/** An empty line, a title and the lines; empty without lines. */
export function titledLines(title: string, lines: readonly Line[]): readonly Line[] {
  return lines.length === 0 ? [] : [emptyLine, line(0, { text: title, style: 'cyan' }), ...lines]
}
