import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type Kubeconfig, type KubeconfigInput, loadKubeconfig } from '../../src/cluster/kubeconfig.ts'
import { UserError } from '../../src/errors.ts'
import { rows } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const pem = Buffer.from('-----BEGIN CERTIFICATE-----\nMIIBcertificateline\n-----END CERTIFICATE-----\n').toString(
  'base64',
)

interface Parts {
  cluster?: object
  user?: object
  context?: object
  name?: string
  currentContext?: string
}

function kubeconfig({ cluster, user, context, name = 'prod', currentContext = name }: Parts = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: 'https://api.example:6443', ...cluster } }],
    users: [{ name, user: { token: 'sesame-open', ...user } }],
    contexts: [{ name, context: { cluster: name, user: name, ...context } }],
    'current-context': currentContext,
  }
}

const text = (parts?: Parts) => JSON.stringify(kubeconfig(parts), null, 2)
const base64 = (plain: string) => Buffer.from(plain).toString('base64')

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
})
afterEach(() => rmSync(home, { recursive: true }))

const load = (input: KubeconfigInput = {}, env: NodeJS.ProcessEnv = {}) =>
  loadKubeconfig(input, { env, home, serviceAccount: join(home, 'serviceaccount') })

/** What a kubeconfig adds to a request. */
async function optionsOf(kubeconfig: Kubeconfig): Promise<RequestOptions & { agent?: object }> {
  const request: RequestOptions & { agent?: object } = {}
  await kubeconfig.applyTo(request)
  return request
}

function write(path: string, content: string): string {
  const file = join(home, path)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, content)
  return file
}

/** The mistake that loading reports. */
function mistake(input: KubeconfigInput, env: NodeJS.ProcessEnv = {}): string {
  try {
    load(input, env)
  } catch (error) {
    if (error instanceof UserError) return error.message
    throw error
  }
  throw new Error('the kubeconfig was accepted')
}

describe('the kubeconfig', () => {
  test.each([
    ['JSON', text()],
    [
      'YAML',
      `current-context: prod\n${['clusters', 'users', 'contexts'].map((list) => `${list}: ${JSON.stringify(kubeconfig()[list as 'users'])}`).join('\n')}\n`,
    ],
    ['base64', base64(text())],
    ['base64 wrapped at 76 columns', base64(text()).replace(/.{76}/g, '$&\n')],
    ['base64 wrapped by Windows', base64(text()).replace(/.{64}/g, '$&\r\n')],
    ['base64 without padding', base64(text()).replace(/=+$/, '')],
    ['text with a byte order mark', `\uFEFF${text()}`],
  ])('the input contains the kubeconfig as %s', (_, given) => {
    expect(load({ kubeconfig: given })).toMatchObject({
      context: 'prod',
      server: 'https://api.example:6443',
      user: 'prod',
    })
  })

  test('is in the file that the input names', () => {
    expect(load({ kubeconfig: write('config.yaml', text()) }).context).toBe('prod')
  })

  test('is in a file in the home folder, even in base64', () => {
    write('secrets/config', base64(text()))
    expect(load({ kubeconfig: '~/secrets/config' }).context).toBe('prod')
  })

  test('is merged from several files in $KUBECONFIG, without missing files', () => {
    const first = write('first', text({ name: 'first', cluster: { server: 'https://first' } }))
    const second = write('second', text({ name: 'first', cluster: { server: 'https://second' } }))
    const third = write('third', text({ name: 'third', currentContext: 'third' }))
    const env = { KUBECONFIG: [join(home, 'missing'), first, second, third].join(delimiter) }
    expect(load({}, env)).toMatchObject({
      context: 'first',
      server: 'https://first',
      source: `$KUBECONFIG (${first}, ${second}, ${third})`,
    })
    expect(load({ context: 'third' }, env).context).toBe('third')
  })

  test('is ~/.kube/config without an input and $KUBECONFIG', () => {
    write('.kube/config', text({ name: 'home' }))
    expect(load()).toMatchObject({ context: 'home', source: '~/.kube/config' })
  })

  test('in the input has no name in messages', () => {
    expect(load({ kubeconfig: text() }).source).toBeUndefined()
  })

  test('is named in a mistake', () => {
    write('.kube/config', text({ name: 'home' }))
    expect(mistake({ context: 'prod' })).toBe(
      'context: The kubeconfig has no context "prod". It has: home. The kubeconfig is ~/.kube/config, because none is given.',
    )
  })
})

