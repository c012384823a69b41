import { timeoutMistakes } from '../../src/plan/reference-flags.ts'
import { parseReferences } from '../../src/plan/references.ts'

const mistakesOf = (text: string, timeout?: string) =>
  timeoutMistakes(parseReferences(text), timeout).map(({ input, line, message }) => `${input} ${line}: ${message}`)

const remedy = 'Raise timeout, or leave it out: then the gate may take as long as its references.'

describe("a reference's timeout", () => {
  it("that is longer than the gate's, when both are written, is a mistake", () => {
    expect(mistakesOf('deployment/web\njob/migrate --timeout=20m', '10m')).toEqual([
      `resources 2: Its timeout of 20m is longer than the gate's timeout of 10m, which ends it too. ${remedy}`,
    ])
    expect(mistakesOf('job/migrate --timeout=0', '90s')).toEqual([
      `resources 1: Its timeout is off, but the gate's timeout of 1m30s ends it too. ${remedy}`,
    ])
  })

  it('is a mistake once for a line with many names', () => {
    expect(mistakesOf('job a b c --timeout=20m', '10m')).toHaveLength(1)
  })

  it.each([
    ['job/migrate --timeout=20m', undefined],
    ['job/migrate --timeout=20m', ''],
    ['job/migrate --timeout=20m', '0'],
    ['job/migrate --timeout=20m', '20m'],
    ['job/migrate --timeout=20m', 'soon'],
    ['job/migrate --stall-timeout=20m', '10m'],
  ])('is none otherwise: %s beside %s', (text, timeout) => {
    expect(mistakesOf(text, timeout)).toEqual([])
  })
})
