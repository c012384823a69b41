/*
 * Removes terminal escapes and invisible characters from texts, and decodes texts. Secrets are searched in the results,
 * so that an escape or an encoding inside a secret does not hide the secret.
 */

/** ANSI escapes: operating system commands, device control strings, control sequences, and two-character escapes. */
const ansiEscapes =
  /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n\r]*(?:\x07|\x1b\\|\x9c)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-Z\\^-~]/g
const escapeCharacter = /[\x1b\x80-\x9f]/
/** Invisible characters: control characters other than white space, format characters, and the `\r` before a `\n`. */
const invisibles = /\r(?=\n)|(?![\t\n\v\f\r\x85])[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]|\p{Cs}/gu
/** Finds a character that may be invisible. Most texts contain only visible ASCII, Latin-1, punctuation and arrows. */
const mayNeedStripping = /[^\t\n -~\xa1-\xac\xae-\xff\u2010-\u2027\u2190-\u27ff]/

/** A text without terminal escapes, such as colours. */
export function withoutEscapes(text: string): string {
  return escapeCharacter.test(text) ? text.replace(ansiEscapes, '') : text
}

/** A text without terminal escapes and invisible characters, but with its white space. */
export function visibleText(text: string): string {
  return mayNeedStripping.test(text) ? text.replace(ansiEscapes, '').replace(invisibles, '') : text
}

/** A text without invisible characters. The visible characters of a terminal escape stay. */
export function withoutInvisible(text: string): string {
  return mayNeedStripping.test(text) ? text.replace(invisibles, '') : text
}

/** A text that was decoded from an original text. `originOf` finds the part of the original for a part of this text. */
interface DecodedText {
  readonly text: string
  /** Returns the range in the original text that a range of this text comes from. */
  readonly originOf: (start: number, end: number) => readonly [start: number, end: number]
}

/** One replacement: the replaced range in the source (`from`, `to`), and the new text in the result (`at`, `length`). */
interface Edit {
  readonly at: number
  readonly length: number
  readonly from: number
  readonly to: number
}

/**
 * The forms of a text in which secrets are searched: as written, without escapes and invisible characters, and decoded
 * up to three times. A letter after a lone escape character looks like the end of an escape, so there is also a form
 * from which only the invisible characters are removed.
 */
export function decodedTexts(text: string): readonly DecodedText[] {
  const found: DecodedText[] = []
  const addForms = (form: DecodedText, depth: number) => {
    found.push(form)
    const stripped = strippedForms(form)
    found.push(...stripped)
    for (const source of stripped.length === 0 ? [form] : stripped) {
      if (depth === maxDecodings || !mayBeEncoded.test(source.text)) continue
      const shown = withoutHiddenEscapes(source)
      // An escaped invisible character may stand between the bytes of a character, or begin an octal escape. Try both.
      for (const each of shown === source ? [source] : [shown, source]) {
        const decoded = replaceParts(each, encodedParts, decodePart)
        if (decoded !== source) addForms(decoded, depth + 1)
      }
    }
  }
  addForms({ text, originOf: (start, end) => [start, end] }, 0)
  return found
}

const indentation = /\n[ \t]+/g

/** The text without invisible characters and indentation. If it has terminal escapes, also a form without these. */
function strippedForms(source: DecodedText): readonly DecodedText[] {
  const isPlain = !mayNeedStripping.test(source.text)
  if (isPlain && !source.text.includes('\n')) return []
  const escaped = escapeCharacter.test(source.text) ? [replaceParts(source, ansiEscapes, () => '')] : []
  return [source, ...escaped]
    .map((each) => (isPlain ? each : replaceParts(each, invisibles, () => '')))
    .map((each) => replaceParts(each, indentation, () => '\n'))
    .filter((form) => form !== source)
}

/** Replaces every match. Without a match, returns `source`. `isCut`: whether the text is cut (`…`) after the match. */
function replaceParts(
  source: DecodedText,
  pattern: RegExp,
  replace: (part: string, isCut: boolean) => string,
): DecodedText {
  const edits: Edit[] = []
  let growth = 0
  const text = source.text.replace(pattern, (part: string, from: number) => {
    const replacement = replace(part, source.text[from + part.length] === '…')
    edits.push({ at: from + growth, length: replacement.length, from, to: from + part.length })
    growth += replacement.length - part.length
    return replacement
  })
  if (edits.length === 0) return source
  const sourceRangeAt = (place: number): readonly [number, number] => {
    const edit = lastEditUntil(edits, place)
    if (edit === undefined) return [place, place + 1]
    const beyond = place - edit.at - edit.length
    return beyond < 0 ? [edit.from, edit.to] : [edit.to + beyond, edit.to + beyond + 1]
  }
  return {
    text,
    originOf: (start, end) => source.originOf(sourceRangeAt(start)[0], sourceRangeAt(end - 1)[1]),
  }
}

