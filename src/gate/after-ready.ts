import type { TimedAnswer } from '../cluster/feed.ts'
import { shortName } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import { describeMistakes, type Mistake } from '../errors.ts'
import { applyAnswers, choosePort, isExpectedAnswer } from '../lifecycle/answers.ts'
import { applyHold } from '../lifecycle/hold.ts'
import { podsOf } from '../lifecycle/pods.ts'
import type { Hold } from '../lifecycle/reader.ts'
import { addCheck, type Rule } from '../lifecycle/rule.ts'
import type { Checks, RequestCheck } from '../plan/checks.ts'
import { pluralOf } from '../plan/kinds.ts'
import { displayName, isDeletionAwaited, nameKey, type Target } from '../plan/target.ts'
import { maxRecordedAnswers } from '../thresholds.ts'
import { deniedVerdict, type Verdict } from './outcome.ts'
import type { AnswerRecord, CheckRecords, RequestRecord } from './run-record.ts'
import { type GatedTarget, isTargetReady, type TargetState } from './target-state.ts'
import type { Targets } from './targets.ts'

/** The checks after all targets are ready (`http-checks`, `hold`). Loaded only if the gate has such checks. */
export class AfterReady implements Checks {
  readonly httpChecks: readonly RequestCheck[]
  readonly holdMs: number

  constructor({ httpChecks, holdMs }: Checks) {
    this.httpChecks = httpChecks
    this.holdMs = holdMs
  }

  /** Adds the checks after readiness to the rule of a target: its lines of `http-checks`, and the hold. */
  extendRule(rule: Rule, target: Target): Rule {
    const { serving } = rule
    const lines = this.httpChecks.filter(({ reference }) => nameKey(reference) === nameKey(target))
    const isAsked = serving !== undefined && lines.length > 0
    const isHeld = this.holdMs > 0 && !isDeletionAwaited(target)
    if (!isAsked && !isHeld) return rule
    const checked = addCheck(rule, (assessment, object, reader) => {
      const pods = serving?.pods(object, assessment, reader) ?? []
      const answered = isAsked ? applyAnswers(assessment, object, pods, lines, serving, reader) : assessment
      return isHeld ? applyHold(answered, object, pods, serving, reader) : answered
    })
    const milestones = [...rule.milestones]
    if (isAsked) milestones.push('answers')
    if (isHeld) milestones.push('held')
    return { ...checked, milestones }
  }

  /** The verdict if a line of `http-checks` cannot work in this cluster, or if access to pods is denied. */
  mistakeVerdict(targets: Targets, store: Store): Verdict | undefined {
    const mistakes: Mistake[] = []
    for (const check of this.httpChecks) {
      const [gated] = targets.findByName(check.reference)
      const denied = gated && deniedPodsVerdict(gated, targets)
      if (denied !== undefined) return denied
      const message =
        gated === undefined ? missingTargetMessage(check, targets) : checkMistakeMessage(check, gated, store)
      if (message !== undefined) mistakes.push({ input: 'http-checks', line: check.line, message })
    }
    if (mistakes.length === 0) return undefined
    return { outcome: 'misconfigured', reason: 'input-invalid', message: describeMistakes(mistakes).join('\n') }
  }

  createRecords(store: Store, hold: Hold | undefined): CheckRecords {
    return {
      httpChecks: answerRecords(this.httpChecks, store.allAnswers),
      hold: this.holdMs === 0 ? undefined : { seconds: this.holdMs / 1_000, ...(hold && { since: hold.since }) },
    }
  }
}

/** The message that no target has the name in a line. Undefined while an operator may still deploy the object. */
function missingTargetMessage({ reference }: RequestCheck, { all }: Targets): string | undefined {
  if (all.some(({ rule, state }) => rule.arrival !== undefined && !isTargetReady(state))) return undefined
  const { namespace } = reference
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`
  const gated = all.map(({ name }) => name).join(', ')
  return `${displayName(reference)}${where} is not gated. Name it in resources too. Gated is ${gated}.`
}

const whatServes = 'Name a Service, or a resource that runs pods.'

function checkMistakeMessage(
  check: RequestCheck,
  { name, target, rule, state }: GatedTarget,
  store: Store,
): string | undefined {
  const { serving } = rule
  if (isDeletionAwaited(target))
    return `${displayName(target)} is gated by --for=delete, so it answers nothing once it is ready.`
  if (serving === undefined) return `A ${target.kind} serves no requests. ${whatServes}`
  const object = store.get(target)
  const port = object && choosePort(check, object, serving)
  if (object !== undefined && typeof port === 'string') return `${shortName(object)}: ${port}`
  const hasOthers = serving.selects !== undefined || podsOf(object, state.assessment?.pods) !== undefined
  const isWithoutPods = !hasOthers && isReadyWithoutPods(state)
  return isWithoutPods ? `${name} is ready, and no pod is behind it. ${whatServes}` : undefined
}

/** Whether a target is ready and not scaled to zero, although the gate has found none of its pods. */
function isReadyWithoutPods({ assessment }: TargetState): boolean {
  return assessment?.answering?.size === 0
}

/** The verdict if the pods of a ready target were not found because access is denied. */
function deniedPodsVerdict(gated: GatedTarget, targets: Targets): Verdict | undefined {
  const denied = isReadyWithoutPods(gated.state) ? targets.firstDenial([gated]) : undefined
  if (denied === undefined) return undefined
  const { kind = '', message } = denied
  return deniedVerdict('misconfigured', { name: `${pluralOf(kind)} behind ${gated.name}`, wasReadable: false, message })
}

/** The records of the lines of `http-checks`: the counts of all answers, and the most important answers. */
function answerRecords(httpChecks: readonly RequestCheck[], all: readonly TimedAnswer[]): readonly RequestRecord[] {
  return httpChecks.map((line) => {
    const answers = all
      .filter(({ check }) => check === line.index)
      .map((answer): AnswerRecord => {
        const { type: _type, check: _check, namespace: _namespace, matches: _matches, ...recorded } = answer
        return { ...recorded, right: isExpectedAnswer(line, answer) }
      })
    const errors = answers.filter(({ right }) => !right).length
    return { request: line.text, asked: answers.length, errors, answers: selectAnswers(answers) }
  })
}

/** Selects the answers to record: the last right answer of each pod, and the last wrong answers of all pods. */
function selectAnswers(answers: readonly AnswerRecord[]): readonly AnswerRecord[] {
  const wrong = new Set(answers.filter(({ right }) => !right).slice(-maxRecordedAnswers))
  const right = new Map(answers.flatMap((answer) => (answer.right ? [[answer.pod, answer] as const] : [])))
  const shown = new Set([...[...right.values()].slice(-maxRecordedAnswers), ...wrong])
  return answers.filter((answer) => shown.has(answer))
}
