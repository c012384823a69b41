import { describePlace, type Mistake } from '../errors.ts'
import { type ParsedReferences, parseReferences } from '../plan/references.ts'
import { parseKubectlLine, splitWords } from '../plan/resource-lines.ts'
import type { Arguments, WrittenReference } from './arguments.ts'

/** The references of a command line. */
export interface References {
  /** As lines of the input `resources`, for a recording. */
  readonly text: string
  readonly parsed: ParsedReferences
  /** Where a line was written: the argument itself, or the line of stdin. */
  readonly placeOf: (mistake: Mistake) => Mistake
}

interface Line {
  readonly text: string
  /** Where it was written, as a mistake in it begins. */
  readonly place: Omit<Mistake, 'message'>
}

/**
 * Puts the references of a command line into the words of the input `resources`, one a line, so that one parser reads both
 * and a recording holds them as they are. `-` stands for the lines of stdin, which kubectl printed or somebody wrote.
 *
 * @param stdin the text of stdin, when a `-` is among the references
 * @param options.alone whether nothing else names resources: then at least one must be named here
 */
export function readReferences(
  { references, common, given }: Pick<Arguments, 'references' | 'common' | 'given'>,
  stdin: string,
  { alone = true } = {},
): References {
  const lines = [
    ...references.flatMap((reference): Line[] =>
      reference.words[0] === '-' ? stdinLines(stdin, reference, common) : [argumentLine(reference, common)],
    ),
    ...linesOf(given.get('resources') ?? '', '--resources'),
  ]
  const broken = references.filter(({ words, flags }) => [...words, ...flags.values()].some((it) => /[\r\n]/.test(it)))
  const text = lines.map((line) => line.text).join('\n')
  const input = lines.length > 0 && lines.every(({ place }) => place.input === 'stdin') ? 'stdin' : 'arguments'
  const parsed = parseReferences(broken.length > 0 ? '' : text, input, { alone })
  const mistakes = broken.map(({ words }) => ({
    input: words.join(' ').split(/[\r\n]/, 1)[0] ?? '',
    message: 'A line break is in the argument. Hand lines over on stdin: kubectl apply -f k8s/ | rollout-gate wait -',
  }))
  return {
    text,
    parsed: {
      ...parsed,
      places: lines.map(({ place }) => describePlace(place)),
      ...(broken.length > 0 ? { mistakes } : {}),
    },
    placeOf: (mistake) => {
      const place = mistake.input === input && mistake.line !== undefined ? lines[mistake.line - 1]?.place : undefined
      return place === undefined ? mistake : { ...place, message: mistake.message }
    },
  }
}

function argumentLine(reference: WrittenReference, common: ReadonlyMap<string, string>): Line {
  return { text: lineOf(reference.words, reference.flags, common), place: { input: reference.words.join(' ') } }
}

/** Lines that name nothing stay as they are, so that the others keep their numbers. */
function stdinLines(stdin: string, { flags }: WrittenReference, common: ReadonlyMap<string, string>): Line[] {
  const takesFlags = flags.size + common.size > 0
  return linesOf(stdin, 'stdin').map(({ text, place }) => ({
    text: takesFlags ? withFlags(text, flags, common) : text,
    place,
  }))
}

function linesOf(text: string, input: string): Line[] {
  if (text === '') return []
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  return lines.map((line, index) => ({ text: line, place: { input, line: index + 1 } }))
}

function withFlags(raw: string, own: ReadonlyMap<string, string>, common: ReadonlyMap<string, string>): string {
  const printed = parseKubectlLine(raw.trim())
  if (printed?.skip !== undefined) return raw
  const words = printed?.words ?? splitWords(raw, () => {})?.map(({ text }) => text) ?? []
  return words.length === 0 ? raw : lineOf(words, own, common)
}

/** One line of `resources`: the words, and every flag that they do not carry already. */
function lineOf(
  words: readonly string[],
  own: ReadonlyMap<string, string>,
  common: ReadonlyMap<string, string>,
): string {
  const selects = ['selector', 'all']
  const isSelected = selects.some((name) => own.has(name))
  const isExcluded = words[0]?.startsWith('!')
  const inherited = [...common].filter(
    ([name]) => !own.has(name) && !(isSelected && selects.includes(name)) && !(isExcluded && name === 'for'),
  )
  const flags = [...own, ...inherited].filter(
    ([name]) => !words.some((word) => word === `--${name}` || word.startsWith(`--${name}=`)),
  )
  return [
    ...words.map(quoted),
    ...flags.map(([name, value]) => (name === 'all' ? '--all' : `--${name}=${quoted(value)}`)),
  ].join(' ')
}

/** A word as a shell, and the input `resources`, takes it for one. */
function quoted(word: string): string {
  return /^[\w@%+=,./!-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
