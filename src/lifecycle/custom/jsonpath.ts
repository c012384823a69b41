/**
 * The JSONPath of `kubectl wait --for=jsonpath='{.status.phase}'=Running`: fields, quoted fields, indexes, `[*]` and
 * filters of the form `[?(@.type=="Ready")]`. That is what kubectl's own documentation shows; expressions beyond it
 * (recursive descent, slices, scripts) are refused rather than guessed.
 */
const step =
  /\.([A-Za-z_][\w-]*(?:\\\.[\w-]+)*)|\[['"]([^'"\]]+)['"]\]|\[(-?\d+)\]|\[(\*)\]|\[\?\(@((?:\.[\w-]+)+)\s*==\s*(?:"([^"]*)"|'([^']*)'|([\w.-]+))\)\]/y

type Step = (value: unknown) => readonly unknown[]

/** Parses a path; undefined when it is none that is understood. The function returns every value that the path leads to. */
export function compileJsonPath(expression: string): ((object: unknown) => readonly unknown[]) | undefined {
  const path = expression
    .trim()
    .replace(/^\{\s*/, '')
    .replace(/\s*\}$/, '')
    .replace(/^\$/, '')
  const steps: Step[] = []
  step.lastIndex = 0
  while (step.lastIndex < path.length) {
    const found = step.exec(path)
    if (found === null) return undefined
    steps.push(toStep(found))
  }
  if (steps.length === 0) return undefined
  return (object) => steps.reduce<readonly unknown[]>((values, next) => values.flatMap(next), [object])
}

function toStep([, field, quoted, index, star, filterPath, ...literals]: RegExpExecArray): Step {
  const name = field?.replaceAll('\\.', '.') ?? quoted
  if (name !== undefined) return (value) => property(value, name)
  if (index !== undefined) return (value) => (Array.isArray(value) ? element(value, Number(index)) : [])
  if (star !== undefined) return (value) => (typeof value === 'object' && value !== null ? Object.values(value) : [])
  const fields = (filterPath ?? '').split('.').slice(1)
  const wanted = literals.find((literal) => literal !== undefined)
  return (value) =>
    Array.isArray(value)
      ? value.filter((item) =>
          fields
            .reduce<readonly unknown[]>((at, each) => at.flatMap((v) => property(v, each)), [item])
            .some((v) => String(v) === wanted),
        )
      : []
}

function property(value: unknown, name: string): readonly unknown[] {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? [(value as Record<string, unknown>)[name]]
    : []
}

/** The element at an index, counted from the end where it is negative; beyond either end there is none. */
function element(list: readonly unknown[], index: number): readonly unknown[] {
  const at = index < 0 ? list.length + index : index
  return at in list ? [list[at]] : []
}
