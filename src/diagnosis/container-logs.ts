import type { Evidence } from '../gate/timeline.ts'
import type { Facts } from './facts.ts'

/** What the container of a pod logged last, in its present run and in the one before; where that could not be read, why. */
export function logEvidence(pod: string, container: string, facts: Facts): readonly Evidence[] {
  const logs = [false, true].flatMap((previous) => facts.log(pod, container, previous) ?? [])
  const tails = logs
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, previous }): Evidence => {
      const title = `Last log lines of container ${container}${previous ? ', its run before' : ''}`
      return { type: 'log', title, text }
    })
  const refused = logs.filter(({ why }) => why !== undefined)
  // Both runs are mostly refused for the same reason.
  const isOne = new Set(refused.map(({ why }) => why)).size === 1 && refused.length > 1
  const missing = (isOne ? refused.slice(0, 1) : refused).map(({ why, previous }): Evidence => {
    const title = `Log of container ${container}${previous ? ', its run before' : ''}`
    return { type: 'log', title, text: `could not be read: ${why}` }
  })
  return [...tails, ...missing]
}
