import fc from 'fast-check'
import { gateRecording } from '../support/gate-recording.ts'
import { readExpectations, recordingPath, titledRecordings } from '../support/recordings.ts'
import { isThorough, runs } from '../support/thorough.ts'
import { lastingFaults, Network, withdrawal } from './lasting-faults.ts'

const expectations = readExpectations()

/** Short recordings: those that become ready, and those that fail. */
const names = {
  ready: ['first-create', 'no-readiness-probe', 'update', 'statefulset', 'crashes-twice-then-fine', 'job-retries'],
  failed: ['crash-loop', 'out-of-memory', 'liveness-kills', 'image-not-found', 'job-fails', 'statefulset-crash'],
}

/** Faults that end before an outage or a refusal may end the gate. */
const longestSeconds = 25

interface Happening {
  readonly fault: string
  readonly at: number
  readonly seconds: number
}

async function gateWith(name: string, happenings: readonly Happening[]) {
  let network: Network | undefined
  return gateRecording(recordingPath(name), {
    firstListsMs: 3_000,
    aheadMs: () => network?.uncountedMs ?? 0,
    prepare: (server, clock) => {
      const present = new Network(server, clock)
      network = present
      for (const { fault, at, seconds } of happenings)
        clock.after(at * 1_000, () => {
          const end = lastingFaults[fault]?.(present)
          clock.after(seconds * 1_000, () => end?.())
        })
    },
  })
}

/** One to four faults that begin during a recording. */
function happeningsIn(name: string): fc.Arbitrary<readonly Happening[]> {
  // The first lists are complete, so no fault looks like a mistake in the inputs.
  const lastSecond = Math.max(1, Math.ceil(expectations[name]?.seconds ?? 0))
  const happening = fc.record({
    fault: fc.constantFrom(...Object.keys(lastingFaults)),
    at: fc.integer({ min: 1, max: 10 * lastSecond }).map((tenths) => 0.2 + tenths / 10),
    seconds: fc.constantFrom(1, 5, longestSeconds),
  })
  return fc.array(happening, { minLength: 1, maxLength: 4 })
}

import.meta.jest.setTimeout(300_000)

describe.each([
  ['ready', 'ready', names.ready],
  ['failed', 'failed or stalled', names.failed],
] as const)('with random faults, the outcome of', (right, words, each) => {
  test.each(titledRecordings(each))(`%s is ${words}, or unknown after a withdrawal of access`, async (_, name) => {
    // A frozen recording may stall before enough deaths are seen: in a real cluster the container dies again.
    const allowed = right === 'failed' ? ['failed', 'stalled'] : ['ready']
    await fc.assert(
      fc.asyncProperty(happeningsIn(name), async (happenings) => {
        const mayBeUnknown = happenings.some(({ fault }) => fault === withdrawal)
        const { outcome } = await gateWith(name, happenings)
        expect(mayBeUnknown ? [...allowed, 'unknown'] : allowed).toContain(outcome)
      }),
      runs(2),
    )
  })
})

describe('if all open watches stop at any moment,', () => {
  test.each(titledRecordings(names.failed))('%s is never ready', async (_, name) => {
    const fault = 'Open watches send nothing any more; new ones work.'
    const ready: number[] = []
    const seconds = expectations[name]?.seconds ?? 0
    for (let at = 0.5; at < seconds; at += isThorough ? 0.5 : 10)
      if ((await gateWith(name, [{ fault, at, seconds: 1 }])).outcome === 'ready') ready.push(at)
    expect(ready).toEqual([])
  })
})
