import { readdirSync } from 'node:fs'
import { buildReport } from '../../src/report/json-report.ts'
import {
  type OperatorExpectation,
  operatorRecordingsFolder,
  readExpectations,
  recordingPath,
  replayRecording,
} from '../support/recordings.ts'

const expectations = readExpectations<OperatorExpectation>(operatorRecordingsFolder)

test('every recording under an operator has an expectation, and no expectation lacks its recording', () => {
  const recordings = readdirSync(operatorRecordingsFolder).filter((name) => name.endsWith('.ndjson.gz'))
  expect(recordings.map((name) => name.replace('.ndjson.gz', '')).sort()).toEqual(Object.keys(expectations).sort())
})

test.each(Object.entries(expectations))(
  'a custom resource under its operator is judged right, with its cause: %s',
  async (name, { truth, cause = '' }) => {
    const { timeline, damage } = await replayRecording(recordingPath(name, operatorRecordingsFolder))
    const report = buildReport(timeline)
    expect(truth).toContain(report.outcome)
    expect(JSON.stringify(report)).toContain(cause)
    expect(damage).toEqual([])
    const repeated = timeline.entries.filter(({ text }, index) => text === timeline.entries[index - 1]?.text)
    expect(repeated).toEqual([])
  },
)
