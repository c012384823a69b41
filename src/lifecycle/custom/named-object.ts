import type { KubeObject } from '../../cluster/objects.ts'
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

/**
 * For a custom resource whose status is about another object, which it names. Without the permission to read that object,
 * its own status decides alone.
 */
export function withFollowedObject(rule: Rule, { follows, ruleOf }: Behind): Rule {
  if (follows === undefined) return rule
  const { kinds, generation, since } = follows
  const judge = generation === undefined && since === undefined ? afterObject(ruleOf) : afterComparison(follows)
  const requestOf = (object: KubeObject) => {
    const kind = follows.kind === undefined ? kinds[0]?.kind : follows.kind(object)
    const known = kinds.find((each) => each.kind === kind)
    const name = follows.name(object)
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

/**
 * The draft of a resource with the object that it names.
 * @param own the draft by the status of the resource alone
 * @param found the named object; undefined if it does not exist
 * @param title the named object for messages: `deployment/web`
 */
type Judge = (
  own: Draft,
  object: KubeObject,
  found: KubeObject | undefined,
  title: string,
  context: RuleContext,
) => Draft

/** The status shows only that the named object exists: the resource is ready only after that object. */
function afterObject(ruleOf: Behind['ruleOf']): Judge {
  return (own, _object, found, title, context) => {
    if (!own.ready) return own
    if (found === undefined) return notReady(own, { message: `${title} does not exist yet`, recheckAt: undefined })
    const { status, message, problems, recheckAt } = assessOwned(found, ruleOf(found).rule, context)
    if (status === 'ready') return own
    return { ...notReady(own, { message: `${title}: ${message}`, recheckAt }), problems: problems.map(withoutProof) }
  }
}

/**
 * The resource is neither ready nor failed while the named object has changed since the last state, until its operator had
 * the time to compare it: not every change causes a new state. If the status contains the generation of that object, the
 * operator has compared it once the generation is the present one.
 */
function afterComparison({ generation, since, every }: NonNullable<Behind['follows']>): Judge {
  return (own, object, found, title, { now, time, settings }) => {
    const changedAt = found && lastWriteOf(found, time)
    if ((!own.ready && own.failure === undefined) || changedAt === undefined) return own
    const hasChanged =
      generation === undefined
        ? changedAt > (time(since?.(object)) ?? Infinity)
        : isStale(generation(object), found?.metadata.generation)
    if (!hasChanged) return own
    const message = `${title} has changed since`
    if (generation !== undefined) return heldBack(own, { message, recheckAt: undefined })
    const everyMs = parseDuration(every?.(object) ?? '', () => undefined) ?? comparisonIntervalMs
    const { proven, recheckAt } = provePersisted(changedAt, everyMs + settings.settleTimeMs, now)
    const interval = `its controller compares it every ${formatDuration(everyMs)}`
    return proven ? own : heldBack(own, { message: `${message}, and ${interval}`, recheckAt })
  }
}

/** A draft, ready or failed, of a status that may be about the object before its change. */
function heldBack(own: Draft, awaited: Parameters<typeof notReady>[1]): Draft {
  return { ...notReady(own, awaited), failure: undefined, problems: [] }
}
