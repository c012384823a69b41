import type { Pod, PodSpec, PodStatus } from '../../src/cluster/objects.ts'
import { is, make, podIs } from './objects.ts'

/**
 * The status of a pod in words, at a second: `ready`, `ready 3` since then, `ready 3 1` after one restart; `dead 2`, or at
 * another second `dead 2 9`; `failed 2 9`, as a pod that is not restarted; `loop 2`, which waits for its restart;
 * `runs 2`, after that many restarts, and is not ready; `waits Reason: message`.
 */
export function toPodStatus(text: string, second = 0): PodStatus {
  const [, verb = '', one = '', two, message] = /^([a-z]+)(?: (-?\w+))?(?: (-?\d+))?(?:: (.*))?$/s.exec(text) ?? []
  if (verb === 'ready')
    return podIs.ready(Number(one || second), two === undefined ? {} : { restartCount: Number(two) })
  if (verb === 'dead') return podIs.dead(Number(one), Number(two ?? second))
  if (verb === 'failed') return { ...podIs.dead(Number(one), Number(two ?? second)), phase: 'Failed' }
  if (verb === 'loop') return podIs.looping(Number(one), Number(two ?? second))
  if (verb === 'runs') return podIs.unready({ restartCount: Number(one), state: is.running(second) })
  if (verb === 'waits') return podIs.unready({ state: is.waiting(one, message) }, { phase: 'Pending' })
  throw new Error(`the status of a pod cannot be "${text}"`)
}

/** The versions of a pod: `2 dead 1; 200 loop 6 199`, each with the second at which it was seen. */
export function toVersions(
  text: string,
  spec: Partial<PodSpec> = {},
): readonly (readonly [seconds: number, pod: Pod])[] {
  return text.split('; ').map((version) => {
    const [, second = '', status = ''] = /^([\d.]+) (.*)$/s.exec(version) ?? []
    return [Number(second), make.pod({ spec, status: toPodStatus(status, Number(second)) })]
  })
}
