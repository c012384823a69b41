import fc from 'fast-check'
import { objectMistake } from '../../src/cluster/object-schema.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { createRedactor, redactTexts } from '../../src/cluster/redact.ts'
import { Secrets } from '../../src/cluster/secrets.ts'
import { rows } from '../kit/rows.ts'
import { parameters } from '../support/thorough.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

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

test.each(rows<[string, string, string]>(data, 'a copy of an object in an annotation is dropped'))(
  'a copy of an object in an annotation is dropped: %s',
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

test('values of a Secret inside another object are hashed even without an apiVersion, but not the values of a kind Secret of another group', () => {
  const inside = (secret: object) =>
    JSON.stringify(redact(object({ spec: { objects: [{ kind: 'Secret', ...secret, data: { key: 'open-sesame' } }] } })))
  expect(inside({})).not.toContain('open-sesame')
  expect(inside({ apiVersion: 'v1' })).not.toContain('open-sesame')
  expect(inside({ apiVersion: 'vault.example/v1' })).toContain('open-sesame')
})

test('two long texts with the same start are cut, and still differ', () => {
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

test.each(rows<[string, object]>(data, 'environment values of are hashed'))(
  'environment values of %s are hashed',
  (_, fields) => {
    const stripped = JSON.stringify(redact(object(fields)))
    expect(stripped).not.toContain('hunter2')
    expect(stripped).toContain('"name":"A","value":"hmac:')
  },
)

test('references in the environment stay as they are', () => {
  const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }]
  expect(redact(object({ spec: { containers: [{ env }] } }))).toMatchObject({ spec: { containers: [{ env }] } })
})

test('equal values have equal hashes, different values have different ones, and each process has its own hashes', () => {
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
    { spec: { env: [null, 1, 'x', { name: { toString: 7 }, value: 'x' }] } },
    { spec: { command: [{ toString: 7 }], replicas: { valueOf: 7, toString: 7 } } },
  ]) {
    expect(() => redact(object(fields))).not.toThrow()
  }
  expect(`${(redact(object({ spec: { toString: 7, valueOf: 7 } })) as { spec?: object }).spec}`).toBe('[object Object]')
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

test('secrets come from Secrets, from variables whose name looks secret, and from charts', () => {
  const added: string[] = []
  const add = (name: string, value: string) => void added.push(`${name}=${value}`)
  const hiding = createRedactor(Buffer.from('key'), {
    learnSecret: add,
    learnSetting: add,
    learnText: add,
    redact: (text) => text,
  })
  const learnedFrom = (fields: object) => {
    added.length = 0
    hiding(object(fields))
    return [...new Set(added)]
  }
  expect(learnedFrom({ kind: 'Secret', data: { a: 'aHVudGVyMg==' }, stringData: { b: 'swordfish' } })).toEqual([
    'b=swordfish',
    'a=hunter2',
  ])
  const annotations = { 'openshift.io/token-secret.value': 'plugh' }
  expect(learnedFrom({ kind: 'Secret', metadata: { name: 'x', annotations } })).toEqual([
    'openshift.io/token-secret.value=plugh',
  ])
  const env = [
    { name: 'DB_PASSWORD', value: 'xyzzy' },
    { name: 'API_TOKEN', valueFrom: {} },
  ]
  expect(learnedFrom({ spec: { containers: [{ env }] } })).toEqual(['DB_PASSWORD=xyzzy'])
  expect(learnedFrom({ kind: 'HelmRelease', spec: { values: { db: { password: 'xyzzy' } } } })).toEqual([
    'password=xyzzy',
  ])
})

test.each(rows<[string, object]>(data, 'the values of a chart are hashed'))(
  'the values of a chart are hashed: %s',
  (_, fields) => {
    const redacted = JSON.stringify(redact(object(fields)))
    expect(redacted).not.toContain('hunter2')
    expect(redacted).toContain('hmac:')
  },
)

describe('a secret of a custom resource, or of any object,', () => {
  const secret = 'open-sesame-1'
  const annotated = (annotations: object) => ({ spec: { template: { metadata: { annotations } } } })
  const places = [
    ['in a field by its name', { kind: 'Widget', spec: { auth: { adminPassword: secret } } }],
    ['in a field of its status', { kind: 'Widget', status: { apiToken: secret } }],
    ['in a list', { kind: 'Widget', spec: { users: [{ name: 'me', 'client-secret': secret }] } }],
    [
      'in an annotation by its name',
      { kind: 'Widget', metadata: { name: 'x', annotations: { 'example.com/auth-token': secret } } },
    ],
    [
      'in JSON in an annotation',
      { kind: 'Widget', metadata: { name: 'x', annotations: { note: `{"db":{"password":"${secret}"}}` } } },
    ],
    ["in JSON in a pod template's annotation", annotated({ config: `[{"apiKey": "${secret}"}]` })],
    ["in YAML in a pod template's annotation", annotated({ config: `user: me\npassword: ${secret}\n` })],
    ["in a URL in a pod template's annotation", annotated({ url: `amqp://me:${secret}@mq` })],
    ['in a value of a chart of k3s', { kind: 'HelmChart', spec: { set: { 'db.password': secret } } }],
    [
      'in a value of a chart, as a list',
      { kind: 'Release', spec: { forProvider: { set: [{ name: 'db.password', value: secret }] } } },
    ],
    ['in a variable of Flux', { kind: 'Kustomization', spec: { postBuild: { substitute: { db_password: secret } } } }],
    ['in an argument', { spec: { containers: [{ args: ['serve', `--db-password=${secret}`] }] } }],
    ['in an argument after its flag', { spec: { containers: [{ args: ['--user', 'me', '--db-password', secret] }] } }],
    ['in a setting in an argument', { spec: { containers: [{ args: [`--set=user=me,db.password=${secret}`] }] } }],
    ['in a command', { spec: { containers: [{ command: ['sh', '-c', `DB_PASSWORD=${secret} serve`] }] } }],
  ] as const
  test.each(places)('%s is known', (_, fields) => {
    const secrets = new Secrets()
    createRedactor(Buffer.from('key'), secrets)(object(fields))
    expect(secrets.redact(`login with ${secret}`)).toBe('login with ***')
  })

  test.each(
    places.filter(([, fields]) =>
      /"(?:adminPassword|apiToken|client-secret|set|substitute|example.com.auth-token)"/.test(JSON.stringify(fields)),
    ),
  )('%s becomes a hash', (_, fields) => {
    const redacted = JSON.stringify(redact(object(fields)))
    expect(redacted).not.toContain(secret)
    expect(redacted).toContain('hmac:')
  })

  test.each([
    ['in a field', { kind: 'Widget', spec: { password: 90_210_333 } }],
    [
      'in the values of a chart',
      { kind: 'HelmRelease', spec: { values: { db: { password: 90_210_333, port: 5432 } } } },
    ],
  ])('is known and hashed without quotes too, %s', (_, fields) => {
    const secrets = new Secrets()
    const redacted = JSON.stringify(createRedactor(Buffer.from('key'), secrets)(object(fields)))
    expect(redacted).not.toContain('90210333')
    expect(secrets.redact('login with 90210333 at 5432')).toBe('login with *** at 5432')
  })

  test.each(rows<[string, object]>(data, 'is not'))('is not %s', (_, fields) => {
    const secrets = new Secrets()
    expect(createRedactor(Buffer.from('key'), secrets)(object(fields))).toEqual(object(fields))
    for (const text of [
      'Secret database-login is missing',
      'database-login.shop.svc.cluster.local',
      'registry.example.com/database-login:v1',
      'open /etc/database-login/tls.key: no such file, $(LOGIN_TOKEN) $LOGIN_TOKEN',
      'true',
      'false',
    ])
      expect(secrets.redact(text)).toBe(text)
  })
})

test('the values of a selector stay', () => {
  const spec = { selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['web'] }] } }
  expect(redact(object({ spec }))).toEqual(object({ spec }))
})

