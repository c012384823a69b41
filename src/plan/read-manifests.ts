import { basename } from 'node:path'
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseAllDocuments } from 'yaml'
import type { PathStep } from '../cluster/field-paths.ts'
import { type Fields, groupOf, isObject, shortName } from '../cluster/objects.ts'
import { parseDuration } from '../duration.ts'
import { type AddMistake, errorText, type Mistake, nearestWords, quote, removeQuotedText } from '../errors.ts'
import { maxNamedObjects } from '../thresholds.ts'
import { readPrintedObjects } from './kubectl-output.ts'
import { readManifestFiles } from './manifest-files.ts'
import { checkName, checkNamespace } from './names.ts'
import { parseWaitFor } from './reference-flags.ts'
import {
  type Hook,
  type Manifest,
  omitUndefinedClocks,
  type ParsedReferences,
  type Reference,
  type SkippedLine,
} from './target.ts'

/* Reads manifests in YAML or JSON, with the lines of their fields and the annotations that are settings or hooks. */

/**
 * Reads the files of the input `manifests`. Every object becomes a reference. Never throws: mistakes are collected with
 * file and line.
 * @param lines files, folders and globs, one per line, relative to the workspace
 * @param workspace the absolute path of the workspace
 * @param input the name of the input in messages about its lines
 */
export function readManifests(lines: string, workspace: string, input = 'manifests'): ParsedReferences {
  const { files, unusedExcludes, mistakes } = readManifestFiles(lines, workspace, input)
  const parsed = parseFiles(files)
  const skipped = unusedExcludes.map(({ line, text }) => ({ place: { input, line }, text, why: 'it excludes nothing' }))
  return {
    ...parsed,
    skipped: [...skipped, ...parsed.skipped],
    mistakes: [...mistakes, ...parsed.mistakes],
  }
}

/**
 * Reads manifests from standard input, which may be output of kubectl.
 * @param file the name of the text in messages and in the source of targets: `stdin`
 */
export function parseManifests(text: string, file: string): ParsedReferences {
  const printed = readPrintedObjects(text, file)
  if (printed.mistakes.length > 0) return { references: [], skipped: [], mistakes: printed.mistakes }
  return parseFiles([{ name: file, text: printed.text }])
}

function parseFiles(files: readonly { readonly name: string; readonly text: string }[]): ParsedReferences {
  const references: Reference[] = []
  const skipped: SkippedLine[] = []
  const mistakes: Mistake[] = []
  const input = files[0]?.name ?? ''

  for (const { name: file, text } of files) {
    const addMistake = (line: number, message: string) => mistakes.push({ input: file, line, message })
    for (const found of readObjects(text, file, addMistake)) {
      const line = readManifest(found, (path, message) => addMistake(found.lineOf(path), message))
      if ('why' in line) skipped.push(line)
      else references.push(line)
    }
    if (references.length > maxNamedObjects) {
      mistakes.push({ input: file, message: `More than ${maxNamedObjects} objects are named. Use several gates.` })
      break
    }
  }
  if (files.length > 0 && references.length + skipped.length + mistakes.length === 0) {
    mistakes.push({ input, message: `There is no object in ${files.length === 1 ? 'the file' : 'the files'}.` })
  }
  return { references, skipped, mistakes }
}

/** Converts an object to a reference, or to a skipped line with the reason. */
function readManifest(
  { hasGeneratedName, ...manifest }: FoundObject,
  addMistake: (path: readonly PathStep[], message: string) => void,
): Reference | SkippedLine {
  const { file, line, object } = manifest
  const { name, namespace, annotations } = object.metadata
  const hook = readHook(annotations)
  const { skip, waitForText, ...settings } = readGateAnnotations(annotations, (key, message) =>
    addMistake(['metadata', 'annotations', key], message),
  )
  const place = { input: file, line }
  const skipped = { place, text: shortName(object) }
  if (skip) return { ...skipped, why: 'rollout-gate/skip', annotation: `rollout-gate/skip of ${skipped.text}` }
  if (hook?.isSkipped) return { ...skipped, why: `no deploy runs this hook: ${hook.annotation}` }
  if (hasGeneratedName) {
    const why = 'the server generates its name: pass the output of kubectl create'
    return { ...skipped, why, hasGeneratedName }
  }
  const annotation = waitForText === undefined ? undefined : `rollout-gate/for=${waitForText} of ${skipped.text}`
  return { place, exclude: false, kind: object.kind, name, namespace, ...settings, hook, manifest, annotation }
}

