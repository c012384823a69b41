import type { KubeObject, PersistentVolumeClaim, PodSpec } from '../../src/cluster/objects.ts'
import { pvcRule } from '../../src/lifecycle/platform/pvc.ts'
import { make } from '../kit/objects.ts'
import { concerns } from '../kit/rule.ts'

test('a PersistentVolumeClaim is assessed again only when a StorageClass or a pod that uses it changes', () => {
  const metadata = { name: 'data', namespace: 'shop', uid: 'data-uid' }
  const spec = { storageClassName: 'fast' }
  const claim: PersistentVolumeClaim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata,
    spec,
    status: { phase: 'Pending' },
  }
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
  const isConcerned = (other: KubeObject) => concerns({}, pvcRule, claim, other)
  expect(isConcerned(make.barePod({ spec: { volumes } as Partial<PodSpec> }))).toBe(true)
  expect(isConcerned({ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'fast' } })).toBe(true)
  expect(isConcerned(make.barePod())).toBe(false)
})
