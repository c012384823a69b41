import { createHmac, randomBytes } from 'node:crypto'
import { mapArray, mapObject } from './compact.ts'
import { isObject, type KubeObject } from './objects.ts'
import { secretVariable } from './secrets.ts'

/**
 * Removes secret, unused and excessive parts of an object before anything else reads it. The field sets of
 * `managedFields` and copies of whole objects in annotations are removed. The values and annotations of Secrets and
 * ConfigMaps, and the values of environment variables and probe headers, become hashes with a secret key: they can be
 * compared, but not guessed without the key. Known secrets are replaced in free text. Labels and names are kept,
 * because selectors refer to them. Long texts and deep nesting are cut, because expressions over hostile text would
 * take minutes. Returns a new object that shares the unchanged parts with the old one.
 */
export type Redactor = (object: KubeObject) => KubeObject

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

/**
 * Maximum length of a text: the longest regular message, the termination message of a container, has 4,096 characters.
 */
const maxTextLength = 8_192
/** The schema of a CustomResourceDefinition, the deepest regular object, has less than 100 levels. */
const maxDepth = 500

/** Replaces known secrets in texts, and collects those that objects contain. */
export interface KnownSecrets {
  /** Replaces all secrets known at present. */
  readonly redactText: (text: string) => string
  /**
   * Replaces only the secrets known at the start. Templates are compared, so later secrets must not change the result.
   */
  readonly redactTemplate: (text: string) => string
  /** Called with the value of a Secret, or of a variable whose name looks secret, before the value is hashed. */
  readonly addSecret: (value: string) => void
}

const noSecrets: KnownSecrets = { redactText: (text) => text, redactTemplate: (text) => text, addSecret: () => {} }

/** Hashes are cached, because all pods of a template have the same environment variables. */
const maxCachedHashes = 10_000

/**
 * Creates a `Redactor`. Two objects can be compared only if the same `Redactor` redacted both.
 * @param key the secret key of the hashes; by default a new random key
 * @param known replaces known secrets in free text; by default nothing is replaced
 */
