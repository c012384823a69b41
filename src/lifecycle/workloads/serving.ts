import type { Pod, Workload } from '../../cluster/objects.ts'
import type { ServedPort, Serving } from '../rule.ts'
import { podRequest } from '../selector.ts'
import { portsOf } from './pod-fields.ts'

/** How requests reach the pods of a workload: at their own ports. A DaemonSet is empty if no node should run a pod. */
export const workloadServing: Serving<Workload> = {
  ports: ({ spec }) => servedPorts({ spec: spec?.template?.spec }),
  pods: (object, assessed, reader) => {
    reader.watch(podRequest(object))
    return assessed.pods?.new ?? []
  },
  isEmpty: ({ spec, status }) => spec?.replicas === 0 || status?.desiredNumberScheduled === 0,
}

export const orderedServing: Serving<Workload> = { ...workloadServing, isOrdered: true }

/** A bare pod is its own only pod. */
export const podServing: Serving<Pod> = {
  ports: servedPorts,
  pods: (pod) => [pod],
  isEmpty: () => false,
}

function servedPorts(pod: Pick<Pod, 'spec'>): readonly ServedPort[] {
  return portsOf(pod).flatMap(({ name, containerPort, protocol = 'TCP' }) =>
    protocol === 'TCP' ? [{ name, port: containerPort, target: containerPort }] : [],
  )
}
