import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Agent, get, type RequestOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { loadKubeconfig, proxyFromEnvironment } from '../../src/cluster/kubeconfig.ts'

/**
 * What Node and client-node lack beside kubectl, and `src/cluster` therefore has itself. A test that fails here after an
 * update names code of `proxy.ts`, `kubeconfig-file.ts` or `exec-plugin.ts` that the library may replace.
 */

const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-libraries-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("Node's Agent({ proxyEnv })", () => {
  const asked: string[] = []
  const server = createServer().on('connect', ({ url = '' }, socket) => {
    asked.push(url)
    socket.end('HTTP/1.1 502 no\r\n\r\n')
  })
  beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
  afterAll(() => server.close())

  /** What the proxy is asked for. */
  const askedBy = async (url: string, proxy: string, noProxy = '') => {
    asked.length = 0
    const env = {
      HTTPS_PROXY: proxy.replace('PORT', String((server.address() as AddressInfo).port)),
      NO_PROXY: noProxy,
    }
    const own = proxyFromEnvironment(url, env)
    try {
      const agent = new Agent({ proxyEnv: env } as ConstructorParameters<typeof Agent>[0])
      await once(
        get(url, { agent, lookup: (_host, _options, found) => found(new Error('no such name'), []) }),
        'response',
      )
    } catch {
      // No request of this test succeeds.
    }
    return { asked: [...asked], ownProxy: own === undefined ? 'none' : 'used' }
  }
  const http = 'http://127.0.0.1:PORT'

  it.each<[string, [url: string, proxy: string, noProxy?: string], string, 'none' | 'used']>([
    [
      'uses a proxy for an address in a range of NO_PROXY',
      ['https://10.1.2.3:6443', http, '10.0.0.0/8'],
      '10.1.2.3:6443',
      'none',
    ],
    [
      'uses a proxy for a subdomain of a name in NO_PROXY',
      ['https://a.invalid:6443', http, 'invalid'],
      'a.invalid:6443',
      'none',
    ],
    ['uses a proxy for a local server', ['https://127.0.0.1:1', http], '127.0.0.1:1', 'none'],
    ['does not use a proxy without a scheme', ['https://a.invalid:6443', '127.0.0.1:PORT'], '', 'used'],
    ['does not use a SOCKS proxy', ['https://a.invalid:6443', 'socks5://127.0.0.1:PORT'], '', 'used'],
    [
      'fails with a percent sign in a proxy password',
      ['https://a.invalid:6443', 'http://me:5%@127.0.0.1:PORT'],
      '',
      'used',
    ],
  ])('%s, unlike kubectl', async (_, given, expected, ownProxy) => {
    expect(await askedBy(...given)).toEqual({ asked: expected === '' ? [] : [expected], ownProxy })
  })
})

describe('the KubeConfig of client-node', () => {
  const kubeconfig = (user: object) =>
    JSON.stringify({
      'current-context': 'a',
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
      clusters: [{ name: 'a', cluster: { server: 'https://a.invalid:6443' } }],
      users: [{ name: 'a', user }],
    })
  const applied = async (user: object) => {
    const config = new KubeConfig()
    config.loadFromString(kubeconfig(user))
    const request: RequestOptions = {}
    await config.applyToHTTPSOptions(request)
    return request.headers
  }

  it('gives a credential plugin no KUBERNETES_EXEC_INFO, without which client-go plugins fail', async () => {
    const print = "console.log(JSON.stringify({ status: { token: process.env.KUBERNETES_EXEC_INFO ?? 'missing' } }))"
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: ['-e', print] }
    expect(await applied({ exec })).toEqual({ Authorization: 'Bearer missing' })
  })

  it('does not read the tokenFile of a user', async () => {
    const tokenFile = join(folder, 'token')
    writeFileSync(tokenFile, 'open-sesame')
    expect(await applied({ tokenFile })).not.toHaveProperty('Authorization')
    const request: RequestOptions = {}
    await loadKubeconfig({ kubeconfig: kubeconfig({ tokenFile }) }).applyTo(request)
    expect(request.headers).toEqual({ Authorization: 'Bearer open-sesame' })
  })

  it('cannot merge two files of $KUBECONFIG with the same name', () => {
    const files = ['one', 'two'].map((name) => join(folder, name))
    for (const file of files) writeFileSync(file, kubeconfig({ token: 'open-sesame' }))
    const listed = files.join(delimiter)
    const before = process.env['KUBECONFIG']
    process.env['KUBECONFIG'] = listed
    try {
      expect(() => new KubeConfig().loadFromDefault()).toThrow('Duplicate cluster: a')
    } finally {
      if (before === undefined) delete process.env['KUBECONFIG']
      else process.env['KUBECONFIG'] = before
    }
    expect(loadKubeconfig({}, { env: { KUBECONFIG: listed }, home: '', serviceAccount: '/nowhere' }).user).toBe('a')
  })

  it('does not use the proxy of the environment', async () => {
    const config = new KubeConfig()
    config.loadFromString(kubeconfig({}))
    process.env['HTTPS_PROXY'] = 'http://proxy.invalid:3128'
    const request: RequestOptions = {}
    try {
      await config.applyToHTTPSOptions(request)
    } finally {
      delete process.env['HTTPS_PROXY']
    }
    expect(request.agent).not.toHaveProperty('proxy')
  })
})
