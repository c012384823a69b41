import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import { eventLines } from '../../src/diagnosis/evidence.ts'
import { evidenceText } from '../../src/report/target-record.ts'
import { shownHistoryMs } from '../../src/thresholds.ts'
import { readData } from '../kit/rows.ts'
import { at, start } from '../report/builders.ts'

const webPod: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web-x', namespace: 'shop', uid: 'p' } }

interface Said {
  readonly reason: string
  readonly message: string
  readonly seconds?: number
  readonly count?: number
}

const rowsOfEvents = readData(import.meta.filename.replace('.test.ts', '.yaml')) as readonly (readonly [
  title: string,
  events: readonly Said[],
  lines: readonly string[],
])[]

function linesOf(...events: readonly Said[]) {
  const store = new Store(() => false)
  events.forEach(({ reason, message, seconds = 12, count = 1 }, index) => {
    const object = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `e-${index}`, namespace: 'shop', uid: `e-${index}` },
      involvedObject: { kind: 'Pod', name: 'web-x', namespace: 'shop', uid: 'p' },
      type: 'Warning',
      reason,
      message,
      count,
      lastTimestamp: new Date(at(seconds)).toISOString(),
    }
    store.apply({ type: 'ADDED', at: start, object } as FeedEvent)
  })
  const lines = eventLines(webPod, { startedAt: start, serverOffsetMs: 0, store })
  return lines.map((line) => evidenceText({ type: 'event', title: '', text: '', events: [line] }, start))
}

describe('events of an object', () => {
  it.each(rowsOfEvents)('%s', (_, events, lines) => {
    expect(linesOf(...events)).toEqual(lines)
  })

  it('with a whole log as their message keep its first and last lines', () => {
    const log = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`)
    expect(
      linesOf({ reason: 'UpgradeFailed', message: ['Helm upgrade failed', '', 'Last logs:', ...log].join('\n') }),
    ).toEqual([
      [
        ' 0:12  UpgradeFailed  Helm upgrade failed',
        'Last logs:',
        'line 1',
        '… 36 lines omitted',
        'line 38',
        'line 39',
        'line 40',
      ].join('\n       '),
    ])
  })

  it('with a very long line lose the end of that line', () => {
    const [line] = linesOf({ reason: 'Failed', message: 'x'.repeat(2_000) })
    expect(line).toBe(` 0:12  Failed  ${'x'.repeat(800)}… 1,200 more characters`)
  })

  it('from long before the gate are not shown', () => {
    const limit = -shownHistoryMs / 1_000
    const lines = linesOf(
      { reason: 'Old', message: 'not found', seconds: limit },
      { reason: 'Failed', message: 'not found', seconds: limit + 1 },
    )
    expect(lines.map((line) => line.split(/ +/)[1])).toEqual(['Failed'])
  })
})
