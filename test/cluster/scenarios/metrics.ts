import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { all, deploymentComplete, secondsAfterStart } from '../cluster-states.ts'
import type { Fixture } from '../fixture.ts'
import { webImage } from '../images.ts'
import { network } from '../layout.ts'
import { MetricsServer, metricsUser } from '../metrics-server.ts'
import { deployment, pod, service } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const servers = new Map<string, MetricsServer>()

function serverOf({ namespace }: Fixture): MetricsServer {
  const server = servers.get(namespace)
  if (server === undefined) throw new Error(`no metrics server scrapes ${namespace}`)
  return server
}

const credentials = Buffer.from(`${metricsUser.name}:${metricsUser.password}`).toString('base64')
const header = `--header='Authorization: Basic ${credentials}'`

/** A change of a Deployment whose /metrics shows traffic. */
async function change(fixture: Fixture, args: readonly string[]): Promise<void> {
  const readinessProbe = { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 1 }
  const web = (version: string) => ({
    image: `${webImage}:${version}`,
    args,
    ports: [{ containerPort: 8080 }],
    readiness: 'none' as const,
    readinessProbe,
  })
  await fixture.rollOut(deployment('web', web('v1')))
  await fixture.apply(deployment('web', web('v2')))
}

/** Such a change, and a server that scrapes the pods. */
function scraped(...args: readonly string[]): Pick<Scenario, 'setup' | 'inputsFrom' | 'after'> {
  return {
    setup: async (fixture) => {
      servers.set(fixture.namespace, await MetricsServer.start(fixture.namespace))
      await change(fixture, args)
    },
    inputsFrom: (fixture) => ({ 'metrics-from': `${serverOf(fixture).url} ${header}` }),
    after: async (fixture) => {
      await servers.get(fixture.namespace)?.stop()
    },
  }
}

/**
 * Answers each query as Prometheus answers 0 / 0. VictoriaMetrics answers it with no data. Written from the source of v0.316.0 of
 * github.com/prometheus/prometheus: `respond` in web/api/v1/api.go, `marshalSampleJSON` in web/api/v1/json_codec.go, and
 * `MarshalFloat` in util/jsonutil/marshal.go.
 */
const nanServer = createServer((_, response) => {
  const result = [{ metric: {}, value: [Date.now() / 1_000, 'NaN'] }]
  response.setHeader('Content-Type', 'application/json')
  response.end(JSON.stringify({ status: 'success', data: { resultType: 'vector', result } }))
})

const of = (labels: string) => `rate(http_requests_total{namespace="$namespace",pod=~"$pods"${labels}}[10s])`
const errorRate = `sum(${of(',code="500"')}) / sum(${of('')})`
const common = {
  inputs: { resources: 'deployment/web', metrics: `error-rate: ${errorRate} < 0.01`, hold: '20s' },
  needsOwnCluster: true,
  isIdle: true,
  takesSeconds: 45,
}
const held = { decidedBy: all(deploymentComplete('web'), secondsAfterStart(20)), withinSeconds: 30 }
const unknown = { outcome: 'unknown', reason: 'metric-unknown' }
const traffic = '-rate=50'

/** Metrics of the pods of a rollout, asked in the hold. */
export const metrics: Scenario[] = [
  {
    ...common,
    ...scraped(traffic),
    ...held,
    name: 'metrics-good',
    expect: { outcome: 'ready', reason: '' },
    contains: { summary: ['error-rate'] },
  },
  {
    ...common,
    ...scraped(traffic, '-error-share=0.2', '-errors-from=25s'),
    name: 'metrics-errors-rise',
    inputs: { ...common.inputs, hold: '40s' },
    expect: { outcome: 'failed', reason: 'metric-exceeded' },
    decidedBy: all(deploymentComplete('web'), secondsAfterStart(40)),
    withinSeconds: 30,
    takesSeconds: 65,
    contains: { message: ['is 0.2, 2 times in a row: it must be < 0.01'], log: ['::error title=Rollout failed'] },
  },
  {
    ...common,
    ...scraped(traffic),
    ...held,
    name: 'metrics-no-data',
    inputs: { ...common.inputs, metrics: 'errors: sum(rate(other_requests_total{pod=~"$pods"}[10s])) < 1' },
    expect: unknown,
    contains: { message: ['no data'] },
  },
  {
    // Without traffic the share of errors is 0 / 0.
    ...common,
    ...scraped(),
    ...held,
    name: 'metrics-no-traffic',
    expect: unknown,
    contains: { message: ['no data'] },
  },
  {
    ...common,
    ...held,
    name: 'metrics-nan',
    setup: async (fixture) => {
      nanServer.listen(0, '127.0.0.1')
      await once(nanServer, 'listening')
      await change(fixture, [])
    },
    inputsFrom: () => ({ 'metrics-from': `http://127.0.0.1:${(nanServer.address() as AddressInfo).port}` }),
    after: async () => {
      nanServer.close()
    },
    expect: unknown,
    contains: { message: ['error-rate has no value: NaN'], summary: ['(sum(…) > 0)', 'NaN · '] },
  },
  {
    ...common,
    ...scraped(traffic),
    name: 'metrics-server-gone',
    during: async (fixture) => {
      await fixture.until('the Deployment is complete', deploymentComplete('web'))
      await fixture.wait(8)
      await serverOf(fixture).stop()
      fixture.markDecided(12)
    },
    expect: unknown,
    withinSeconds: 60,
    takesSeconds: 75,
    contains: { message: ['connection refused'] },
  },
  {
    ...common,
    ...scraped(traffic),
    name: 'metrics-several-series',
    inputs: { ...common.inputs, metrics: `traffic: sum by (pod) (${of('')}) > 1` },
    expect: { outcome: 'misconfigured', reason: 'input-invalid' },
    decidedBy: deploymentComplete('web'),
    withinSeconds: 60,
    contains: { message: [/2 series/, /\{pod="web-/] },
  },
  {
    // The pod behind the Service forwards connections to the metrics server of this machine.
    ...common,
    ...scraped(traffic),
    ...held,
    name: 'metrics-from-a-service',
    inputsFrom: () => ({ 'metrics-from': `service/prometheus:9090 ${header}` }),
    setup: async (fixture) => {
      await scraped(traffic).setup?.(fixture)
      const script = `exec nc -ll -p 9090 -e nc ${network.gateway} ${serverOf(fixture).port}`
      const forwarder = pod('prometheus', { script, readiness: 'none' })
      await fixture.apply({ ...forwarder, metadata: { ...forwarder.metadata, labels: { app: 'prometheus' } } })
      await fixture.apply(service('prometheus', { ports: [{ port: 9090, targetPort: 9090 }] }))
    },
    expect: { outcome: 'ready', reason: '' },
  },
]
