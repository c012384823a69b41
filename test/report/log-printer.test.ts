import { LogPrinter, layoutLog, renderEntries } from '../../src/report/log.ts'
import { at, createEntry, createTarget, start } from './builders.ts'

const targets = Array.from({ length: 10 }, (_, index) =>
  createTarget({ apiVersion: 'v1', kind: 'ConfigMap', name: `settings-${index}` }),
)
const head = {
  startedAt: start,
  cluster: { context: 'prod', version: '' },
  timeoutMs: 600_000,
  stallTimeoutMs: 300_000,
  targets,
}
const layout = layoutLog(head, { color: false })
const readyEntry = (target: number, seconds = 0.2, text = 'exists') =>
  createEntry({ at: at(seconds), target, kind: 'verdict', outcome: 'ready', text })

it('targets that become ready in the same second with the same text share one line', () => {
  expect(
    renderEntries(
      [0, 1, 2, 3, 4].map((target) => readyEntry(target)),
      layout,
    ),
  ).toEqual([
    ' 0:00  5 targets             ✓ ready in 0.2 s: exists (configmap/settings-0, configmap/settings-1, configmap/settings-2 and 2 more)',
  ])
})

it('three targets that become ready together have a line each', () => {
  expect(
    renderEntries(
      [0, 1, 2].map((target) => readyEntry(target)),
      layout,
    ),
  ).toHaveLength(3)
})

it.each([
  ['it becomes ready a second later', readyEntry(4, 1.2)],
  ['its text is another', readyEntry(4, 0.3, 'revision 1, 1 of 1 pod available')],
  ['it is not ready', createEntry({ target: 4, kind: 'problem', text: 'cannot be scheduled' })],
])('a target has a line of its own if other targets become ready together and %s', (_, other) => {
  const lines = renderEntries([...[0, 1, 2, 3].map((target) => readyEntry(target)), other], layout)
  expect(lines).toHaveLength(2)
  expect(lines[0]).toContain('4 targets')
  expect(lines[1]).toContain('configmap/settings-4')
})

it('delayed entries are printed at the end of the event loop turn or before the next entry', async () => {
  const lines: string[] = []
  const printer = new LogPrinter((more) => lines.push(...more), { color: false, groups: true })
  printer.onStart(() => head, [])
  lines.length = 0
  printer.onEntry(readyEntry(0))
  expect(lines).toEqual([])
  printer.onEntry(createEntry({ target: 1, text: 'created' }))
  expect(lines).toHaveLength(2)
  printer.onEntry(readyEntry(2))
  await Promise.resolve()
  expect(lines).toHaveLength(3)
})
