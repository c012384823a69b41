import type { ApiResource } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { added, at, createTarget, run } from '../kit/gate.ts'

const widget: KubeObject = {
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 1 },
  spec: {},
}
const target = createTarget({ apiVersion: 'example.com/v1', kind: 'Widget', name: 'w' })

function judge(...versions: readonly (readonly [version: string, status: boolean])[]) {
  const resources = versions.map(
    ([version, status]): ApiResource => ({
      group: 'example.com',
      version,
      kind: 'Widget',
      plural: 'widgets',
      namespaced: true,
      status,
    }),
  )
  const synced = { type: 'SYNCED', apiVersion: 'example.com/v1', kind: 'Widget', namespace: 'shop' } as const
  return run([at(0, { type: 'DISCOVERY', resources }, added(widget), synced)], { targets: [target] })
}

describe('an object without a status', () => {
  it('is awaited if discovery lists a status of its kind', () => {
    expect(judge(['v1', true])).toMatchObject({ outcome: 'stalled', reason: 'not-reconciled' })
  })

  it('is ready if discovery lists no status of its kind', () => {
    expect(judge(['v1', false])).toMatchObject({ outcome: 'ready', seconds: 0 })
  })

  it('is awaited if one version of its kind has a status', () => {
    expect(judge(['v1', true], ['v1alpha1', false]).reason).toBe('not-reconciled')
  })
})
