import type { RequestOptions } from 'node:https'
import { loadKubeconfig, proxyFromEnvironment } from '../../src/cluster/kubeconfig.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const proxy = 'http://proxy.example:3128'
const through = (server: string, noProxy = '') =>
  proxyFromEnvironment(server, { HTTPS_PROXY: proxy, NO_PROXY: noProxy })

test('the proxy is chosen by the scheme of the server, in upper or lower case', () => {
  expect(proxyFromEnvironment('https://api.example', { https_proxy: proxy })).toBe(proxy)
  expect(proxyFromEnvironment('http://api.example', { HTTP_PROXY: proxy })).toBe(proxy)
  expect(proxyFromEnvironment('https://api.example', { HTTP_PROXY: proxy })).toBeUndefined()
  expect(proxyFromEnvironment('https://api.example', {})).toBeUndefined()
})

test('a proxy without a scheme uses HTTP', () => {
  expect(proxyFromEnvironment('https://api.example', { HTTPS_PROXY: 'proxy.example:3128' })).toBe(proxy)
})

test('a local server is never behind a proxy', () => {
  for (const server of ['https://localhost:6443', 'https://127.0.0.1:6443', 'https://[::1]:6443']) {
    expect(through(server)).toBeUndefined()
  }
})

test.each(rows<string>(data, 'NO_PROXY'))('the proxy is not used for api.example:6443 if NO_PROXY is "%s"', (noProxy) =>
  expect(through('https://api.example:6443', noProxy)).toBeUndefined(),
)

test.each(['pi.example', 'api.example:443', 'api', '10.0.0.0/8', ''])(
  'the proxy is used for api.example:6443 if NO_PROXY is "%s"',
  (noProxy) => expect(through('https://api.example:6443', noProxy)).toBe(proxy),
)

test.each(['10.0.0.0/8', '10.1.2.3', '10.1.2.3:6443'])(
  'the proxy is not used for 10.1.2.3 if NO_PROXY is "%s"',
  (noProxy) => expect(through('https://10.1.2.3:6443', noProxy)).toBeUndefined(),
)

test.each(['10.0.0.0/16', '3', '10.0.0.0/99', 'fd00::/8'])(
  'the proxy is used for 10.1.2.3 if NO_PROXY is "%s"',
  (noProxy) => expect(through('https://10.1.2.3:6443', noProxy)).toBe(proxy),
)

test('NO_PROXY supports ranges of IPv6 addresses', () => {
  expect(through('https://[fd00::1]:6443', 'fd00::/8')).toBeUndefined()
  expect(through('https://[fe80::1]:6443', 'fd00::/8')).toBe(proxy)
})

function agentOf(proxy: string) {
  const content = {
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: 'https://api.example', 'proxy-url': proxy } }],
  }
  const kubeconfig = loadKubeconfig({ kubeconfig: JSON.stringify(content) })
  const request: RequestOptions = {}
  return kubeconfig.applyTo(request).then(() => ({ agent: request.agent, secrets: kubeconfig.secrets }))
}

test.each([
  ['http', 'http://me:p%40ss@proxy:3128', { proxy: { username: 'me', password: 'p%40ss' } }],
  ['socks5', 'socks5://me:p%40ss@proxy:1080', { proxy: { userId: 'me', password: 'p@ss' }, shouldLookup: false }],
])('the credentials of a proxy with the scheme %s are used and masked', async (_, proxy, expected) => {
  const { agent, secrets } = await agentOf(proxy)
  expect(agent).toMatchObject(expected)
  expect(secrets).toEqual(expect.arrayContaining(['p%40ss', 'p@ss']))
})
