import { hintFor } from '../../src/diagnosis/hints.ts'
import type { Problem } from '../../src/lifecycle/assessment.ts'
import { createTarget } from '../gate/builders.ts'

function hint(detail: Problem['detail']): string {
  const problem: Problem = {
    reason: 'config-missing',
    class: 'strike',
    subject: 'pod/web-1-a',
    message: '',
    count: 1,
    firstSeenAt: 0,
    proven: true,
    ...(detail === undefined ? {} : { detail }),
  }
  return hintFor(createTarget(), 'config-missing', { problem })
}

describe('the hint for a missing object', () => {
  it.each([
    [{ object: 'secret/database' }, 'Create secret/database in namespace shop, or correct the reference.'],
    [
      { object: 'secret/database', key: 'password' },
      'Add the key password to secret/database in namespace shop, or correct the reference.',
    ],
    [
      undefined,
      'Create the Secret or ConfigMap (or the key in it) that the message names, in namespace shop, or correct the reference.',
    ],
  ])('of %j says what to create where', (detail, words) => {
    expect(hint(detail)).toBe(words)
  })
})
