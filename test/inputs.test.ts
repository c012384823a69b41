import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { actionMetadata } from '../scripts/action-metadata.ts'
import { UserError } from '../src/errors.ts'
import {
  inputDefinitions as definitions,
  parseExpectedImages,
  parseInputs,
  parseMilestoneTimeouts,
  unknownInput,
} from '../src/inputs.ts'

function messagesOf(raw: Record<string, string>): string[] {
  try {
    parseInputs(raw)
  } catch (error) {
    if (error instanceof UserError) return error.mistakes.map(({ input, message }) => `${input}: ${message}`)
    throw error
  }
  return []
}

describe('parseInputs', () => {
  it('fills in every default when nothing is written', () => {
    expect(parseInputs({})).toEqual({
      kubeconfig: undefined,
      context: undefined,
      namespace: undefined,
      resources: '',
      manifests: '',
      timeoutMs: 600_000,
      stallTimeoutMs: 300_000,
      settleTimeMs: 10_000,
      milestoneTimeoutsMs: { created: 30_000 },
      maxRestarts: 2,
      failFast: true,
      onSuperseded: 'fail',
      awaitChangeMs: 0,
      expectImages: {},
      logLines: 25,
      streamLogs: '',
      record: undefined,
      summary: true,
      githubToken: undefined,
      checkRun: false,
      deploymentStatus: false,
      comment: false,
      written: new Map(),
    })
  })

  it('reads every input that is written', () => {
    const inputs = parseInputs({
      kubeconfig: '/home/me/.kube/config',
      context: 'prod',
      namespace: 'shop',
      resources: 'deployment/web\nservice/web',
      manifests: 'k8s/\n!k8s/job.yaml',
      'health-checks': 'checks.yaml',
      timeout: '1h',
      'stall-timeout': '0',
      'settle-time': '500ms',
      'milestone-timeouts': 'scheduled=2m, ready=5m',
      'max-restarts': '0',
      'fail-fast': 'false',
      'on-superseded': 'pass',
      'await-change': '5m',
      'expect-images': `app=sha256:${'0'.repeat(64)}`,
      'log-lines': '0',
      'stream-logs': '# the migration\njob/migrate -n shop',
      record: 'out.ndjson.gz',
      summary: 'False',
      'github-token': ' ghs_0123 ',
      'check-run': 'true',
      'deployment-status': 'True',
      comment: 'true',
    })
    expect([...inputs.written.keys()].toSorted()).toEqual(definitions.map(({ name }) => name).toSorted())
    expect(inputs.written.get('timeout')).toBe('1h')
    expect(inputs).toEqual({
      kubeconfig: '/home/me/.kube/config',
      context: 'prod',
      namespace: 'shop',
      resources: 'deployment/web\nservice/web',
      manifests: 'k8s/\n!k8s/job.yaml',
      healthChecks: 'checks.yaml',
      timeoutMs: 3_600_000,
      stallTimeoutMs: 0,
      settleTimeMs: 500,
      milestoneTimeoutsMs: { created: 30_000, scheduled: 120_000, ready: 300_000 },
      maxRestarts: 0,
      failFast: false,
      onSuperseded: 'pass',
      awaitChangeMs: 300_000,
      expectImages: { app: `sha256:${'0'.repeat(64)}` },
      logLines: 0,
      streamLogs: '# the migration\njob/migrate -n shop',
      record: 'out.ndjson.gz',
      summary: false,
      githubToken: 'ghs_0123',
      checkRun: true,
      deploymentStatus: true,
      comment: true,
      written: expect.any(Map),
    })
  })

  it('distinguishes a written clock from a default of the same length', () => {
    expect(parseInputs({ 'stall-timeout': '5m' }).written.has('stall-timeout')).toBe(true)
    expect(parseInputs({ timeout: '5m' }).written.has('stall-timeout')).toBe(false)
  })

  it('treats an empty or blank value as absent, as the runner sets inputs that are left out', () => {
    expect(parseInputs({ timeout: '', 'fail-fast': ' ', context: undefined })).toEqual(parseInputs({}))
  })

  it('trims values but keeps the lines of resources and manifests where they are', () => {
    expect(parseInputs({ timeout: ' 5m\n' }).timeoutMs).toBe(300_000)
    expect(parseInputs({ resources: '\n\ndeployment/web\n' }).resources).toBe('\n\ndeployment/web\n')
    expect(parseInputs({ manifests: '\nk8s/\n' }).manifests).toBe('\nk8s/\n')
  })

  it('can change and turn off the default of created', () => {
    expect(parseInputs({ 'milestone-timeouts': 'created=2m' }).milestoneTimeoutsMs).toEqual({ created: 120_000 })
    expect(parseInputs({ 'milestone-timeouts': 'created=0' }).milestoneTimeoutsMs).toEqual({ created: 0 })
  })

  it.each(['true', 'True', 'TRUE'])('reads %s as true', (text) => {
    expect(parseInputs({ summary: text }).summary).toBe(true)
  })

  it.each(['yes', 'on', '1', 'tRUE', 'no', '0'])('refuses %s as a boolean', (text) => {
    expect(messagesOf({ summary: text })).toEqual([`summary: "${text}" is neither true nor false. Write one of them.`])
  })

  it.each(['-1', '2.5', 'many', '1e3', '99999999999', '1001'])('refuses %s as a count', (text) => {
    expect(messagesOf({ 'max-restarts': text })).toEqual([`max-restarts: "${text}" is no whole number from 0 to 1000.`])
  })

  it('reports all mistakes at once, with those found elsewhere, in sentences with the fix', () => {
    const elsewhere = { input: 'resources', line: 3, message: 'Something else.' }
    const wrong = {
      timeout: '5',
      'stall-timout': '5m',
      'on-superseded': 'ignore',
      'milestone-timeouts': 'redy=5m, scheduled=2',
    }
    let thrown: unknown
    try {
      parseInputs(wrong, [elsewhere])
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(UserError)
    expect(String((thrown as UserError).message).split('\n')).toEqual([
      'stall-timout: There is no input of this name. Did you mean stall-timeout?',
      'timeout: "5" has no unit. Write 5s for seconds or 5m for minutes.',
      'milestone-timeouts: No kind has a milestone "redy". Did you mean ready?',
      'milestone-timeouts: scheduled: "2" has no unit. Write 2s for seconds or 2m for minutes.',
      'on-superseded: "ignore" is not one of fail, pass.',
      'resources, line 3: Something else.',
    ])
    expect((thrown as UserError).reason).toBe('input-invalid')
  })

  it('asks for the token and the permission of each extra that is on without one', () => {
    const ask = (permission: string) =>
      `It needs a token. Write \`github-token: \${{ github.token }}\` beside it, and give the job the permission \`${permission}\`.`
    expect(messagesOf({ 'check-run': 'true', 'deployment-status': 'TRUE', comment: 'true', timeout: '5' })).toEqual([
      'timeout: "5" has no unit. Write 5s for seconds or 5m for minutes.',
      `check-run: ${ask('checks: write')}`,
      `deployment-status: ${ask('deployments: write')}`,
      `comment: ${ask('pull-requests: write')}`,
    ])
    expect(messagesOf({ 'check-run': 'false' })).toEqual([])
    expect(messagesOf({ 'check-run': 'true', 'github-token': 'ghs_0123' })).toEqual([])
  })

  it('accepts no name of a property of JavaScript objects', () => {
    expect(messagesOf({ constructor: 'x', toString: 'y' })).toHaveLength(2)
    expect(messagesOf(JSON.parse('{"__proto__": "x"}'))).toHaveLength(1)
  })
})

describe('unknownInput', () => {
  it('lists the inputs when no name is near', () => {
    expect(unknownInput('frobnicate').message).toBe(
      `There is no input of this name. There are ${definitions.map(({ name }) => name).join(', ')}.`,
    )
  })
})

describe('action.yml', () => {
  const text = readFileSync(new URL('../action.yml', import.meta.url), 'utf8')
  const action = parse(text)

  it('contains the inputs and outputs as npm run docs writes them', () => {
    expect(actionMetadata(text)).toBe(text)
  })

  it('declares no default, which would reach the gate as if the user had written it', () => {
    expect(Object.keys(action.inputs)).toEqual(definitions.map(({ name }) => name))
    for (const name of Object.keys(action.inputs)) expect(action.inputs[name]).not.toHaveProperty('default')
  })

  it('names the outputs of the contract', () => {
    expect(Object.keys(action.outputs)).toEqual([
      'outcome',
      'reason',
      'message',
      'failed-resources',
      'duration-seconds',
      'slowest-milestone',
      'report',
      'summary-file',
    ])
  })

  it('runs the bundle on Node 24', () => {
    expect(action.runs).toEqual({ using: 'node24', main: 'dist/index.js' })
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
        '"=3s" is no milestone with its duration. Write milestone=duration, like ready=5m.',
        '"pulled" is no milestone with its duration. Write milestone=duration, like ready=5m.',
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

describe('parseExpectedImages', () => {
  it('reads one container a line', () => {
    const text = `\n# built above\napp=${digest}\n worker = ghcr.io/acme/worker@${digest}  # by its whole name\n`
    expect(readImages(text)).toEqual({ expected: { app: digest, worker: digest }, mistakes: [] })
  })

  it.each([
    ['app', `"app" is no container with its digest. Write container=sha256:… with 64 hexadecimal digits.`],
    ['app=v1', `"app=v1" is no container with its digest. Write container=sha256:… with 64 hexadecimal digits.`],
    [`app=${digest}\napp=${digest}`, 'The container app is given twice. Keep one of them.'],
  ])('reports the mistake in %s', (text, mistake) => {
    expect(readImages(text).mistakes).toEqual([mistake])
  })
})
