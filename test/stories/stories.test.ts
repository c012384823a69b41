import { join } from 'node:path'
import { buildAnnotations } from '../../src/report/annotations.ts'
import { renderSummary } from '../../src/report/summary.ts'
import { expectSnapshot } from '../report/snapshot.ts'
import { renderLog } from '../report/whole-log.ts'
import { readExpectations, replayOnce } from '../support/recordings.ts'

/**
 * What people read of every recorded rollout that did not become ready: its log, summary and annotations, as files beside
 * this one. Read each as somebody who has seen nothing else.
 */
const folder = join(import.meta.dirname, 'told')
const failing = Object.entries(readExpectations()).filter(([, { outcome }]) => outcome !== 'ready')

describe.each(failing)('%s is told', (name) => {
  it('in the log', async () => {
    const { timeline } = await replayOnce(name)
    expectSnapshot(`${renderLog(timeline, { color: false }).join('\n')}\n`, `${name}.log.txt`, folder)
  })

  it('in a log that reports each thing once', async () => {
    const { timeline } = await replayOnce(name)
    const lines = renderLog(timeline, { color: false }).filter((line) => !/│|still waiting for/.test(line))
    for (const { outcome, message } of timeline.targets.filter((target) => target.outcome !== 'ready')) {
      // As it arises, and as the reason of the end.
      expect(lines.filter((line) => message !== '' && line.includes(message)).length).toBeLessThanOrEqual(2)
      const verdicts = timeline.entries.filter((entry) => entry.kind === 'verdict' && entry.outcome === outcome)
      for (const { text } of verdicts)
        expect(text).not.toMatch(/^(superseded|no-progress|still-running):|made no progress for/)
    }
  })

  it('in the summary', async () => {
    const { timeline } = await replayOnce(name)
    expectSnapshot(renderSummary(timeline), `${name}.summary.md`, folder)
  })

  it('in annotations', async () => {
    const { timeline } = await replayOnce(name)
    const annotations = buildAnnotations(timeline).map(
      ({ title, message }) => `${title}\n  ${message.replaceAll('\n', '\n  ')}\n`,
    )
    expectSnapshot(annotations.join('\n'), `${name}.annotations.txt`, folder)
  })

  it('with its cause, the object that has it, and what to do', async () => {
    const { timeline } = await replayOnce(name)
    for (const { outcome, message, hint, problems } of timeline.targets.filter(
      (target) => target.outcome !== 'ready',
    )) {
      expect(message).not.toBe('')
      expect(hint).toMatch(/\.$|\S: kubectl /)
      const [deciding] = problems
      if (outcome === 'failed' && deciding?.container !== undefined)
        expect(message).toContain(`container ${deciding.container}`)
    }
  })
})
