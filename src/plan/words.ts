import type { Complain } from './complain.ts'

/** One word of a line; `quoted` when it began with a quote. */
export interface Word {
  readonly text: string
  readonly quoted: boolean
}

/**
 * Splits a line into words as a POSIX shell does: blanks part them, single and double quotes and the backslash keep
 * them together, `#` at the start of a word begins a comment. Nothing is expanded.
 *
 * @returns the words; nothing after a complaint
 */
export function splitWords(line: string, complain: Complain): Word[] | undefined {
  const words: Word[] = []
  let text = ''
  let inWord = false
  let quoted = false
  let quote = ''

  for (let i = 0; i < line.length; i++) {
    const char = line.charAt(i)
    if (quote !== '') {
      if (char === quote) quote = ''
      else if (char === '\\' && quote === '"' && /["\\$`]/.test(line.charAt(i + 1))) text += line.charAt(++i)
      else text += char
    } else if (/\s/.test(char)) {
      if (inWord) words.push({ text, quoted })
      text = ''
      inWord = false
      quoted = false
    } else if (char === '#' && !inWord) {
      return words
    } else {
      if (char === '"' || char === "'") {
        quote = char
        quoted ||= !inWord
      } else if (char === '\\' && i + 1 < line.length) {
        text += line.charAt(++i)
      } else {
        text += char
      }
      inWord = true
    }
  }
  if (quote !== '') {
    complain(`A ${quote === '"' ? 'double' : 'single'} quote is opened and never closed. Close it.`)
    return undefined
  }
  if (inWord) words.push({ text, quoted })
  return words
}
