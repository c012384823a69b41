import type { TimedAnswer } from '../cluster/feed.ts'
import { isRight } from '../lifecycle/answers.ts'
import type { RequestCheck } from '../plan/checks.ts'
import { maxRecordedAnswers } from '../thresholds.ts'
import type { AnswerRecord, RequestRecord } from './run-record.ts'

/** The lines of `http-checks` with their answers, as the summary and the report show them: all counts, and the answers that matter. */
export function answerRecords(
  httpChecks: readonly RequestCheck[],
  all: readonly TimedAnswer[],
): readonly RequestRecord[] {
  return httpChecks.map((line) => {
    const answers = all
      .filter(({ check }) => check === line.index)
      .map((answer): AnswerRecord => {
        const { type: _type, check: _check, namespace: _namespace, matches: _matches, ...recorded } = answer
        return { ...recorded, right: isRight(line, answer) }
      })
    const errors = answers.filter(({ right }) => !right).length
    return { request: line.text, asked: answers.length, errors, answers: keep(answers) }
  })
}

/** The last right answer of each pod, and the last wrong answers of all pods. */
function keep(answers: readonly AnswerRecord[]): readonly AnswerRecord[] {
  const wrong = new Set(answers.filter(({ right }) => !right).slice(-maxRecordedAnswers))
  const right = new Map(answers.flatMap((answer) => (answer.right ? [[answer.pod, answer] as const] : [])))
  const shown = new Set([...[...right.values()].slice(-maxRecordedAnswers), ...wrong])
  return answers.filter((answer) => shown.has(answer))
}
