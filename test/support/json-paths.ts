/** The names and indices that lead to a part of a JSON value. */
export type Path = readonly (string | number)[]

/** The paths of all fields and list elements of a JSON value. */
export function pathsOf(value: unknown, at: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, child]) => {
    const path = [...at, name]
    return [path, ...pathsOf(child, path)]
  })
}

/** A copy of a JSON value with another value at a path. */
export function withValue(whole: unknown, [name, ...rest]: Path, value: unknown): unknown {
  if (name === undefined) return value
  const copy = (Array.isArray(whole) ? [...whole] : { ...(whole as object) }) as Record<string | number, unknown>
  copy[name] = withValue(copy[name], rest, value)
  return copy
}
