/* Stores equal parts of objects only once, and copies objects only where they change. */

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
