import { getOctokit } from '@actions/github'
import { startGitHub } from './github-server.ts'

const deployment = { ref: '0123' }
const path = 'POST /repos/acme/shop/deployments'

it.each([
  ['lacks a field', path, { environment: 'shop' }, /ref/],
  ['has an unknown field', path, { ...deployment, sha: '0123' }, /additional properties.*"sha"/],
  [
    'has an unknown value',
    `POST /repos/acme/shop/statuses/${'0'.repeat(40)}`,
    { state: 'running' },
    /state must be equal to one of/,
  ],
  [
    'has too long a description',
    `POST /repos/acme/shop/statuses/${'0'.repeat(40)}`,
    { state: 'success', description: 'x'.repeat(141) },
    /description is too long/,
  ],
  ['has an unknown path', 'POST /repos/acme/shop/checks', deployment, /is no operation/],
  [
    'has a word as a number',
    'POST /repos/acme/shop/issues/twelve/comments',
    { body: 'x' },
    /issue_number must be integer/,
  ],
])('the GitHub server of the tests rejects a request that %s', async (_, operation, body, breach) => {
  const github = await startGitHub()
  try {
    const octokit = getOctokit('ghs_0123', { baseUrl: github.url })
    await expect(octokit.request(operation, body)).rejects.toThrow()
    expect(github.breaches.join('\n')).toMatch(breach)
  } finally {
    await github.close()
  }
})
