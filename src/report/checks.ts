import { duration } from '../duration.ts'
import type { AnswerRecord, RequestRecord, RunRecord } from '../gate/run-record.ts'
import { code, fence, markdown, markdownTable, safeLine, shortenWords } from './escape.ts'
import { folded, maxWordWidth } from './target-details.ts'
import { formatElapsed } from './target-record.ts'

/* The requests of `http-checks` and the hold, in the summary. */

/** The maximum number of characters of an answer in a table cell. */
const cellLimit = 100

/**
 * The checks after the targets were ready, as Markdown: the requests with their last answers.
 * Empty if there were no checks. All texts are hostile.
 */
export function renderChecks(record: RunRecord): string[] {
  const asked = record.httpChecks?.filter(({ asked }) => asked > 0)
  return [...holdLine(record), ...(asked?.length ? [requestTable(asked)] : []), ...wrongAnswers(record)]
}

function holdLine({ hold, httpChecks = [], startedAt, finishedAt, outcome }: RunRecord): string[] {
  if (hold?.since === undefined) return []
  const { seconds, since } = hold
  const holdMs = seconds * 1_000
  const answered = httpChecks.length > 0 ? ' and had answered' : ''
  const ready = `Everything was ready${answered} at ${formatElapsed(since - startedAt)}`
  // The gate may have seen nothing of the hold.
  if (outcome === 'unknown') return [`${ready}; then its hold of ${duration(holdMs)} began.`]
  return [`${ready}; held for ${duration(Math.min(holdMs, finishedAt - since))} of ${duration(holdMs)}.`]
}

function requestTable(requests: readonly RequestRecord[]): string {
  const rows = requests.map((request) => {
    const last = request.answers.at(-1)
    return [
      last?.right ? '✅' : '❌',
      code(shortenWords(request.request, maxWordWidth)),
      `${request.errors} of ${request.asked}`,
      last === undefined ? '' : answerCell(last),
    ]
  })
  return markdownTable({ '': ':-:', Request: ':--', Failed: '--:', 'Last answer': ':--' }, rows)
}

/** `200 in 12 ms from pod/web-x` */
function answerCell({ status, seconds, pod, error, body }: AnswerRecord): string {
  const who = pod === undefined ? '' : ` from ${markdown(safeLine(`pod/${pod}`, maxWordWidth))}`
  const text = safeLine(error ?? body ?? '', cellLimit)
  const shown = text === '' ? '' : `: ${markdown(shortenWords(text, maxWordWidth))}`
  const took = seconds === undefined ? '' : ` in ${Math.round(seconds * 1_000)} ms`
  return `${status ?? 'no answer'}${took}${who}${shown}`
}

/** The latest wrong and missing answers with the beginning of their bodies. */
function wrongAnswers({ httpChecks = [], startedAt }: RunRecord): string[] {
  const lines = httpChecks.flatMap(({ request, answers }) => {
    const wrong = answers.filter(({ right }) => !right)
    if (wrong.length === 0) return []
    const shown = wrong.flatMap(({ at, pod, status, error, body, location }) => {
      const what = error ?? (location === undefined ? (body ?? '') : `leads to ${location}`)
      return safeLine(
        `${formatElapsed(at - startedAt)}  ${pod === undefined ? '' : `pod/${pod}  `}${status ?? 'no answer'}  ${what}`,
      )
    })
    return [safeLine(request), ...shown, '']
  })
  if (lines.length === 0) return []
  return [folded('Wrong and missing answers', fence(lines.slice(0, -1)))]
}
