import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { KubeObject } from '../cluster/api.ts'
import { all, type ClusterState, pullRefused, secondsAfterStart } from '../cluster/cluster-states.ts'
import type { Fixture } from '../cluster/fixture.ts'
import { state } from '../cluster/layout.ts'
import { type ContainerOptions, deployment, slowStart } from '../cluster/objects.ts'
import type { Operator, OperatorScenario } from './operator.ts'
import { type Files, Repository } from './repository.ts'
import { deploymentRuns, whileStopped } from './states.ts'

const name = 'flux'
const artifacts = '127.0.0.1:5991'

/** It fetches the git repositories and OCI artifacts of the scenarios. */
const sourceController: Operator = {
  name: `${name}-source`,
  module: 'github.com/fluxcd/source-controller@v1.9.6',
  program: '.',
  // The version that it requires, v0.18.3, could not be downloaded.
  replaced: { 'github.com/fluxcd/pkg/artifact': 'v0.18.0' },
  definitions: ['config/crd/bases'],
  kinds: ['GitRepository', 'OCIRepository'],
  args: () => [
    '--metrics-addr=:0',
    '--health-addr=:0',
    `--storage-path=${state('operators', `${name}-source`)}`,
    `--storage-addr=${artifacts}`,
    `--storage-adv-addr=${artifacts}`,
  ],
  started: /Starting workers/,
}

/** kustomize-controller, and source-controller beside it. */
export const flux: Operator = {
  name,
  module: 'github.com/fluxcd/kustomize-controller@v1.9.6',
  program: '.',
  definitions: ['config/crd/bases'],
  beside: sourceController,
  kinds: ['Kustomization'],
  args: () => [
    '--metrics-addr=:0',
    '--health-addr=:0',
    '--requeue-dependency=2s',
    '--http-retry=1',
    // Off by default: a newer revision waits until the health checks of the one before have ended.
    '--feature-gates=CancelHealthCheckOnNewRevision=true',
  ],
  started: /Starting workers/,
}

/** The positions of revisions: the first is deployed before the gate, the second is awaited, a third may follow. */
const [first, second, third] = [0, 1, 2]

/** The revisions of a scenario, on a server of its own: commits, or OCI artifacts that are made from them. */
abstract class Source {
  readonly repository = new Repository()
  readonly #server: Server = createServer((request, response) => this.answer(request, response)).unref()

  abstract readonly kind: 'GitRepository' | 'OCIRepository'
  /** The spec of the object, without its URL. */
  abstract readonly spec: object
  /** The scheme of its URL. */
  abstract readonly scheme: string

  /** The commit or the digest of a revision. */
  abstract id(index: number): string
  abstract publish(index: number): void
  abstract answer(request: IncomingMessage, response: ServerResponse): void

  /** The object, once the server listens. */
  async object(): Promise<KubeObject> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const { port } = this.#server.address() as AddressInfo
    return {
      apiVersion: 'source.toolkit.fluxcd.io/v1',
      kind: this.kind,
      metadata: { name: 'shop' },
      spec: { url: `${this.scheme}://127.0.0.1:${port}/shop`, interval: '1h', ...this.spec },
    }
  }

  close(): void {
    this.#server.close()
    rmSync(this.repository.folder, { recursive: true })
  }
}

class GitSource extends Source {
  readonly kind = 'GitRepository'
  readonly scheme = 'http'
  readonly spec = { ref: { branch: 'main' } }

  id(index: number): string {
    return this.repository.commit(index)
  }

  publish(index: number): void {
    this.repository.push(index)
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    this.repository.answer(request, response)
  }
}

interface Blob {
  readonly type: string
  readonly content: Buffer
}

/**
 * A repository of an OCI registry (https://github.com/opencontainers/distribution-spec/blob/main/spec.md) with artifacts as
 * `flux push artifact` makes them.
 */
class OciSource extends Source {
  readonly kind = 'OCIRepository'
  readonly scheme = 'oci'
  readonly spec: object
  readonly #tags: readonly string[]
  readonly #blobs = new Map<string, Blob>()
  readonly #published = new Map<string, string>()
  readonly #digests: string[] = []

