import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { pathsOf, withValue } from '../support/json-paths.ts'
import { recordedLines, recordingPath, replayRecording } from '../support/recordings.ts'
import { parameters } from '../support/thorough.ts'

/** Together these recordings contain every kind that rules read, and containers in every state. */
const names = [
  'autoscaler-without-metrics',
  'daemonset-crash',
  'evicted-again-and-again',
  'half-open-for-good-healthy',
  'image-not-found',
  'init-container-crash',
  'job-with-a-sidecar-fails',
  'manifests-of-many-kinds',
  'sidecar-starts-slowly',
  'startup-probe-kills',
  'statefulset-blocked-by-an-old-pod',
]

const recordings = names.map((name) => recordedLines(recordingPath(name)))
const folder = mkdtempSync(join(tmpdir(), 'wrong-types-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** A thousand replays take half a minute on two idle cores. */
const thoroughMs = 180_000

// What the API server guarantees, a file need not contain.
test(
  'a field of any type in a recorded object does not break a replay',
  async () => {
    const change = fc.constantFrom(...recordings).chain((lines) =>
      fc.constantFrom(...[...lines.keys()].filter((index) => lines[index]?.includes('"object":'))).chain((index) => {
        const line = JSON.parse(lines[index] ?? '') as { object: object }
        const path = fc.constantFrom(...pathsOf(line.object).filter((path) => path.join('.') !== 'metadata.name'))
        const value = fc.constantFrom(null, 'x', 7, true, {}, { a: null }, [], [null], [{}], ['x'])
        return fc.record({ lines: fc.constant(lines), index: fc.constant(index), path, value })
      }),
    )
    await fc.assert(
      fc.asyncProperty(change, async ({ lines, index, path, value }) => {
        const changed = JSON.stringify(withValue(JSON.parse(lines[index] ?? ''), ['object', ...path], value))
        const file = join(folder, 'recording.ndjson')
        writeFileSync(file, lines.with(index, changed).join('\n'))
        expect((await replayRecording(file)).runRecord.outcome).not.toBe('progressing')
      }),
      parameters,
    )
  },
  thoroughMs,
)
