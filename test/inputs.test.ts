import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { actionMetadata } from '../scripts/action-metadata.ts'
import { UserError } from '../src/errors.ts'
import {
  inputDefinitions as definitions,
  type InputDefinition,
  type Inputs,
  mergeInputDefinitions,
  parseInputs,
  readInputs,
} from '../src/inputs.ts'
import { outputDefinitions } from '../src/outputs.ts'
import { readData, rows, titled } from './kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

function messagesOf(raw: Record<string, string>): string[] {
  try {
    parseInputs(raw)
  } catch (error) {
    if (error instanceof UserError) return error.mistakes.map(({ input, message }) => `${input}: ${message}`)
    throw error
  }
  return []
}

/** Every input by its property of `Inputs`: its name, its default (null for none), a text, and the value of that text. */
const { 'every input': table } = readData(data) as {
  readonly 'every input': Readonly<
    Record<
      Exclude<keyof Inputs, 'written'>,
      readonly [name: string, fallback: unknown, written: string, value: unknown]
    >
  >
}

/** The values of all inputs by property. */
function inputsWith(value: (row: (typeof table)[keyof typeof table]) => unknown) {
  return Object.fromEntries(Object.entries(table).map(([property, row]) => [property, value(row) ?? undefined]))
}

it('parseInputs sets every default if no input is set', () => {
  expect(parseInputs({})).toEqual({ ...inputsWith(([, fallback]) => fallback), written: new Map() })
})

it('parseInputs reads every input that is set', () => {
  const written = (names: readonly InputDefinition[]) =>
    Object.values(table).flatMap(([name, , text]) => (names.some((each) => each.name === name) ? [[name, text]] : []))
  const { inputs, mistakes } = readInputs(Object.fromEntries(written(definitions)))
  const { inputs: ofMerge, mistakes: inMerge } = readInputs(Object.fromEntries(written(mergeInputDefinitions)), 'merge')
  expect([...mistakes, ...inMerge]).toEqual([])
  expect([...inputs.written.keys()].toSorted()).toEqual(definitions.map(({ name }) => name).toSorted())
  expect(inputs.written.get('timeout')).toBe('1h')
  const values = inputsWith(([, , , value]) => value)
  expect(inputs).toEqual({ ...values, reports: '', written: expect.any(Map) })
  expect(ofMerge).toMatchObject({ reports: table.reports[3], onSuperseded: 'pass', name: table.name[3] })
})

it('parseInputs distinguishes a set clock from an equal default', () => {
  expect(parseInputs({ 'stall-timeout': '5m' }).written.has('stall-timeout')).toBe(true)
  expect(parseInputs({ timeout: '5m' }).written.has('stall-timeout')).toBe(false)
})

it('parseInputs treats an empty or blank value as not set', () => {
  expect(parseInputs({ timeout: '', 'fail-fast': ' ', context: undefined })).toEqual(parseInputs({}))
})

it('parseInputs trims values but keeps the lines of resources and manifests', () => {
  expect(parseInputs({ timeout: ' 5m\n' }).timeoutMs).toBe(300_000)
  expect(parseInputs({ resources: '\n\ndeployment/web\n' }).resources).toBe('\n\ndeployment/web\n')
  expect(parseInputs({ manifests: '\nk8s/\n' }).manifests).toBe('\nk8s/\n')
})

it('parseInputs accepts commas or line breaks between milestones', () => {
  const text = ' scheduled = 2m, ready=5m,\n\r\nbound=0 '
  const timeouts = { created: 30_000, scheduled: 120_000, ready: 300_000, bound: 0 }
  expect(parseInputs({ 'milestone-timeouts': text }).milestoneTimeoutsMs).toEqual(timeouts)
})

it('parseInputs keeps the valid milestones beside invalid ones', () => {
  const { inputs } = readInputs({ 'milestone-timeouts': 'ready=5, started=1m, started=2m' })
  expect(inputs.milestoneTimeoutsMs).toEqual({ created: 30_000, started: 60_000 })
})

it('parseInputs reads one expected image for each line', () => {
  const digest = `sha256:${'0a'.repeat(32)}`
  const text = `\n# built above\napp=${digest}\n worker = ghcr.io/acme/worker@${digest}  # by its whole name\n`
  expect(parseInputs({ 'expect-images': text }).expectImages).toEqual({ app: digest, worker: digest })
})

