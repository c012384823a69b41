import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { createOctokit } from '../../src/github/octokit.ts'
import { type GitHubServer, startGitHub } from './github-server.ts'

const listPulls = 'GET /repos/{owner}/{repo}/pulls'
const own = { owner: 'acme', repo: 'shop' }

let github: GitHubServer

beforeEach(async () => {
  github = await startGitHub()
})

afterEach(() => github.close())

test('a request follows a repository that was renamed', async () => {
  const location = `${github.url}/repos/acme/store/pulls`
  github.refuse = ({ path }) => (path.endsWith('/shop/pulls') ? { status: 307, headers: { location } } : undefined)
  expect(await createOctokit('ghs_0123', github.url).request(listPulls, own)).toMatchObject({ status: 200 })
  expect(github.requests.map(({ authorization }) => authorization)).toEqual(['token ghs_0123', 'token ghs_0123'])
})

test('the token goes to no other server', async () => {
  const other = await startGitHub()
  github.refuse = () => ({ status: 307, headers: { location: `${other.url}/repos/acme/shop/pulls` } })
  await expect(createOctokit('ghs_0123', github.url).request(listPulls, own)).rejects.toThrow(/redirects to http/)
  expect(other.requests).toEqual([])
  await other.close()
})

test('requests to GitHub go through the proxy of the environment', async () => {
  const targets: (string | undefined)[] = []
  const proxy = createServer().on('connect', ({ url }, socket) => {
    targets.push(url)
    const upstream = connect(Number(new URL(github.url).port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      upstream.pipe(socket).pipe(upstream)
    })
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  process.env['HTTP_PROXY'] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  try {
    await createOctokit('ghs_0123', 'http://github.example/api/v3').request(listPulls, own)
    expect(targets).toEqual(['github.example:80'])
  } finally {
    delete process.env['HTTP_PROXY']
    proxy.close()
  }
})
