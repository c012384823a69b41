import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { objectMistake } from '../../src/cluster/object-schema.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { make, podIs } from '../kit/objects.ts'

/** The object with other fields, of any type. */
function having(object: KubeObject, fields: Record<string, unknown>): KubeObject {
  return { ...object, ...fields } as KubeObject
}

const deployment = make.deployment()
const pod = make.pod({ status: podIs.ready() })
const custom: KubeObject = { apiVersion: 'acme.io/v1', kind: 'Widget', metadata: { name: 'w' } }

describe('an object that no API server wrote', () => {
  it.each<[string, KubeObject]>([
    ['spec', having(deployment, { spec: 'none' })],
    ['spec', having(deployment, { spec: null })],
    ['spec.replicas', having(deployment, { spec: { replicas: '1' } })],
    ['spec.template.spec.containers', having(deployment, { spec: { template: { spec: { containers: 'app' } } } })],
    ['status.conditions.0', having(deployment, { status: { conditions: [null] } })],
    ['status.containerStatuses', having(pod, { status: { containerStatuses: {} } })],
    [
      'status.containerStatuses.0.state.waiting',
      having(pod, { status: { containerStatuses: [{ name: 'app', state: { waiting: 'x' } }] } }),
    ],
    [
      'status.containerStatuses.0.restartCount',
      having(pod, { status: { containerStatuses: [{ name: 'app', restartCount: 'many' }] } }),
    ],
    ['spec.containers.0.name', having(pod, { spec: { containers: [{ image: 'app' }] } })],
    [
      'endpoints.0.addresses.0',
      having(custom, { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', endpoints: [{ addresses: [7] }] }),
    ],
    ['metadata.finalizers', having(custom, { metadata: { name: 'w', finalizers: 1 } })],
    ['metadata.ownerReferences.0', having(custom, { metadata: { name: 'w', ownerReferences: [null] } })],
    [
      'metadata.ownerReferences.0.apiVersion',
      having(custom, {
        metadata: { name: 'w', ownerReferences: [{ apiVersion: null, kind: 'Set', name: 'a', uid: 'u' }] },
      }),
    ],
    [
      'metadata.ownerReferences.0.kind',
      having(custom, { metadata: { name: 'w', ownerReferences: [{ apiVersion: 'v1', name: 'a', uid: 'u' }] } }),
    ],
    ['metadata.labels', having(custom, { metadata: { name: 'w', labels: 'app=web' } })],
    ['involvedObject', having(make.event(pod, { reason: 'Failed' }), { involvedObject: null })],
    ['involvedObject.fieldPath', having(make.event(pod, { reason: 'Failed' }), { involvedObject: { fieldPath: 7 } })],
  ])('is reported with the field of another type: %s (%#)', (path, object) => {
    expect(objectMistake(object)).toBe(`its object is invalid: ${path} has the wrong type`)
  })
})

test('a field that is null is absent, as for the API', () => {
  const object = having(deployment, { spec: { replicas: null, template: { metadata: { creationTimestamp: null } } } })
  expect(objectMistake(object)).toBeUndefined()
  expect(object.spec).toEqual({ template: { metadata: {} } })
})

describe('an object may', () => {
  it.each<[string, KubeObject]>([
    ['lack all but its name', { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } }],
    ['be a healthy one', make.replicaSet()],
    ['leave a list null', having(pod, { status: { containerStatuses: null, conditions: null } })],
    ['leave a moment null', having(make.event(pod, { reason: 'Failed' }), { firstTimestamp: null, series: null })],
    [
      'have its version or a label as a number',
      having(custom, { metadata: { name: 'w', resourceVersion: 7, generation: '2', labels: { v: 1 } } }),
    ],
    ['have unknown fields', having(deployment, { spec: { novel: 1 }, more: [] })],
    [
      'have labels and selectors with the names of fields',
      having(pod, { apiVersion: 'v1', kind: 'Service', spec: { selector: { state: 'on', containers: '2' } } }),
    ],
    ['be a custom resource of any shape', having(custom, { spec: 'big', status: ['?'] })],
  ])('%s', (_, object) => {
    expect(objectMistake(object)).toBeUndefined()
  })
})

describe('an object of Kubernetes 1.34 in which every field has a value', () => {
  const file = join(import.meta.dirname, 'full-objects.json.gz')
  const objects = JSON.parse(gunzipSync(readFileSync(file)).toString()) as readonly KubeObject[]

  it.each(objects.map((object) => [`${object.apiVersion} ${object.kind}`, object] as const))(
    '%s is valid',
    (_, object) => {
      expect(objectMistake(object)).toBeUndefined()
    },
  )
})
