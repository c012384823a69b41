import { loadKubeconfig } from '../../src/cluster/kubeconfig.ts'
import { secretsIn, secretsInSetting, stringsToMask } from '../../src/cluster/secret-values.ts'
import { Secrets } from '../../src/cluster/secrets.ts'
import { readData, rows, titled } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const base64 = (plain: string) => Buffer.from(plain).toString('base64')
const keyLine = 'MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04f'
const keyData = base64(`-----BEGIN EC PRIVATE KEY-----\n${keyLine}\n-----END EC PRIVATE KEY-----\n`)

/** A kubeconfig with a user of each kind. */
const yaml = (readData(data) as { readonly kubeconfig: string }).kubeconfig.replace('KEY_DATA', keyData)

const secretsOf = (kubeconfig: string) =>
  new Set(loadKubeconfig({ kubeconfig }, { env: {}, home: '/nowhere', serviceAccount: '/nowhere' }).secrets)

test('every credential of every user is masked, as written and in base64', () => {
  const secrets = secretsOf(yaml)
  const computed = [base64('eyJhbGciOi.token.value'), base64('admin:correct horse'), keyData, keyLine]
  for (const secret of [...computed, ...rows<string>(data, 'every credential of every user is a secret')])
    expect(secrets).toContain(secret)
})

test('the whole line with a credential is masked', () => {
  expect(secretsOf(yaml)).toContain('token: eyJhbGciOi.token.value')
})

test('what is no secret stays readable', () => {
  const secrets = secretsOf(yaml)
  for (const word of rows<string>(data, 'what is no secret stays readable')) expect(secrets).not.toContain(word)
})

describe('a setting of a credential plugin', () => {
  const withExec = (exec: object) =>
    JSON.stringify({
      clusters: [{ name: 'prod', cluster: { server: 'https://api.example:6443' } }],
      contexts: [{ name: 'prod', context: { cluster: 'prod', user: 'prod' } }],
      users: [{ name: 'prod', user: { exec: { command: 'login', ...exec } } }],
      'current-context': 'prod',
    })

  test.each(titled(rows<[object, string]>(data, 'a setting of a plugin stays readable'), ([exec]) => exec))(
    'stays readable: %s',
    (_, [exec, value]) => {
      expect(secretsOf(withExec(exec))).not.toContain(value)
    },
  )

  test.each(titled(rows<[object, string]>(data, 'a setting of a plugin is masked'), ([exec]) => exec))(
    'is masked: %s',
    (_, [exec, value]) => {
      expect(secretsOf(withExec(exec))).toContain(value)
    },
  )
})

test('the text around the PEM block of a certificate stays readable', () => {
  const data = base64(`Certificate:\n    Data:\n-----BEGIN CERTIFICATE-----\n${keyLine}\n-----END CERTIFICATE-----\n`)
  const secrets = secretsOf(yaml.replace(/client-key-data: .*/, `client-certificate-data: ${data}`))
  expect(secrets).toContain(keyLine)
  expect(secrets).not.toContain('Data:')
})

test('a kubeconfig in base64 is masked as a whole and line by line', () => {
  const wrapped = base64(yaml).replace(/.{76}/g, '$&\n')
  const secrets = secretsOf(wrapped)
  expect(secrets).toContain(wrapped.split('\n')[1])
  expect(secrets).toContain(base64(yaml))
  expect(secrets).toContain('token: eyJhbGciOi.token.value')
})

test('very short secrets are not masked', () => {
  expect([...secretsOf(yaml)].every((secret) => secret.length >= 4)).toBe(true)
})

test('a multi-line secret is masked line by line without its PEM header', () => {
  expect(stringsToMask(`-----BEGIN KEY-----\n${keyLine}\n-----END KEY-----`)).toEqual([keyLine, base64(keyLine)])
})

test('every occurrence of a secret is replaced by stars', () => {
  const secrets = new Secrets()
  for (const secret of ['open', 'a.b', '']) secrets.add(secret)
  expect(secrets.redact('open a.b axb open')).toBe('*** *** axb ***')
})

