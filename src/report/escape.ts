/**
 * The one place where text of the cluster is made harmless. Names, messages, events and logs may hold anything: words
 * that the runner takes for commands, escapes that a terminal obeys, Markdown, HTML and Mermaid. Each function makes a
 * text safe for one place; none may be applied on top of another.
 */

/** The characters of one line of text: enough for every honest message. */
const lineLimit = 1_000
const textLimit = 262_144

/** ANSI: operating system and device strings up to their end, then control sequences, then two-character escapes. */
const ansiEscapes =
  /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n\r]*(?:\x07|\x1b\\|\x9c)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-Z\\^-~]/g
const lineBreak = /\r\n|[\n\r\v\f\x85\u2028\u2029]/g
const zeroWidthSpace = '\u200b'

/**
 * One line of plain text that is safe to print anywhere, also in the job's log: without line breaks, control characters,
 * terminal escapes, bidirectional overrides and invisible characters, and not a command of the runner.
 *
 * The runner (actions/runner, `ActionCommand.cs`) reads `::command` at the start of a trimmed line and `##[command]`
 * anywhere, and compares in a way that overlooks invisible characters; so these go first, then the commands are broken.
 *
 * @param limit the most characters that come out; what is longer ends in `…`
 */
export function plain(text: string, limit = lineLimit): string {
  const line = text
    .slice(0, limit * 4)
    .toWellFormed()
    .replace(ansiEscapes, '')
    .replace(lineBreak, ' ')
    .replaceAll('\t', '  ')
    .replace(/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '')
    .replaceAll('##[', '## [')
    .replace(/^(\s*):(?=:)/, '$1: ')
    .trimEnd()
  return cut(line, limit, text.length > limit * 4)
}

/**
 * The lines of a text of many, each one as {@link plain} makes it, without empty ones at the ends. Of a text of more than
 * 256 KiB only the end is looked at.
 */
export function plainLines(text: string, limit = lineLimit): string[] {
  const lines = text
    .slice(-textLimit)
    .split(lineBreak)
    .map((line) => plain(line, limit))
  const first = lines.findIndex((line) => line !== '')
  const last = lines.findLastIndex((line) => line !== '')
  return first < 0 ? [] : lines.slice(first, last + 1)
}

/** A long name loses its middle: its start and its end distinguish it from its siblings. */
export function shorten(name: string, limit: number): string {
  return withoutMiddle(plain(name), limit)
}

/** Words that are too long lose their middle: a table's cell is as wide as its longest word. Not yet safe to print. */
export function shortenWords(text: string, limit: number): string {
  return text.slice(0, lineLimit).replace(/\S+/g, (word) => withoutMiddle(word, limit))
}

/** Text within a paragraph, a heading, a list or a table cell of Markdown. Triggers no mention, link or emoji. */
export function markdown(text: string, limit = lineLimit): string {
  return keepApart(plain(text, limit).trim())
    .replace(/[\\`*_[\]~]/g, '\\$&')
    .replace(/^(?:[-+=#]|\d+(?=[.)]))/, (start) => (/\d/.test(start) ? `${start}\\` : `\\${start}`))
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('|', '&#124;')
    .replaceAll('$', '<span>$</span>') // else two of them are a formula
    .replaceAll(zeroWidthSpace, '&#8203;')
}

/** Like {@link markdown}, but what stands between backticks becomes inline code: for messages and hints. */
export function prose(text: string, limit = lineLimit): string {
  return plain(text, limit)
    .trim()
    .split(/(?<!`)`([^`]+)`(?!`)/)
    .map((part, index) => (index % 2 === 1 ? code(part) : markdownPart(part)))
    .join('')
}

/** Inline code, also within a table cell. Empty text stays empty. */
export function code(text: string, limit = lineLimit): string {
  const content = plain(text, limit).trim()
  if (content === '') return ''
  // A pipe ends the table cell and a backtick the code, escaped or not; HTML's code element takes both.
  return /[`|]/.test(content) ? `<code>${markdown(content)}</code>` : `\`${content}\``
}

/** A code block whose fence is longer than any run of backticks in it. The lines must be {@link plain} ones. */
export function fence(lines: readonly string[]): string {
  const longest = Math.max(2, ...lines.flatMap((line) => (line.match(/`+/g) ?? []).map((run) => run.length)))
  const mark = '`'.repeat(longest + 1)
  return [mark, ...lines, mark].join('\n')
}

/** Text within an HTML element, such as `<summary>`; safe too where Markdown is read within it. */
export function html(text: string, limit = lineLimit): string {
  return keepApart(plain(text, limit).trim())
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
 * The name of a section in a Mermaid gantt. Only letters, digits and a few marks pass: `:` `;` `#` `,` `%%` and line
 * breaks end a name in its grammar (`gantt.jison`).
 */
export function mermaidName(name: string, limit = 40): string {
  const allowed = plain(name)
    .replace(/[^\p{L}\p{N} ./_()=+…×→✗-]/gu, ' ')
    .replace(/ +/g, ' ')
  return shorten(allowed.trim(), limit) || '-'
}

/** The name of a task in a Mermaid gantt: one that began with a word of the grammar would be read as that word. */
export function mermaidTask(name: string, limit = 40): string {
  const text = mermaidName(name, limit)
  return mermaidWord.test(text) ? `- ${text}` : text
}

function markdownPart(text: string): string {
  const [, before = '', content = '', after = ''] = /^(\s*)(.*?)(\s*)$/s.exec(text) ?? []
  return `${before}${markdown(content)}${after}`
}

/** Keeps GitHub from seeing a mention, an issue, a link or an emoji: it looks for them in the finished text. */
function keepApart(text: string): string {
  return text.replace(/@(?=\w)|#(?=\d)|\bGH-(?=\d)|:(?=\/\/)|:(?=[\w+-]+:)|\bwww(?=\.)/gi, `$&${zeroWidthSpace}`)
}

function cut(text: string, limit: number, more: boolean): string {
  if (text.length <= limit && !more) return text
  return `${whole(text.slice(0, limit - 1))}…`
}

function withoutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text
  const tail = Math.floor((limit - 1) / 3)
  return `${whole(text.slice(0, limit - 1 - tail))}…${whole(text.slice(text.length - tail))}`
}

/** A cut piece without the half characters that the cut left at its ends. */
function whole(text: string): string {
  return text.replace(/\p{Cs}/gu, '')
}
