import type { KubeObject } from '../../src/cluster/objects.ts'
import { added, deleted } from '../kit/gate.ts'
import { complete, make, podIs } from '../kit/objects.ts'
import { createTarget, createTrace, section, testViews, viewAt, viewOf } from '../kit/trace.ts'

const target = createTarget('Deployment', 'web', 'apps/v1')
const v1 = make.deployment({ spec: { replicas: 2 }, status: complete(2) })
const set1 = (replicas: number, availableReplicas = replicas) =>
  make.replicaSet({ spec: { replicas }, status: { replicas, availableReplicas } }, v1)

const podOf = (name: string, owner: KubeObject, status = podIs.ready(), metadata = {}) =>
  make.pod({ metadata: { name, ...metadata }, status }, owner)

testViews(import.meta.filename.replace('.test.ts', '.yaml'), target)

test('a view does not show pods of other owners', () => {
  const otherSet = make.replicaSet({ metadata: { name: 'api-1' } }, make.deployment({ metadata: { uid: 'api' } }))
  expect(viewOf(target, [v1, set1(2), podOf('api-1-a', otherSet)]).join()).not.toContain('api')
})

describe('a resource that does not exist', () => {
  test('is ready if its deletion is awaited', () => {
    const gone = { ...target, waitFor: { type: 'delete' } } as const
    expect(viewAt(createTrace(gone, [0]), 3)[1]).toBe('✓ ready · it does not exist')
    const trace = createTrace(gone, [0, ...added(v1)], [20, ...deleted(v1)])
    expect(viewAt(trace, 25)[1]).toBe('✓ ready · it does not exist')
  })

  test('is not assessed before the first lists are complete', () => {
    const trace = createTrace(target)
    trace.handle([{ type: 'ADDED', object: v1, at: 0 }])
    expect(viewAt(trace, 1)[1]).toBe('… looking')
  })
})

describe('a view of a kind that cannot be read', () => {
  test('does not wait if the server does not have the kind', () => {
    const trace = createTrace(target)
    trace.handle([{ type: 'ADDED', object: v1, at: 0 }])
    for (const request of trace.requests) {
      const missing = { type: 'ERROR', code: 404, message: 'no such kind', ...request, at: 0 } as const
      trace.handle([request.kind === 'Pod' ? missing : { type: 'SYNCED', ...request, at: 0 }])
    }
    expect(viewAt(trace, 5)[1]).not.toBe('… looking')
  })
})

test('a view that is taller than the terminal is cut', () => {
  const page = viewOf(target, [v1, set1(2)], 5, 4)
  expect(page).toHaveLength(4)
  expect(page.at(-1)).toBe('… 13 more lines: make the window taller')
})

describe('a resource of any other kind', () => {
  test('shows what it owns, judged by the rules of their kinds', () => {
    const database = {
      apiVersion: 'acme.io/v1',
      kind: 'Database',
      metadata: { name: 'main', namespace: 'shop', uid: 'db' },
    }
    const owned = make.deployment({
      metadata: {
        name: 'main',
        ownerReferences: [{ apiVersion: 'acme.io/v1', kind: 'Database', name: 'main', uid: 'db' }],
      },
      status: { ...complete(0), observedGeneration: 0 },
    })
    const page = viewOf(createTarget('Database', 'main', 'acme.io/v1'), [database, owned])
    expect(section(page, 'what it owns')).toEqual([
      '  … deployment/main waiting for the controller to observe generation 1',
    ])
  })

  test('ends even if owners own each other', () => {
    const owns = (uid: string) => [{ apiVersion: 'acme.io/v1', kind: 'Ring', name: 'a', uid }]
    const ring = (name: string, owner: string) => ({
      apiVersion: 'acme.io/v1',
      kind: 'Ring',
      metadata: { name, namespace: 'shop', uid: name, ownerReferences: owns(owner) },
    })
    const page = viewOf(createTarget('Ring', 'a', 'acme.io/v1'), [ring('a', 'b'), ring('b', 'a')])
    expect(section(page, 'what it owns')[0]).toMatch(/^ {2}[✓…] ring\/b /)
  })
})
