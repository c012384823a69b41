import fc from 'fast-check'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { createRedactor } from '../../src/cluster/redact.ts'
import { parameters } from '../support/thorough.ts'

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

test.each([
  ['of kubectl', 'kubectl.kubernetes.io/last-applied-configuration', 'x'],
  ['of KubeVela', 'app.oam.dev/last-applied-configuration', 'x'],
  ['of kopf with any prefix', 'operator.example.com/last-handled-configuration', 'x'],
  ['of kopf without a prefix', 'last-handled-configuration', 'x'],
  ['of kapp', 'kapp.k14s.io/original', 'x'],
  ['of kapp, with a difference', 'kapp.k14s.io/original-diff', 'x'],
  ['of Rancher', 'objectset.rio.cattle.io/applied', 'H4sIAAAA'],
  ['in JSON under another name', 'example.com/backup', '{"spec":{"password":"x"}}'],
  ['in a JSON list', 'example.com/backup', ' [{"kind":"Secret","data":{}}]'],
  ['in YAML', 'example.com/backup', 'apiVersion: v1\nkind: Secret\ndata: {}'],
  ['in broken JSON', 'example.com/backup', '{\n  "data": {"password": "x"'],
])('a copy of an object in an annotation is dropped: %s', (_, name, value) => {
  const annotations = { [name]: value, note: 'kept' }
  const template = { metadata: { annotations } }
  expect(redact(object({ metadata: { name: 'web', annotations }, spec: { template } }))).toMatchObject({
    metadata: { annotations: { note: 'kept' } },
    spec: { template: { metadata: { annotations: { note: 'kept' } } } },
  })
  const redacted = redact(object({ metadata: { name: 'web', annotations }, spec: { template } }))
  expect(JSON.stringify(redacted)).not.toContain(name)
})

test.each([
  ['a revision', 'deployment.kubernetes.io/revision', '7'],
  ['a list of names', 'k8s.v1.cni.cncf.io/networks', '[{"name":"net"}]'],
  ['a state', 'sidecar.istio.io/status', '{"containers":["proxy"]}'],
  ['a name that contains the word', 'example.com/originals/name', 'x'],
])('an annotation that copies no object stays: %s', (_, name, value) => {
  expect(redact(object({ metadata: { name: 'web', annotations: { [name]: value } } })).metadata.annotations).toEqual({
    [name]: value,
  })
})

test('annotations of Secrets and ConfigMaps are hashed, except those of the gate', () => {
  const annotations = { 'openshift.io/token-secret.value': 'hunter2', 'rollout-gate/timeout': '5m' }
  for (const kind of ['Secret', 'ConfigMap'])
    expect(redact(object({ kind, metadata: { name: 'web', annotations } })).metadata.annotations).toEqual({
      'openshift.io/token-secret.value': expect.stringMatching(/^hmac:/),
      'rollout-gate/timeout': '5m',
    })
})

test('values of a Secret inside of another object are hashed', () => {
  const manifest = { apiVersion: 'v1', kind: 'Secret', data: { a: 'aHVudGVyMg==' } }
  const redacted = redact(object({ kind: 'Object', spec: { manifest, template: { stringData: { b: 'hunter2' } } } }))
  expect(JSON.stringify(redacted)).not.toMatch(/aHVudGVyMg|hunter2/)
})

test('a long text is cut, and differs from another one with the same start', () => {
  const phase = (end: string) =>
    (redact(object({ status: { phase: 'x'.repeat(50_000) + end } })) as unknown as { status: { phase: string } }).status
      .phase
  expect(phase('a').length).toBeLessThan(8_500)
  expect(phase('a')).toBe(phase('a'))
  expect(phase('a')).not.toBe(phase('b'))
})

