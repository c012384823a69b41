import { basename } from 'node:path'
import { groupOf, isObject, nameOf, shortName } from '../../cluster/objects.ts'
import type { Mistake } from '../../errors.ts'
import type { Inputs } from '../../inputs.ts'
import { checkName, checkNamespace } from '../names.ts'
import type { ParsedReferences, Reference, SkippedLine } from '../reference.ts'
import { nameKey } from '../target.ts'
import { readGateAnnotations } from './annotations.ts'
import { readManifestFiles } from './files.ts'
import { describeAnnotation, duplicateOf, type Manifest, type ManifestObject, type PathStep } from './manifest.ts'
import { YamlSource } from './yaml-source.ts'

/** No usual apply contains more objects. The limit exists because each object needs a watch. */
const maxObjects = 5_000

interface ManifestOptions extends Partial<Pick<Inputs, 'annotations'>> {
  readonly input?: string
}

/**
 * Reads the files of the input `manifests`: every object becomes a reference. Never throws: mistakes are collected with
 * file and line.
 * @param lines files, folders and globs, one per line, relative to the workspace
 * @param workspace the absolute path
 * @param options.input the name of the input in messages about its lines
 * @param options.annotations whether annotations of the objects set options
 */
export function readManifests(
  lines: string,
  workspace: string,
  { input = 'manifests', annotations = 'use' }: ManifestOptions = {},
): ParsedReferences {
  const { files, unusedExcludes, notices, mistakes } = readManifestFiles(lines, workspace, input)
  const parsed = parseFiles(files, annotations)
  const skipped = unusedExcludes.map(({ line, text }) => ({ line, text, why: 'it excludes nothing' }))
  return {
    ...parsed,
    input,
    notices,
    skipped: [...skipped, ...parsed.skipped],
    mistakes: [...mistakes, ...parsed.mistakes],
  }
}

/**
 * Reads manifests from a text, such as standard input.
 * @param file the name of the text in messages and in the targets' source: `stdin`
 */
export function parseManifests(
  text: string,
  file: string,
  annotations: Inputs['annotations'] = 'use',
): ParsedReferences {
  return parseFiles([{ name: file, text }], annotations)
}

function parseFiles(
  files: readonly { readonly name: string; readonly text: string }[],
  use: Inputs['annotations'],
): ParsedReferences {
  const references: Reference[] = []
  const skipped: SkippedLine[] = []
  const mistakes: Mistake[] = []
  const places = new Map<string, Manifest>()
  const input = files[0]?.name ?? ''

  for (const { name: file, text } of files) {
    const addMistake = (line: number, message: string) => mistakes.push({ input: file, line, message })
    const { manifests, unnamed } = readObjects(text, file, addMistake)
    const why = 'the server generates its name: pass the output of kubectl create'
    for (const { line, text } of unnamed) skipped.push({ file, line, text, why, hasGeneratedName: true })
    for (const manifest of manifests) {
      // Without default namespaces; `resolveTargets` finds the other duplicates.
      const key = nameKey(nameOf(manifest.object))
      const earlier = places.get(key)
      if (earlier !== undefined) {
        addMistake(manifest.line, duplicateOf(manifest, earlier))
        continue
      }
      places.set(key, manifest)
      const annotations = use === 'use' ? manifest.object.metadata['annotations'] : undefined
      const { skip, ...settings } = readGateAnnotations(annotations, (key, message) =>
        addMistake(manifest.lineOf(['metadata', 'annotations', key]), message),
      )
      const { object, line } = manifest
      const annotation = describeAnnotation('skip', object)
      if (skip) skipped.push({ file, line, text: shortName(object), why: 'rollout-gate/skip', annotation })
      else references.push(referenceTo(manifest, settings))
    }
    if (references.length > maxObjects) {
      mistakes.push({ input: file, message: `More than ${maxObjects} objects are named. Use several gates.` })
      break
    }
  }
  if (files.length > 0 && references.length + skipped.length + mistakes.length === 0) {
    mistakes.push({ input, message: `There is no object in ${files.length === 1 ? 'the file' : 'the files'}.` })
  }
  return { input, references, skipped, mistakes }
}

function referenceTo(manifest: Manifest, settings: Pick<Reference, 'clocks' | 'waitFor'>): Reference {
  const { kind, metadata } = manifest.object
  const { name, namespace } = metadata
  return { line: manifest.line, exclude: false, kind, name, namespace, ...settings, manifest }
}

/** An object whose name the server generates. */
interface GeneratedObject {
  readonly line: number
  /** `job/migrate-…` */
  readonly text: string
}

interface FoundObjects {
  readonly manifests: readonly Manifest[]
  readonly unnamed: readonly GeneratedObject[]
}

type AddMistakeAt = (line: number, message: string) => void

/**
 * Reads every object of a manifest file (YAML documents or JSON), also within lists, with its line. Never throws: an
 * invalid or unrendered object is a mistake.
 * @param file its name, for messages
 */
