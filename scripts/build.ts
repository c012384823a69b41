import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join, relative, resolve } from 'node:path'
import { type OutputChunk, type Plugin, rolldown } from 'rolldown'
import { compileEntry, loadCompiler, parseEntries } from '../src/plan/health-checks.ts'

/**
 * Builds `dist/`, which is committed because a runner installs nothing.
 *
 *     npm run build        write dist/
 *     npm run check:dist   build in memory, compare with dist/, write nothing
 *     node scripts/build.ts --into FOLDER   the bundle for tests: in another folder, not minified
 *     node scripts/build.ts --published --into FOLDER   the bundle of dist/, in another folder
 *
 * `tsc` emits JavaScript to `build/`. The launchers (`index.js`, `merge.js`, `post.js`, `cli.js`) are copied unchanged: on an old Node they must
 * load and report its version. Everything else is one bundle that they import, `entrypoints.js`, with lazy imports in
 * chunks. The same sources give the same bytes in every checkout.
 */

type Files = Map<string, Buffer>

const root = resolve(import.meta.dirname, '..')
const bundleName = 'entrypoints.js'
const launchers = ['index.js', 'merge.js', 'post.js', 'cli.js', 'node-version.js']
const executable = 'cli.js'
const target = process.argv.includes('--into') ? process.argv.at(-1) : undefined
const isForTests = target !== undefined && !process.argv.includes('--published')

/**
 * Exports of undici only what `@actions/github` and its HTTP client import: the whole is twice as large, with WebSockets,
 * caches and mocks. A further import would fail the tests of the bundle.
 */
const smallUndici: Plugin = {
  name: 'small-undici',
  load: {
    filter: { id: /node_modules[\\/]undici[\\/]index\.js$/ },
    handler: () => `module.exports = {
      fetch: require('./lib/web/fetch').fetch,
      ProxyAgent: require('./lib/dispatcher/proxy-agent'),
    }`,
  },
}

/**
 * Optional packages of ws, which are not installed: their import must fail, as it does without a bundle. The bundler would
 * ask Node for them, and get undefined.
 */
const missingPackages: Plugin = {
  name: 'missing-packages',
  resolveId: {
    filter: { id: /^(?:bufferutil|utf-8-validate)$/ },
    handler: (name) => `\0missing:${name}`,
  },
  load: {
    filter: { id: /^\0missing:/ },
    handler: (id) => `throw new Error('${id.slice(1)}')`,
  },
}

/**
 * Takes Node's modules from `process`. An `import` reads all that a module exports, and so loads the client of `fetch` with
 * `node:http`; `createRequire`, which the bundler writes, loads `node:module`.
 */
const builtInModules: Plugin = {
  name: 'built-in-modules',
  renderChunk(code) {
    const text = code
      .replaceAll('createRequire(import.meta.url)', 'process.getBuiltinModule')
      .replace(/^import \{ createRequire \} from "node:module";$/m, '')
      .replaceAll(
        /^import (?:(?:\* as )?([\w$]+)(?:, )?)?(\{.*\})? ?from "((?:node:)?[a-z_/]+)";$/gm,
        (_, whole?: string, named?: string, module?: string) =>
          [whole, named?.replaceAll(' as ', ': ')]
            .flatMap((names) => (names ? [`const ${names} = process.getBuiltinModule("${module}");`] : []))
            .join(' '),
      )
    if (/^import .* from "[^.]/m.test(text))
      throw new Error('The bundler imports a module in another way: see builtInModules')
    for (const [, name = ''] of text.matchAll(/(?:__require|getBuiltinModule)\("([^"]+)"\)/g))
      if (!isBuiltin(name))
        throw new Error(`The bundle requires ${name}, which is no module of Node: see missingPackages`)
    return text
  },
}

process.chdir(root)
compile()
await compileCatalogue()
const files = new Map([...emittedLaunchers(), ...(await bundle())])
rejectPathsOf(root, files)
if (process.argv.includes('--check')) check(files)
else write(files, target)

/** Emits `src/` to `build/src/`. Throws on type errors, which `tsc` prints; the bundle for tests is not type-checked. */
function compile(): void {
  rmSync('build', { recursive: true, force: true })
  const options = ['-p', 'tsconfig.build.json', ...(isForTests ? ['--noCheck'] : [])]
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...options], { stdio: 'inherit' })
}

