import { getOctokit } from '@actions/github'
import { startGitHub } from './github-server.ts'

describe('the mock of GitHub', () => {
  const check = { name: 'Rollout', head_sha: '0123' }
  const path = 'POST /repos/acme/shop/check-runs'

  it.each([
    ['lacks a field', path, { name: 'Rollout' }, /head_sha/],
    ['has a field that GitHub does not know', path, { ...check, sha: '0123' }, /additional properties.*"sha"/],
    ['has a word that GitHub does not know', path, { ...check, status: 'running' }, /status must be equal to one of/],
    [
      'completes without a conclusion',
      'PATCH /repos/acme/shop/check-runs/1',
      { status: 'completed' },
      /must have required property 'conclusion'/,
    ],
    ['has a date that is none', path, { ...check, started_at: 'yesterday' }, /started_at must match format/],
    [
      'has too long a summary',
      path,
      { ...check, output: { title: 'x', summary: 'x'.repeat(65_536) } },
      /summary must NOT have more than 65535/,
    ],
    ['goes nowhere', 'POST /repos/acme/shop/checks', check, /is no operation/],
    [
      'names a number by a word',
      'POST /repos/acme/shop/issues/twelve/comments',
      { body: 'x' },
      /issue_number must be integer/,
    ],
  ])('notes a request that %s', async (_, operation, body, breach) => {
    const github = await startGitHub()
    try {
      const octokit = getOctokit('ghs_0123', { baseUrl: github.url })
      await expect(octokit.request(operation, body)).rejects.toThrow()
      expect(github.breaches.join('\n')).toMatch(breach)
    } finally {
      await github.close()
    }
  })
})
