import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseAllDocuments } from 'yaml'
import { errorText } from '../../errors.ts'
import type { PathStep } from './manifest.ts'

/** The value of a document, or its error. */
type YamlDocument =
  | { readonly value: unknown; readonly error?: undefined }
  | { readonly error: { readonly line: number; readonly message: string } }

type Parsed = { readonly documents: ReturnType<typeof parseAllDocuments>; readonly lines: LineCounter }

/** Maximum number of expanded aliases: nested aliases can make a small file expand to a huge value. */
const maxAliases = 1_000
const maxNodes = 1_000_000
const maxDepth = 200

/**
 * The documents of a YAML file and the lines of their fields. The syntax tree needs 70 times the memory of the text, so
 * `release` frees the tree, and a later `lineOf` parses the text again.
 */
export class YamlSource {
  readonly #text: string
  #parsed: Parsed | undefined

  constructor(text: string) {
    this.#text = text
  }

  /** The documents in order; an empty one has the value null. */
  documents(): readonly YamlDocument[] {
    const { documents, lines } = this.#parse()
    return documents.map((document) => {
      const [error] = document.errors
      const at = (offset: number) => lines.linePos(offset).line || 1
      if (error !== undefined)
        return { error: { line: at(error.pos[0]), message: `This is not valid YAML: ${sentence(error.message)}` } }
      try {
        const value: unknown = document.toJS({ maxAliasCount: maxAliases })
        checkSize(value)
        return { value }
      } catch (error) {
        // An alias without its anchor, a recursive alias, or too many aliases.
        const message = sentence(errorText(error))
        return { error: { line: at(document.range?.[0] ?? 0), message } }
      }
    })
  }

  /** The line of a field of a document, or of its nearest parent. */
  lineOf(index: number, path: readonly PathStep[]): number {
    const { documents, lines } = this.#parse()
    const document = documents[index]
    if (document === undefined) return 1
    let node = document.contents as Node | null | undefined
    let offset = node?.range?.[0] ?? document.range?.[0] ?? 0
    for (const step of path) {
      if (isAlias(node)) node = node.resolve(document)
      const child = childOf(node, step)
      if (child === undefined) break
      offset = child.offset
      node = child.node
    }
    return lines.linePos(offset).line || 1
  }

  release(): void {
    this.#parsed = undefined
  }

  #parse(): Parsed {
    if (this.#parsed !== undefined) return this.#parsed
    const lines = new LineCounter()
    const documents = parseAllDocuments(this.#text, {
      lineCounter: lines,
      prettyErrors: false,
      logLevel: 'error',
      // As in kubectl (sigs.k8s.io/yaml): 0644 is octal, yes and on are booleans, the last of equal keys is used; no
      // timestamps and no numbers of base 60.
      version: '1.1',
      uniqueKeys: false,
      customTags: (tags) =>
        tags.filter(
          (tag) => typeof tag === 'string' || (tag.format !== 'TIME' && !/(timestamp|omap|pairs|set)$/.test(tag.tag)),
        ),
    })
    this.#parsed = { documents: 'empty' in documents ? [] : documents, lines }
    return this.#parsed
  }
}

function childOf(
  node: Node | null | undefined,
  step: PathStep,
): { readonly offset: number; readonly node: Node | null } | undefined {
  if (isMap(node) && typeof step === 'string') {
    const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step) as
      | Pair<Node, Node | null>
      | undefined
    return pair === undefined ? undefined : { offset: pair.key.range?.[0] ?? 0, node: pair.value }
  }
  if (!isSeq(node) || typeof step === 'string') return undefined
  const item = (
    typeof step === 'number' ? node.items[step] : node.items.find((item) => isMap(item) && hasFields(item, step))
  ) as Node | undefined
  return item === undefined ? undefined : { offset: item.range?.[0] ?? 0, node: item }
}

function hasFields(map: { get(key: string): unknown }, fields: Readonly<Record<string, string>>): boolean {
  return Object.entries(fields).every(([name, value]) => String(map.get(name)) === value)
}

/** Limits the expansion of aliases, which may be unbounded. */
function checkSize(root: unknown): void {
  let nodes = 0
  const walk = (value: unknown, depth: number): void => {
    if (++nodes > maxNodes) throw new Error(`Its aliases expand to more than ${maxNodes} values`)
    if (depth > maxDepth) throw new Error(`It is nested more than ${maxDepth} levels deep, or an alias contains itself`)
    if (typeof value === 'object' && value !== null) for (const child of Object.values(value)) walk(child, depth + 1)
  }
  walk(root, 0)
}

function sentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`
}
