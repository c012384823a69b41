import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative, resolve } from 'node:path'
import { minify, parse } from '@swc/core'
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

interface Bundle {
  code: string
  assets: Record<string, { source: string | Buffer }>
  stats: { compilation: Compilation }
}

/** The part of webpack's `Compilation` that lists what a bundle contains. */
interface Compilation {
  readonly modules: Iterable<BundledModule & { readonly modules?: readonly BundledModule[] }>
  readonly chunkGraph: { getNumberOfModuleChunks(module: BundledModule): number }
}

interface BundledModule {
  /** The path of its file. */
  readonly resource?: string
}

type Bundler = (
  entry: string,
  options: { cache: false; filename: string; minify: boolean; quiet: boolean },
) => Promise<Bundle>

const root = resolve(import.meta.dirname, '..')
const bundleName = 'entrypoints.js'
const launchers = ['index.js', 'merge.js', 'post.js', 'cli.js', 'node-version.js']
const executable = 'cli.js'
const target = process.argv.includes('--into') ? process.argv.at(-1) : undefined
const isForTests = target !== undefined && !process.argv.includes('--published')

// The bundler names modules by their path relative to this folder.
process.chdir(root)
compile()
stageForShaking('@actions/core')
stage('@actions/github')
stageUndici()
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

/** Copies a package into `build/node_modules`, where the bundler finds it first. Returns the folder of the copy. */
function stage(name: string): string {
  const copy = join('build/node_modules', name)
  cpSync(join('node_modules', name), copy, {
    recursive: true,
    filter: (path) => !/\.d\.ts$|\.map$/.test(path),
  })
  return copy
}

/**
 * Declares that the modules of a package have no side effects. Without the declaration the bundle would contain core's OIDC
 * client with a second HTTP client.
 */
function stageForShaking(name: string): void {
  const copy = stage(name)
  const manifest = join(copy, 'package.json')
  const content = JSON.parse(readFileSync(manifest, 'utf8')) as Record<string, unknown>
  writeFileSync(manifest, JSON.stringify({ ...content, sideEffects: false }))
}

/**
 * Exports of undici only what `@actions/github` and its HTTP client import: the whole is twice as large, with WebSockets,
 * caches and mocks. A further import would fail the tests of the bundle.
 */
function stageUndici(): void {
  const fetch = "require('./lib/web/fetch').fetch"
  const agent = "require('./lib/dispatcher/proxy-agent')"
  writeFileSync(join(stage('undici'), 'index.js'), `module.exports = { fetch: ${fetch}, ProxyAgent: ${agent} }`)
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
  const ncc = createRequire(import.meta.url)('@vercel/ncc') as Bundler
  const options = {
    cache: false,
    filename: bundleName,
    minify: false,
    quiet: true,
  } as const
  const { code, assets, stats } = await ncc(join(root, 'build/src', bundleName), options)
  const sources = new Map(Object.entries(assets).map(([name, { source }]) => [name, source]))
  // The repository's package.json already declares ES modules.
  sources.delete('package.json')
  const files: Files = new Map([['licenses.txt', Buffer.from(licenses(bundledPackages(stats.compilation)))]])
  for (const [name, source] of [[bundleName, code] as const, ...sources]) {
    const text = name.endsWith('.js') ? withoutCreateRequire(String(source)) : undefined
    files.set(name, text === undefined ? Buffer.from(source) : isForTests ? Buffer.from(text) : await minified(text))
  }
  return files
}

/** The folders of the packages of which the bundle contains a module. */
function bundledPackages({ modules, chunkGraph }: Compilation): ReadonlySet<string> {
  const inChunks = [...modules].filter((module) => chunkGraph.getNumberOfModuleChunks(module) > 0)
  // The bundler merges modules into one, which lists them.
  const paths = inChunks.flatMap((module) => [...(module.modules ?? [module])].map(({ resource = '' }) => resource))
  const folders = paths.flatMap((path) => /.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(path)?.[0] ?? [])
  return new Set(
    folders.map((folder) =>
      relative(root, folder)
        .replaceAll('\\', '/')
        .replace(/^build\//, ''),
    ),
  )
}

/**
 * The licences and notices of these packages, by name. The bundler's own list omits packages of which it merges the modules,
 * such as js-yaml.
 */
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

/** Takes Node's modules from `process`: `createRequire`, which the bundler writes, takes longer and loads `node:module`. */
function withoutCreateRequire(source: string): string {
  const name = '__WEBPACK_EXTERNAL_createRequire'
  const text = source
    .replace(`import { createRequire as ${name} } from "module";\n`, '')
    .replaceAll(`${name}(import.meta.url)(`, 'process.getBuiltinModule(')
  if (text.includes(name)) throw new Error(`The bundler uses ${name} in another way: see withoutCreateRequire`)
  return text
}

async function minified(source: string): Promise<Buffer> {
  const options = {
    module: true,
    compress: { passes: 3 },
    mangle: true,
    ecma: 2024,
    format: { comments: false },
  } as const
  return compiledOnLoad((await minify(source, options)).code)
}

/**
 * Writes the functions that contain the bundler's modules in parentheses, as the bundler does. The minifier removes them,
 * and V8 then parses each module twice: to skip it, and to run it (v8.dev/blog/preparser, "PIFEs").
 */
async function compiledOnLoad(code: string): Promise<Buffer> {
  const { body, span } = await parse(code, { syntax: 'ecmascript', target: 'es2024' })
  const variables = body.flatMap((item) => {
    const declaration = item.type === 'ExportDeclaration' ? item.declaration : item
    return declaration.type === 'VariableDeclaration' ? declaration.declarations : []
  })
  const modules = variables
    .flatMap(({ init }) => (init?.type === 'ObjectExpression' ? init.properties : []))
    .flatMap((each) => (each.type === 'KeyValueProperty' && each.key.type === 'NumericLiteral' ? [each.value] : []))
  const parts: Buffer[] = []
  // Positions in bytes.
  const bytes = Buffer.from(code)
  let end = 0
  for (const value of modules) {
    if (value.type !== 'ArrowFunctionExpression' && value.type !== 'FunctionExpression') continue
    const [from, to] = [value.span.start - span.start, value.span.end - span.start]
    parts.push(bytes.subarray(end, from), Buffer.from('('), bytes.subarray(from, to), Buffer.from(')'))
    end = to
  }
  return Buffer.concat([...parts, bytes.subarray(end)])
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
