/** Built-in kinds that many operators own objects of. */

export const pods = { apiVersion: 'v1', kind: 'Pod' }
export const jobs = { apiVersion: 'batch/v1', kind: 'Job' }
export const deployments = { apiVersion: 'apps/v1', kind: 'Deployment' }
export const replicaSets = { apiVersion: 'apps/v1', kind: 'ReplicaSet' }
export const statefulSets = { apiVersion: 'apps/v1', kind: 'StatefulSet' }
export const daemonSets = { apiVersion: 'apps/v1', kind: 'DaemonSet' }
