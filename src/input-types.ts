import { parseDuration } from './duration.ts'
import { type AddMistake, didYouMean, quote } from './errors.ts'
import { maxNumber } from './thresholds.ts'

/** Converts the text of an input to its value; undefined after a mistake. */
export type Parse<T> = (text: string, addMistake: AddMistake) => T | undefined

/** The type of a value: its name in the command line's help (empty for a switch), and its parser. */
export interface ValueType<T> {
  readonly placeholder: string
  readonly parse: Parse<T>
  /** The text has several lines. It is not trimmed, because mistakes contain its line numbers. */
  readonly isLines?: boolean
}

/** A duration as Kubernetes writes it, in milliseconds. */
export const duration: ValueType<number> = { placeholder: 'DURATION', parse: parseDuration }

/** The same; 0 if empty. */
export const optionalDuration: ValueType<number> = {
  ...duration,
  parse: (written, addMistake) => (written === '' ? 0 : parseDuration(written, addMistake)),
}

/** Unchanged text; undefined if empty. */
export const text: ValueType<string | undefined> = { placeholder: 'TEXT', parse: (written) => written || undefined }

/** Several lines, unchanged. */
export const lines: ValueType<string> = { placeholder: 'LINES', parse: (written) => written, isLines: true }

/** The lines of a text, trimmed and counted from 1, without empty ones and comments. */
export function writtenLines(text: string): readonly { readonly line: number; readonly text: string }[] {
  const all = text.split(/\r\n|\r|\n/).map((raw, index) => ({ line: index + 1, text: raw.trim() }))
  return all.filter(({ text }) => text !== '' && !text.startsWith('#'))
}

/** Booleans of YAML 1.2's core schema, as in `core.getBooleanInput` of the actions toolkit. */
export const boolean: ValueType<boolean> = {
  placeholder: '',
  parse: (written, addMistake) => {
    if (/^(true|True|TRUE)$/.test(written)) return true
    if (/^(false|False|FALSE)$/.test(written)) return false
    addMistake(`${quote(written)} is neither true nor false. Write one of them.`)
    return undefined
  },
}

/** A whole number up to 1,000. */
export const number: ValueType<number> = {
  placeholder: 'NUMBER',
  parse: (written, addMistake) => {
    if (/^\d{1,9}$/.test(written) && Number(written) <= maxNumber) return Number(written)
    addMistake(`${quote(written)} is not a whole number from 0 to ${maxNumber}.`)
    return undefined
  },
}

/** Where container logs may be shown besides the job log and the job summary. */
export const logPlaces = ['comment', 'report'] as const
export type LogPlace = (typeof logPlaces)[number]

/** How many lines of a container's log are shown, and where besides the job log and the job summary. */
export interface LogLines {
  readonly count: number
  readonly places: readonly LogPlace[]
}

/** `25`, or `25, check, report` with the places. */
export const logLines: ValueType<LogLines> = {
  placeholder: number.placeholder,
  parse: (written, addMistake) => {
    const [first = '', ...places] = written.split(/[,\r\n]/)
    const count = number.parse(first.trim(), addMistake)
    const shown = listOf(...logPlaces).parse(places.join(','), addMistake) ?? []
    return count === undefined ? undefined : { count, places: shown }
  },
}

/** One of some words. */
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

/** Any of some words, separated by commas or lines. Words that do not exist are mistakes, and are left out. */
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

/** The values of a job's matrix. */
export interface MatrixValues {
  /** Texts that distinguish the legs: `eu`. */
  readonly words: readonly string[]
  /** Numbers, durations, flags and the leaves of objects: most often settings of a leg, which change. */
  readonly settings: readonly string[]
}

/**
 * The values of a job's `matrix` context, as JSON: `{"region": "eu", "timeout": "10m"}` has the word `eu` and the setting
 * `10m`. Empty without a matrix, and on a runner that does not evaluate defaults.
 */
export const matrix: ValueType<MatrixValues> = {
  placeholder: 'JSON',
  parse: (written) => {
    const values = Object.values(parseJson(written) ?? {}).flatMap((value) =>
      leavesOf(value).map((text) => ({ text, isWord: typeof value === 'string' && !isSetting.test(value) })),
    )
    const textsOf = (isWord: boolean) => values.flatMap((value) => (value.isWord === isWord ? [value.text] : []))
    return { words: textsOf(true), settings: textsOf(false) }
  },
}

/** A number, a flag, or a duration as in Kubernetes. */
const isSetting = /^(?:[\d.]+|true|false|(?:\d+(?:\.\d+)?(?:ms|h|m|s))+)$/

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function leavesOf(value: unknown): string[] {
  if (value === null) return []
  return typeof value === 'object' ? Object.values(value).flatMap(leavesOf) : [String(value)]
}

/** The position of a job among the legs of its matrix, from 0; undefined on a server that has none. */
export const jobIndex: ValueType<number | undefined> = {
  placeholder: 'NUMBER',
  parse: (written) => (/^\d{1,4}$/.test(written) ? Number(written) : undefined),
}

/** The number of a job; undefined on a server that has none. */
export const jobNumber: ValueType<string | undefined> = {
  placeholder: 'NUMBER',
  parse: (written) => /^\d{1,19}$/.exec(written)?.[0],
}

/** One line that matches a pattern. */
export function pattern(regex: RegExp, expected: string): ValueType<string | undefined> {
  return {
    placeholder: 'TEXT',
    parse: (written, addMistake) => {
      if (written === '' || regex.test(written)) return written || undefined
      addMistake(`${quote(written)} is not ${expected}.`)
      return undefined
    },
  }
}
