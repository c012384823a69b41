import fc from 'fast-check'
import { explainWrongType } from '../../src/cluster/object-schema.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { Redactor, redactTexts } from '../../src/cluster/redact.ts'
import { Secrets } from '../../src/cluster/secrets.ts'
import { rows } from '../kit/rows.ts'
import { parameters } from '../support/thorough.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const { redact } = new Redactor(Buffer.from('key'))
const object = (fields: object): KubeObject =>
  ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, ...fields }) as KubeObject

/** An object as it is redacted, with `hmac:…` for each hash. */
const redacted = (fields: object) =>
  JSON.parse(JSON.stringify(redact(object(fields))).replace(/"hmac:[^"]*"/g, '"hmac:…"')) as object

test.each(rows<[string, object, object]>(data, 'an object is redacted'))('%s', (_, fields, expected) => {
  expect(redacted(fields)).toEqual(object(expected))
})

test.each(rows<[string, object]>(data, 'an object stays as it is'))('%s, so the object stays as it is', (_, fields) => {
  expect(redact(object(fields))).toEqual(object(fields))
})

test.each(rows<[string, string, string]>(data, 'a copy of an object in an annotation is dropped'))(
  'redaction drops a copy of an object in an annotation %s',
  (_, name, value) => {
    const annotations = { [name]: value, note: 'kept' }
    const template = { metadata: { annotations } }
    expect(redact(object({ metadata: { name: 'web', annotations }, spec: { template } }))).toMatchObject({
      metadata: { annotations: { note: 'kept' } },
      spec: { template: { metadata: { annotations: { note: 'kept' } } } },
    })
    const redacted = redact(object({ metadata: { name: 'web', annotations }, spec: { template } }))
    expect(JSON.stringify(redacted)).not.toContain(name)
  },
)

test('redaction cuts two long texts with the same start, and they still differ', () => {
  const phase = (end: string) =>
    (redact(object({ status: { phase: 'x'.repeat(50_000) + end } })) as unknown as { status: { phase: string } }).status
      .phase
  expect(phase('a').length).toBeLessThan(8_500)
  expect(phase('a')).toBe(phase('a'))
  expect(phase('a')).not.toBe(phase('b'))
})

test('redaction cuts an object that is nested 100,000 levels deep', () => {
  const depth = 100_000
  const deep = JSON.parse(`${'{"spec":'.repeat(depth)}1${'}'.repeat(depth)}`)
  expect(JSON.stringify(redact(object(deep))).length).toBeLessThan(10_000)
  const env = JSON.parse(`{"spec":{"env":{"A":${'['.repeat(depth)}${']'.repeat(depth)}}}}`)
  expect(JSON.stringify(redact(object(env)))).toContain('hmac:')
})

test('equal values have equal hashes, and each process has its own hashes', () => {
  const value = (text: string, by = redact) =>
    (by(object({ kind: 'Secret', data: { a: text } })) as unknown as { data: { a: string } }).data.a
  expect(value('x')).toBe(value('x'))
  expect(value('x')).not.toBe(value('y'))
  expect(value('x', new Redactor().redact)).not.toBe(value('x', new Redactor().redact))
})

test('redaction returns an object without secrets unchanged and never changes the original', () => {
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

test('redaction keeps hostile keys as keys', () => {
  const hostile = JSON.parse(
    '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"},"data":{"__proto__":"secret"}}',
  )
  expect(JSON.stringify(redact(hostile))).toMatch(/"__proto__":"hmac:/)
})

test('redaction of objects of unexpected shapes throws no error', () => {
  for (const fields of [
    { kind: 'Secret', data: 'x' },
    { metadata: null },
    { metadata: { managedFields: [null, 'x'] } },
    { spec: { env: [null, 1, 'x', { name: { toString: 7 }, value: 'x' }] } },
    { spec: { command: [{ toString: 7 }], replicas: { valueOf: 7, toString: 7 } } },
  ]) {
    expect(() => redact(object(fields))).not.toThrow()
  }
  expect(`${(redact(object({ spec: { toString: 7, valueOf: 7 } })) as { spec?: object }).spec}`).toBe('[object Object]')
})

test.each(rows<[string, object, readonly string[]]>(data, 'secrets come from'))(
  'secret values are collected from %s',
  (_, fields, expected) => {
    const added: string[] = []
    const add = (name: string, value: string) => void added.push(`${name}=${value}`)
    const hiding = new Redactor(Buffer.from('key'), {
      addFromSecret: add,
      addFromSetting: add,
      addFromText: add,
      redact: (text) => text,
    })
    hiding.redact(object(fields))
    expect(new Set(added)).toEqual(new Set(expected))
  },
)

test.each(rows<[string, object]>(data, 'the values of a chart are hashed'))(
  'redaction hashes the chart values %s',
  (_, fields) => {
    const redacted = JSON.stringify(redact(object(fields)))
    expect(redacted).not.toContain('hunter2')
    expect(redacted).toContain('hmac:')
  },
)

describe('a secret value in a custom resource or any object', () => {
  const secret = 'open-sesame-1'
  const places = rows<[string, object, boolean]>(data, 'a secret of any object')
  test.each(places)('%s is collected', (_, fields) => {
    const secrets = new Secrets()
    new Redactor(Buffer.from('key'), secrets).redact(object(fields))
    expect(secrets.redact(`login with ${secret}`)).toBe('login with ***')
  })

  test.each(places.filter(([, , isHashed]) => isHashed))('%s is hashed', (_, fields) => {
    const redacted = JSON.stringify(redact(object(fields)))
    expect(redacted).not.toContain(secret)
    expect(redacted).toContain('hmac:')
  })

  test.each(rows<[string, object]>(data, 'is known and hashed without quotes too'))(
    'is collected and hashed without quotes %s',
    (_, fields) => {
      const secrets = new Secrets()
      const redacted = JSON.stringify(new Redactor(Buffer.from('key'), secrets).redact(object(fields)))
      expect(redacted).not.toContain('90210333')
      expect(secrets.redact('login with 90210333 at 5432')).toBe('login with *** at 5432')
    },
  )

  test.each(rows<[string, object]>(data, 'is not'))('is not %s', (_, fields) => {
    const secrets = new Secrets()
    expect(new Redactor(Buffer.from('key'), secrets).redact(object(fields))).toEqual(object(fields))
    for (const text of rows<string>(data, 'texts with what is no secret')) expect(secrets.redact(text)).toBe(text)
  })
})

describe('in an object from the API server,', () => {
  const leave = (fields: object) => redactTexts(object(fields), (text) => text.replaceAll('sesame', '***'))

  test.each(rows<[string, object]>(data, 'is redacted'))('%s is redacted', (_, fields) => {
    expect(JSON.stringify(leave(fields))).not.toContain('sesame')
  })

  test.each(rows<[string, object]>(data, 'what rules compare'))('%s stay because rules compare them', (_, fields) => {
    expect(leave(fields)).toEqual(object(fields))
  })

  test('codes of the API stay, even if a secret is equal', () => {
    const fields = { status: { reason: 'CrashLoopBackOff', phase: 'Running' } }
    expect(redactTexts(object(fields), () => '***')).toMatchObject(fields)
  })
})

describe('a secret in a random place of a random object', () => {
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
    word.map((name) => ({ metadata: { annotations: { [name]: `of ${secret}` } } })),
    word.map((type) => ({ conditions: [{ type, message: `has ${secret}` }] })),
    word.map((name) => ({ spec: { values: { [name]: secret } } })),
  )
  const path = fc.array(fc.oneof(word, fc.constant(0)), { maxLength: 6 })
  const nest = (value: object, steps: readonly (string | number)[]): object =>
    steps.reduceRight<object>((inner, step) => (step === 0 ? [inner] : { [step]: inner, other: 'x' }), value)

  test('is in no output of the process', () => {
    const secrets = new Secrets()
    secrets.addFromSecret('known', secret)
    const hiding = new Redactor(undefined, secrets)
    fc.assert(
      fc.property(planted, path, (part, steps) => {
        const whole = hiding.redact(object({ kind: 'Thing', spec: nest(part, steps) }))
        expect(JSON.stringify(redactTexts(whole, secrets.redact))).not.toMatch(new RegExp(`${secret}|${encoded}`))
      }),
      parameters,
    )
  })
})

describe('for an object whose last-applied annotation is kept,', () => {
  const recording = new Redactor()
  recording.keepRecordsOf([{ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' }])
  const fieldsV1 = {
    'f:spec': {
      'f:replicas': {},
      'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"app"}': { 'f:image': {} } } } },
    },
  }
  const text = JSON.stringify({ metadata: { name: 'web' }, spec: { replicas: 1, password: 'hunter2' } })
  const object = (name: string) =>
    recording.redact({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {
        name,
        namespace: 'shop',
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': text },
        managedFields: [
          { manager: 'kubectl', operation: 'Update', fieldsV1 },
          { manager: 'kube-controller-manager', operation: 'Update', subresource: 'status', fieldsV1 },
        ],
      },
    } as unknown as KubeObject)

  test('the names of owned fields and hashes of applied values are kept', () => {
    const { metadata } = object('web')
    const owned = ['/spec/replicas', '/spec/template/spec/containers/name=app/image']
    expect(metadata.managedFields?.map(({ ownedFields }) => ownedFields)).toEqual([owned, undefined])
    expect(Object.keys(metadata.applied ?? {})).toEqual(['/spec/replicas', '/spec/password'])
    expect(JSON.stringify(metadata)).not.toMatch(/hunter2|last-applied|fieldsV1/)
    expect(metadata.applied?.['/spec/replicas']).toBe(recording.hashLeaves({ spec: { replicas: 1 } })['/spec/replicas'])
  })

  test('all fields have the types that rules expect', () => expect(explainWrongType(object('web'))).toBeUndefined())

  test('other objects of its kind contain nothing of it', () => {
    expect(object('api').metadata).toEqual({
      name: 'api',
      namespace: 'shop',
      annotations: {},
      managedFields: [
        { manager: 'kubectl', operation: 'Update' },
        { manager: 'kube-controller-manager', operation: 'Update', subresource: 'status' },
      ],
    })
  })
})
