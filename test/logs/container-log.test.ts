import { ApiError } from '../../src/cluster/failures.ts'
import { Semaphore } from '../../src/cluster/semaphore.ts'
import { ContainerLog } from '../../src/logs/container-log.ts'
import { ManualClock } from '../cluster-client/manual-clock.ts'
import { Kubelet, quiet } from './kubelet.ts'

const ref = { namespace: 'shop', pod: 'migrate-x', container: 'app' }
const running = { restarts: 0, isOver: false }
const over = { restarts: 0, isOver: true }

function start({ oldest = 0, slots = new Semaphore(1) } = {}) {
  const clock = new ManualClock(1_000_000)
  const kubelet = new Kubelet()
  const heard: string[] = []
  const listener = {
    onLine: ({ text }: { text: string }) => heard.push(text),
    onRestart: () => heard.push('(restart)'),
    onGap: () => heard.push('(gap)'),
    onRunEnd: () => heard.push('(end)'),
    onFailure: (error: unknown) => heard.push(`(${(error as Error).message})`),
  }
  const log = new ContainerLog(ref, oldest, listener, { source: kubelet, clock, slots })
  const told = async () => {
    await quiet()
    return heard.splice(0)
  }
  return { clock, kubelet, log, told }
}

test('lines are told while they are written', async () => {
  const { kubelet, log, told } = start()
  kubelet.write(1, 'one')
  log.update(running)
  expect(await told()).toEqual(['one'])
  kubelet.write(2, 'two')
  expect(await told()).toEqual(['two'])
  expect(kubelet.requests).toMatchObject([{ ...ref, follow: true, previous: false, since: 0 }])
})

test('a stream that is cut is gone on with, without repeating or losing a line', async () => {
  const { clock, kubelet, log, told } = start()
  log.update(running)
  for (const text of ['one', 'two', 'three']) kubelet.write(1.5, text)
  expect(await told()).toEqual(['one', 'two', 'three'])
  kubelet.cut()
  await quiet()
  kubelet.write(1.5, 'four')
  kubelet.write(2, 'five')
  clock.advance(500)
  expect(await told()).toEqual(['four', 'five'])
  expect(kubelet.requests).toHaveLength(2)
})

test('a stream that the server ends while the container runs is gone on with', async () => {
  const { clock, kubelet, log, told } = start()
  log.update(running)
  kubelet.write(1, 'one')
  kubelet.exit()
  expect(await told()).toEqual(['one'])
  expect(clock.pending).toEqual([500])
  clock.advance(500)
  await quiet()
  expect(kubelet.requests).toHaveLength(2)
})

test('when a container is over its log has an end, and nothing more is asked', async () => {
  const { clock, kubelet, log, told } = start()
  kubelet.write(1, 'one')
  kubelet.exit()
  log.update(over)
  expect(await told()).toEqual(['one', '(end)'])
  expect(clock.pending).toEqual([])
  expect(kubelet.open).toBe(0)
})

test('the last lines are told although the status says first that the container is over', async () => {
  const { kubelet, log, told } = start()
  log.update(running)
  await quiet()
  log.update(over)
  kubelet.write(1, 'the last word')
  kubelet.exit()
  expect(await told()).toEqual(['the last word', '(end)'])
})

test('a restart begins a new stream, and is told', async () => {
  const { kubelet, log, told } = start()
  log.update(running)
  kubelet.write(1, 'one')
  kubelet.exit()
  log.update(over)
  expect(await told()).toEqual(['one', '(end)'])
  kubelet.restart()
  kubelet.write(1.1, 'two')
  log.update({ restarts: 1, isOver: false })
  expect(await told()).toEqual(['(restart)', 'two'])
})

test('a run that was over before its status told of it is read from the log of the previous run', async () => {
  const { kubelet, log, told } = start()
  kubelet.write(1, 'died at once')
  kubelet.restart()
  kubelet.write(2, 'second run')
  log.update({ restarts: 1, isOver: false })
  expect(await told()).toEqual(['died at once', '(restart)', 'second run'])
})

test('lines of long ago are not told', async () => {
  const { kubelet, log, told } = start({ oldest: 100_000 })
  kubelet.write(99, 'long ago')
  kubelet.write(100, 'now')
  log.update(running)
  expect(await told()).toEqual(['now'])
})

