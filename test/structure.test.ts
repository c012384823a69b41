import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { importsOf, partOf, readSources } from '../scripts/imports.ts'
import { knownKinds } from '../src/lifecycle/rules.ts'
import { reasonCodes } from '../src/reasons/reasons.ts'

const root = join(import.meta.dirname, '..')
const sources = readSources(root)

/** A folder imports only from those to its left; files in one group do not import each other's folder. */
const layers: readonly (readonly string[])[] = [
  ['src/errors.ts', 'src/version.ts', 'src/node-version.ts', 'src/thresholds.ts'],
  ['src/duration.ts'],
  ['src/input-types.ts'],
  ['src/inputs.ts'],
  ['src/workspace.ts'],
  ['src/cluster'],
  ['src/plan'],
  ['src/reasons'],
  ['src/lifecycle'],
  ['src/gate'],
  ['src/diagnosis'],
  ['src/report'],
  ['src/recording', 'src/github', 'src/views', 'src/outputs.ts'],
  ['src/run'],
  ['src/action.ts', 'src/cli'],
  ['src/entrypoints.ts'],
  ['src/index.ts', 'src/merge.ts', 'src/post.ts', 'src/cli.ts'],
]

function layerOf(path: string): number {
  const layer = layers.findIndex((group) => group.some((part) => path === part || path.startsWith(`${part}/`)))
  if (layer < 0) throw new Error(`${path} is in no layer: add it to this test and to CONTRIBUTING.md.`)
  return layer
}

/** `path:line: text` of each line that a pattern matches, outside of comments. */
function linesWith(pattern: RegExp, isWithin: (path: string) => boolean): string[] {
  return [...sources].flatMap(([path, text]) =>
    isWithin(path)
      ? text.split('\n').flatMap((line, index) => {
          const code = line.replace(/^\s*(?:\/?\*|\/\/).*$/, '').replace(/\s\/\/ .*$/, '')
          return pattern.test(code) ? [`${path}:${index + 1}: ${line.trim()}`] : []
        })
      : [],
  )
}

it('modules import only from the layers before their own', () => {
  const wrong = [...sources].flatMap(([path, text]) =>
    importsOf(path, text)
      .filter((target) => partOf(target) !== partOf(path) && layerOf(target) >= layerOf(path))
      .map((target) => `${path} imports ${target}`),
  )
  expect(wrong).toEqual([])
})

// Size is a cost: before it grows, look for what the change replaces. The numbers of a folder that has reached its goal only fall.
it.each([
  ['src', 212, 42_150],
  ['src/recording', 4, 700],
  ['src/thresholds.ts', 1, 430],
])('%s has at most %i files and %i lines', (folder, files, lines) => {
  const texts = [...sources].flatMap(([path, text]) => (path === folder || path.startsWith(`${folder}/`) ? [text] : []))
  expect(texts.length).toBeLessThanOrEqual(files)
  expect(texts.reduce((sum, text) => sum + text.trimEnd().split('\n').length, 0)).toBeLessThanOrEqual(lines)
})

it('no file of src imports itself through other files', () => {
  const finished = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]) => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
    if (trail.includes(path) || finished.has(path)) return
    for (const target of importsOf(path, sources.get(path) ?? '')) visit(target, [...trail, path])
    finished.add(path)
  }
  for (const path of sources.keys()) visit(path, [])
  expect(cycles).toEqual([])
})

it('the files of the gate import each other over at most five floors, types included', () => {
  const isOfGate = (path: string) => partOf(path) === 'src/gate'
  const floorOf = (path: string): number =>
    1 +
    Math.max(
      0,
      ...importsOf(path, sources.get(path) ?? '')
        .filter(isOfGate)
        .map(floorOf),
    )
  const floors = [...sources.keys()].filter(isOfGate).map((path) => [path, floorOf(path)] as const)
  expect(floors.filter(([, floor]) => floor > 5)).toEqual([])
  expect(floors).toContainEqual(['src/gate/gate.ts', 5])
})

