import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubeObject } from '../cluster/api.ts'
import { all, type ClusterState, pullRefused, secondsAfterStart } from '../cluster/cluster-states.ts'
import type { Fixture } from '../cluster/fixture.ts'
import { type ContainerOptions, deployment, slowStart } from '../cluster/objects.ts'
import type { Operator, OperatorScenario } from './operator.ts'
import { deploymentRuns } from './states.ts'

const name = 'flux'

/**
 * kustomize-controller, with the definitions of source-controller, which is not published as a module that builds: the
 * scenarios write what it writes, the status of a GitRepository, and serve its artifacts.
 */
export const flux: Operator = {
  name,
  module: 'github.com/fluxcd/kustomize-controller@v1.9.6',
  program: '.',
  definitions: ['config/crd/bases'],
  otherDefinitions: { module: 'github.com/fluxcd/source-controller@v1.9.6', paths: ['config/crd/bases'] },
  kinds: ['Kustomization', 'GitRepository'],
  args: () => ['--metrics-addr=:0', '--health-addr=:0', '--requeue-dependency=2s', '--http-retry=1'],
  started: /Starting workers/,
}

/** A commit that begins with these digits. */
const commit = (start: string) => start.padEnd(40, '0')
const [first, second, third] = [commit('a0000001'), commit('b0000002'), commit('c0000003')]

/** The artifacts of one scenario: what source-controller serves. */
class Artifacts {
  readonly #files = new Map<string, Buffer>()
  readonly #server: Server = createServer((request, response) => {
    const file = this.#files.get(request.url ?? '')
    response.writeHead(file === undefined ? 404 : 200).end(file)
  }).unref()

  /** Makes an artifact of files, and returns its fields in the status of a GitRepository. */
  async add(revision: string, files: Readonly<Record<string, string>>) {
    if (!this.#server.listening) await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-artifact-'))
    for (const [path, content] of Object.entries(files)) writeFileSync(join(folder, path), content)
    const content = execFileSync('tar', ['-czf', '-', '-C', folder, '.'])
    rmSync(folder, { recursive: true })
    const path = `/${revision}.tar.gz`
    this.#files.set(path, content)
    const { port } = this.#server.address() as AddressInfo
    return {
      path: path.slice(1),
      url: `http://127.0.0.1:${port}${path}`,
      revision: `main@sha1:${revision}`,
      digest: `sha256:${createHash('sha256').update(content).digest('hex')}`,
      size: content.length,
      lastUpdateTime: new Date().toISOString().replace(/\.\d+/, ''),
    }
  }
}

const artifacts = new Map<string, Artifacts>()

/** Publishes a commit with a Deployment, as source-controller does after a push. */
async function push(
  fixture: Fixture,
  revision: string,
  options: ContainerOptions = {},
  kustomize = 'resources: [web.yaml]',
) {
  const own = artifacts.get(fixture.namespace) ?? new Artifacts()
  artifacts.set(fixture.namespace, own)
  const artifact = await own.add(revision, {
    'kustomization.yaml': kustomize,
    'web.yaml': JSON.stringify(deployment('web', options, { replicas: 1 })),
  })
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'Succeeded',
    message: 'stored artifact',
    observedGeneration: 1,
  }
  const conditions = [{ ...ready, lastTransitionTime: artifact.lastUpdateTime }]
  const path = `${fixture.path('GitRepository', 'shop')}/status`
  await fixture.api.patch(path, { status: { observedGeneration: 1, artifact, conditions } })
}

const repository: KubeObject = {
  apiVersion: 'source.toolkit.fluxcd.io/v1',
  kind: 'GitRepository',
  metadata: { name: 'shop' },
  spec: { url: 'http://127.0.0.1/shop.git', interval: '1h' },
}

/** A Kustomization that waits for what it applies only if `spec` asks for it. */
function kustomization(namespace: string, spec: object = {}): KubeObject {
  return {
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
    kind: 'Kustomization',
    metadata: { name: 'shop' },
    spec: {
      interval: '1h',
      retryInterval: '30s',
      path: './',
      prune: true,
      targetNamespace: namespace,
      sourceRef: { kind: 'GitRepository', name: 'shop' },
      ...spec,
    },
  }
}

/** The revision is applied. */
function applied(revision: string): ClusterState {
  return (informer) => {
    const { status }: Partial<KubeObject> = informer.get('Kustomization', 'shop') ?? {}
    return status?.lastAppliedRevision?.endsWith(revision) ? Date.now() : undefined
  }
}

/** The revision is applied, and its pod is ready. */
const running = (revision: string, image: string): ClusterState => all(applied(revision), deploymentRuns('web', image))

/** Ready is False about the attempted revision since this time and 10 s more. */
const failedFor10s: ClusterState = (informer) => {
  const { status }: Partial<KubeObject> = informer.get('Kustomization', 'shop') ?? {}
  const ready = status?.conditions?.find(({ type }: { type: string }) => type === 'Ready')
  const isFailed = ready?.status === 'False' && status?.lastAttemptedRevision?.endsWith(second)
  return isFailed ? Date.parse(ready.lastTransitionTime) + 10_000 : undefined
}