describe('the service account of the pod', () => {
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
  const context = 'in-cluster'

  beforeEach(() => {
    write('serviceaccount/token', 'pod-token')
    write('serviceaccount/ca.crt', '-----BEGIN CERTIFICATE-----')
    write('serviceaccount/namespace', 'runners\n')
  })

  test('is used with the context in-cluster, before ~/.kube/config', async () => {
    write('.kube/config', text({ name: 'home' }))
    const loaded = load({ context }, env)
    expect(loaded).toMatchObject({
      server: 'https://[fd00::1]:443',
      namespace: 'runners',
      source: 'the service account of this pod',
    })
    expect(await optionsOf(loaded)).toMatchObject({ headers: { Authorization: 'Bearer pod-token' } })
  })

  test('is not used without that context: the error contains the context to write', () => {
    expect(mistake({}, env)).toContain('No kubeconfig was found')
    expect(mistake({}, env)).toContain('set the input `context` to in-cluster')
    expect(mistake({})).not.toContain('in-cluster')
  })

  test('is not used for a kubeconfig in the input', () => {
    expect(load({ kubeconfig: text({ name: context }), context }, env).source).toBeUndefined()
    expect(mistake({ kubeconfig: text(), context }, env)).toContain('has no context "in-cluster". It has: prod.')
  })
})

describe('mistakes', () => {
  /** The kubeconfig of a row: its text, or its parts. */
  const given = (kubeconfig: string | Parts) => (typeof kubeconfig === 'string' ? kubeconfig : text(kubeconfig))

  test.each(rows<[string, string | Parts, string]>(data, 'mistakes'))('%s', (_, kubeconfig, message) => {
    expect(mistake({ kubeconfig: given(kubeconfig) })).toMatch(toPattern(`…${message}…`))
  })

  test('an unknown context is rejected with the existing contexts', () => {
    expect(mistake({ kubeconfig: text(), context: 'pord' })).toBe(
      'context: The kubeconfig has no context "pord". It has: prod. Did you mean prod?',
    )
  })

  test.each([
    ['a relative path of no file', './missing.yaml', `does not exist. A relative path starts at ${process.cwd()}.`],
    [
      'base64 of binary data',
      Buffer.from('00fffe80c1f5'.repeat(8), 'hex').toString('base64'),
      'cut off, or encoded twice',
    ],
    ['base64 of base64', base64(base64(text())), 'encoded twice'],
  ])('%s is rejected', (_, kubeconfig, message) => {
    expect(mistake({ kubeconfig })).toContain(message)
  })

  test('a missing kubeconfig is rejected with hints about an empty secret and a missing login', () => {
    expect(mistake({})).toMatch(/^kubeconfig: No kubeconfig was found: .* secrets are not available\. Otherwise log in/)
  })

  test.each(rows<[string, string, string]>(data, 'mistakes that do not quote hunter2'))(
    '%s',
    (_, kubeconfig, message) => {
      expect(mistake({ kubeconfig })).toMatch(toPattern(message))
      expect(mistake({ kubeconfig })).not.toContain('hunter2')
    },
  )

  test('a secret in $KUBECONFIG is not quoted', () => {
    expect(mistake({}, { KUBECONFIG: 'hunter2hunter2' })).toMatch(/\$KUBECONFIG names no file(?!.*hunter2)/)
  })

  test('a folder is rejected as a kubeconfig', () => {
    expect(mistake({ kubeconfig: home })).toContain('is a folder')
  })
})

