import { readdirSync } from 'node:fs'
import { buildReport } from '../../src/report/json-report.ts'
import {
  incidentsFolder,
  operatorRecordingsFolder,
  type RightVerdict,
  readExpectations,
  recordingPath,
  replayRecording,
  titledRecordings,
} from '../support/recordings.ts'

describe.each([
  ['incidents', incidentsFolder],
  ['operators', operatorRecordingsFolder],
])('among the recordings of %s', (_, folder) => {
  const expectations = readExpectations<RightVerdict>(folder)

  test('every recording has an expectation, and every expectation has a recording', () => {
    const recordings = readdirSync(folder).filter((name) => name.endsWith('.ndjson.gz'))
    expect(recordings.map((name) => name.replace('.ndjson.gz', '')).sort()).toEqual(Object.keys(expectations).sort())
  })

  test.each(titledRecordings(Object.keys(expectations)))(
    '%s ends with the right outcome and cause',
    async (_, name) => {
      const { truth = [], cause = '', notBeforeSeconds = 0, notAfterSeconds = Infinity } = expectations[name] ?? {}
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
