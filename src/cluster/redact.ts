import { createHmac, randomBytes } from 'node:crypto'
import type { KubeObject } from './objects.ts'
import { secretVariable } from './secrets.ts'

/**
 * Removes secret and unused parts of an object before anything else reads it.
 * The field sets of `managedFields` and copies of whole objects in annotations are removed. The values of Secrets,
 * ConfigMaps, environment variables and probe headers become hashes with a secret key: values can be compared, but not
 * guessed without the key. Known secrets are replaced in free text.
 * Returns a new object that shares the unchanged parts with the old one.
 */
export type Redactor = (object: KubeObject) => KubeObject

type Json = Record<string, unknown>

/** Annotations in which tools keep a copy of the whole object, with its secret values. */
const objectCopies = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'banzaicloud.com/last-applied',
  'kapp.k14s.io/original',
  'kopf.zalando.org/last-handled-configuration',
  'objectset.rio.cattle.io/applied',
])

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

  function hash(value: unknown): string {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    let digest = hashes.get(text)
    if (digest === undefined) {
      digest = `hmac:${createHmac('sha256', key).update(text).digest('base64url')}`
      if (hashes.size >= maxCachedHashes) hashes.clear()
      hashes.set(text, digest)
    }
    return digest
  }

  const hashValues = (values: unknown) => (isObject(values) ? mapObject(values, hash) : values)

  function hashVariable(variable: unknown): unknown {
    if (!isObject(variable) || variable['value'] === undefined) return variable
    if (secretVariable.test(String(variable['name']))) collectText(variable['value'])
    return { ...variable, value: hash(variable['value']) }
  }

  function collectText(value: unknown): void {
    if (typeof value === 'string') known.addSecret(value)
  }

  function collectSecret({ data, stringData }: Json): void {
    for (const value of isObject(stringData) ? Object.values(stringData) : []) collectText(value)
    for (const value of isObject(data) ? Object.values(data) : []) {
      if (typeof value !== 'string') continue
      known.addSecret(value)
      known.addSecret(Buffer.from(value, 'base64').toString())
    }
  }

  /** Custom resources contain pod templates too, so the whole object is searched for environment variables. */
  function walk(value: unknown): unknown {
    if (Array.isArray(value)) return mapArray(value, walk)
    if (!isObject(value)) return value
    return mapObject(value, walkField)
  }

  function walkField(value: unknown, name: string): unknown {
    switch (name) {
      case 'env':
        return Array.isArray(value) ? mapArray(value, hashVariable) : isObject(value) ? hashValues(value) : value
      case 'httpHeaders':
        return Array.isArray(value) ? mapArray(value, hashVariable) : walk(value)
      case 'message':
      case 'note':
        return typeof value === 'string' ? known.redactText(value) : walk(value)
      case 'command':
      case 'args':
        return Array.isArray(value) ? mapArray(value, redactTemplate) : walk(value)
      case 'annotations':
        return isObject(value) ? mapObject(value, redactTemplate) : walk(value)
      default:
        return walk(value)
    }
  }

  function redactTemplate(value: unknown): unknown {
    return typeof value === 'string' ? known.redactTemplate(value) : walk(value)
  }

  return (object) => {
    if (object.kind === 'Secret') collectSecret(object as unknown as Json)
    const holdsValues = object.apiVersion === 'v1' && (object.kind === 'Secret' || object.kind === 'ConfigMap')
    return mapObject(object as unknown as Json, (value, name) => {
      if (name === 'metadata') return walk(reduceMetadata(value))
      if (holdsValues && /^(data|stringData|binaryData)$/.test(name)) return hashValues(value)
      return walkField(value, name)
    }) as unknown as KubeObject
  }
}

function reduceMetadata(metadata: unknown): unknown {
  if (!isObject(metadata)) return metadata
  return mapObject(metadata, (value, name) => {
    if (name === 'managedFields' && Array.isArray(value)) return value.map(withoutFieldSet)
    if (name === 'annotations' && isObject(value) && Object.keys(value).some((key) => objectCopies.has(key))) {
      return Object.fromEntries(Object.entries(value).filter(([key]) => !objectCopies.has(key)))
    }
    return value
  })
}

function withoutFieldSet(entry: unknown): unknown {
  if (!isObject(entry)) return entry
  const kept = ['manager', 'operation', 'subresource', 'time']
  return Object.fromEntries(Object.entries(entry).filter(([name]) => kept.includes(name)))
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Like `Array.map`, but returns the same array if nothing changed. */
function mapArray(values: unknown[], map: (value: unknown) => unknown): unknown[] {
  let changed: unknown[] | undefined
  values.forEach((value, index) => {
    const mapped = map(value)
    if (mapped === value) return
    changed ??= [...values]
    changed[index] = mapped
  })
  return changed ?? values
}

/**
 * Like `mapArray`, for objects. An object may have the key `__proto__`: `fromEntries` copies it safely, assignment does
 * not.
 */
function mapObject(object: Json, map: (value: unknown, name: string) => unknown): Json {
  let changed = false
  const entries = Object.entries(object).map(([name, value]) => {
    const mapped = map(value, name)
    changed ||= mapped !== value
    return [name, mapped] as const
  })
  return changed ? Object.fromEntries(entries) : object
}
