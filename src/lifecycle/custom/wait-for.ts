import type { Condition, KubeObject } from '../../cluster/objects.ts'
import type { WaitFor } from '../../plan/target.ts'
import type { Assessment } from '../assessment.ts'
import { conditionsIn, isPresent as isOfGeneration, isStale } from '../conditions.ts'
import { conclude, createdMilestone, type Rule } from '../rule.ts'
import type { RuleContext } from '../rule-context.ts'
import { compileJsonPath } from './jsonpath.ts'
import type { Fields } from './signal.ts'
import { isStatusStale } from './status-signals.ts'

/**
 * The user's own definition of ready, as `kubectl wait --for` takes it
 * (https://kubernetes.io/docs/reference/kubectl/generated/kubectl_wait/). A condition of an older generation does not
 * count, nor does a status of one; where no generation is named, a word from before a change has the settle time to be
 * taken back. `delete` is decided by absence: while the object exists, it is not ready.
 * @param kindRule the rule of the kind: an object that has ended by it, as a Job, stays ready when it is removed
 */
export function waitForRule(waitFor: WaitFor, kindRule: Pick<Rule, 'lastState'> = {}): Rule {
  const { lastState } = waitFor.type === 'delete' ? {} : kindRule
  return {
    milestones: ['created', 'observed', 'ready'],
    relatives: () => [],
    ...(lastState === undefined ? {} : { lastState }),
    ...(waitFor.type === 'delete' ? { readyWhenAbsent: 'does not exist' } : {}),
    assess: (object, context) => {
      const assessment = assessWaitFor(object, waitFor, context)
      const isOver = assessment.status === 'ready' && lastState?.(object, []) !== undefined
      return isOver ? { ...assessment, completed: true } : assessment
    },
  }
}

function assessWaitFor(object: KubeObject, waitFor: WaitFor, context: RuleContext): Assessment {
  const { met, message, signals } = evaluate(object, waitFor)
  const assessment = conclude(object, context, {
    ready: met,
    ...(signals === undefined ? {} : { signals }),
    readyMessage: message,
    milestones: [
      createdMilestone,
      { name: 'observed', state: 'skipped', message: 'the reference says what to wait for' },
      { name: 'ready', state: met ? 'done' : 'open', message },
    ],
    problems: [],
    notes: [],
  })
  // Being deleted is the way to the wish, not in its way.
  return waitFor.type === 'delete' ? { ...assessment, problems: [], message } : assessment
}

interface Said {
  readonly met: boolean
  readonly message: string
  /** The conditions by which the status says so; undefined for what it says otherwise. */
  readonly signals?: readonly (Condition | undefined)[]
}

/** What a wish names and its object does not have, and what there is in its place. */
export interface MissingSubject {
  /** `condition Availble`, `{.status.phse}` */
  readonly words: string
  /** The name to compare with the others: `Availble`, `phse`. */
  readonly name: string
  /** Where the others are: `.status`; empty for conditions and for the object's own fields. */
  readonly at: string
  /** The names that exist; never empty. */
  readonly existing: readonly string[]
}

const mostNames = 8

/** The names as a list for people; of more than eight the rest are counted. */
export function listNames(names: readonly string[]): string {
  const rest = names.length - mostNames
  return `${names.slice(0, mostNames).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}

/**
 * The condition or field of a wish that the object does not have. Undefined when it is there, and when nothing is known in
 * its place: the object may have no status yet.
 */
export function missingSubject(object: KubeObject, waitFor: WaitFor | undefined): MissingSubject | undefined {
  if (waitFor?.type === 'condition') {
    const { condition: name } = waitFor
    const existing = conditionsOf(object).map(({ type }) => type)
    const isThere = existing.some((type) => type.toLowerCase() === name.toLowerCase())
    return isThere || existing.length === 0 ? undefined : { words: `condition ${name}`, name, at: '', existing }
  }
  const fields =
    waitFor?.type === 'jsonpath' ? /^\{((?:\.[\w-]+)+)\}$/.exec(waitFor.path)?.[1]?.split('.').slice(1) : undefined
  let value: unknown = object
  for (const [index, name] of (fields ?? []).entries()) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    if (Object.hasOwn(value, name)) {
      value = (value as Fields)[name]
      continue
    }
    const existing = Object.keys(value)
    const at = (fields ?? [])
      .slice(0, index)
      .map((field) => `.${field}`)
      .join('')
    return existing.length === 0 ? undefined : { words: `{.${fields?.join('.')}}`, name, at, existing }
  }
  return undefined
}

function conditionsOf({ status }: KubeObject): readonly Condition[] {
  return conditionsIn(((status ?? {}) as Fields)['conditions'])
}

function evaluate(object: KubeObject, waitFor: WaitFor): Said {
  switch (waitFor.type) {
    case 'create':
      return { met: true, message: 'exists' }
    case 'delete':
      return { met: false, message: 'still exists, waiting for its deletion' }
    case 'condition': {
      const { observedGeneration } = (object.status ?? {}) as Fields
      const found = conditionsOf(object).find(({ type }) => type.toLowerCase() === waitFor.condition.toLowerCase())
      const isPresent = !isStale(found?.observedGeneration ?? observedGeneration, object.metadata.generation)
      const met = isPresent && found?.status.toLowerCase() === waitFor.status.toLowerCase()
      const state = `is ${found?.status}${isPresent ? '' : ' of an older generation'}`
      const missing = missingSubject(object, waitFor)
      const others = missing === undefined ? '' : `: there are ${listNames(missing.existing)}`
      const words =
        found === undefined ? `is not reported yet${others}` : `${state}${found.message ? `: ${found.message}` : ''}`
      return { met, message: `condition ${waitFor.condition} ${words}`, signals: [found] }
    }
    case 'jsonpath': {
      const valuesIn = compileJsonPath(waitFor.path) ?? (() => [])
      const values = valuesIn(object)
      const [value] = values
      const isWished = isValue(values, waitFor.value)
      const missing = missingSubject(object, waitFor)
      const others = missing === undefined ? '' : `: ${missing.at || 'it'} has ${listNames(missing.existing)}`
      const words = value === undefined ? `not there yet${others}` : JSON.stringify(value)
      if (!/\bstatus\b/.test(waitFor.path)) return { met: isWished, message: `${waitFor.path} is ${words}` }
      const isPresent = !isStatusStale(object) && isValue(valuesIn(withoutStale(object)), waitFor.value) === isWished
      return {
        met: isWished && isPresent,
        message: `${waitFor.path} is ${words}${isPresent ? '' : ' of an older generation'}`,
        signals: [undefined],
      }
    }
  }
}

/** Whether a path leads to the one plain value that is wished for, or to anything at all where none is. */
function isValue(values: readonly unknown[], wished: string | undefined): boolean {
  const [value] = values
  if (wished === undefined) return values.length > 0
  return values.length === 1 && (typeof value !== 'object' || value === null) && String(value) === wished
}

/** The object with conditions of an older generation reduced to their types. */
function withoutStale(object: KubeObject): KubeObject {
  const { conditions } = (object.status ?? {}) as Fields
  if (!Array.isArray(conditions)) return object
  const present = conditions.map((each: unknown) => {
    const [condition] = conditionsIn([each])
    return condition === undefined || isOfGeneration(condition, object) ? each : { type: condition.type }
  })
  return { ...object, status: { ...object.status, conditions: present } }
}
