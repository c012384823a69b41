import { structuredPatch } from 'diff'
import { dump } from 'js-yaml'

/** A value as the lines of a YAML document; every string on one line stays on one line. */
export function yamlLines(value: unknown): readonly string[] {
  return dump(value, { lineWidth: -1, noRefs: true }).trimEnd().split('\n')
}

/** A place where two documents differ. */
export interface Hunk {
  /** Where it stands: `status.conditions[Ready]`; empty at the top. */
  readonly path: string
  readonly lines: readonly { readonly sign: ' ' | '+' | '-'; readonly text: string }[]
}

const contextLines = 2

/** How to come from one document to the other, with a little of what stands around it. */
export function diffYaml(before: readonly string[], after: readonly string[]): readonly Hunk[] {
  const [from, to] = [before, after].map((lines) => `${lines.join('\n')}\n`)
  const { hunks } = structuredPatch('', '', from ?? '', to ?? '', undefined, undefined, { context: contextLines })
  return hunks.map(({ oldStart, newStart, lines }) => {
    const first = lines.findIndex((line) => !line.startsWith(' '))
    const isAdded = lines[first]?.startsWith('+') === true
    return {
      // Up to the first change both documents are alike.
      path: isAdded ? pathOf(after, newStart - 1 + first) : pathOf(before, oldStart - 1 + first),
      lines: lines.map((line) => ({ sign: signOf(line), text: line.slice(1) })),
    }
  })
}

function signOf(line: string): ' ' | '+' | '-' {
  return line.startsWith('+') ? '+' : line.startsWith('-') ? '-' : ' '
}

/** What a line of YAML (as `dump` indents it) lies within: `status.containerStatuses[app].state`. */
function pathOf(lines: readonly string[], at: number): string {
  let path = ''
  for (let index = at; ; ) {
    const indent = indentOf(lines[index])
    if (isItem(lines[index])) path = `[${itemName(lines, index) ?? itemNumber(lines, index)}]${path}`
    const parent = lines.findLastIndex((line, before) => before < index && indentOf(line) < indent)
    if (parent < 0) return path.replace(/^\./, '')
    // `- state:` is the parent of what is further in than `state`, and else only the beginning of the item.
    const isWithinKey = !isItem(lines[parent]) || indent > indentOf(lines[parent]) + 2
    if (isWithinKey) path = `.${keyOf(lines[parent])}${path}`
    index = parent
  }
}

/** The items of most lists have a name or a type, which says more than a number. */
function itemName(lines: readonly string[], at: number): string | undefined {
  const column = indentOf(lines[at]) + 2
  const end = lines.findIndex((line, after) => after > at && indentOf(line) < column)
  const fields = lines.slice(at, end < 0 ? undefined : end).map((line) => line.replace(/^( *)- /, '$1  '))
  const named = fields.find((line) => indentOf(line) === column && /^ *(?:name|type): \S/.test(line))
  return named?.replace(/^ *(?:name|type): /, '').replace(/^'(.*)'$/, '$1')
}

function itemNumber(lines: readonly string[], at: number): number {
  const indent = indentOf(lines[at])
  const start = lines.findLastIndex((line, before) => before < at && indentOf(line) < indent)
  return lines.slice(start + 1, at).filter((line) => indentOf(line) === indent && isItem(line)).length
}

function indentOf(line = ''): number {
  return line.length - line.trimStart().length
}

function isItem(line = ''): boolean {
  return line.trimStart().startsWith('- ')
}

function keyOf(line = ''): string {
  return line
    .trim()
    .replace(/^(?:- )+/, '')
    .replace(/:(?: .*)?$/, '')
}
