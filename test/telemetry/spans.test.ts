import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { exportToCollector } from '../../src/exports.ts'
import { spansOf } from '../../src/telemetry/spans.ts'
import {
  at,
  createEvidence,
  createMilestone,
  createProblem,
  createTarget,
  createTargetRecord,
  createTimeline,
  reached,
} from '../report/builders.ts'

const web = createTargetRecord({
  outcome: 'failed',
  reason: 'image-not-found',
  message: 'the registry has no image',
  endedAt: at(17),
  milestones: [...reached({ created: 0, scheduled: 2 }), createMilestone({ name: 'pulled', state: 'failed' })],
  problems: [
    createProblem({ firstSeenAt: at(3), evidence: [createEvidence({ type: 'log', text: 'a line of a log' })] }),
  ],
})
const service = createTargetRecord({
  target: createTarget({ apiVersion: 'v1', kind: 'Service' }),
  outcome: 'stalled',
  reason: 'no-endpoints',
  endedAt: at(20),
  milestones: [createMilestone({ name: 'endpoints', state: 'failed' })],
  problems: [],
  causedBy: 0,
})
const timeline = createTimeline({
  finishedAt: at(22),
  verdict: { outcome: 'failed', reason: 'image-not-found', message: 'deployment/web: the registry has no image' },
  targets: [web, service],
})

const seconds = ([whole, nanos]: ReadableSpan['startTime']) => whole + nanos / 1e9 - at(0) / 1_000
const named = (spans: readonly ReadableSpan[], name: string) => spans.find((span) => span.name === name)

describe('the spans of a gate', () => {
  const spans = spansOf(timeline, {}, { id: '7', attempt: 1, commit: 'abc' })

  it('are one for the gate, one for each target, and one for each milestone, with the moments of the timeline', () => {
    const shown = spans.map(({ name, startTime, endTime }) => [name, seconds(startTime), seconds(endTime)])
    expect(shown).toEqual([
      ['created', 0, 0],
      ['scheduled', 0, 2],
      ['pulled', 2, 17],
      ['deployment/web', 0, 17],
      ['endpoints', 0, 20],
      ['service/web', 0, 20],
      ['rollout', 0, 22],
    ])
  })

  it('are children of the gate and of their target', () => {
    const parentOf = (name: string) => named(spans, name)?.parentSpanContext?.spanId
    expect(parentOf('pulled')).toBe(named(spans, 'deployment/web')?.spanContext().spanId)
    expect(parentOf('deployment/web')).toBe(named(spans, 'rollout')?.spanContext().spanId)
    expect(named(spans, 'rollout')?.parentSpanContext).toBeUndefined()
  })

  it('contain each problem as an event of its target', () => {
    const events = named(spans, 'deployment/web')?.events.map(({ name, time }) => [name, seconds(time)])
    expect(events).toEqual([['image-not-found', 3]])
  })

  it('contain a problem from before the gate at the start of its target', () => {
    const old = { ...web, problems: [createProblem({ firstSeenAt: at(-3_600) })] }
    const [event] = named(spansOf({ ...timeline, targets: [old] }, {}, undefined), 'deployment/web')?.events ?? []
    expect(event && seconds(event.time)).toBe(0)
  })

  it('are errors only where something failed by itself', () => {
    const errors = spans.filter(({ status }) => status.code === SpanStatusCode.ERROR).map(({ name }) => name)
    expect(errors).toEqual(['pulled', 'deployment/web', 'rollout'])
    expect(named(spans, 'service/web')?.attributes['rollout_gate.caused_by']).toBe('deployment.apps/web')
  })

  it('contain no log', () => {
    expect(
      spans.map(({ attributes, events, status }) => JSON.stringify([attributes, events, status])).join(),
    ).not.toContain('a line of a log')
  })
})

