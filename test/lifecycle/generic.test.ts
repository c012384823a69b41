import type { KubeObject } from '../../src/cluster/objects.ts'
import { genericRule } from '../../src/lifecycle/custom/generic.ts'
import { read } from '../kit/rule.ts'

test.each<[string, object, string]>([
  ['waits for a status', {}, 'progressing'],
  ['is ready if it has another top-level field', { provisioner: 'example.com/disk' }, 'ready'],
])('an object without a spec %s', (_, rest, status) => {
  const metadata = { name: 'w', namespace: 'shop', uid: 'w-uid', generation: 2 }
  const object = { apiVersion: 'example.com/v1', kind: 'Widget', metadata, ...rest } as KubeObject
  expect(read({}, genericRule, object).status).toBe(status)
})

test('a ConfigMap is ready once it exists, with a message about the missing readiness signal', () => {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', uid: 'c' } }
  expect(read({}, genericRule, object)).toMatchObject({
    status: 'ready',
    message: 'exists; it gives no readiness signal, so nothing more can be known',
  })
})
