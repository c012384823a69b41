import { loadKubeconfig } from '../../src/cluster/kubeconfig.ts'
import { formsOf, secretsIn, secretsInSetting } from '../../src/cluster/secret-values.ts'
import { Secrets } from '../../src/cluster/secrets.ts'

const base64 = (plain: string) => Buffer.from(plain).toString('base64')
const keyLine = 'MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04f'
const keyData = base64(`-----BEGIN EC PRIVATE KEY-----\n${keyLine}\n-----END EC PRIVATE KEY-----\n`)

const yaml = `apiVersion: v1
kind: Config
current-context: prod
clusters:
- name: prod
  cluster:
    server: https://api.example:6443
    proxy-url: http://me:pr%40xypass@proxy.example:3128
contexts:
- name: prod
  context: {cluster: prod, user: token-user}
users:
- name: token-user
  user:
    token: eyJhbGciOi.token.value
- name: password-user
  user:
    username: admin
    password: correct horse
- name: key-user
  user:
    client-key-data: ${keyData}
- name: exec-user
  user:
    exec:
      command: aws
      args: [eks, get-token, --cluster-name, prod, --client-secret, argument-secret, --token=inline-secret]
      env:
      - {name: AWS_PROFILE, value: production}
      - {name: AWS_SECRET_ACCESS_KEY, value: environment-secret}
- name: oidc-user
  user:
    auth-provider:
      name: oidc
      config: {client-id: web-client, refresh-token: refresh-secret}
`

const secretsOf = (kubeconfig: string) =>
  new Set(loadKubeconfig({ kubeconfig }, { env: {}, home: '/nowhere', serviceAccount: '/nowhere' }).secrets)

test('every credential of every user is a secret, as written and in base64', () => {
  const secrets = secretsOf(yaml)
  for (const secret of [
    'eyJhbGciOi.token.value',
    base64('eyJhbGciOi.token.value'),
    'correct horse',
    base64('admin:correct horse'),
    keyData,
    keyLine,
    'argument-secret',
    'inline-secret',
    'environment-secret',
    'refresh-secret',
    'pr@xypass',
  ]) {
    expect(secrets).toContain(secret)
  }
})

test('the line that holds a credential is a secret as a whole', () => {
  expect(secretsOf(yaml)).toContain('token: eyJhbGciOi.token.value')
})

test('what is no secret stays readable', () => {
  const secrets = secretsOf(yaml)
  for (const word of [
    'prod',
    'production',
    'kind: Config',
    'apiVersion: v1',
    'aws',
    '- name: prod',
    'web-client',
    'get-token',
  ]) {
    expect(secrets).not.toContain(word)
  }
})

describe('a setting of a credential plugin', () => {
  const withExec = (exec: object) =>
    JSON.stringify({
      clusters: [{ name: 'prod', cluster: { server: 'https://api.example:6443' } }],
      contexts: [{ name: 'prod', context: { cluster: 'prod', user: 'prod' } }],
      users: [{ name: 'prod', user: { exec: { command: 'login', ...exec } } }],
      'current-context': 'prod',
    })
  const environment = (name: string, value: string) => withExec({ env: [{ name, value }] })

  test.each([
    ['KEYCLOAK_REALM', 'main'],
    ['TOKEN_CACHE_DIR', '/home/runner/.kube/cache/kubelogin-2024'],
    ['USE_TOKEN', 'true'],
    ['SECRET_STORE', 'keyring'],
    ['KEY_VAULT_NAME', 'prod-eu-west-1'],
    ['SECRET_BACKEND', 'secretsmanagerEurope2'],
    ['TOKEN_URL', 'https://login.example.com/oauth2/v2'],
  ])('%s=%s stays readable', (name, value) => {
    expect(secretsOf(environment(name, value))).not.toContain(value)
  })

  test.each([
    ['KEYCLOAK_CLIENT_SECRET', 'main'],
    ['AWS_SESSION_TOKEN', 'production'],
    ['VAULT_API-KEY', 'short'],
    ['TOKEN_OF_CI', 'k3JH8sdf0QmZ'],
    ['SECRET_ID', '0f4c3bd1-6b1e-4b52-9d4e-8a9b7c6d5e4f'],
    ['KEY_MATERIAL', 'abcdefghijklmnopqrstuvwxyz'],
    ['TOKEN_OF_CI', 'Bearer eyJhbGciOiJSUzI1NiIs.eyJzdWIiOiJjaSIsIm5h'],
  ])('%s=%s is masked', (name, value) => {
    expect(secretsOf(environment(name, value))).toContain(value)
  })

  test.each([
    [['--token-cache-storage=disk'], 'disk'],
    [['--token-cache-storage', 'keyring'], 'keyring'],
    [['--oidc-use-access-token=true'], 'true'],
  ])('the value in %j stays readable', (args, value) => {
    expect(secretsOf(withExec({ args }))).not.toContain(value)
  })

  test.each([
    [['--oidc-client-secret=main'], 'main'],
    [['--api-key', 'main'], 'main'],
  ])('the value in %j is masked', (args, value) => {
    expect(secretsOf(withExec({ args }))).toContain(value)
  })
})

test('the text around the PEM block of a certificate stays readable', () => {
  const data = base64(`Certificate:\n    Data:\n-----BEGIN CERTIFICATE-----\n${keyLine}\n-----END CERTIFICATE-----\n`)
  const secrets = secretsOf(yaml.replace(/client-key-data: .*/, `client-certificate-data: ${data}`))
  expect(secrets).toContain(keyLine)
  expect(secrets).not.toContain('Data:')
})

