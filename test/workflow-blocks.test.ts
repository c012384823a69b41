import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { exampleFiles } from '../scripts/in-examples.ts'
import { parseDuration } from '../src/duration.ts'
import { type ExtraName, inputDefinitions, knownExtras, mergeInputDefinitions, readInputs } from '../src/inputs.ts'
import { outputDefinitions } from '../src/outputs.ts'
import { parseChecks } from '../src/plan/checks.ts'
import { parseReferences } from '../src/plan/parse-references.ts'
import { rows } from './kit/rows.ts'
import { validateActionMetadata, validateWorkflow } from './support/workflow-parser.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const root = join(import.meta.dirname, '..')
const documents = [
  'README.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

interface Step {
  readonly id?: string
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
  readonly 'timeout-minutes'?: number
}

interface Job {
  readonly uses?: string
  readonly permissions?: Readonly<Record<string, string>>
  readonly concurrency?: Concurrency
  readonly steps?: readonly Step[]
  readonly 'timeout-minutes'?: number
}

type Concurrency = string | { readonly group: string; readonly queue?: string }

interface Workflow {
  readonly on?: string | readonly string[] | object
  readonly concurrency?: Concurrency
  readonly permissions?: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

/** A YAML text of the documentation or of the examples. */
interface Block {
  /** For the titles of tests: `the second example of the section "Install" in README.md`. */
  readonly title: string
  readonly place: string
  readonly text: string
  readonly type: 'workflow' | 'steps' | 'action' | 'inputs' | 'other'
  readonly content: unknown
}

const inputs: ReadonlySet<string> = new Set(inputDefinitions.map(({ name }) => name))
const mergeInputs: ReadonlySet<string> = new Set(mergeInputDefinitions.map(({ name }) => name))
const outputs: ReadonlySet<string> = new Set(Object.keys(outputDefinitions))

function typeOf(content: unknown): Block['type'] {
  if (Array.isArray(content)) return content.some((step) => 'uses' in step || 'run' in step) ? 'steps' : 'other'
  const keys = Object.keys(content ?? {})
  if (keys.includes('jobs')) return 'workflow'
  if (keys.includes('runs')) return 'action'
  // A part of `with:`.
  return keys.length > 0 && keys.every((key) => inputs.has(key)) ? 'inputs' : 'other'
}

function blockOf(place: string, text: string, title = place): Block {
  const content: unknown = parseAllDocuments(text)[0]?.toJS()
  return { title, place, text, type: typeOf(content), content }
}

const ordinals = ['', 'second ', 'third ', 'fourth ']

/** The YAML blocks of a document. */
function blocksOf(document: string): readonly Block[] {
  const text = readFileSync(join(root, document), 'utf8')
  const found = [...text.matchAll(/^```yaml\n(.*?)^```$/gms)]
  const sectionAt = (end: number) => /^#+ (.*)$/m.exec(text.slice(text.lastIndexOf('\n#', end) + 1))?.[1] ?? ''
  return found.map(({ 1: yaml = '', index }, nth) => {
    const section = sectionAt(index)
    const earlier = found.slice(0, nth).filter((other) => sectionAt(other.index) === section).length
    const title = `the ${ordinals[earlier]}example of the section "${section.replaceAll('`', '')}" in ${document}`
    return blockOf(`${document}:${text.slice(0, index).split('\n').length + 1}`, yaml, title)
  })
}

const blocks: readonly Block[] = [
  ...documents.flatMap(blocksOf),
  ...[...exampleFiles()]
    .filter(([path]) => path.startsWith('.github/'))
    .map(([path, text]) => blockOf(path, text, `the example ${path.replace('.github/', '')}`)),
]

/** The block as a whole file: steps in a job, and a trigger where it is left out. */
function wholeFile({ type, text, content }: Block): string {
  if (type === 'steps') {
    const steps = text.replaceAll(/^(?=.)/gm, '      ')
    return `on: push\njobs:\n  deploy:\n    runs-on: ubuntu-latest\n    steps:\n${steps}`
  }
  return type === 'workflow' && !('on' in (content as object)) ? `on: push\n${text}` : text
}

/** All steps of a block. */
function stepsOf({ type, content }: Block): readonly Step[] {
  if (type === 'steps') return content as Step[]
  if (type === 'action') return (content as { runs: { steps?: Step[] } }).runs.steps ?? []
  if (type !== 'workflow') return []
  return Object.values((content as Workflow).jobs).flatMap(({ steps = [] }) => steps)
}

/** The inputs of the action of this repository that a step uses; undefined for any other action. */
function inputsOf({ uses = '' }: Step): ReadonlySet<string> | undefined {
  if (uses.startsWith('rollout-gate/rollout-gate/merge@')) return mergeInputs
  return uses.startsWith('rollout-gate/rollout-gate@') ? inputs : undefined
}

/** The inputs and outputs of this action that a block names, and that do not exist. */
function unknownNames(block: Block): string[] {
  const steps = stepsOf(block)
  const gates = steps.filter(inputsOf)
  const others = new Set(steps.filter((step) => !inputsOf(step)).map(({ id }) => id))
  const written = gates.flatMap((step) => Object.keys(step.with ?? {}).filter((name) => !inputsOf(step)?.has(name)))
  const read = [...block.text.matchAll(/\bsteps\.([\w-]+)\.outputs\.([\w-]+)/g)]
    .filter(([, id]) => gates.some((gate) => gate.id === id) || (id === 'gate' && !others.has(id)))
    .flatMap(([, , name = '']) => (outputs.has(name) ? [] : [name]))
  return [...written, ...read]
}

const files = blocks.filter(({ type }) => type === 'workflow' || type === 'steps' || type === 'action')

it.each(files)('$title is valid by the schema that GitHub publishes', (block) => {
  const validate = block.type === 'action' ? validateActionMetadata : validateWorkflow
  expect(validate(wholeFile(block))).toEqual([])
})

it.each(files)('$title uses only inputs and outputs that exist', (block) => {
  expect(unknownNames(block)).toEqual([])
})

/** An input whose expressions have a plausible value. */
function filled(name: string, text: unknown): string {
  const values: Readonly<Record<string, string>> = {
    'expect-images': `sha256:${'0'.repeat(64)}`,
    resources: 'deployment.apps/web configured',
    timeout: '5m',
  }
  const isWhole = /^\$\{\{[^}]*\}\}$/.test(String(text))
  const value = isWhole || name === 'expect-images' ? values[name] : undefined
  return String(text).replaceAll(/\$\{\{[^}]*\}\}/g, value ?? '0123456789abcdef0123456789abcdef01234567')
}

