import { readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { readData, rows } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'
import { runCommand } from '../support/command.ts'
import { recordingPath } from '../support/recordings.ts'
import { testWithSignals } from '../support/signals.ts'
import { runCli, startCli } from './process.ts'
import { useWorkFolder } from './work-folder.ts'

useWorkFolder()

const data = import.meta.filename.replace('.test.ts', '.yaml')

interface Verdict {
  readonly outcome: string
  readonly reason: string
  readonly durationSeconds: number
}

const { header, ready, synced } = readData(data) as Readonly<Record<string, object>>

/** Writes a file of lines; a value that is no text becomes JSON. */
function written(name: string, ...lines: unknown[]): string {
  writeFileSync(name, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''))
  return name
}

async function replay(...args: string[]) {
  const run = await runCommand(['replay', '--json', ...args])
  const verdicts = run.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Verdict)
  return { ...run, verdicts }
}

/** The code, the lines of stderr, in which `…` stands for any other words, and the verdicts. */
interface Expected {
  readonly code: number
  readonly stderr?: readonly string[]
  readonly verdicts: readonly object[]
}

test.each(rows<[string, Readonly<Record<string, readonly unknown[]>>, readonly string[], Expected]>(data, 'replays'))(
  '%s',
  async (_, files, args, { code, stderr = [], verdicts }) => {
    for (const [name, lines] of Object.entries(files)) written(name, ...lines)
    const run = await replay(...args)
    expect(run.stderr.split('\n').slice(0, -1)).toEqual(stderr.map((words) => expect.stringMatching(toPattern(words))))
    expect(run.verdicts).toMatchObject(verdicts)
    expect(run.code).toBe(code)
  },
)

describe('recordings', () => {
  test('are replayed to the same bytes each time', async () => {
    const files = [written('ready', header, ready, synced), written('absent', header, synced)]
    const [first, second] = await Promise.all([replay(...files), replay(...files)])
    expect(second).toEqual(first)
  })

  test('are reported if they do not exist', async () => {
    expect(await runCommand(['replay', 'web.ndjson'])).toMatchObject({
      code: 2,
      stderr: 'web.ndjson: This file does not exist.\n',
    })
  })

  test('are replayed with their log, with the file name if there are several', async () => {
    written('ready', header, ready, synced)
    written('absent', header, synced)
    const one = await runCommand(['replay', 'ready'])
    expect(one.stdout).toMatch(/^Rollout Gate · 1 target in shop · timeout 10m · stall 5m\n/)
    expect(one.stdout).toMatch(/\n✓ Rollout ready in .* · deployment\/web\n$/)
    const two = await runCommand(['replay', 'ready', 'absent'])
    expect(two).toMatchObject({ code: 1, stderr: '' })
    expect(two.stdout).toMatch(/^ready:\n[\s\S]*\n\nabsent:\n[\s\S]*✗ failed after 30 s/)
  })

  test('of a live gate replay to its verdict', async () => {
    const { code, verdicts } = await replay(recordingPath('crash-loop'))
    expect(code).toBe(1)
    expect(verdicts).toMatchObject([{ outcome: 'failed', reason: 'crash-loop' }])
  })
})

describe('a recording written by hand', () => {
  test('may have a byte order mark, Windows line breaks and empty lines', async () => {
    const lines = ['', header, '', ready, '', synced, ''].map((each) => (each === '' ? '' : JSON.stringify(each)))
    writeFileSync('windows', `\ufeff${lines.join('\r\n')}`)
    const { code, stderr, verdicts } = await replay('windows')
    expect({ code, stderr, verdicts }).toMatchObject({ code: 0, stderr: '', verdicts: [{ outcome: 'ready' }] })
  })
})

describe('a replay of ten thousand events', () => {
  const writeEvents = () => {
    const lines = gunzipSync(readFileSync(recordingPath('update')))
      .toString()
      .trim()
      .split('\n')
    const pod = lines.map((line) => JSON.parse(line)).find(({ object }) => object?.kind === 'Pod')
    const filler = 'x'.repeat(10_000)
    const events = Array.from({ length: 10_000 }, (_, index) => ({
      ...pod,
      object: { ...pod.object, metadata: { ...pod.object.metadata, resourceVersion: `${1e9 + index}` }, filler },
    }))
    return written('long', ...lines, ...events)
  }

  test('does not keep the events in memory', async () => {
    const file = writeEvents()
    const nodeOptions = ['--max-old-space-size=128']
    const { code, stdout, stderr } = await runCli(['replay', '--json', file], { nodeOptions })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'ready' })
  })

  testWithSignals('ends at Ctrl-C', async () => {
    const run = startCli(['replay', writeEvents()])
    await run.until('1 target')
    run.interrupt()
    expect(await run.ended).toMatchObject({ code: 130, stdout: expect.stringContaining('! Rollout cancelled') })
  })
})
