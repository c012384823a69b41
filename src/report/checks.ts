import { duration } from '../duration.ts'
import type { AnswerRecord, RequestRecord, RunRecord } from '../gate/run-record.ts'
import { codeBlock, escapeMarkdown, inlineCode, markdownTable, safeLine, shortenWords } from './escape.ts'
import { foldedSection, maxWordWidth } from './target-details.ts'
import { formatElapsed } from './target-record.ts'

/* Renders the requests of `http-checks` and the hold for the summary. */

/** The maximum length of an answer in a table cell. */
const cellLimit = 100

/** The hold, and the requests with their last answers, as Markdown. Empty if the gate had none. */
export function renderChecks(record: RunRecord): string[] {
  const asked = record.httpChecks?.filter(({ asked }) => asked > 0)
  return [...holdLine(record), ...(asked?.length ? [requestTable(asked)] : []), ...wrongAnswerList(record)]
}

function holdLine({ hold, httpChecks = [], startedAt, finishedAt, outcome }: RunRecord): string[] {
  if (hold?.since === undefined) return []
  const { seconds, since } = hold
  const holdMs = seconds * 1_000
  const answered = httpChecks.length > 0 ? ' and had answered' : ''
  const ready = `Everything was ready${answered} at ${formatElapsed(since - startedAt)}`
  // If the outcome is unknown, the gate may have seen nothing of the hold.
  if (outcome === 'unknown') return [`${ready}; then its hold of ${duration(holdMs)} began.`]
  return [`${ready}; held for ${duration(Math.min(holdMs, finishedAt - since))} of ${duration(holdMs)}.`]
}

function requestTable(requests: readonly RequestRecord[]): string {
  const rows = requests.map((request) => {
    const last = request.answers.at(-1)
    return [
      last?.right ? '✅' : '❌',
      inlineCode(shortenWords(request.request, maxWordWidth)),
      `${request.errors} of ${request.asked}`,
      last === undefined ? '' : answerCell(last),
    ]
  })
  return markdownTable({ '': ':-:', Request: ':--', Failed: '--:', 'Last answer': ':--' }, rows)
}

/** `200 in 12 ms from pod/web-x` */
function answerCell({ status, seconds, pod, error, body }: AnswerRecord): string {
  const who = pod === undefined ? '' : ` from ${escapeMarkdown(safeLine(`pod/${pod}`, maxWordWidth))}`
  const text = safeLine(error ?? body ?? '', cellLimit)
  const shown = text === '' ? '' : `: ${escapeMarkdown(shortenWords(text, maxWordWidth))}`
  const took = seconds === undefined ? '' : ` in ${Math.round(seconds * 1_000)} ms`
  return `${status ?? 'no answer'}${took}${who}${shown}`
}

/** The latest wrong and missing answers, with the start of their bodies. */
function wrongAnswerList({ httpChecks = [], startedAt }: RunRecord): string[] {
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
  return [foldedSection('Wrong and missing answers', codeBlock(lines.slice(0, -1)))]
}
