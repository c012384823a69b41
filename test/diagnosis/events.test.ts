import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import { eventLines } from '../../src/diagnosis/evidence.ts'
import { evidenceText } from '../../src/report/target-record.ts'
import { shownHistoryMs } from '../../src/thresholds.ts'
import { at, start } from '../report/builders.ts'

const webPod: KubeObject = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web-x', namespace: 'shop', uid: 'p' } }

function linesOf(...events: readonly { reason: string; message: string; seconds?: number; count?: number }[]) {
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
  const lines = eventLines(webPod, { startedAt: start, finishedAt: start, serverOffsetMs: 0, store })
  return lines.map((line) => evidenceText({ type: 'event', title: '', text: '', events: [line] }, start))
}

describe('the events of an object', () => {
  it('are one line if only the name of a pod differs, with their count and last moment', () => {
    const refused = (name: string) => `Error creating: pods "${name}" is forbidden: exceeded quota: small`
    expect(
      linesOf(
        { reason: 'FailedCreate', message: refused('web-a'), seconds: 1 },
        { reason: 'FailedCreate', message: refused('web-b'), seconds: 2 },
        {
          reason: 'FailedCreate',
          message: `(combined from similar events): ${refused('web-c')}`,
          seconds: 9,
          count: 4,
        },
      ),
    ).toEqual([` 0:09  FailedCreate ×6  ${refused('web-c')}`])
  })

  it('that contain a whole log keep its first and last lines', () => {
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

  it('that have a very long line lose its end', () => {
    const [line] = linesOf({ reason: 'Failed', message: 'x'.repeat(2_000) })
    expect(line).toBe(` 0:12  Failed  ${'x'.repeat(800)}… 1,200 more characters`)
  })

  it('leave out the namespace and uid behind a pod’s name', () => {
    const message = 'Back-off restarting failed container app in pod web-x_shop(4a280c48-268c-44e6-9333-b35d42013d6a)'
    expect(linesOf({ reason: 'BackOff', message, count: 3 })).toEqual([
      ' 0:12  BackOff ×3  Back-off restarting failed container app in pod web-x',
    ])
  })

  it('from long before the start of the gate are left out', () => {
    const limit = -shownHistoryMs / 1_000
    const lines = linesOf(
      { reason: 'Old', message: 'not found', seconds: limit },
      { reason: 'Failed', message: 'not found', seconds: limit + 1 },
    )
    expect(lines.map((line) => line.split(/ +/)[1])).toEqual(['Failed'])
  })

  it('from before the start of the gate have a negative elapsed time', () => {
    expect(linesOf({ reason: 'Failed', message: 'not found', seconds: -65 })).toEqual(['-1:05  Failed  not found'])
    expect(linesOf({ reason: 'Failed', message: 'not found', seconds: -0.6 })).toEqual([' 0:00  Failed  not found'])
  })

  it('omit a bare status if another event explains it', () => {
    const pull = { reason: 'Failed', message: 'Failed to pull image "acme/web:v9": not found' }
    const word = { reason: 'Failed', message: 'Error: ImagePullBackOff' }
    expect(linesOf(pull, word)).toEqual([' 0:12  Failed  Failed to pull image "acme/web:v9": not found'])
    expect(linesOf(word)).toEqual([' 0:12  Failed  Error: ImagePullBackOff'])
  })

  it('omit the scheduler’s sentence on preemption', () => {
    const message =
      '0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.'
    expect(linesOf({ reason: 'FailedScheduling', message })).toEqual([
      ' 0:12  FailedScheduling  0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s).',
    ])
  })

  it('have no colon at the end of a message', () => {
    expect(linesOf({ reason: 'Unhealthy', message: 'Readiness probe failed: ' })).toEqual([
      ' 0:12  Unhealthy  Readiness probe failed',
    ])
  })

  it('with different messages are different lines', () => {
    expect(
      linesOf(
        { reason: 'Failed', message: 'Error: secret "a" not found', seconds: 1 },
        { reason: 'Failed', message: 'Error: secret "b" not found', seconds: 2 },
      ),
    ).toHaveLength(2)
  })
})
