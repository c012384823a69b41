import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folder } from '../support/fresh-folder.ts'

/** Runs one of the actions as a runner does. Returns its output; undefined after success. */
function use(
  action: 'upload' | 'download',
  inputs: Readonly<Record<string, string>>,
  server = 'https://github.com',
): string | undefined {
  const variables = Object.entries(inputs).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value])
  const main = join(import.meta.dirname, `artifacts/${action}-artifact/main.ts`)
  const { status, stdout } = spawnSync(process.execPath, [main], {
    cwd: folder,
    encoding: 'utf8',
    env: { ARTIFACTS: join(folder, 'store'), GITHUB_SERVER_URL: server, ...Object.fromEntries(variables) },
  })
  return status === 0 ? undefined : stdout
}

/** Uploads a file as the artifact `report-<name>`, for each name. */
function uploadReports(...names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'report.json'), name)
    expect(use('upload', { name: `report-${name}`, path: `${name}/report.json` })).toBeUndefined()
  }
}

const downloaded = () => readdirSync(join(folder, 'reports'), { recursive: true }).map(String).sort()

describe('a download', () => {
  it.each<[string, string[], Record<string, string>, string[]]>([
    ['of one artifact by its name is not in a folder', ['eu', 'us'], { name: 'report-eu' }, ['report.json']],
    ['by a pattern with one match is not in a folder', ['eu'], { pattern: 'report-*' }, ['report.json']],
    [
      'by a pattern with several matches has a folder for each artifact',
      ['eu', 'us'],
      { pattern: 'report-*' },
      ['report-eu', 'report-eu/report.json', 'report-us', 'report-us/report.json'],
    ],
    [
      'by a pattern with merge-multiple has no folders',
      ['eu', 'us'],
      { pattern: 'report-*', 'merge-multiple': 'true' },
      ['report.json'],
    ],
  ])('%s', (_, reports, inputs, expected) => {
    uploadReports(...reports)
    expect(use('download', { path: 'reports', ...inputs })).toBeUndefined()
    expect(downloaded()).toEqual(expected)
  })

  it('fails for a missing name, but not for a pattern without a match', () => {
    expect(use('download', { path: 'reports', name: 'report-eu' })).toContain("Artifact 'report-eu' not found")
    expect(use('download', { path: 'reports', pattern: 'report-*' })).toBeUndefined()
  })
})

describe('an upload', () => {
  it('fails if the artifact exists and overwrite is off', () => {
    uploadReports('eu')
    const again = { name: 'report-eu', path: 'eu/report.json' }
    expect(use('upload', again)).toContain('Conflict')
    expect(use('upload', { ...again, overwrite: 'true' })).toBeUndefined()
  })

  it('keeps several files relative to their common folder', () => {
    mkdirSync(join(folder, 'eu'))
    for (const path of ['eu/report.json', 'summary.md']) writeFileSync(join(folder, path), '')
    use('upload', { name: 'rollout', path: 'eu/report.json\nsummary.md\n' })
    use('download', { name: 'rollout', path: 'reports' })
    expect(downloaded()).toEqual(['eu', 'eu/report.json', 'summary.md'])
  })
})

it('an unsupported input of an action in the tests is rejected', () => {
  expect(use('download', { 'artifact-ids': '1' })).toContain('not implemented')
})

it.each([
  ['https://github.acme.example', 'not currently supported on GHES'],
  ['https://acme.ghe.com', undefined],
])('on %s, uploads and downloads of artifacts have the same errors as on GitHub', (server, error) => {
  const expected = error === undefined ? error : expect.stringContaining(error)
  expect(use('upload', { name: 'report-eu', path: 'report.json' }, server)).toEqual(expected)
  expect(use('download', { pattern: 'report-*' }, server)).toEqual(expected)
})
