import { readLines } from '../../src/recording/reader.ts'
import { recordingLineSchema } from '../../src/recording/recording-schema.ts'
import { readExpectations, recordingPath, titledRecordings } from '../support/recordings.ts'
import { sampled } from '../support/thorough.ts'

it.each(titledRecordings(sampled(Object.keys(readExpectations()), 4, 1)))(
  'the published schema describes every field of %s',
  async (_, name) => {
    for await (const text of readLines(recordingPath(name))) {
      const line = JSON.parse(text)
      // Parsing removes fields that the schema does not have.
      expect(recordingLineSchema.parse(line)).toEqual(line)
    }
  },
)

const at = '2026-01-31T10:00:00.000Z'

it.each([
  ['without a type', { at }],
  ['of an unknown type', { at, type: 'PATCHED' }],
  ['without a time', { type: 'END' }],
  ['without its object', { at, type: 'ADDED' }],
  ['that is the header of another schema version', { recording: 'rollout-gate/v2', startedAt: at }],
])('the published schema of recordings rejects a line %s', (_, line) => {
  expect(recordingLineSchema.safeParse(line).success).toBe(false)
})
