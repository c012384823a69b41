import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { all, containerDiedSinceStart, deploymentComplete, secondsAfterStart } from '../cluster-states.ts'
import { applyWidget, removeWidgetDefinition, widgetDefinition, widgetGroup } from '../custom-resources.ts'
import type { Fixture } from '../fixture.ts'
import { webImage } from '../images.ts'
import { withProxy, withToken } from '../kubeconfig.ts'
import { appService, barePod, type ContainerOptions, coreObject, deployment, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'
import { createUser, shortenToken, untilTokenExpired } from '../service-accounts.ts'

/** A container of the web server, which is ready at once whatever it answers. */
function web(version: string, args: readonly string[] = [], options: ContainerOptions = {}): ContainerOptions {
  const readinessProbe = { httpGet: { path: '/ready', port: 8080 }, periodSeconds: 1 }
  return {
    image: `${webImage}:${version}`,
    args,
    ports: [{ containerPort: 8080 }],
    readiness: 'none',
    readinessProbe,
    ...options,
  }
}

const lines = (...requests: string[]) => ({ resources: 'deployment/web', 'http-checks': requests.join('\n') })
const withService = (request: string) => ({ resources: 'deployment/web\nservice/web', 'http-checks': request })
const readyOutcome = { outcome: 'ready', reason: '' }

/** The answer may take a second attempt, 10 s after the first. */
const complete = { decidedBy: deploymentComplete('web'), withinSeconds: 30, takesSeconds: 15 }

/** `v1` is rolled out, and a change of it is applied. */
const change =
  (after: ContainerOptions, spec: object = {}, before: ContainerOptions = web('v1')) =>
  async (fixture: Fixture) => {
    await fixture.rollOut(deployment('web', before, spec))
    await fixture.apply(appService('web'), deployment('web', after, spec))
  }

const forwarding = { apiGroups: [''], resources: ['pods/portforward'], verbs: ['get', 'create'] }
const podLists = { apiGroups: [''], resources: ['pods', 'services', 'events'], verbs: ['get', 'list', 'watch'] }
const workloads = { apiGroups: ['apps', 'discovery.k8s.io'], resources: ['*'], verbs: ['get', 'list', 'watch'] }

/** A user that may read what is gated, and these rules. */
function withUser(...rules: readonly object[]): Pick<Scenario, 'setup' | 'kubeconfig'> {
  return {
    setup: async (fixture) => {
      await createUser(fixture, 'ci', [podLists, workloads, ...rules])
      await change(web('v2'))(fixture)
    },
    kubeconfig: (content, fixture) => withToken(content, fixture.tokens.get('ci') ?? ''),
  }
}

const proxies = new Map<string, Server>()

/** An HTTP proxy that only makes connections (CONNECT). */
async function startProxy({ namespace }: Fixture): Promise<void> {
  const proxy = createServer().on('connect', ({ url = '' }, client, head) => {
    const target = new URL(`http://${url}`)
    const server = connect(Number(target.port), target.hostname, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      server.write(head)
      server.pipe(client).pipe(server)
    })
    server.on('error', () => client.destroy())
    client.on('error', () => server.destroy())
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  proxies.set(namespace, proxy)
}

function proxyOf(namespace: string): string {
  const address = proxies.get(namespace)?.address() as AddressInfo | undefined
  return `http://127.0.0.1:${address?.port}`
}

/** How many Deployments are updated at a time, and asked. */
const updates = Array.from({ length: 20 }, (_, index) => `web-${index + 1}`)

/** Applies these Deployments at a version. Their old pods go on answering while they end. */
const applyUpdates = (fixture: Fixture, version: string) =>
  fixture.apply(
    ...updates.map((name) => {
      const options = web(version, ['-drain=10s'])
      const pods = template(name, options, { terminationGracePeriodSeconds: 15 })
      return deployment(name, options, { replicas: 1, ...pods })
    }),
  )

/** The recorded answers that are not of the second version. */
function otherAnswers(fixture: Fixture): string[] {
  const events = fixture
    .read('gate.ndjson')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const answers = events.filter(({ type }) => type === 'ANSWER')
  const others = answers.filter(({ body }) => body?.trim() !== 'v2')
  const asked = new Set(answers.map(({ check }) => check)).size
  return [
    ...(asked === updates.length ? [] : [`${asked} of ${updates.length} requests were answered`]),
    ...others.map(({ pod, status, body, error }) => `an answer that is not of v2: ${pod} ${status} ${body ?? error}`),
  ]
}

/** A gate whose hold of some time has begun, at which `then` happens. */
function inHold(name: string, hold: string, then: (fixture: Fixture) => Promise<void>): Scenario {
  return {
    name,
    inputs: { ...lines('deployment/web GET /'), hold },
    setup: change(web('v2'), { replicas: 1 }),
    during: async (fixture) => {
      await fixture.until('the Deployment is complete', deploymentComplete('web'))
      // Time for the answer and the start of the hold.
      await fixture.wait(8)
      await then(fixture)
    },
    expect: readyOutcome,
    contains: { log: ['must stay so for'] },
    takesSeconds: 30,
  }
}

/** Requests to the pods of a rollout. */
export const requests: Scenario[] = [
  ...readScenarios('requests'),
  {
    // Another pod still serves v1 behind the same Service. Only the gated pods are asked.
    ...complete,
    name: 'requests-with-others-behind-the-service',
    inputs: withService('service/web GET / --expect-body=v2'),
    setup: async (fixture) => {
      const old = barePod('old', web('v1'))
      await fixture.apply({ ...old, metadata: { ...old.metadata, labels: { app: 'web' } } })
      await fixture.runningPod(`${webImage}:v1`)
      await change(web('v2'), { replicas: 1 })(fixture)
    },
    expect: readyOutcome,
  },
  {
    // The pod of the new revision that answers wrongly is deleted; the next one answers right.
    name: 'requests-to-a-replaced-pod',
    inputs: lines('deployment/web GET /'),
    setup: async (fixture) => {
      await fixture.apply(coreObject('ConfigMap', 'web', { data: { status: '503' } }))
      const configMapKeyRef = { name: 'web', key: 'status' }
      const env = [{ name: 'STATUS', valueFrom: { configMapKeyRef } }]
      await fixture.apply(deployment('web', web('v2', ['-status=$(STATUS)'], { env }), { replicas: 1 }))
    },
    during: async (fixture) => {
      const { metadata } = await fixture.runningPod(`${webImage}:v2`)
      await fixture.until('the Deployment is complete', deploymentComplete('web'))
      await fixture.wait(12)
      await fixture.apply(coreObject('ConfigMap', 'web', { data: { status: '200' } }))
      await fixture.delete('Pod', metadata.name)
      await fixture.until('the pod is replaced', (informer) =>
        informer.all('Pod').every((pod) => pod.metadata.name !== metadata.name),
      )
      await fixture.until('the Deployment is complete again', deploymentComplete('web'))
      fixture.markDecided()
    },
    expect: readyOutcome,
    withinSeconds: 25,
    takesSeconds: 40,
  },
  {
    ...withUser(),
    name: 'requests-forbidden',
    inputs: lines('deployment/web GET /', 'deployment/web POST /'),
    expect: { outcome: 'misconfigured', reason: 'forbidden' },
    decidedBy: secondsAfterStart(0),
    takesSeconds: 5,
    contains: { log: ['pods/portforward'] },
  },
  {
    name: 'requests-access-withdrawn',
    inputs: { ...lines('deployment/web GET /'), hold: '2m' },
    kubeconfig: (content, fixture) => withToken(content, fixture.tokens.get('ci') ?? ''),
    setup: async (fixture) => {
      await createUser(fixture, 'ci', [podLists, workloads])
      await fixture.apply({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'asking' },
        rules: [forwarding],
      })
      const subjects = [{ kind: 'ServiceAccount', name: 'ci', namespace: fixture.namespace }]
      await fixture.apply({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'asking' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'asking' },
        subjects,
      })
      await change(web('v2'))(fixture)
    },
    during: async (fixture) => {
      await fixture.until('the Deployment is complete', deploymentComplete('web'))
      await fixture.wait(5)
      await fixture.delete('RoleBinding', 'asking')
      fixture.markDecided()
    },
    expect: { outcome: 'unknown', reason: 'forbidden' },
    withinSeconds: 50,
    takesSeconds: 60,
  },
  {
    ...complete,
    name: 'requests-through-an-http-proxy',
    inputs: lines('deployment/web GET / --expect-body=v2'),
    kubeconfig: (content, { namespace }) => withProxy(content, proxyOf(namespace)),
    setup: async (fixture) => {
      await startProxy(fixture)
      await change(web('v2'))(fixture)
    },
    after: async ({ namespace }) => {
      proxies.get(namespace)?.close()
    },
    expect: readyOutcome,
  },
  {
    // The pods behind a custom resource are watched in the hold, also if nothing is asked.
    name: 'hold-broken-behind-a-custom-resource',
    inputs: { hold: '1m' },
    inputsFrom: (fixture) => ({ resources: `widgets.${widgetGroup(fixture)}/web` }),
    setup: async (fixture) => {
      await fixture.apply(widgetDefinition(fixture))
      const { apiVersion, metadata } = await applyWidget(fixture, 'web')
      const script = '/web & sleep 25; echo the queue is lost; exit 3'
      const owned = deployment('web', web('v2', [], { command: ['sh', '-c', script], args: [] }), { replicas: 1 })
      const ownerReferences = [{ apiVersion, kind: 'Widget', name: 'web', uid: metadata.uid ?? '' }]
      await fixture.apply({ ...owned, metadata: { ...owned.metadata, ownerReferences } })
    },
    after: removeWidgetDefinition,
    expect: { outcome: 'failed', reason: 'not-held' },
    decidedBy: containerDiedSinceStart,
    withinSeconds: 60,
    takesSeconds: 50,
    contains: { message: ['exited with code 3'], summary: ['the queue is lost'] },
  },
  {
    // Lines without --expect-body: an answer of the old version would be right.
    name: 'requests-twenty-updates',
    inputs: {
      resources: updates.map((name) => `deployment/${name}`).join('\n'),
      'http-checks': updates.map((name) => `deployment/${name} GET / --each-pod`).join('\n'),
      'await-change': '1m',
      record: 'gate.ndjson',
    },
    setup: async (fixture) => {
      await applyUpdates(fixture, 'v1')
      await fixture.until('the Deployments are complete', all(...updates.map(deploymentComplete)))
    },
    during: (fixture) => applyUpdates(fixture, 'v2'),
    expect: readyOutcome,
    decidedBy: all(...updates.map(deploymentComplete)),
    withinSeconds: 30,
    takesSeconds: 60,
    check: (_, fixture) => otherAnswers(fixture),
  },
  {
    // The hold ends when the API server answers again.
    ...inHold('hold-refused-then-back', '30s', async (fixture) => {
      await fixture.proxy.refuse()
      await fixture.wait(30)
      await fixture.proxy.forward()
      fixture.markDecided()
    }),
    proxied: true,
    isIdle: true,
    contains: { log: ['must stay so for', 'does not answer'] },
    takesSeconds: 55,
  },
  {
    ...inHold('hold-refused-for-good', '30s', async (fixture) => {
      await fixture.proxy.refuse()
      // The watches were silent for up to ten seconds.
      fixture.markDecided(110)
    }),
    proxied: true,
    isIdle: true,
    expect: { outcome: 'unknown', reason: 'api-unreachable' },
    takesSeconds: 155,
  },
  {
    ...inHold('hold-token-expired', '2m', async (fixture) => {
      await untilTokenExpired(fixture, 'ci')
      fixture.markDecided()
    }),
    ...withUser(forwarding),
    setup: async (fixture) => {
      await createUser(fixture, 'ci', [podLists, workloads, forwarding])
      await change(web('v2'), { replicas: 1 })(fixture)
      shortenToken(fixture, 'ci', 30)
    },
    needsOwnCluster: true,
    isIdle: true,
    expect: { outcome: 'unknown', reason: 'credentials-expired' },
    withinSeconds: 60,
    takesSeconds: 90,
  },
]