/** What the action reports about the inputs of a step. */
function mistakesOf(step: Step): readonly string[] {
  const raw = Object.fromEntries(Object.entries(step.with ?? {}).map(([name, text]) => [name, filled(name, text)]))
  const { inputs: read, mistakes } = readInputs(raw, inputsOf(step) === inputs ? 'gate' : 'merge')
  if (inputsOf(step) === mergeInputs) return mistakes.map(({ message }) => message)
  const targets = parseReferences(read.resources, 'resources', { alone: read.manifests === '' })
  return [...mistakes, ...targets.mistakes, ...parseChecks(read).mistakes].map(({ message }) => message)
}

const uses = blocks.flatMap((block) =>
  stepsOf(block)
    .filter(inputsOf)
    .map((step, nth) => ({ title: `the ${ordinals[nth]}gate in ${block.title}`, step })),
)

it.each(uses)('$title has valid inputs', ({ step }) => {
  expect(mistakesOf(step)).toEqual([])
})

it('an invalid input of a step is found', () => {
  const gate = { uses: 'rollout-gate/rollout-gate@v0' }
  expect(mistakesOf({ ...gate, with: { resources: 'deployment/web', timeout: '5' } })).toHaveLength(1)
  expect(mistakesOf({ ...gate, with: { resources: 'deployment web --for=x' } })).toHaveLength(1)
})