const annotationPrefix = 'rollout-gate/'
const settings = ['timeout', 'stall-timeout', 'for', 'skip'] as const

/**
 * Reads the annotations whose keys begin with `rollout-gate/`.
 * @param annotations `metadata.annotations`, not yet validated
 * @param addMistake called with the key of the annotation and the message
 */
function readGateAnnotations(annotations: unknown, addMistake: (key: string, message: string) => void) {
  const written = isObject(annotations) ? annotations : {}
  const known = settings.map((name) => `${annotationPrefix}${name}`)
  for (const key of Object.keys(written)) {
    if (!key.startsWith(annotationPrefix) || known.includes(key)) continue
    const [near] = nearestWords(key.slice(annotationPrefix.length), settings, 1)
    const hint = near === undefined ? `There are ${known.join(', ')}.` : `Did you mean ${annotationPrefix}${near}?`
    addMistake(key, `There is no annotation ${quote(key)}. ${hint}`)
  }
  const readSetting = <T>(
    name: (typeof settings)[number],
    parse: (text: string, addMistake: AddMistake) => T | undefined,
  ): T | undefined => {
    const key = `${annotationPrefix}${name}`
    const value = written[key]
    if (typeof value === 'string') return parse(value, (message) => addMistake(key, `${key}: ${message}`))
    if (value !== undefined) addMistake(key, `${key} is not a string. Write its value in quotes: "${value}".`)
    return undefined
  }
  const parseSkip = (text: string, addMistake: AddMistake) => {
    if (text === 'true' || text === 'false') return text === 'true'
    addMistake(`${quote(text)} is neither "true" nor "false". Write one of them.`)
    return undefined
  }
  return {
    clocks: omitUndefinedClocks({
      timeoutMs: readSetting('timeout', parseDuration),
      stallTimeoutMs: readSetting('stall-timeout', parseDuration),
    }),
    waitFor: readSetting('for', parseWaitFor),
    waitForText: written[`${annotationPrefix}for`],
    skip: readSetting('skip', parseSkip),
  }
}

/** The annotations of Helm and Argo CD for the events that run a hook, and for the removal of the hook. */
const tools = [
  { events: 'helm.sh/hook', removal: 'helm.sh/hook-delete-policy' },
  { events: 'argocd.argoproj.io/hook', removal: 'argocd.argoproj.io/hook-delete-policy' },
] as const

/** Hook events outside of a deploy, in lower case (helm.sh/helm pkg/release, `HookEvent`; gitops-engine, `HookType`). */
const eventsOutsideDeploys: ReadonlySet<string> = new Set([
  ...['test', 'test-success', 'test-failure', 'pre-delete', 'post-delete', 'pre-rollback', 'post-rollback'],
  ...['predelete', 'postdelete', 'syncfail', 'skip'],
])
/** The policies that remove a hook after success. Without a policy, a hook is removed only before its next run. */
const removalPolicies: ReadonlySet<string> = new Set(['hook-succeeded', 'hooksucceeded'])

/**
 * Reads the annotations of Helm and Argo CD that make an object a hook.
 * @param annotations `metadata.annotations`, not yet validated
 * @returns undefined if the object is not a hook
 */
