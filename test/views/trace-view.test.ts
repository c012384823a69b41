import { stripVTControlCharacters } from 'node:util'
import { openDrawing } from '../../src/cli/view-commands.ts'
import { Trace } from '../../src/views/trace.ts'
import { added, createSettings, modified } from '../kit/gate.ts'
import { make, moment, podIs } from '../kit/objects.ts'
import { createTarget, createTrace } from '../kit/trace.ts'

const target = createTarget('Pod', 'once')
const startingPod = make.barePod({ status: podIs.unready({}, { phase: 'Pending' }) })

function open(isTTY: boolean, color?: string) {
  const written: string[] = []
  const write = (text: string) => written.push(text)
  const stdout = { write, redact: String, isTTY, columns: 60, rows: 20, hasColors: () => true }
  const flags = new Map(color === undefined ? [] : [['color', color]])
  return { drawing: openDrawing({ flags }, { stdout, env: {} }), written }
}

describe('a view without a terminal', () => {
  test('is printed again only when its stable text changes', () => {
    const { drawing, written } = open(false)
    const trace = createTrace(target, [0, ...added(startingPod)])
    drawing.draw(trace.state(moment(1)))
    drawing.draw(trace.state(moment(9)))
    expect(written).toHaveLength(1)
    for (const observation of modified(make.barePod({ status: podIs.ready() }))) {
      trace.handle([{ ...observation, at: moment(10) }])
    }
    drawing.draw(trace.state(moment(10)))
    expect(written).toHaveLength(2)
  })

  test('is empty while the first lists are pending', () => {
    const { drawing, written } = open(false)
    drawing.draw(createTrace(target).state(moment(0)))
    expect(written).toEqual([])
  })

  test('has colours with the option', () => {
    const { drawing, written } = open(false, 'always')
    drawing.draw(createTrace(target, [0, ...added(startingPod)]).state(moment(1)))
    expect(written.join('')).toContain('\x1b[1mpod/once')
  })
})

describe('a view on a terminal', () => {
  test('is drawn over the last one, within its lines and columns', () => {
    const { drawing, written } = open(true)
    const trace = createTrace(target, [0, ...added(startingPod)])
    drawing.draw(trace.state(moment(1)))
    const height = stripVTControlCharacters(written[0] ?? '')
      .trimEnd()
      .split('\n').length
    drawing.draw(trace.state(moment(2)))
    expect(written[1]).toContain(`\x1b[${height}A`)
    const lines = stripVTControlCharacters(written[1] ?? '').split('\n')
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(60)
    expect(height).toBeLessThan(20)
  })
})

test('a view is drawn once after a suspension of the machine, for the present time', () => {
  const drawn: number[] = []
  const clock = { seconds: 0 }
  const source = { now: () => moment(clock.seconds), isLive: true, willSync: () => true }
  const trace = new Trace(target, createSettings(), source, ({ now }) => drawn.push(now) === 0)
  clock.seconds = 3600
  while (trace.nextDeadline() <= moment(3600)) trace.advance()
  expect(drawn).toEqual([moment(3600)])
})
