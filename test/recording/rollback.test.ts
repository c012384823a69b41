import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildOutputs } from '../../src/outputs.ts'
import { readExpectations, recordingsFolder, replayOnce } from '../support/recordings.ts'

/** The recordings whose undo restores what ran, each with its command. Found by hand: an older revision served when the gate began. */
const expected: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(join(recordingsFolder, 'rollback.json'), 'utf8'),
)

test.each(Object.keys(readExpectations()))(
  'rollback-command is set exactly where an undo restores what ran: %s',
  async (name) => {
    const { timeline } = await replayOnce(name)
    const outputs = buildOutputs(timeline, { report: '', summary: '' })
    expect(outputs['rollback-command']).toBe(expected[name] ?? '')
    expect(outputs['rollback-note'] === '').toBe(outputs.outcome === 'ready')
  },
)

test.each(['job-fails', 'job-index-fails', 'job-deadline', 'job-fails-by-policy'])(
  'after a Job that ran, rollback-note reports that a migration may not be undone: %s',
  async (name) => {
    const { timeline } = await replayOnce(name)
    expect(buildOutputs(timeline, { report: '', summary: '' })['rollback-note']).toBe(
      'job/migrate ran: a migration may not be undone.',
    )
  },
)
