import { rows } from '../kit/rows.ts'
import { findDifferences, type WrittenGate } from './read-back.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const writtenGate: WrittenGate = {
  name: 'E2E: ready',
  headSha: '1111111',
  pullRequest: '12',
  commentUrl: 'https://github.com/acme/shop/pull/12#issuecomment-99',
  deploymentId: '42',
}

const answers = {
  'commits/1111111/status': {
    statuses: [
      { context: 'lint', state: 'failure' },
      { context: writtenGate.name, state: 'success' },
    ],
  },
  'deployments/42': { sha: writtenGate.headSha },
  'deployments/42/statuses': [{ state: 'success' }, { state: 'in_progress' }],
  'issues/comments/99': {
    issue_url: 'https://api.github.com/repos/acme/shop/issues/12',
    body: '<!-- rollout-gate 1 -->\n### ✅ Rollout ready in 31 s',
  },
}

const differences = (changed: object = {}, of: Partial<WrittenGate> = {}) => {
  const all: Record<string, unknown> = { ...answers, ...changed }
  const read = async (path: string) => all[path] ?? Promise.reject(new Error(`GET ${path}: 404`))
  return findDifferences(read, { ...writtenGate, ...of })
}

it('reading back what the extras wrote finds no difference if GitHub has all of it', async () => {
  expect(await differences()).toEqual([])
})

it.each(rows<[string, object, string]>(data, 'reading back what the extras wrote finds'))(
  'reading back what the extras wrote finds %s',
  async (_, changed, sentence) => {
    expect(await differences(changed)).toEqual([sentence])
  },
)

it('reading back what the extras wrote fails with the answer if an object does not exist', async () => {
  await expect(differences({}, { deploymentId: '43' })).rejects.toThrow('GET deployments/43: 404')
})
