import { setImmediate as nextTurn } from 'node:timers/promises'
import { openConclusion, type RunRecord } from '../../src/gate/run-record.ts'
import type { Extra } from '../../src/github/extra.ts'
import { Extras, UpdateThrottle } from '../../src/github/extras.ts'
import type { Failure } from '../../src/github/failure.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { createRecord, start } from '../report/builders.ts'

const second = 1_000

type Answer = () => Promise<void>

/** Records when it is shown, in seconds since the start, and answers with `answer`. */
class FakeExtra implements Extra {
  readonly name = 'commit-status'
  readonly shown: string[] = []
  readonly #clock: ManualClock
  answer: Answer = async () => {}

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  show({ outcome }: RunRecord): Promise<void> {
    this.shown.push(`${(this.#clock.now() - start) / second} ${outcome === 'progressing' ? 'open' : outcome}`)
    return this.answer()
  }
}

function httpError(status: number, headers: Readonly<Record<string, string>> = {}): Error {
  return Object.assign(new Error(`status ${status}`), { status, response: { headers } })
}

const fails = (error: Error) => () => Promise.reject(error)
const hangs: Answer = () => new Promise(() => {})

function setUp() {
  const clock = new ManualClock(start)
  const extra = new FakeExtra(clock)
  const failures: Failure[] = []
  const closed: string[] = []
  const job = new AbortController()
  const throttle = new UpdateThrottle(extra, clock, (failure) => failures.push(failure))
  const extras = new Extras(new Map([[extra.name, throttle]]), clock, (name) => closed.push(name))
  const open = { ...createRecord(), ...openConclusion }
  /** Advances the clock second by second. */
  const pass = async (seconds: number, each = () => {}) => {
    await nextTurn()
    for (let left = seconds; left > 0; left--) {
      clock.advance(second)
      each()
      await nextTurn()
    }
  }
  const begin = async () => {
    extras.start(() => open)
    clock.advance(0)
    await nextTurn()
  }
  return { clock, closed, extra, extras, failures, job, open, pass, begin }
}

it('a commit status is pending before the gate starts, and shows the gate at its next update', async () => {
  const { extra, extras, open, pass, begin } = setUp()
  extras.begin(open)
  await pass(1)
  await begin()
  await pass(15)
  expect(extra.shown).toEqual(['0 open', '15 open'])
})

it('progress on GitHub is shown at once, then after a change, at least 15 s apart', async () => {
  const { extra, extras, pass, begin } = setUp()
  await begin()
  await pass(40)
  extras.update()
  extras.update()
  await pass(1)
  extras.update()
  await pass(60)
  expect(extra.shown).toEqual(['0 open', '40 open', '55 open'])
})

it('progress on GitHub of a long rollout is shown less and less often', async () => {
  const { extra, extras, pass, begin } = setUp()
  await begin()
  await pass(600, () => extras.update())
  const moments = extra.shown.map((each) => Number.parseInt(each, 10))
  expect(moments.slice(0, 3)).toEqual([0, 15, 30])
  const last = (moments.at(-1) ?? 0) - (moments.at(-2) ?? 0)
  expect(last).toBeGreaterThan(45)
  expect(moments.length).toBeLessThan(30)
})

it('progress on GitHub is not shown before the gate begins', async () => {
  const { clock, extra, extras } = setUp()
  extras.update()
  clock.advance(second)
  expect(extra.shown).toEqual([])
})

it('progress on GitHub that failed once is shown by the next update, without a warning', async () => {
  const { begin, extra, extras, failures, job, pass } = setUp()
  extra.answer = fails(httpError(502))
  await begin()
  extra.answer = async () => {}
  await pass(20, () => extras.update())
  await extras.finish(createRecord(), job.signal)
  expect(extra.shown).toEqual(['0 open', '15 open', '20 ready'])
  expect(failures).toEqual([])
})