it('parseInputs can change and turn off the default timeout of the milestone created', () => {
  expect(parseInputs({ 'milestone-timeouts': 'created=2m' }).milestoneTimeoutsMs).toEqual({ created: 120_000 })
  expect(parseInputs({ 'milestone-timeouts': 'created=0' }).milestoneTimeoutsMs).toEqual({ created: 0 })
})

it.each(['true', 'True', 'TRUE'])('parseInputs reads %s as true', (text) => {
  expect(parseInputs({ summary: text }).summary).toBe(true)
})

it.each(titled(rows<[Record<string, string>, ...string[]]>(data, 'the mistakes of inputs'), ([raw]) => raw))(
  'invalid inputs are reported: %s',
  (_, [raw, ...mistakes]) => {
    expect(messagesOf(raw)).toEqual(mistakes)
  },
)

it('parseInputs throws mistakes with the reason input-invalid', () => {
  expect(() => parseInputs({ timeout: '5' })).toThrow(expect.objectContaining({ reason: 'input-invalid' }))
})

it.each(rows<[string, string]>(data, 'values of the job that are absent'))(
  'parseInputs ignores values of the job %s',
  (_, job) => {
    expect(parseInputs({ job }).job).toEqual({ words: [], settings: [], index: undefined, id: undefined })
  },
)

it('parseInputs keeps the valid extras beside an invalid one, so that they show the mistake', () => {
  const { inputs, mistakes } = readInputs({ 'report-to': 'commit-state, comment', 'github-token': 'ghs_0123' })
  expect(inputs.reportTo).toEqual(['comment'])
  expect(mistakes).toEqual([
    {
      input: 'report-to',
      message: '"commit-state" is not one of commit-status, deployment, comment. Did you mean commit-status?',
    },
  ])
})

it('parseInputs rejects names of JavaScript object properties', () => {
  expect(messagesOf({ constructor: 'x', toString: 'y' })).toHaveLength(2)
  expect(messagesOf(JSON.parse('{"__proto__": "x"}'))).toHaveLength(1)
})

it('the mistake for an unknown input lists all inputs if no name is similar', () => {
  expect(messagesOf({ frobnicate: 'x' })).toEqual([
    `frobnicate: This action has no input of this name. There are ${definitions.map(({ name }) => name).join(', ')}.`,
  ])
})

describe.each([
  ['action.yml', definitions, { main: 'dist/index.js', post: 'dist/post.js' }],
  ['merge/action.yml', mergeInputDefinitions, { main: '../dist/merge.js', post: '../dist/post.js' }],
] as const)('%s', (file, definitions, programs) => {
  const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
  const action = parse(text)

  it('contains the inputs and outputs that npm run docs writes', () => {
    expect(actionMetadata(text, definitions)).toBe(text)
  })

  it('declares only defaults that the runner sets', () => {
    expect(Object.keys(action.inputs)).toEqual(definitions.map(({ name }) => name))
    const defaults = Object.entries<{ default?: string }>(action.inputs).flatMap(([name, { default: fallback }]) =>
      fallback === undefined ? [] : [[name, fallback]],
    )
    expect(Object.fromEntries(defaults)).toEqual({
      job: `{"matrix": \${{ toJSON(matrix) }}, "index": \${{ toJSON(strategy.job-index) }}, "id": \${{ toJSON(job.check_run_id) }} }`,
    })
  })

  it('has the outputs of the report', () => {
    const contract = rows<string>(data, 'the outputs of the contract')
    expect(Object.keys(outputDefinitions)).toEqual(contract)
    expect(Object.keys(action.outputs)).toEqual(contract)
  })

  it('has all outputs that the recipes use', () => {
    const recipes = readFileSync(new URL('../docs/recipes.md', import.meta.url), 'utf8')
    const used = [...recipes.matchAll(/steps\.gate\.outputs\.([\w-]+)/g)].map(([, name]) => name)
    expect(Object.keys(action.outputs)).toEqual(expect.arrayContaining(used))
    expect(used).toEqual(expect.arrayContaining(['outcome', 'report', 'summary-file']))
  })

  it('runs the bundle on Node 24', () => {
    expect(action.runs).toEqual({ using: 'node24', ...programs, 'post-if': 'always()' })
  })
})
