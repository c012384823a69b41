import { Semaphore } from '../../src/cluster/clock.ts'
import { ApiError } from '../../src/cluster/failures.ts'
import { ContainerLog } from '../../src/run/live-logs.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { Kubelet, quiet } from './kubelet.ts'

const ref = { namespace: 'shop', pod: 'migrate-x', container: 'app' }
const running = { restarts: 0, hasEnded: false }
const ended = { restarts: 0, hasEnded: true }

function start({ oldest = 0, slots = new Semaphore(1) } = {}) {
  const clock = new ManualClock(1_000_000)
  const kubelet = new Kubelet()
  const events: string[] = []
  const view = {
    add: ({ text }: { text: string }) => events.push(text),
    note: (text: string) => events.push(`(${text})`),
    flush: () => events.push('(end)'),
  }
  const onFailure = (error: unknown) => events.push(`(${(error as Error).message})`)
  const log = new ContainerLog(ref, oldest, view, { source: kubelet, clock, slots, onFailure })
  const newEvents = async () => {
    await quiet()
    return events.splice(0)
  }
  return { clock, kubelet, log, newEvents }
}

/** A running container whose stream hangs after the line `one`, before the line `two`. */
async function startHanging() {
  const started = start()
  const { kubelet, log } = started
  log.update(running)
  kubelet.write(1, 'one')
  await quiet()
  kubelet.isHanging = true
  kubelet.write(2, 'two')
  return started
}

test('lines are passed on while they are written', async () => {
  const { kubelet, log, newEvents } = start()
  kubelet.write(1, 'one')
  log.update(running)
  expect(await newEvents()).toEqual(['one'])
  kubelet.write(2, 'two')
  expect(await newEvents()).toEqual(['two'])
  expect(kubelet.requests).toMatchObject([{ ...ref, follow: true, previous: false, since: 0 }])
})

test('a broken stream is resumed without repeating or losing a line', async () => {
  const { clock, kubelet, log, newEvents } = start()
  log.update(running)
  // The kubelet repeats the lines of the last second; stdout and stderr may be out of order.
  kubelet.write(1.1, 'one')
  kubelet.write(1.3, 'two')
  kubelet.write(1.2, 'three')
  expect(await newEvents()).toEqual(['one', 'two', 'three'])
  kubelet.cut()
  await quiet()
  kubelet.write(1.3001, 'four')
  kubelet.write(2, 'five')
  clock.advance(500)
  expect(await newEvents()).toEqual(['four', 'five'])
  expect(kubelet.requests).toHaveLength(2)
})

test('a stream that the server ends while the container runs is resumed', async () => {
  const { clock, kubelet, log, newEvents } = start()
  log.update(running)
  kubelet.write(1, 'one')
  kubelet.exit()
  expect(await newEvents()).toEqual(['one'])
  expect(clock.pending).toEqual([500])
  clock.advance(500)
  await quiet()
  expect(kubelet.requests).toHaveLength(2)
})

test('the log of an ended container is read to its end and then not requested again', async () => {
  const { clock, kubelet, log, newEvents } = start()
  kubelet.write(1, 'one')
  kubelet.exit()
  log.update(ended)
  expect(await newEvents()).toEqual(['one', '(end)'])
  expect(clock.pending).toEqual([])
  expect(kubelet.open).toBe(0)
})

test('last lines that come after the status reports the end are passed on', async () => {
  const { kubelet, log, newEvents } = start()
  log.update(running)
  await quiet()
  log.update(ended)
  kubelet.write(1, 'last line')
  kubelet.exit()
  expect(await newEvents()).toEqual(['last line', '(end)'])
})

test('a restart opens a new stream and is reported', async () => {
  const { kubelet, log, newEvents } = start()
  log.update(running)
  kubelet.write(1, 'one')
  kubelet.exit()
  log.update(ended)
  expect(await newEvents()).toEqual(['one', '(end)'])
  kubelet.restart()
  kubelet.write(1.1, 'two')
  log.update({ restarts: 1, hasEnded: false })
  expect(await newEvents()).toEqual(['(restarted)', 'two'])
})

test('a run that began and ended between two statuses is read from the previous log', async () => {
  const { kubelet, log, newEvents } = start()
  kubelet.write(1, 'ended at once')
  kubelet.restart()
  kubelet.write(2, 'second run')
  log.update({ restarts: 1, hasEnded: false })
  expect(await newEvents()).toEqual(['ended at once', '(restarted)', 'second run'])
})

