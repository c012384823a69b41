import type { Fields, KubeObject } from '../../cluster/objects.ts'
import type { WaitFor } from '../../plan/target.ts'
import { conditionsIn, conditionsOf } from '../conditions.ts'
import { addCheck, commonMilestones, type Judgement, type Rule } from '../rule.ts'
import { hasPresentGeneration, isStale, isStatusStale } from '../stale-status.ts'

/**
 * Creates a rule from the user's definition of ready, as in `kubectl wait --for`
 * (https://kubernetes.io/docs/reference/kubectl/generated/kubectl_wait/). A condition or status of an older generation
 * does not count. A status without `observedGeneration` may count as stale for the settle time after a change.
 * @param hasEnded whether an object has ended, such as a Job. Such an object stays ready after its deletion.
 */
export function waitForRule(waitFor: WaitFor, hasEnded = (_object: KubeObject) => false): Rule {
  const rule: Rule = {
    milestones: commonMilestones,
    judge: (object, reader) => {
      reader.milestone({ name: 'observed', state: 'skipped', message: 'the reference defines what to wait for' })
      return judgeWaitFor(object, waitFor)
    },
  }
  return addCheck(rule, (assessment, object) => {
    if (waitFor.type !== 'delete')
      return assessment.ready && hasEnded(object) ? { ...assessment, completed: true } : assessment
    // The awaited deletion is not a problem, but the message shows open finalizers.
    const { deletionTimestamp, finalizers = [] } = object.metadata
    const isHeld = deletionTimestamp !== undefined && finalizers.length > 0
    return { ...assessment, problems: [], message: isHeld ? assessment.message : stillExists }
  })
}

const stillExists = 'still exists, waiting for its deletion'

function judgeWaitFor(object: KubeObject, waitFor: WaitFor): Judgement {
  switch (waitFor.type) {
    case 'create':
      return { ready: true, message: 'exists' }
    case 'delete':
      return { ready: false, message: stillExists }
    case 'condition': {
      const { observedGeneration } = (object.status ?? {}) as Fields
      const found = conditionsOf(object).find(({ type }) => type.toLowerCase() === waitFor.condition.toLowerCase())
      const isPresent = !isStale(found?.observedGeneration ?? observedGeneration, object.metadata.generation)
      const ready = isPresent && found?.status.toLowerCase() === waitFor.status.toLowerCase()
      const state = `is ${found?.status}${isPresent ? '' : ' of an older generation'}`
      const words = found === undefined ? 'is not reported yet' : `${state}${found.message ? `: ${found.message}` : ''}`
      return { ready, message: `condition ${waitFor.condition} ${words}`, readyConditions: [found] }
    }
    case 'jsonpath': {
      const valuesIn = compileJsonPath(waitFor.path) ?? (() => [])
      const values = valuesIn(object)
      const [value] = values
      const isMet = hasWantedValue(values, waitFor.value)
      const words = value === undefined ? 'not set yet' : JSON.stringify(value)
      if (!/\bstatus\b/.test(waitFor.path)) return { ready: isMet, message: `${waitFor.path} is ${words}` }
      const isPresent =
        !isStatusStale(object) && hasWantedValue(valuesIn(withoutStaleConditions(object)), waitFor.value) === isMet
      return {
        ready: isMet && isPresent,
        message: `${waitFor.path} is ${words}${isPresent ? '' : ' of an older generation'}`,
        readyConditions: [undefined],
      }
    }
  }
}

/** Whether the only value at a path is the wanted value. Without a wanted value, whether there is any value. */
function hasWantedValue(values: readonly unknown[], wanted: string | undefined): boolean {
  const [value] = values
  if (wanted === undefined) return values.length > 0
  return values.length === 1 && (typeof value !== 'object' || value === null) && String(value) === wanted
}

/** A copy of the object in which conditions of an older generation contain only their type. */
function withoutStaleConditions(object: KubeObject): KubeObject {
  const { conditions } = (object.status ?? {}) as Fields
  if (!Array.isArray(conditions)) return object
  const present = conditions.map((each: unknown) => {
    const [condition] = conditionsIn([each])
    return condition === undefined || hasPresentGeneration(condition, object) ? each : { type: condition.type }
  })
  return { ...object, status: { ...object.status, conditions: present } }
}

/**
 * Matches one step of a JSONPath, as in `kubectl wait --for=jsonpath='{.status.phase}'=Running`: fields, quoted fields,
 * indexes, `[*]` and filters such as `[?(@.type=="Ready")]`. Recursive descent, slices and scripts are not supported.
 */
const step =
  /\.([A-Za-z_][\w-]*(?:\\\.[\w-]+)*)|\[['"]([^'"\]]+)['"]\]|\[(-?\d+)\]|\[(\*)\]|\[\?\(@((?:\.[\w-]+)+)\s*==\s*(?:"([^"]*)"|'([^']*)'|([\w.-]+))\)\]/y

type Step = (value: unknown) => readonly unknown[]

/** Compiles a JSONPath to a function that returns all values at the path. Undefined for an unsupported path. */
export function compileJsonPath(expression: string): ((object: unknown) => readonly unknown[]) | undefined {
  const path = expression
    .trim()
    .replace(/^\{\s*/, '')
    .replace(/(?<!\s)\s*\}$/, '')
    .replace(/^\$/, '')
  const steps: Step[] = []
  step.lastIndex = 0
  while (step.lastIndex < path.length) {
    const found = step.exec(path)
    if (found === null) return undefined
    steps.push(compileStep(found))
  }
  if (steps.length === 0) return undefined
  return (object) => steps.reduce<readonly unknown[]>((values, next) => values.flatMap(next), [object])
}

function compileStep([, field, quoted, index, star, filterPath, ...literals]: RegExpExecArray): Step {
  const name = field?.replaceAll('\\.', '.') ?? quoted
  if (name !== undefined) return (value) => propertyValues(value, name)
  if (index !== undefined) return (value) => (Array.isArray(value) ? elementsAt(value, Number(index)) : [])
  if (star !== undefined) return (value) => (typeof value === 'object' && value !== null ? Object.values(value) : [])
  const fields = (filterPath ?? '').split('.').slice(1)
  const wanted = literals.find((literal) => literal !== undefined)
  return (value) =>
    Array.isArray(value)
      ? value.filter((item) =>
          fields
            .reduce<readonly unknown[]>((at, each) => at.flatMap((v) => propertyValues(v, each)), [item])
            .some((v) => String(v) === wanted),
        )
      : []
}

function propertyValues(value: unknown, name: string): readonly unknown[] {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? [(value as Record<string, unknown>)[name]]
    : []
}

/** The element at an index; negative indexes count from the end. */
function elementsAt(list: readonly unknown[], index: number): readonly unknown[] {
  const at = index < 0 ? list.length + index : index
  return at in list ? [list[at]] : []
}
