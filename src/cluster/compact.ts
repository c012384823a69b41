/* Keeps the memory of many objects small: field sets are not parsed, and equal parts of objects are kept once. */

/** How a field set in `managedFields` begins, in the JSON of an API server: both serializers write these keys in a row. */
const fieldSetStart = Buffer.from('"fieldsType":"FieldsV1","fieldsV1":{')

const [quote, backslash, open, close] = Buffer.from('"\\{}')

/**
 * Parses the JSON of an API server, with empty field sets in `managedFields`: field sets are up to half of a pod's JSON,
 * and are needed only where records are kept (`keepRecordsOf`).
 * @param json is changed; nothing else may refer to it
 * @throws SyntaxError
 */
export function parseJson(json: Buffer): unknown {
  return JSON.parse(withoutFieldSets(json).toString('utf8'))
}

/** The JSON with empty field sets. The search finds nothing in strings, because they contain no unescaped quote. */
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

/** The index of the brace that closes an object, or the length of a text that ends before. `at`: after its opening brace. */
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
 * Returns `known` if both values have the same JSON. Otherwise returns `value`, and replaces its parts that are equal in
 * `known`: equal parts of many objects are kept in memory once.
 * @param value is changed; nothing else may refer to it
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
    // If the key is `__proto__`, it is an own key already, so this sets a field and not the prototype.
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

/** Like `mapArray`, for objects. The copy has an own key `__proto__` if the object has one, so setting it is safe. */
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

/** An object without fields by which JavaScript converts it to a text or number: no field of Kubernetes has these names. */
export function withoutConversionMethods(object: Record<string, unknown>): Record<string, unknown> {
  if (!Object.hasOwn(object, 'toString') && !Object.hasOwn(object, 'valueOf')) return object
  const { toString: _, valueOf: __, ...others } = object
  return others
}