/** How often a text is decoded: JSON may contain JSON as a string. */
const maxDecodings = 3

/** Up to four pairs of doubled quotes inside a text. Next to punctuation, a pair may be an empty string instead. */
const doubledQuote =
  /(?<=[^\s"'=:,({[])(?:(?:''){1,4}|(?:""){1,4})(?=[^"',)}\]])|(?:(?:''){1,4}|(?:""){1,4})(?=[^\s"'=:,)}\]])/
const mayBeEncoded = new RegExp(`[%\\\\&]|${doubledQuote.source}`)
/**
 * Encoded characters: in URLs and HTML, in strings of JSON and programming languages, and quotes within quotes of YAML,
 * CSV, SQL or a shell. The last pattern matches an incomplete encoding before a cut (`…`).
 */
const encodedParts = new RegExp(
  [
    /(?:%HEX{2})+(?:%HEX?(?=…))?|(?:\\xHEX{2})+(?:\\(?:xHEX?)?(?=…))?/,
    /(?:\\[0-3][0-7]{2})+(?:\\[0-3]?[0-7]?(?=…))?|\\uHEX{4}|\\u\{HEX{1,6}\}|\\UHEX{8}/,
    /&(?:amp|lt|gt|quot|apos|nbsp|#\d{1,7}|#[xX]HEX{1,6});/,
    /'\\''/,
    doubledQuote,
    /\\[^1-9Uux]/,
    /(?:%HEX?|\\(?:[uUx]\{?HEX{0,7}|[0-3][0-7]?)?|&#?\w{0,6})(?=…)/,
  ]
    .map(({ source }) => source.replaceAll('HEX', '[0-9A-Fa-f]'))
    .join('|'),
  'g',
)

/** Escapes that stand for one character. */
const characterParts =
  /\\(?:[0abfv]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8})|&#(?:\d{1,7}|[xX][0-9A-Fa-f]{1,6});/g

/** The text without the escapes that stand for an invisible character. */
function withoutHiddenEscapes(source: DecodedText): DecodedText {
  if (!/\\|&#/.test(source.text)) return source
  const shown = replaceParts(source, characterParts, (part) => (visibleText(decodePart(part)) === '' ? '' : part))
  return shown.text === source.text ? source : shown
}

/** The character for each short escape. Invisible control characters become an empty text. */
const decodedParts: Readonly<Record<string, string>> = {
  ...{ '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'", '&nbsp;': ' ' },
  ...{ '\\n': '\n', '\\r': '\r', '\\t': '\t', '\\e': '\x1b' },
  ...{ '\\0': '', '\\a': '', '\\b': '', '\\f': '', '\\v': '' },
}

function decodePart(part: string, isCut = false): string {
  const known = decodedParts[part]
  if (known !== undefined) return known
  if (part === "'\\''") return "'"
  if (/^['"]/.test(part)) return part.slice(0, part.length / 2)
  if (/^(?:%|\\x)[0-9A-Fa-f]{2}/.test(part)) return decodeBytes(part.match(/(?<=[%x])../g) ?? [], 16, isCut)
  if (/^\\\d{3}/.test(part)) return decodeBytes(part.match(/\d{3}/g) ?? [], 8, isCut)
  const [, hex] = /^(?:\\u(?=.{4}$)|\\u\{(?=.*\}$)|\\U(?=.{8}$)|&#[xX](?=.*;$))(\w+)/.exec(part) ?? []
  if (hex !== undefined) return decodeCharacter(Number.parseInt(hex, 16))
  const [, decimal] = /^&#(\d+);$/.exec(part) ?? []
  if (decimal !== undefined) return decodeCharacter(Number(decimal))
  return /^\\[^\dUux]/.test(part) ? part.slice(1) : ''
}

/** Decodes bytes as UTF-8, else as Latin-1 (Python writes `é` as `\xe9`). Omits an incomplete character before a cut. */
function decodeBytes(digits: readonly string[], base: number, isCut: boolean): string {
  const bytes = Buffer.from(digits.map((each) => Number.parseInt(each, base)))
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: isCut })
  return text.includes('\uFFFD') ? bytes.toString('latin1') : text
}

/** The character with this code. A surrogate joins with the next surrogate to one character. */
function decodeCharacter(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

/** The last edit whose replacement begins at or before a place in the result. */
function lastEditUntil(edits: readonly Edit[], place: number): Edit | undefined {
  let [from, to] = [0, edits.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if ((edits[middle]?.at ?? 0) <= place) from = middle + 1
    else to = middle
  }
  return edits[from - 1]
}