it('progress on GitHub waits as long as Retry-After asks', async () => {
  const { extra, extras, pass, begin } = setUp()
  extra.answer = fails(httpError(429, { 'retry-after': '60' }))
  await begin()
  extra.answer = async () => {}
  await pass(70, () => extras.update())
  expect(extra.shown).toEqual(['0 open', '60 open'])
})

it('progress on GitHub that takes longer than 10 s is aborted before the next', async () => {
  const { extra, extras, failures, pass, begin } = setUp()
  extra.answer = hangs
  await begin()
  await pass(20, () => extras.update())
  expect(extra.shown).toEqual(['0 open', '15 open'])
  expect(failures).toEqual([])
})

it('progress on GitHub that is forbidden is reported once and not retried', async () => {
  const { begin, extra, extras, failures, job, pass } = setUp()
  extra.answer = fails(httpError(403))
  await begin()
  await pass(60, () => extras.update())
  await extras.finish(createRecord(), job.signal)
  expect(extra.shown).toEqual(['0 open'])
  expect(failures).toMatchObject([{ type: 'forbidden' }])
})

it.each([401, 403, 404])(
  'progress on GitHub goes on after a passing refusal with %i, once an update has been accepted',
  async (status) => {
    const { begin, extra, extras, failures, job, pass } = setUp()
    await begin()
    extra.answer = fails(httpError(status))
    await pass(15, () => extras.update())
    extra.answer = async () => {}
    await pass(15, () => extras.update())
    await extras.finish(createRecord(), job.signal)
    expect(extra.shown).toEqual(['0 open', '15 open', '30 open', '30 ready'])
    expect(failures).toEqual([])
  },
)

it('progress on GitHub is not shown once there is a verdict', async () => {
  const { clock, extra, extras, pass } = setUp()
  extras.start(() => createRecord())
  clock.advance(0)
  await pass(1)
  expect(extra.shown).toEqual([])
})

it('the outcome on GitHub is shown at once, however little time has passed, and leaves no timer behind', async () => {
  const { begin, clock, extra, extras, job, pass } = setUp()
  await begin()
  await pass(2)
  extras.update()
  await extras.finish(createRecord(), job.signal)
  expect(extra.shown).toEqual(['0 open', '2 ready'])
  expect(clock.pending).toEqual([])
})

it('the outcome on GitHub waits for a secondary rate limit to end', async () => {
  const { closed, extra, extras, failures, job, pass } = setUp()
  extra.answer = fails(httpError(403, { 'retry-after': '60' }))
  const finished = extras.finish(createRecord(), job.signal)
  await nextTurn()
  extra.answer = async () => {}
  await pass(60)
  await finished
  expect(extra.shown).toEqual(['0 ready', '60 ready'])
  expect(closed).toEqual(['commit-status'])
  expect(failures).toEqual([])
})

it('the outcome on GitHub is tried for at most 4 s after the job was cancelled', async () => {
  const { clock, closed, extra, extras, failures, job, pass } = setUp()
  extra.answer = fails(httpError(403, { 'retry-after': '60' }))
  const finished = extras.finish(createRecord(), job.signal)
  await pass(10)
  job.abort()
  await pass(4)
  await finished
  expect(failures).toMatchObject([{ type: 'temporary' }])
  expect(closed).toEqual([])
  expect(clock.pending).toEqual([])
})

it('the outcome on GitHub is tried again when a request is not answered for 30 s', async () => {
  const { extra, extras, job, pass } = setUp()
  extra.answer = hangs
  const finished = extras.finish(createRecord(), job.signal)
  await pass(30)
  extra.answer = async () => {}
  await pass(2)
  await finished
  expect(extra.shown).toEqual(['0 ready', '31 ready'])
})

it('the outcome on GitHub is shown when the gate never began', async () => {
  const { extra, extras, job } = setUp()
  await extras.finish(createRecord(), job.signal)
  expect(extra.shown).toEqual(['0 ready'])
})

