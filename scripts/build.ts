import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { minify } from '@swc/core'

/**
 * Makes `dist/`, which GitHub runs as it is committed: nothing is installed on a runner.
 *
 *     npm run build        write dist/
 *     npm run check:dist   build in memory, compare with dist/, write nothing
 *     node scripts/build.ts --into FOLDER   the same in another folder, not minified: what tests start
 *
 * `tsc` emits JavaScript to `build/`. The launchers (`index.js`, `cli.js`) are taken as emitted, because they must load
 * on a Node that is too old for the rest, to say so. All else is one bundle that both import, `entrypoints.js`, with
 * whatever it imports lazily in chunks beside it. The same sources give the same bytes, wherever the checkout is.
 */

type Files = Map<string, Buffer>

interface Bundle {
  code: string
  assets: Record<string, { source: string | Buffer }>
}

type Bundler = (
  entry: string,
  options: { cache: false; filename: string; license: string; minify: boolean; quiet: boolean },
) => Promise<Bundle>

const root = resolve(import.meta.dirname, '..')
const bundleName = 'entrypoints.js'
const launchers = ['index.js', 'cli.js', 'node-version.js']
const executable = 'cli.js'
const target = process.argv.includes('--into') ? process.argv.at(-1) : undefined
const isForTests = target !== undefined

// The bundler names modules by their path from here.
process.chdir(root)
compile()
stageForShaking('@kubernetes/client-node')
stageForShaking('@actions/core')
leaveOutUndici()
const files = new Map([...emittedLaunchers(), ...(await bundle())])
refusePathsOf(root, files)
if (process.argv.includes('--check')) check(files)
else write(files, target)

/** Emits `src/` to `build/src/`. Throws when the types are wrong; `tsc` has said where. */
function compile(): void {
  rmSync('build', { recursive: true, force: true })
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { stdio: 'inherit' })
}

/**
 * Copies a package into `build/node_modules`, where the bundler finds it first, with the promise that its modules do
 * nothing when they are merely imported. Without it the bundler has to keep all of client-node's generated API (4 MB)
 * and, for a sign-in that nobody asks of core, a second HTTP client.
 */
function stageForShaking(name: string): void {
  const copy = join('build/node_modules', name)
  cpSync(join('node_modules', name), copy, {
    recursive: true,
    filter: (path) => !/\.d\.ts$|\.map$/.test(path),
  })
  const manifest = join(copy, 'package.json')
  const content = JSON.parse(readFileSync(manifest, 'utf8')) as Record<string, unknown>
  writeFileSync(manifest, JSON.stringify({ ...content, sideEffects: false }))
}

/**
 * client-node's KubeConfig imports undici for the requests of its generated API. Rollout Gate speaks to the server
 * through `node:https` and takes only credentials from it, so undici (0.8 MB, half of the start-up time) would never
 * run. What stands in for it says so if that ever changes; a further name imported from it fails the build.
 */
function leaveOutUndici(): void {
  const folder = 'build/node_modules/@kubernetes/client-node/node_modules/undici'
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const leftOut = "throw new Error('undici is not part of this bundle: see leaveOutUndici in scripts/build.ts')"
  const names = ['Agent', 'ProxyAgent', 'fetch']
  writeFileSync(join(folder, 'index.js'), names.map((name) => `export function ${name}() { ${leftOut} }\n`).join(''))
}

function emittedLaunchers(): Files {
  return new Map(
    launchers
      .filter((name) => existsSync(join('build/src', name)))
      .map((name) => [name, readFileSync(join('build/src', name))]),
  )
}

async function bundle(): Promise<Files> {
  const ncc = createRequire(import.meta.url)('@vercel/ncc') as Bundler
  const options = {
    cache: false,
    filename: bundleName,
    license: 'licenses.txt',
    minify: !isForTests,
    quiet: true,
  } as const
  const { code, assets } = await ncc(join(root, 'build/src', bundleName), options)
  const files: Files = new Map([[bundleName, Buffer.from(code)]])
  for (const [name, { source }] of Object.entries(assets)) {
    // The repository's own package.json already says that dist/ holds ES modules.
    if (name === 'package.json') continue
    files.set(
      name,
      name.endsWith('.js') && !isForTests ? Buffer.from(await minified(String(source))) : Buffer.from(source),
    )
  }
  return files
}

/** ncc minifies the entry alone, and leaves its chunks as they are. */
async function minified(chunk: string): Promise<string> {
  return (await minify(chunk, { module: true, compress: true, mangle: true, ecma: 2024 })).code
}

/** A path of this machine in the bundle would leak it, and give other bytes in the next checkout. */
function refusePathsOf(folder: string, files: Files): void {
  const leaks = [...files].filter(([, content]) => content.includes(folder)).map(([name]) => `dist/${name}`)
  if (leaks.length > 0) throw new Error(`${leaks.join(', ')}: would contain the path of this checkout`)
}

function write(files: Files, folder = 'dist'): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, content] of files) {
    writeFileSync(join(folder, name), content)
    console.log(`${(content.length / 1024).toFixed(0).padStart(6)} KiB  ${folder}/${name}`)
  }
  if (files.has(executable)) chmodSync(join(folder, executable), 0o755)
}

function check(files: Files): void {
  const present = existsSync('dist') ? readdirSync('dist') : []
  const differences = [
    ...[...files].filter(([name]) => !present.includes(name)).map(([name]) => `dist/${name} is missing`),
    ...[...files]
      .filter(([name, content]) => present.includes(name) && !readFileSync(join('dist', name)).equals(content))
      .map(([name]) => `dist/${name} is not what the sources give`),
    ...present.filter((name) => !files.has(name)).map((name) => `dist/${name} comes from nothing in the sources`),
  ]
  if (differences.length === 0) {
    console.log(`dist/ is what the sources give (${files.size} files)`)
    return
  }
  for (const difference of differences) console.error(difference)
  console.error('Run `npm run build` and commit dist/')
  process.exitCode = 1
}