describe('the parent of the spans', () => {
  const parent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}`

  it('is TRACEPARENT', () => {
    const spans = spansOf(timeline, { TRACEPARENT: `${parent}-01` }, undefined)
    expect(named(spans, 'rollout')?.parentSpanContext?.spanId).toBe('b'.repeat(16))
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set(['a'.repeat(32)]))
  })

  it.each([`00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, `ff${parent.slice(2)}-01`, 'nonsense', ''])(
    'is none where TRACEPARENT is invalid: %j',
    (invalid) => {
      const spans = spansOf(timeline, { TRACEPARENT: invalid }, undefined)
      expect(named(spans, 'rollout')?.parentSpanContext).toBeUndefined()
      expect(spans).toHaveLength(7)
    },
  )

  it('decides that nothing is sent if it was not sampled', () => {
    expect(spansOf(timeline, { TRACEPARENT: `${parent}-00` }, undefined)).toEqual([])
  })
})

describe('a collector', () => {
  const bodies: string[] = []
  let status = 200
  let server: Server
  let url = ''
  const before = process.env['OTEL_EXPORTER_OTLP_ENDPOINT']

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => (body += chunk))
      request.on('end', () => {
        bodies.push(`${request.url} ${body}`)
        response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  afterAll(async () => {
    if (before === undefined) delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT']
    else process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = before
    await new Promise((resolve) => server.close(resolve))
  })

  async function send(endpoint: string): Promise<readonly string[]> {
    // The exporter reads the environment of the process.
    process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = endpoint
    const warnings: string[] = []
    const onWarning = (text: string) => warnings.push(text)
    await exportToCollector(timeline, process.env, { run: undefined, onWarning })
    return warnings
  }

  it('gets all spans in one request', async () => {
    expect(await send(url)).toEqual([])
    const [path, body = ''] = bodies.at(-1)?.split(/ (.*)/s) ?? []
    expect(path).toBe('/v1/traces')
    const { resourceSpans } = JSON.parse(body)
    expect(resourceSpans[0].scopeSpans[0].spans).toHaveLength(7)
    expect(resourceSpans[0].resource.attributes).toContainEqual({
      key: 'service.name',
      value: { stringValue: 'rollout-gate' },
    })
  })

  it('that refuses the spans is a warning', async () => {
    status = 401
    expect(await send(url)).toEqual([
      expect.stringMatching(/^The spans could not be sent to the collector of OTEL_EXPORTER_OTLP_ENDPOINT: /),
    ])
  })

  it('that does not answer at the port of gRPC is a warning that names the port to use', async () => {
    process.env['OTEL_EXPORTER_OTLP_TIMEOUT'] = '100'
    expect(await send('http://collector.invalid:4317')).toEqual([expect.stringContaining('usually to port 4318')])
    delete process.env['OTEL_EXPORTER_OTLP_TIMEOUT']
  })

  it('whose address is no URL gets nothing, and is a warning', async () => {
    const sent = bodies.length
    expect(await send('collector:4318')).toEqual([expect.stringContaining('is no URL like http://127.0.0.1:4318')])
    expect(bodies).toHaveLength(sent)
  })

  it('that only accepts gRPC gets nothing, and the warning names the protocol to set', async () => {
    const warnings: string[] = []
    const onWarning = (text: string) => warnings.push(text)
    const sent = bodies.length
    for (const protocol of ['OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'])
      await exportToCollector(
        timeline,
        { OTEL_EXPORTER_OTLP_ENDPOINT: url, [protocol]: 'grpc' },
        { run: undefined, onWarning },
      )
    expect(warnings).toHaveLength(2)
    expect(warnings[0]).toContain('Set OTEL_EXPORTER_OTLP_PROTOCOL=http/json')
    expect(bodies).toHaveLength(sent)
  })

  it('that is not named, or turned off, gets nothing', async () => {
    const onWarning = () => {
      throw new Error('a warning')
    }
    const sent = bodies.length
    const off = [{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }]
    for (const env of [{}, ...off.map((each) => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...each }))])
      await exportToCollector(timeline, env, { run: undefined, onWarning })
    expect(bodies).toHaveLength(sent)
  })
})
