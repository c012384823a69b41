import { createHash } from 'node:crypto'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { goBuild } from '../cluster/build.ts'
import { run } from '../cluster/command.ts'
import { cacheFolder } from '../cluster/layout.ts'
import { operatorPrefix } from '../cluster/processes.ts'
import type { Operator } from './operator.ts'

/**
 * Builds an operator from its Go module (minutes; then cached). The go.mod of the module itself applies, so it is built in a
 * copy of the module: the module cache is read-only.
 *
 * @returns the path of the program
 */
export async function buildOperator({ name, module, program, files = {}, replaced = {} }: Operator): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([module, program, files, ...Object.entries(replaced)]))
  const binary = join(cacheFolder, `${operatorPrefix}${name}-${hash.digest('hex').slice(0, 16)}`)
  if (existsSync(binary)) return binary

  const copy = mkdtempSync(join(tmpdir(), `rollout-gate-${name}-`))
  try {
    cpSync(await moduleFolder(module), copy, { recursive: true })
    makeWritable(copy)
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(copy, path)), { recursive: true })
      writeFileSync(join(copy, path), content)
    }
    await useReleasedModules(copy, replaced)
    const flags = [process.env['GOFLAGS'], '-mod=mod'].join(' ').trim()
    await goBuild(binary, copy, `./${program}`, [], { GOFLAGS: flags })
  } finally {
    rmSync(copy, { recursive: true })
  }
  return binary
}

/** The folder of a module (`path@version`) in the module cache; the module is downloaded if it is missing. */
export async function moduleFolder(module: string): Promise<string> {
  const cache = (await run('go', ['env', 'GOMODCACHE'])).trim()
  const folder = join(cache, module)
  if (!existsSync(folder)) await run('go', ['mod', 'download', module], { cwd: tmpdir() })
  return folder
}

/**
 * Folders that a go.mod names as replacements are missing in the published module: their releases are used.
 * @param replaced versions of modules, by their paths
 */
async function useReleasedModules(folder: string, replaced: Readonly<Record<string, string>>): Promise<void> {
  const { Replace } = JSON.parse(await run('go', ['mod', 'edit', '-json'], { cwd: folder })) as {
    Replace?: { Old: { Path: string }; New: { Path: string } }[]
  }
  const local = (Replace ?? []).filter(({ New }) => New.Path.startsWith('.'))
  for (const { Old } of local) await run('go', ['mod', 'edit', `-dropreplace=${Old.Path}`], { cwd: folder })
  for (const [path, version] of Object.entries(replaced)) {
    await run('go', ['mod', 'edit', `-replace=${path}=${path}@${version}`], { cwd: folder })
  }
}

function makeWritable(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644)
  }
}
