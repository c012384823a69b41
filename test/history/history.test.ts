import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { compareGate, gateOf, median, type PastGate, quantile } from '../../src/history/gates.ts'
import { appendGate, describeSkipped, readHistory } from '../../src/history/history-file.ts'
import { describeHistory, historyStatistics } from '../../src/history/statistics.ts'
import { renderComparison, slowerThanUsual, sparkline } from '../../src/report/comparison.ts'
import { at, createMilestone, createTarget, createTargetRecord, createTimeline, reached } from '../report/builders.ts'

const folder = mkdtempSync(join(tmpdir(), 'history-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newFile = () => join(folder, `gates-${++files}.ndjson`)

/** A gate of deployment/web that became ready after its pull took so many seconds. */
function pulledIn(seconds: number, overrides: Partial<PastGate> = {}): PastGate {
  const record = createTargetRecord({
    endedAt: at(seconds + 2),
    milestones: reached({ created: 0, scheduled: 1, pulled: 1 + seconds, ready: 2 + seconds }),
  })
  const gate = gateOf(createTimeline({ finishedAt: at(seconds + 2), targets: [record] }), undefined)
  if (gate === undefined) throw new Error('no gate')
  return { ...gate, ...overrides }
}

function failedGate(atText: string, reason = 'image-not-found'): PastGate {
  const record = createTargetRecord({ outcome: 'failed', reason: 'image-not-found', endedAt: at(20) })
  const verdict = { outcome: 'failed', reason: 'image-not-found', message: '' } as const
  const gate = gateOf(createTimeline({ finishedAt: at(20), targets: [record], verdict }), undefined)
  if (gate === undefined) throw new Error('no gate')
  return { ...gate, at: atText, targets: gate.targets.map((each) => ({ ...each, reason })) }
}

describe('the file of a history', () => {
  it('has one line for each gate, and gives them back in their order', () => {
    const path = newFile()
    const gates = [pulledIn(3), pulledIn(4)]
    for (const gate of gates) appendGate(path, gate)
    expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(2)
    expect(readHistory(path)).toEqual({ gates, skipped: [] })
  })

  it('is empty before the first gate', () => {
    expect(readHistory(newFile())).toEqual({ gates: [], skipped: [] })
  })

  it('keeps the last 200 gates', () => {
    const path = newFile()
    const gates = Array.from({ length: 205 }, () => pulledIn(3))
    writeFileSync(path, gates.map((gate) => `${JSON.stringify(gate)}\n`).join(''))
    const last = pulledIn(9)
    appendGate(path, last)
    const lines = readFileSync(path, 'utf8').trim().split('\n')
    expect(lines).toHaveLength(200)
    expect(lines.at(-1)).toBe(JSON.stringify(last))
    expect(readdirSync(folder).filter((name) => /lock|tmp/.test(name))).toEqual([])
  })

  it('skips lines that are no gates, also one that was not written to its end, and reports their numbers', () => {
    const path = newFile()
    const gate = pulledIn(3)
    writeFileSync(
      path,
      `${JSON.stringify(gate)}\n{"history":"other"}\n\nnonsense\n${JSON.stringify(gate).slice(0, 40)}`,
    )
    const next = pulledIn(4)
    appendGate(path, next)
    expect(readHistory(path)).toEqual({ gates: [gate, next], skipped: [2, 4, 5] })
    expect(describeSkipped([2, 4, 5])).toBe('3 lines are no gates and were skipped (the first is line 2)')
  })

  it('counts a gate only once if its line was written twice', () => {
    const path = newFile()
    const gate = pulledIn(3)
    appendGate(path, gate)
    appendGate(path, gate)
    expect(readHistory(path).gates).toEqual([gate])
  })

  it('removes the lock of a process that was killed, and replaces the file at a later gate', () => {
    const path = newFile()
    writeFileSync(path, Array.from({ length: 210 }, () => `${JSON.stringify(pulledIn(3))}\n`).join(''))
    writeFileSync(`${path}.lock`, '')
    appendGate(path, pulledIn(4))
    expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(211)
    utimesSync(`${path}.lock`, 0, 0)
    appendGate(path, pulledIn(5))
    appendGate(path, pulledIn(6))
    expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(200)
  })

  it('loses no line of four writers that append at the same time, while the file is replaced again and again', async () => {
    const path = newFile()
    const each = 25
    const module = join(import.meta.dirname, '../../src/history/history-file.ts')
    // More than 200 lines, so that every gate replaces the file.
    writeFileSync(path, Array.from({ length: 230 }, () => `${JSON.stringify(pulledIn(3))}\n`).join(''))
    const code = `
      const { workerData, parentPort } = require('node:worker_threads')
      import(workerData.module).then(({ appendGate }) => {
        for (let i = 0; i < workerData.each; i++) appendGate(workerData.path, { ...workerData.gate, id: workerData.name + i })
        parentPort.postMessage('done')
      })`
    const gate = pulledIn(7)
    const workers = ['a', 'b', 'c', 'd'].map(
      (name) => new Worker(code, { eval: true, workerData: { module, path, each, name, gate } }),
    )
    await Promise.all(
      workers.map((worker) => new Promise((resolve, reject) => worker.on('message', resolve).on('error', reject))),
    )
    const ids = new Set(readHistory(path).gates.map(({ id }) => id))
    const lost = ['a', 'b', 'c', 'd'].flatMap((name) =>
      Array.from({ length: each }, (_, index) => `${name}${index}`).filter((id) => !ids.has(id)),
    )
    expect(lost).toEqual([])
  })
})

describe('the comparison of a gate with earlier ones', () => {
  const slow = createTimeline({
    finishedAt: at(43),
    targets: [createTargetRecord({ milestones: reached({ created: 0, scheduled: 1, pulled: 42, ready: 43 }) })],
  })

  it('is with the median of the good runs of each target', () => {
    const [target] = compareGate(slow, [pulledIn(12), pulledIn(14), pulledIn(13)])
    expect(target?.milestones.find(({ name }) => name === 'pulled')).toEqual({
      name: 'pulled',
      tookMs: 41_000,
      medianMs: 13_000,
      earlierMs: [12_000, 14_000, 13_000],
    })
    expect(slowerThanUsual(target === undefined ? [] : [target])).toEqual([
      'deployment/web pulled 41 s, 3.2 × the median',
    ])
  })

  it('uses only the last 20 good runs', () => {
    const gates = [...Array.from({ length: 10 }, () => pulledIn(90)), ...Array.from({ length: 20 }, () => pulledIn(10))]
    expect(compareGate(slow, gates)[0]?.milestones.find(({ name }) => name === 'pulled')?.medianMs).toBe(10_000)
  })

  it('is empty before there are three good runs', () => {
    expect(compareGate(slow, [pulledIn(12), pulledIn(14), failedGate('2026-01-01T00:00:00Z')])).toEqual([])
  })

  it('ignores gates of another context, and targets of another namespace', () => {
    const elsewhere = pulledIn(12, { context: 'staging' })
    const { targets, ...rest } = pulledIn(12)
    const other = { ...rest, targets: targets.map((target) => ({ ...target, namespace: 'other' })) }
    expect(compareGate(slow, [elsewhere, elsewhere, elsewhere, other, other, other])).toEqual([])
  })

  it('ignores a target that was ready at first sight, now and earlier', () => {
    const unchanged = createTimeline({
      targets: [createTargetRecord({ milestones: reached({ created: 0, ready: 0 }) })],
    })
    const gates = [pulledIn(1), pulledIn(1), pulledIn(1)]
    expect(compareGate(unchanged, gates)).toEqual([])
    const past = gateOf(unchanged, undefined)
    expect(past?.targets[0]?.milestones).toEqual({})
  })

  it('includes a milestone that was not reached', () => {
    const stuck = createTargetRecord({
      outcome: 'stalled',
      reason: 'no-progress',
      endedAt: at(300),
      milestones: [...reached({ created: 0, scheduled: 1 }), createMilestone({ name: 'pulled', state: 'failed' })],
    })
    const compared = compareGate(createTimeline({ finishedAt: at(300), targets: [stuck] }), [
      pulledIn(10),
      pulledIn(10),
      pulledIn(10),
    ])
    expect(slowerThanUsual(compared)).toEqual(['deployment/web not pulled after 4 m 59 s, 29.9 × the median'])
  })

  it('names what was slow in a sentence, and has a folded table with bars', () => {
    const [sentence = '', table = ''] = renderComparison(compareGate(slow, [pulledIn(12), pulledIn(14), pulledIn(13)]))
    expect(sentence).toContain('**Slower than usual:** deployment/web pulled 41 s, 3.2 × the median')
    expect(table).toContain('<details><summary>Compared with the last 3 good gates</summary>')
    expect(table).toContain('| deployment/web | pulled | 41 s | 13 s | 3.2 × the median | ▃▃▃█ |')
  })

  it('contains no text of the cluster', () => {
    const record = createTargetRecord({ outcome: 'failed', reason: 'crash-loop', message: 'hunter2', hint: 'hunter2' })
    expect(JSON.stringify(gateOf(createTimeline({ targets: [record] }), undefined))).not.toContain('hunter2')
  })

  it('is empty for a gate without targets', () => {
    expect(gateOf(createTimeline({ targets: [] }), undefined)).toBeUndefined()
  })
})

it.each([
  [[], 0],
  [[4], 4],
  [[1, 9], 5],
  [[9, 1, 2], 2],
])('the median of %j is %d', (values, expected) => {
  expect(median(values)).toBe(expected)
})

it('the given share of the values is below a quantile', () => {
  expect(quantile([0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100], 0.9)).toBe(90)
})

it('the longest of some durations has the highest bar', () => {
  expect(sparkline([0, 10, 5])).toBe('▁█▅')
  expect(sparkline([])).toBe('')
})

describe('what a history shows over time', () => {
  const gates = [
    pulledIn(10, { at: '2026-01-01T10:00:00Z' }),
    failedGate('2026-01-02T10:00:00Z'),
    failedGate('2026-01-02T10:10:00Z', 'crash-loop'),
    pulledIn(20, { at: '2026-01-02T10:30:00Z' }),
  ]

  it('is the time until a target is ready, how often it fails and why, how long it takes to recover, and what is slow', () => {
    expect(describeHistory(historyStatistics(gates))).toEqual([
      '4 gates from 2026-01-01 to 2026-01-02: 2 ready, 2 not ready',
      '',
      'deployment.apps/web -n shop on prod',
      '  time to ready    median 17 s, 90 % within 21 s  ▅█',
      '  failure rate     2 of 4 (50 %): image-not-found 1, crash-loop 1',
      '  time to recover  median 30 m 2 s, longest 30 m 2 s (1 time)',
      '  slowest work     pulled 15 s, ready 1 s',
      '  longest waiting  scheduled 1 s',
    ])
  })

  it('is the same as data, with every run, reason and milestone', () => {
    expect(historyStatistics(gates)).toEqual({
      gates: 4,
      from: '2026-01-01T10:00:00Z',
      to: '2026-01-02T10:30:00Z',
      ready: 2,
      targets: [
        {
          target: 'deployment.apps/web',
          namespace: 'shop',
          context: 'prod',
          runs: 4,
          failed: 2,
          reasons: [
            { reason: 'image-not-found', count: 1 },
            { reason: 'crash-loop', count: 1 },
          ],
          ready: { median: 17, p90: 21, each: [12, 22] },
          recovery: { median: 1802, longest: 1802, count: 1 },
          work: [
            { milestone: 'pulled', median: 15 },
            { milestone: 'ready', median: 1 },
          ],
          waiting: [{ milestone: 'scheduled', median: 1 }],
        },
      ],
    })
  })

  it('does not count a target that only waited for another one as a failure', () => {
    const waiting = (gate: PastGate): PastGate => ({
      ...gate,
      targets: gate.targets.map((each) => ({ ...each, causedBy: 'deployment.apps/api' })),
    })
    expect(describeHistory(historyStatistics(gates.map(waiting))).join('\n')).toContain('failure rate     0 of 4 (0 %)')
  })

  it('does not count a gate that was cancelled', () => {
    const target = createTarget()
    const record = createTargetRecord({ target, outcome: 'cancelled', reason: 'cancelled' })
    const cancelled = gateOf(createTimeline({ targets: [record] }), undefined)
    expect(
      describeHistory(historyStatistics(cancelled === undefined ? [] : [...gates, cancelled])).join('\n'),
    ).toContain('2 of 4')
  })

  it('of no gates is a sentence', () => {
    expect(describeHistory(historyStatistics([]))).toEqual(['The history contains no gates.'])
  })
})