/** The blocks of a document that no test reads, and that do not state why. */
function unexplained(document: string): string[] {
  const text = readFileSync(join(root, document), 'utf8')
  const found = [...text.matchAll(/(?: *<!-- ([^>]*) -->\n\n)?^( *)```(\w*)\n(.*?)^ *```$/gms)]
  return found.flatMap(({ 1: comment = '', 2: indent = '', 3: language, 4: code = '', index }) => {
    const yaml = language === 'yaml' ? blockOf('', code.replaceAll(new RegExp(`^${indent}`, 'gm'), '')) : undefined
    const [, test] = /^test: (\S+)$/.exec(comment) ?? []
    const isRun = test !== undefined && readFileSync(join(root, test), 'utf8').includes(document)
    const isExplained = isRun || /^not run: .|: written by npm run docs$/.test(comment)
    const isRead = yaml !== undefined && yaml.type !== 'other'
    return isExplained || isRead ? [] : [`${document}:${text.slice(0, index).split('\n').length}`]
  })
}

it.each(documents)('each code block of %s is tested, or states why it is not', (document) => {
  expect(unexplained(document)).toEqual([])
})

it('every example workflow is run by a scenario and listed in examples/README.md', () => {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const [scenarios, list] = [read('test/act/examples.ts'), read('examples/README.md')]
  const names = readdirSync(join(root, 'examples/workflows')).map((name) => name.replace(/\.yml$/, ''))
  expect(names.filter((name) => !scenarios.includes(`'${name}`) || !list.includes(`(workflows/${name}.yml)`))).toEqual(
    [],
  )
})

it('every code block that uses the action is checked', () => {
  const unchecked = blocks.filter(({ type, text }) => type === 'other' && /uses:.*rollout-gate(\/merge)?@/.test(text))
  expect(unchecked.map(({ place }) => place)).toEqual([])
  expect(files.length).toBeGreaterThan(30)
})

it.each(rows<[string, string]>(data, 'is found'))('%s is found', (_, text) => {
  expect(unknownNames(blockOf('', text))).toHaveLength(1)
})

it('a step with an unknown key is found', () => {
  expect(validateWorkflow(wholeFile(blockOf('', '- run: ls\n  wiht: {}\n'))).join('\n')).toContain(
    "Unexpected value 'wiht'",
  )
})

const minutesOf = (text: string) => (parseDuration(text, (mistake) => expect(mistake).toBe('')) ?? 0) / 60_000

/** The minutes that a job may need for its steps with a clock of their own; infinite if its caller decides that. */
function neededMinutes({ steps = [] }: Job): number {
  return steps.reduce((sum, step) => sum + (step['timeout-minutes'] ?? stepMinutes(step)), 0)
}

function stepMinutes({ uses = '', run = '', with: given = {} }: Step): number {
  const texts = (text: string) => [...text.matchAll(/--timeout=(\S+)/g)].map(([, duration = '']) => duration)
  const called = files.find(({ place }) => place === `${uses.slice('./'.length)}/action.yml`)
  if (called !== undefined) return neededMinutes({ steps: stepsOf(called) })
  if (inputsOf({ uses }) !== inputs) return texts(run).reduce((sum, text) => sum + minutesOf(text), 0)
  const { timeout = '10m', resources = '', 'await-change': awaited = '0' } = given as Readonly<Record<string, string>>
  if (timeout.includes('${{')) return Infinity
  // A gate ends up to two minutes after its timeout if the API server does not answer then.
  return Math.max(...[timeout, ...texts(resources)].map(minutesOf)) + minutesOf(awaited) + 2
}

/** The jobs of a workflow whose limit may end a step before its own clock does. */
function cutShort({ content }: Block): string[] {
  return Object.entries((content as Workflow).jobs)
    .filter(([, { 'timeout-minutes': limit, ...job }]) => limit !== undefined && neededMinutes(job) >= limit)
    .map(([name, job]) => `${name}: ${job['timeout-minutes']} minutes for ${neededMinutes(job)}`)
}

