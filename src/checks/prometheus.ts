import type { MetricValue } from '../cluster/feed.ts'
import { isObject } from '../cluster/objects.ts'
import { maxMetricAnswerBytes, maxNamedSeries } from '../thresholds.ts'
import type { HttpAnswer } from './exchange.ts'

/** The value of a query, or why there is none. */
export type QueryResult = Pick<MetricValue, 'value' | 'error' | 'series'>

/**
 * Reads the answer to an instant query: one number, or one series with one number
 * (prometheus.io/docs/prometheus/latest/querying/api, "Instant queries").
 */
export function readQueryResult({ status, body }: HttpAnswer): QueryResult {
  const answer = parse(body)
  if (!isObject(answer) || (answer['status'] !== 'success' && answer['status'] !== 'error')) {
    const isCut = Buffer.byteLength(body) >= maxMetricAnswerBytes
    return { error: isCut ? 'the answer is too long' : `status ${status}, which is no answer of the Prometheus API` }
  }
  if (answer['status'] === 'error') return { error: `${answer['errorType']}: ${answer['error']}` }
  const { resultType, result } = Object(answer['data']) as { resultType?: unknown; result?: unknown }
  if (resultType === 'scalar') return numberOf(result)
  if (resultType !== 'vector' || !Array.isArray(result))
    return { error: `the query returns a ${resultType}, no number` }
  const [first, ...more] = result
  if (first === undefined) return { error: 'no data' }
  if (more.length > 0) {
    const names = result.slice(0, maxNamedSeries).map((each) => labelsOf(Object(each).metric))
    const unnamed = result.length - names.length
    return { error: 'several series', series: unnamed > 0 ? [...names, `${unnamed} more`] : names }
  }
  return numberOf(Object(first).value)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A sample is a time and a number as text: `[1435781430.781, "0.5"]`. */
function numberOf(sample: unknown): QueryResult {
  const text = Array.isArray(sample) ? sample[1] : undefined
  const value = typeof text === 'string' ? Number(text.replace(/Inf$/, 'Infinity')) : Number.NaN
  return Number.isFinite(value) ? { value } : { error: typeof text === 'string' ? text : 'no number' }
}

/** As PromQL writes them: `{code="500", pod="web-x"}`. */
function labelsOf(metric: unknown): string {
  const labels = Object.entries(isObject(metric) ? metric : {}).map(
    ([name, value]) => `${name}=${JSON.stringify(value)}`,
  )
  return `{${labels.join(', ')}}`
}
