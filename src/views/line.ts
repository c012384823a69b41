import { styleText } from 'node:util'
import { duration } from '../duration.ts'
import { cutText } from '../errors.ts'
import { safeLine, wrapWords } from '../report/escape.ts'

/* The styled lines that all views consist of, and their text for a terminal. */

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** A part of a line. Its text may come from the cluster: `paintLine` escapes it. */
export interface Span {
  readonly text: string
  readonly style?: Style
  /** The minimum number of characters: spaces fill the rest, to align columns. */
  readonly width?: number
  /** Whether no space follows. */
  readonly isJoined?: boolean
  /** Whether the text changes with time, as an age does. */
  readonly isVolatile?: boolean
}

export interface Line {
  readonly indent: number
  /** The parts of the line. A space follows each part, unless it is joined. */
  readonly spans: readonly Span[]
  /** Whether the last span of a long line is wrapped, so that a command in it can be copied. Other lines are cut. */
  readonly wraps?: boolean
}

/** Makes a line of spans. A string becomes a span without style; undefined is left out. */
export function line(indent: number, ...spans: readonly (Span | string | undefined)[]): Line {
  return {
    indent,
    spans: spans.flatMap((span) => (span === undefined ? [] : typeof span === 'string' ? { text: span } : span)),
  }
}

export const emptyLine: Line = { indent: 0, spans: [] }

export interface Paint {
  readonly color: boolean
  /** Replaces secrets. Called before a text is cut. */
  readonly redact: (text: string) => string
  /** The width of the terminal: longer lines are cut, and end in `…`. */
  readonly columns?: number
}

/** A line as escaped, coloured text: several lines if it wraps at the width of the terminal. */
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

/** A line as escaped, coloured text, cut to the width of the terminal. */
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
    const piece = full.trimEnd().length <= left ? full.slice(0, left) : cutText(full, left)
    left -= piece.length
    // With validation, `styleText` would omit colours if stdout is no terminal. Here `color` decides.
    text += span.style !== undefined && color ? styleText(span.style, piece, { validateStream: false }) : piece
  }
  return text.trimEnd()
}

/** The text of lines without volatile parts. A view is printed again only if this text has changed. */
export function stableText(lines: readonly Line[]): string {
  const texts = lines.map(({ spans }) => spans.filter(({ isVolatile }) => !isVolatile).map(({ text }) => text))
  return JSON.stringify(texts.filter((ofLine) => ofLine.length > 0))
}

/** The mark before a text: done, in progress, warning, failed, or a dot without meaning. */
export type Mark = '✓' | '…' | '!' | '✗' | '·'

const styles: Readonly<Record<Mark, Style>> = { '✓': 'green', '…': 'yellow', '!': 'yellow', '✗': 'red', '·': 'dim' }

export function mark(text: Mark): Span {
  return { text, style: styles[text] }
}

/** The mark for each status of an assessment. */
export const statusMarks = { ready: '✓', progressing: '…', failed: '✗' } as const satisfies Record<string, Mark>

/** A text in the colour of its mark. With `✓`, it has no colour. */
export function colored(text: string, as: Mark): Span {
  return as === '✓' ? { text } : { text, style: styles[as] }
}

export function dim(text: string): Span {
  return { text, style: 'dim' }
}

/** A dim text that changes with time, such as an age. */
export function volatile(text: string): Span {
  return { text, style: 'dim', isVolatile: true }
}

/** A duration in whole seconds, as text. @param ms milliseconds */
export function formatAge(ms: number): string {
  return duration(Math.floor(Math.max(0, ms) / 1_000) * 1_000)
}

/** An empty line, a title, and the lines below. Empty if there are no lines. */
export function titledLines(title: string, lines: readonly Line[]): readonly Line[] {
  return lines.length === 0 ? [] : [emptyLine, line(0, { text: title, style: 'cyan' }), ...lines]
}
