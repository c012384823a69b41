import { stripVTControlCharacters } from 'node:util'
import type { Output } from '../../src/cli/output.ts'
import { renderProgress } from '../../src/cli/progress.ts'
import { Screen } from '../../src/cli/screen.ts'
import { Story } from '../../src/cli/story.ts'
import type { EndedTimeline, MilestoneRecord, TargetRecord, Timeline } from '../../src/gate/timeline.ts'

const start = Date.parse('2026-03-01T12:00:00Z')

function milestones(...states: MilestoneRecord['state'][]): MilestoneRecord[] {
  return states.map((state, index) => ({
    name: ['created', 'observed', 'ready'][index] ?? 'later',
    state,
    ...(state === 'done' ? { at: start + index * 10_000 } : {}),
    message: '',
  }))
}

function record(name: string, overrides: Partial<TargetRecord> = {}): TargetRecord {
  return {
    target: { apiVersion: 'apps/v1', kind: 'Deployment', name, clocks: {} },
    outcome: 'progressing',
    reason: '',
    message: '1 of 3 pods ready',
    milestones: milestones('done', 'done', 'current'),
    problems: [],
    notes: [],
    ...overrides,
  }
}

function timeline(targets: readonly TargetRecord[], elapsedSeconds = 72): Timeline {
  const finishedAt = start + elapsedSeconds * 1000
  const clocks = { timeoutMs: 600_000, stallTimeoutMs: 300_000 }
  return { startedAt: start, finishedAt, context: '', serverVersion: '', ...clocks, targets, entries: [] }
}

function draw(
  targets: readonly TargetRecord[],
  overrides: Partial<Parameters<typeof renderProgress>[1]> = {},
): string[] {
  const names = targets.map(({ target }) => `deployment/${target.name}`)
  const layout = { names, columns: 100, rows: 20, color: false, frame: 0, ...overrides }
  return renderProgress(timeline(targets), layout)
}

const imageNotFound: TargetRecord['problems'][number] = {
  reason: 'image-not-found',
  class: 'terminal',
  subject: 'pod/web-x',
  message: 'gone',
  detail: { image: 'acme/web:v2', answer: 'gone' },
  count: 2,
  firstSeenAt: start,
  proven: false,
  evidence: [],
}

describe('the present state of a gate', () => {
  test('shows of every open target its milestones, what it waits for and for how long, and what is wrong', () => {
    expect(
      draw([record('web'), record('old', { outcome: 'ready' }), record('api-server', { problems: [imageNotFound] })]),
    ).toEqual([
      '⠋ 1:12  3 targets: 2 in progress, 1 ready · timeout 10m',
      '  deployment/web         ●●◐  ready 1:02  1 of 3 pods ready',
      '  deployment/api-server  ●●◐  ready 1:02  image-not-found ×2  1 of 3 pods ready',
    ])
  })

  test('fits into the terminal, and counts what does not', () => {
    const many = Array.from({ length: 30 }, (_, index) => record(`web-${index}`))
    const lines = draw(many, { rows: 5, columns: 30 })
    expect(lines).toHaveLength(5)
    expect(lines.at(-1)).toBe('  and 27 more')
    expect(lines[1]).toBe('  deployment/web-0  ●●◐  read…')
    expect(draw(many.slice(0, 4), { rows: 5 })).toHaveLength(5)
  })

  test('is cut before it is coloured, and turns', () => {
    const [plain, coloured, turned] = [{}, { color: true }, { frame: 1 }].map((it) => draw([record('web')], it))
    expect(coloured?.map(stripVTControlCharacters)).toEqual(plain)
    expect(coloured?.join('')).toContain('\x1b[32m●')
    expect(turned?.[0]?.slice(1)).toBe(plain?.[0]?.slice(1))
    expect(turned?.[0]).not.toBe(plain?.[0])
  })

  test('takes no orders from the cluster', () => {
    expect(draw([record('web', { message: 'a\x1b[2Jb\nc' })])[1]).toMatch(/ {2}ab c$/)
  })
})

/** A terminal, as far as the screen uses one. */
class Terminal implements Output {
  readonly isTTY = true
  columns = 40
  readonly rows = 10
  lines = ['']
  cursorShown = true
  written = ''

