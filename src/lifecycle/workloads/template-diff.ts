import { isDeepStrictEqual } from 'node:util'
import type { Container, PodTemplate } from '../../cluster/objects.ts'

/** Fields of a container whose values may be shown; of its environment only the names are. */
const shownFields = ['image', 'imagePullPolicy', 'command', 'args', 'workingDir'] as const
const comparedFields = [
  'ports',
  'resources',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'securityContext',
  'volumeMounts',
] as const
const podFields = [
  'serviceAccountName',
  'nodeSelector',
  'tolerations',
  'affinity',
  'volumes',
  'terminationGracePeriodSeconds',
  'priorityClassName',
] as const
const longestValue = 120

/**
 * The differences of two pod templates: one line a difference, without labels and annotations. Of the environment only the
 * names, and no value of a Secret.
 */
export function templateChanges(before: PodTemplate | undefined, after: PodTemplate | undefined): readonly string[] {
  return [
    ...listChanges('init container', before?.spec?.initContainers, after?.spec?.initContainers),
    ...listChanges('container', before?.spec?.containers, after?.spec?.containers),
    ...podFields
      .filter((name) => !isSame(field(before?.spec, name), field(after?.spec, name)))
      .map((name) => `${name} changed`),
  ]
}

function listChanges(
  what: string,
  before: readonly Container[] = [],
  after: readonly Container[] = [],
): readonly string[] {
  const old = new Map(before.map((container) => [container.name, container]))
  const present = new Set(after.map(({ name }) => name))
  return [
    ...after.flatMap((container) => {
      const previous = old.get(container.name)
      return previous === undefined
        ? [`${what} ${container.name} added (image ${container.image ?? '?'})`]
        : containerChanges(`${what} ${container.name}`, previous, container)
    }),
    ...before.filter(({ name }) => !present.has(name)).map(({ name }) => `${what} ${name} removed`),
  ]
}

function containerChanges(where: string, before: Container, after: Container): readonly string[] {
  const shown = shownFields
    .filter((name) => !isSame(field(before, name), field(after, name)))
    .map((name) => `${where}: ${name} ${value(field(before, name))} → ${value(field(after, name))}`)
  const compared = comparedFields
    .filter((name) => !isSame(field(before, name), field(after, name)))
    .map((name) =>
      name === 'resources'
        ? `${where}: resources ${value(field(before, name))} → ${value(field(after, name))}`
        : `${where}: ${name} changed`,
    )
  return [...shown, ...compared, ...environmentChanges(where, before, after)]
}

function environmentChanges(where: string, before: Container, after: Container): readonly string[] {
  const old = new Map((before.env ?? []).map((variable) => [variable.name, variable]))
  const now = new Map((after.env ?? []).map((variable) => [variable.name, variable]))
  const added = [...now.keys()].filter((name) => !old.has(name))
  const removed = [...old.keys()].filter((name) => !now.has(name))
  const changed = [...now]
    .filter(([name, variable]) => old.has(name) && !isDeepStrictEqual(old.get(name), variable))
    .map(([name]) => name)
  const line = (verb: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`${where}: env ${names.join(', ')} ${verb}`]
  const from = isSame(before.envFrom, after.envFrom) ? [] : [`${where}: envFrom changed`]
  return [...line('added', added), ...line('removed', removed), ...line('changed', changed), ...from]
}

/** Absent, null and empty mean the same in a template. */
function isSame(a: unknown, b: unknown): boolean {
  const isEmpty = (it: unknown) =>
    it === undefined || it === null || (typeof it === 'object' && Object.keys(it).length === 0)
  return (isEmpty(a) && isEmpty(b)) || isDeepStrictEqual(a, b)
}

function field(object: object | undefined, name: string): unknown {
  return (object as Record<string, unknown> | undefined)?.[name]
}

function value(it: unknown): string {
  if (it === undefined) return '(none)'
  const text = typeof it === 'string' ? it : JSON.stringify(it)
  return text.length > longestValue ? `${text.slice(0, longestValue - 1)}…` : text
}
