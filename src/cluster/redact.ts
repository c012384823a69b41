import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { tryParseJson } from '../errors.ts'
import { leavesOf, pointersOfFieldSet, toPointer } from './field-paths.ts'
import {
  groupOf,
  isObject,
  type KindName,
  type KubeObject,
  mapArray,
  mapObject,
  type ObjectName,
  withoutConversionMethods,
} from './objects.ts'
import { isSecretField, namedArguments } from './secret-values.ts'
import { Secrets } from './secrets.ts'

/* Redaction of objects: hashes in place of secret values on arrival, and redacted texts in what leaves the process. */

type Json = Record<string, unknown>

/**
 * Annotations in which tools store a copy of the whole object, with its secrets: `last-applied-configuration` of
 * kubectl and KubeVela, `last-handled-configuration` of kopf, `original` of kapp, and `applied` of Rancher.
 */
const objectCopy = /(?:^|[./])(?:last-applied|last-handled|original)[^/]*$|^objectset\.rio\.cattle\.io\/applied$/i
/** Fields that show that an annotation with another name contains a copy of an object. */
const objectFields = ['kind', 'spec', 'data', 'metadata'] as const
const objectField = /^[ \t]*["']?(?:kind|spec|data|metadata)["']?[ \t]*:/m
/** Annotations of a Secret that contain a secret value, such as `openshift.io/token-secret.value`. */
const secretAnnotation = /token|passw|credential|secret[^/]*value/i

/** Maximum length of a text. Longer texts could slow down expressions. A regular text has up to 4,096 characters. */
const maxTextLength = 8_192
/** Maximum depth of an object. The schema of a CustomResourceDefinition has up to 100 levels, other objects fewer. */
const maxDepth = 500

/** Collects the secrets in objects, and removes known secrets from texts. */
type KnownSecrets = Pick<Secrets, 'addFromSecret' | 'addFromSetting' | 'addFromText' | 'redact'>

/** Maximum number of cached hashes. All pods of a template have the same environment variables, so a cache saves time. */
const maxCachedHashes = 10_000

/**
 * Collects the secrets in objects, and replaces them with keyed hashes. Hashes of the same `Redactor` are equal if the
 * values are equal. Values of Secrets, ConfigMaps, environment variables, probe headers and Helm charts are hashed.
 * Other texts are redacted when they leave the process (`redactTexts`): only a later object may show their secrets.
 */
export class Redactor {
  /** The key of the hashes. A `KeyObject` is faster than a Buffer, because Node prepares the key only once. */
  readonly #key: KeyObject
  readonly #known: KnownSecrets
  readonly #hashes = new Map<string, string>()
  /** How to redact fields with these names, at any depth: custom resources contain pod templates too. */
  readonly #fields: Readonly<Record<string, (value: unknown) => unknown>>
  /** The objects whose applier records are kept: by kind, the names as `namespace/name`. */
  readonly #recorded = new Map<string, Set<string>>()
  #depth = 0

  /**
   * @param key the secret key of the hashes; by default a new random key
   * @param known collects the secrets of objects
   */
  constructor(key: Buffer = randomBytes(32), known: KnownSecrets = new Secrets()) {
    this.#key = createSecretKey(key)
    this.#known = known
    const hashVariables = (value: unknown) =>
      Array.isArray(value) ? mapArray(value, (each) => this.#hashVariable(each)) : this.#redactValue(value)
    const hashMapValues = (value: unknown) =>
      this.#redactFields(value, (setting, name) =>
        isTextOrNumber(setting) ? this.#hashSetting(name, setting) : this.#hashTexts(this.#redactValue(setting), name),
      )
    const hashVariablesOrMapValues = (value: unknown) => (isObject(value) ? hashMapValues(value) : hashVariables(value))
    const redactArguments = (value: unknown) => {
      for (const [flag, text] of namedArguments(Array.isArray(value) ? value : [])) known.addFromText(flag, text)
      return this.#redactValue(value)
    }
    // Values of labels stay readable, even if the name of a label suggests a secret: labels are compared by their
    // values.
    const redactMapValues = (value: unknown) =>
      this.#redactFields(value, (inner, name) => (typeof inner === 'string' ? inner : this.#redactField(inner, name)))
    const hashTexts = (value: unknown) => this.#hashTexts(this.#redactValue(value), '')
    // Argo CD has the values of a Helm chart in `helm`. Other tools have them in fields of other names below.
    const hashChart = (value: unknown) =>
      this.#redactFields(value, (inner, name) => {
        if (name === 'parameters') return hashVariables(inner)
        return name === 'values' ? hashTexts(inner) : this.#redactField(inner, name)
      })
    this.#fields = {
      env: hashVariablesOrMapValues,
      httpHeaders: hashVariables,
      stringData: hashMapValues,
      // Also for values of a Helm chart (k3s `spec.set`). `substitute` contains variables of Flux.
      set: hashVariablesOrMapValues,
      substitute: hashMapValues,
      helm: hashChart,
      // In a selector, `values` is a list.
      values: (value) => (Array.isArray(value) ? this.#redactValue(value) : hashTexts(value)),
      valuesContent: hashTexts,
      valuesObject: hashTexts,
      valuesTemplate: hashTexts,
      labels: redactMapValues,
      matchLabels: redactMapValues,
      selector: redactMapValues,
      nodeSelector: redactMapValues,
      args: redactArguments,
      command: redactArguments,
      annotations: (value) =>
        this.#redactValue(isObject(value) ? this.#collectFromAnnotations(withoutObjectCopies(value)) : value),
    }
  }

  /** Keeps the records of appliers in these objects: `metadata.applied` with hashes, and `ownedFields` with pointers. */
  keepRecordsOf(names: readonly ObjectName[]): void {
    for (const { apiVersion, kind, namespace = '', name } of names) {
      const key = groupAndKind({ apiVersion, kind })
      this.#recorded.set(key, (this.#recorded.get(key) ?? new Set()).add(`${namespace}/${name}`))
    }
  }

  /** Returns a redacted copy of an object, without field sets and without copies of objects in annotations. */
  readonly redact = (original: KubeObject): KubeObject => {
    const { namespace = '', name: ownName } = original.metadata ?? {}
    const isRecorded = this.#recorded.get(groupAndKind(original))?.has(`${namespace}/${ownName}`) === true
    const object = mapObject(original as unknown as Json, (value, name) => {
      if (name !== 'metadata' || !isObject(value)) return value
      return mapManagedFields(value, isRecorded ? withOwnedFields : withoutFieldSet)
    })
    const redacted = this.#redactValue(object) as KubeObject
    const text = isRecorded ? original.metadata.annotations?.[lastApplied] : undefined
    const applied = tryParseJson(text ?? '')
    if (!isObject(applied)) return redacted
    return { ...redacted, metadata: { ...redacted.metadata, applied: this.hashLeaves(applied) } }
  }

  /** The keyed hash of each field, by its pointer. Omits the status, and all metadata except labels and annotations. */
  hashLeaves(object: Json): Readonly<Record<string, string>> {
    const { apiVersion: _, kind: __, status: ___, metadata, ...content } = object
    const { labels, annotations } = isObject(metadata) ? metadata : {}
    const leaves = [
      ...leavesOf(content),
      ...leavesOf({ labels, annotations }, ['metadata']).filter(({ path }) => path.length > 2),
    ]
    // A null field counts as absent.
    const written = leaves.filter(({ value }) => value !== null)
    return Object.fromEntries(
      written.map(({ path, value }) => [toPointer(path), this.#hash(JSON.stringify(value))] as const),
    )
  }

  #redactValue(value: unknown): unknown {
    if (typeof value === 'string') return this.#cutText(value)
    if (typeof value !== 'object' || value === null) return value
    if (this.#depth >= maxDepth) return '…'
    this.#depth += 1
    try {
      if (Array.isArray(value)) return mapArray(value, (item) => this.#redactValue(item))
      if (!isObject(value)) return value
      if (isSecretOrConfigMap(value)) return this.#hashObject(value)
      return mapObject(withoutConversionMethods(value), (field, name) => this.#redactField(field, name))
    } finally {
      this.#depth -= 1
    }
  }

  /** Redacts the fields of an object with `redact`. Another value is redacted like any value. */
  #redactFields(value: unknown, redact: (field: unknown, name: string) => unknown): unknown {
    return isObject(value) ? mapObject(value, redact) : this.#redactValue(value)
  }

  #redactField(value: unknown, name: string): unknown {
    if (isTextOrNumber(value) && isSecretField(name, String(value))) return this.#hashSetting(name, value)
    const redact = Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined
    return redact === undefined ? this.#redactValue(value) : redact(value)
  }

  /** Redacts and cuts a long text. Adds the hash of the whole text, so that different texts stay different. */
  #cutText(text: string): string {
    if (text.length <= maxTextLength) return text
    return `${this.#known.redact(text).slice(0, maxTextLength)}… ${this.#hash(text)}`
  }

  #hash(value: unknown): string {
    const text = typeof value === 'string' ? value : JSON.stringify(this.#redactValue(value))
    let digest = this.#hashes.get(text)
    if (digest === undefined) {
      digest = `hmac:${createHmac('sha256', this.#key).update(text).digest('base64url')}`
      if (this.#hashes.size >= maxCachedHashes) this.#hashes.clear()
      this.#hashes.set(text, digest)
    }
    return digest
  }

  /** Redacts a Secret or ConfigMap, which may be inside another object. */
  #hashObject(object: Json): Json {
    const isSecret = object['kind'] === 'Secret'
    if (isSecret) this.#collectSecretsOf(object)
    return mapObject(object, (value, name) => {
      if (/^(data|stringData|binaryData)$/.test(name))
        return this.#redactFields(value, (item, key) => (isSecret ? this.#hash(item) : this.#hashSetting(key, item)))
      if (name !== 'metadata') return this.#redactField(value, name)
      return this.#redactFields(value, (field, key) =>
        key === 'annotations' && isObject(field) ? this.#hashAnnotations(field) : this.#redactField(field, key),
      )
    })
  }

  #collectSecretsOf({ data, stringData, metadata }: Json): void {
    for (const [name, value] of textEntries(stringData)) this.#known.addFromSecret(name, value)
    for (const [name, value] of textEntries(data)) {
      const text = Buffer.from(value, 'base64').toString()
      this.#known.addFromSecret(name, text.includes('\uFFFD') ? value : text)
    }
    const annotations = isObject(metadata) ? textEntries(metadata['annotations']) : []
    for (const [name, value] of annotations) if (secretAnnotation.test(name)) this.#known.addFromSecret(name, value)
  }

  #collectFromAnnotations(annotations: Json): Json {
    for (const [name, value] of textEntries(annotations)) this.#known.addFromText(name, value)
    return annotations
  }

  /** Hashes annotations. Annotations of Rollout Gate stay readable, because they are inputs. */
  #hashAnnotations(annotations: Json): Json {
    return mapObject(withoutObjectCopies(annotations), (value, name) =>
      name.startsWith('rollout-gate/') ? this.#redactValue(value) : this.#hash(value),
    )
  }

  /** The hash of a setting. An empty text stays empty, because it must equal a setting that the server omits. */
  #hashSetting(name: string, value: unknown): unknown {
    if (value === '') return value
    if (isTextOrNumber(value)) this.#known.addFromSetting(name, String(value))
    return this.#hash(value)
  }

  /** Hashes the value in an item of a list such as `env`. Other fields of the item are redacted like any object. */
  #hashVariable(variable: unknown): unknown {
    const walked = this.#redactValue(variable)
    if (!isObject(variable) || !isObject(walked) || variable['value'] === undefined) return walked
    const name = String(walked['name'])
    const value = isTextOrNumber(variable['value'])
      ? this.#hashSetting(name, variable['value'])
      : this.#hashTexts(walked['value'], name)
    return { ...walked, value }
  }

  /** Replaces all texts by hashes, and numbers whose field is secret. `value`: not nested deeper than `maxDepth`. */
  #hashTexts(value: unknown, name: string): unknown {
    if (Array.isArray(value)) return mapArray(value, (item) => this.#hashTexts(item, name))
    if (isObject(value)) return mapObject(value, (inner, key) => this.#hashTexts(inner, key))
    if (typeof value === 'number') return isSecretField(name, String(value)) ? this.#hashSetting(name, value) : value
    const isHidden = typeof value === 'string' && value !== '' && !/^hmac:/.test(value)
    return isHidden ? this.#hashSetting(name, value) : value
  }
}

