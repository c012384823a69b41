import type { KubeObject } from '../../src/cluster/objects.ts'
import { added, deleted, failed, modified } from '../kit/gate.ts'
import { complete, condition, is, iso, make, podIs } from '../kit/objects.ts'
import { createTarget, createTrace, section, viewAt, viewOf } from '../kit/trace.ts'

const target = createTarget('Deployment', 'web', 'apps/v1')
const heading = 'ReplicaSets and pods'

const v1 = make.deployment({ spec: { replicas: 2 }, status: complete(2) })
const v2 = make.deployment({
  metadata: { generation: 2, annotations: { 'deployment.kubernetes.io/revision': '2' } },
  spec: { replicas: 2, template: make.template({ containers: [{ name: 'app', image: 'acme/web:v2' }] }) },
  status: { ...complete(1), replicas: 3, observedGeneration: 2 },
})

const set1 = (replicas: number, availableReplicas = replicas) =>
  make.replicaSet({ spec: { replicas }, status: { replicas, availableReplicas } }, v1)
const set2 = (replicas: number, availableReplicas = replicas) =>
  make.replicaSet(
    {
      metadata: { name: 'web-2', annotations: { 'deployment.kubernetes.io/revision': '2' } },
      spec: { replicas },
      status: { replicas, availableReplicas },
    },
    v2,
  )

const podOf = (name: string, owner: KubeObject, status = podIs.ready(), metadata = {}) =>
  make.pod({ metadata: { name, ...metadata }, status }, owner)

describe('a Deployment', () => {
  test('in steady state shows its ReplicaSet with its pods', () => {
    const set = set1(2)
    const page = viewOf(target, [v1, set, podOf('web-1-a', set), podOf('web-1-b', set)], 20)
    expect(section(page, heading)).toEqual([
      '  ✓ web-1 revision 1, current · 2 of 2 available · acme/web:v1 · 20 s old',
      '    ✓ web-1-a ready',
      '    ✓ web-1-b ready',
    ])
    expect(page[1]).toMatch(/^✓ ready · /)
  })

  test('rolling out shows the old ReplicaSet draining below the new one', () => {
    const [old, now] = [set1(1), set2(2, 0)]
    const going = podOf('web-1-a', old, podIs.ready(), { deletionTimestamp: iso(30) })
    const page = viewOf(
      target,
      [v2, old, now, podOf('web-2-a', now, podIs.unready({}, { phase: 'Pending' })), going],
      20,
    )
    expect(page[0]).toBe('deployment/web in shop · revision 2 · 0:20')
    expect(section(page, heading)).toEqual([
      '  … web-2 revision 2, current · 0 of 2 available · acme/web:v2 · 20 s old',
      '    … web-2-a starting',
      '  … web-1 revision 1, still serving · 1 of 1 available · acme/web:v1 · 20 s old',
      '    … web-1-a terminating · 10 s left of its grace period',
    ])
  })

  test('that fails shows the undo to the revision that served, although the view began before the change', () => {
    const [old, now] = [set1(2), set2(1, 0)]
    const pods = [podOf('web-1-a', old, podIs.ready(-60)), podOf('web-1-b', old, podIs.ready(-60))]
    const failing = podOf('web-2-a', now, podIs.unready({ state: is.waiting('ErrImageNeverPull') }))
    const trace = createTrace(target, [0, ...added(v1, old, ...pods)], [20, ...modified(v2), ...added(now, failing)])
    const page = viewAt(trace, 21)
    expect(page[2]).toMatch(/^ {2}✗ image-never-pull /)
    expect(page.slice(4, 6)).toEqual([
      '    Revision 1 (acme/web:v1) still serves with 2 of 2 pods.',
      '    Back: kubectl --context test rollout undo deployment/web -n shop --to-revision=1',
    ])
  })

  test('shows the previous revision, which an undo would use, and no older one', () => {
    const old = make.replicaSet(
      { metadata: { name: 'web-0', annotations: { 'deployment.kubernetes.io/revision': '0' } }, spec: { replicas: 0 } },
      v1,
    )
    const page = viewOf(target, [v2, old, set1(0), set2(0)], 20)
    expect(section(page, heading).map((line) => line.trim().split(' · ')[0])).toEqual([
      '✓ web-2 revision 2, current',
      '· web-1 revision 1, previous',
    ])
  })

  test('shows a crashing pod with its restarts', () => {
    const set = set1(2, 0)
    const page = viewOf(target, [v1, set, podOf('web-1-a', set, podIs.looping(3, 4))], 20)
    expect(section(page, heading)[1]).toMatch(/^ {4}✗ web-1-a container app: .* · 2 restarts, last exit code 3$/)
  })

  test('shows its conditions with their messages', () => {
    const status = {
      ...complete(2),
      conditions: [
        condition('Available', 'False', { reason: 'MinimumReplicasUnavailable', message: 'too few' }),
        condition('ReplicaFailure', 'True', { reason: 'FailedCreate', message: 'exceeded quota' }),
      ],
    }
    const page = viewOf(target, [make.deployment({ spec: { replicas: 2 }, status })])
    expect(section(page, 'conditions')).toEqual([
      '  … Available      False (MinimumReplicasUnavailable) too few',
      '  ✗ ReplicaFailure True (FailedCreate) exceeded quota',
    ])
  })
})