  /**
   * @param tags of the revisions, by their positions
   * @param ref which of them the OCIRepository follows
   */
  constructor(tags: readonly string[] = ['latest', 'latest', 'latest'], ref: object = { tag: 'latest' }) {
    super()
    this.#tags = tags
    this.spec = { ref, insecure: true }
  }

  id(index: number): string {
    this.#digests[index] ??= this.#add(index)
    return this.#digests[index]
  }

  publish(index: number): void {
    this.#published.set(this.#tags[index] ?? '', this.id(index))
  }

  answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
    const name = url.split('/').at(-1) ?? ''
    if (url === '/v2/') response.end('{}')
    else if (url.startsWith('/v2/shop/tags/list')) {
      response.end(JSON.stringify({ name: 'shop', tags: [...this.#published.keys()] }))
    } else {
      const digest = this.#published.get(name) ?? name
      const { type, content } = this.#blobs.get(digest) ?? {}
      if (type === undefined) response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}')
      else {
        const headers = { 'Content-Type': type, 'Content-Length': content?.length, 'Docker-Content-Digest': digest }
        response.writeHead(200, headers).end(content)
      }
    }
  }

  /** Makes the artifact of a commit, and returns its digest. */
  #add(index: number): string {
    const commit = this.repository.commit(index)
    const config = this.#store('application/vnd.cncf.flux.config.v1+json', Buffer.from('{}'))
    const layer = this.#store('application/vnd.cncf.flux.content.v1.tar+gzip', this.repository.archive(index))
    const mediaType = 'application/vnd.oci.image.manifest.v1+json'
    const annotations = { 'org.opencontainers.image.revision': `main@sha1:${commit}` }
    const manifest = { schemaVersion: 2, mediaType, config, layers: [layer], annotations }
    return this.#store(mediaType, Buffer.from(JSON.stringify(manifest))).digest
  }

  #store(mediaType: string, content: Buffer) {
    const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`
    this.#blobs.set(digest, { type: mediaType, content })
    return { mediaType, digest, size: content.length }
  }
}

/** By namespace. */
const sources = new Map<string, Source>()

function sourceOf({ namespace }: Pick<Fixture, 'namespace'>): Source {
  const found = sources.get(namespace)
  if (found === undefined) throw new Error(`${namespace} has no source`)
  return found
}

/** Publishes a revision, and lets source-controller fetch it, as a Receiver does. */
async function push(fixture: Fixture, index: number): Promise<void> {
  sourceOf(fixture).publish(index)
  await fetchSource(fixture)
}

async function fetchSource(fixture: Fixture): Promise<void> {
  const annotations = { 'reconcile.fluxcd.io/requestedAt': new Date().toISOString() }
  await fixture.patch(sourceOf(fixture).kind, 'shop', { metadata: { annotations } })
}

/** A Kustomization that waits for what it applies only if `spec` asks for it. */
function kustomization(fixture: Fixture, spec: object = {}): KubeObject {
  return {
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
    kind: 'Kustomization',
    metadata: { name: 'shop' },
    spec: {
      interval: '1h',
      retryInterval: '30s',
      path: './',
      prune: true,
      targetNamespace: fixture.namespace,
      sourceRef: { kind: sourceOf(fixture).kind, name: 'shop' },
      ...spec,
    },
  }
}

/** A state of the Kustomization `shop`, whose revisions are those of its source. */
const ofShop =
  (test: (status: KubeObject['status'], id: (index: number) => string) => number | undefined): ClusterState =>
  (informer) => {
    const object = informer.get('Kustomization', 'shop')
    const source = sources.get(object?.metadata.namespace ?? '')
    return object?.['status'] && source && test(object['status'], (index) => source.id(index))
  }

/** The revision is applied. */
const applied = (index: number): ClusterState =>
  ofShop(({ lastAppliedRevision }, id) => (lastAppliedRevision?.endsWith(id(index)) ? Date.now() : undefined))

/** Flux waits for the health of the revision. */
const checked = (index: number): ClusterState =>
  ofShop(({ conditions, lastAttemptedRevision }, id) => {
    const isChecked = conditions?.some(({ message }: { message: string }) =>
      message.startsWith('Running health checks'),
    )
    return isChecked && lastAttemptedRevision?.endsWith(id(index)) ? Date.now() : undefined
  })

/** The revision is applied, and its pod is ready. */
const running = (index: number, image: string): ClusterState => all(applied(index), deploymentRuns('web', image))

/** Ready is False about the awaited revision since this time and 10 s more. */
const failedFor10s: ClusterState = ofShop(({ conditions, lastAttemptedRevision }, id) => {
  const ready = conditions?.find(({ type }: { type: string }) => type === 'Ready')
  const isFailed = ready?.status === 'False' && lastAttemptedRevision?.endsWith(id(second))
  return isFailed ? Date.parse(ready.lastTransitionTime) + 10_000 : undefined
})

/** A Deployment of one pod, and what kustomize applies of it. */
const web = (options: ContainerOptions = {}, resource = 'web.yaml'): Files => ({
  'kustomization.yaml': { resources: [resource] },
  'web.yaml': deployment('web', options, { replicas: 1 }),
})
const slow = { image: 'v2', script: slowStart(30) }

/** Makes the source with its revisions, and deploys the first one. */
async function deployed(
  fixture: Fixture,
  revisions: readonly Files[] = [web({ image: 'v2' })],
  spec: object = {},
  source: Source = new GitSource(),
): Promise<void> {
  sources.set(fixture.namespace, source)
  for (const files of [web(), ...revisions]) source.repository.add(files)
  source.publish(first)
  await fixture.apply(await source.object(), kustomization(fixture, spec))
  await fixture.until('the first revision runs', running(first, 'v1'))
}

const at = (revision: string) => ({ resources: `kustomization/shop --revision=${revision}` })
const common = {
  operator: name,
  isRace: true,
  inputs: {},
  inputsFrom: (fixture: Fixture) => at(sourceOf(fixture).id(second)),
  after: async (fixture: Fixture) => {
    sourceOf(fixture).close()
    sources.delete(fixture.namespace)
  },
} as const
const giveUp = { inputs: { 'await-change': '12s' }, decidedBy: secondsAfterStart(8), takesSeconds: 25 } as const

/** The scenario pushes the awaited revision while the gate waits. */
const pushesSecond = {
  during: async (fixture: Fixture) => {
    await fixture.wait(3)
    await push(fixture, second)
  },
} as const

/** The scenario pushes another revision while the pods of the awaited one start, 3 s after this state of that one. */
const pushesOther = (index: number, reached: ClusterState = applied(second)) => ({
  during: async (fixture: Fixture) => {
    await pushesSecond.during(fixture)
    await fixture.until('the second revision is deployed', reached)
    await fixture.wait(3)
    await push(fixture, index)
  },
})

/** The commit is deployed from one of its folders, and kustomize-controller is stopped when the other one is named. */
const otherFolder = whileStopped(
  name,
  async (fixture) => {
    const inFolder = Object.entries(web({ image: 'v2' })).map(([path, content]) => [`next/${path}`, content])
    await deployed(fixture, [{ ...web(), ...Object.fromEntries(inFolder) }])
    await push(fixture, second)
    await fixture.until('the second commit runs', running(second, 'v1'))
  },
  async (fixture) => {
    await fixture.patch('Kustomization', 'shop', { spec: { path: './next' } })
  },
  common.after,
)

export const fluxScenarios: readonly OperatorScenario[] = [
  {
    ...common,
    ...pushesSecond,
    name: `${name}-revision-arrives`,
    state: 'healthy',
    note: 'the commit is pushed while the gate waits',
    setup: (fixture) => deployed(fixture),
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-revision-before`,
    state: 'healthy',
    note: 'the commit was applied before the gate began; its short hash is awaited',
    inputsFrom: (fixture) => at(sourceOf(fixture).id(second).slice(0, 8)),
    setup: async (fixture) => {
      await deployed(fixture)
      await push(fixture, second)
      await fixture.until('the second commit runs', running(second, 'v2'))
    },
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 20,
  },
  {
    ...common,
    ...giveUp,
    name: `${name}-revision-missing`,
    state: 'failing',
    note: 'the commit is never pushed; the one before it is healthy',
    setup: (fixture) => deployed(fixture),
    expect: { outcome: 'stalled', reason: 'wrong-revision' },
    cause: '(main)',
  },
  {
    ...common,
    ...giveUp,
    name: `${name}-revision-source-not-found`,
    state: 'failing',
    note: 'the branch is deleted while the gate waits; the commit before is healthy',
    setup: (fixture) => deployed(fixture),
    during: async (fixture) => {
      await fixture.wait(3)
      sourceOf(fixture).repository.deleteBranch()
      await fetchSource(fixture)
    },
    expect: { outcome: 'stalled', reason: 'wrong-revision' },
    cause: '(main)',
  },
  {
    ...common,
    ...pushesOther(third),
    name: `${name}-revision-superseded`,
    state: 'changed-during',
    note: 'a newer commit is applied while the pods of the awaited one start',
    setup: (fixture) => deployed(fixture, [web(slow), web({ image: 'v3' })]),
    expect: { outcome: 'superseded', reason: 'superseded' },
    decidedBy: applied(third),
    takesSeconds: 25,
  },
  {
    ...common,
    ...pushesOther(third, checked(second)),
    name: `${name}-revision-cancelled`,
    state: 'changed-during',
    note: 'a newer commit cancels the health checks of the awaited one, and is applied',
    setup: (fixture) => deployed(fixture, [web(slow), web({ image: 'v3' })], { wait: true, timeout: '5m' }),
    expect: { outcome: 'superseded', reason: 'superseded' },
    decidedBy: applied(third),
    takesSeconds: 25,
  },
  {
    ...common,
    ...pushesOther(first),
    name: `${name}-revision-rolled-back`,
    state: 'changed-during',
    note: 'the branch is reset to the commit before while the pods of the awaited one start',
    setup: (fixture) => deployed(fixture, [web(slow)]),
    expect: { outcome: 'superseded', reason: 'rolled-back' },
    decidedBy: (informer) =>
      (informer.get('Deployment', 'web')?.['spec'].template.spec.containers[0].image.endsWith(':v1') &&
        applied(first)(informer)) ||
      undefined,
    takesSeconds: 25,
  },
  {
    ...common,
    ...pushesSecond,
    name: `${name}-revision-build-fails`,
    state: 'failing',
    note: 'the kustomization of the commit names a file that does not exist',
    setup: (fixture) => deployed(fixture, [web({}, 'absent.yaml')]),
    expect: { outcome: 'failed', reason: 'reported-failed' },
    cause: 'absent.yaml',
    decidedBy: failedFor10s,
    takesSeconds: 30,
  },
  {
    ...common,
    ...pushesSecond,
    name: `${name}-revision-image-missing`,
    state: 'failing',
    note: 'Flux waits for the pods of the commit, whose image does not exist',
    setup: (fixture) => deployed(fixture, [web({ image: '127.0.0.1:5995/missing:v2' })], { wait: true, timeout: '5m' }),
    expect: { outcome: 'failed', reason: 'image-not-found' },
    cause: 'missing:v2',
    decidedBy: pullRefused('missing', 2),
    takesSeconds: 40,
  },
  {
    ...common,
    ...giveUp,
    name: `${name}-revision-suspended`,
    state: 'suspended',
    note: 'the Kustomization is suspended, so the pushed commit is not applied',
    setup: async (fixture) => {
      await deployed(fixture)
      await fixture.patch('Kustomization', 'shop', { spec: { suspend: true } })
      await push(fixture, second)
    },
    expect: { outcome: 'stalled', reason: 'wrong-revision' },
    cause: 'it is suspended',
  },
  {
    ...common,
    ...giveUp,
    name: `${name}-revision-dependency-missing`,
    state: 'failing',
    note: 'the Kustomization depends on another one that does not exist, so the pushed commit is not applied',
    setup: async (fixture) => {
      await deployed(fixture)
      await fixture.patch('Kustomization', 'shop', { spec: { dependsOn: [{ name: 'database' }] } })
      await push(fixture, second)
    },
    expect: { outcome: 'stalled', reason: 'wrong-revision' },
    cause: '/database',
  },
  {
    ...common,
    name: `${name}-revision-made-again`,
    state: 'changed-during',
    note: 'the Kustomization is deleted and made again before the commit is pushed',
    setup: (fixture) => deployed(fixture),
    during: async (fixture) => {
      await fixture.wait(3)
      await fixture.delete('Kustomization', 'shop')
      await fixture.until('it is gone', (informer) => informer.get('Kustomization', 'shop') === undefined)
      await push(fixture, second)
      await fixture.apply(kustomization(fixture))
    },
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 25,
  },
  {
    ...common,
    ...pushesSecond,
    name: `${name}-artifact-arrives`,
    state: 'healthy',
    note: 'an OCI artifact is pushed to the same tag while the gate waits for its digest',
    setup: (fixture) => deployed(fixture, undefined, {}, new OciSource()),
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-artifact-before`,
    state: 'healthy',
    note: 'the OCI artifact was applied before the gate began; its short digest is awaited',
    inputsFrom: (fixture) => at(sourceOf(fixture).id(second).slice(0, 15)),
    setup: async (fixture) => {
      await deployed(fixture, undefined, {}, new OciSource())
      await push(fixture, second)
      await fixture.until('the second artifact runs', running(second, 'v2'))
    },
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 20,
  },
  {
    ...common,
    ...pushesSecond,
    name: `${name}-artifact-tag`,
    state: 'healthy',
    note: 'an OCI artifact with a higher version is pushed while the gate waits for its tag',
    inputsFrom: () => at('1.1.0'),
    setup: (fixture) => deployed(fixture, undefined, {}, new OciSource(['1.0.0', '1.1.0'], { semver: '1.x' })),
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 20,
  },
  {
    ...common,
    ...pushesSecond,
    name: `${name}-artifact-commit`,
    state: 'healthy',
    note: 'an OCI artifact is pushed while the gate waits for the commit that it was made from',
    inputsFrom: (fixture) => at(sourceOf(fixture).repository.commit(second)),
    setup: (fixture) => deployed(fixture, undefined, {}, new OciSource()),
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 20,
  },
  {
    ...common,
    ...giveUp,
    name: `${name}-artifact-missing`,
    state: 'failing',
    note: 'the OCI artifact is never pushed; the one before it with the same tag is healthy',
    setup: (fixture) => deployed(fixture, undefined, {}, new OciSource()),
    expect: { outcome: 'stalled', reason: 'wrong-revision' },
    cause: '(latest)',
  },
  {
    ...common,
    ...pushesOther(third),
    name: `${name}-artifact-superseded`,
    state: 'changed-during',
    note: 'a newer OCI artifact with the same tag is applied while the pods of the awaited one start',
    setup: (fixture) => deployed(fixture, [web(slow), web({ image: 'v3' })], {}, new OciSource()),
    expect: { outcome: 'superseded', reason: 'superseded' },
    decidedBy: applied(third),
    takesSeconds: 25,
  },
  {
    ...common,
    ...pushesSecond,
    name: `${name}-artifact-unhealthy`,
    state: 'failing',
    note: 'the health check of the OCI artifact that was made from the commit fails',
    inputsFrom: (fixture) => at(sourceOf(fixture).repository.commit(second)),
    setup: (fixture) => deployed(fixture, [web(slow)], { wait: true, timeout: '30s' }, new OciSource()),
    expect: { outcome: 'failed', reason: 'reported-failed' },
    cause: 'Deployment/',
    decidedBy: failedFor10s,
    takesSeconds: 60,
  },
  {
    ...common,
    name: `${name}-revision-other-folder`,
    state: 'stale',
    note: 'the Kustomization names another folder of the same commit while its controller is stopped',
    ...otherFolder,
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 40,
  },
]
