import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect } from '../../src/cluster/cluster.ts'
import type { Observation } from '../../src/cluster/feed.ts'
import { Secrets } from '../../src/cluster/secrets.ts'
import type { Question } from '../../src/lifecycle/assessment.ts'
import { parseChecks, type RequestCheck } from '../../src/plan/checks.ts'
import { HttpChecker } from '../../src/run/http-checker.ts'
import { ManualClock } from '../cluster-api/manual-clock.ts'
import { type ApiServer, startApiServer } from '../support/api-server.ts'
import { isThorough } from '../support/thorough.ts'

const endings: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

interface Asked {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** An application of which the test decides each answer. */
async function startApp(answer?: (asked: Asked) => void) {
  const asked: Asked[] = []
  const app = createServer((request, response) => {
    asked.push({ request, response })
    answer?.({ request, response })
  }).listen(0, '127.0.0.1')
  await once(app, 'listening')
  endings.push(() => {
    app.close()
    app.closeAllConnections()
  })
  const { port } = app.address() as AddressInfo
  return { asked, port }
}

interface Starting {
  readonly httpChecks?: string
  readonly secrets?: Secrets
  /** What the pod `web-0` runs on port 8080. */
  readonly app?: { readonly port: number }
}

async function start({ httpChecks = line(), secrets = new Secrets(), app }: Starting = {}) {
  const server = await startApiServer()
  endings.push(() => server.close())
  if (app !== undefined) server.ports.listen({ namespace: 'shop', name: 'web-0' }, 8080, app.port)
  const places = { env: {}, home: '/nowhere', serviceAccount: '/nowhere' }
  const options = { userAgent: 'rollout-gate/1.2.3', places, secrets }
  const cluster = connect({ kubeconfig: server.kubeconfig() }, options)
  await cluster.discover()
  const parsed = parseChecks({ httpChecks, holdMs: 0 })
  expect(parsed.mistakes).toEqual([])
  const clock = new ManualClock(1_000_000)
  const observations: Observation[] = []
  const warnings: string[] = []
  let onAnswer = () => {}
  const checker = new HttpChecker({
    cluster,
    clock,
    redact: secrets.redact,
    observe: (observation) => {
      observations.push(observation)
      checker.update([...remaining(observation)])
      onAnswer()
    },
    onWarning: (warning) => warnings.push(warning),
  })
  let questions: readonly Question[] = []
  const remaining = (observation: Observation) => {
    const answers = (question: Question) =>
      observation.type === 'ANSWER' && question.check.index === observation.check && question.pod === observation.pod
    questions = questions.filter((question) => !answers(question))
    return questions
  }
  endings.push(() => {
    checker.close()
    cluster.close()
  })
  return {
    server,
    clock,
    observations,
    warnings,
    /** The gate asks this. */
    ask: (...asked: Omit<Question, 'check'>[]) => {
      questions = asked.map((each) => ({ ...each, check: parsed.httpChecks[0] as RequestCheck }))
      checker.update(questions)
    },
    /** Resolves after so many observations. */
    answers: (count: number) =>
      new Promise<void>((resolve) => {
        onAnswer = () => {
          if (observations.length >= count) resolve()
        }
        onAnswer()
      }),
    close: () => checker.close(),
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn()
}

const ofPod = (pod = 'web-0', port = 8080, at = 0): Omit<Question, 'check'> => ({
  namespace: 'shop',
  pod,
  uid: `uid of ${pod}`,
  port,
  at,
})

/** A line with the reference `deployment/web` in `shop`. Its timeout is not the time of a retry. */
function line(flags = '', request = 'GET /'): string {
  return `deployment/web ${request} -n shop --timeout=7s ${flags}`
}

describe('http-checks', () => {
  test('record the status, the duration and the start of the body', async () => {
    const app = await startApp(({ response }) => response.writeHead(404).end('x'.repeat(300)))
    const gate = await start({ httpChecks: line('', 'GET /healthz'), app })
    gate.ask(ofPod())
    await gate.answers(1)
    expect(gate.observations).toEqual([
      {
        type: 'ANSWER',
        check: 0,
        pod: 'web-0',
        namespace: 'shop',
        status: 404,
        seconds: 0,
        body: 'x'.repeat(200),
      },
    ])
    expect(app.asked[0]?.request).toMatchObject({
      url: '/healthz',
      headers: { 'user-agent': expect.stringMatching(/^rollout-gate\//), accept: '*/*' },
    })
  })

  test('record the address of a redirect', async () => {
    const app = await startApp(({ response }) => response.writeHead(302, { Location: '/login' }).end())
    const gate = await start({ app })
    gate.ask(ofPod())
    await gate.answers(1)
    expect(gate.observations).toMatchObject([{ status: 302, location: '/login' }])
  })

  test.each([
    ['is found behind the shown part', `${'x'.repeat(60_000)}sha-123`, true],
    ['is not found', 'sha-456', false],
    ['is not searched behind 64 KiB', `${'x'.repeat(64 << 10)}sha-123`, false],
  ])('the text of --expect-body %s', async (_, body, matches) => {
    const app = await startApp(({ response }) => response.end(body))
    const gate = await start({ httpChecks: line('--expect-body=sha-123'), app })
    gate.ask(ofPod())
    await gate.answers(1)
    expect(gate.observations).toMatchObject([{ matches }])
  })

  test('remove secrets from the body before it is cut', async () => {
    const app = await startApp(({ response }) => response.end(`${'x'.repeat(195)}correct-horse-battery`))
    const secrets = new Secrets()
    secrets.add('correct-horse-battery')
    const gate = await start({ app, secrets })
    gate.ask(ofPod())
    await gate.answers(1)
    expect(JSON.stringify(gate.observations)).not.toContain('corre')
  })

  test('are sent with the headers of the user, which replace default headers', async () => {
    const app = await startApp(({ response }) => response.end())
    const gate = await start({
      httpChecks: line("--header='Authorization: Bearer of-app' --header='Accept: text/plain'", 'POST /'),
      app,
    })
    gate.ask(ofPod())
    await gate.answers(1)
    expect(app.asked[0]?.request).toMatchObject({
      method: 'POST',
      headers: { authorization: 'Bearer of-app', accept: 'text/plain' },
    })
  })

  test('are sent when they are due', async () => {
    const app = await startApp(({ response }) => response.end())
    const gate = await start({ app })
    gate.ask(ofPod('web-0', 8080, gate.clock.now() + 10_000))
    expect(gate.clock.pending).toEqual([10_000])
    gate.clock.advance(9_999)
    await nextTurn()
    expect(app.asked).toHaveLength(0)
    gate.clock.advance(1)
    await gate.answers(1)
  })

  test('run at most 16 at a time, the earliest first', async () => {
    const app = await startApp()
    const gate = await start()
    const pods = Array.from({ length: 40 }, (_, index) => `web-${index}`)
    for (const name of pods) gate.server.ports.listen({ namespace: 'shop', name }, 8080, app.port)
    gate.ask(...pods.map((name, index) => ofPod(name, 8080, 40 - index)))
    await until(() => app.asked.length === 16)
    for (let answered = 0; answered < 40; answered += 1) {
      await until(() => app.asked.length > answered)
      expect(app.asked.length - answered).toBeLessThanOrEqual(16)
      app.asked[answered]?.response.end()
      await gate.answers(answered + 1)
    }
    const first = gate.observations.slice(0, 16).map((each) => (each as { pod?: string }).pod)
    expect(first.toSorted()).toEqual(pods.slice(24).toSorted())
  })

  test('reach 1,000 pods within 30 s', async () => {
    const count = isThorough ? 1_000 : 100
    const app = await startApp(({ response }) => response.end('v2'))
    const gate = await start({ httpChecks: line('--each-pod') })
    const pods = Array.from({ length: count }, (_, index) => `web-${index}`)
    for (const name of pods) gate.server.ports.listen({ namespace: 'shop', name }, 8080, app.port)
    const before = process.cpuUsage()
    gate.ask(...pods.map((name) => ofPod(name)))
    await gate.answers(count)
    // The CPU time: the time on a clock depends on the load of the machine.
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1_000).toBeLessThan(30 * count)
  }, 60_000)

  test('are not repeated while one is running', async () => {
    const app = await startApp()
    const gate = await start({ app })
    gate.ask(ofPod())
    await until(() => app.asked.length === 1)
    gate.ask(ofPod())
    app.asked[0]?.response.end()
    await gate.answers(1)
    expect(app.asked).toHaveLength(1)
  })

  test.each(['is no longer asked', 'is asked by a closed gate'])(
    'one that %s is aborted without an answer',
    async (how) => {
      const app = await startApp()
      const gate = await start({ app })
      gate.ask(ofPod())
      await until(() => app.asked.length === 1)
      const closed = once(app.asked[0]?.response as ServerResponse, 'close')
      if (how === 'is no longer asked') gate.ask()
      else gate.close()
      await closed
      expect(gate.observations).toEqual([])
    },
  )

  test('request a pod with the same name and another uid again', async () => {
    const app = await startApp()
    const gate = await start({ app })
    gate.ask(ofPod())
    await until(() => app.asked.length === 1)
    gate.ask({ ...ofPod(), uid: 'another' })
    await until(() => app.asked.length === 2)
    app.asked[0]?.response.end('old')
    app.asked[1]?.response.end('new')
    await gate.answers(1)
    expect(gate.observations).toMatchObject([{ pod: 'web-0', namespace: 'shop', body: 'new' }])
  })

  test('record a refused connection as a missing answer', async () => {
    const gate = await start()
    gate.ask(ofPod('web-0', 9999))
    await gate.answers(1)
    expect(gate.observations).toEqual([
      { type: 'ANSWER', check: 0, pod: 'web-0', namespace: 'shop', error: 'connection refused' },
    ])
  })
})

describe('the API server', () => {
  const failWith = (server: ApiServer, code: number) =>
    server.failNext(1, code, { filter: ({ url }) => url.includes('portforward') })

  test.each([
    ['is not there', (server: ApiServer) => server.stop()],
    ['reports an error', (server: ApiServer) => failWith(server, 500)],
    ['breaks the connection', (server: ApiServer) => failWith(server, 0)],
    ['has too many requests', (server: ApiServer) => failWith(server, 429)],
    ['no longer has the pod', (server: ApiServer) => failWith(server, 404)],
  ])('%s: the pod is asked again after 5 s, and nothing is reported', async (_, fail) => {
    const app = await startApp(({ response }) => response.end())
    const gate = await start({ app })
    await fail(gate.server)
    gate.ask(ofPod())
    await gate.clock.untilPending(5_000)
    expect(gate.observations).toEqual([])
    await gate.server.start()
    gate.clock.advance(5_000)
    await gate.answers(1)
    expect(gate.observations).toMatchObject([{ type: 'ANSWER', status: 200 }])
  })

  test('reports an error: a pod that is not asked any more, and then again, need not wait for the 5 s', async () => {
    const app = await startApp(({ response }) => response.end())
    const gate = await start({ app })
    failWith(gate.server, 500)
    gate.ask(ofPod())
    await gate.clock.untilPending(5_000)
    gate.ask()
    gate.ask(ofPod())
    await gate.answers(1)
    expect(gate.observations).toMatchObject([{ type: 'ANSWER', status: 200 }])
  })

  test('warns once if it reports errors', async () => {
    const gate = await start()
    gate.server.failNext(2, 500, { filter: ({ url }) => url.includes('portforward') })
    gate.ask(ofPod(), ofPod('web-1'))
    await gate.clock.untilPending(5_000)
    expect(gate.warnings).toEqual([
      'Pods cannot be asked, because the API server reports an error: Internal error occurred',
    ])
  })

  test('that withdraws access for 30 s is reported as a refusal', async () => {
    const gate = await start()
    gate.server.deny({ verb: '*', resource: 'pods/portforward' })
    gate.ask(ofPod())
    for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 5_000) {
      await gate.clock.untilPending(5_000)
      expect(gate.observations).toEqual([])
      gate.clock.advance(5_000)
    }
    await gate.answers(1)
    expect(gate.observations).toMatchObject([
      {
        type: 'ERROR',
        code: 403,
        final: true,
        message: expect.stringContaining('cannot get resource "pods/portforward"'),
      },
    ])
  })

  test('that restores access lets the pod be requested', async () => {
    const app = await startApp(({ response }) => response.end())
    const gate = await start({ app })
    gate.server.deny({ verb: '*', resource: 'pods/portforward' })
    gate.ask(ofPod())
    await gate.clock.untilPending(5_000)
    gate.server.allowAll()
    gate.clock.advance(5_000)
    await gate.answers(1)
    expect(gate.observations).toMatchObject([{ type: 'ANSWER', status: 200 }])
  })

  test('that refuses the credentials twice is reported as a refusal', async () => {
    const gate = await start()
    gate.server.refuseTokens()
    gate.ask(ofPod())
    await gate.answers(1)
    expect(gate.observations).toMatchObject([{ type: 'ERROR', code: 401, final: true }])
  })
})