/** Whether a value is a text or a number: without quotes, a password of digits is a number in YAML. */
function isTextOrNumber(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

function textEntries(value: unknown): (readonly [string, string])[] {
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, text]) => (typeof text === 'string' ? [[name, text] as const] : []))
}

/** Fields whose content identifies objects. The gate compares these fields, and shows them without redaction. */
const wholeIdentifiers = /^(?:labels|matchLabels|selector|labelSelector|nodeSelector|ownerReferences)$/
/** Fields with the name or reference of an object, image or pod. */
const identifiers =
  /^(?:apiVersion|kind|uid|resourceVersion|image|imageID|pod|container|generateName|(?:.*N|n)ame(?:space)?)$/
/** Fields that may contain a code of the API. A code is one word in CamelCase, which rules compare. */
const codeFields = /^(?:type|status|phase|reason)$/
const code = /^[A-Z][A-Za-z]*$/

function isIdentifier(name: string, value: unknown): boolean {
  if (typeof value !== 'string') return wholeIdentifiers.test(name)
  return wholeIdentifiers.test(name) || identifiers.test(name) || (codeFields.test(name) && code.test(value))
}

/**
 * Redacts all texts in a value, except names, references and codes. Used for data that leaves the process in the form
 * of the cluster, such as the lines of a recording. The text of an unknown field is redacted.
 */
