import type { EventObject, KubeObject } from '../cluster/objects.ts'
import type { Assessment } from '../lifecycle/assessment.ts'
import type { RuleContext } from '../lifecycle/rule-context.ts'
import type { Target } from '../plan/target.ts'

/** Everything that the picture of a resource is drawn from, at one moment. */
export interface Scene {
  readonly target: Target
  /** Milliseconds since the epoch on this machine's clock. */
  readonly startedAt: number
  readonly now: number
  /** Absent while the resource does not exist, or is not known yet. */
  readonly present?: Present
  /** When it was deleted; only while it does not exist. */
  readonly deletedAt?: number
  /** It was deleted and made anew while we watched. */
  readonly recreatedAt?: number
  /** What was left behind when it was deleted: its pods, on their way out. */
  readonly remains: readonly KubeObject[]
  /** The kinds that may not be read or do not exist here, with the server's words. */
  readonly unreadable: readonly string[]
  /** Why the server cannot be heard just now. */
  readonly trouble?: string
  /** The first lists are still on their way. */
  readonly isLooking: boolean
}

/** A resource that exists, with what surrounds it. */
export interface Present {
  readonly object: KubeObject
  readonly assessment: Assessment
  readonly view: RuleContext
  /** Objects that left the resource lately. */
  readonly partings: readonly Parting[]
  /** All objects that this one owns, in the order in which they were first seen. */
  owned(uid: string | undefined): readonly KubeObject[]
  events(object: KubeObject): readonly EventObject[]
}

/** An object that belonged to the resource and does so no more. */
export interface Parting {
  readonly object: KubeObject
  /** The uid of the object that it belonged to. */
  readonly from: string
  readonly at: number
  /** `gone`: deleted; `released`: it lives on, but no longer belongs here. */
  readonly how: 'gone' | 'released'
}
