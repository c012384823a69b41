import type { Condition } from '../../cluster/objects.ts'
import type { Weight } from './polarity.ts'
import type { Meaning } from './status-vocabulary.ts'

/** One thing that an object says of its own state. */
export interface Say {
  readonly meaning: Meaning
  /**
   * How much it weighs (see `Weight`). Besides: `change` is about the change that is being made (updateStatus, replica
   * counts), `error` is an error's text, `unknown` a phase that we have no meaning for, `spec` the user's own wish.
   */
  readonly weight: Weight | 'change' | 'error' | 'unknown' | 'spec'
  /** What it is said with, without what changes while it stands: `Ready=False`, `phase=Failed`. */
  readonly key: string
  /** For people: `Ready is False (NoQuota): …`, `phase is Failed`. */
  readonly text: string
  readonly condition?: Condition
}

/** A part of an object of which only the API server's schema knows what it holds. */
export type Fields = Readonly<Record<string, unknown>>

/** What is said by a field of the status; nothing where its word means nothing to us. */
export function say(path: string, word: string, meaning: Meaning | undefined, weight: Say['weight']): readonly Say[] {
  return meaning === undefined ? [] : [{ meaning, weight, key: `${path}=${word}`, text: `${path} is ${word}` }]
}

/** A list as it is, and an empty one for whatever else a custom resource holds there. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The objects in a list, as far as it is one. */
export function fieldsOf(value: unknown): readonly Fields[] {
  return listOf(value).filter((each): each is Fields => typeof each === 'object' && each !== null)
}

/** Nothing, or only empty lists, objects and texts. */
export function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}