test('a kubeconfig in base64 is a secret, whole and line by line', () => {
  const wrapped = base64(yaml).replace(/.{76}/g, '$&\n')
  const secrets = secretsOf(wrapped)
  expect(secrets).toContain(wrapped.split('\n')[1])
  expect(secrets).toContain(base64(yaml))
  expect(secrets).toContain('token: eyJhbGciOi.token.value')
})

test('no secret is so short that masking it would garble the log', () => {
  expect([...secretsOf(yaml)].every((secret) => secret.length >= 4)).toBe(true)
})

test('a multi-line secret is masked line by line, without the PEM header', () => {
  expect(formsOf(`-----BEGIN KEY-----\n${keyLine}\n-----END KEY-----`)).toEqual([keyLine, base64(keyLine)])
})

test('every occurrence of a secret becomes stars', () => {
  const secrets = new Secrets()
  for (const secret of ['open', 'a.b', '']) secrets.add(secret)
  expect(secrets.redact('open a.b axb open')).toBe('*** *** axb ***')
})

test('a secret that contains another one is replaced as a whole', () => {
  const secrets = new Secrets()
  secrets.add('sesame')
  expect(secrets.redact('sesame')).toBe('***')
  secrets.add('open-sesame-now')
  expect(secrets.redact('open-sesame-now sesame')).toBe('*** ***')
})

describe('what is secret in a value of a Secret', () => {
  test.each([
    ['a password of letters only', 'value', 'swordfish'],
    ['a password with blanks', 'passphrase', 'correct horse battery'],
    ['a short password with digits, if its name is that of a secret', 'password', 'hunter2'],
    ['a key with symbols', 'anything', 'k3-JH.8sdf'],
    ['a password that looks like a path', 'password', '/p4ss/w0rd'],
  ])('%s', (_, name, value) => {
    expect(secretsIn(name, value)).toEqual([value])
  })

  test.each([
    ['a switch', 'enabled', 'true'],
    ['a short word', 'app', 'web'],
    ['a namespace', 'password', 'default'],
    ['a short value with digits', 'version', 'v1.2.3'],
    ['a word under a public name', 'POSTGRES_USER', 'shopowner'],
    ['the name of an environment', 'setting', 'production'],
    ['a default that repeats its name', 'POSTGRES_PASSWORD', 'postgres'],
    ['a file that no log quotes', 'release', 'x1'.repeat(6_000)],
  ])('not %s, since other text contains it too', (_, name, value) => {
    const secrets = new Secrets()
    secrets.learnSecret(name, value)
    expect(secrets.redact(`of ${value}`)).toBe(`of ${value}`)
  })

  test.each([
    [
      'the password of a URL, as written and decoded',
      'url',
      'postgres://u:s%40same-1@db/shop',
      ['s%40same-1', 's@same-1'],
    ],
    [
      'a password in JSON',
      'config',
      '{"auths":{"r":{"username":"somebody1","password":"open-sesame"}}}',
      ['open-sesame'],
    ],
    ['a password in a file', 'settings.yaml', 'user: somebody1\ndb-password: "open-sesame"\n', ['open-sesame']],
    ['a password in an .env file', '.env', 'MODE=production\nDB_PASSWORD=open-sesame', ['open-sesame']],
    [
      'a password in a connection string',
      'connection',
      'Server=db;User Id=somebody1;Password=open-sesame;',
      ['open-sesame'],
    ],
    ['a password in a data source name', 'dsn', 'host=db user=somebody1 password=open-sesame', ['open-sesame']],
    ['a line that looks like a key', 'key', `a: b\n${keyLine}`, [keyLine]],
  ])('%s', (_, name, value, expected) => {
    expect(secretsIn(name, value)).toEqual(expect.arrayContaining(expected))
    expect(secretsIn(name, value)).not.toContain('somebody1')
  })

  test('of an environment variable, no path of a file and no other variable', () => {
    expect(secretsInSetting('TLS_PRIVATE_KEY', '/etc/tls/tls.key')).toEqual([])
    expect(secretsInSetting('DB_PASSWORD', '$(OTHER_PASSWORD)')).toEqual([])
    expect(secretsInSetting('DB_PASSWORD', '/p4ssw0rd')).toEqual(['/p4ssw0rd'])
  })

  test('of an environment variable without such a name, only what it contains', () => {
    expect(secretsInSetting('DATABASE_URL', 'amqp://u:open-sesame@mq')).toEqual(['open-sesame', 'open-sesame'])
    expect(secretsInSetting('KEYCLOAK_URL', 'https://login.example')).toEqual([])
    expect(secretsInSetting('DB_PASSWORD', 'open-sesame')).toEqual(['open-sesame'])
  })
})

describe('a secret of the cluster is replaced', () => {
  const password = 'p@ss "word"/+ü'
  const secrets = new Secrets()
  secrets.learnSecret('password', password)
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
    words.learnSecret('value', 'swordfish')
    expect(words.redact('login:swordfish@ swordfishes my-swordfish "swordfish"')).toBe(
      'login:***@ swordfishes my-swordfish "***"',
    )
  })

  test('but not if it is the name of a target, which the output shows in any case', () => {
    const names = new Secrets()
    names.learnSecret('host', 'postgres-primary-0')
    names.exempt(['postgres-primary-0'])
    names.learnSecret('host', 'postgres-primary-0')
    expect(names.redact('pod/postgres-primary-0 is not ready')).toBe('pod/postgres-primary-0 is not ready')
  })

  test('and a credential that has been masked stays known', () => {
    const both = new Secrets()
    both.learnSecret('token', 'open-sesame-1')
    expect(both.has('open-sesame-1')).toBe(false)
    both.add('open-sesame-1')
    expect(both.has('open-sesame-1')).toBe(true)
  })
})
