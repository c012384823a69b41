import { readQueryResult } from '../../src/checks/prometheus.ts'

/** An answer of the Prometheus API (prometheus.io/docs/prometheus/latest/querying/api). */
const success = (resultType: string, result: unknown) =>
  JSON.stringify({ status: 'success', data: { resultType, result } })
const series = (value: string, metric: object = {}) => ({ metric, value: [1_435_781_451.781, value] })
const read = (body: string, status = 200) => readQueryResult({ status, seconds: 0, body })

test.each([
  ['a vector of one', success('vector', [series('0.25')]), { value: 0.25 }],
  ['a scalar', success('scalar', [1, '1e-3']), { value: 0.001 }],
  ['an empty vector', success('vector', []), { error: 'no data' }],
  ['no number', success('vector', [series('NaN')]), { error: 'NaN' }],
  ['an infinite number', success('vector', [series('-Inf')]), { error: '-Inf' }],
  ['a sample without a value', success('vector', [{ metric: {} }]), { error: 'no number' }],
  ['a range', success('matrix', []), { error: 'the query returns a matrix, no number' }],
  ['text', success('string', [1, '5']), { error: 'the query returns a string, no number' }],
  [
    'an error',
    JSON.stringify({ status: 'error', errorType: 'bad_data', error: 'parse error at 1:4' }),
    { error: 'bad_data: parse error at 1:4' },
  ],
  [
    'another JSON document',
    '{"kind":"Status","status":"Failure"}',
    { error: 'status 200, which is no answer of the Prometheus API' },
  ],
  ['a list', '[]', { error: 'status 200, which is no answer of the Prometheus API' }],
  ['a page', '<html>', { error: 'status 200, which is no answer of the Prometheus API' }],
  ['a cut answer', `{"status":"success","x":"${'x'.repeat(1 << 20)}`, { error: 'the answer is too long' }],
])('%s', (_, body, result) => expect(read(body)).toEqual(result))

test('the status of an answer that is not of the API is named', () => {
  expect(read('Unauthorized', 401)).toEqual({ error: 'status 401, which is no answer of the Prometheus API' })
})

test('of several series, the first five are named', () => {
  const all = ['200', '500', '501', '502', '503', '504', '505'].map((code) => series('1', { code, path: 'a"b' }))
  expect(read(success('vector', all))).toEqual({
    error: 'several series',
    series: [...['200', '500', '501', '502', '503'].map((code) => `{code="${code}", path="a\\"b"}`), '2 more'],
  })
})
