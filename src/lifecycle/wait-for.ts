import type { KubeObject } from '../cluster/objects.ts'
import type { WaitFor } from '../plan/target.ts'
import type { Assessment } from './assessment.ts'
import { isCondition, isStale } from './conditions.ts'
import { compileJsonPath } from './jsonpath.ts'
import { conclude, createdMilestone, type Rule } from './rule.ts'
import { type Fields, listOf } from './say.ts'
import type { View } from './view.ts'

/**
 * The user's own definition of ready, as `kubectl wait --for` takes it
 * (https://kubernetes.io/docs/reference/kubectl/generated/kubectl_wait/). A condition of an older generation does not
 * count. `delete` is decided by absence: while the object exists, it is not ready.
 */
export function waitForRule(waitFor: WaitFor): Rule {
  return {
    milestones: ['created', 'observed', 'ready'],
    relatives: () => [],
    assess: (object, view) => assessWaitFor(object, waitFor, view),
  }
}

function assessWaitFor(object: KubeObject, waitFor: WaitFor, view: View): Assessment {
  const { met, message } = evaluate(object, waitFor)
  const assessment = conclude(object, view, {
    ready: met,
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

function evaluate(object: KubeObject, waitFor: WaitFor): { met: boolean; message: string } {
  switch (waitFor.type) {
    case 'create':
      return { met: true, message: 'exists' }
    case 'delete':
      return { met: false, message: 'still exists, waiting for its deletion' }
    case 'condition': {
      const { conditions, observedGeneration } = (object.status ?? {}) as Fields
      const found = listOf(conditions)
        .filter(isCondition)
        .find(({ type }) => type.toLowerCase() === waitFor.condition.toLowerCase())
      const isPresent = !isStale(found?.observedGeneration ?? observedGeneration, object.metadata.generation)
      const met = isPresent && found?.status.toLowerCase() === waitFor.status.toLowerCase()
      const state = `is ${found?.status}${isPresent ? '' : ' of an older generation'}`
      const words = found === undefined ? 'is not reported yet' : `${state}${found.message ? `: ${found.message}` : ''}`
      return { met, message: `condition ${waitFor.condition} ${words}` }
    }
    case 'jsonpath': {
      const values = compileJsonPath(waitFor.path)?.(object) ?? []
      const [value] = values
      const isPrimitive = values.length === 1 && (typeof value !== 'object' || value === null)
      const met = waitFor.value === undefined ? values.length > 0 : isPrimitive && String(value) === waitFor.value
      return { met, message: `${waitFor.path} is ${value === undefined ? 'not there yet' : JSON.stringify(value)}` }
    }
  }
}
