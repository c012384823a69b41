import { parseDuration } from '../duration.ts'

/**
 * Whether two scalars mean the same to Kubernetes, which writes some values back in another form than they came in:
 * quantities (`1000m` as `1`), durations (`60m` as `1h0m0s`), moments, integers or strings.
 */
export function isSameScalar(ours: unknown, theirs: unknown): boolean {
  if (ours === theirs || String(ours) === String(theirs)) return true
  if (typeof ours === 'boolean' || typeof theirs === 'boolean') return false
  const [a, b] = [String(ours), String(theirs)]
  return [quantity, duration, moment].some((read) => {
    const [left, right] = [read(a), read(b)]
    return left !== undefined && left === right
  })
}

const decimal: Readonly<Record<string, number>> = { k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 }
const binary = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const fraction: Readonly<Record<string, number>> = { m: 1e3, u: 1e6, n: 1e9 }

/** The number that a quantity stands for (k8s.io/apimachinery pkg/api/resource, `Quantity`). */
function quantity(text: string): number | undefined {
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([kMGTPE]i|[kMGTPEmun])|([eE][+-]?\d{1,3}))?$/.exec(text)
  if (match === null) return undefined
  const [, digits = '', suffix = '', exponent = ''] = match
  const number = Number(`${digits}${exponent}`)
  // Divided, not multiplied by 0.001: 300m is exactly 0.3 then.
  if (fraction[suffix] !== undefined) return number / fraction[suffix]
  if (decimal[suffix] !== undefined) return number * decimal[suffix]
  return number * 1024 ** (binary.indexOf(suffix) + 1)
}

function duration(text: string): number | undefined {
  return parseDuration(text, () => {})
}

function moment(text: string): number | undefined {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(text) ? Date.parse(text) : undefined
}
