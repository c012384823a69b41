import type { Subject } from '../../src/cluster/objects.ts'

const kinds: Readonly<Record<string, readonly [group: string, kind: string]>> = {
  pod: ['', 'Pod'],
  service: ['', 'Service'],
  persistentvolumeclaim: ['', 'PersistentVolumeClaim'],
  node: ['', 'Node'],
  namespace: ['', 'Namespace'],
  resourcequota: ['', 'ResourceQuota'],
  deployment: ['apps', 'Deployment'],
  replicaset: ['apps', 'ReplicaSet'],
  statefulset: ['apps', 'StatefulSet'],
  daemonset: ['apps', 'DaemonSet'],
  job: ['batch', 'Job'],
}

/** The subject whose text is `pod/web-x`, in the namespace of the tests. A kind of the table, else as it is written. */
export function toSubject(text: string, namespace: string | undefined = 'shop'): Subject {
  const [word = '', name = ''] = text.split('/')
  const [group, kind] = kinds[word] ?? ['', word]
  return { group, kind, name, namespace }
}
