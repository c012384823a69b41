import { duration } from '../duration.ts'
import type { Span, Style } from './line.ts'

/** How something stands: done, on its way, worth a look, failed; of what is neither good nor bad, a dot. */
export type Mark = '✓' | '…' | '!' | '✗' | '·'

const styles: Readonly<Record<Mark, Style>> = { '✓': 'green', '…': 'yellow', '!': 'yellow', '✗': 'red', '·': 'dim' }

export function mark(text: Mark): Span {
  return { text, style: styles[text] }
}

/** Words in the colour of their mark; what is well needs none. */
export function marked(text: string, as: Mark): Span {
  return as === '✓' ? { text } : { text, style: styles[as] }
}

export function dim(text: string): Span {
  return { text, style: 'dim' }
}

/** Words that change with the time alone. */
export function ticking(text: string): Span {
  return { text, style: 'dim', quiet: true }
}

/** How long ago something was, in whole seconds: tenths would flicker. */
export function age(ms: number): string {
  return duration(Math.floor(Math.max(0, ms) / 1_000) * 1_000)
}

/** The heading of a section. */
export function heading(text: string): Span {
  return { text, style: 'cyan' }
}
