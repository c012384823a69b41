/* Saves memory for many objects: skips field sets when parsing JSON, and stores equal parts of objects only once. */

/** The start of a field set in the JSON of an API server, whose serializers always write these two keys together. */
const fieldSetStart = Buffer.from('"fieldsType":"FieldsV1","fieldsV1":{')

const [quote, backslash, open, close] = Buffer.from('"\\{}')

/**
 * Parses the JSON of an API server without the field sets in `managedFields`. Field sets are up to half of a pod's
 * JSON, and are needed only for objects with records (`keepRecordsOf`).
 * @param json is overwritten, so no other code may use it
 * @throws SyntaxError
 */
export function parseJson(json: Buffer): unknown {
  return JSON.parse(withoutFieldSets(json).toString('utf8'))
}

/** Empties each field set. The search finds no match inside a JSON string, because quotes are escaped there. */
function withoutFieldSets(json: Buffer): Buffer {
  let length = 0
  let start = 0
  const keepUntil = (end: number) => {
    json.copyWithin(length, start, end)
    length += end - start
  }
  for (let at = json.indexOf(fieldSetStart); at !== -1; at = json.indexOf(fieldSetStart, start)) {
    const from = at + fieldSetStart.length
    keepUntil(from)
    start = endOfObject(json, from)
  }
  if (start === 0) return json
  keepUntil(json.length)
  return json.subarray(0, length)
}

/** The index of the brace that closes an object, or the length without this brace. `at`: after the opening brace. */
function endOfObject(json: Buffer, at: number): number {
  let depth = 1
  let isText = false
  for (let index = at; index < json.length; index += 1) {
    const byte = json[index]
    if (isText && byte === backslash) index += 1
    else if (byte === quote) isText = !isText
    else if (!isText && byte === open) depth += 1
    else if (!isText && byte === close) depth -= 1
    if (depth === 0) return index
  }
  return json.length
}

/**
 * Returns `existing` if both values are equal. Otherwise returns `value`, but with the equal parts of `existing` in
 * place of its own equal parts. So equal parts of many objects are in memory only once.
 * @param value is changed, so no other code may use it
 */
export function shareEqualParts<T>(value: T, existing: unknown): T {
  if (typeof value !== 'object' || value === null || typeof existing !== 'object' || existing === null)
    return value === existing ? (existing as T) : value
  if (Array.isArray(value) !== Array.isArray(existing)) return value
  const [parts, existingParts] = [value as Record<string, unknown>, existing as Record<string, unknown>]
  const names = Object.keys(parts)
  let isSame = names.length === Object.keys(existingParts).length
  for (const name of names) {
    const other = Object.hasOwn(existingParts, name) ? existingParts[name] : undefined
    // Safe for the key `__proto__`: `parts` has an own property of that name, so this does not set the prototype.
    const shared = shareEqualParts(parts[name], other)
    parts[name] = shared
    isSame &&= shared === other
  }
  return isSame ? (existing as T) : value
}

/** Like `Array.map`, but returns the same array if nothing changed. */
export function mapArray(values: unknown[], map: (value: unknown) => unknown): unknown[] {
  let changed: unknown[] | undefined
  values.forEach((value, index) => {
    const mapped = map(value)
    if (mapped === value) return
    changed ??= [...values]
    changed[index] = mapped
  })
  return changed ?? values
}

/** Like `mapArray`, for the fields of an object. A field `__proto__` stays a field and never sets the prototype. */
export function mapObject(
  object: Record<string, unknown>,
  map: (value: unknown, name: string) => unknown,
): Record<string, unknown> {
  let changed: Record<string, unknown> | undefined
  for (const name of Object.keys(object)) {
    const value = object[name]
    const mapped = map(value, name)
    if (mapped === value) continue
    changed ??= { ...object }
    changed[name] = mapped
  }
  return changed ?? object
}

/** Removes the fields `toString` and `valueOf`: they break conversions in JavaScript, and Kubernetes does not use them. */
export function withoutConversionMethods(object: Record<string, unknown>): Record<string, unknown> {
  if (!Object.hasOwn(object, 'toString') && !Object.hasOwn(object, 'valueOf')) return object
  const { toString: _, valueOf: __, ...others } = object
  return others
}
