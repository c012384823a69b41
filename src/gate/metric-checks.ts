import type { MetricValue } from '../cluster/feed.ts'
import type { MetricCheck } from '../plan/checks.ts'
import { measured } from '../reasons/wording.ts'
import { maxNamedSeries, metricIntervalMs, metricProven } from '../thresholds.ts'
import type { Question } from './questions.ts'
import { type Verdict, verdictOf } from './timeline.ts'

/** The time in which everything must stay ready, in ms since the epoch. If there are metrics and no `hold`, it lasts 0 ms. */
export interface Hold {
  readonly since: number
  readonly until: number
}

type TimedValue = MetricValue & { readonly at: number }

/** The values of `metrics` since everything was ready, the next queries, and the verdict by these values. */
export class MetricChecks {
  readonly #metrics: readonly MetricCheck[]
  /** The variables in all queries. */
  readonly #variables: ReadonlySet<string>
  readonly #values = new Map<number, readonly TimedValue[]>()

  constructor(metrics: readonly MetricCheck[]) {
    this.#metrics = metrics
    this.#variables = new Set(
      metrics.flatMap(({ query }) => [...query.matchAll(variable)].map(([, name = '']) => name)),
    )
  }

  /** Whether a query names one of these variables. */
  reads(...variables: readonly ('pods' | 'old_pods')[]): boolean {
    return variables.some((each) => this.#variables.has(each))
  }

  /** @returns whether the value is of a metric of this gate */
  add(event: TimedValue): boolean {
    if (this.#metrics[event.check] === undefined) return false
    this.#values.set(event.check, [...(this.#values.get(event.check) ?? []), event])
    return true
  }

  clear(): void {
    this.#values.clear()
  }

  /** What is asked next: each metric when the hold begins, at an interval, and at its end. `namesOf`: by variable. */
  questions({ since, until }: Hold, namesOf: () => Readonly<Record<string, readonly string[]>>): readonly Question[] {
    const due = this.#metrics.flatMap(({ index, query }) => {
      const last = this.#valuesOf(index, since).at(-1)?.at
      if (last !== undefined && last >= until) return []
      return { index, query, at: last === undefined ? since : Math.min(last + metricIntervalMs, until) }
    })
    if (due.length === 0) return []
    const names = namesOf()
    return due.map(({ index, query, at }) => ({ type: 'metric', check: index, query: withNames(query, names), at }))
  }

  /** `error-rate 0.002`: the latest value of each metric, or why there is none. */
  latest({ since }: Hold): readonly string[] {
    return this.#metrics.flatMap(({ index, name }) => {
      const { value, error } = this.#valuesOf(index, since).at(-1) ?? {}
      if (value === undefined && error === undefined) return []
      return `${name} ${value === undefined ? error : measured(value)}`
    })
  }

  /** A metric that broke its limit often enough or at the end, else one without a value at the end. */
  verdict({ since, until }: Hold, isEnd: boolean): Verdict | undefined {
    const judged = this.#metrics.map((metric) => judge(metric, this.#valuesOf(metric.index, since), until, isEnd))
    return judged.find((verdict) => verdict?.outcome === 'failed') ?? judged.find((verdict) => verdict !== undefined)
  }

  /** The queries that answered with several series, by the line of the input. */
  get mistakes(): readonly { readonly line: number; readonly message: string }[] {
    return this.#metrics.flatMap(({ index, line, name }) => {
      const several = this.#values.get(index)?.find(({ series = [] }) => series.length > 1)
      return several === undefined ? [] : [{ line, message: severalSeries(name, several.series ?? []) }]
    })
  }

  #valuesOf(index: number, since: number): readonly TimedValue[] {
    return (this.#values.get(index) ?? []).filter(({ at }) => at >= since)
  }
}

const variable = /\$(pods|old_pods|namespace)\b/g

/** The query with a pattern of all names for each variable. */
function withNames(query: string, names: Readonly<Record<string, readonly string[]>>): string {
  return query.replace(variable, (_, name: string) => {
    const distinct = [...new Set(names[name] ?? [])].toSorted()
    return distinct.length === 0 ? '-' : distinct.join('|')
  })
}

function severalSeries(name: string, series: readonly string[]): string {
  const shown = series.slice(0, maxNamedSeries).join(', ')
  const more = series.length - maxNamedSeries
  return `${name} has ${series.length} series, and needs one: ${shown}${more > 0 ? ` and ${more} more` : ''}. Join them, for example with sum(…) or max(…).`
}

const comparisons = {
  '<': (value: number, limit: number) => value < limit,
  '<=': (value: number, limit: number) => value <= limit,
  '>': (value: number, limit: number) => value > limit,
  '>=': (value: number, limit: number) => value >= limit,
}

/**
 * How a metric ends the gate: it broke its limit several times in a row, where a missing value breaks no row, or at the end.
 * Without a value at the end, nothing is known about it.
 */
function judge(
  { name, operator, threshold }: MetricCheck,
  values: readonly TimedValue[],
  until: number,
  isEnd: boolean,
): Verdict | undefined {
  const limit = `${operator} ${threshold}`
  const numbers = values.flatMap(({ value }) => (value !== undefined && Number.isFinite(value) ? [value] : []))
  const count = numbers.length - 1 - numbers.findLastIndex((value) => comparisons[operator](value, threshold))
  const last = values.at(-1)
  const final = last !== undefined && last.at >= until ? last : undefined
  const hasFinalValue = Number.isFinite(final?.value)
  const value = numbers.at(-1)
  if (value !== undefined && (count >= metricProven || (isEnd && hasFinalValue && count > 0)))
    return verdictOf('failed', 'metric-exceeded', { name, limit, value, count })
  if (!isEnd || hasFinalValue) return undefined
  return verdictOf('unknown', 'metric-unknown', { name, limit, error: final?.error ?? 'no answer' })
}