/** The first commit is deployed. */
async function deployed(fixture: Fixture, spec: object = {}): Promise<void> {
  await fixture.apply(repository)
  await push(fixture, first)
  await fixture.apply(kustomization(fixture.namespace, spec))
  await fixture.until('the first commit runs', running(first, 'v1'))
}

const at = (revision: string) => ({ resources: `kustomization/shop --revision=${revision}` })
const common = { operator: name, isRace: true, inputs: at(second) } as const

export const fluxScenarios: readonly OperatorScenario[] = [
  {
    ...common,
    name: `${name}-revision-arrives`,
    state: 'healthy',
    note: 'the commit is pushed while the gate waits',
    setup: deployed,
    during: async (fixture) => {
      await fixture.wait(5)
      await push(fixture, second, { image: 'v2' })
    },
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-revision-before`,
    state: 'healthy',
    note: 'the commit was applied before the gate began; its short hash is awaited',
    inputs: at(second.slice(0, 8)),
    setup: async (fixture) => {
      await deployed(fixture)
      await push(fixture, second, { image: 'v2' })
      await fixture.until('the second commit runs', running(second, 'v2'))
    },
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-revision-missing`,
    state: 'failing',
    note: 'the commit is never pushed; the one before it is healthy',
    inputs: { ...at(second), 'await-change': '12s' },
    setup: deployed,
    expect: { outcome: 'stalled', reason: 'wrong-revision' },
    decidedBy: secondsAfterStart(8),
    cause: 'Flux is at a000000 (main)',
    takesSeconds: 25,
  },
  {
    ...common,
    name: `${name}-revision-superseded`,
    state: 'changed-during',
    note: 'a newer commit is applied while the pods of the awaited one start',
    setup: deployed,
    during: async (fixture) => {
      await fixture.wait(3)
      await push(fixture, second, { image: 'v2', script: slowStart(30) })
      await fixture.until('the second commit is applied', applied(second))
      await fixture.wait(3)
      await push(fixture, third, { image: 'v3' })
    },
    expect: { outcome: 'superseded', reason: 'superseded' },
    decidedBy: applied(third),
    takesSeconds: 25,
  },
  {
    ...common,
    name: `${name}-revision-rolled-back`,
    state: 'changed-during',
    note: 'the branch is reset to the commit before while the pods of the awaited one start',
    setup: deployed,
    during: async (fixture) => {
      await fixture.wait(3)
      await push(fixture, second, { image: 'v2', script: slowStart(30) })
      await fixture.until('the second commit is applied', applied(second))
      await fixture.wait(3)
      await push(fixture, first)
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
    decidedBy: (informer) =>
      (informer.get('Deployment', 'web')?.['spec'].template.spec.containers[0].image.endsWith(':v1') &&
        applied(first)(informer)) ||
      undefined,
    takesSeconds: 25,
  },
  {
    ...common,
    name: `${name}-revision-build-fails`,
    state: 'failing',
    note: 'the kustomization of the commit names a file that does not exist',
    setup: deployed,
    during: async (fixture) => {
      await fixture.wait(3)
      await push(fixture, second, {}, 'resources: [absent.yaml]')
    },
    expect: { outcome: 'failed', reason: 'reported-failed' },
    cause: 'absent.yaml',
    decidedBy: failedFor10s,
    takesSeconds: 30,
  },
  {
    ...common,
    name: `${name}-revision-image-missing`,
    state: 'failing',
    note: 'Flux waits for the pods of the commit, whose image does not exist',
    setup: (fixture) => deployed(fixture, { wait: true, timeout: '5m' }),
    during: async (fixture) => {
      await fixture.wait(3)
      await push(fixture, second, { image: '127.0.0.1:5995/missing:v2' })
    },
    expect: { outcome: 'failed', reason: 'image-not-found' },
    cause: 'missing:v2',
    decidedBy: pullRefused('missing', 2),
    takesSeconds: 40,
  },
  {
    ...common,
    name: `${name}-revision-suspended`,
    state: 'suspended',
    note: 'the Kustomization is suspended, so the pushed commit is not applied',
    inputs: { ...at(second), 'await-change': '12s' },
    setup: async (fixture) => {
      await deployed(fixture)
      await fixture.patch('Kustomization', 'shop', { spec: { suspend: true } })
      await push(fixture, second, { image: 'v2' })
    },
    expect: { outcome: 'stalled', reason: 'wrong-revision' },
    decidedBy: secondsAfterStart(8),
    cause: 'it is suspended',
    takesSeconds: 25,
  },
  {
    ...common,
    name: `${name}-revision-made-again`,
    state: 'changed-during',
    note: 'the Kustomization is deleted and made again before the commit is pushed',
    setup: deployed,
    during: async (fixture) => {
      await fixture.wait(3)
      await fixture.delete('Kustomization', 'shop')
      await fixture.until('it is gone', (informer) => informer.get('Kustomization', 'shop') === undefined)
      await push(fixture, second, { image: 'v2' })
      await fixture.apply(kustomization(fixture.namespace))
    },
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 25,
  },
]
