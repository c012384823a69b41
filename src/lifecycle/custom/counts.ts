import type { KubeObject } from '../../cluster/objects.ts'
import { type Fields, type Say, say } from './signal.ts'

/** Fewer than wanted: by the counts that Deployments and DaemonSets have, and by pairs as `expectedNodes`, `availableNodes`. */
export function fromCounts({ spec, status }: KubeObject): readonly Say[] {
  const counts = (status ?? {}) as Fields
  const { replicas: asked } = (spec ?? {}) as Fields
  const wanted = typeof asked === 'number' ? asked : counts['replicas']
  const replicas = isNumber(wanted) ? wanted : undefined
  const short = ['updatedReplicas', 'readyReplicas', 'availableReplicas'].find(
    (key) => replicas !== undefined && isNumber(counts[key]) && counts[key] < replicas,
  )
  // A zero is often left out, but not beside the number of those that are updated.
  const isZeroLeftOut =
    isNumber(counts['updatedReplicas']) && !('readyReplicas' in counts) && !('availableReplicas' in counts)
  const none = short === undefined && (replicas ?? 0) > 0 && isZeroLeftOut
  const { unavailableReplicas: missing } = counts
  const pair = Object.entries(counts).find(([key, total]) => {
    const noun = /^(?:expected|desired)([A-Z]\w*)$/.exec(key)?.[1]
    if (noun === undefined || noun === 'Replicas' || noun === 'NumberScheduled' || typeof total !== 'number')
      return false
    const there = ['available', 'ready', 'current'].map((word) => counts[`${word}${noun}`]).find(isNumber)
    // A zero is often left out; but where other counts are there, they may be what is compared with.
    return there === undefined ? total > 0 && !Object.keys(counts).some((each) => thereKeys.test(each)) : there < total
  })
  const nodes = counts['desiredNumberScheduled']
  const fewer = ['updatedNumberScheduled', 'numberAvailable', 'numberReady'].find(
    (key) => isNumber(nodes) && isNumber(counts[key]) && counts[key] < nodes,
  )
  return [
    ...(fewer === undefined ? [] : say(fewer, `${counts[fewer]} of ${nodes}`, 'progressing', 'change')),
    ...(short === undefined ? [] : say(short, `${counts[short]} of ${replicas}`, 'progressing', 'change')),
    ...(none ? say('readyReplicas', `0 of ${replicas}`, 'progressing', 'change') : []),
    ...(isNumber(missing) && missing > 0 ? say('unavailableReplicas', `${missing}`, 'progressing', 'change') : []),
    ...(pair === undefined ? [] : say(pair[0], `${pair[1]}, and fewer are there`, 'progressing', 'change')),
  ]
}

const thereKeys = /^(?:available|ready|current|healthy)[A-Z]/

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}
