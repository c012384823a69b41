import { shareEqualParts } from '../../src/cluster/reflector.ts'

describe('shareEqualParts', () => {
  it('returns the known value if both values are equal in any key order', () => {
    const known = { a: [1, { b: null }], c: 'text' }
    expect(shareEqualParts({ c: 'text', a: [1, { b: null }] }, known)).toBe(known)
  })

  it('keeps different parts and shares equal parts', () => {
    const known = { labels: { app: 'web' }, list: [{ name: 'a' }, { name: 'b' }], status: 'Pending' }
    const value = { labels: { app: 'web' }, list: [{ name: 'a' }, { name: 'c' }], status: 'Running', added: true }
    const expected = structuredClone(value)
    const shared = shareEqualParts(value, known)
    expect(shared).toEqual(expected)
    expect(shared.labels).toBe(known.labels)
    expect(shared.list[0]).toBe(known.list[0])
  })

  it('does not share values with fewer fields or another type', () => {
    expect(shareEqualParts({ a: {} }, { a: { b: 1 } })).toEqual({ a: {} })
    expect(shareEqualParts({ a: [] }, { a: {} })).toEqual({ a: [] })
    expect(shareEqualParts({ a: null }, { a: {} })).toEqual({ a: null })
    expect(shareEqualParts([1], [1, 2])).toEqual([1])
    expect(shareEqualParts({ a: null }, { b: null })).toEqual({ a: null })
  })

  it('keeps a key __proto__ as a field', () => {
    const json = '{"__proto__":{"a":[1]},"b":2}'
    const shared = shareEqualParts(JSON.parse(json), JSON.parse('{"b":2}'))
    expect(JSON.stringify(shared)).toBe(json)
    expect(JSON.stringify(shareEqualParts(JSON.parse(json), JSON.parse('{"__proto__":{"a":[1]}}')))).toBe(json)
  })
})
