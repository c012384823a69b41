import type { EventObject, KubeObject, Pod, PodSpec, PodStatus } from '../../src/cluster/objects.ts'
import { condition, is, iso, make, type Overrides, podIs } from './objects.ts'

/**
 * The status of a pod in words, at a second: `ready`, `ready 3` since then, `ready 3 1` after one restart, `ready 3 1 2` after
 * a death at 2; `dead 2`, or at another second `dead 2 9`, or with that of its start `dead 2 9 4`; `ended 9` well;
 * `failed 2 9`, as a pod that is not restarted; `loop 2`, which waits for its restart, `loop 2 9 4` as `dead`;
 * `runs 2`, after that many restarts, `runs 2 9` since then, `runs 2 9 8` after a death at 8, and is not ready;
 * `waits Reason: message`; `pulled`, with its image. `ready 3 with acme/web@sha256:b…` reports the image that runs, `with -`
 * none. `dead 2 9 unready since 8` has this condition Ready, `runs 2 9 ready since 12` is ready only since then.
 */
export function toPodStatus(words: string, second = 0): PodStatus {
  const [, text = words, image] = /^(.*) with (\S+)$/.exec(words) ?? []
  if (image !== undefined) return withImage(toPodStatus(text, second), image === '-' ? '' : image)
  const [, before, readiness, since] = /^(.*) (ready|unready) since (\S+)$/.exec(words) ?? []
  if (before !== undefined) return withReadiness(toPodStatus(before, second), readiness === 'ready', iso(Number(since)))
  const [, verb = '', one = '', two, three, message] =
    /^([a-z]+)(?: (-?\w+))?(?: (-?[\d.]+))?(?: (-?[\d.]+))?(?:: (.*))?$/s.exec(text) ?? []
  const start = three === undefined ? {} : { startedAt: iso(Number(three)) }
  const died = three === undefined ? {} : { lastState: is.terminated(3, Number(three)) }
  if (verb === 'ready')
    return podIs.ready(Number(one || second), two === undefined ? {} : { restartCount: Number(two), ...died })
  if (verb === 'dead') return podIs.dead(Number(one), Number(two ?? second), start)
  if (verb === 'ended') return podIs.unready({ state: is.terminated(0, Number(one || second)) })
  if (verb === 'failed') return { ...podIs.dead(Number(one), Number(two ?? second)), phase: 'Failed' }
  if (verb === 'loop') return podIs.looping(Number(one), Number(two ?? second), start)
  if (verb === 'runs')
    return podIs.unready({ restartCount: Number(one), state: is.running(Number(two ?? second)), ...died })
  if (verb === 'waits') return podIs.unready({ state: is.waiting(one, message) }, { phase: 'Pending' })
  if (verb === 'pulled') return podIs.unready({ imageID: 'sha256:1' }, { phase: 'Pending' })
  throw new Error(`the status of a pod cannot be "${text}"`)
}

function withReadiness({ containerStatuses = [], ...status }: PodStatus, ready: boolean, since: string): PodStatus {
  const conditions = [condition('Ready', ready ? 'True' : 'False', { lastTransitionTime: since })]
  return { ...status, conditions, containerStatuses: containerStatuses.map((each) => ({ ...each, ready })) }
}

function withImage({ containerStatuses = [], ...status }: PodStatus, imageID: string): PodStatus {
  return { ...status, containerStatuses: containerStatuses.map((each) => ({ ...each, imageID })) }
}

/** The versions of a pod: `2 dead 1; 200 loop 6 199`, each with the second at which it was seen. */
export function toVersions(
  text: string,
  of: Overrides<PodSpec, never> = {},
): readonly (readonly [seconds: number, pod: Pod])[] {
  return text.split('; ').map((version) => {
    const [, second = '', status = ''] = /^([\d.]+) (.*)$/s.exec(version) ?? []
    return [Number(second), make.pod({ ...of, status: toPodStatus(status, Number(second)) })]
  })
}

/** An event about an object, or of a container of it: `app Failed x2 1-40: message`, from second 1 to 40. */
export function toEvent(about: KubeObject, text: string): EventObject {
  const [, container, reason = '', count = '1', first = '0', last = first, message = ''] =
    /^(?:([a-z]+) )?([A-Z]\w+)(?: x(\d+))?(?: (-?\d+)(?:-(-?\d+))?)?(?:: (.*))?$/s.exec(text) ?? []
  const times = { firstTimestamp: iso(Number(first)), lastTimestamp: iso(Number(last)) }
  const metadata = { name: text, namespace: 'shop' }
  return make.event(about, {
    metadata,
    reason,
    message,
    count: Number(count),
    ...times,
    ...(container && { container }),
  })
}
