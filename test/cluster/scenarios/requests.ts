import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { all, deploymentComplete, secondsAfterStart, setComplete } from '../cluster-states.ts'
import { applyWidget, removeWidgetDefinition, widgetDefinition, widgetGroup } from '../custom-resources.ts'
import type { Fixture } from '../fixture.ts'
import { webImage } from '../images.ts'
import { withProxy, withToken } from '../kubeconfig.ts'
import { type ContainerOptions, coreObject, deployment, pod, service, statefulSet, template } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
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
const ready = { outcome: 'ready', reason: '' }
const wrong = { outcome: 'failed', reason: 'wrong-answer' }
/** The answer may take a second attempt, 10 s after the first. */
const complete = { decidedBy: deploymentComplete('web'), withinSeconds: 30, takesSeconds: 15 }
/** Three wrong answers prove a failure: the last 30 s or more after the first. */
const proven = { decidedBy: deploymentComplete('web'), withinSeconds: 60, takesSeconds: 50 }

/** `v1` is rolled out, and a change of it is applied. */
const change =
  (after: ContainerOptions, spec: object = {}, before: ContainerOptions = web('v1')) =>
  async (fixture: Fixture) => {
    await fixture.rollOut(deployment('web', before, spec))
    await fixture.apply(service('web'), deployment('web', after, spec))
  }

async function beforeChange(fixture: Fixture, options: ContainerOptions, spec: object = {}): Promise<void> {
  await fixture.rollOut(deployment('web', options, spec))
  await fixture.apply(service('web'))
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
    expect: ready,
    contains: { log: ['must stay so for'] },
    takesSeconds: 30,
  }
}

