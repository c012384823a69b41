import type { MilestoneName } from '../inputs.ts'

const pods = ['created', 'observed', 'scheduled', 'pulled', 'started', 'ready'] as const
const others = ['created', 'observed', 'ready'] as const

/** The milestones of each kind, by kind and API group as `kubectl` writes them. */
const byKind: Readonly<Record<string, readonly MilestoneName[]>> = {
  'Deployment.apps': [
    'created',
    'observed',
    'replicaset',
    'scheduled',
    'pulled',
    'started',
    'ready',
    'available',
    'drained',
  ],
  'StatefulSet.apps': [...pods, 'updated'],
  'DaemonSet.apps': [...pods, 'updated'],
  'ReplicaSet.apps': pods,
  ReplicationController: pods,
  Pod: ['created', 'scheduled', 'initialized', 'pulled', 'started', 'running', 'ready'],
  'Job.batch': ['created', 'started', 'succeeded', 'complete'],
  Service: ['created', 'endpoints', 'ready', 'address'],
  PersistentVolumeClaim: ['created', 'provisioned', 'bound'],
  'Ingress.networking.k8s.io': ['created', 'backends', 'address'],
}

/** The names of a kind's milestones, in the order in which they are reached. */
export function milestonesOf({ apiVersion, kind }: { apiVersion: string; kind: string }): readonly string[] {
  const slash = apiVersion.indexOf('/')
  const key = slash < 0 ? kind : `${kind}.${apiVersion.slice(0, slash)}`
  return Object.hasOwn(byKind, key) ? (byKind[key] ?? others) : others
}
