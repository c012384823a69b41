import { stripVTControlCharacters } from 'node:util'
import { type Output, Screen } from '../../src/cli/output.ts'
import { renderState, TerminalLog } from '../../src/cli/terminal-log.ts'
import { type EndedRunRecord, openConclusion, type RunRecord, type TargetRecord } from '../../src/gate/run-record.ts'
import { at, createRecord, start } from '../report/builders.ts'
import { type TargetData, toTargetRecord } from '../report/record-data.ts'

/** A Deployment that is not ready yet. */
function record(name: string, other: TargetData = {}): TargetRecord {
  return toTargetRecord({
    target: { name },
    outcome: 'progressing',
    message: '1 of 3 pods ready',
    endedAt: null,
    milestones: { created: 0, observed: 10, ready: 'current' },
    ...other,
  })
}

function runRecord(targets: readonly TargetRecord[], elapsedSeconds = 72): RunRecord {
  return { ...createRecord({ finishedAt: at(elapsedSeconds), targets, entries: [] }), ...openConclusion }
}

function draw(targets: readonly TargetRecord[], overrides: Partial<Parameters<typeof renderState>[1]> = {}): string[] {
  const names = targets.map(({ name }) => `deployment/${name}`)
  const layout = { names, columns: 100, rows: 20, color: false, ...overrides }
  return renderState(runRecord(targets), layout)
}

describe('the drawn state', () => {
  test('contains the milestones, the wait and the problem of every open target', () => {
    expect(
      draw([record('web'), record('old', { outcome: 'ready' }), record('api-server', { problems: [{}] })]),
    ).toEqual([
      '1:12  3 targets: 2 in progress, 1 ready · timeout 10m',
      '  deployment/web         ●●◐  ready 1:02  1 of 3 pods ready',
      '  deployment/api-server  ●●◐  ready 1:02  image-not-found ×2  1 of 3 pods ready',
    ])
  })

  test('fits the terminal and counts the omitted targets', () => {
    const many = Array.from({ length: 30 }, (_, index) => record(`web-${index}`))
    const lines = draw(many, { rows: 5, columns: 30 })
    expect(lines).toHaveLength(5)
    expect(lines.at(-1)).toBe('  and 27 more')
    expect(lines[1]).toBe('  deployment/web-0  ●●◐  read…')
    expect(draw(many.slice(0, 4), { rows: 5 })).toHaveLength(5)
  })

  test('is cut before it is coloured', () => {
    const [plain, coloured] = [{}, { color: true }].map((it) => draw([record('web')], it))
    expect(coloured?.map(stripVTControlCharacters)).toEqual(plain)
    expect(coloured?.join('')).toContain('\x1b[32m●')
  })

  test('contains no control characters of the cluster', () => {
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
  test('keeps printed lines and redraws the block below', () => {
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

  test('writes nothing if the block has not changed', () => {
    const terminal = new Terminal()
    const screen = new Screen(terminal)
    screen.print([], ['same'])
    const { written } = terminal
    screen.print([], ['same'])
    expect(terminal.written).toBe(written)
  })

  test('clears the rows of lines that a narrower terminal wrapped', () => {
    const terminal = new Terminal()
    const screen = new Screen(terminal)
    screen.print(['event'], ['x'.repeat(30)])
    terminal.columns = 10
    terminal.lines = ['event', 'x'.repeat(10), 'x'.repeat(10), 'x'.repeat(10), '']
    screen.close()
    expect(terminal.lines).toEqual(['event', ''])
  })
})

describe('the log of a terminal', () => {
  const state = runRecord([record('web')], 1)
  const verdict = { outcome: 'cancelled', reason: 'cancelled', message: 'stopped' } as const
  const ended: EndedRunRecord = { ...state, ...verdict }

  test('leaves the lines and the verdict on the screen without the block', () => {
    const terminal = new Terminal()
    const log = new TerminalLog(terminal, { color: false, drawsState: true, groups: false })
    log.onStart(() => state, [])
    log.onEntry({ at: start, target: 0, kind: 'progress', text: '3 pods scheduled' })
    log.onEntry({ at: start, kind: 'heartbeat', text: 'still waiting' })
    expect(terminal.lines.join('\n')).toContain('deployment/web  ●●◐')
    log.end(ended)
    expect(terminal.lines.slice(1, 3)).toEqual([
      ' 0:00  deployment/web  3 pods scheduled',
      '! Rollout cancelled after 1 s · 0 of 1 target ready',
    ])
    expect(terminal.lines.join('\n')).not.toMatch(/●|still waiting/)
    expect(terminal.cursorShown).toBe(true)
  })

  test('shows the cursor when it is closed, and then prints plain lines', () => {
    const terminal = new Terminal()
    const log = new TerminalLog(terminal, { color: false, drawsState: true, groups: false })
    log.onStart(() => state, [])
    log.close()
    expect(terminal.cursorShown).toBe(true)
    log.onEntry({ at: start, target: 0, kind: 'note', text: 'late entry' })
    expect(terminal.lines.at(-2)).toBe(' 0:00  deployment/web  late entry')
  })

  test('groups its evidence only in a job log', () => {
    for (const groups of [true, false]) {
      const terminal = new Terminal()
      const log = new TerminalLog(terminal, { color: false, drawsState: false, groups })
      log.onStart(() => state, [])
      log.end(ended)
      expect(terminal.lines.some((line) => line.startsWith('::group::'))).toBe(groups)
    }
  })
})
