import type { KubeObject } from '../../src/cluster/objects.ts'
import { serviceRule } from '../../src/lifecycle/network/service.ts'
import { make, podIs } from '../kit/objects.ts'
import { concerns } from '../kit/rule.ts'

const a = make.pod({ metadata: { name: 'a' }, status: podIs.ready(1) })
const ofApi = make.pod({ metadata: { name: 'other', labels: { app: 'api' } }, status: podIs.ready(1) })

describe('a Service', () => {
  const isConcerned = (other: KubeObject, ...objects: readonly KubeObject[]) =>
    concerns({ objects }, serviceRule, make.service(), other)

  it('is assessed again when one of its pods, its EndpointSlice or a workload changes', () => {
    expect(isConcerned(a)).toBe(true)
    expect(isConcerned(make.deployment())).toBe(true)
    expect(isConcerned(make.slice([a]))).toBe(true)
  })

  it('is not assessed again when a pod or an EndpointSlice of another Service changes', () => {
    const { metadata, ...slice } = make.slice([a])
    const labels = { 'kubernetes.io/service-name': 'api' }
    expect(isConcerned(ofApi, a)).toBe(false)
    expect(isConcerned({ ...slice, metadata: { ...metadata, labels } }, a)).toBe(false)
  })

  it('is assessed again when any pod appears while its selector matches nothing', () => {
    expect(isConcerned(ofApi)).toBe(true)
  })
})
