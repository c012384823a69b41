import type { Answer } from '../cluster/feed.ts'
import type { Checks } from '../plan/checks.ts'
import { maxRecordedAnswers } from '../thresholds.ts'
import type { AnswerRecord, CheckRecords, RequestRecord } from './run-record.ts'

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

/** The answers to a gate, as the summary and the report show them: all counts, and the answers that matter. */
export class CheckHistory {
  readonly #httpChecks: readonly Mutable<RequestRecord>[]
  #hold: CheckRecords['hold']

  constructor({ httpChecks, holdMs }: Checks) {
    this.#httpChecks = httpChecks.map(({ text }) => ({ request: text, asked: 0, errors: 0, answers: [] }))
    this.#hold = holdMs > 0 ? { seconds: holdMs / 1_000 } : undefined
  }

  addAnswer(
    { check, type: _type, namespace: _namespace, matches: _matches, ...answer }: Answer,
    at: number,
    isRight: boolean,
  ): void {
    const record = this.#httpChecks[check]
    if (record === undefined) return
    record.asked += 1
    if (!isRight) record.errors += 1
    record.answers = keep([...record.answers, { at, ...answer, right: isRight }])
  }

  beginHold(holdMs: number, since: number): void {
    this.#hold = { seconds: holdMs / 1_000, since }
  }

  get records(): CheckRecords {
    return { httpChecks: this.#httpChecks.map((record) => ({ ...record })), hold: this.#hold }
  }
}

/** The last right answer of each pod, and the last wrong answers of all pods. */
function keep(answers: readonly AnswerRecord[]): readonly AnswerRecord[] {
  const wrong = new Set(answers.filter(({ right }) => !right).slice(-maxRecordedAnswers))
  const right = new Map(answers.flatMap((answer) => (answer.right ? [[answer.pod, answer] as const] : [])))
  const shown = new Set([...[...right.values()].slice(-maxRecordedAnswers), ...wrong])
  return answers.filter((answer) => shown.has(answer))
}
