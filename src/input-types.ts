import { parseDuration } from './duration.ts'
import { type AddMistake, didYouMean, quote, tryParseJson } from './errors.ts'
import { maxNumber } from './thresholds.ts'

/* The types of input values: each has a parser, and a name in the command line's help. */

/** Converts the text of an input to a value. Returns undefined after a mistake. */
export type Parse<T> = (text: string, addMistake: AddMistake) => T | undefined

/** The type of an input's value. */
export interface ValueType<T> {
  /** The name of the value in the help: by default that of the input, empty for a switch. */
  readonly placeholder?: string
  readonly parse: Parse<T>
  /** Whether the text has several lines. If so, it is not trimmed, because mistakes contain line numbers. */
  readonly isLines?: boolean
}

/** A duration as Kubernetes writes it, in milliseconds. */
export const requiredDuration: ValueType<number> = { placeholder: 'DURATION', parse: parseDuration }

/** Like `requiredDuration`, but an empty text is 0. */
export const optionalDuration: ValueType<number> = {
  ...requiredDuration,
  parse: (written, addMistake) => (written === '' ? 0 : parseDuration(written, addMistake)),
}

/** A text as it is; undefined if empty. */
export const text: ValueType<string | undefined> = { parse: (written) => written || undefined }

/** Several lines as they are. */
export const lines: ValueType<string> = { parse: (written) => written, isLines: true }

/** The trimmed lines of a text with their numbers, from 1. Empty lines and comments are left out. */
export function writtenLines(text: string): readonly { readonly line: number; readonly text: string }[] {
  const all = text.split(/\r\n|\r|\n/).map((raw, index) => ({ line: index + 1, text: raw.trim() }))
  return all.filter(({ text }) => text !== '' && !text.startsWith('#'))
}

/** A boolean of YAML 1.2's core schema, as `core.getBooleanInput` of the actions toolkit accepts. */
export const boolean: ValueType<boolean> = {
  placeholder: '',
  parse: (written, addMistake) => {
    if (/^(true|True|TRUE)$/.test(written)) return true
    if (/^(false|False|FALSE)$/.test(written)) return false
    addMistake(`${quote(written)} is neither true nor false. Write one of them.`)
    return undefined
  },
}

/** A whole number from 0 to 1,000. */
export const number: ValueType<number> = {
  placeholder: 'NUMBER',
  parse: (written, addMistake) => {
    if (/^\d{1,9}$/.test(written) && Number(written) <= maxNumber) return Number(written)
    addMistake(`${quote(written)} is not a whole number from 0 to ${maxNumber}.`)
    return undefined
  },
}

/** Exactly one of the given words. */
export function oneOf<const W extends string>(...words: W[]): ValueType<W> {
  return {
    placeholder: words.join('|'),
    parse: (written, addMistake) => {
      const word = words.find((word) => word === written)
      if (word === undefined) addMistake(`${quote(written)} is not one of ${words.join(', ')}.`)
      return word
    },
  }
}

/** Any of the given words, separated by commas or line breaks. Other words are mistakes, and are left out. */
export function listOf<const W extends string>(...words: W[]): ValueType<readonly W[]> {
  return {
    placeholder: words.join(','),
    parse: (written, addMistake) => {
      const items = [...new Set(written.split(/[,\r\n]/).map((item) => item.trim()))].filter((item) => item !== '')
      for (const item of items.filter((item) => !words.some((word) => word === item)))
        addMistake(`${quote(item)} is not one of ${words.join(', ')}.${didYouMean(item, words)}`)
      return words.filter((word) => items.includes(word))
    },
  }
}

/** Facts about a job that only the runner knows. */
interface JobValues {
  /** The texts in the matrix, such as `eu`: they distinguish its jobs. */
  readonly words: readonly string[]
  /** The numbers, durations, booleans and object fields in the matrix: most often settings of a job, which change. */
  readonly settings: readonly string[]
  /** The position of the job in its matrix, from 0; undefined if the server does not provide it. */
  readonly index: number | undefined
  /** The number of the job; undefined if the server does not provide it. */
  readonly id: string | undefined
}

/**
 * The facts about a job, as JSON. `{"matrix": {"region": "eu", "timeout": "10m"}, "index": 0, "id": 501}` has the word
 * `eu` and the setting `10m`. Without facts on a runner that does not evaluate defaults of inputs.
 */
export const jobValues: ValueType<JobValues> = {
  parse: (written) => {
    const { matrix, index, id } = Object(tryParseJson(written)) as Readonly<Record<string, unknown>>
    const values = Object.values(Object(matrix)).flatMap((value) =>
      leafTexts(value).map((text) => ({ text, isWord: typeof value === 'string' && !isSetting.test(value) })),
    )
    const textsOf = (isWord: boolean) => values.flatMap((value) => (value.isWord === isWord ? [value.text] : []))
    const position = /^\d{1,4}$/.exec(String(index))?.[0]
    return {
      words: textsOf(true),
      settings: textsOf(false),
      index: position === undefined ? undefined : Number(position),
      id: /^\d{1,19}$/.exec(String(id))?.[0],
    }
  },
}

/** Matches a number, a boolean, or a duration as in Kubernetes. */
const isSetting = /^(?:[\d.]+|true|false|(?:\d+(?:\.\d+)?(?:ms|h|m|s))+)$/

function leafTexts(value: unknown): string[] {
  if (value === null) return []
  return typeof value === 'object' ? Object.values(value).flatMap(leafTexts) : [String(value)]
}

/** One line that matches a pattern. @param expected what the line must be, for the message of a mistake */
export function pattern(regex: RegExp, expected: string): ValueType<string | undefined> {
  return {
    parse: (written, addMistake) => {
      if (written === '' || regex.test(written)) return written || undefined
      addMistake(`${quote(written)} is not ${expected}.`)
      return undefined
    },
  }
}