/** Requests to the pods of a rollout. */
export const requests: Scenario[] = [
  {
    ...complete,
    name: 'requests-answered',
    inputs: lines('deployment/web GET / --expect-body=v2 --each-pod', 'deployment/web:8080 GET /ready --times=2'),
    setup: change(web('v2')),
    expect: ready,
    takesSeconds: 25,
    withinSeconds: 45,
  },
  {
    ...proven,
    name: 'requests-answered-500',
    inputs: lines('deployment/web GET /'),
    setup: change(web('v2', ['-status=500'])),
    expect: wrong,
    contains: { message: ['500'], summary: ['v2'] },
  },
  {
    // The template changed, the image did not: the pods of the new revision still serve v1.
    ...proven,
    name: 'requests-still-v1',
    inputs: lines('deployment/web GET / --expect-body=v2'),
    setup: change(web('v1', [], { env: [{ name: 'RELEASE', value: 'v2' }] })),
    expect: wrong,
    contains: { summary: ['v1'] },
  },
  {
    // Another pod still serves v1 behind the same Service. Only the gated pods are asked.
    ...complete,
    name: 'requests-with-others-behind-the-service',
    inputs: withService('service/web GET / --expect-body=v2'),
    setup: async (fixture) => {
      const old = pod('old', web('v1'))
      await fixture.apply({ ...old, metadata: { ...old.metadata, labels: { app: 'web' } } })
      await fixture.runningPod(`${webImage}:v1`)
      await change(web('v2'), { replicas: 1 })(fixture)
    },
    expect: ready,
  },
  {
    name: 'requests-one-of-three-is-wrong',
    inputs: { resources: 'statefulset/web', 'http-checks': 'statefulset/web GET / --each-pod' },
    setup: (fixture) => {
      const script = 'case $HOSTNAME in *-1) exec /web -status=503;; *) exec /web;; esac'
      return fixture.apply(
        statefulSet('web', web('v2', [], { command: ['sh', '-c', script], args: [] }), { replicas: 3 }),
      )
    },
    expect: wrong,
    decidedBy: setComplete('StatefulSet', 'web', 3),
    withinSeconds: 60,
    takesSeconds: 60,
    contains: { message: ['503'], summary: ['web-1'] },
  },
  {
    // Ready before it is warm: wrong answers that become right ones.
    ...complete,
    name: 'requests-slow-start',
    inputs: { ...lines('deployment/web GET / --each-pod'), 'await-change': '1m' },
    setup: (fixture) => beforeChange(fixture, web('v1')),
    during: (fixture) => {
      const script = '/web -status=503 & sleep 15; kill $!; exec /web'
      return fixture.apply(deployment('web', web('v2', [], { command: ['sh', '-c', script], args: [] })))
    },
    expect: ready,
    withinSeconds: 45,
    takesSeconds: 40,
    contains: { log: ['503'] },
  },
  {
    ...proven,
    name: 'requests-nothing-listens',
    inputs: lines('deployment/web:9999 GET /'),
    setup: change(web('v2')),
    expect: { outcome: 'failed', reason: 'no-answer' },
    contains: { message: ['connection refused'], summary: ['8080'] },
  },
  {
    ...proven,
    name: 'requests-hang',
    inputs: lines('deployment/web GET / --timeout=1s'),
    setup: change(web('v2', ['-slow=60s'])),
    expect: { outcome: 'failed', reason: 'no-answer' },
    contains: { message: ['within 1 s'] },
  },
  {
    ...proven,
    name: 'requests-redirected',
    inputs: lines('deployment/web GET /'),
    setup: change(web('v2', ['-redirect=https://login.example/?next=web'])),
    expect: wrong,
    contains: { message: ['302'], summary: ['login.example'] },
  },
  {
    ...complete,
    name: 'requests-tls',
    inputs: withService('service/web:443 GET / --scheme=https --expect-body=v2'),
    setup: async (fixture) => {
      const readinessProbe = { httpGet: { path: '/ready', port: 8080, scheme: 'HTTPS' }, periodSeconds: 1 }
      const secure = (version: string) => web(version, ['-tls'], { readinessProbe })
      await change(secure('v2'), {}, secure('v1'))(fixture)
      await fixture.apply(service('web', { ports: [{ port: 443, targetPort: 8080 }] }))
    },
    expect: ready,
  },
  {
    ...complete,
    name: 'requests-recreate',
    inputs: lines('deployment/web GET / --expect-body=v2'),
    setup: change(web('v2'), { strategy: { type: 'Recreate' } }),
    expect: ready,
  },
  {
    // The old pods ignore SIGTERM, and answer until they are killed.
    ...complete,
    name: 'requests-old-pods-ignore-sigterm',
    inputs: { ...withService('service/web GET / --each-pod --expect-body=v2'), hold: '10s' },
    setup: async (fixture) => {
      const of = (options: ContainerOptions) =>
        deployment('web', options, template('web', options, { terminationGracePeriodSeconds: 15 }))
      await fixture.rollOut(of(web('v1', ['-ignore-term'])))
      await fixture.apply(service('web'), of(web('v2')))
    },
    expect: ready,
    withinSeconds: 40,
    takesSeconds: 30,
    contains: { log: ['2 old pods still draining'] },
  },
  {
    ...complete,
    name: 'requests-one-replica',
    inputs: lines('deployment/web GET / --expect-body=v2 --each-pod'),
    setup: change(web('v2'), { replicas: 1 }),
    expect: ready,
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
    expect: ready,
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
    expect: ready,
  },
  {
    // The container dies after some answers, when everything was ready.
    name: 'hold-broken-by-a-restart',
    inputs: { ...lines('deployment/web GET /'), hold: '1m' },
    setup: change(web('v2', ['-dies-after=3']), { replicas: 1 }),
    expect: { outcome: 'failed', reason: 'not-held' },
    decidedBy: deploymentComplete('web'),
    withinSeconds: 60,
    takesSeconds: 50,
    contains: { summary: ['this was the last answer'] },
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
    decidedBy: deploymentComplete('web'),
    withinSeconds: 60,
    takesSeconds: 50,
    contains: { message: ['exited with code 3'], summary: ['the queue is lost'] },
  },
  {
    name: 'hold-broken-by-answers',
    inputs: { ...lines('deployment/web GET /'), hold: '2m' },
    setup: change(web('v2', ['-breaks-after=3']), { replicas: 1 }),
    expect: wrong,
    decidedBy: deploymentComplete('web'),
    withinSeconds: 90,
    takesSeconds: 80,
  },
  {
    name: 'held',
    inputs: { ...withService('service/web GET /'), hold: '25s' },
    setup: change(web('v2')),
    expect: ready,
    decidedBy: all(deploymentComplete('web'), secondsAfterStart(25)),
    withinSeconds: 25,
    takesSeconds: 40,
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
    expect: ready,
    decidedBy: all(...updates.map(deploymentComplete)),
    withinSeconds: 30,
    takesSeconds: 60,
    check: (_, fixture) => otherAnswers(fixture),
  },
  {
    ...inHold('hold-cancelled', '1m', async (fixture) => {
      fixture.signal('SIGINT')
      fixture.markDecided()
    }),
    expect: { outcome: 'cancelled', reason: 'cancelled' },
    withinSeconds: 5,
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
