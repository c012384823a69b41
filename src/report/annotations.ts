import { cutText } from '../errors.ts'
import type { RunRecord } from '../gate/run-record.ts'
import type { Source } from '../plan/target.ts'
import { counted } from '../reasons/wording.ts'
import { maxAnnotations } from '../thresholds.ts'
import type { TrackedFiles } from '../workspace.ts'
import { safeLine, safeLines } from './escape.ts'
import { endDetails, isFailing, namedTargets, type TargetWithName, titleLimit, titleOfRecord } from './headline.ts'
import { isManifest } from './target-details.ts'
import { messageWithName, reasonHeadline } from './target-record.ts'

/* The annotations of a record: errors and warnings that GitHub shows at lines of manifests. */

/** An annotation, as `core.error` and `core.warning` expect it. */
export interface Annotation {
  readonly title: string
  readonly message: string
  readonly file?: string
  readonly startLine?: number
}

/** The maximum length of an annotation. GitHub accepts 4,096 characters, but beside code a shorter text is readable. */
const characterLimit = 1_500
/** The maximum length of a line: pull requests show annotations in full. The summary contains the longer text. */
const maxLineLength = 500

/**
 * The errors of a record: one for each failed target, at its manifest line if known. If the outcome is `unknown` or
 * `misconfigured`, the first error is about the gate. If there are too many errors, the last error counts the rest.
 * None if the gate was cancelled or has no targets. Merged gates have one error together, because their own jobs have
 * annotated the targets.
 * @param tracked the files that GitHub can show; empty if unknown
 */
export function buildAnnotations(record: RunRecord, tracked: TrackedFiles = new Map()): Annotation[] {
  const { targets, outcome, gates } = record
  if (gates !== undefined) return outcome === 'ready' ? [] : [gateAnnotation(record)]
  const isOwn = outcome === 'unknown' || outcome === 'misconfigured'
  const own = isOwn && targets.length > 0 ? [gateAnnotation(record)] : []
  // The deciding target comes first: the last error may only count the others.
  const failing = namedTargets(record)
    .filter(({ target }) => isFailing(target))
    .toSorted((one, other) => Number(other.isDeciding) - Number(one.isDeciding))
  const room = maxAnnotations - own.length
  const annotate = (each: TargetWithName) => targetAnnotation(each, tracked)
  if (failing.length <= room) return [...own, ...failing.map(annotate)]
  const shown = failing.slice(0, room - 1)
  const rest = failing.slice(shown.length)
  return [
    ...own,
    ...shown.map(annotate),
    {
      title: `${counted(rest.length, 'more target')} not ready`,
      message: safeLine(`See the job summary: ${rest.map(({ name }) => name).join(', ')}`, characterLimit),
    },
  ]
}

/** One warning for each target with warnings, at its manifest line if known. */
export function buildWarnings(record: RunRecord, tracked: TrackedFiles = new Map()): Annotation[] {
  if (record.gates !== undefined) return []
  return namedTargets(record)
    .flatMap(({ name, target: { source, warnings = [] } }) => {
      if (warnings.length === 0) return []
      const lines = warnings.flatMap((warning) => safeLines(warning, maxLineLength))
      return [
        {
          title: safeLine(name, titleLimit),
          message: cutText(lines.join('\n'), characterLimit),
          ...annotationPlace(source, tracked),
        },
      ]
    })
    .slice(0, maxAnnotations)
}

function gateAnnotation(record: RunRecord): Annotation {
  const { messages, hint = '' } = endDetails(record)
  const text = [...messages.flatMap((message) => safeLines(message, maxLineLength)), ...safeLines(hint, maxLineLength)]
  return { title: titleOfRecord(record), message: cutText(text.join('\n'), characterLimit) }
}

function targetAnnotation({ target, name, waiting }: TargetWithName, tracked: TrackedFiles): Annotation {
  const { source, hint } = target
  const words = reasonHeadline(target)
  const place = annotationPlace(source, tracked)
  const isPlaceless = isManifest(source) && place.file === undefined
  const text = [
    ...safeLines(messageWithName(name, target), maxLineLength),
    ...safeLines(hint ?? '', maxLineLength),
    ...safeLines(waiting, maxLineLength),
    ...(isPlaceless ? [safeLine(`${source?.file}, line ${source?.line}`, maxLineLength)] : []),
  ].join('\n')
  return { title: safeLine(`${name}: ${words}`, titleLimit), message: cutText(text, characterLimit) || words, ...place }
}

/** The path in the repository and the line of an annotation. Empty for an untracked file: GitHub cannot show it. */
export function annotationPlace(
  source: Source | undefined,
  tracked: TrackedFiles,
): Pick<Annotation, 'file' | 'startLine'> {
  if (!isManifest(source)) return {}
  const file = tracked.get(source.file)
  return file === 'untracked' ? {} : { file: file?.path ?? source.file, startLine: source.line }
}
