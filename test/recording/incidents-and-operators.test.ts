import { readdirSync } from 'node:fs'
import { buildReport } from '../../src/report/json-report.ts'
import {
  incidentsFolder,
  operatorRecordingsFolder,
  type RightVerdict,
  readExpectations,
  recordingPath,
  replayRecording,
} from '../support/recordings.ts'

describe.each([
  ['of an incident', incidentsFolder],
  ['under an operator', operatorRecordingsFolder],
])('a recording %s', (_, folder) => {
  const expectations = readExpectations<RightVerdict>(folder)

  test('has an expectation, and no expectation lacks its recording', () => {
    const recordings = readdirSync(folder).filter((name) => name.endsWith('.ndjson.gz'))
    expect(recordings.map((name) => name.replace('.ndjson.gz', '')).sort()).toEqual(Object.keys(expectations).sort())
  })

  test.each(Object.entries(expectations))(
    'is judged right, with its cause: %s',
    async (name, { truth, cause = '', notBeforeSeconds = 0, notAfterSeconds = Infinity }) => {
      const { runRecord: record, damage } = await replayRecording(recordingPath(name, folder))
      const report = buildReport(record)
      expect(truth).toContain(report.outcome)
      expect(report.durationSeconds).toBeGreaterThanOrEqual(notBeforeSeconds)
      expect(report.durationSeconds).toBeLessThanOrEqual(notAfterSeconds)
      expect(JSON.stringify(report)).toContain(cause)
      expect(damage).toEqual([])
      const repeated = record.entries.filter(({ text }, index) => text === record.entries[index - 1]?.text)
      expect(repeated).toEqual([])
    },
  )
})
