import { getOctokit } from '@actions/github'
import { startGitHub } from './github-server.ts'

const check = { name: 'Rollout', head_sha: '0123' }
const path = 'POST /repos/acme/shop/check-runs'

it.each([
  ['lacks a field', path, { name: 'Rollout' }, /head_sha/],
  ['has an unknown field', path, { ...check, sha: '0123' }, /additional properties.*"sha"/],
  ['has an unknown value', path, { ...check, status: 'running' }, /status must be equal to one of/],
  [
    'completes without a conclusion',
    'PATCH /repos/acme/shop/check-runs/1',
    { status: 'completed' },
    /must have required property 'conclusion'/,
  ],
  ['has an invalid date', path, { ...check, started_at: 'yesterday' }, /started_at must match format/],
  [
    'has too long a summary',
    path,
    { ...check, output: { title: 'x', summary: 'x'.repeat(65_536) } },
    /summary must NOT have more than 65535/,
  ],
  [
    'has too long a description',
    `POST /repos/acme/shop/statuses/${'0'.repeat(40)}`,
    { state: 'success', description: 'x'.repeat(141) },
    /description is too long/,
  ],
  ['has an unknown path', 'POST /repos/acme/shop/checks', check, /is no operation/],
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
