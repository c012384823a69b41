import type { Target } from '../../src/plan/target.ts'
import type { LogOutput } from '../../src/report/log.ts'
import { layoutLog, renderLogOutput } from '../../src/report/log.ts'

const startedAt = 1_700_000_000_000
const target = (kind: string, name: string): Target => ({ apiVersion: 'v1', kind, namespace: 'shop', name, clocks: {} })
const targets = [
  target('Job', 'migrate'),
  target('Deployment', 'web'),
  target('Pod', 'task'),
  target('StatefulSet', 'db'),
]
const layout = layoutLog({ startedAt, timeoutMs: 600_000, stallTimeoutMs: 0, targets }, { color: false })

function render(news: Partial<LogOutput>): string {
  const line = {
    at: startedAt + 12_345,
    target: 0,
    pod: 'migrate-x7k2p',
    container: 'app',
    type: 'line',
    text: 'hello',
  }
  return renderLogOutput({ ...line, ...news } as LogOutput, layout)
}

test('a streamed log line is printed after its time, target, pod and container', () => {
  expect(render({})).toBe(' 0:12  job/migrate     x7k2p app │ hello')
  expect(render({ type: 'note', text: 'restarted' })).toBe(' 0:12  job/migrate     x7k2p app · restarted')
})

test('a pod in a streamed log line has the part of its name that distinguishes it', () => {
  expect(render({ target: 1, pod: 'web-688899976b-8xkbh' })).toContain('deployment/web  8xkbh app │')
  expect(render({ target: 2, pod: 'task' })).toContain('pod/task        app │')
  expect(render({ target: 3, pod: 'db-0' })).toContain('statefulset/db  0 app │')
  expect(render({ pod: 'migrate-2-x7k2p' })).toContain('2-x7k2p app │')
  expect(render({ pod: 'whatever' })).toContain('whatever app │')
})

test.each([
  ['::error::pwned', ': :error::pwned'],
  ['  ::stop-commands::x', '  : :stop-commands::x'],
  ['##[error]pwned', '## [error]pwned'],
  ['\x1b[31mred\x1b[0m \x1b]0;title\x07done', 'red done'],
  ['one\rtwo\x00', 'one two'],
  ['a\u202eb\u200b', 'ab'],
])('a hostile line is harmless: %j', (text, shown) => {
  expect(render({ text })).toBe(` 0:12  job/migrate     x7k2p app │ ${shown}`)
})

test('hostile names in a streamed log line are harmless', () => {
  const line = render({ pod: 'migrate-\n::error::x', container: '##[error]\x1b[2J' })
  expect(line).not.toMatch(/\n|\x1b|##\[/)
})

test('an indented streamed log line keeps its indentation, and an empty one its bar', () => {
  expect(render({ text: '    at main (app.js:1)' })).toContain('│     at main (app.js:1)')
  expect(render({ text: '' })).toBe(' 0:12  job/migrate     x7k2p app │')
})
