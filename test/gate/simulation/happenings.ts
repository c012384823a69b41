import type { ClusterOptions, CreateWorkload, SimulatedCluster } from './cluster.ts'
import {
  DaemonSetController,
  DeploymentController,
  ReplicaSetController,
  StatefulSetController,
} from './controllers.ts'

/** Template changes do not reach the pods of a ReplicaSet: it is only created. */
export const workloads: Readonly<Record<string, { create: CreateWorkload; isOnlyNew?: true }>> = {
  Deployment: { create: (...args) => new DeploymentController(...args) },
  'Deployment with Recreate': { create: (...args) => new DeploymentController(...args, 'Recreate') },
  ReplicaSet: { create: (...args) => new ReplicaSetController(...args), isOnlyNew: true },
  StatefulSet: { create: (...args) => new StatefulSetController(...args) },
  'StatefulSet with Parallel': { create: (...args) => new StatefulSetController(...args, 'Parallel') },
  DaemonSet: { create: (...args) => new DaemonSetController(...args) },
}

/** At this second, this happens. */
export interface Step {
  readonly after: number
  readonly happens: (cluster: SimulatedCluster) => void
}

/** What else happens during a rollout, or is so from its start. */
interface Happening extends ClusterOptions {
  readonly steps: readonly Step[]
}

/** A node with pods of the workload ends, and an autoscaler adds another one. */
export function replaceNode(how: 'drain' | 'lose' | 'shutDown', node: string): Step['happens'] {
  return (cluster) => {
    cluster[how](node)
    cluster.addNode()
  }
}

/** None of it changes the verdict. `test/reliability/results.md` lists the names. */
export const happenings: Readonly<Record<string, Happening>> = {
  'The workload is new.': { isNew: true, steps: [] },
  'The gate begins 20 s after the change.': { changedBefore: 20, steps: [] },
  'A webhook adds a container to each pod.': { isInjected: true, steps: [] },
  'An autoscaler scales the workload up and down.': {
    steps: [
      { after: 4, happens: (cluster) => cluster.scale(6) },
      { after: 12, happens: (cluster) => cluster.scale(2) },
      { after: 20, happens: (cluster) => cluster.scale(5) },
    ],
  },
  'An autoscaler and a GitOps tool change its replicas in turn.': {
    steps: [6, 3, 6, 3, 6, 3].map((replicas, index) => ({
      after: 2 + 4 * index,
      happens: (cluster: SimulatedCluster) => cluster.scale(replicas),
    })),
  },
  'All nodes are drained, one after another.': {
    steps: [
      { after: 3, happens: replaceNode('drain', 'node-1') },
      { after: 10, happens: replaceNode('drain', 'node-2') },
      { after: 17, happens: replaceNode('drain', 'node-3') },
    ],
  },
  'A spot node is lost.': { steps: [{ after: 6, happens: replaceNode('lose', 'node-1') }] },
  'A node shuts down.': { steps: [{ after: 6, happens: replaceNode('shutDown', 'node-2') }] },
  'A node restarts.': { steps: [{ after: 7, happens: (cluster) => cluster.reboot('node-1') }] },
  'The same manifest is applied again.': { steps: [{ after: 5, happens: (cluster) => cluster.reapply() }] },
  'A GitOps tool removes the annotation of a restart.': {
    steps: [
      { after: 5, happens: (cluster) => cluster.annotate('now') },
      { after: 15, happens: (cluster) => cluster.annotate() },
    ],
  },
  'The controllers have no leader for 20 s, while a node is drained.': {
    steps: [
      { after: 8, happens: (cluster) => cluster.holdControllers(20) },
      { after: 9, happens: replaceNode('drain', 'node-1') },
    ],
  },
}