export function readHook(annotations: unknown): Hook | undefined {
  const written = isObject(annotations) ? annotations : {}
  const wordsOf = (key: string) =>
    String(written[key] ?? '')
      .split(',')
      .map((word) => word.trim().toLowerCase())
  const annotationText = (key: string) => `${key}=${written[key]}`
  const used = tools.filter(({ events }) => written[events] !== undefined)
  if (used.length === 0) return undefined
  const removing = tools.find(({ removal }) => wordsOf(removal).some((word) => removalPolicies.has(word)))
  const isSkipped = used.every(({ events }) => wordsOf(events).every((word) => eventsOutsideDeploys.has(word)))
  return {
    annotation: used.map(({ events }) => annotationText(events)).join(', '),
    ...(removing && { removal: annotationText(removing.removal) }),
    ...(isSkipped && { isSkipped }),
  }
}

/** An object in a manifest. If the server generates the name, `metadata.name` is its start: `migrate-…`. */
type FoundObject = Manifest & { readonly hasGeneratedName?: true }

type AddMistakeAt = (line: number, message: string) => void

/**
 * Reads every object in a manifest file (YAML documents or JSON), including the items of lists. Never throws: an
 * invalid object or an unrendered template is a mistake.
 * @param file the name of the file, for messages
 */
