import { Secrets } from '../../src/cluster/secrets.ts'
import { UserError } from '../../src/errors.ts'
import { readInputs } from '../../src/inputs.ts'
import { parseReferences } from '../../src/plan/parse-references.ts'
import { checkInputs } from '../../src/run/start-run.ts'
import { type ApiServer, type ApiServerOptions, startApiServer } from '../support/api-server.ts'
import { EventLoopClock } from '../support/event-loop-clock.ts'

const token = 'sesame-open-0123456789'
let server: ApiServer

async function serve(options: ApiServerOptions = {}): Promise<void> {
  await server?.close()
  server = await startApiServer(options)
}

beforeEach(() => serve())
afterEach(() => server.close())

/** The mistakes of the inputs, as `input line: message`. */
async function mistakesOf(raw: Record<string, string>): Promise<string[]> {
  const whole = { kubeconfig: server.kubeconfig({ token, namespace: 'shop' }), ...raw }
  const clock = new EventLoopClock(Date.now(), 20, () => {})
  let isOver = false
  const { inputs, mistakes } = readInputs(whole)
  const references = parseReferences(raw['resources'] ?? '')
  const reading = checkInputs(inputs, references, mistakes, { secrets: new Secrets(), clock }).finally(() => {
    isOver = true
  })
  reading.catch(() => {})
  await clock.runUntil(Number.POSITIVE_INFINITY, () => isOver)
  try {
    await reading
    return []
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return error.mistakes.map(
      ({ input, line, message }) => `${input}${line === undefined ? '' : ` ${line}`}: ${message}`,
    )
  }
}

const noUnit = (text: string) => expect.stringContaining(`"${text}" has no unit`)

describe('a mistake in an input', () => {
  it('does not hide a misspelt kind on another line', async () => {
    expect(await mistakesOf({ timeout: '5', resources: 'deployment/web\ndeploymnt/api\nsvc/Web' })).toEqual([
      noUnit('5'),
      expect.stringMatching(/^resources 2: The server has no kind "deploymnt"\. Did you mean deployment\.apps\?/),
      expect.stringMatching(/^resources 3: "Web" cannot be a name/),
    ])
  })

  it('does not hide a misspelt kind on its own line', async () => {
    expect(await mistakesOf({ resources: 'deploymnt/web --timeout=5 --for=x' })).toEqual([
      noUnit('5'),
      expect.stringContaining('--for cannot wait for "x"'),
      expect.stringContaining('The server has no kind "deploymnt"'),
    ])
  })

  it('does not hide a misspelt kind in stream-logs or an unknown milestone', async () => {
    const raw = { timeout: '5', resources: 'job/x', 'stream-logs': 'jbo/x', 'milestone-timeouts': 'pulled=1m' }
    expect(await mistakesOf(raw)).toEqual([
      noUnit('5'),
      expect.stringMatching(/^milestone-timeouts: "pulled" is not a milestone of Job/),
      expect.stringMatching(/^stream-logs 1: The server has no kind "jbo"/),
    ])
  })

  it('does not hide refused credentials', async () => {
    await serve({ tokens: ['another'] })
    expect(await mistakesOf({ timeout: '5', resources: 'deployment/web' })).toEqual([
      noUnit('5'),
      expect.stringMatching(/^kubeconfig: /),
    ])
  })

  it('is reported without the cluster if the cluster does not answer', async () => {
    server.hang(true)
    expect(await mistakesOf({ timeout: '5', resources: 'deploymnt/web' })).toEqual([noUnit('5')])
  })

  it('is reported without a request if there is no cluster', async () => {
    expect(await mistakesOf({ resources: 'deploymnt/web' })).toEqual([])
    expect(server.requests).toEqual([])
  })
})

describe('two timeouts', () => {
  it('that contradict each other are rejected', async () => {
    expect(await mistakesOf({ timeout: '10m', resources: 'job/migrate --timeout=20m' })).toEqual([
      expect.stringMatching(/^resources 1: Its timeout of 20m is longer than the gate's timeout of 10m/),
    ])
    expect(await mistakesOf({ resources: 'job/migrate --timeout=20m' })).toEqual([])
  })
})