  write(text: string): void {
    this.written += text
    for (const [, order = '', plain = ''] of text.matchAll(/(\x1b\[[?\d]*[A-Za-z])|([^\x1b]+)/g)) {
      if (order === '') this.#print(plain)
      else this.#obey(order)
    }
  }

  #print(text: string): void {
    const [first = '', ...rest] = text.replaceAll('\r', '').split('\n')
    this.lines[this.lines.length - 1] += first
    this.lines.push(...rest)
  }

  #obey(order: string): void {
    const up = /^\x1b\[(\d+)A$/.exec(order)
    if (up !== null) this.lines.splice(this.lines.length - 1 - Number(up[1]), Number(up[1]))
    if (order === '\x1b[?25l') this.cursorShown = false
    if (order === '\x1b[?25h') this.cursorShown = true
  }
}

describe('a screen', () => {
  test('keeps what is printed, and draws the block below it anew', () => {
    const terminal = new Terminal()
    const screen = new Screen(terminal)
    screen.print([], ['first', 'second'])
    screen.print(['event'], ['third'])
    screen.print(['another'], ['fourth', 'fifth'])
    expect(terminal.lines).toEqual(['event', 'another', 'fourth', 'fifth', ''])
    expect(terminal.cursorShown).toBe(false)
    screen.close()
    expect(terminal.lines).toEqual(['event', 'another', ''])
    expect(terminal.cursorShown).toBe(true)
  })

  test('writes nothing when nothing has changed', () => {
    const terminal = new Terminal()
    const screen = new Screen(terminal)
    screen.print([], ['same'])
    const { written } = terminal
    screen.print([], ['same'])
    expect(terminal.written).toBe(written)
  })

  test('takes back as many rows as a narrower terminal has made of a line', () => {
    const terminal = new Terminal()
    const screen = new Screen(terminal)
    screen.print(['event'], ['x'.repeat(30)])
    terminal.columns = 10
    terminal.lines = ['event', 'x'.repeat(10), 'x'.repeat(10), 'x'.repeat(10), '']
    screen.close()
    expect(terminal.lines).toEqual(['event', ''])
  })
})

describe('a story', () => {
  const state = timeline([record('web')], 1)
  const head = { ...state, targets: state.targets.map(({ target }) => target), notices: [] }
  const verdict = { outcome: 'cancelled', reason: 'cancelled', message: 'stopped' } as const
  const ended: EndedTimeline = { ...state, verdict }

  test('on a terminal leaves the log and the verdict, and no trace of the block', () => {
    const terminal = new Terminal()
    const story = new Story(terminal, { color: false, live: true, groups: false })
    story.begin(head)
    story.watch(() => state)
    story.entry({ at: start, target: 0, kind: 'progress', text: '3 pods scheduled' })
    story.entry({ at: start, kind: 'heartbeat', text: 'still waiting' })
    expect(terminal.lines.join('\n')).toContain('deployment/web  ●●◐')
    story.end(ended)
    expect(terminal.lines.slice(1, 3)).toEqual([
      ' 0:00  deployment/web  3 pods scheduled',
      '! Rollout cancelled after 1 s · 0 of 1 target ready',
    ])
    expect(terminal.lines.join('\n')).not.toMatch(/●|still waiting/)
    expect(terminal.cursorShown).toBe(true)
  })

  test('shows the cursor again as soon as it is closed, and goes on in plain lines', () => {
    const terminal = new Terminal()
    const story = new Story(terminal, { color: false, live: true, groups: false })
    story.begin(head)
    story.watch(() => state)
    story.close()
    expect(terminal.cursorShown).toBe(true)
    story.entry({ at: start, target: 0, kind: 'note', text: 'late word' })
    expect(terminal.lines.at(-2)).toBe(' 0:00  deployment/web  late word')
  })

  test('in a job log folds its evidence into groups, elsewhere it does not', () => {
    for (const groups of [true, false]) {
      const terminal = new Terminal()
      const story = new Story(terminal, { color: false, live: false, groups })
      story.begin(head)
      story.end(ended)
      expect(terminal.lines.some((line) => line.startsWith('::group::'))).toBe(groups)
    }
  })
})
