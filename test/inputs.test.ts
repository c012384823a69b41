import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { actionMetadata } from '../scripts/action-metadata.ts'
import { UserError } from '../src/errors.ts'
import {
  inputDefinitions as definitions,
  type InputDefinition,
  type Inputs,
  mergeInputDefinitions,
  parseExpectedImages,
  parseInputs,
  parseMilestoneTimeouts,
  readInputs,
  unknownInput,
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

it('parseInputs fills in every default when nothing is written', () => {
  expect(parseInputs({})).toEqual({ ...inputsWith(([, fallback]) => fallback), written: new Map() })
})

it('parseInputs reads every input that is written', () => {
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

it('parseInputs distinguishes a written clock from a default of the same length', () => {
  expect(parseInputs({ 'stall-timeout': '5m' }).written.has('stall-timeout')).toBe(true)
  expect(parseInputs({ timeout: '5m' }).written.has('stall-timeout')).toBe(false)
})

it('parseInputs treats an empty or blank value as absent, as the runner sets inputs that are left out', () => {
  expect(parseInputs({ timeout: '', 'fail-fast': ' ', context: undefined })).toEqual(parseInputs({}))
})

it('parseInputs trims values but keeps the lines of resources and manifests where they are', () => {
  expect(parseInputs({ timeout: ' 5m\n' }).timeoutMs).toBe(300_000)
  expect(parseInputs({ resources: '\n\ndeployment/web\n' }).resources).toBe('\n\ndeployment/web\n')
  expect(parseInputs({ manifests: '\nk8s/\n' }).manifests).toBe('\nk8s/\n')
})

it('parseInputs can change and turn off the default of created', () => {
  expect(parseInputs({ 'milestone-timeouts': 'created=2m' }).milestoneTimeoutsMs).toEqual({ created: 120_000 })
  expect(parseInputs({ 'milestone-timeouts': 'created=0' }).milestoneTimeoutsMs).toEqual({ created: 0 })
})

it.each(['true', 'True', 'TRUE'])('parseInputs reads %s as true', (text) => {
  expect(parseInputs({ summary: text }).summary).toBe(true)
})

it.each(titled(rows<[string, string, string]>(data, 'parseInputs refuses as'), (row) => row.slice(0, 2)))(
  'parseInputs refuses an input: %s',
  (_, [input, text, message]) => {
    expect(messagesOf({ [input]: text })).toEqual([`${input}: ${message}`])
  },
)

it.each(rows<[string, string]>(data, 'values of the job that are absent'))(
  'parseInputs takes values of the job %s as absent',
  (_, job) => {
    expect(parseInputs({ job }).job).toEqual({ words: [], settings: [], index: undefined, id: undefined })
  },
)

it('parseInputs reports all mistakes at once, in sentences with the fix', () => {
  const wrong = {
    timeout: '5',
    'stall-timout': '5m',
    'on-superseded': 'ignore',
    'milestone-timeouts': 'redy=5m, scheduled=2',
  }
  expect(messagesOf(wrong)).toEqual([
    'stall-timout: There is no input of this name. Did you mean stall-timeout?',
    'timeout: "5" has no unit. Write 5s for seconds or 5m for minutes.',
    'milestone-timeouts: No kind has a milestone "redy". Did you mean ready?',
    'milestone-timeouts: scheduled: "2" has no unit. Write 2s for seconds or 2m for minutes.',
    'on-superseded: "ignore" is not one of fail, pass.',
  ])
  expect(() => parseInputs(wrong)).toThrow(expect.objectContaining({ reason: 'input-invalid' }))
})

it('parseInputs asks for the token and the permissions of the extras that are on without one', () => {
  const ask = (permissions: string) =>
    `report-to: It needs a token. Write \`github-token: \${{ github.token }}\` beside it, and below \`permissions:\` of the job: ${permissions}.`
  expect(messagesOf({ 'report-to': 'commit-status,deployment,comment', timeout: '5' })).toEqual([
    'timeout: "5" has no unit. Write 5s for seconds or 5m for minutes.',
    ask('`statuses: write`, `deployments: write`, `pull-requests: write`'),
  ])
  expect(messagesOf({ 'report-to': 'comment' })).toEqual([ask('`pull-requests: write`')])
  expect(messagesOf({ 'report-to': ',' })).toEqual([])
  expect(messagesOf({ 'report-to': 'comment', 'github-token': 'ghs_0123' })).toEqual([])
})

it('parseInputs keeps the extras that exist beside one that does not, so that they show the mistake', () => {
  const { inputs, mistakes } = readInputs({ 'report-to': 'commit-state, comment', 'github-token': 'ghs_0123' })
  expect(inputs.reportTo).toEqual(['comment'])
  expect(mistakes).toEqual([
    {
      input: 'report-to',
      message: '"commit-state" is not one of commit-status, deployment, comment. Did you mean commit-status?',
    },
  ])
})

it('parseInputs accepts no name of a property of JavaScript objects', () => {
  expect(messagesOf({ constructor: 'x', toString: 'y' })).toHaveLength(2)
  expect(messagesOf(JSON.parse('{"__proto__": "x"}'))).toHaveLength(1)
})

it('unknownInput lists the inputs when no name is near', () => {
  expect(unknownInput('frobnicate').message).toBe(
    `There is no input of this name. There are ${definitions.map(({ name }) => name).join(', ')}.`,
  )
})

describe.each([
  ['action.yml', definitions, { main: 'dist/index.js', post: 'dist/post.js' }],
  ['merge/action.yml', mergeInputDefinitions, { main: '../dist/merge.js', post: '../dist/post.js' }],
] as const)('%s', (file, definitions, programs) => {
  const text = readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
  const action = parse(text)

  it('contains the inputs and outputs as npm run docs writes them', () => {
    expect(actionMetadata(text, definitions)).toBe(text)
  })

  it('declares only defaults that the runner alone knows: the gate would take any other default for what the user wrote', () => {
    expect(Object.keys(action.inputs)).toEqual(definitions.map(({ name }) => name))
    const defaults = Object.entries<{ default?: string }>(action.inputs).flatMap(([name, { default: fallback }]) =>
      fallback === undefined ? [] : [[name, fallback]],
    )
    expect(Object.fromEntries(defaults)).toEqual({
      job: `{"matrix": \${{ toJSON(matrix) }}, "index": \${{ toJSON(strategy.job-index) }}, "id": \${{ toJSON(job.check_run_id) }} }`,
    })
  })

  it('has the outputs of the contract', () => {
    const contract = rows<string>(data, 'the outputs of the contract')
    expect(Object.keys(outputDefinitions)).toEqual(contract)
    expect(Object.keys(action.outputs)).toEqual(contract)
  })

  it('the recipes use only outputs that exist, and upload both files', () => {
    const recipes = readFileSync(new URL('../docs/recipes.md', import.meta.url), 'utf8')
    const used = [...recipes.matchAll(/steps\.gate\.outputs\.([\w-]+)/g)].map(([, name]) => name)
    expect(Object.keys(action.outputs)).toEqual(expect.arrayContaining(used))
    expect(used).toEqual(expect.arrayContaining(['outcome', 'report', 'summary-file']))
  })

  it('runs the bundle on Node 24', () => {
    expect(action.runs).toEqual({ using: 'node24', ...programs, 'post-if': 'always()' })
  })
})

describe('parseMilestoneTimeouts', () => {
  function parse(text: string) {
    const mistakes: string[] = []
    return { timeouts: parseMilestoneTimeouts(text, (message) => mistakes.push(message)), mistakes }
  }

  it('reads pairs with commas or lines between them', () => {
    expect(parse(' scheduled = 2m, ready=5m,\n\r\nbound=0 ')).toEqual({
      timeouts: { scheduled: 120_000, ready: 300_000, bound: 0 },
      mistakes: [],
    })
  })

  it('reports every invalid pair and reads the others', () => {
    expect(parse('ready=5, =3s, pulled, __proto__=1s, started=1m, started=2m')).toEqual({
      timeouts: { started: 60_000 },
      mistakes: [
        'ready: "5" has no unit. Write 5s for seconds or 5m for minutes.',
        '"=3s" is not a milestone with a duration. Write milestone=duration, like ready=5m.',
        '"pulled" is not a milestone with a duration. Write milestone=duration, like ready=5m.',
        'No kind has a milestone "__proto__".',
        'The milestone started is given twice. Keep one of them.',
      ],
    })
  })
})

const digest = `sha256:${'0a'.repeat(32)}`

function readImages(text: string) {
  const mistakes: string[] = []
  return { expected: parseExpectedImages(text, (message) => mistakes.push(message)), mistakes }
}

it('parseExpectedImages reads one container a line', () => {
  const text = `\n# built above\napp=${digest}\n worker = ghcr.io/acme/worker@${digest}  # by its whole name\n`
  expect(readImages(text)).toEqual({ expected: { app: digest, worker: digest }, mistakes: [] })
})

it.each(rows<[string, string, string]>(data, 'parseExpectedImages reports'))(
  'parseExpectedImages reports %s',
  (_, text, mistake) => {
    expect(readImages(text).mistakes).toEqual([mistake])
  },
)
