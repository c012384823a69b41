import type { TargetRecord, Timeline } from '../gate/timeline.ts'
import { fullName, nameTargets } from '../plan/target-names.ts'
import { isManifest } from './details.ts'
import { plain, plainLines } from './escape.ts'
import { decidingTarget, isFailing } from './headline.ts'
import { phraseOf, statement } from './phrase.ts'
import { count } from './words.ts'

/** An error annotation, in the words of `core.error`. */
export interface Annotation {
  readonly title: string
  readonly message: string
  readonly file?: string
  readonly startLine?: number
}

/** GitHub shows ten of a step; two are left to the step itself. */
const annotationLimit = 8
/** GitHub takes 4,096 characters; nobody reads so many beside a line of code. */
const characterLimit = 1_500
const titleLimit = 200
/** The files view of a pull request shows the whole of it: what is longer is read in the summary. */
const lineLimit = 500

/**
 * One error a target that failed, on its manifest's line where that is known.
 * @param limit of more, the last one counts the rest
 */
export function buildAnnotations(timeline: Timeline, limit = annotationLimit): Annotation[] {
  const { targets } = timeline
  const deciding = decidingTarget(timeline)
  const names = nameTargets(targets.map(({ target }) => target)).map(fullName)
  const failing = targets.flatMap((record, index) => (isFailing(record) ? [{ record, name: names[index] ?? '' }] : []))
  // What decided must not be among those that are only counted.
  failing.sort((one, other) => Number(other.record === deciding) - Number(one.record === deciding))
  if (failing.length <= limit) return failing.map(annotate)
  const shown = failing.slice(0, limit - 1)
  const rest = failing.slice(shown.length)
  return [
    ...shown.map(annotate),
    {
      title: `${count(rest.length, 'more target')} not ready`,
      message: plain(`See the job summary: ${rest.map(({ name }) => name).join(', ')}`, characterLimit),
    },
  ]
}

function annotate({ record, name }: { readonly record: TargetRecord; readonly name: string }): Annotation {
  const { target, message, hint } = record
  const words = phraseOf(record)
  const text = [...plainLines(statement(name, message), lineLimit), ...plainLines(hint ?? '', lineLimit)].join('\n')
  return {
    title: plain(`${name}: ${words}`, titleLimit),
    message: text.length > characterLimit ? `${text.slice(0, characterLimit - 1).toWellFormed()}…` : text || words,
    ...(isManifest(target.source) ? { file: target.source.file, startLine: target.source.line } : {}),
  }
}
