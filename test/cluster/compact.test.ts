import { parseJson, shareEqualParts } from '../../src/cluster/compact.ts'

const parse = (json: string) => parseJson(Buffer.from(json))

describe('parseJson', () => {
  it('empties the field sets of managedFields and keeps the other fields', () => {
    const entry = {
      manager: 'kubelet',
      operation: 'Update',
      apiVersion: 'v1',
      time: '2025-01-15T12:00:00Z',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:status': { 'f:conditions': { 'k:{"type":"Ready"}': { '.': {}, 'f:status': {} } } } },
      subresource: 'status',
    }
    const object = { metadata: { name: 'web', managedFields: [entry, entry] }, spec: { text: 'é}{"\\' } }
    const empty = { ...entry, fieldsV1: {} }
    expect(parse(JSON.stringify(object))).toEqual({
      ...object,
      metadata: { name: 'web', managedFields: [empty, empty] },
    })
  })

  it('keeps a text that contains the JSON of a field set', () => {
    const text = JSON.stringify({ fieldsType: 'FieldsV1', fieldsV1: { 'f:spec': {} } }).slice(1)
    const object = { metadata: { annotations: { copy: `{${text}`, quoted: `"${text}` } } }
    expect(parse(JSON.stringify(object))).toEqual(object)
  })

  it('rejects a field set without an end', () => {
    expect(() => parse('{"managedFields":[{"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"}}}"')).toThrow(SyntaxError)
    expect(() => parse('{"managedFields":[{"fieldsType":"FieldsV1","fieldsV1":{"f:spec":"\\')).toThrow(SyntaxError)
  })
})

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
