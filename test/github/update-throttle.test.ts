import { setImmediate as nextTurn } from 'node:timers/promises'
import { openConclusion, type RunRecord } from '../../src/gate/run-record.ts'
import { Extras, UpdateThrottle } from '../../src/github/extras.ts'
import type { GitHubFailure } from '../../src/github/failure.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { rows } from '../kit/rows.ts'
import { play, type Verbs } from '../kit/steps.ts'
import { createRecord, start } from '../report/builders.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const second = 1_000

/** Records when it is shown, in seconds since the start, and answers with `answer`. */
class FakeExtra {
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
  const failures: GitHubFailure[] = []
  const closed: string[] = []
  const job = new AbortController()
  const throttle = new UpdateThrottle(
    (record) => extra.show(record),
    clock,
    (failure) => failures.push(failure),
  )
  const extras = new Extras(new Map([['commit-status', throttle]]), clock, (name) => closed.push(name))
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

/** What a step does. */
const verbs: Verbs<ReturnType<typeof setUp> & { finished?: Promise<void> }> = {
  // What GitHub answers from now on; `refuses 429 60`: with this status and Retry-After.
  accepts: ({ extra }) => {
    extra.answer = async () => {}
  },
  hangs: ({ extra }) => {
    extra.answer = () => new Promise(() => {})
  },
  refuses: ({ extra }, [status, retryAfter]) => {
    const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
    const error = Object.assign(new Error(`status ${status}`), { status: Number(status), response: { headers } })
    extra.answer = () => Promise.reject(error)
  },
  // The gate begins, or `begins early`, what is shown before it; it ends with its outcome.
  begins: ({ begin, extras, open }, [early]) => (early === undefined ? begin() : extras.begin(open)),
  ends: async (gate) => {
    gate.finished = gate.extras.finish(createRecord(), gate.job.signal)
    await nextTurn()
  },
  updates: ({ extras }) => extras.update(),
  // `passes 15`: as many seconds; `passes 15 updating`: with an update in each.
  passes: ({ extras, pass }, [seconds, updating]) =>
    pass(Number(seconds), updating === undefined ? undefined : () => extras.update()),
  cancels: ({ job }) => job.abort(),
}

async function showAfter(steps: readonly string[]) {
  const gate: Parameters<(typeof verbs)[string]>[0] = setUp()
  await play(steps, verbs, gate)
  await gate.finished
  const { clock, closed, extra, failures, finished } = gate
  if (finished !== undefined) expect(clock.pending).toEqual([])
  return { shown: extra.shown, failures: failures.map(({ type, cause }) => `${type}: ${cause}`), closed }
}

it.each(rows<[string, readonly string[], readonly string[], readonly string[]]>(data, 'progress'))(
  'progress on GitHub %s',
  async (_, steps, shown, failures) => {
    expect(await showAfter(steps)).toMatchObject({ shown, failures })
  },
)

it.each(rows<[string, readonly string[], readonly string[], readonly string[], boolean]>(data, 'outcomes'))(
  'the outcome on GitHub %s',
  async (_, steps, shown, failures, isClosed) => {
    expect(await showAfter(steps)).toMatchObject({ shown, failures, closed: isClosed ? ['commit-status'] : [] })
  },
)

it('of a long rollout is shown less and less often', async () => {
  const { shown } = await showAfter(['begins', 'passes 600 updating'])
  const moments = shown.map((each) => Number.parseInt(each, 10))
  expect(moments.slice(0, 3)).toEqual([0, 15, 30])
  const last = (moments.at(-1) ?? 0) - (moments.at(-2) ?? 0)
  expect(last).toBeGreaterThan(45)
  expect(moments.length).toBeLessThan(30)
})

it('is not shown after the verdict', async () => {
  const { clock, extra, extras, pass } = setUp()
  extras.start(() => createRecord())
  clock.advance(0)
  await pass(1)
  expect(extra.shown).toEqual([])
})

it('waits for a running update so that nothing is created twice', async () => {
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
