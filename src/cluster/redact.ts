import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { jsonValue } from '../errors.ts'
import { mapArray, mapObject, withoutConversionMethods } from './compact.ts'
import { leavesOf, pointersOfFieldSet, toPointer } from './field-paths.ts'
import { groupOf, isObject, type KindName, type KubeObject, type ObjectName } from './objects.ts'
import { isSecretField } from './secret-values.ts'
import { Secrets } from './secrets.ts'

type Json = Record<string, unknown>

/**
 * Names of annotations in which tools keep a copy of the whole object, with its secret values: `last-applied-configuration`
 * of kubectl and KubeVela, `last-handled-configuration` of kopf, `original` of kapp, `applied` of Rancher.
 */
const objectCopy = /(?:^|[./])(?:last-applied|last-handled|original)[^/]*$|^objectset\.rio\.cattle\.io\/applied$/i
/** The fields by which a copy of an object is found in an annotation with another name. */
const objectFields = ['kind', 'spec', 'data', 'metadata'] as const
const objectField = /^[ \t]*["']?(?:kind|spec|data|metadata)["']?[ \t]*:/m
/** Annotations of a Secret that contain its value: OpenShift's `openshift.io/token-secret.value`. */
const secretAnnotation = /token|passw|credential|secret[^/]*value/i

/** Maximum length of a text. The termination message of a container, the longest regular text, has 4,096 characters. */
const maxTextLength = 8_192
/**
 * The maximum number of levels of an object. The schema of a CustomResourceDefinition, the deepest regular object, has less
 * than 100.
 */
const maxDepth = 500

/** Collects the secrets that objects contain, before their values are hashed. */
export type KnownSecrets = Pick<Secrets, 'addFromSecret' | 'addFromSetting' | 'addFromText' | 'redact'>

/** The maximum number of cached hashes. All pods of a template have the same environment variables. */
const maxCachedHashes = 10_000

/**
 * Removes secret, unused and excessive parts of an object before anything else reads the object, and learns its
 * secrets. The field sets of `managedFields` and copies of whole objects in annotations are removed. The values and
 * annotations of Secrets and ConfigMaps, and the values of environment variables, probe headers and Helm charts, become
 * hashes with a secret key: they can be compared, but not guessed without the key. Other texts stay until they leave
 * the process (`redactTexts`): a later object may contain a secret that they quote. Long texts and deep nesting are
 * cut, because expressions over hostile text would take minutes. It walks through all fields of an object, and handles
 * each by its name. Two objects can be compared only if the same `Redactor` redacted both.
 */
export class Redactor {
  /** A key object is faster than other forms of a key: Node prepares it once, and not for each hash. */
  readonly #key: KeyObject
  readonly #known: KnownSecrets
  readonly #hashes = new Map<string, string>()
  /** How each field with a special meaning is redacted, at any depth: custom resources contain pod templates too. */
  readonly #fields: Readonly<Record<string, (value: unknown) => unknown>>
  /** The objects whose records are kept: `namespace/name` by kind. */
  readonly #recorded = new Map<string, Set<string>>()
  #depth = 0

  /**
   * @param key the secret key of the hashes; by default a new random key
   * @param known collects the secrets
   */
  constructor(key: Buffer = randomBytes(32), known: KnownSecrets = new Secrets()) {
    this.#key = createSecretKey(key)
    this.#known = known
    const hashVariables = (value: unknown) =>
      Array.isArray(value) ? mapArray(value, (each) => this.#hashVariable(each)) : this.#redactValue(value)
    const hashMap = (value: unknown) =>
      isObject(value)
        ? mapObject(value, (setting, name) =>
            isTextOrNumber(setting)
              ? this.#hashSetting(name, setting)
              : this.#hashTexts(this.#redactValue(setting), name),
          )
        : this.#redactValue(value)
    const hashVariablesOrMap = (value: unknown) => (isObject(value) ? hashMap(value) : hashVariables(value))
    const collectFromArguments = (value: unknown) => {
      if (Array.isArray(value))
        addFromArguments(
          value.map((each) => (isTextOrNumber(each) ? String(each) : '')),
          known,
        )
      return this.#redactValue(value)
    }
    // Labels are compared by their values, whatever their names.
    const redactMapValues = (value: unknown) =>
      isObject(value)
        ? mapObject(value, (inner, name) => (typeof inner === 'string' ? inner : this.#redactField(inner, name)))
        : this.#redactValue(value)
    const hashTexts = (value: unknown) => this.#hashTexts(this.#redactValue(value), '')
    // The values of a chart: Flux and k3s (`spec.values`, `spec.valuesContent`), Argo CD (`helm`), Cluster API.
    const hashChart = (value: unknown) =>
      isObject(value)
        ? mapObject(value, (inner, name) => {
            if (name === 'parameters') return hashVariables(inner)
            return name === 'values' ? hashTexts(inner) : this.#redactField(inner, name)
          })
        : this.#redactValue(value)
    this.#fields = {
      env: hashVariablesOrMap,
      httpHeaders: hashVariables,
      stringData: hashMap,
      // Values of a chart too (k3s `spec.set`), and variables of Flux.
      set: hashVariablesOrMap,
      substitute: hashMap,
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
      args: collectFromArguments,
      command: collectFromArguments,
      annotations: (value) =>
        this.#redactValue(isObject(value) ? this.#addFromAnnotations(withoutObjectCopies(value)) : value),
    }
  }

  /** Keeps what appliers recorded in these objects, as hashes and paths: `metadata.applied` and `ownedFields`. */
  keepRecordsOf(names: readonly ObjectName[]): void {
    for (const { apiVersion, kind, namespace = '', name } of names) {
      const key = groupAndKind({ apiVersion, kind })
      this.#recorded.set(key, (this.#recorded.get(key) ?? new Set()).add(`${namespace}/${name}`))
    }
  }

  /** Whether records of objects of this kind are kept, so that their field sets are needed. */
  keepsRecordsOf(kind: KindName): boolean {
    return this.#recorded.has(groupAndKind(kind))
  }

  /** The redacted object: a new one that shares unchanged parts with the old one. */
  readonly redact = (original: KubeObject): KubeObject => {
    const { namespace = '', name: ownName } = original.metadata ?? {}
    const isRecorded = this.#recorded.get(groupAndKind(original))?.has(`${namespace}/${ownName}`) === true
    const object = mapObject(original as unknown as Json, (value, name) => {
      if (name !== 'metadata' || !isObject(value)) return value
      return mapManagedFields(value, isRecorded ? withOwnedFields : withoutFieldSet)
    })
    const redacted = this.#redactValue(object) as KubeObject
    const text = isRecorded ? original.metadata.annotations?.[lastApplied] : undefined
    const applied = jsonValue(text ?? '')
    if (!isObject(applied)) return redacted
    return { ...redacted, metadata: { ...redacted.metadata, applied: this.hashLeaves(applied) } }
  }

  /** The keyed hash of each leaf by its pointer; without status, and of the metadata only labels and annotations. */
  hashLeaves(object: Json): Readonly<Record<string, string>> {
    const { apiVersion: _, kind: __, status: ___, metadata, ...content } = object
    const { labels, annotations } = isObject(metadata) ? metadata : {}
    const leaves = [
      ...leavesOf(content),
      ...leavesOf({ labels, annotations }, ['metadata']).filter(({ path }) => path.length > 2),
    ]
    // `null` counts as not written.
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

  #redactField(value: unknown, name: string): unknown {
    if (isTextOrNumber(value) && isSecretField(name, String(value))) return this.#hashSetting(name, value)
    const redact = Object.hasOwn(this.#fields, name) ? this.#fields[name] : undefined
    return redact === undefined ? this.#redactValue(value) : redact(value)
  }

  /** Cuts a long text and adds its hash, so that different texts stay different. Known secrets are replaced first. */
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

  /** Redacts a Secret or ConfigMap, also inside another object. */
  #hashObject(object: Json): Json {
    const isSecret = object['kind'] === 'Secret'
    if (isSecret) this.#addSecretsOf(object)
    return mapObject(object, (value, name) => {
      if (/^(data|stringData|binaryData)$/.test(name))
        return isObject(value)
          ? mapObject(value, (item, key) => (isSecret ? this.#hash(item) : this.#hashSetting(key, item)))
          : this.#redactValue(value)
      if (name !== 'metadata' || !isObject(value)) return this.#redactField(value, name)
      return mapObject(value, (field, key) =>
        key === 'annotations' && isObject(field) ? this.#hashAnnotations(field) : this.#redactField(field, key),
      )
    })
  }

  #addSecretsOf({ data, stringData, metadata }: Json): void {
    for (const [name, value] of textEntries(stringData)) this.#known.addFromSecret(name, value)
    for (const [name, value] of textEntries(data)) {
      const text = Buffer.from(value, 'base64').toString()
      this.#known.addFromSecret(name, text.includes('\uFFFD') ? value : text)
    }
    const annotations = isObject(metadata) ? textEntries(metadata['annotations']) : []
    for (const [name, value] of annotations) if (secretAnnotation.test(name)) this.#known.addFromSecret(name, value)
  }

  #addFromAnnotations(annotations: Json): Json {
    for (const [name, value] of textEntries(annotations)) this.#known.addFromText(name, value)
    return annotations
  }

  /** The gate's own annotations are inputs, so they stay readable. */
  #hashAnnotations(annotations: Json): Json {
    return mapObject(withoutObjectCopies(annotations), (value, name) =>
      name.startsWith('rollout-gate/') ? this.#redactValue(value) : this.#hash(value),
    )
  }

  /** The hash of a setting. An empty text stays: it is no secret, and the server may not store an empty setting. */
  #hashSetting(name: string, value: unknown): unknown {
    if (value === '') return value
    if (isTextOrNumber(value)) this.#known.addFromSetting(name, String(value))
    return this.#hash(value)
  }

  /** Redacts an item of a list such as `env`: its value becomes a hash. In a custom resource, items may be Secrets. */
  #hashVariable(variable: unknown): unknown {
    const walked = this.#redactValue(variable)
    if (!isObject(variable) || !isObject(walked) || variable['value'] === undefined) return walked
    const name = String(walked['name'])
    const value = isTextOrNumber(variable['value'])
      ? this.#hashSetting(name, variable['value'])
      : this.#hashTexts(walked['value'], name)
    return { ...walked, value }
  }

  /** Replaces texts, and numbers in secret fields, by their hashes. @param value not nested deeper than `maxDepth` */
  #hashTexts(value: unknown, name: string): unknown {
    if (Array.isArray(value)) return mapArray(value, (item) => this.#hashTexts(item, name))
    if (isObject(value)) return mapObject(value, (inner, key) => this.#hashTexts(inner, key))
    if (typeof value === 'number') return isSecretField(name, String(value)) ? this.#hashSetting(name, value) : value
    const isHidden = typeof value === 'string' && value !== '' && !/^hmac:/.test(value)
    return isHidden ? this.#hashSetting(name, value) : value
  }
}

/** Whether a value is a text, or a number that YAML makes of a password without quotes. */
function isTextOrNumber(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

/** Learns the secrets in `--password=…` and `--password …`. */
function addFromArguments(args: readonly string[], known: KnownSecrets): void {
  for (const [index, text] of args.entries()) known.addFromText(/^-[^=]*$/.exec(args[index - 1] ?? '')?.[0] ?? '', text)
}

function textEntries(value: unknown): (readonly [string, string])[] {
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, text]) => (typeof text === 'string' ? [[name, text] as const] : []))
}

