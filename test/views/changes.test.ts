import { applyPatch } from 'rfc6902'
import type { Observation, WatchRequest } from '../../src/cluster/feed.ts'
import { authorsOf, type KubeObject, type ManagedFields } from '../../src/cluster/objects.ts'
import { Redactor } from '../../src/cluster/redact.ts'
import {
  ChangesView,
  changeJson,
  changeLines,
  differenceLines,
  type ObjectChange,
  type Part,
} from '../../src/views/changes.ts'
import { added, deleted, modified } from '../kit/gate.ts'
import { iso, make, moment, podIs, start } from '../kit/objects.ts'
import { createTarget, textOf } from '../kit/trace.ts'

const request: WatchRequest = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'once' }
const startingPod = make.barePod({ status: podIs.unready({}, { phase: 'Pending' }) })
const readyPod = make.barePod({ status: podIs.ready() })

const targets = [createTarget('Pod', 'once'), createTarget('Secret', 'creds')]

/** The headings of the changes when these observations arrive, one a second, after a first list. */
function observe(part: Part, first: readonly Observation[], ...later: readonly Observation[]): ObjectChange[] {
  const changes: ObjectChange[] = []
  const onChange = (change: ObjectChange) => changes.push(change)
  const view = new ChangesView(targets, part, { onChange }, { now: () => start })
  const all: Observation[] = [...first, { type: 'SYNCED', ...request }, ...later]
  for (const [index, observation] of all.entries())
    view.handle([{ ...observation, at: moment(index < first.length ? 0 : index - first.length) }])
  return changes
}

const headings = (changes: readonly ObjectChange[]) => changes.map((change) => textOf(changeLines(change, start))[0])

describe('a change is', () => {
  test('the first version of an object, each difference and its deletion', () => {
    expect(headings(observe('object', added(startingPod), ...modified(readyPod), ...deleted(readyPod)))).toEqual([
      ' 0:00.0 pod/once as it is',
      ' 0:01.0 pod/once changed',
      expect.stringContaining(' 0:02.0 pod/once deleted'),
    ])
  })

  test('the creation of an object that appears later', () => {
    expect(headings(observe('object', [], ...added(startingPod)))).toEqual([' 0:01.0 pod/once created'])
  })

  test('not the metadata that every write changes', () => {
    const metadata = { ...startingPod.metadata, resourceVersion: '2', managedFields: [{ manager: 'kubelet' }] }
    expect(observe('object', added(startingPod), ...modified({ ...startingPod, metadata }))).toHaveLength(1)
  })

  test('only the status with the command status', () => {
    const relabelled = { ...startingPod, metadata: { ...startingPod.metadata, labels: { app: 'other' } } }
    expect(observe('status', added(startingPod), ...modified(relabelled), ...modified(readyPod))).toHaveLength(2)
  })

  test('not an object that is not followed', () => {
    const other = { ...startingPod, metadata: { ...startingPod.metadata, name: 'twice' } }
    expect(headings(observe('object', added(startingPod, other)))).toEqual([' 0:00.0 pod/once as it is'])
  })

  test('the start of a deletion', () => {
    const going = { ...startingPod, metadata: { ...startingPod.metadata, deletionTimestamp: iso(9) } }
    expect(headings(observe('object', added(startingPod), ...modified(going)))[1]).toBe(
      ' 0:01.0 pod/once is being deleted',
    )
  })
})

