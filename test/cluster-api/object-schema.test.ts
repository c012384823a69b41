import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { explainWrongType } from '../../src/cluster/object-schema.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { make, podIs } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const deployment = make.deployment()
const readyPod = make.pod({ status: podIs.ready() })
const custom: KubeObject = { apiVersion: 'acme.io/v1', kind: 'Widget', metadata: { name: 'w' } }
const event = make.event(readyPod, { reason: 'Failed' })
const objects = { deployment, replicaSet: make.replicaSet(), pod: readyPod, custom, event, none: {} }

/** An object of these that has other fields, of any type. */
function having(name: keyof typeof objects, fields: object): KubeObject {
  return { ...objects[name], ...fields } as KubeObject
}

describe('an object with an invalid field', () => {
  it.each(rows<[string, string, keyof typeof objects, object]>(data, 'a field of another type'))(
    'is rejected if it has %s',
    (_, path, name, fields) => {
      expect(explainWrongType(having(name, fields))).toBe(`its object is invalid: ${path} has the wrong type`)
    },
  )
})

test('a null field is treated like an absent field', () => {
  const object = having('deployment', { spec: { replicas: null, template: { metadata: { creationTimestamp: null } } } })
  expect(explainWrongType(object)).toBeUndefined()
  expect(object.spec).toEqual({ template: { metadata: {} } })
})

describe('a valid object may', () => {
  it.each(rows<[string, keyof typeof objects, object]>(data, 'what an object may'))('%s', (_, name, fields) => {
    expect(explainWrongType(having(name, fields))).toBeUndefined()
  })
})

describe('an object of Kubernetes 1.34 in which every field has a value', () => {
  const file = join(import.meta.dirname, 'full-objects.json.gz')
  const objects = JSON.parse(gunzipSync(readFileSync(file)).toString()) as readonly KubeObject[]

  it.each(objects.map((object) => [`${object.apiVersion} ${object.kind}`, object] as const))(
    '%s is valid',
    (_, object) => {
      expect(explainWrongType(object)).toBeUndefined()
    },
  )
})
