import { ApiError } from '../../src/cluster/failures.ts'
import { Semaphore } from '../../src/cluster/semaphore.ts'
import { ContainerLog, LogCursor } from '../../src/logs/container-log.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { Kubelet, quiet } from './kubelet.ts'

const ref = { namespace: 'shop', pod: 'migrate-x', container: 'app' }
const running = { restarts: 0, hasEnded: false }
const ended = { restarts: 0, hasEnded: true }

function start({ oldest = 0, slots = new Semaphore(1) } = {}) {
  const clock = new ManualClock(1_000_000)
  const kubelet = new Kubelet()
  const events: string[] = []
  const listener = {
    onLine: ({ text }: { text: string }) => events.push(text),
    onRestart: () => events.push('(restart)'),
    onGap: () => events.push('(gap)'),
    onRunEnd: () => events.push('(end)'),
    onFailure: (error: unknown) => events.push(`(${(error as Error).message})`),
  }
  const log = new ContainerLog(ref, oldest, listener, { source: kubelet, clock, slots })
  const newEvents = async () => {
    await quiet()
    return events.splice(0)
  }
  return { clock, kubelet, log, newEvents }
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
  for (const text of ['one', 'two', 'three']) kubelet.write(1.5, text)
  expect(await newEvents()).toEqual(['one', 'two', 'three'])
  kubelet.cut()
  await quiet()
  kubelet.write(1.5, 'four')
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
  expect(await newEvents()).toEqual(['(restart)', 'two'])
})

test('a run that began and ended between two statuses is read from the previous log', async () => {
  const { kubelet, log, newEvents } = start()
  kubelet.write(1, 'ended at once')
  kubelet.restart()
  kubelet.write(2, 'second run')
  log.update({ restarts: 1, hasEnded: false })
  expect(await newEvents()).toEqual(['ended at once', '(restart)', 'second run'])
})

test('lines older than the oldest wanted one are not passed on', async () => {
  const { kubelet, log, newEvents } = start({ oldest: 100_000 })
  kubelet.write(99, 'long ago')
  kubelet.write(100, 'now')
  log.update(running)
  expect(await newEvents()).toEqual(['now'])
})

test('a stream that is silent for a minute is opened again', async () => {
  const { clock, kubelet, log, newEvents } = start()
  log.update(running)
  kubelet.write(1, 'one')
  await quiet()
  kubelet.isHanging = true
  kubelet.write(2, 'two')
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
  expect(await newEvents()).toEqual([`(${refusal.message})`])
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
  const { clock, kubelet, log, newEvents } = start()
  log.update(running)
  kubelet.write(1, 'one')
  await quiet()
  kubelet.isHanging = true
  kubelet.write(2, 'two')
  const finished = log.finish()
  kubelet.isHanging = false
  await finished
  expect(await newEvents()).toEqual(['one', 'two'])
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
  expect(await newEvents()).toEqual(['written before its status'])
  const other = start()
  other.kubelet.refuse(new ApiError(400, 'waiting to start'))
  await other.log.finish()
  expect(await other.newEvents()).toEqual([])
})

test('at the end, a running container that still waits for a slot is not read', async () => {
  const slots = new Semaphore(0)
  const { kubelet, log, newEvents } = start({ slots })
  log.update(running)
  await log.finish()
  slots.release()
  expect(await newEvents()).toEqual([])
  expect(kubelet.requests).toEqual([])
})

test('at the end, only the last of very many lines are read, and the gap is reported', async () => {
  const { kubelet, log, newEvents } = start()
  log.update(running)
  kubelet.write(1, 'one')
  await quiet()
  kubelet.isHanging = true
  for (let line = 0; line < 5_000; line++) kubelet.write(2, String(line))
  const finished = log.finish()
  kubelet.isHanging = false
  await finished
  const all = await newEvents()
  expect(all.slice(0, 3)).toEqual(['one', '(gap)', '4000'])
  expect(all.at(-1)).toBe('4999')
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
  expect(await newEvents()).toEqual([])
  expect(kubelet.open).toBe(0)
  expect(clock.pending).toEqual([])
})

const at = (seconds: number) => 1_700_000_000_000 + seconds * 1000

/** The new ones among the lines that a kubelet returns from the cursor's time on. */
function newLines(cursor: LogCursor, written: readonly number[]): number[] {
  cursor.reopen()
  const since = Math.floor(cursor.since / 1000) * 1000
  return written.filter((time) => time >= since).filter((time) => cursor.accept(time))
}

test('lines before the oldest wanted one are not requested', () => {
  expect(new LogCursor(at(5)).since).toBe(at(5))
})

test('a log that is opened again continues after the last line, also when several lines have its time', () => {
  const cursor = new LogCursor(at(0))
  const written = [at(1), at(1.2), at(1.2), at(1.2), at(1.9)]
  expect(newLines(cursor, written.slice(0, 3))).toHaveLength(3)
  expect(newLines(cursor, written)).toEqual([at(1.2), at(1.9)])
  expect(newLines(cursor, written)).toEqual([])
})

test('a stream that breaks while it repeats lines loses no later line', () => {
  const cursor = new LogCursor(at(0))
  const written = [at(1), at(1.1), at(1.2), at(1.3)]
  newLines(cursor, written.slice(0, 3))
  newLines(cursor, written.slice(0, 1))
  expect(newLines(cursor, written)).toEqual([at(1.3)])
})

test('lines of stdout and stderr that are out of order are neither lost nor repeated', () => {
  const cursor = new LogCursor(at(0))
  const written = [at(1.5), at(2.1), at(1.9), at(2.05), at(2.04)]
  expect(newLines(cursor, written.slice(0, 4))).toHaveLength(4)
  expect(newLines(cursor, written)).toEqual([at(2.04)])
})

test('after the file was rotated, the lines of the new file are new', () => {
  const cursor = new LogCursor(at(0))
  newLines(cursor, [at(1.1), at(1.2)])
  const later = [at(1.3), at(1.3), at(1.4), at(1.15)]
  expect(newLines(cursor, later)).toEqual(later)
})

test('the lines of the next run are new, also within the same second', () => {
  const cursor = new LogCursor(at(0))
  newLines(cursor, [at(1.1), at(1.2)])
  expect(newLines(cursor, [at(1.6), at(1.7)])).toEqual([at(1.6), at(1.7)])
})

test('a log wanted from within a second on repeats no line of that second when it is opened again', () => {
  const cursor = new LogCursor(at(0.5))
  const written = [at(0.2), at(0.7)]
  expect(newLines(cursor, written)).toEqual(written)
  expect(newLines(cursor, written)).toEqual([])
})