describe('redacted values in changes', () => {
  const { redact } = new Redactor()
  const secret = (password: string) =>
    redact({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'creds', namespace: 'shop', uid: 'creds' },
      data: { password },
    } as KubeObject)

  test('are hidden, and a changed one is still visible', () => {
    const changes = observe('object', added(secret('aHVudGVyMg==')), ...modified(secret('aHVudGVyMw==')))
    const text = changes.flatMap((change) => textOf(changeLines(change, start))).join('\n')
    expect(text).not.toMatch(/aHVudGVy|hunter/)
    expect(text.match(/password: "?\(hidden, [\w-]{6}\)/g)).toHaveLength(3)
  })
})

describe('the author of a change', () => {
  const by = (managedFields: ManagedFields[], object = startingPod): KubeObject => ({
    ...object,
    metadata: { ...object.metadata, managedFields },
  })
  const kubectl = { manager: 'kubectl-create', operation: 'Update', time: iso(0) }
  const kubelet = (time: string) => ({ manager: 'kubelet', operation: 'Update', subresource: 'status', time })

  test('is the manager of a new object', () => {
    expect(authorsOf(undefined, by([kubectl]))).toBe('kubectl-create')
  })

  test('is the manager whose entry is new or has another time', () => {
    expect(authorsOf(by([kubectl]), by([kubectl, kubelet(iso(1))]))).toBe('kubelet (status)')
    expect(authorsOf(by([kubectl, kubelet(iso(1))]), by([kubectl, kubelet(iso(2))]))).toBe('kubelet (status)')
  })

  test('may be a server-side apply', () => {
    const argo = { manager: 'argocd', operation: 'Apply', time: iso(3) }
    expect(authorsOf(by([kubectl]), by([kubectl, argo]))).toBe('argocd (server-side apply)')
  })

  test('is unknown for a second write within one second', () => {
    const entries = [kubectl, kubelet(iso(1))]
    expect(authorsOf(by(entries), by(entries, readyPod))).toBeUndefined()
  })

  test('is unknown for a deletion', () => {
    const going = { ...startingPod, metadata: { ...startingPod.metadata, deletionTimestamp: iso(9) } }
    expect(authorsOf(by([kubectl]), by([kubectl], going))).toBeUndefined()
  })
})

describe('the differences of two states', () => {
  const differences = (before: unknown, after: unknown) =>
    textOf(differenceLines(before, after)).map((text) => text.trim())

  test.each<[path: string, before: unknown, after: unknown, lines: readonly string[]]>([
    ['changed field', { a: { b: 1, c: 1 } }, { a: { b: 2, c: 1 } }, ['- a.b: 1', '+ a.b: 2']],
    ['text that becomes a number', { a: '1' }, { a: 1 }, ['- a: "1"', '+ a: 1']],
    ['added and a removed field', { a: { b: 1 } }, { c: { d: [] } }, ['+ c.d: []', '- a.b: 1']],
    [
      'list element by its name',
      { a: [{ name: 'x', b: 1 }] },
      { a: [{ name: 'x', b: 2 }] },
      ['- a[x].b: 1', '+ a[x].b: 2'],
    ],
    ['list element by its type', { a: [{ type: 'Ready' }] }, { a: [] }, ['+ a: []', '- a[Ready].type: "Ready"']],
    ['list element by its index', { a: ['x'] }, { a: ['x', 'y'] }, ['+ a[1]: "y"']],
    [
      'list element whose name is not distinct',
      { a: [{ name: 'x' }, { name: 'x' }] },
      { a: [{ name: 'x' }, { name: 'x', b: 1 }] },
      ['+ a[1].b: 1'],
    ],
    ['label with dots', { a: { 'b.c/d': 'x\ny' } }, { a: {} }, ['+ a: {}', '- a["b.c/d"]: "x\\ny"']],
  ])('show a %s', (_, before, after, lines) => {
    expect(differences(before, after)).toEqual(lines)
  })

  test('are green where they were added and red where they were removed', () => {
    const other = { ...startingPod, spec: { ...startingPod.spec, restartPolicy: 'Never' } }
    const [, change] = observe('object', added(startingPod), ...modified(other))
    const signs = changeLines(change as ObjectChange, start).flatMap(({ spans }) => spans.slice(0, 1))
    expect(signs).toContainEqual({ text: '+', style: 'green' })
    expect(signs).not.toContainEqual({ text: '+', style: 'red' })
    expect(signs.filter(({ text }) => text === '-').every(({ style }) => style === 'red')).toBe(true)
  })

  test('are printed with their signs and without control characters', () => {
    const evil = { ...startingPod, spec: { ...startingPod.spec, serviceAccountName: '\x1b[2J::error::x' } }
    const [, change] = observe('object', added(startingPod), ...modified(evil))
    const lines = textOf(changeLines(change as ObjectChange, start))
    expect(lines.some((each) => each.startsWith('       + spec.serviceAccountName:'))).toBe(true)
    expect(lines.join('\n')).not.toContain('\x1b')
  })
})

describe('changes as JSON', () => {
  const changes = observe('object', added(startingPod), ...modified(readyPod), ...deleted(readyPod))
  const lines = changes.map((change) => JSON.parse(changeJson(change, start)))

  test('contain time, type, object and author', () => {
    expect(lines[1]).toMatchObject({
      at: new Date(moment(1)).toISOString(),
      elapsedSeconds: 1,
      target: 'pod/once',
      namespace: 'shop',
      type: 'MODIFIED',
    })
    expect(lines.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED'])
  })

  test('contain patches from each state to the next', () => {
    const document: { state: unknown } = { state: null }
    const within = (patch: { path: string }[]) => patch.map((each) => ({ ...each, path: `/state${each.path}` }))
    applyPatch(document, within(lines[0].patch) as never)
    expect(document.state).toEqual(changes[0]?.after)
    applyPatch(document, within(lines[1].patch) as never)
    expect(document.state).toEqual(changes[1]?.after)
    expect(lines[2].patch).toEqual([{ op: 'remove', path: '' }])
  })

  test('contain no control character', () => {
    const labels = { a: '\x1b\x9b2J\u202e' }
    const [change] = observe('object', added({ ...startingPod, metadata: { ...startingPod.metadata, labels } }))
    const json = changeJson(change as ObjectChange, start)
    expect(json).not.toMatch(/[\x1b\x9b\u202e]/)
    expect(JSON.parse(json).patch[0].value.metadata.labels).toEqual(labels)
  })
})
