import type { Timeline } from '../gate/timeline.ts'
import type { Reference } from '../plan/references.ts'
import { markdown, plain } from '../report/escape.ts'
import { headline } from '../report/headline.ts'
import { renderSummary, type SummaryOptions } from '../report/summary.ts'
import { count } from '../report/words.ts'
import type { Origin } from './origin.ts'

/** More names than these would make a title that changes with every new target. */
const namedTargets = 3
const titleLimit = 200

/**
 * What this gate is called among those of a commit: `Rollout of deployment/web in shop (Deploy / production)`. It comes
 * from what the user wrote alone, so that it stays the same from run to run: a branch rule demands a check by its name.
 *
 * @param references what the user named
 * @param namespace as the user wrote it
 */
export function gateName(
  { workflow, job }: Pick<Origin, 'workflow' | 'job'>,
  references: readonly Pick<Reference, 'kind' | 'name' | 'selector' | 'namespace' | 'exclude'>[],
  namespace: string | undefined,
): string {
  const gated = references.filter(({ exclude }) => !exclude)
  const names = [...new Set(gated.map(referenceName))]
  const namespaces = [...new Set(gated.map((reference) => reference.namespace ?? namespace))]
  const words = [
    'Rollout',
    ...(names.length > namedTargets || names.length === 0 ? [] : [`of ${names.join(', ')}`]),
    ...(namespaces.length === 1 && namespaces[0] !== undefined ? [`in ${namespaces[0]}`] : []),
  ]
  const place = [workflow, job].filter((word) => word !== '').join(' / ')
  return plain([...words, ...(place === '' ? [] : [`(${place})`])].join(' '), titleLimit)
}

function referenceName({ kind, name, selector }: Pick<Reference, 'kind' | 'name' | 'selector'>): string {
  if (name !== undefined) return `${kind.toLowerCase()}/${name}`
  return selector ? `${kind.toLowerCase()} -l ${selector}` : `${kind.toLowerCase()} --all`
}

/** How it stands, in one line. */
export function title(timeline: Timeline, limit = titleLimit): string {
  return plain(headline(timeline), limit)
}

/**
 * The job summary, made to fit: whole, or with less and less, or, where even that is too much (a thousand mistakes in
 * the inputs), its first line alone.
 *
 * @param limit the most characters
 */
export function boundedSummary(
  timeline: Timeline,
  limit: number,
  options: Pick<SummaryOptions, 'sourceBaseUrl' | 'diagram'>,
): string {
  // No character takes less than a byte.
  const text = renderSummary(timeline, { ...options, maxBytes: limit })
  if (text.length <= limit) return text
  const more = `There is too much to show here: ${count(timeline.targets.length, 'target')}. See the job summary.`
  return `### ${markdown(headline(timeline))}\n\n${more}\n`
}

/** Where files can be looked at as they were in the commit. */
export function sourceBaseUrl({ repositoryUrl, headSha }: Pick<Origin, 'repositoryUrl' | 'headSha'>): string {
  return `${repositoryUrl}/blob/${headSha}/`
}
