import { join } from 'node:path'
import { buildAnnotations } from '../../src/report/annotations.ts'
import { renderSummary } from '../../src/report/summary.ts'
import { expectSnapshot } from '../report/snapshot.ts'
import { renderLog } from '../report/whole-log.ts'
import { readExpectations, replayOnce, titledRecordings } from '../support/recordings.ts'

/** Log, summary and annotations of every recorded rollout that did not become ready, as files for reviewers. */
const folder = join(import.meta.dirname, 'snapshots')
const failing = Object.entries(readExpectations()).flatMap(([name, { outcome }]) => (outcome === 'ready' ? [] : [name]))

describe.each(titledRecordings(failing))('the replay of %s', (_, name) => {
  it('prints the expected log', async () => {
    const { runRecord: record } = await replayOnce(name)
    expectSnapshot(`${renderLog(record, { color: false }).join('\n')}\n`, `${name}.log.txt`, folder)
  })

  it('logs each failure message at most twice', async () => {
    const { runRecord: record } = await replayOnce(name)
    const lines = renderLog(record, { color: false }).filter((line) => !/│|still waiting for/.test(line))
    for (const { outcome, message } of record.targets.filter((target) => target.outcome !== 'ready')) {
      // Once when it occurs, and once as the reason of the verdict.
      expect(lines.filter((line) => message !== '' && line.includes(message)).length).toBeLessThanOrEqual(2)
      const verdicts = record.entries.filter((entry) => entry.kind === 'verdict' && entry.outcome === outcome)
      for (const { text } of verdicts)
        expect(text).not.toMatch(/^(superseded|no-progress|still-running):|made no progress for/)
    }
  })

  it('renders the summary of its snapshot', async () => {
    const { runRecord: record } = await replayOnce(name)
    expectSnapshot(renderSummary(record), `${name}.summary.md`, folder)
  })

  it('creates the annotations of its snapshot', async () => {
    const { runRecord: record } = await replayOnce(name)
    const annotations = buildAnnotations(record).map(
      ({ title, message }) => `${title}\n  ${message.replaceAll('\n', '\n  ')}\n`,
    )
    expectSnapshot(annotations.join('\n'), `${name}.annotations.txt`, folder)
  })

  it('gives every failed target a message and a hint', async () => {
    const { runRecord: record } = await replayOnce(name)
    for (const { outcome, message, hint, problems } of record.targets.filter((target) => target.outcome !== 'ready')) {
      expect(message).not.toBe('')
      expect(hint).toMatch(/\.$|\S: kubectl /)
      const [deciding] = problems
      if (outcome === 'failed' && deciding?.container !== undefined)
        expect(message).toContain(`container ${deciding.container}`)
    }
  })
})
