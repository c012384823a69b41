import { findErrorLine, messageOfLine } from '../../src/cluster/logs.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

it.each(rows<[string, string, string]>(data, 'the line to quote'))('the log line to quote is %s', (_, log, quoted) => {
  const lines = log.split('\n')
  expect(messageOfLine(lines[findErrorLine(lines)] ?? '')).toBe(quoted)
})

it.each(rows<[string, string]>(data, 'no line that looks like an error'))(
  'a log that %s has no line that looks like an error',
  (_, log) => {
    expect(findErrorLine(log.split('\n'))).toBe(-1)
  },
)

it('a long hostile log is searched within a second', () => {
  const startedAt = performance.now()
  for (const unit of ['a.', 'Error ', ' at', '{', '[e', 'fatal ']) findErrorLine([unit.repeat(100_000)])
  expect(performance.now() - startedAt).toBeLessThan(1_000)
})