/** What a file imports when it is loaded, without lazy imports and those of types. */
function eagerImports(path: string): string[] {
  return [...(sources.get(path) ?? '').matchAll(/^(?:import|export)(?! type)\b[^']*? from '([^']+)'/gm)].map(
    ([, name = '']) => (name.startsWith('.') ? normalize(join(dirname(path), name)) : name),
  )
}

it('CEL and the catalogue are loaded only when they are needed', () => {
  const catalogue = 'src/lifecycle/custom/catalogue'
  const eager = [...sources.keys()].flatMap((path) =>
    eagerImports(path)
      .filter((name) => name === '@marcbachmann/cel-js' || (name.startsWith(catalogue) && !path.startsWith(catalogue)))
      .map((name) => `${path} imports ${name}`),
  )
  expect(eager).toEqual([])
})

it('a gate loads the modules of requests and hold only if it has one of these inputs', () => {
  const loaded = new Set(['src/action.ts', 'src/cli/gate-commands.ts', 'src/run/live-run.ts'])
  for (const path of loaded) for (const name of eagerImports(path)) loaded.add(name)
  const ofChecks =
    /^src\/(?:run\/checker|plan\/checks|gate\/after-ready|lifecycle\/(?:answers|hold)\.|cluster\/port-forward)|^ws$/
  expect([...loaded].filter((path) => ofChecks.test(path))).toEqual([])
  expect(loaded).toContain('src/gate/gate.ts')
})

it('the gate neither names a kind nor imports what belongs to some kinds: rules offer hooks instead', () => {
  const names = [...knownKinds.map(({ kind }) => kind), 'Node', 'ControllerRevision']
  const kinds = new RegExp(`'(?:${names.join('|')})'|from '\\.\\./lifecycle/\\w+/`)
  expect(linesWith(kinds, (path) => path.startsWith('src/gate/'))).toEqual([])
})

it('no cast narrows an object to its kind: rules, lookups and isOfKind carry the type', () => {
  const names = [...knownKinds.map(({ kind }) => kind), 'EndpointSlice', 'EventObject']
  const casts = new RegExp(`\\bas (?:readonly )?(?:${names.join('|')})\\b`)
  const isText = (line: string) => /["'`].*\bas\b.*["'`]/.test(line)
  expect(linesWith(casts, () => true).filter((line) => !isText(line))).toEqual([])
})

it('a folder of lifecycle imports only folders before it, and the files that all rules share import no folder', () => {
  const folders = ['shared', 'platform', 'workloads', 'network', 'custom', 'all kinds']
  // The files that join the folders.
  const joined = ['rules', 'shared-reader', 'versions', 'answers', 'hold', 'expected-images'].map(
    (name) => `src/lifecycle/${name}.ts`,
  )
  const placeOf = (path: string) => {
    if (joined.includes(path)) return folders.length - 1
    return Math.max(0, folders.indexOf(path.split('/').at(-2) ?? ''))
  }
  const isOfLifecycle = (path: string) => path.startsWith('src/lifecycle/')
  const wrong = [...sources].flatMap(([path, text]) =>
    importsOf(path, text)
      .filter((target) => isOfLifecycle(path) && isOfLifecycle(target) && placeOf(target) > placeOf(path))
      .map((target) => `${path} imports ${target}`),
  )
  expect(wrong).toEqual([])
})

// The reasons of probes and of http-checks interpret what an app answers.
it('HTTP statuses of the API server are interpreted in one file, and statuses of GitHub in another', () => {
  const statuses = /(?:[!=<>]=+|[<>]|case) [45]\d\d\b/
  const places = ['src/cluster/failures.ts', 'src/github/failure.ts', 'src/reasons/checks.ts', 'src/reasons/probes.ts']
  expect(linesWith(statuses, (path) => !places.includes(path))).toEqual([])
})

it('sentences, headlines and hints are rendered from facts: only names are matched there', () => {
  const expressions =
    /(?:^|[^<\w)\]*/])\/(?![/*\s])(?:[^/\\\n[]|\\.|\[[^\]]*\])+\/[dgimsuvy]*(?:\.(?:test|exec)|\s*[,)\].:?;]|$)|new RegExp|\.match\(/
  const isRendered = (path: string) => path.startsWith('src/reasons/') || path === 'src/diagnosis/hints.ts'
  const names = ['image', 'kubernetesFinalizers', 'safe)', 'reason)', 'titlePhrase', 'first)']
  expect(linesWith(expressions, isRendered).filter((line) => !names.some((name) => line.includes(name)))).toEqual([])
})

it('files that the documentation names exist', () => {
  const documents = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'test/threats.md',
    'docs/architecture.md',
    'docs/merging.md',
    'docs/inputs.md',
    'docs/command-line.md',
    'test/cluster/README.md',
  ]
  const missing = documents.flatMap((document) =>
    [...readFileSync(join(root, document), 'utf8').matchAll(/`((?:src|test|scripts|docs|schemas)\/[\w./-]+)`/g)]
      .map(([, path = '']) => path)
      .filter((path) => !existsSync(join(root, path)))
      .map((path) => `${document} names ${path}`),
  )
  expect(missing).toEqual([])
})

describe.each(['CONTRIBUTING.md', 'docs/architecture.md'])('%s', (document) => {
  const text = readFileSync(join(root, document), 'utf8')

  it('names only files that exist, also without their folder', () => {
    const files = new Set(
      ['src', 'test', 'scripts', 'catalogue', 'docs', 'examples'].flatMap((folder) =>
        readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => basename(path)),
      ),
    )
    const named = [...text.matchAll(/`(?:\w+\/)*([\w.-]+\.(?:ts|yaml))`/g)].map(([, name = '']) => name)
    expect(named.filter((name) => !files.has(name))).toEqual([])
  })

  it('names only names of the code that exist', () => {
    const tests = readdirSync(join(root, 'test'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    const scripts = readdirSync(join(root, 'scripts')).map((name) => readFileSync(join(root, 'scripts', name), 'utf8'))
    const code = new Set([...sources.values(), ...tests, ...scripts].flatMap((source) => source.match(/\w+/g) ?? []))
    const camelCase = /`(?:Gate\.|Assessor\.)?([a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)(?:\(\w*\))?`/g
    const names = [...text.matchAll(camelCase)].map(([, name = '']) => name)
    expect(names).not.toEqual([])
    expect(names.filter((name) => !code.has(name))).toEqual([])
  })
})

it('CONTRIBUTING and the pages of the clusters list every script that a contributor runs', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const pages = ['CONTRIBUTING.md', 'test/cluster/README.md', 'test/operators/README.md']
  const contributing = pages.map((page) => readFileSync(join(root, page), 'utf8')).join()
  const unlisted = Object.keys(scripts).filter((name) => !new RegExp(`npm (?:run )?${name}\\b`).test(contributing))
  // npm runs these.
  expect(unlisted).toEqual(['postpack', 'prepack'])
})

it('no code outside of src/reasons compares a reason: it asks for a trait of its entry', () => {
  const codes = reasonCodes.join('|')
  const comparison = new RegExp(`\\breason (?:===|!==) '(?:${codes})'|Set<ReasonCode>`)
  // What a mistake in the inputs is like is decided before reasons are known.
  const isExempt = (path: string) => path.startsWith('src/reasons/') || path === 'src/run/run-plan.ts'
  expect(linesWith(comparison, (path) => path.startsWith('src/') && !isExempt(path))).toEqual([])
})

it('subjects are not made from text or parsed as text, except in merged reports', () => {
  const parsed = /\bsubject\??\.(?:split|startsWith|slice|indexOf|match|includes)\b|\bsubject: `/
  expect(linesWith(parsed, (path) => path.startsWith('src/'))).toEqual([])
})

it('what is loaded at each start does not load the data of all languages', () => {
  const isLoaded = (path: string) =>
    /^src\/(?:inputs|outputs|thresholds|duration|errors)\.ts$|^src\/reasons\//.test(path)
  expect(linesWith(/toLocaleString|\bIntl\b/, isLoaded)).toEqual([])
})