it('the outcome on GitHub waits for an update under way, so that nothing is created twice', async () => {
  const { begin, extra, extras, job, pass } = setUp()
  const made = Promise.withResolvers<void>()
  extra.answer = () => made.promise
  await begin()
  const finished = extras.finish(createRecord(), job.signal)
  await pass(3)
  expect(extra.shown).toEqual(['0 open'])
  extra.answer = async () => {}
  made.resolve()
  await finished
  expect(extra.shown).toEqual(['0 open', '3 ready'])
})

it('the outcome on GitHub is retried while there is time, then reported as a failure', async () => {
  const { clock, closed, extra, extras, failures, job, pass } = setUp()
  extra.answer = fails(httpError(503))
  const finished = extras.finish(createRecord(), job.signal)
  await pass(90)
  await finished
  expect(extra.shown).toEqual(['0 ready', '1 ready', '3 ready', '7 ready', '15 ready', '31 ready', '63 ready'])
  expect(closed).toEqual([])
  expect(failures).toMatchObject([{ type: 'temporary', cause: 'GitHub answered 503' }])
  expect(clock.pending).toEqual([])
})

it('the outcome on GitHub that succeeds in a retry is no failure', async () => {
  const { extra, extras, failures, job, pass } = setUp()
  extra.answer = fails(httpError(500))
  const finished = extras.finish(createRecord(), job.signal)
  await nextTurn()
  extra.answer = async () => {}
  await pass(2)
  await finished
  expect(extra.shown).toEqual(['0 ready', '1 ready'])
  expect(failures).toEqual([])
})

it.each([
  ['GitHub asks for a longer pause than there is time', httpError(429, { 'retry-after': '120' }), 'temporary'],
  ['GitHub rejects the request', httpError(422), 'invalid'],
  ['the token lacks the permission', httpError(404), 'forbidden'],
])('the outcome on GitHub is not retried when %s', async (_, error, type) => {
  const { clock, extra, extras, failures, job } = setUp()
  extra.answer = fails(error)
  await extras.finish(createRecord(), job.signal)
  expect(clock.now()).toBe(start)
  expect(failures).toMatchObject([{ type }])
})

it.each([401, 403, 404])(
  'the outcome on GitHub is tried again after a passing refusal with %i, once an update has been accepted',
  async (status) => {
    const { begin, closed, extra, extras, failures, job, pass } = setUp()
    await begin()
    extra.answer = fails(httpError(status))
    const finished = extras.finish(createRecord(), job.signal)
    await nextTurn()
    extra.answer = async () => {}
    await pass(1)
    await finished
    expect(extra.shown).toEqual(['0 open', '0 ready', '1 ready'])
    expect(closed).toEqual(['commit-status'])
    expect(failures).toEqual([])
  },
)

it('the outcome on GitHub is reported as a failure when the third refusal in a row shows that the access was withdrawn', async () => {
  const { begin, closed, extra, extras, failures, job, pass } = setUp()
  await begin()
  extra.answer = fails(httpError(401))
  const finished = extras.finish(createRecord(), job.signal)
  await pass(3)
  await finished
  expect(extra.shown).toEqual(['0 open', '0 ready', '1 ready', '3 ready'])
  expect(closed).toEqual([])
  expect(failures).toMatchObject([{ type: 'forbidden' }])
})

it('the outcome on GitHub respects its time limit when GitHub never answers', async () => {
  const { clock, extra, extras, failures, begin, pass } = setUp()
  extra.answer = hangs
  await begin()
  const finished = extras.finish(createRecord(), AbortSignal.abort())
  await pass(4)
  await finished
  expect(clock.now()).toBe(start + 4 * second)
  expect(failures).toMatchObject([{ type: 'temporary', cause: 'GitHub did not answer in time' }])
  expect(clock.pending).toEqual([])
})