test('lines older than the oldest wanted one are not passed on', async () => {
  const { kubelet, log, newEvents } = start({ oldest: 100_000 })
  kubelet.write(99, 'long ago')
  kubelet.write(100, 'now')
  log.update(running)
  expect(await newEvents()).toEqual(['now'])
})

test('a stream that is silent for a minute is opened again', async () => {
  const { clock, kubelet, newEvents } = await startHanging()
  clock.advance(59_999)
  expect(await newEvents()).toEqual(['one'])
  kubelet.isHanging = false
  clock.advance(1)
  expect(await newEvents()).toEqual(['two'])
})

test('a container that has not started is retried without a report', async () => {
  const { clock, kubelet, log, newEvents } = start()
  const refusal = new ApiError(400, 'container "app" in pod "migrate-x" is waiting to start')
  kubelet.refuse(refusal, refusal, refusal)
  kubelet.write(1, 'one')
  log.update(running)
  for (const pauseMs of [1_000, 2_000, 4_000]) {
    expect(await newEvents()).toEqual([])
    clock.advance(pauseMs)
  }
  expect(await newEvents()).toEqual(['one'])
})

test.each([
  ['cannot be read', new ApiError(403, 'forbidden')],
  ['is gone', new ApiError(404, 'not found')],
])('a log that %s is reported and not requested again', async (_, refusal) => {
  const { clock, kubelet, log, newEvents } = start()
  kubelet.refuse(refusal)
  log.update(running)
  expect(await newEvents()).toEqual([`(${refusal.message})`, '(end)'])
  expect(clock.pending).toEqual([])
  log.update(ended)
  await log.finish()
  expect(kubelet.requests).toHaveLength(1)
})

test('a repeated failure is reported at the third attempt, and retries go on', async () => {
  const { clock, kubelet, log, newEvents } = start()
  const failure = new ApiError(502, 'kubelet is away')
  kubelet.refuse(failure, failure, failure)
  kubelet.write(1, 'one')
  log.update(running)
  await quiet()
  clock.advance(1_000)
  expect(await newEvents()).toEqual([])
  clock.advance(2_000)
  expect(await newEvents()).toEqual(['(kubelet is away)'])
  clock.advance(4_000)
  expect(await newEvents()).toEqual(['one'])
})

test('at the end, what was written until then is passed on, and the stream is closed', async () => {
  const { clock, kubelet, log, newEvents } = await startHanging()
  const finished = log.finish()
  kubelet.isHanging = false
  await finished
  expect(await newEvents()).toEqual(['one', 'two', '(end)'])
  expect(kubelet.open).toBe(0)
  expect(clock.pending).toEqual([])
})

test('at the end, a log that was read to its end is not requested again', async () => {
  const { kubelet, log } = start()
  kubelet.exit()
  log.update(ended)
  await quiet()
  await log.finish()
  expect(kubelet.requests).toHaveLength(1)
})

test('at the end, a container without a start in its status is read once, and its refusal is not reported', async () => {
  const { kubelet, log, newEvents } = start()
  kubelet.write(1, 'written before its status')
  kubelet.exit()
  await log.finish()
  expect(await newEvents()).toEqual(['written before its status', '(end)'])
  const other = start()
  other.kubelet.refuse(new ApiError(400, 'waiting to start'))
  await other.log.finish()
  expect(await other.newEvents()).toEqual(['(end)'])
})

test('at the end, a running container that still waits for a slot is not read', async () => {
  const slots = new Semaphore(0)
  const { kubelet, log, newEvents } = start({ slots })
  log.update(running)
  await log.finish()
  slots.release()
  expect(await newEvents()).toEqual(['(end)'])
  expect(kubelet.requests).toEqual([])
})

test('at the end, lines that do not arrive are given up', async () => {
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

test('a stream that breaks while it repeats lines loses no later line', async () => {
  const { clock, kubelet, log, newEvents } = start()
  log.update(running)
  for (const seconds of [1, 1.1, 1.2]) kubelet.write(seconds, String(seconds))
  expect(await newEvents()).toEqual(['1', '1.1', '1.2'])
  kubelet.cut()
  await quiet()
  kubelet.refuse(new ApiError(502, 'kubelet is away'))
  kubelet.write(1.3, '1.3')
  clock.advance(500)
  await quiet()
  clock.advance(2_000)
  expect(await newEvents()).toEqual(['1.3'])
})
