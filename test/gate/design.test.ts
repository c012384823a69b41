import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Report } from '../../src/gate/report-schema.ts'
import type { RecordingHeader } from '../../src/recording/writer.ts'
import { runCli } from '../cli/process.ts'
import { createRecording, type RawInputs } from '../kit/gate.ts'
import type { NamedObjects } from '../kit/named-objects.ts'
import { readData } from '../kit/rows.ts'
import { tape, withParts } from '../kit/tape.ts'

type Case = readonly [tape: string, ends: string, inputs?: RawInputs, header?: Partial<RecordingHeader>]

interface Data {
  readonly objects: NamedObjects
  readonly tapes: Readonly<Record<string, string>>
}

const data = readData(import.meta.filename.replace('.test.ts', '.yaml')) as Data & Readonly<Record<string, object>>
const { objects, tapes, ...sections } = data
const cases = Object.entries(sections).flatMap(([section, own]) =>
  Object.entries(own as Record<string, Case>).map(([title, each]) => ({ name: `${section} ${title}`, each })),
)
const reports = new Map<string, Report>()

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'design-'))
  const files = cases.map(({ each: [text, , inputs = {}, header] }, index) => {
    const file = join(folder, `${index}.ndjson`)
    writeFileSync(file, createRecording(inputs, tape(withParts(text, tapes), objects), header))
    return file
  })
  const { stdout, stderr } = await runCli(['replay', '--json', ...files])
  expect(stderr).toBe('')
  for (const [index, line] of stdout.trimEnd().split('\n').entries())
    reports.set(cases[index]?.name ?? '', JSON.parse(line))
  rmSync(folder, { recursive: true })
})

test.each(cases)('$name', ({ name, each: [, ends] }) => {
  const { outcome, reason, durationSeconds } = reports.get(name) as Report
  expect(`${outcome} ${reason} ${Math.floor(durationSeconds)}`.replace('  ', ' ')).toBe(ends)
})
