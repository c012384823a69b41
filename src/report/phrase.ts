import type { TargetRecord } from '../gate/timeline.ts'
import { sentence } from '../lifecycle/sentence.ts'
import { headlineOf, reasons } from '../reasons/reasons.ts'
import { shorten } from './escape.ts'
import { capitalised, outcomeWords } from './words.ts'

/** Why a target is not ready, in a few words that name what they are about. Not yet escaped. */
export function phraseOf(record: TargetRecord): string {
  const { outcome, reason } = record
  if (reason === '') return outcomeWords[outcome].verb
  const problem = record.problems.find((each) => each.reason === reason)
  return problem === undefined ? reasons[reason].title : headlineOf(problem, shorten)
}

/** `pod/web-x cannot …`, `init container migrate of pod/web-x exited …`: a message that says itself what it is about. */
const namesItsSubject = /^(?:(?:init )?container \S+ of )?[a-z][\w.-]*\/\S/

/** A target's message as a sentence that stands alone: `deployment/web is paused, …`, `service/web: its selector …`. */
export function statement(name: string, message: string): string {
  return namesItsSubject.test(message) ? capitalised(message) : sentence(name, message)
}

/** The same below a title that names the target: `Its selector …`. */
export function statementBelow(name: string, message: string): string {
  const whole = sentence(name, message)
  return whole.startsWith(`${name}: `) ? capitalised(message) : whole
}
