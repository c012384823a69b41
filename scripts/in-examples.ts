import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

const folder = join(import.meta.dirname, '../examples')

/**
 * The files of `examples/` as a repository has them: workflows, actions and the settings of zizmor in `.github/`, everything
 * else at its root.
 * @returns texts by path
 */
export function exampleFiles(): ReadonlyMap<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return new Map(
    entries.map((entry) => {
      const file = join(entry.parentPath, entry.name)
      const path = relative(folder, file)
      const isOfGitHub = /^(?:workflows|actions)\/|^zizmor\.yml$/.test(path)
      const place = isOfGitHub ? `.github/${path.replace(/^(actions\/.*)\.yml$/, '$1/action.yml')}` : path
      return [place, readFileSync(file, 'utf8')]
    }),
  )
}

/**
 * Runs a command in a repository that consists of the examples, such as a linter:
 *
 *     node scripts/in-examples.ts COMMAND…
 */
if (import.meta.main) {
  const repository = mkdtempSync(join(tmpdir(), 'examples-'))
  for (const [path, text] of exampleFiles()) {
    mkdirSync(dirname(join(repository, path)), { recursive: true })
    writeFileSync(join(repository, path), text)
  }
  const [command = '', ...args] = process.argv.slice(2)
  spawnSync('git', ['init', '--quiet'], { cwd: repository, stdio: 'inherit' })
  const { status } = spawnSync(command, args, { cwd: repository, stdio: 'inherit' })
  rmSync(repository, { recursive: true })
  process.exitCode = status ?? 1
}
