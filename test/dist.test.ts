import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const programs = ['index.js', 'merge.js', 'cli.js']

/** A module that makes the program read the version of an older Node. */
const olderNode = `data:text/javascript,${encodeURIComponent(
  "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.11.1' } })",
)}`

describe('the folder dist', () => {
  it('contains the files that the actions and package.json name', () => {
    const runs = ['.', 'merge'].flatMap((folder) => {
      const { main, post } = parse(readFileSync(join(root, folder, 'action.yml'), 'utf8')).runs
      return [join(folder, main), join(folder, post)]
    })
    const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    const named = [...runs, bin['rollout-gate']]
    expect(new Set(named)).toEqual(new Set([...programs, 'post.js'].map((name) => join('dist', name))))
    expect(readdirSync(dist)).toEqual(expect.arrayContaining([...programs, 'post.js', 'licenses.txt']))
  })

  it.each(programs)('contains a %s that reports the required version on an older Node', (program) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', olderNode, join(dist, program)], {
      encoding: 'utf8',
    })
    // The action prints an annotation on stdout.
    expect(`${stdout}${stderr}`).toMatch(
      /^(::error title=[\w ]+::)?Rollout Gate needs Node 22\.19 or newer \(this is v20\.11\.1\)\. [^\n]*\n$/,
    )
    expect(status).toBe(1)
  })

  it('has no static import that an older Node cannot load', () => {
    for (const name of [...programs, 'node-version.js']) {
      const imports = [...readFileSync(join(dist, name), 'utf8').matchAll(/^import\b.*?['"](.*)['"]/gm)]
      expect(imports.map(([, from]) => from).filter((from) => from !== './node-version.js')).toEqual([])
    }
  })

  it('contains a program that a shell can start', () => {
    const cli = join(dist, 'cli.js')
    expect(readFileSync(cli, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
    // Windows has no such bit.
    if (process.platform !== 'win32') expect(statSync(cli).mode & 0o111).toBe(0o111)
  })
})
