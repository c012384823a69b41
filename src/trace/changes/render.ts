import { createPatch } from 'rfc6902'
import { displayName, targetId } from '../../plan/target.ts'
import { clock } from '../../report/wording.ts'
import { emptyLine, type Line, line } from '../line.ts'
import { dim } from '../marks.ts'
import type { ObjectChange } from './changes.ts'
import { diffYaml, yamlLines } from './yaml.ts'

/** A change for people: when, what, by whom; then the whole as YAML at first sight, and what differs later. */
export function changeLines(change: ObjectChange, startedAt: number): readonly Line[] {
  const { before, after, type } = change
  const head = line(
    0,
    dim(elapsed(change.at - startedAt)),
    { text: nameOf(change), style: 'bold' },
    { text: verbOf(change), style: type === 'DELETED' ? 'red' : type === 'ADDED' ? 'green' : 'yellow' },
    change.by === undefined ? undefined : `by ${change.by}`,
    noteOf(change),
  )
  return [head, ...bodyLines(before, after), emptyLine]
}

/** A change for programs: one line of JSON. Its `patch` (RFC 6902) turns the part before, null at first, into the one after. */
export function changeJson({ at, type, object, by, before, after }: ObjectChange, startedAt: number): string {
  const { namespace } = object.metadata
  const patch =
    before === undefined
      ? [{ op: 'add', path: '', value: after }]
      : after === undefined
        ? [{ op: 'remove', path: '' }]
        : createPatch(before, after)
  const target = targetId({ ...object, name: object.metadata.name })
  return JSON.stringify({
    at: new Date(at).toISOString(),
    elapsedSeconds: (at - startedAt) / 1000,
    target,
    ...(namespace === undefined ? {} : { namespace }),
    ...(by === undefined ? {} : { by }),
    type,
    patch,
  }).replace(unprintable, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** JSON lets characters stand that a terminal obeys, or that turn the direction of a text. */
const unprintable = /[\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

/** Elapsed time with tenths of a second: a pod is born in less than one. */
function elapsed(ms: number): string {
  const tenths = Math.floor(Math.max(0, ms) / 100)
  return `${clock(tenths * 100)}.${tenths % 10}`.padStart(7)
}

function nameOf({ object }: ObjectChange): string {
  return displayName({ ...object, name: object.metadata.name })
}

function verbOf({ type, wasThere, before, after }: ObjectChange): string {
  if (type === 'ADDED') return wasThere ? 'as it is' : 'created'
  if (type === 'DELETED') return 'deleted'
  const isGoing = (part: unknown) =>
    (part as { metadata?: { deletionTimestamp?: string } } | undefined)?.metadata?.deletionTimestamp !== undefined
  return !isGoing(before) && isGoing(after) ? 'is being deleted' : 'changed'
}

/** An object that leaves a selection is reported as deleted, too: the watch cannot tell the difference. */
function noteOf({ type, object }: ObjectChange) {
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata
  if (type !== 'DELETED' || deletionTimestamp !== undefined || deletionGracePeriodSeconds !== undefined)
    return undefined
  return dim('(at once, or it no longer matches the selector)')
}

function bodyLines(before: unknown, after: unknown): readonly Line[] {
  if (after === undefined) return []
  if (before === undefined) return yamlLines(after).map((text) => line(9, text))
  return diffYaml(yamlLines(before), yamlLines(after)).flatMap(({ path, lines }) => [
    ...(path === '' ? [] : [line(7, { text: `@ ${path}`, style: 'cyan' })]),
    ...lines.map(({ sign, text }) => {
      if (sign === ' ') return line(9, dim(text))
      const style = sign === '+' ? 'green' : 'red'
      return line(7, { text: sign, style }, { text, style })
    }),
  ])
}
