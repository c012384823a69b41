import { Semaphore } from '../../src/cluster/clock.ts'
import { ApiError } from '../../src/cluster/failures.ts'
import { ContainerLog } from '../../src/run/live-logs.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { rows } from '../kit/rows.ts'
import { play, type Verbs } from '../kit/steps.ts'
import { Kubelet, quiet } from './kubelet.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const ref = { namespace: 'shop', pod: 'migrate-x', container: 'app' }
const running = { restarts: 0, hasEnded: false }
const ended = { restarts: 0, hasEnded: true }

function start({ oldest = 0, slots = new Semaphore(1) } = {}) {
  const clock = new ManualClock(1_000_000)
  const kubelet = new Kubelet()
  const events: string[] = []
  const view = {
    add: (text: string) => events.push(text),
    note: (text: string) => events.push(`(${text})`),
    flush: () => events.push('(end)'),
  }
  const onFailure = (error: unknown) => events.push(`(${(error as Error).message})`)
  const log = new ContainerLog({ ref, oldest, view, source: kubelet, clock, slots, onFailure })
  const newEvents = async () => {
    await quiet()
    return events.splice(0)
  }
  return { clock, kubelet, log, newEvents }
}

/** What a step does. The status of the container: `runs`, `runs 1` after a restart, `has-ended`. */
const verbs: Verbs<Started> = {
  runs: ({ log }, [restarts = '0']) => log.update({ restarts: Number(restarts), hasEnded: false }),
  'has-ended': ({ log }) => log.update(ended),
  // `writes 1.1 two`, at this second.
  writes: ({ kubelet }, [second, ...text]) => kubelet.write(Number(second), text.join(' ')),
  exits: ({ kubelet }) => kubelet.exit(),
  restarts: ({ kubelet }) => kubelet.restart(),
  cuts: ({ kubelet }) => kubelet.cut(),
  hangs: ({ kubelet }) => {
    kubelet.isHanging = true
  },
  answers: ({ kubelet }) => {
    kubelet.isHanging = false
  },
  // `refuses 403 forbidden`: the next request, with this status and message.
  refuses: ({ kubelet }, [status, ...message]) => kubelet.refuse(new ApiError(Number(status), message.join(' '))),
  passes: ({ clock }, [ms]) => clock.advance(Number(ms)),
  finishes: ({ log }) => log.finish(),
}

type Started = ReturnType<typeof start>

/** Steps, each a text, and what is passed on after them. */
type Part = readonly [steps: readonly string[], passedOn: readonly string[]]

test.each(rows<[string, readonly Part[], number | null, boolean]>(data, 'what is passed on'))(
  '%s',
  async (_, parts, requests, isClosed) => {
    const started = start()
    for (const [steps, passedOn] of parts) {
      await play(steps, verbs, started)
      expect(await started.newEvents()).toEqual(passedOn)
    }
    const { clock, kubelet } = started
    if (requests !== null) expect(kubelet.requests).toHaveLength(requests)
    if (isClosed) expect([clock.pending, kubelet.open]).toEqual([[], 0])
  },
)

test('a log is requested from the oldest wanted line on, and followed', async () => {
  const { kubelet, log } = start()
  log.update(running)
  await quiet()
  expect(kubelet.requests).toMatchObject([{ ...ref, follow: true, previous: false, since: 0 }])
})

test('log lines older than the oldest wanted line are not passed on', async () => {
  const { kubelet, log, newEvents } = start({ oldest: 100_000 })
  kubelet.write(99, 'long ago')
  kubelet.write(100, 'now')
  log.update(running)
  expect(await newEvents()).toEqual(['now'])
})

test('at the end of the gate, written lines are passed on and the stream is closed', async () => {
  const { clock, kubelet, log, newEvents } = start()
  log.update(running)
  kubelet.write(1, 'one')
  await quiet()
  kubelet.isHanging = true
  kubelet.write(2, 'two')
  const finished = log.finish()
  kubelet.isHanging = false
  await finished
  expect(await newEvents()).toEqual(['one', 'two', '(end)'])
  expect(kubelet.open).toBe(0)
  expect(clock.pending).toEqual([])
})

test('at the end of the gate, a running container that waits for a slot is not read', async () => {
  const slots = new Semaphore(0)
  const { kubelet, log, newEvents } = start({ slots })
  log.update(running)
  await log.finish()
  slots.releaseSlot()
  expect(await newEvents()).toEqual(['(end)'])
  expect(kubelet.requests).toEqual([])
})

test('at the end of the gate, lines that do not arrive are given up', async () => {
  const { clock, kubelet, log, newEvents } = start()
  kubelet.isHanging = true
  kubelet.write(1, 'never seen')
  log.update(running)
  const finished = log.finish()
  await quiet()
  log.close()
  await finished
  expect(await newEvents()).toEqual(['(end)'])
  expect(kubelet.open).toBe(0)
  expect(clock.pending).toEqual([])
})
