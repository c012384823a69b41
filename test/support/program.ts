import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')
const cache = join(root, 'node_modules/.cache/rollout-gate-programs')

/** The bundle of the present sources, for tests that start a process: Node loads it ten times faster than the sources. */
const folder = join(cache, hashOfSources())

/**
 * The path of a program: the action, the one that merges reports, the step at the end of the job, or the command line. The
 * first test that needs one builds the bundle of the sources; the others wait for it.
 */
export function programPath(name: 'index.js' | 'merge.js' | 'post.js' | 'cli.js'): string {
  while (!existsSync(folder)) if (!buildUnlessBuilding()) sleep(100)
  return join(folder, name)
}

/** How long a build takes at most: the lock of an older one is that of a process that was killed. */
const maxBuildMs = 300_000

/** Builds the bundle; returns false if another process does. */
function buildUnlessBuilding(): boolean {
  const lock = join(cache, 'lock')
  mkdirSync(cache, { recursive: true })
  try {
    mkdirSync(lock)
  } catch {
    if (Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > maxBuildMs)
      rmSync(lock, { recursive: true, force: true })
    return false
  }
  try {
    if (!existsSync(folder)) build()
  } finally {
    rmSync(lock, { recursive: true })
  }
  return true
}

function build(): void {
  for (const name of readdirSync(cache)) removeIfOld(join(cache, name))
  const unfinished = join(cache, `unfinished-${process.pid}`)
  execFileSync(process.execPath, [join(root, 'scripts/build.ts'), '--into', unfinished], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  })
  renameSync(unfinished, folder)
}

function sleep(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

/** A recent bundle of other sources may still be in use by another checkout. */
function removeIfOld(bundle: string): void {
  if (Date.now() - statSync(bundle).mtimeMs > 86_400_000) rmSync(bundle, { recursive: true, force: true })
}

function hashOfSources(): string {
  const hash = createHash('sha256')
  const filesIn = (folder: string, ending: string) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(ending))
      .toSorted()
      .map((name) => join(folder, name))
  for (const name of [
    ...filesIn('src', '.ts'),
    ...filesIn('catalogue', '.yaml'),
    'scripts/build.ts',
    'package-lock.json',
  ])
    hash.update(name).update(readFileSync(join(root, name)))
  return hash.digest('hex').slice(0, 16)
}
