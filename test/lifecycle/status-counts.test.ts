import { progressCounters } from '../../src/lifecycle/custom/status-counts.ts'

describe('a growing number of a status', () => {
  it.each<[string, unknown, Record<string, number>]>([
    ['is progress if it counts parts that are ready', { readyReplicas: 1, nodes: 3 }, { 'status.readyReplicas': 1 }],
    ['is progress if it counts steps', { currentStepIndex: 2 }, { 'status.currentStepIndex': 2 }],
    ['is progress as a percentage', { phase: 'Copying', progress: '40.5%' }, { 'status.progress': 40 }],
    ['is progress as a part of a whole', { progress: '3/7' }, { 'status.progress': 3 }],
    [
      'is progress within lists and maps',
      { shards: [{ name: 'a', updatedNodes: 1 }], canary: { weights: 5, weight: 20 } },
      { 'status.shards.0.updatedNodes': 1, 'status.canary.weight': 20 },
    ],
    ['is no progress if it counts failures', { failedStepIndex: 2, restarts: 4, completedAttempts: 3 }, {}],
    [
      'is no progress if it is a generation, a time or a load',
      { readyGeneration: 4, completedAt: 1e9, cpuPercent: 5 },
      {},
    ],
    ['is no progress if its name has no such meaning', { port: 80, lag: 12 }, {}],
    ['is no progress if it counts parts that are not ready', { unavailableReplicas: 2, notReadyNodes: 1 }, {}],
  ])('%s', (_, status, counters) => {
    expect(Object.fromEntries(progressCounters(status))).toEqual(counters)
  })

  it('is read from a bounded part of the status', () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`ready${index}`, { ready: 1 }]))
    expect(progressCounters(many).size).toBe(100)
    let deep: unknown = { ready: 1 }
    for (let depth = 0; depth < 50; depth += 1) deep = { deep }
    expect(progressCounters(deep).size).toBe(0)
  })
})