describe('pods that leave', () => {
  const set = set1(2)
  const [a, b] = [podOf('web-1-a', set), podOf('web-1-b', set)]
  const shown = (page: readonly string[]) => section(page, heading).slice(1)

  test('a deleted pod is shown for 15 s', () => {
    const trace = createTrace(target, [0, ...added(v1, set, a, b)], [20, ...deleted(b)])
    expect(shown(viewAt(trace, 23))).toEqual(['    ✓ web-1-a ready', '    · web-1-b deleted · 3 s ago'])
    expect(shown(viewAt(trace, 40))).toEqual(['    ✓ web-1-a ready'])
  })

  test('several are shown, each for 15 s', () => {
    const trace = createTrace(target, [0, ...added(v1, set, a, b)], [20, ...deleted(b)], [25, ...deleted(a)])
    expect(shown(viewAt(trace, 26))).toEqual(['    · web-1-b deleted · 6 s ago', '    · web-1-a deleted · 1 s ago'])
  })

  test('a relabelled pod is released and still runs', () => {
    const { ownerReferences: _, ...metadata } = b.metadata
    const free = { ...b, metadata: { ...metadata, labels: {} } }
    const trace = createTrace(target, [0, ...added(v1, set, a, b)], [20, ...modified(free)])
    expect(shown(viewAt(trace, 23))[1]).toMatch(/^ {4}· web-1-b released: its labels no longer match; .* · 3 s ago$/)
  })

  test('pods of other owners are not shown', () => {
    const other = podOf(
      'api-1-a',
      make.replicaSet({ metadata: { name: 'api-1' } }, make.deployment({ metadata: { uid: 'api' } })),
    )
    const trace = createTrace(target, [0, ...added(v1, set, a, b, other)], [20, ...deleted(other)])
    expect(viewAt(trace, 23).join()).not.toContain('api')
  })
})

describe('a resource that does not exist', () => {
  test('is waited for', () => {
    expect(viewAt(createTrace(target, [0]), 3)).toEqual([
      'deployment/web in shop · 0:03',
      '… waiting for deployment/web to be created',
    ])
  })

  test('is ready if that is what it waits for', () => {
    const gone = { ...target, waitFor: { type: 'delete' } } as const
    expect(viewAt(createTrace(gone, [0]), 3)[1]).toBe('✓ ready · it does not exist')
    const trace = createTrace(gone, [0, ...added(v1)], [20, ...deleted(v1)])
    expect(viewAt(trace, 25)[1]).toBe('✓ ready · it does not exist')
  })

  test('is not judged before the first lists are complete', () => {
    const trace = createTrace(target)
    trace.handle([{ type: 'ADDED', object: v1, at: 0 }])
    expect(viewAt(trace, 1)[1]).toBe('… looking')
  })

  test('is shown as deleted, with the pods that it leaves behind', () => {
    const set = set1(2)
    const left = podOf('web-1-a', set, podIs.ready(), { deletionTimestamp: iso(30) })
    const trace = createTrace(target, [0, ...added(v1, set, left)], [20, ...deleted(v1, set)])
    expect(viewAt(trace, 25)).toEqual([
      'deployment/web in shop · 0:25',
      '✗ deleted 5 s ago',
      '… waiting for deployment/web to be created again',
      '',
      'still there',
      '  … pod/web-1-a terminating',
    ])
  })

  test('may come back as a new object', () => {
    const again = make.deployment({ metadata: { uid: 'another' }, spec: { replicas: 0 }, status: complete(0) })
    const trace = createTrace(target, [0, ...added(v1)], [20, ...deleted(v1)], [30, ...added(again)])
    expect(viewAt(trace, 35)[2]).toBe('· created again: a new object with the same name 5 s ago')
  })
})

describe('what cannot be read', () => {
  test('unreadable pods are reported, and the view continues without them', () => {
    const trace = createTrace(target, [0, ...added(v1), failed(403, 'Pod', 'no')])
    expect(viewAt(trace, 5)).toContain('! Pods cannot be read: no')
    expect(viewAt(trace, 5)[1]).not.toBe('… looking')
  })

  test('a kind that the server does not have is not waited for', () => {
    const trace = createTrace(target)
    trace.handle([{ type: 'ADDED', object: v1, at: 0 }])
    for (const request of trace.requests) {
      const missing = { type: 'MISSING', message: 'no such kind', ...request, at: 0 } as const
      trace.handle([request.kind === 'Pod' ? missing : { type: 'SYNCED', ...request, at: 0 }])
    }
    expect(viewAt(trace, 5)[1]).not.toBe('… looking')
  })

  test('a server that does not answer is reported until it answers again', () => {
    const error = failed(0, undefined, 'connection refused')
    const trace = createTrace(target, [0, ...added(v1)], [5, error])
    expect(viewAt(trace, 6)).toContain('! the server does not answer at present: connection refused')
    trace.handle([{ type: 'ALIVE', at: 7 }])
    expect(viewAt(trace, 8).join()).not.toContain('does not answer')
  })
})

describe('a view that is taller than the terminal', () => {
  const set = set1(2)
  const objects = [v1, set, podOf('web-1-a', set), podOf('web-1-b', set)]

  test('shows its milestones on one line', () => {
    const page = viewOf(target, objects, 5, 8)
    expect(page.length).toBeLessThanOrEqual(8)
    expect(page[2]).toBe('  … 8 of 9 milestones · ready 0/2')
    expect(section(page, heading)).toHaveLength(3)
  })

  test('is cut when that is still too tall', () => {
    expect(viewOf(target, objects, 5, 4).at(-1)).toBe('… 5 more lines: make the window taller')
  })
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

  test('survives owners that own each other', () => {
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
