import type { KubeObject } from '../../src/cluster/objects.ts'

/** A Deployment whose controller has rolled it out. */
export function rolledOut(name = 'web', namespace: string | undefined = 'shop'): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid: `uid-${name}`,
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: name },
    },
    spec: { replicas: 0, selector: { matchLabels: { app: name } }, template: {} },
    status: {
      observedGeneration: 1,
      conditions: [
        { type: 'Available', status: 'True' },
        { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' },
      ],
    },
  } as KubeObject
}

/** The same Deployment before its controller has observed it. */
export function unobserved(name = 'web', namespace = 'shop'): KubeObject {
  const { status: _, ...object } = rolledOut(name, namespace)
  return object
}