export function redactTexts(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return mapArray(value, (item) => redactTexts(item, redact))
  if (!isObject(value)) return value
  return mapObject(value, (field, name) => (isIdentifier(name, field) ? field : redactTexts(field, redact)))
}

/** Whether an object is a core Secret or ConfigMap. Inside another object, its `apiVersion` may be missing. */
function isSecretOrConfigMap({ apiVersion, kind }: Json): boolean {
  return (kind === 'Secret' || kind === 'ConfigMap') && (apiVersion === 'v1' || apiVersion === undefined)
}

function withoutObjectCopies(annotations: Json): Json {
  const kept = Object.entries(annotations).filter(([name, value]) => !objectCopy.test(name) && !isObjectCopy(value))
  return kept.length === Object.keys(annotations).length ? annotations : Object.fromEntries(kept)
}

/** Whether an annotation contains an object, or a list of objects, as JSON or YAML. */
function isObjectCopy(value: unknown): boolean {
  if (typeof value !== 'string') return typeof value === 'object' && value !== null
  if (!/^\s*[[{]/.test(value)) return objectField.test(value)
  const parsed = tryParseJson(value)
  if (parsed === undefined) return objectField.test(value)
  return [parsed].flat().some((each) => isObject(each) && objectFields.some((field) => Object.hasOwn(each, field)))
}

/** The annotation of `kubectl apply` (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config). */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

/** An entry of `managedFields` with pointers in place of its field set. An entry for the status gets no pointers. */
function withOwnedFields(entry: unknown): unknown {
  if (!isObject(entry) || entry['subresource'] === 'status') return withoutFieldSet(entry)
  return { ...(withoutFieldSet(entry) as Json), ownedFields: pointersOfFieldSet(entry['fieldsV1']) }
}

function groupAndKind({ apiVersion, kind }: KindName): string {
  return `${groupOf(apiVersion ?? '')}/${kind}`
}

function mapManagedFields(metadata: Json, map: (entry: unknown) => unknown): Json {
  return mapObject(metadata, (value, name) =>
    name === 'managedFields' && Array.isArray(value) ? value.map(map) : value,
  )
}

function withoutFieldSet(entry: unknown): unknown {
  if (!isObject(entry)) return entry
  const kept = ['manager', 'operation', 'subresource', 'time']
  return Object.fromEntries(Object.entries(entry).filter(([name]) => kept.includes(name)))
}