describe('the connection from a kubeconfig has', () => {
  test('paths relative to its file', async () => {
    write('.kube/pki/ca.crt', 'ca')
    write('.kube/token', 'rotating')
    const file = write(
      '.kube/config',
      text({ cluster: { 'certificate-authority': 'pki/ca.crt' }, user: { token: '', tokenFile: 'token' } }),
    )
    expect(await optionsOf(load({ kubeconfig: file }))).toEqual({
      ca: Buffer.from('ca'),
      headers: { Authorization: 'Bearer rotating' },
    })
  })

  test('a relative plugin command relative to its file, and a bare name from PATH', () => {
    const user = (command: string) => ({ user: { token: '', exec: { command } } })
    expect(load({ kubeconfig: write('a', text(user('./bin/login'))) }).exec?.command).toBe(join(home, 'bin/login'))
    expect(load({ kubeconfig: write('b', text(user('aws'))) }).exec?.command).toBe('aws')
  })

  test('data instead of a file and a token instead of a plugin, like kubectl', async () => {
    const loaded = load({
      kubeconfig: text({
        cluster: { 'certificate-authority': '/nowhere', 'certificate-authority-data': pem },
        user: { exec: { command: 'aws' } },
      }),
    })
    expect(loaded.exec).toBeUndefined()
    expect(await optionsOf(loaded)).toMatchObject({ ca: Buffer.from(pem, 'base64') })
  })

  test.each(rows<[string, Parts, KubeconfigInput, object]>(data, 'what is read'))('%s', (_, parts, input, expected) => {
    expect(load({ kubeconfig: text(parts), ...input })).toMatchObject(expected)
  })

  test('no certificate file for an empty path, like kubectl', async () => {
    const loaded = load({ kubeconfig: text({ cluster: { 'certificate-authority': '' } }) })
    expect(await optionsOf(loaded)).not.toHaveProperty('ca')
  })

  test('certificates, server name, password and whether the server is verified', async () => {
    const cluster = { 'tls-server-name': 'api.example', 'insecure-skip-tls-verify': true }
    const certificates = { 'client-certificate-data': pem, 'client-key-data': pem }
    const user = { ...certificates, token: '', username: 'ci', password: 'secret-password' }
    expect(await optionsOf(load({ kubeconfig: text({ cluster, user }) }))).toEqual({
      rejectUnauthorized: false,
      servername: 'api.example',
      cert: Buffer.from(pem, 'base64'),
      key: Buffer.from(pem, 'base64'),
      auth: 'ci:secret-password',
      headers: {},
    })
  })

  test('the token, unless there is a token file', async () => {
    expect(await optionsOf(load({ kubeconfig: text({ user: { token: ' abc\n' } }) }))).toEqual({
      headers: { Authorization: 'Bearer abc' },
    })
    const user = { token: 'abc', tokenFile: write('token', 'rotating') }
    expect(await optionsOf(load({ kubeconfig: text({ user }) }))).toEqual({
      headers: { Authorization: 'Bearer rotating' },
    })
  })

  test('the impersonated groups', async () => {
    const user = { as: 'ci', 'as-groups': ['deployers'], 'as-uid': '7', 'as-user-extra': { 'acme/scope': ['x'] } }
    expect((await optionsOf(load({ kubeconfig: text({ user }) }))).headers).toMatchObject({
      'Impersonate-User': 'ci',
      'Impersonate-Uid': '7',
      'Impersonate-Group': ['deployers'],
      'Impersonate-Extra-acme%2Fscope': ['x'],
    })
  })

  test('the proxy of the environment, unless the kubeconfig names its own', async () => {
    const env = { HTTPS_PROXY: 'http://proxy.example:3128' }
    const proxied = await optionsOf(load({ kubeconfig: text() }, env))
    expect(proxied.agent).toMatchObject({ proxy: new URL('http://proxy.example:3128') })
    const own = await optionsOf(load({ kubeconfig: text({ cluster: { 'proxy-url': 'socks5://own' } }) }, env))
    // The proxy resolves the name of the server, as in kubectl.
    expect(own.agent).toMatchObject({ proxy: { host: 'own', type: 5 }, shouldLookup: false })
    expect(load({ kubeconfig: text() }).proxy).toBeUndefined()
  })
})