/**
 * Checks the files of the catalogue of operators, and makes a module of each, which the bundler puts into a chunk of its
 * own. `catalogue-files.js` imports them when they are needed.
 * @throws UserError with every mistake of a file
 */
async function compileCatalogue(): Promise<void> {
  const folder = 'build/src/lifecycle/custom'
  const compiler = await loadCompiler()
  mkdirSync(join(folder, 'catalogue'), { recursive: true })
  const imports: string[] = []
  for (const name of readdirSync('catalogue').filter((file) => file.endsWith('.yaml'))) {
    const entries = await parseEntries(readFileSync(join('catalogue', name), 'utf8'), `catalogue/${name}`)
    for (const entry of entries) compileEntry(entry, compiler)
    const path = `./catalogue/${name.replace('.yaml', '.js')}`
    writeFileSync(join(folder, path), `export default ${JSON.stringify(entries)}\n`)
    const groups = JSON.stringify([...new Set(entries.map(({ group }) => group))])
    imports.push(`  { groups: ${groups}, load: async () => (await import('${path}')).default },`)
  }
  writeFileSync(join(folder, 'catalogue-files.js'), ['export const catalogueFiles = [', ...imports, ']', ''].join('\n'))
}

function emittedLaunchers(): Files {
  return new Map(
    launchers
      .filter((name) => existsSync(join('build/src', name)))
      .map((name) => [name, readFileSync(join('build/src', name))]),
  )
}

async function bundle(): Promise<Files> {
  const bundler = await rolldown({
    input: join('build/src', bundleName),
    platform: 'node',
    // Chunks take what they share with the entry from it, so it exports more than its own functions.
    preserveEntrySignatures: 'allow-extension',
    treeshake: {
      // Otherwise, the bundle would contain the OIDC client of `@actions/core`, with a second HTTP client.
      moduleSideEffects: (path) => !/node_modules[\\/]@actions[\\/]core[\\/]/.test(path),
      // Otherwise, it would contain all of zod.
      propertyReadSideEffects: false,
    },
    plugins: [smallUndici, missingPackages, builtInModules],
    checks: { ineffectiveDynamicImport: false },
  })
  const { output } = await bundler.generate({
    entryFileNames: bundleName,
    chunkFileNames: '[name].chunk.js',
    comments: isForTests,
    minify: !isForTests,
  })
  const chunks = output.filter((each) => each.type === 'chunk')
  return new Map([
    ['licenses.txt', Buffer.from(licenses(bundledPackages(chunks)))],
    ...chunks.map(({ fileName, code }) => [fileName, Buffer.from(code)] as const),
  ])
}

/** The folders of the packages of which the bundle contains a module. */
function bundledPackages(chunks: readonly OutputChunk[]): ReadonlySet<string> {
  const paths = chunks.flatMap(({ modules }) =>
    Object.entries(modules).flatMap(([path, { renderedLength }]) => (renderedLength > 0 ? [path] : [])),
  )
  const folders = paths.flatMap((path) => /.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(path)?.[0] ?? [])
  return new Set(folders.map((folder) => relative(root, folder).replaceAll('\\', '/')))
}

/** The licences and notices of these packages, by name. */
function licenses(folders: ReadonlySet<string>): string {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { version?: string; license?: string }>
  }
  const entries = Object.entries(packages).flatMap(([path, { version, license }]) => {
    if (!folders.has(path)) return []
    const texts = readdirSync(path)
      .filter((file) => /^(?:licen[cs]e|copying|notice)(?:[.-]|$)/i.test(file) && statSync(join(path, file)).isFile())
      .sort()
      .map((file) => readFileSync(join(path, file), 'utf8').replaceAll('\r\n', '\n').trim())
    return [[`${path.split('node_modules/').at(-1)} ${version}`, license, ...texts].join('\n')]
  })
  return `${[...new Set(entries)].sort().join('\n\n\n')}\n`
}

/** Paths of this machine must not be published, and would change the bytes in another checkout. */
function rejectPathsOf(folder: string, files: Files): void {
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
      .map(([name]) => `dist/${name} differs from the build of the sources`),
    ...present.filter((name) => !files.has(name)).map((name) => `dist/${name} is not part of the build`),
  ]
  if (differences.length === 0) {
    console.log(`dist/ equals the build of the sources (${files.size} files)`)
    return
  }
  for (const difference of differences) console.error(difference)
  console.error('Run `npm run build` and commit dist/')
  process.exitCode = 1
}
