import type { Pod, PodSpec, PodStatus } from '../../src/cluster/objects.ts'
import { is, iso, make, podIs } from './objects.ts'

/**
 * The status of a pod in words, at a second: `ready`, `ready 3` since then, `ready 3 1` after one restart; `dead 2`, or at
 * another second `dead 2 9`, or with that of its start `dead 2 9 4`; `failed 2 9`, as a pod that is not restarted; `loop 2`, which waits for its restart;
 * `runs 2`, after that many restarts, `runs 2 9` since then, and is not ready; `waits Reason: message`; `pulled`, with its
 * image. `ready 3 with acme/web@sha256:b…` reports the image that runs, `with -` none.
 */
export function toPodStatus(words: string, second = 0): PodStatus {
  const [, text = words, image] = /^(.*) with (\S+)$/.exec(words) ?? []
  if (image !== undefined) return withImage(toPodStatus(text, second), image === '-' ? '' : image)
  const [, verb = '', one = '', two, three, message] =
    /^([a-z]+)(?: (-?\w+))?(?: (-?[\d.]+))?(?: (-?[\d.]+))?(?:: (.*))?$/s.exec(text) ?? []
  const start = three === undefined ? {} : { startedAt: iso(Number(three)) }
  if (verb === 'ready')
    return podIs.ready(Number(one || second), two === undefined ? {} : { restartCount: Number(two) })
  if (verb === 'dead') return podIs.dead(Number(one), Number(two ?? second), start)
  if (verb === 'failed') return { ...podIs.dead(Number(one), Number(two ?? second)), phase: 'Failed' }
  if (verb === 'loop') return podIs.looping(Number(one), Number(two ?? second))
  if (verb === 'runs') return podIs.unready({ restartCount: Number(one), state: is.running(Number(two ?? second)) })
  if (verb === 'waits') return podIs.unready({ state: is.waiting(one, message) }, { phase: 'Pending' })
  if (verb === 'pulled') return podIs.unready({ imageID: 'sha256:1' }, { phase: 'Pending' })
  throw new Error(`the status of a pod cannot be "${text}"`)
}

function withImage({ containerStatuses = [], ...status }: PodStatus, imageID: string): PodStatus {
  return { ...status, containerStatuses: containerStatuses.map((each) => ({ ...each, imageID })) }
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