const workflows = files.filter(({ type }) => type === 'workflow')

it.each(workflows)('$title has no job with fewer minutes than its steps may take', (block) => {
  expect(cutShort(block)).toEqual([])
})

describe('a job is found if it', () => {
  it.each(rows<[string, number, Step[]]>(data, 'a job is found if it'))('%s', (_, limit, steps) => {
    const job = { 'timeout-minutes': limit, steps }
    expect(cutShort({ title: '', place: '', text: '', type: 'workflow', content: { jobs: { job } } })).toHaveLength(1)
  })
})

/** What an action needs of the job's token, by the start of its name. */
const neededBy = {
  'actions/checkout@': 'contents: read',
  'aws-actions/configure-aws-credentials@': 'id-token: write',
  'azure/login@': 'id-token: write',
  'docker/login-action@': 'packages: write',
  'google-github-actions/auth@': 'id-token: write',
}

function neededPermissions({ steps = [] }: Job): string[] {
  const needed = steps.flatMap(({ uses = '', with: given = {} }) => [
    ...Object.entries(neededBy).flatMap(([action, permission]) => (uses.startsWith(action) ? permission : [])),
    ...(inputsOf({ uses }) === undefined ? [] : String(given['report-to'] ?? '').split(/[,\s]+/))
      .filter(Boolean)
      .map((extra) => knownExtras[extra as ExtraName].permission),
  ])
  return [...new Set(needed)]
}

it.each(workflows)(
  '$title gives each job the permissions that its steps need, and no other write permission',
  ({ content }) => {
    const { jobs, permissions } = content as Workflow
    for (const job of Object.values(jobs).filter(({ uses }) => uses === undefined)) {
      const declared = Object.entries(job.permissions ?? permissions ?? {}).map((each) => each.join(': '))
      const needed = neededPermissions(job)
      expect(declared).toEqual(expect.arrayContaining(needed))
      expect(declared.filter((permission) => permission.endsWith('write') && !needed.includes(permission))).toEqual([])
    }
  },
)

/** Whether GitHub cancels the waiting run of a pull request when another pull request starts one. */
function sharesQueue({ on = '', concurrency, jobs }: Workflow): boolean {
  const events = typeof on === 'string' ? [on] : Array.isArray(on) ? on : Object.keys(on)
  if (!events.some((event) => /^(pull_request|merge_group|issue_comment)/.test(event))) return false
  return [concurrency, ...Object.values(jobs).map((job) => job.concurrency)].some((each) => {
    const { group, queue } = typeof each === 'object' ? each : { group: each, queue: undefined }
    const isOfOne = group === undefined || /\$\{\{.*github\.(event|ref|head_ref|sha|run_id)\b/.test(group)
    return !isOfOne && queue !== 'max'
  })
}

it.each(workflows)('in $title, no pull request cancels the waiting run of another pull request', ({ content }) => {
  expect(sharesQueue(content as Workflow)).toBe(false)
})

it.each<[string, Pick<Workflow, 'on' | 'concurrency'>, boolean]>([
  [
    'one queue for all pull requests lets them cancel waiting runs',
    { on: ['pull_request', 'merge_group'], concurrency: 'shop' },
    true,
  ],
  [
    'one queue for each workflow lets pull requests cancel waiting runs',
    { on: 'pull_request', concurrency: `\${{ github.workflow }}` },
    true,
  ],
  [
    'a queue for each pull request cancels no waiting run of another',
    { on: 'pull_request', concurrency: { group: `shop-\${{ github.event.number }}` } },
    false,
  ],
  [
    'a queue that keeps all runs cancels no waiting run',
    { on: 'merge_group', concurrency: { group: 'shop', queue: 'max' } },
    false,
  ],
  ['a queue of pushes is allowed to cancel waiting runs', { on: { push: {} }, concurrency: 'shop' }, false],
])('%s', (_, workflow, expected) => {
  expect(sharesQueue({ ...workflow, jobs: {} })).toBe(expected)
})
