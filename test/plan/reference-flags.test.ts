import { parseReferences } from '../../src/plan/parse-references.ts'
import { findTimeoutMistakes } from '../../src/plan/reference-flags.ts'

const mistakesOf = (text: string, timeout?: number) =>
  findTimeoutMistakes(parseReferences(text).references, timeout).map(
    ({ input, line, message }) => `${input} ${line}: ${message}`,
  )

const remedy = 'Raise timeout, or leave it out: then the gate may take as long as its references.'

it('a reference timeout longer than the timeout of the gate is rejected if the user set both', () => {
  expect(mistakesOf('deployment/web\njob/migrate --timeout=20m', 600_000)).toEqual([
    `resources 2: Its timeout of 20m is longer than the gate's timeout of 10m, which ends it too. ${remedy}`,
  ])
  expect(mistakesOf('job/migrate --timeout=0', 90_000)).toEqual([
    `resources 1: Its timeout is off, but the gate's timeout of 1m30s ends it too. ${remedy}`,
  ])
})

it.each([
  ['a reference timeout is accepted if the gate has its default timeout', 'job/migrate --timeout=20m', undefined],
  ['a reference timeout is accepted if the timeout of the gate is off', 'job/migrate --timeout=20m', 0],
  ['a reference timeout is accepted if it equals the timeout of the gate', 'job/migrate --timeout=20m', 1_200_000],
  ['a stall timeout of a reference may be longer than the timeout', 'job/migrate --stall-timeout=20m', 600_000],
])('%s', (_, text, timeout) => {
  expect(mistakesOf(text, timeout)).toEqual([])
})