/** Fields whose whole content identifies something. The gate compares them, and shows them as they are. */
const wholeIdentifiers = /^(?:labels|matchLabels|selector|labelSelector|nodeSelector|ownerReferences)$/
/** Texts that identify something: names and references. */
const identifiers =
  /^(?:apiVersion|kind|uid|resourceVersion|image|imageID|pod|container|generateName|(?:.*N|n)ame(?:space)?)$/
/** Fields with a code of the API, which rules compare: one word in CamelCase. */
const codeFields = /^(?:type|status|phase|reason)$/
const code = /^[A-Z][A-Za-z]*$/

function isIdentifier(name: string, value: unknown): boolean {
  if (typeof value !== 'string') return wholeIdentifiers.test(name)
  return wholeIdentifiers.test(name) || identifiers.test(name) || (codeFields.test(name) && code.test(value))
}

/**
 * A value with all texts redacted, except those that identify something. For what leaves the process as the cluster returned
 * it, such as the lines of a recording: a field that this function does not know is redacted.
 */
export function redactTexts(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return mapArray(value, (item) => redactTexts(item, redact))
  if (!isObject(value)) return value
  return mapObject(value, (field, name) => (isIdentifier(name, field) ? field : redactTexts(field, redact)))
}

/** Whether an object is a Secret or ConfigMap of the core group; inside another object, it may have no `apiVersion`. */
function isSecretOrConfigMap({ apiVersion, kind }: Json): boolean {
  return (kind === 'Secret' || kind === 'ConfigMap') && (apiVersion === 'v1' || apiVersion === undefined)
}

function withoutObjectCopies(annotations: Json): Json {
  const kept = Object.entries(annotations).filter(([name, value]) => !objectCopy.test(name) && !isObjectCopy(value))
  return kept.length === Object.keys(annotations).length ? annotations : Object.fromEntries(kept)
}

/** Whether a value is an object, or the text of an object or of a list of objects in JSON or YAML. */
function isObjectCopy(value: unknown): boolean {
  if (typeof value !== 'string') return typeof value === 'object' && value !== null
  if (!/^\s*[[{]/.test(value)) return objectField.test(value)
  const parsed = jsonValue(value)
  if (parsed === undefined) return objectField.test(value)
  return [parsed].flat().some((each) => isObject(each) && objectFields.some((field) => Object.hasOwn(each, field)))
}

/** The annotation of `kubectl apply` (https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config). */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

/** An entry of `managedFields`, unless it is about the status, with the paths of its field set. */
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