function readObjects(text: string, file: string, addMistake: AddMistakeAt): readonly FoundObject[] {
  const source = new YamlSource(text)
  const objects: FoundObject[] = []
  let isTemplateReported = false

  for (const [index, document] of source.documents().entries()) {
    if (document.error === undefined) {
      const lineOf = (path: readonly PathStep[]) => source.lineOf(index, path)
      objects.push(...collectObjects(document.value, [], {}, { file, lineOf, addMistake }))
      continue
    }
    const template = text.search(/\{\{|\{%|<%/)
    if (template < 0) {
      addMistake(document.error.line, document.error.message)
    } else if (!isTemplateReported) {
      isTemplateReported = true
      addMistake(
        text.slice(0, template).split('\n').length,
        'This is a template that is not rendered. Render it first, as helm template does, and name the result.',
      )
    }
  }
  source.freeSyntaxTree()
  return objects
}

interface Reading extends Pick<Manifest, 'file' | 'lineOf'> {
  readonly addMistake: AddMistakeAt
}

/** Reads an object, or the items of a list. `inherited`: `apiVersion` and `kind` for items of a typed list. */
function collectObjects(value: unknown, path: readonly PathStep[], inherited: Fields, reading: Reading): FoundObject[] {
  if (value === null || value === undefined) return []
  const { file, addMistake } = reading
  const lineOf = (field: readonly PathStep[] = []) => reading.lineOf([...path, ...field])
  if (!isObject(value)) {
    addMistake(lineOf(), 'This is not a Kubernetes object: it has no fields.')
    return []
  }
  const object = { ...inherited, ...value }
  const { apiVersion, kind } = object
  const notRendered = explainKustomization(file, object)
  if (notRendered !== undefined) {
    addMistake(lineOf(), notRendered)
    return []
  }
  if (isList(object)) {
    const items = Array.isArray(object['items']) ? object['items'] : []
    const ofItems = kind === 'List' ? {} : { apiVersion, kind: String(kind).slice(0, -'List'.length) }
    return items.flatMap((item, index) => collectObjects(item, [...path, 'items', index], ofItems, reading))
  }
  const checked = checkObject(object, file, (field, message) => addMistake(lineOf(field), message))
  return checked === undefined ? [] : [{ file, line: lineOf(), lineOf, ...checked }]
}

/** Whether an object is a list of objects. The kind of a custom resource may end in `List` too, but has no `items`. */
function isList({ kind, items }: Fields): boolean {
  return (
    kind === 'List' || (typeof kind === 'string' && kind.length > 4 && kind.endsWith('List') && Array.isArray(items))
  )
}

/** The message for a kustomization, which must be rendered first; undefined for another object. */
function explainKustomization(file: string, { apiVersion, kind }: Fields): string | undefined {
  const isKustomization =
    (typeof apiVersion === 'string' && apiVersion.startsWith('kustomize.config.k8s.io/')) ||
    (kind === undefined && /^kustomization(\.ya?ml)?$/i.test(basename(file)))
  return isKustomization
    ? 'This is a kustomization, not what it makes. Render it first (kubectl kustomize FOLDER > rendered.yaml) and name the result.'
    : undefined
}

/** Checks the fields that identify an object. Returns undefined and adds mistakes if a field is invalid. */
function checkObject(
  object: Fields,
  file: string,
  addMistake: (field: readonly PathStep[], message: string) => void,
): Pick<FoundObject, 'object' | 'hasGeneratedName'> | undefined {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  const mistakes: Parameters<typeof addMistake>[] = []
  const missing: string[] = []
  const readField = (value: unknown, ...path: readonly string[]): string | undefined => {
    const field = path.join('.')
    if (hasPlaceholder(value)) {
      const message = 'contains a placeholder that is not filled in. Render the manifest first, and name the result.'
      mistakes.push([path, `${field} ${message}`])
    } else if (typeof value === 'string' && value !== '') {
      return value
    } else if (value === undefined || value === null || value === '') {
      missing.push(field)
    } else {
      const inQuotes = typeof value === 'object' ? '' : ` Write it in quotes: "${value}".`
      mistakes.push([path, `${field} is not a string.${inQuotes}`])
    }
    return undefined
  }

  const apiVersion = readField(object['apiVersion'], 'apiVersion')
  const kind = readField(object['kind'], 'kind')
  const isGenerated = metadata['name'] === undefined && metadata['generateName'] !== undefined
  const nameField = isGenerated ? 'generateName' : 'name'
  const name = readField(metadata[nameField], 'metadata', nameField)
  const namespace = metadata['namespace'] ? readField(metadata['namespace'], 'metadata', 'namespace') : undefined
  if (missing.length > 0) {
    const fields = missing.join(', ').replace(/, ([^,]*)$/, ' and $1')
    mistakes.push([[], `This object has no ${fields}. If the file is not a manifest, exclude it: !${file}`])
  }
  if (namespace !== undefined)
    checkNamespace(namespace, (message) => mistakes.push([['metadata', 'namespace'], message]))
  if (name !== undefined && apiVersion !== undefined && !isGenerated)
    checkName(name, groupOf(apiVersion), (message) => mistakes.push([['metadata', 'name'], message]))
  for (const mistake of mistakes) addMistake(...mistake)
  if (mistakes.length > 0 || apiVersion === undefined || kind === undefined || name === undefined) return undefined
  const { namespace: _, ...rest } = metadata
  const named = { ...rest, name: isGenerated ? `${name}…` : name, ...(namespace !== undefined && { namespace }) }
  return { object: { ...object, apiVersion, kind, metadata: named }, ...(isGenerated && { hasGeneratedName: true }) }
}

/** Whether a value has a placeholder of Helm, Jinja or envsubst. YAML reads `{{ .x }}` as nested mappings. */
function hasPlaceholder(value: unknown): boolean {
  if (typeof value === 'string') return /\{\{|\{%|<%|\$\{|\$\(|^\$\w/.test(value)
  return isObject(value) && Object.keys(value).some((key) => /^\{.*\}$/s.test(key.trim()))
}

type YamlDocument =
  | { readonly value: unknown; readonly error?: undefined }
  | { readonly error: { readonly line: number; readonly message: string } }

/**
 * Inserts a YAML document separator between JSON objects, because kubectl reads and prints JSON objects without
 * separator. Line numbers stay the same if each object begins on its own line.
 */
function separateJsonObjects(text: string): string {
  if (!/^\s*\{/.test(text)) return text
  let depth = 0
  return text.replace(/"(?:[^"\\\n]|\\.)*"|(\n?)([{[]|[}\]])/g, (written, lineBreak = '\n', bracket, offset) => {
    if (bracket === '}' || bracket === ']') depth -= 1
    else if (bracket !== undefined) depth += 1
    const isNext = bracket === '{' && depth === 1 && offset > 0 && text.slice(0, offset).trim() !== ''
    return isNext ? `${lineBreak || '\n'}--- {` : written
  })
}

type Parsed = { readonly documents: ReturnType<typeof parseAllDocuments>; readonly lines: LineCounter }

/** Maximum number of expanded aliases: with nested aliases, a small file can expand to a huge value. */
const maxAliases = 1_000
const maxNodes = 1_000_000
const maxDepth = 200

/**
 * The documents of a YAML file, and the lines of their fields. The syntax tree needs 70 times the memory of the text.
 * `freeSyntaxTree` frees this memory; a later call of `lineOf` then parses the text again.
 */
class YamlSource {
  readonly #text: string
  #parsed: Parsed | undefined

  constructor(text: string) {
    this.#text = separateJsonObjects(text)
  }

  /** The documents in their order. The value of an empty document is null. */
  documents(): readonly YamlDocument[] {
    const { documents, lines } = this.#parse()
    return documents.map((document) => {
      const [error] = document.errors
      const lineAt = (offset: number) => lines.linePos(offset).line || 1
      if (error !== undefined)
        return {
          error: { line: lineAt(error.pos[0]), message: `This is not valid YAML: ${messageWithoutValues(error)}` },
        }
      try {
        const value: unknown = document.toJS({ maxAliasCount: maxAliases })
        checkSize(value)
        return { value }
      } catch (error) {
        // The document has an alias without anchor, a recursive alias, or too many aliases.
        return { error: { line: lineAt(document.range?.[0] ?? 0), message: messageWithoutValues(error) } }
      }
    })
  }

  /** The line of a field in a document. For a missing field, the line of its nearest parent. */
  lineOf(index: number, path: readonly PathStep[]): number {
    const { documents, lines } = this.#parse()
    const document = documents[index]
    if (document === undefined) return 1
    let node = document.contents as Node | null | undefined
    let offset = node?.range?.[0] ?? document.range?.[0] ?? 0
    for (const step of path) {
      if (isAlias(node)) node = node.resolve(document)
      const child = childNodeAt(node, step)
      if (child === undefined) break
      offset = child.offset
      node = child.node
    }
    return lines.linePos(offset).line || 1
  }

  freeSyntaxTree(): void {
    this.#parsed = undefined
  }

  #parse(): Parsed {
    if (this.#parsed !== undefined) return this.#parsed
    const lines = new LineCounter()
    const documents = parseAllDocuments(this.#text, {
      lineCounter: lines,
      prettyErrors: false,
      logLevel: 'error',
      // As in kubectl (sigs.k8s.io/yaml): 0644 is octal, `yes` and `on` are booleans, and the last of duplicate keys
      // wins. There are no timestamps and no numbers to base 60.
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

function childNodeAt(
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
  const isSelected = (item: unknown) =>
    isMap(item) && Object.entries(step).every(([name, value]) => String(item.get(name)) === value)
  const item = (typeof step === 'number' ? node.items[step] : node.items.find(isSelected)) as Node | undefined
  return item === undefined ? undefined : { offset: item.range?.[0] ?? 0, node: item }
}

/** Throws an error if the aliases of a document expand to too many values, or if the values are nested too deeply. */
function checkSize(root: unknown): void {
  let nodes = 0
  const countValues = (value: unknown, depth: number): void => {
    if (++nodes > maxNodes) throw new Error(`Its aliases expand to more than ${maxNodes} values`)
    if (depth > maxDepth) throw new Error(`It is nested more than ${maxDepth} levels deep, or an alias contains itself`)
    if (typeof value === 'object' && value !== null)
      for (const child of Object.values(value)) countValues(child, depth + 1)
  }
  countValues(root, 0)
}

/** The message of an error as a sentence. Omits quotes, which may contain values of the manifest. */
function messageWithoutValues(error: unknown): string {
  const message = removeQuotedText(errorText(error))
  return /[.!?]$/.test(message) ? message : `${message}.`
}