test('a secret that contains another secret is replaced as a whole', () => {
  const secrets = new Secrets()
  secrets.add('sesame')
  expect(secrets.redact('sesame')).toBe('***')
  secrets.add('open-sesame-now')
  expect(secrets.redact('open-sesame-now sesame')).toBe('*** ***')
})

describe('the secret in a value of a Secret', () => {
  test.each(rows<[string, string, string]>(data, 'what is secret as a whole'))('%s', (_, name, value) => {
    expect(secretsIn(name, value)).toEqual([value])
  })

  test.each([
    ...rows<[string, string, string]>(data, 'what other text contains too'),
    ['a file that no log quotes', 'release', 'x1'.repeat(6_000)] as const,
  ])('is not %s, because other texts contain it too', (_, name, value) => {
    const secrets = new Secrets()
    secrets.addFromSecret(name, value)
    expect(secrets.redact(`of ${value}`)).toBe(`of ${value}`)
  })

  test.each(rows<[string, string, string, readonly string[]]>(data, 'what contains a secret'))(
    '%s',
    (_, name, value, expected) => {
      expect(secretsIn(name, value)).toEqual(expect.arrayContaining([...expected]))
      expect(secretsIn(name, value)).not.toContain('somebody1')
    },
  )

  test('a line that looks like a key', () => {
    expect(secretsIn('key', `a: b\n${keyLine}`)).toContain(keyLine)
  })

  test.each(rows<[string, string, string, readonly string[]]>(data, 'of an environment variable'))(
    'of an environment variable %s',
    (_, name, value, expected) => {
      expect(secretsInSetting(name, value)).toEqual(expected)
    },
  )
})

describe('a secret of the cluster', () => {
  const password = 'p@ss "word"/+ü'
  const secrets = new Secrets()
  secrets.addFromSecret('password', password)
  test.each([
    ['as it is', password],
    ['in a URL', `postgres://u:${encodeURIComponent(password)}@db`],
    ['in JSON', JSON.stringify({ text: password })],
    ['in base64', base64(password)],
    ['in base64 of user and password', base64(`user:${password}`)],
    ['in base64 at another offset', base64(`root:${password}!`)],
    ['in base64url', Buffer.from(`u:${password}`).toString('base64url')],
    ['in a text that is cut', `login with ${password.slice(0, 8)}…`],
  ])('%s', (_, text) => {
    const redacted = secrets.redact(text)
    expect(redacted).toContain('***')
    for (const part of [password, encodeURIComponent(password), base64(password).slice(4, 12), password.slice(0, 8)])
      expect(redacted).not.toContain(part)
  })

  test('words only where they stand alone', () => {
    const words = new Secrets()
    words.addFromSecret('value', 'swordfish')
    expect(words.redact('login:swordfish@ swordfishes my-swordfish "swordfish"')).toBe(
      'login:***@ swordfishes my-swordfish "***"',
    )
  })

  test('but not if it is the name of a target, which the output shows in any case', () => {
    const names = new Secrets()
    names.addFromSecret('host', 'postgres-primary-0')
    names.keepReadable(['postgres-primary-0'])
    names.addFromSecret('host', 'postgres-primary-0')
    expect(names.redact('pod/postgres-primary-0 is not ready')).toBe('pod/postgres-primary-0 is not ready')
  })

  test('and a value of a Secret is found if a setting had the same name and value before', () => {
    const both = new Secrets()
    both.addFromSetting('config', 'zebra-quilt9')
    expect(both.redact('zebra-quilt9 is wrong')).toBe('zebra-quilt9 is wrong')
    both.addFromSecret('config', 'zebra-quilt9')
    expect(both.redact('zebra-quilt9 is wrong')).toBe('*** is wrong')
  })

  test('and only a credential is masked in the whole job, once', () => {
    const masked: string[] = []
    const both = new Secrets((secret) => masked.push(secret))
    both.addFromSecret('token', 'open-sesame-1')
    expect(masked).toEqual([])
    both.add('open-sesame-1')
    both.add('open-sesame-1')
    expect(masked).toEqual(['open-sesame-1'])
  })
})
