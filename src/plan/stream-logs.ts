import type { ApiResource, WatchRequest } from '../cluster/feed.ts'
import { groupOf } from '../cluster/store.ts'
import { type MistakeWithReason, nearest, throwMistakes } from '../errors.ts'
import type { HealthCheck } from './health-checks.ts'
import { type ParsedReferences, parseReferences, type Reference } from './references.ts'
import { listRequest, type Resolution, type ResolvedReference, resolveReferences } from './resolve.ts'
import { displayName, type Target } from './target.ts'

const input = 'stream-logs'

/** The kinds whose pods the gate knows. */
const kindsWithPods: ReadonlySet<string> = new Set([
  '/Pod',
  '/ReplicationController',
  'apps/DaemonSet',
  'apps/Deployment',
  'apps/ReplicaSet',
  'apps/StatefulSet',
  'batch/Job',
])

/**
 * Reads the references of `stream-logs`, which are written as those of `resources`. They choose among the gated resources:
 * a namespace narrows the choice, and `--for` and timeouts are mistakes.
 */
export function parseStreamLogs(text: string): Pick<ParsedReferences, 'references' | 'mistakes'> {
  const { references, mistakes } = parseReferences(text, input, { alone: text.trim() !== '' })
  const withClocks = references
    .filter(({ waitFor, clocks }) => waitFor !== undefined || Object.keys(clocks).length > 0)
    .map(({ line }) => ({
      input,
      line,
      message: 'It takes no --for and no clocks. Write them behind the reference in resources.',
    }))
  return { references, mistakes: [...mistakes, ...withClocks].toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0)) }
}

/**
 * Finds the kinds of the references.
 * @throws UserError with every mistake in their kinds and names, and for kinds that have no pods
 */
export function resolveStreamLogs(references: readonly Reference[], resources: readonly ApiResource[]): Resolution {
  const parsed = { input, references, skipped: [], mistakes: [] }
  const resolution = resolveReferences(parsed, resources, { namespace: 'default', milestones: [] })
  const podless = resolution.resolved.filter(({ resource: { group, kind } }) => !kindsWithPods.has(`${group}/${kind}`))
  throwMistakes(
    podless.map(({ reference, resource: { kind } }) =>
      mistake(reference, `The gate knows of no pods of a ${kind}. Name what runs them: job/NAME, deployment/NAME.`),
    ),
  )
  return resolution
}

/**
 * Chooses the targets whose logs are shown.
 *
 * @param list asks for the names of the objects that a request with a label selector names now
 * @param healthChecks what the user says of kinds: of those, and of targets with a wish, no pods are watched
 * @returns their places among the targets
 * @throws UserError for references that choose nothing, or what cannot be shown
 */
export async function chooseStreamed(
  { resolved }: Resolution,
  targets: readonly Target[],
  list: (request: WatchRequest) => Promise<readonly string[]>,
  healthChecks: readonly Pick<HealthCheck, 'apiVersion' | 'kind'>[] = [],
): Promise<ReadonlySet<number>> {
  const found: MistakeWithReason[] = []
  const excluded = new Set<number>()
  const chosen = new Map<number, Reference>()
  const unmatched = new Map<number, ResolvedReference[]>()
  const matchedLines = new Set<number>()
  for (const entry of resolved) {
    const { reference } = entry
    const matches = await matchesOf(entry, targets, list)
    if (reference.exclude) {
      for (const index of matches) excluded.add(index)
    } else if (matches.length === 0 && reference.name !== undefined) {
      found.push(mistake(reference, nothingWords([entry], targets)))
    } else if (matches.length === 0) {
      unmatched.set(reference.line, [...(unmatched.get(reference.line) ?? []), entry])
    } else {
      matchedLines.add(reference.line)
      for (const index of matches) chosen.set(index, chosen.get(index) ?? reference)
    }
  }
  // `deploy,sts -l app=web` chooses nothing only when none of its kinds has a match.
  for (const [line, entries] of unmatched)
    if (!matchedLines.has(line) && entries[0] !== undefined)
      found.push(mistake(entries[0].reference, nothingWords(entries, targets)))
  for (const index of excluded) chosen.delete(index)
  for (const [index, reference] of chosen) {
    const words = unwatchedWords(targets[index] as Target, healthChecks)
    if (words !== undefined) found.push(mistake(reference, words))
  }
  throwMistakes(found)
  return new Set(chosen.keys())
}

/** The places of the targets that a reference means. Where it says nothing of a namespace, any will do. */
async function matchesOf(
  entry: ResolvedReference,
  targets: readonly Target[],
  list: (request: WatchRequest) => Promise<readonly string[]>,
): Promise<readonly number[]> {
  const { reference } = entry
  const candidates = candidatesOf(entry, targets)
  const { name, selector } = reference
  if (name !== undefined) return candidates.filter(([, target]) => target.name === name).map(([index]) => index)
  if (selector === '') return candidates.map(([index]) => index)
  const names = new Map<string, readonly string[]>()
  for (const namespace of new Set(candidates.map(([, target]) => target.namespace ?? ''))) {
    names.set(namespace, await list(listRequest({ ...entry, namespace })))
  }
  // A selector of resources that matched nothing is a target of its own, and is told as such.
  return candidates
    .filter(([, it]) => it.selector === selector || names.get(it.namespace ?? '')?.includes(it.name))
    .map(([index]) => index)
}

/** The targets of a reference's kind, and of its namespace if it names one, with their places. */
function candidatesOf(
  { reference, resource }: ResolvedReference,
  targets: readonly Target[],
): (readonly [number, Target])[] {
  return [...targets.entries()].filter(
    ([, { apiVersion, kind, namespace }]) =>
      kind === resource.kind &&
      groupOf(apiVersion) === resource.group &&
      (reference.namespace === undefined || reference.namespace === namespace),
  )
}

/** @param entries those of one reference: of several kinds, or one */
function nothingWords(entries: readonly ResolvedReference[], targets: readonly Target[]): string {
  const { name = '', selector, namespace } = entries[0]?.reference ?? {}
  const kind = entries.map(({ resource }) => resource.kind).join(',')
  const shown = (it: Pick<Target, 'name' | 'selector'>) => displayName({ apiVersion: '', kind, ...it })
  const where = namespace === undefined ? '' : ` in ${namespace}`
  const siblings = entries.flatMap((entry) => candidatesOf(entry, targets)).map(([, target]) => target.name)
  const near = nearest(name, siblings).map((sibling) => shown({ name: sibling }))
  const remedy = near.length === 0 ? 'Name it in resources, too.' : `Did you mean ${near.join(' or ')}?`
  return `${shown({ name, ...(selector === undefined ? {} : { selector }) })}${where} is not among the gated resources. ${remedy}`
}

/** Why the pods of a target are not watched, if they are not. */
function unwatchedWords(
  target: Target,
  healthChecks: readonly Pick<HealthCheck, 'apiVersion' | 'kind'>[],
): string | undefined {
  const { apiVersion, kind, waitFor } = target
  if (kind === 'Pod' && waitFor?.type !== 'delete') return undefined
  const name = displayName(target)
  if (waitFor !== undefined) {
    return `${name} is waited for by --for, and then its pods are not watched. Leave --for out: by itself a ${kind} is judged by more than that.`
  }
  const isChecked = healthChecks.some((it) => it.kind === kind && groupOf(it.apiVersion) === groupOf(apiVersion))
  return isChecked ? `${name} is judged by health-checks, and then its pods are not watched.` : undefined
}

function mistake({ line }: Reference, message: string): MistakeWithReason {
  return { input, line, message, reason: 'input-invalid' }
}
