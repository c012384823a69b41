import { setImmediate as nextTurn } from 'node:timers/promises'
import { openConclusion, type RunRecord } from '../../src/gate/run-record.ts'
import type { Extra } from '../../src/github/extra.ts'
import { Extras, UpdateThrottle } from '../../src/github/extras.ts'
import type { Failure } from '../../src/github/failure.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { rows } from '../kit/rows.ts'
import { createRecord, start } from '../report/builders.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const second = 1_000

/** Records when it is shown, in seconds since the start, and answers with `answer`. */
class FakeExtra implements Extra {
  readonly name = 'commit-status'
  readonly shown: string[] = []
  readonly #clock: ManualClock
  answer: () => Promise<void> = async () => {}

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  show({ outcome }: RunRecord): Promise<void> {
    this.shown.push(`${(this.#clock.now() - start) / second} ${outcome === 'progressing' ? 'open' : outcome}`)
    return this.answer()
  }
}

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

/**
 * What GitHub answers from now on: `accepts`, `refuses 429 60` (its status and its Retry-After), or `hangs` until it is asked
 * to accept.
 */
function answerOf(words: string): () => Promise<void> {
  const [verb, status, retryAfter] = words.split(' ')
  if (verb === 'accepts') return async () => {}
  if (verb === 'hangs') return () => new Promise(() => {})
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
  const error = Object.assign(new Error(`status ${status}`), { status: Number(status), response: { headers } })
  return () => Promise.reject(error)
}

/**
 * What happens: an answer of GitHub (`answerOf`); `begins` and `begins early`, the gate or what is shown before it; `ends`, its
 * outcome; `updates`, once; `passes 15`, as many seconds, `passes 15 updating`, with an update in each; `cancels` the job.
 */
async function play(steps: readonly string[]) {
  const { clock, closed, extra, extras, failures, job, open, pass, begin } = setUp()
  let finished: Promise<void> | undefined
  for (const step of steps) {
    const [verb, one = '', two] = step.split(' ')
    if (verb === 'begins' && one === 'early') extras.begin(open)
    else if (verb === 'begins') await begin()
    else if (verb === 'ends') {
      finished = extras.finish(createRecord(), job.signal)
      await nextTurn()
    } else if (verb === 'updates') extras.update()
    else if (verb === 'passes') await pass(Number(one), two === 'updating' ? () => extras.update() : undefined)
    else if (verb === 'cancels') job.abort()
    else extra.answer = answerOf(step)
  }
  await finished
  if (finished !== undefined) expect(clock.pending).toEqual([])
  return { shown: extra.shown, failures: failures.map(({ type, cause }) => `${type}: ${cause}`), closed }
}

it.each(rows<[string, readonly string[], readonly string[], readonly string[]]>(data, 'progress'))(
  'progress on GitHub %s',
  async (_, steps, shown, failures) => {
    expect(await play(steps)).toMatchObject({ shown, failures })
  },
)

it.each(rows<[string, readonly string[], readonly string[], readonly string[], boolean]>(data, 'outcomes'))(
  'the outcome on GitHub %s',
  async (_, steps, shown, failures, isClosed) => {
    expect(await play(steps)).toMatchObject({ shown, failures, closed: isClosed ? ['commit-status'] : [] })
  },
)

it('progress on GitHub of a long rollout is shown less and less often', async () => {
  const { shown } = await play(['begins', 'passes 600 updating'])
  const moments = shown.map((each) => Number.parseInt(each, 10))
  expect(moments.slice(0, 3)).toEqual([0, 15, 30])
  const last = (moments.at(-1) ?? 0) - (moments.at(-2) ?? 0)
  expect(last).toBeGreaterThan(45)
  expect(moments.length).toBeLessThan(30)
})

it('progress on GitHub is not shown once there is a verdict', async () => {
  const { clock, extra, extras, pass } = setUp()
  extras.start(() => createRecord())
  clock.advance(0)
  await pass(1)
  expect(extra.shown).toEqual([])
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
