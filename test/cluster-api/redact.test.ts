import type { KubeObject } from '../../src/cluster/objects.ts'
import { createRedactor } from '../../src/cluster/redact.ts'

const redact = createRedactor(Buffer.from('key'))
const object = (fields: object): KubeObject =>
  ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, ...fields }) as KubeObject

test('managed fields keep only manager, operation, subresource and time', () => {
  const managedFields = [
    {
      manager: 'kubectl',
      operation: 'Update',
      time: 'T',
      subresource: 'status',
      apiVersion: 'v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:spec': {} },
    },
  ]
  expect(redact(object({ metadata: { name: 'web', managedFields } })).metadata.managedFields).toEqual([
    { manager: 'kubectl', operation: 'Update', time: 'T', subresource: 'status' },
  ])
})

test('annotations that copy the whole object are dropped, others stay', () => {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":"secret"}', note: 'kept' }
  expect(redact(object({ metadata: { name: 'web', annotations } })).metadata.annotations).toEqual({ note: 'kept' })
})

test('values of Secrets and ConfigMaps are hashed, their keys stay', () => {
  const secret = redact(
    object({ kind: 'Secret', data: { password: 'aHVudGVyMg==' }, stringData: { user: 'bob' }, type: 'Opaque' }),
  )
  expect(secret).toMatchObject({
    data: { password: expect.stringMatching(/^hmac:/) },
    stringData: { user: expect.stringMatching(/^hmac:/) },
    type: 'Opaque',
  })
  expect(JSON.stringify(secret)).not.toContain('aHVudGVyMg==')
  const configMap = redact(
    object({ kind: 'ConfigMap', data: { url: 'postgres://u:hunter2@db' }, binaryData: { a: 'AAAA' } }),
  )
  expect(JSON.stringify(configMap)).not.toMatch(/hunter2|AAAA/)
})

test.each([
  [
    'a pod',
    {
      spec: {
        containers: [{ env: [{ name: 'A', value: 'hunter2' }] }],
        initContainers: [{ env: [{ name: 'A', value: 'hunter2' }] }],
      },
    },
  ],
  [
    'a template',
    { kind: 'Deployment', spec: { template: { spec: { containers: [{ env: [{ name: 'A', value: 'hunter2' }] }] } } } },
  ],
  [
    'a cron job',
    {
      kind: 'CronJob',
      spec: {
        jobTemplate: { spec: { template: { spec: { containers: [{ env: [{ name: 'A', value: 'hunter2' }] }] } } } },
      },
    },
  ],
  [
    'a controller revision',
    {
      kind: 'ControllerRevision',
      data: { spec: { template: { spec: { containers: [{ env: [{ name: 'A', value: 'hunter2' }] }] } } } },
    },
  ],
])('environment values of %s are hashed', (_, fields) => {
  const stripped = JSON.stringify(redact(object(fields)))
  expect(stripped).not.toContain('hunter2')
  expect(stripped).toContain('"name":"A","value":"hmac:')
})

test('references in the environment stay as they are', () => {
  const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }]
  expect(redact(object({ spec: { containers: [{ env }] } }))).toMatchObject({ spec: { containers: [{ env }] } })
})

test('equal values have equal hashes, others do not, and another process has others', () => {
  const value = (text: string, by = redact) =>
    (by(object({ kind: 'Secret', data: { a: text } })) as unknown as { data: { a: string } }).data.a
  expect(value('x')).toBe(value('x'))
  expect(value('x')).not.toBe(value('y'))
  expect(value('x', createRedactor())).not.toBe(value('x', createRedactor()))
})

test('an object with nothing to redact is returned as it is, and the original is never changed', () => {
  const plain = object({ spec: { nodeName: 'n' }, status: { phase: 'Running' } })
  expect(redact(plain)).toBe(plain)
  const original = object({
    spec: { containers: [{ env: [{ name: 'A', value: 'x' }] }] },
    status: { phase: 'Running' },
  })
  const before = structuredClone(original)
  expect(redact(original).status).toBe(original.status)
  expect(original).toEqual(before)
})

test('hostile keys stay keys', () => {
  const hostile = JSON.parse(
    '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"data":{"__proto__":"secret"}}',
  )
  expect(JSON.stringify(redact(hostile))).toMatch(/"__proto__":"hmac:/)
})

test('unexpected shapes do not break it', () => {
  for (const fields of [
    { kind: 'Secret', data: 'x' },
    { metadata: null },
    { metadata: { managedFields: [null, 'x'] } },
    { spec: { env: [null, 1, 'x'] } },
  ]) {
    expect(() => redact(object(fields))).not.toThrow()
  }
})

test('maps of environment values, as charts have them, and probe headers are hashed too', () => {
  const stripped = JSON.stringify(
    redact(
      object({
        spec: {
          values: { env: { PASSWORD: 'hunter2' } },
          containers: [{ livenessProbe: { httpGet: { httpHeaders: [{ name: 'Authorization', value: 'hunter2' }] } } }],
        },
      }),
    ),
  )
  expect(stripped).not.toContain('hunter2')
  expect(stripped).toMatch(/"PASSWORD":"hmac:.*"name":"Authorization","value":"hmac:/)
})

describe('a known secret', () => {
  const added: string[] = []
  const known = {
    redactText: (text: string) => text.replaceAll('sesame', '***'),
    redactTemplate: (text: string) => text.replaceAll('open', '***'),
    addSecret: (value: string) => void added.push(value),
  }
  const hiding = createRedactor(Buffer.from('key'), known)

  test('is redacted in messages, and in templates if it was known from the start', () => {
    const args = ['sesame open']
    expect(
      hiding(
        object({
          metadata: { name: 'sesame', labels: { app: 'sesame' }, annotations: { note: 'sesame open' } },
          spec: { containers: [{ name: 'sesame', command: ['open'], args }] },
          status: { conditions: [{ type: 'sesame', message: 'no sesame' }] },
          note: 'of sesame',
        }),
      ),
    ).toMatchObject({
      metadata: { name: 'sesame', labels: { app: 'sesame' }, annotations: { note: 'sesame ***' } },
      spec: { containers: [{ name: 'sesame', command: ['***'], args: ['sesame ***'] }] },
      status: { conditions: [{ type: 'sesame', message: 'no ***' }] },
      note: 'of ***',
    })
  })

  test('comes from Secrets, and from variables whose name looks secret', () => {
    hiding(object({ kind: 'Secret', data: { a: 'aHVudGVyMg==' }, stringData: { b: 'swordfish' } }))
    hiding(
      object({
        spec: {
          containers: [
            {
              env: [
                { name: 'DB_PASSWORD', value: 'xyzzy' },
                { name: 'KEYCLOAK_URL', value: 'https://login.example' },
                { name: 'API_TOKEN', valueFrom: {} },
              ],
            },
          ],
        },
      }),
    )
    expect(added).toEqual(['swordfish', 'aHVudGVyMg==', 'hunter2', 'xyzzy'])
  })
})
