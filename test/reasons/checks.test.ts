import { hint } from './builders.ts'

const request = { request: 'GET /healthz', scheme: 'http', declared: '' } as const
const some = { counted: { errors: 1, asked: 40, maxErrors: 0 } }
const all = { counted: { errors: 40, asked: 40, maxErrors: 0 } }
const answer = { ...request, body: '', expectsTls: false, expectStatus: '200-299' }

describe('the hint of requests that failed while it rolled out', () => {
  it('names what lets an old pod end without lost requests', () => {
    const lost = hint('no-answer', { ...request, ...some, error: 'socket hang up' })
    expect(lost).toContain('Give its container a preStop hook that waits some seconds')
    expect(lost).toContain('terminationGracePeriodSeconds')
    expect(hint('wrong-answer', { ...answer, ...some, status: 502 })).toBe(lost)
  })

  it.each([
    ['no-answer', { ...request, ...all, error: 'socket hang up' }],
    ['wrong-answer', { ...answer, ...all, status: 502 }],
    ['wrong-answer', { ...answer, ...some, status: 500 }],
  ] as const)('does not blame the end of a pod for %s %j', (reason, detail) => {
    expect(hint(reason, detail)).not.toContain('preStop')
  })
})
