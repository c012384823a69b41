import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parse } from 'yaml'
import { programPath } from './support/program.ts'
import { recordingPath } from './support/recordings.ts'

const root = resolve(import.meta.dirname, '..')
const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-package-'))
const installed = join(folder, 'installed/node_modules/rollout-gate')

/** npm is a script on Windows, which only a shell starts. */
const npm = (cwd: string, ...args: string[]) =>
  execFileSync('npm', [...args, '--loglevel=error'], { cwd, encoding: 'utf8', shell: process.platform === 'win32' })

beforeAll(() => {
  // npm changes package.json while it packs, so this is a copy of what it reads, with the program of the present sources.
  const copy = join(folder, 'copy')
  for (const name of ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'schemas', 'scripts/package-manifest.ts'])
    cpSync(join(root, name), join(copy, name), { recursive: true })
  cpSync(dirname(programPath('cli.js')), join(copy, 'dist'), { recursive: true })
  npm(copy, 'pack', '--pack-destination', folder)
  const [file = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
  const empty = join(folder, 'installed')
  mkdirSync(empty)
  npm(empty, 'install', '--offline', '--no-audit', '--no-fund', join(folder, file))
  expect(readFileSync(join(copy, 'package.json'), 'utf8')).toBe(readFileSync(join(root, 'package.json'), 'utf8'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('licenses.txt', () => {
  const bundle = dirname(programPath('cli.js'))
  const entries = readFileSync(join(bundle, 'licenses.txt'), 'utf8').split(/\n{3}(?=\S+ \d+\.\d+\.\d+\S*\n)/)
  const names = new Set(entries.map((entry) => entry.split(' ')[0] ?? ''))

  it('contains every dependency', () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    expect([...names]).toEqual(expect.arrayContaining(Object.keys(dependencies)))
  })

  const code = readdirSync(bundle)
    .filter((name) => name.endsWith('.js'))
    .map((name) => readFileSync(join(bundle, name), 'utf8'))
    .join('\n')

  it('contains every package that the bundle names', () => {
    const paths = code.matchAll(/\/\/ \S*node_modules\/((?:@[^/\s]+\/)?[^/\s]+)/g)
    const bundled = new Set([...paths].map(([, name]) => name))
    expect(bundled.size).toBeGreaterThan(20)
    expect([...names]).toEqual(expect.arrayContaining([...bundled]))
  })

  it('contains no package without a line in the bundle', () => {
    const lines = new Set(code.split('\n').map((line) => line.trim()))
    const isBundled = (name: string) => {
      const folders = [name, `@actions/github/node_modules/${name}`].map((each) => join(root, 'node_modules', each))
      return folders
        .filter((each) => existsSync(each))
        .flatMap((each) => readdirSync(each, { recursive: true, encoding: 'utf8' }).map((file) => join(each, file)))
        .filter((file) => /\.[cm]?js$/.test(file))
        .some((file) =>
          readFileSync(file, 'utf8')
            .split('\n')
            .some((line) => line.trim().length > 25 && lines.has(line.trim())),
        )
    }
    expect([...names].filter((name = '') => !isBundled(name))).toEqual([])
  })

  it('contains the text of each licence, or its name if the package has no text', () => {
    for (const entry of entries) expect(entry).toMatch(/^\S+ \S+\n[\w .()-]+(?:\n[\s\S]+)?$/)
    const withText = entries.filter((entry) => /copyright|permission/i.test(entry))
    expect(withText.length).toBeGreaterThan(0.8 * entries.length)
  })
})

describe('the npm package in an empty folder', () => {
  it('is one package without dependencies', () => {
    expect(readdirSync(join(folder, 'installed/node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'rollout-gate',
    ])
  })

  it('contains only what its users need', () => {
    expect(readdirSync(installed).toSorted()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist',
      'package.json',
      'schemas',
    ])
  })

  it('runs the command line', () => {
    const { bin } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    const cli = join(installed, bin['rollout-gate'])
    const args = [cli, 'replay', '--json', recordingPath('update')]
    const env = { ...process.env, NODE_OPTIONS: '' }
    const report = execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env })
    expect(JSON.parse(report)).toMatchObject({ schema: 1, outcome: 'ready' })
  })

  it('has types for the report and recordings', () => {
    const program = join(folder, 'installed/use.ts')
    writeFileSync(
      program,
      `import type { RolloutGateReport } from 'rollout-gate/report'
       import type { RolloutGateRecordingLine } from 'rollout-gate/recording'
       export const reasons = (report: RolloutGateReport) => report.targets.map(({ reason }) => reason)
       export const end: RolloutGateRecordingLine = { at: '2026-01-31T10:00:00Z', type: 'END' }
       // @ts-expect-error
       export const wrong = (report: RolloutGateReport) => report.verdict\n`,
    )
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--types', '', program]
    execFileSync(process.execPath, [tsc, ...options], {
      cwd: dirname(program),
      stdio: ['ignore', 'inherit', 'inherit'],
    })
  })
})

test.each(['.', 'merge'])('in %s, action-types.yml has every input and output of action.yml', (folder) => {
  const namesIn = (file: string) => {
    const { inputs, outputs } = parse(readFileSync(join(root, folder, file), 'utf8'))
    return { inputs: Object.keys(inputs), outputs: Object.keys(outputs) }
  }
  expect(namesIn('action-types.yml')).toEqual(namesIn('action.yml'))
})