test('an object that is nested 100,000 levels deep is cut', () => {
  const depth = 100_000
  const deep = JSON.parse(`${'{"spec":'.repeat(depth)}1${'}'.repeat(depth)}`)
  expect(JSON.stringify(redact(object(deep))).length).toBeLessThan(10_000)
  const env = JSON.parse(`{"spec":{"env":{"A":${'['.repeat(depth)}${']'.repeat(depth)}}}}`)
  expect(JSON.stringify(redact(object(env)))).toContain('hmac:')
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
          metadata: { name: 'sesame', labels: { app: 'sesame' }, annotations: { note: 'sesame' } },
          spec: {
            template: { metadata: { annotations: { note: 'sesame open' } } },
            containers: [{ name: 'sesame', command: ['open'], args }],
          },
          status: { conditions: [{ type: 'sesame', message: 'no sesame' }] },
          note: 'of sesame',
        }),
      ),
    ).toMatchObject({
      metadata: { name: 'sesame', labels: { app: 'sesame' }, annotations: { note: '***' } },
      spec: {
        template: { metadata: { annotations: { note: 'sesame ***' } } },
        containers: [{ name: 'sesame', command: ['***'], args: ['sesame ***'] }],
      },
      status: { conditions: [{ type: 'sesame', message: 'no ***' }] },
      note: 'of ***',
    })
  })

  test('comes from Secrets, and from variables whose name looks secret', () => {
    hiding(object({ kind: 'Secret', data: { a: 'aHVudGVyMg==' }, stringData: { b: 'swordfish' } }))
    hiding(
      object({ kind: 'Secret', metadata: { name: 'x', annotations: { 'openshift.io/token-secret.value': 'plugh' } } }),
    )
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
    expect(added).toEqual(['swordfish', 'aHVudGVyMg==', 'hunter2', 'plugh', 'xyzzy'])
  })
})

describe('a secret planted in a random place of a random object', () => {
  const secret = 'sesame-4711-open'
  const encoded = Buffer.from(secret).toString('base64')
  const word = fc.stringMatching(/^[a-z]{1,8}$/)
  const prefix = fc.oneof(fc.constant(''), fc.stringMatching(/^[a-z]{1,8}\.(?:io|dev)\/$/))
  const copyName = fc.constantFrom('last-applied', 'last-applied-config', 'last-handled-configuration', 'original-x')
  const copy = fc.constantFrom({ kind: 'X', a: secret }, { spec: { a: secret } }, { data: secret }, [
    { metadata: secret },
  ])
  /** A part of an object that contains the secret where the redactor promises to find it. */
  const planted = fc.oneof(
    word.map((key) => ({ stringData: { [key]: secret } })),
    fc.constantFrom('Secret', 'ConfigMap').map((kind) => ({ apiVersion: 'v1', kind, data: { a: encoded, b: secret } })),
    word.map((key) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { annotations: { [key]: secret } } })),
    word.map((name) => ({ env: [{ name, value: secret }] })),
    word.map((name) => ({ env: { [name]: secret } })),
    word.map((value) => ({ env: [{ kind: 'Secret', data: { a: encoded }, value }] })),
    word.map((key) => ({ httpHeaders: [{ kind: 'Secret', metadata: { annotations: { [key]: secret } } }] })),
    word.map((name) => ({ httpGet: { httpHeaders: [{ name, value: secret }] } })),
    fc.tuple(prefix, copyName).map(([before, name]) => ({ metadata: { annotations: { [before + name]: secret } } })),
    fc.tuple(word, copy).map(([name, value]) => ({ metadata: { annotations: { [name]: JSON.stringify(value) } } })),
    word.map((name) => ({ metadata: { annotations: { [name]: `of ${secret}` } }, isTop: true })),
    word.map((type) => ({ conditions: [{ type, message: `has ${secret}` }] })),
  )
  const path = fc.array(fc.oneof(word, fc.constant(0)), { maxLength: 6 })
  const nest = (value: object, steps: readonly (string | number)[]): object =>
    steps.reduceRight<object>((inner, step) => (step === 0 ? [inner] : { [step]: inner, other: 'x' }), value)

  test('is not in the redacted object', () => {
    const known = {
      redactText: (text: string) => text.replaceAll(secret, '***').replaceAll(encoded, '***'),
      redactTemplate: (text: string) => text,
      addSecret: () => {},
    }
    const hiding = createRedactor(undefined, known)
    fc.assert(
      fc.property(planted, path, (part, steps) => {
        const whole = 'isTop' in part ? object(part) : object({ kind: 'Thing', spec: nest(part, steps) })
        expect(JSON.stringify(hiding(whole))).not.toMatch(new RegExp(`${secret}|${encoded}`))
      }),
      parameters,
    )
  })
})
