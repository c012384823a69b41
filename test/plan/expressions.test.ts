import type { KubeObject } from '../../src/cluster/objects.ts'
import { loadCompiler } from '../../src/plan/health-checks.ts'

const { condition } = await loadCompiler()
/** Without the limit of time, which a busy machine reaches first. */
const unhurried = await loadCompiler(60_000)
const withStatus = (status: object): KubeObject =>
  ({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'x' }, status }) as KubeObject

const names = Array.from({ length: 1_000 }, (_, index) => `n${index}`)
const cubic = 'status.names.all(a, status.names.all(b, status.names.exists(c, c == a && c == b || c != a)))'

test('an expression ends after 200,000 steps if it compares every list entry with every other', () => {
  const object = withStatus({ names: [...names, ...names, ...names] })
  expect(unhurried.condition(cubic)(object)).toEqual({
    holds: false,
    error: 'the expression takes more than 200,000 steps',
  })
  expect(unhurried.text(`${cubic} ? 'a' : 'b'`)(object)).toBeUndefined()
})

test('an expression ends after 200,000 steps if it compares every four entries of a short list', () => {
  const object = withStatus({ names: names.slice(0, 200) })
  const nested = `status.names.all(d, ${cubic})`
  expect(unhurried.condition(nested)(object)).toEqual({
    holds: false,
    error: 'the expression takes more than 200,000 steps',
  })
})

test('an expression ends if it compares entries of lists that it creates itself', () => {
  const object = withStatus({ names: [...names, ...names, ...names] })
  const made = (inner: string) => `status.names.filter(n, true).all(a, status.names.map(n, n).exists(b, ${inner}))`
  expect(condition(made('a == b'))(object)).toMatchObject({ holds: false, error: expect.any(String) })
})

test('an expression can compare two lists of 400 entries', () => {
  const object = withStatus({ names: names.slice(0, 400) })
  expect(condition('status.names.all(a, status.names.exists(b, a == b))')(object)).toEqual({ holds: true })
})

test('an expression ends after one second if its regular expression backtracks', () => {
  const object = withStatus({ phase: `${'a'.repeat(60)}!` })
  expect(condition(`status.phase.matches('^(a+)+$')`)(object)).toEqual({
    holds: false,
    error: 'the expression takes longer than 1 s',
  })
})

test('an expression is not evaluated for an object of more than 200,000 values', () => {
  const object = withStatus({ list: new Array(200_000).fill(1) })
  expect(condition('true')(object)).toEqual({ holds: false, error: 'the object has more than 200000 values' })
})

test('an expression has the same result for a large object as for a small one', () => {
  for (const count of [10, 5_000]) {
    const object = withStatus({ names: names.concat(...Array(5).fill(names)).slice(0, count), phase: 'Ready' })
    expect(condition(`size(status.names) == ${count} && status.phase == 'Ready'`)(object)).toEqual({ holds: true })
    expect(condition(`status.absent == 'Ready'`)(object)).toMatchObject({ holds: false, error: expect.any(String) })
    expect(condition(`status.phase.matches('^Re')`)(object)).toEqual({ holds: true })
  }
})
