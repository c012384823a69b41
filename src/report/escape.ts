import { visibleText } from '../cluster/decoded-text.ts'
import { cutText } from '../errors.ts'
import { shortenMiddle } from '../reasons/wording.ts'

/**
 * Makes text from the cluster harmless. Names, messages, events and logs may contain anything: commands of the runner,
 * terminal escapes, Markdown, HTML and Mermaid. Each function escapes for one place. Never escape a text twice.
 */

/** The maximum length of a line: enough for a regular message. */
const maxLineLength = 1_000
const textLimit = 262_144

const lineBreak = /\r\n|[\n\r\v\f\x85\u2028\u2029]/g
const zeroWidthSpace = '\u200b'

/**
 * One line of plain text that is safe to print anywhere, also in the job log. The line has no line breaks, control
 * characters, terminal escapes, bidirectional overrides or invisible characters, and no command of the runner. The
 * runner (actions/runner, `ActionCommand.cs`) reads `::command` at the start of a trimmed line, and `##[command]`
 * anywhere. It ignores invisible characters, so these are removed first.
 * @param limit maximum length of the line; a longer text ends in `…`
 */
export function safeLine(text: string, limit = maxLineLength): string {
  const line = visibleText(text.slice(0, limit * 4).toWellFormed())
    .replace(lineBreak, ' ')
    .replaceAll('\t', '  ')
    .replaceAll('##[', '## [')
    .replace(/^(\s*):(?=:)/, '$1: ')
    .trimEnd()
  return cutText(line, limit, text.length > limit * 4)
}

/**
 * JSON that is safe to print in a terminal and in the job log. Characters that {@link safeLine} removes are written as
 * escapes such as `\u009b`, so the parsed value is the same. Line breaks between values remain.
 */
export function printableJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent)
    .replace(/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, (character) =>
      character.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    )
    .replaceAll('##[', '#\\u0023[')
}

/** The lines of a text's last 256 KiB, each a {@link safeLine}, without empty lines at the start and end. */
export function safeLines(text: string, limit = maxLineLength): string[] {
  const lines = text
    .slice(-textLimit)
    .split(lineBreak)
    .map((line) => safeLine(line, limit))
  const first = lines.findIndex((line) => line !== '')
  const last = lines.findLastIndex((line) => line !== '')
  return first < 0 ? [] : lines.slice(first, last + 1)
}

/** Shortens a long name in the middle, because start and end distinguish it best. */
export function shortenName(name: string, limit: number): string {
  return shortenMiddle(safeLine(name), limit)
}

/** Shortens long names in the middle, but only as long as they remain distinct. */
export function shortenNames(names: readonly string[], limit: number): readonly string[] {
  const shown = names.map((name) => shortenName(name, limit))
  const originals = Map.groupBy(names, (_, index) => shown[index])
  return names.map((name, index) => {
    const short = shown[index] ?? ''
    return new Set(originals.get(short)).size > 1 ? safeLine(name) : short
  })
}

/** Shortens long words in the middle: a table cell is as wide as its longest word. The result is not escaped. */
export function shortenWords(text: string, limit: number): string {
  return text.slice(0, maxLineLength).replace(/\S+/g, (word) => shortenMiddle(word, limit))
}

/** Escapes text for a paragraph, heading, list or table cell of Markdown, without mentions, links and emoji. */
export function escapeMarkdown(text: string): string {
  return breakMentions(safeLine(text).trim())
    .replace(/[\\`*_[\]~]/g, '\\$&')
    .replace(/^(?:[-+=#]|\d+(?=[.)]))/, (start) => (/\d/.test(start) ? `${start}\\` : `\\${start}`))
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('|', '&#124;')
    .replaceAll('$', '<span>$</span>') // two dollar signs enclose a formula
    .replaceAll(zeroWidthSpace, '&#8203;')
}

/** Escapes messages and hints for Markdown. Other than with {@link escapeMarkdown}, text in backticks becomes code. */
export function escapeProse(text: string, limit = maxLineLength): string {
  return safeLine(text, limit)
    .trim()
    .split(/(?<!`)`([^`]+)`(?!`)/)
    .map((part, index) => (index % 2 === 1 ? inlineCode(part) : escapeMarkdownPart(part)))
    .join('')
}

/** Text as inline code, safe in a table cell. Empty text stays empty. */
export function inlineCode(text: string): string {
  const content = safeLine(text).trim()
  if (content === '') return ''
  // A pipe ends the table cell and a backtick ends the code, even if escaped. The element <code> allows both.
  return /[`|]/.test(content) ? `<code>${escapeMarkdown(content)}</code>` : `\`${content}\``
}

/** A code block. Its fence is longer than any run of backticks in it. The lines must be made by {@link safeLine}. */
export function codeBlock(lines: readonly string[]): string {
  const longest = Math.max(2, ...lines.flatMap((line) => (line.match(/`+/g) ?? []).map((run) => run.length)))
  const mark = '`'.repeat(longest + 1)
  return [mark, ...lines, mark].join('\n')
}

export type Align = ':--' | ':-:' | '--:'

/** A table in Markdown. Cells must be escaped. */
export function markdownTable(columns: Readonly<Record<string, Align>>, rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(Object.keys(columns)), `|${Object.values(columns).join('|')}|`, ...rows.map(line)].join('\n')
}

/** Escapes text for an HTML element such as `<summary>`, in which GitHub interprets Markdown too. */
export function escapeHtml(text: string): string {
  return breakMentions(safeLine(text).trim())
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
    .replace(/[\\`*_[\]~|$]/g, (mark) => `&#${mark.charCodeAt(0)};`)
    .replaceAll(zeroWidthSpace, '&#8203;')
}

const mermaidWord =
  /^(?:gantt|dateFormat|inclusiveEndDates|topAxis|axisFormat|tickInterval|includes|excludes|todayMarker|weekday|weekend|title|acc|section|click|call|href|\d{4}-\d\d-\d\d)/i

/**
 * The name of a section in a Mermaid gantt. Only letters, digits and a few marks remain, because `:` `;` `#` `,` `%%`
 * and line breaks end a name (`gantt.jison`).
 */
export function mermaidName(name: string, limit = 40): string {
  const allowed = safeLine(name)
    .replace(/[^\p{L}\p{N} ./_()=+…×→✗-]/gu, ' ')
    .replace(/ +/g, ' ')
  return shortenName(allowed.trim(), limit) || '-'
}

/** The name of a task in a Mermaid gantt. A prefix keeps Mermaid from reading its start as a keyword. */
export function mermaidTask(name: string): string {
  const text = mermaidName(name)
  return mermaidWord.test(text) ? `- ${text}` : text
}

function escapeMarkdownPart(text: string): string {
  const content = text.trim()
  const at = text.indexOf(content)
  return `${text.slice(0, at)}${escapeMarkdown(content)}${text.slice(at + content.length)}`
}

/** Prevents mentions, issue references, links and emoji: GitHub looks for them in the rendered text. */
function breakMentions(text: string): string {
  return text.replace(/@(?=\w)|#(?=\d)|\bGH-(?=\d)|:(?=\/\/)|:(?=[\w+-]+:)|\bwww(?=\.)/gi, `$&${zeroWidthSpace}`)
}

/** Breaks a text into lines between words. A word that is longer than a line has its own line. */
export function wrapWords(text: string, columns: number): string[] {
  const wrapped: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      wrapped.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return [...wrapped, line]
}
