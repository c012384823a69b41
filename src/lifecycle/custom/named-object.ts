import type { KindName, KubeObject } from '../../cluster/objects.ts'
import { groupOf } from '../../cluster/objects.ts'
import { formatDuration, parseDuration } from '../../duration.ts'
import { comparisonIntervalMs } from '../../thresholds.ts'
import type { Draft } from '../assessment.ts'
import { isStale } from '../conditions.ts'
import { lastWriteOf } from '../gate-time.ts'
import { provePersisted } from '../proof.ts'
import { amended, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { assessOwned, type Behind, withoutProof } from './cause.ts'
import { notReady } from './owned-workloads.ts'

/** An object in the namespace of a custom resource, which the resource names. */
interface NamedObject {
  readonly kinds: readonly KindName[]
  /** The kind and name of the object; undefined if the resource names none. */
  named(object: KubeObject): { readonly kind: string; readonly name: string } | undefined
  /**
   * The draft of the resource with the named object.
   * @param own the draft by the status of the resource alone
   * @param found the named object; undefined if it does not exist
   * @param title the named object for messages: `deployment/web`
   */
  judge(own: Draft, object: KubeObject, found: KubeObject | undefined, title: string, context: RuleContext): Draft
}

/** Watches the named object. Without the permission to read it, the status of the custom resource decides alone. */
function withNamedObject(rule: Rule, { kinds, named, judge }: NamedObject): Rule {
  const requestOf = (object: KubeObject) => {
    const { kind, name } = named(object) ?? {}
    const known = kinds.find((each) => each.kind === kind)
    return known === undefined || name === undefined
      ? undefined
      : { apiVersion: known.apiVersion, kind: known.kind, namespace: object.metadata.namespace, name }
  }
  const concerned: Rule = {
    ...rule,
    relatives: (object) => [...rule.relatives(object), ...[requestOf(object)].flatMap((each) => each ?? [])],
    concernedBy: [...(rule.concernedBy ?? []), ...kinds.map(({ kind }) => kind)],
    isConcernedBy: (object, other, last) => {
      const { apiVersion = '', kind, name } = requestOf(object) ?? {}
      const isNamed = other.kind === kind && other.metadata.name === name
      return (
        (isNamed && groupOf(other.apiVersion) === groupOf(apiVersion)) ||
        rule.isConcernedBy?.(object, other, last) === true
      )
    },
  }
  return amended(concerned, (own, object, context) => {
    const request = requestOf(object)
    if (request === undefined || context.listState(request) !== 'complete') return own
    const { kind, namespace, name } = request
    const found = context.list(kind, namespace).find(({ metadata }) => metadata.name === name)
    return judge(own, object, found, `${kind.toLowerCase()}/${name}`, context)
  })
}

/** For a custom resource whose status shows only that another object exists: it is ready only after that object. */
export function withAwaitedObject(rule: Rule, { awaits, ruleOf }: Behind): Rule {
  if (awaits === undefined) return rule
  return withNamedObject(rule, {
    kinds: [awaits],
    named: (object) => {
      const name = awaits.name(object)
      return name === undefined ? undefined : { kind: awaits.kind, name }
    },
    judge: (own, _object, found, title, context) => {
      if (!own.ready) return own
      if (found === undefined) return notReady(own, { message: `${title} does not exist yet`, recheckAt: undefined })
      const { status, message, problems, recheckAt } = assessOwned(found, ruleOf(found).rule, context)
      if (status === 'ready') return own
      return { ...notReady(own, { message: `${title}: ${message}`, recheckAt }), problems: problems.map(withoutProof) }
    },
  })
}

/**
 * For a custom resource whose status is about another object: it is neither ready nor failed while that object has
 * changed since the last state, until its operator had the time to compare it: not every change causes a new state. If the
 * status contains the generation of that object, the operator has compared it once the generation is the present one.
 */
export function withFollowedObject(rule: Rule, { follows }: Behind): Rule {
  if (follows === undefined) return rule
  return withNamedObject(rule, {
    kinds: follows.kinds,
    named: (object) => {
      const [kind, name] = [follows.kind(object), follows.name(object)]
      return kind === undefined || name === undefined ? undefined : { kind, name }
    },
    judge: (own, object, found, title, context) => {
      const { now, time, settings } = context
      const changedAt = found && lastWriteOf(found, time)
      if ((!own.ready && own.failure === undefined) || changedAt === undefined) return own
      const hasChanged =
        follows.generation === undefined
          ? changedAt > (time(follows.since?.(object)) ?? Infinity)
          : isStale(follows.generation(object), found?.metadata.generation)
      if (!hasChanged) return own
      const message = `${title} has changed since`
      if (follows.generation !== undefined) return heldBack(own, { message, recheckAt: undefined })
      const everyMs = parseDuration(follows.every?.(object) ?? '', () => undefined) ?? comparisonIntervalMs
      const { proven, recheckAt } = provePersisted(changedAt, everyMs + settings.settleTimeMs, now)
      const interval = `its controller compares it every ${formatDuration(everyMs)}`
      return proven ? own : heldBack(own, { message: `${message}, and ${interval}`, recheckAt })
    },
  })
}

/** A draft, ready or failed, of a status that may be about the object before its change. */
function heldBack(own: Draft, awaited: Parameters<typeof notReady>[1]): Draft {
  return { ...notReady(own, awaited), failure: undefined, problems: [] }
}
