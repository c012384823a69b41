import { anyOf, type Check, type Fields, list, object, text } from '../cluster/object-schema.ts'
import { isObject } from '../cluster/objects.ts'
import type { Target } from '../plan/target.ts'

/** A year in milliseconds. */
const yearMs = 365 * 86_400_000
/** The first moment that ISO 8601 cannot write with four digits of the year; with a duration added, it may be no date. */
const endOfMoments = Date.UTC(10_000, 0)

/** The moment of a text, in milliseconds since the epoch; undefined for anything else, and before 1970 or after 9999. */
export function momentOf(value: unknown): number | undefined {
  const moment = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return moment >= 0 && moment < endOfMoments ? moment : undefined
}

/** Accepts an object that has all of the required fields, and any of the optional ones. */
const complete =
  (required: Fields, optional: Fields = {}): Check =>
  (value) => {
    const path = object({ ...required, ...optional })(value)
    const missing = Object.keys(required).find((name) => (value as Record<string, unknown>)?.[name] === undefined)
    return path ?? (missing === undefined ? undefined : [missing])
  }

/** Accepts an object whose values have all the same type. */
const record =
  (check: Check): Check =>
  (value) =>
    isObject(value) ? list(check)(Object.values(value)) : []

const numberUpTo =
  (max: number, min = 0): Check =>
  (value) =>
    typeof value === 'number' && value >= min && value <= max ? undefined : []

const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value) ? undefined : []

const firstOf =
  (...checks: readonly Check[]): Check =>
  (value) =>
    checks.some((check) => check(value) === undefined) ? undefined : []

const scalar = anyOf('string', 'number', 'boolean')
const flag = anyOf('boolean')
const clock = numberUpTo(yearMs)
const index: Check = (value) => (Number.isSafeInteger(value) ? numberUpTo(Infinity)(value) : [])
/** HTTP statuses have three digits. */
const maxStatus = 999
const kind: Fields = { apiVersion: text, kind: text }

const header = object({
  startedAt: text,
  server: text,
  context: text,
  serverOffsetMs: numberUpTo(100 * yearMs, -100 * yearMs),
  inputs: record(firstOf(scalar, oneOf(null), list(scalar))),
})

const names = list(text)

const targets = list(
  complete(
    { ...kind, name: text },
    {
      selector: text,
      clocks: object({
        timeoutMs: clock,
        stallTimeoutMs: clock,
        requireChangeMs: clock,
        milestoneTimeoutsMs: record(clock),
      }),
      applied: text,
      source: complete({
        file: text,
        line: (value) => (Number.isSafeInteger(value) ? numberUpTo(Infinity, 1)(value) : []),
      }),
      waitFor: firstOf(
        complete({ type: oneOf('condition'), condition: text, status: text }),
        complete({ type: oneOf('jsonpath'), path: text }, { value: text }),
        complete({ type: oneOf('create', 'delete') }),
      ),
      revisions: list(complete({ revision: text }, { source: text, older: names, newer: names })),
      hook: complete({ annotation: text }, { removal: text }),
      manifest: complete({ ...kind, metadata: complete({ name: text }) }),
    },
  ),
)

const resources = list(
  complete(
    { group: text, version: text, kind: text, plural: text },
    { singular: text, shortNames: names, categories: names, verbs: names, namespaced: flag, status: flag },
  ),
)

const lines: Readonly<Record<string, Check>> = {
  DISCOVERY: complete({ resources }),
  SYNCED: complete(kind, { labelSelector: text }),
  ALIVE: object({ labelSelector: text }),
  LOG: object({ pod: text, container: text, previous: flag, text, why: text }),
  ANSWER: complete(
    { check: index },
    {
      pod: text,
      namespace: text,
      status: numberUpTo(maxStatus),
      seconds: numberUpTo(yearMs),
      body: text,
      matches: flag,
      error: text,
      location: text,
    },
  ),
}

/** What is wrong with the types of an event without an object; undefined if nothing. A null field becomes absent. */
export function eventMistake(event: { readonly type: string }): string | undefined {
  return mistake(lines[event.type]?.(event))
}

/** What is wrong with the types of a header; its targets are not checked. A field that is null becomes absent. */
export function headerMistake(value: unknown): string | undefined {
  return mistake(header(value))
}

/** Whether all targets of a header have the types that the gate relies on. */
export function areTargets(value: unknown): value is readonly Target[] {
  return targets(value) === undefined
}

function mistake(path: readonly string[] | undefined): string | undefined {
  return path && `${path.join('.')} is missing or has the wrong type`
}
