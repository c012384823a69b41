import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { exampleFiles } from '../scripts/in-examples.ts'
import { inputDefinitions, mergeInputDefinitions } from '../src/inputs.ts'
import { outputDefinitions } from '../src/outputs.ts'
import { validateActionMetadata, validateWorkflow } from './support/workflow-parser.ts'

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
  readonly with?: Readonly<Record<string, unknown>>
}

/** A YAML text of the documentation or of the examples. */
interface Block {
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

function blockOf(place: string, text: string): Block {
  const content: unknown = parseAllDocuments(text)[0]?.toJS()
  return { place, text, type: typeOf(content), content }
}

const blocks: readonly Block[] = [
  ...documents.flatMap((document) => {
    const text = readFileSync(join(root, document), 'utf8')
    return [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].map(({ 1: yaml = '', index }) =>
      blockOf(`${document}:${text.slice(0, index).split('\n').length + 1}`, yaml),
    )
  }),
  ...[...exampleFiles()].filter(([path]) => path.startsWith('.github/')).map(([path, text]) => blockOf(path, text)),
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
  return Object.values((content as { jobs: Record<string, { steps?: Step[] }> }).jobs).flatMap(
    ({ steps = [] }) => steps,
  )
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

it.each(files)('the $type in $place is valid by the schema that GitHub publishes', (block) => {
  const validate = block.type === 'action' ? validateActionMetadata : validateWorkflow
  expect(validate(wholeFile(block))).toEqual([])
})

it.each(files)('the $type in $place has only inputs and outputs that exist', (block) => {
  expect(unknownNames(block)).toEqual([])
})

it('every example is run by a scenario and listed', () => {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const [scenarios, list] = [read('test/act/examples.ts'), read('examples/README.md')]
  const names = readdirSync(join(root, 'examples/workflows')).map((name) => name.replace(/\.yml$/, ''))
  expect(names.filter((name) => !scenarios.includes(`'${name}`) || !list.includes(`(workflows/${name}.yml)`))).toEqual(
    [],
  )
})

it('every block that uses the action is checked', () => {
  const unchecked = blocks.filter(({ type, text }) => type === 'other' && /uses:.*rollout-gate(\/merge)?@/.test(text))
  expect(unchecked.map(({ place }) => place)).toEqual([])
  expect(files.length).toBeGreaterThan(30)
})

it.each<[string, string]>([
  ['an input that does not exist', '- uses: rollout-gate/rollout-gate@v0\n  with:\n    resource: deployment/web\n'],
  [
    'an input of the other action',
    '- uses: rollout-gate/rollout-gate/merge@v0\n  with:\n    resources: deployment/web\n',
  ],
  [
    'an output that does not exist',
    '- id: gate\n  uses: rollout-gate/rollout-gate@v0\n- run: test steps.gate.outputs.result\n',
  ],
])('%s would be found', (_, text) => {
  expect(unknownNames(blockOf('', text))).toHaveLength(1)
})

it('a step with an unknown key would be found', () => {
  expect(validateWorkflow(wholeFile(blockOf('', '- run: ls\n  wiht: {}\n'))).join('\n')).toContain(
    "Unexpected value 'wiht'",
  )
})