export function createRedactor(key: Buffer = randomBytes(32), known: KnownSecrets = noSecrets): Redactor {
  const hashes = new Map<string, string>()
  let depth = 0

  function hash(value: unknown): string {
    const text = typeof value === 'string' ? value : JSON.stringify(walk(value))
    let digest = hashes.get(text)
    if (digest === undefined) {
      digest = `hmac:${createHmac('sha256', key).update(text).digest('base64url')}`
      if (hashes.size >= maxCachedHashes) hashes.clear()
      hashes.set(text, digest)
    }
    return digest
  }

  const hashValues = (values: unknown) => (isObject(values) ? mapObject(values, hash) : walk(values))

  function hashVariable(variable: unknown): unknown {
    // The items of a field `env` may be anything in a custom resource, such as whole Secrets.
    const walked = walk(variable)
    if (!isObject(variable) || !isObject(walked) || variable['value'] === undefined) return walked
    if (secretVariable.test(String(variable['name']))) collectText(variable['value'])
    return { ...walked, value: hash(variable['value']) }
  }

  function collectText(value: unknown): void {
    if (typeof value === 'string') known.addSecret(value)
  }

  function collectSecret({ data, stringData, metadata }: Json): void {
    for (const value of isObject(stringData) ? Object.values(stringData) : []) collectText(value)
    for (const value of isObject(data) ? Object.values(data) : []) {
      if (typeof value !== 'string') continue
      known.addSecret(value)
      known.addSecret(Buffer.from(value, 'base64').toString())
    }
    const annotations = isObject(metadata) && isObject(metadata['annotations']) ? metadata['annotations'] : {}
    for (const [name, value] of Object.entries(annotations)) if (secretAnnotation.test(name)) collectText(value)
  }

  /** Custom resources contain pod templates and whole Secrets too, so every level is searched. */
  function walk(value: unknown): unknown {
    if (typeof value === 'string') return cutText(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth >= maxDepth) return '…'
    depth += 1
    try {
      if (Array.isArray(value)) return mapArray(value, walk)
      if (!isObject(value)) return value
      return isSecretOrConfigMap(value) ? redactValues(value) : mapObject(value, walkField)
    } finally {
      depth -= 1
    }
  }

  /** Two long texts with the same start have different hashes. */
  function cutText(text: string): string {
    return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength)}… ${hash(text)}`
  }

  function walkField(value: unknown, name: string): unknown {
    switch (name) {
      case 'env':
        return Array.isArray(value) ? mapArray(value, hashVariable) : isObject(value) ? hashValues(value) : walk(value)
      case 'httpHeaders':
        return Array.isArray(value) ? mapArray(value, hashVariable) : walk(value)
      case 'stringData':
        return isObject(value) ? hashValues(value) : walk(value)
      case 'message':
      case 'note':
        return walk(typeof value === 'string' ? known.redactText(value) : value)
      case 'command':
      case 'args':
        return Array.isArray(value) ? mapArray(value, redactTemplate) : walk(value)
      case 'annotations':
        return isObject(value) ? mapObject(withoutCopies(value), redactTemplate) : walk(value)
      default:
        return walk(value)
    }
  }

  function redactTemplate(value: unknown): unknown {
    return walk(typeof value === 'string' ? known.redactTemplate(value) : value)
  }

  /** A Secret or ConfigMap, also inside another object. */
  function redactValues(object: Json): Json {
    if (object['kind'] === 'Secret') collectSecret(object)
    return mapObject(object, (value, name) => {
      if (/^(data|stringData|binaryData)$/.test(name)) return hashValues(value)
      if (name !== 'metadata' || !isObject(value)) return walkField(value, name)
      return mapObject(value, (field, key) => (key === 'annotations' ? hashAnnotations(field) : walkField(field, key)))
    })
  }

  /** The gate's own annotations are inputs, so they stay readable. */
  function hashAnnotations(annotations: unknown): unknown {
    if (!isObject(annotations)) return annotations
    return mapObject(withoutCopies(annotations), (value, name) =>
      name.startsWith('rollout-gate/') ? walk(value) : hash(value),
    )
  }

  /** The annotations of the object itself are never compared, so secrets that become known later are replaced too. */
  function redactMetadata(value: unknown, name: string): unknown {
    if (name !== 'annotations' || !isObject(value)) return walkField(value, name)
    return mapObject(withoutCopies(value), (text) => walk(typeof text === 'string' ? known.redactText(text) : text))
  }

  return (original) => {
    const object = mapObject(original as unknown as Json, (value, name) =>
      name === 'metadata' && isObject(value) ? withoutFieldSets(value) : value,
    )
    if (isSecretOrConfigMap(object)) return redactValues(object) as unknown as KubeObject
    return mapObject(object, (value, name) =>
      name === 'metadata' && isObject(value) ? mapObject(value, redactMetadata) : walkField(value, name),
    ) as unknown as KubeObject
  }
}

/** Whether an object is a Secret or ConfigMap of the core group; inside another object, it may have no `apiVersion`. */
function isSecretOrConfigMap({ apiVersion, kind }: Json): boolean {
  return (kind === 'Secret' || kind === 'ConfigMap') && (apiVersion === 'v1' || apiVersion === undefined)
}

/** The annotations without those that copy a whole object. */
function withoutCopies(annotations: Json): Json {
  const kept = Object.entries(annotations).filter(([name, value]) => !objectCopy.test(name) && !isObjectCopy(value))
  return kept.length === Object.keys(annotations).length ? annotations : Object.fromEntries(kept)
}

/** Whether a text is an object, or a list of objects, in JSON or YAML. */
function isObjectCopy(value: unknown): boolean {
  if (typeof value !== 'string') return false
  if (!/^\s*[[{]/.test(value)) return objectField.test(value)
  try {
    const parsed: unknown = JSON.parse(value)
    return (Array.isArray(parsed) ? parsed : [parsed]).some(
      (each) => isObject(each) && objectFields.some((field) => Object.hasOwn(each, field)),
    )
  } catch {
    return objectField.test(value)
  }
}

function withoutFieldSets(metadata: Json): Json {
  return mapObject(metadata, (value, name) =>
    name === 'managedFields' && Array.isArray(value) ? value.map(withoutFieldSet) : value,
  )
}

function withoutFieldSet(entry: unknown): unknown {
  if (!isObject(entry)) return entry
  const kept = ['manager', 'operation', 'subresource', 'time']
  return Object.fromEntries(Object.entries(entry).filter(([name]) => kept.includes(name)))
}