function readObjects(text: string, file: string, addMistake: AddMistakeAt): FoundObjects {
  const source = new YamlSource(text)
  const manifests: Manifest[] = []
  const unnamed: GeneratedObject[] = []
  let isTemplateReported = false

  for (const [index, document] of source.documents().entries()) {
    if (document.error === undefined) {
      const reading = { source, document: index, file, addMistake, manifests, unnamed }
      collect(document.value, [], {}, reading)
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
  source.release()
  return { manifests, unnamed }
}

type Json = Readonly<Record<string, unknown>>

interface Reading {
  readonly source: YamlSource
  readonly document: number
  readonly file: string
  readonly addMistake: AddMistakeAt
  readonly manifests: Manifest[]
  readonly unnamed: GeneratedObject[]
}

/** Reads one object, or the items of a list. `inherited`: the fields that items get from a typed list. */
function collect(value: unknown, path: readonly PathStep[], inherited: Json, reading: Reading): void {
  if (value === null || value === undefined) return
  const { source, document, file, addMistake, manifests, unnamed } = reading
  const lineOf = (field: readonly PathStep[] = []) => source.lineOf(document, [...path, ...field])
  if (!isObject(value)) {
    addMistake(lineOf(), 'This is not a Kubernetes object: it has no fields.')
    return
  }
  const object = { ...inherited, ...value }
  const { apiVersion, kind } = object
  const notRendered = explainUnrendered(file, object)
  if (notRendered !== undefined) {
    addMistake(lineOf(), notRendered)
    return
  }
  if (isList(object)) {
    const items = Array.isArray(object['items']) ? object['items'] : []
    const ofItems = kind === 'List' ? {} : { apiVersion, kind: String(kind).slice(0, -'List'.length) }
    for (const [index, item] of items.entries()) collect(item, [...path, 'items', index], ofItems, reading)
    return
  }

  const checked = checkObject(object, file, (field, message) => addMistake(lineOf(field), message))
  if (checked === undefined) return
  const line = lineOf()
  if (checked.generated === undefined) manifests.push({ file, line, object: checked.object, lineOf })
  else unnamed.push({ line, text: checked.generated })
}

/** Whether an object is a list, as from `kubectl get -o yaml`. A custom kind may end in List too. */
function isList({ kind, items }: Json): boolean {
  return (
    kind === 'List' || (typeof kind === 'string' && kind.length > 4 && kind.endsWith('List') && Array.isArray(items))
  )
}

/** Why a file is only a source of manifests; undefined for a manifest. */
function explainUnrendered(file: string, { apiVersion, kind }: Json): string | undefined {
  const name = basename(file)
  const isKustomization =
    (typeof apiVersion === 'string' && apiVersion.startsWith('kustomize.config.k8s.io/')) ||
    (kind === undefined && /^kustomization(\.ya?ml)?$/i.test(name))
  if (isKustomization) {
    return 'This is a kustomization, not what it makes. Render it first (kubectl kustomize FOLDER > rendered.yaml) and name the result.'
  }
  if (kind === undefined && name === 'Chart.yaml') {
    return 'This is a Helm chart, not what it makes. Render it first (helm template … > rendered.yaml) and name the result.'
  }
  return undefined
}

/** An object with its name, or one whose name the server generates. */
type IdentifiedObject =
  | { readonly object: ManifestObject; readonly generated?: undefined }
  | { readonly generated: string }

function checkObject(
  object: Json,
  file: string,
  addMistake: (field: readonly PathStep[], message: string) => void,
): IdentifiedObject | undefined {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  const mistakes: Parameters<typeof addMistake>[] = []
  const missing: string[] = []
  const read = (value: unknown, ...path: readonly string[]): string | undefined => {
    const field = path.join('.')
    if (isTemplate(value)) {
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

  const apiVersion = read(object['apiVersion'], 'apiVersion')
  const kind = read(object['kind'], 'kind')
  const isGenerated = metadata['name'] === undefined && metadata['generateName'] !== undefined
  const nameField = isGenerated ? 'generateName' : 'name'
  const name = read(metadata[nameField], 'metadata', nameField)
  const namespace = metadata['namespace'] ? read(metadata['namespace'], 'metadata', 'namespace') : undefined
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
  if (isGenerated) return { generated: `${kind.toLowerCase()}/${name}…` }
  const { namespace: _, ...rest } = metadata
  const named = namespace === undefined ? { ...rest, name } : { ...rest, name, namespace }
  return { object: { ...object, apiVersion, kind, metadata: named } }
}

/** Whether a value is a placeholder of Helm, Jinja or envsubst. YAML reads `{{ .x }}` as nested mappings. */
function isTemplate(value: unknown): boolean {
  if (typeof value === 'string') return /\{\{|\{%|<%|\$\{|\$\(|^\$\w/.test(value)
  return isObject(value) && Object.keys(value).some((key) => /^\{.*\}$/s.test(key.trim()))
}