test('a stream that is silent for a minute is opened anew', async () => {
  const { clock, kubelet, log, told } = start()
  log.update(running)
  kubelet.write(1, 'one')
  await quiet()
  kubelet.isHanging = true
  kubelet.write(2, 'two')
  clock.advance(59_999)
  expect(await told()).toEqual(['one'])
  kubelet.isHanging = false
  clock.advance(1)
  expect(await told()).toEqual(['two'])
})

test('a container that has not started yet is asked again, and nobody is told', async () => {
  const { clock, kubelet, log, told } = start()
  const refusal = new ApiError(400, 'BadRequest', 'container "app" in pod "migrate-x" is waiting to start')
  kubelet.refuse(refusal, refusal, refusal)
  kubelet.write(1, 'one')
  log.update(running)
  for (const pauseMs of [1_000, 2_000, 4_000]) {
    expect(await told()).toEqual([])
    clock.advance(pauseMs)
  }
  expect(await told()).toEqual(['one'])
})

test.each([
  ['may not be read', new ApiError(403, 'Forbidden', 'forbidden')],
  ['is gone', new ApiError(404, 'NotFound', 'not found')],
])('a log that %s is told, and not asked for again', async (_, refusal) => {
  const { clock, kubelet, log, told } = start()
  kubelet.refuse(refusal)
  log.update(running)
  expect(await told()).toEqual([`(${refusal.message})`])
  expect(clock.pending).toEqual([])
  log.update(over)
  await log.finish()
  expect(kubelet.requests).toHaveLength(1)
})

test('a failure that does not heal is told at the third time, and goes on being tried', async () => {
  const { clock, kubelet, log, told } = start()
  const failure = new ApiError(502, '', 'kubelet is away')
  kubelet.refuse(failure, failure, failure)
  kubelet.write(1, 'one')
  log.update(running)
  await quiet()
  clock.advance(1_000)
  expect(await told()).toEqual([])
  clock.advance(2_000)
  expect(await told()).toEqual(['(kubelet is away)'])
  clock.advance(4_000)
  expect(await told()).toEqual(['one'])
})

describe('at the end', () => {
  test('what was written until then is told, and the stream is closed', async () => {
    const { clock, kubelet, log, told } = start()
    log.update(running)
    kubelet.write(1, 'one')
    await quiet()
    kubelet.isHanging = true
    kubelet.write(2, 'two')
    const finished = log.finish()
    kubelet.isHanging = false
    await finished
    expect(await told()).toEqual(['one', 'two'])
    expect(kubelet.open).toBe(0)
    expect(clock.pending).toEqual([])
  })

  test('a log that was read to its end is not asked for again', async () => {
    const { kubelet, log } = start()
    kubelet.exit()
    log.update(over)
    await quiet()
    await log.finish()
    expect(kubelet.requests).toHaveLength(1)
  })

  test('a container whose start was never seen is asked once, and its refusal is no news', async () => {
    const { kubelet, log, told } = start()
    kubelet.write(1, 'quicker than its status')
    kubelet.exit()
    await log.finish()
    expect(await told()).toEqual(['quicker than its status'])
    const other = start()
    other.kubelet.refuse(new ApiError(400, 'BadRequest', 'waiting to start'))
    await other.log.finish()
    expect(await other.told()).toEqual([])
  })

  test('a running container that still waits for its turn tells nothing', async () => {
    const slots = new Semaphore(0)
    const { kubelet, log, told } = start({ slots })
    log.update(running)
    await log.finish()
    slots.release()
    expect(await told()).toEqual([])
    expect(kubelet.requests).toEqual([])
  })

  test('of more than can be read in a moment the last is read, and that others are missing is told', async () => {
    const { kubelet, log, told } = start()
    log.update(running)
    kubelet.write(1, 'one')
    await quiet()
    kubelet.isHanging = true
    for (let line = 0; line < 5_000; line++) kubelet.write(2, String(line))
    const finished = log.finish()
    kubelet.isHanging = false
    await finished
    const all = await told()
    expect(all.slice(0, 3)).toEqual(['one', '(gap)', '4000'])
    expect(all.at(-1)).toBe('4999')
  })

  test('what does not come is given up', async () => {
    const { clock, kubelet, log, told } = start()
    kubelet.isHanging = true
    kubelet.write(1, 'never seen')
    log.update(running)
    const finished = log.finish()
    await quiet()
    log.close()
    await finished
    expect(await told()).toEqual([])
    expect(kubelet.open).toBe(0)
    expect(clock.pending).toEqual([])
  })
})