test('an annotation whose value is an object is dropped', () => {
  const template = { metadata: { annotations: { copy: { password: 'hunter2' }, note: 'kept' } } }
  expect(redact(object({ spec: { template } }))).toMatchObject({
    spec: { template: { metadata: { annotations: { note: 'kept' } } } },
  })
  expect(JSON.stringify(redact(object({ spec: { template } })))).not.toContain('hunter2')
})

describe('what leaves as the cluster returned it', () => {
  const leave = (fields: object) => redactTexts(object(fields), (text) => text.replaceAll('sesame', '***'))

  test.each(rows<[string, object]>(data, 'is redacted'))('%s is redacted', (_, fields) => {
    expect(JSON.stringify(leave(fields))).not.toContain('sesame')
  })

  test.each([
    ['names', { metadata: { name: 'sesame', namespace: 'sesame', uid: 'sesame', generateName: 'sesame-' } }],
    ['labels and selectors', { metadata: { labels: { app: 'sesame' } }, spec: { selector: { app: 'sesame' } } }],
    ['references', { spec: { scaleTargetRef: { kind: 'Deployment', name: 'sesame' }, nodeName: 'sesame' } }],
    ['owners', { metadata: { ownerReferences: [{ uid: 'sesame', name: 'sesame' }] } }],
    ['images', { spec: { containers: [{ image: 'registry/sesame:v1' }] } }],
  ])('%s stay, since rules compare them', (_, fields) => {
    expect(leave(fields)).toEqual(object(fields))
  })

  test('codes of the API stay, even if a secret is equal', () => {
    const fields = { status: { reason: 'CrashLoopBackOff', phase: 'Running' } }
    expect(redactTexts(object(fields), () => '***')).toMatchObject(fields)
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
    word.map((name) => ({ metadata: { annotations: { [name]: `of ${secret}` } } })),
    word.map((type) => ({ conditions: [{ type, message: `has ${secret}` }] })),
    word.map((name) => ({ spec: { values: { [name]: secret } } })),
  )
  const path = fc.array(fc.oneof(word, fc.constant(0)), { maxLength: 6 })
  const nest = (value: object, steps: readonly (string | number)[]): object =>
    steps.reduceRight<object>((inner, step) => (step === 0 ? [inner] : { [step]: inner, other: 'x' }), value)

  test('is in no text that leaves the process', () => {
    const secrets = new Secrets()
    secrets.learnSecret('known', secret)
    const hiding = createRedactor(undefined, secrets)
    fc.assert(
      fc.property(planted, path, (part, steps) => {
        const whole = hiding(object({ kind: 'Thing', spec: nest(part, steps) }))
        expect(JSON.stringify(redactTexts(whole, secrets.redact))).not.toMatch(new RegExp(`${secret}|${encoded}`))
      }),
      parameters,
    )
  })
})

describe('of an object whose records are kept', () => {
  const recording = createRedactor()
  recording.keepRecordsOf([{ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' }])
  const fieldsV1 = {
    'f:spec': {
      'f:replicas': {},
      'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"app"}': { 'f:image': {} } } } },
    },
  }
  const text = JSON.stringify({ metadata: { name: 'web' }, spec: { replicas: 1, password: 'hunter2' } })
  const object = (name: string) =>
    recording({
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

  test('the names of the owned fields stay, and hashes of what was applied', () => {
    const { metadata } = object('web')
    const owned = ['/spec/replicas', '/spec/template/spec/containers/name=app/image']
    expect(metadata.managedFields?.map(({ ownedFields }) => ownedFields)).toEqual([owned, undefined])
    expect(Object.keys(metadata.applied ?? {})).toEqual(['/spec/replicas', '/spec/password'])
    expect(JSON.stringify(metadata)).not.toMatch(/hunter2|last-applied|fieldsV1/)
    expect(metadata.applied?.['/spec/replicas']).toBe(recording.hashLeaves({ spec: { replicas: 1 } })['/spec/replicas'])
  })

  test('they have the types that rules expect', () => expect(objectMistake(object('web'))).toBeUndefined())

  test('nothing of it stays in another object of the kind', () => {
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
