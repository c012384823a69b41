import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { KubeObject } from '../cluster/api.ts'
import { all, type ClusterState, pullRefused, secondsAfterStart } from '../cluster/cluster-states.ts'
import type { Fixture } from '../cluster/fixture.ts'
import { appService, type ContainerOptions, coreObject, deployment, scriptJob, slowStart } from '../cluster/objects.ts'
import type { Operator, OperatorScenario } from './operator.ts'
import { type Files, Repository } from './repository.ts'
import { deploymentRuns, whileStopped } from './states.ts'

const name = 'argo-cd'
const group = 'argoproj.io/v1alpha1'

/** The namespace of Argo CD. Applications are in the namespaces of the scenarios. */
const home = 'argocd'
const partOf = { 'app.kubernetes.io/part-of': 'argocd' }

/** The application controller and the repo-server, the newest release whose modules are all published. */
export const argoCd: Operator = {
  name,
  module: 'github.com/argoproj/argo-cd/v3@v3.2.12',
  program: 'cmd/rollout-gate',
  files: {
    'cmd/rollout-gate/main.go': readFileSync(join(import.meta.dirname, 'argo-cd.go'), 'utf8'),
    // This release calls the function, and lacks it.
    'util/settings/external_url.go': 'package settings\n\nfunc ValidateExternalURL(string) error { return nil }\n',
  },
  definitions: ['manifests/crds'],
  kinds: ['Application'],
  objects: {
    [`/api/v1/namespaces/${home}`]: coreObject('Namespace', home),
    [`/api/v1/namespaces/${home}/configmaps/argocd-cm`]: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'argocd-cm', labels: partOf },
    },
    [`/api/v1/namespaces/${home}/secrets/argocd-secret`]: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'argocd-secret', labels: partOf },
      stringData: { 'server.secretkey': 'unused' },
    },
    [`/apis/${group}/namespaces/${home}/appprojects/default`]: {
      apiVersion: group,
      kind: 'AppProject',
      metadata: { name: 'default' },
      spec: {
        sourceRepos: ['*'],
        sourceNamespaces: ['*'],
        destinations: [{ server: '*', namespace: '*' }],
        clusterResourceWhitelist: [{ group: '*', kind: '*' }],
      },
    },
  },
  // A commit is found when it is pushed, as with a webhook, and not by polling.
  args: () => [`--namespace=${home}`, '--application-namespaces=*', '--app-resync=3600'],
  started: /starting grpc server/,
}

/** By namespace. */
const repositories = new Map<string, Repository>()

function repositoryOf({ namespace }: Pick<Fixture, 'namespace'>): Repository {
  const found = repositories.get(namespace)
  if (found === undefined) throw new Error(`${namespace} has no repository`)
  return found
}

/** Pushes a commit, and lets Argo CD compare with it, as its webhook does. */
async function push(fixture: Fixture, index: number, application = 'shop'): Promise<void> {
  repositoryOf(fixture).push(index)
  await refresh(fixture, application)
}

/** Requests a refresh. Argo CD removes the annotation when it has compared; one in forty stays, and is written again. */
async function refresh(fixture: Fixture, application = 'shop'): Promise<void> {
  const annotations = { 'argocd.argoproj.io/refresh': 'normal', 'tests/attempt': '' }
  for (const attempt of [1, 2, 3]) {
    annotations['tests/attempt'] = String(attempt)
    const requested = await fixture.patch('Application', application, { metadata: { annotations } })
    const isCompared = await fixture.informer
      .until('Argo CD has compared', 5, (informer) => {
        const { resourceVersion = '', annotations: left }: KubeObject['metadata'] =
          informer.get('Application', application)?.metadata ?? requested.metadata
        const isLater = Number(resourceVersion) > Number(requested.metadata.resourceVersion)
        return isLater && left?.['argocd.argoproj.io/refresh'] === undefined
      })
      .catch(() => false)
    if (isCompared) return
  }
  throw new Error('Argo CD does not refresh')
}

/** Queues a sync, as `argocd app sync` and `argocd app rollback` do. */
async function sync(fixture: Fixture, index: number): Promise<void> {
  const revision = repositoryOf(fixture).commit(index)
  await fixture.patch('Application', 'shop', { operation: { sync: { revision }, initiatedBy: { username: 'tests' } } })
}

const automated = { automated: { prune: true }, retry: { limit: 0 } }

/** An Application of a folder of the repository. */
function application(fixture: Fixture, syncPolicy: object = automated, path = 'app', child = 'shop'): KubeObject {
  const { folder } = repositoryOf(fixture)
  return {
    apiVersion: group,
    kind: 'Application',
    metadata: { name: child },
    spec: {
      project: 'default',
      source: { repoURL: `file://${folder}`, path, targetRevision: 'main' },
      destination: { server: 'https://kubernetes.default.svc', namespace: fixture.namespace },
      syncPolicy,
    },
  }
}

/** A Deployment of one pod. */
const web = (options: ContainerOptions = {}) => deployment('web', options, { replicas: 1 })

/** A Job that runs in a phase of the sync, and fails. */
function failingHook(phase: 'PreSync' | 'PostSync'): KubeObject {
  const hook = scriptJob('migrate', 'echo "no such column" >&2; exit 3', { backoffLimit: 0 })
  return { ...hook, metadata: { name: 'migrate', annotations: { 'argocd.argoproj.io/hook': phase } } }
}

/** The commits of a scenario: the first is deployed before the gate, the second is awaited, a third may follow. */
const [first, second, third] = [0, 1, 2]
const slow = { image: 'v2', script: slowStart(30) }

/** Makes the repository with its commits, and deploys the first one. */
async function deployed(
  fixture: Fixture,
  commits: readonly Files[] = [{ 'app/web.yaml': web({ image: 'v2' }) }],
  syncPolicy: object = automated,
): Promise<void> {
  const repository = new Repository()
  repositories.set(fixture.namespace, repository)
  for (const files of [{ 'app/web.yaml': web() }, ...commits]) repository.add(files)
  repository.push(first)
  await fixture.apply(application(fixture, syncPolicy))
  if (!('automated' in syncPolicy)) await sync(fixture, first)
  await fixture.until('the first commit runs', running(first, 'v1'))
}

/** A state of the Application `shop`; its commit is that of its repository. */
const ofShop =
  (test: (status: KubeObject, commit: (index: number) => string, object: KubeObject) => unknown): ClusterState =>
  (informer) => {
    const object = informer.get('Application', 'shop')
    const repository = repositories.get(object?.metadata.namespace ?? '')
    if (object?.['status'] === undefined || repository === undefined) return undefined
    return test(object['status'], (index) => repository.commit(index), object) ? Date.now() : undefined
  }

/** The commit is synced, and no operation is under way. */
const synced = (index: number): ClusterState =>
  ofShop(
    ({ sync, operationState }, commit, { operation }) =>
      operation === undefined &&
      sync?.status === 'Synced' &&
      sync.revision === commit(index) &&
      operationState?.phase === 'Succeeded',
  )

/** The commit is synced, its pod is ready, and Argo CD finds the Application healthy. */
const running = (index: number, image: string): ClusterState =>
  all(
    synced(index),
    ofShop(({ health }) => health?.status === 'Healthy'),
    deploymentRuns('web', image),
  )

/** The sync of the commit has failed. */
const syncFailed = (index: number): ClusterState =>
  ofShop(
    ({ operationState }, commit) =>
      ['Failed', 'Error'].includes(operationState?.phase) && operationState.syncResult?.revision === commit(index),
  )

/** The newest entry of the history is this commit, for the `times`th time. */
const lastDeployed = (index: number, times = 1): ClusterState =>
  ofShop(({ history = [], operationState }, commit) => {
    const entries: { revision: string }[] = history
    const isLast = entries.at(-1)?.revision === commit(index) && operationState?.phase === 'Succeeded'
    return isLast && entries.filter(({ revision }) => revision === commit(index)).length === times
  })

/** A sync of the commit is under way or is retried. */
const syncing = (index: number): ClusterState =>
  ofShop(
    ({ operationState }, commit) =>
      operationState?.phase === 'Running' && operationState.syncResult?.revision === commit(index),
  )

const common = {
  operator: name,
  isRace: true,
  inputsFrom: (fixture: Fixture) => ({
    resources: `application/shop --revision=${repositoryOf(fixture).commit(second)}`,
  }),
  after: async (fixture: Fixture) => {
    const { folder } = repositoryOf(fixture)
    repositories.delete(fixture.namespace)
    rmSync(folder, { recursive: true })
  },
} as const
const giveUp = { inputs: { 'await-change': '12s' }, decidedBy: secondsAfterStart(8), takesSeconds: 25 } as const

/** The scenario pushes the awaited commit while the gate waits. */
const pushesSecond = {
  inputs: {},
  during: async (fixture: Fixture) => {
    await fixture.wait(3)
    await push(fixture, second)
  },
} as const

/** A quota that refuses the Service of the commit. */
const noServices = coreObject('ResourceQuota', 'no-services', { spec: { hard: { 'count/services': '0' } } })
const withService = { 'app/web.yaml': web({ image: 'v2' }), 'app/service.yaml': appService('web') }
const retrying = (refresh: boolean) => ({
  ...automated,
  retry: { limit: 5, refresh, backoff: { duration: '5s', factor: 1, maxDuration: '5s' } },
})

const stopped = whileStopped(
  name,
  (fixture) => deployed(fixture, undefined, {}),
  async (fixture) => {
    repositoryOf(fixture).push(second)
    await sync(fixture, second)
  },
  common.after,
)

/** The commit is deployed from one of its folders, and the controller is stopped when the Application names the other one. */
const otherFolder = whileStopped(
  name,
  async (fixture) => {
    await deployed(fixture, [{ 'app/web.yaml': web(), 'next/web.yaml': web({ image: 'v2' }) }])
    await push(fixture, second)
    await fixture.until('the second commit runs', running(second, 'v1'))
  },
  async (fixture) => {
    await fixture.patch('Application', 'shop', { spec: { source: { path: 'next' } } })
  },
  common.after,
)

export const argoCdScenarios: readonly OperatorScenario[] = [
  {
    ...common,
    ...pushesSecond,
    name: `${name}-revision-arrives`,
    state: 'healthy',
    note: 'the commit is pushed while the gate waits; until then Argo CD is Synced at the one before it',
    setup: (fixture) => deployed(fixture),
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 20,
  },
  {
    ...common,
    name: `${name}-revision-before`,
    state: 'healthy',
    note: 'the commit was synced before the gate began; its short hash is awaited',
    inputs: {},
    inputsFrom: (fixture) => ({
      resources: `application/shop --revision=${repositoryOf(fixture).commit(second).slice(0, 8)}`,
    }),
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
    ...pushesSecond,
    name: `${name}-revision-without-change`,
    state: 'healthy',
    note: 'the commit changes a document only, so Argo CD finds it synced without a sync',
    setup: (fixture) => deployed(fixture, [{ 'app/web.yaml': web(), 'notes.txt': 'new' }]),
    expect: { outcome: 'ready' },
    decidedBy: synced(second),
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
    cause: 'Argo CD is at ',
  },
  {
    ...common,
    ...giveUp,
    name: `${name}-revision-source-not-found`,
    state: 'failing',
    note: 'the branch of the Application is deleted',
    setup: async (fixture) => {
      await deployed(fixture)
      repositoryOf(fixture).deleteBranch()
      await refresh(fixture)
    },
    expect: { outcome: 'stalled', reason: 'wrong-revision' },
    cause: 'ComparisonError: ',
  },
  {
    ...common,
    ...giveUp,
    name: `${name}-revision-without-path`,
    state: 'failing',
    note: 'the commit does not have the folder of the Application',
    setup: async (fixture) => {
      await deployed(fixture, [{ 'other/web.yaml': web() }])
      await push(fixture, second)
    },
    expect: { outcome: 'stalled', reason: 'wrong-revision' },
    cause: 'app path does not exist',
  },
  {
    ...common,
    ...giveUp,
    name: `${name}-revision-not-synced`,
    state: 'suspended',
    note: 'automatic sync is off, so the pushed commit is only compared',
    setup: async (fixture) => {
      await deployed(fixture, undefined, {})
      await push(fixture, second)
    },
    expect: { outcome: 'stalled', reason: 'wrong-revision' },
    cause: 'automatic sync is off',
  },
  {
    ...common,
    ...pushesSecond,
    name: `${name}-revision-sync-fails`,
    state: 'failing',
    note: 'the API server refuses the Deployment of the commit',
    setup: (fixture) => deployed(fixture, [{ 'app/web.yaml': deployment('web', {}, { replicas: -1 }) }]),
    expect: { outcome: 'failed', reason: 'reported-failed' },
    cause: 'must be greater than or equal to 0',
    decidedBy: syncFailed(second),
    takesSeconds: 25,
  },
  {
    ...common,
    name: `${name}-revision-retried`,
    state: 'healthy',
    note: 'a quota refuses a Service of the commit until the second retry of the sync',
    inputs: {},
    setup: async (fixture) => {
      await deployed(fixture, [withService], retrying(false))
      await fixture.apply(noServices)
    },
    during: async (fixture) => {
      await fixture.wait(3)
      await push(fixture, second)
      await fixture.until(
        'the sync is retried',
        all(
          syncing(second),
          ofShop(({ operationState }) => operationState?.retryCount === 1),
        ),
      )
      await fixture.delete('ResourceQuota', 'no-services')
    },
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 30,
  },
  {
    ...common,
    name: `${name}-revision-retry-superseded`,
    state: 'changed-during',
    note: 'a quota refuses the commit, and the retry takes a newer one',
    inputs: {},
    setup: async (fixture) => {
      await deployed(fixture, [withService, { 'app/web.yaml': web({ image: 'v3' }) }], retrying(true))
      await fixture.apply(noServices)
    },
    during: async (fixture) => {
      await fixture.wait(3)
      await push(fixture, second)
      await fixture.until('the sync is retried', syncing(second))
      await push(fixture, third)
    },
    expect: { outcome: 'superseded', reason: 'superseded' },
    decidedBy: lastDeployed(third),
    takesSeconds: 30,
  },
  {
    ...common,
    name: `${name}-revision-superseded`,
    state: 'changed-during',
    note: 'a newer commit is synced while the pods of the awaited one start',
    inputs: {},
    setup: (fixture) => deployed(fixture, [{ 'app/web.yaml': web(slow) }, { 'app/web.yaml': web({ image: 'v3' }) }]),
    during: async (fixture) => {
      await fixture.wait(3)
      await push(fixture, second)
      await fixture.until('the second commit is synced', synced(second))
      await fixture.wait(3)
      await push(fixture, third)
    },
    expect: { outcome: 'superseded', reason: 'superseded' },
    decidedBy: lastDeployed(third),
    takesSeconds: 25,
  },
  {
    ...common,
    name: `${name}-revision-rolled-back`,
    state: 'changed-during',
    note: 'a rollback to the commit before while the pods of the awaited one start',
    inputs: {},
    setup: (fixture) => deployed(fixture, [{ 'app/web.yaml': web(slow) }], {}),
    during: async (fixture) => {
      await fixture.wait(3)
      await push(fixture, second)
      await sync(fixture, second)
      await fixture.until('the second commit is synced', synced(second))
      await fixture.wait(3)
      await sync(fixture, first)
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
    decidedBy: lastDeployed(first, 2),
    takesSeconds: 25,
  },
  {
    ...common,
    name: `${name}-revision-healed`,
    state: 'healthy',
    note: 'the Deployment is scaled by hand while its pods start, and Argo CD restores it',
    inputs: {},
    setup: (fixture) =>
      deployed(fixture, [{ 'app/web.yaml': web({ image: 'v2', script: slowStart(12) }) }], {
        ...automated,
        automated: { prune: true, selfHeal: true },
      }),
    during: async (fixture) => {
      await fixture.wait(3)
      await push(fixture, second)
      await fixture.until('the second commit is synced', synced(second))
      await fixture.patch('Deployment', 'web', { spec: { replicas: 3 } })
    },
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 35,
  },
  {
    ...common,
    ...pushesSecond,
    name: `${name}-revision-hook-fails`,
    state: 'failing',
    note: 'the Job of a PreSync hook of the commit fails',
    setup: (fixture) =>
      deployed(fixture, [{ 'app/web.yaml': web({ image: 'v2' }), 'app/migrate.yaml': failingHook('PreSync') }]),
    expect: { outcome: 'failed', reason: 'job-failed' },
    cause: 'job/migrate',
    decidedBy: syncFailed(second),
    takesSeconds: 25,
  },
  {
    ...common,
    ...pushesSecond,
    name: `${name}-revision-last-hook-fails`,
    state: 'failing',
    note: 'the Job of a PostSync hook fails, when the commit is Synced and Healthy',
    setup: (fixture) =>
      deployed(fixture, [{ 'app/web.yaml': web({ image: 'v2' }), 'app/migrate.yaml': failingHook('PostSync') }]),
    expect: { outcome: 'failed', reason: 'job-failed' },
    cause: 'job/migrate',
    decidedBy: syncFailed(second),
    takesSeconds: 25,
  },
  {
    ...common,
    ...pushesSecond,
    name: `${name}-revision-image-missing`,
    state: 'failing',
    note: 'the image of the commit does not exist',
    setup: (fixture) => deployed(fixture, [{ 'app/web.yaml': web({ image: '127.0.0.1:5995/missing:v2' }) }]),
    expect: { outcome: 'failed', reason: 'image-not-found' },
    cause: 'missing:v2',
    decidedBy: pullRefused('missing', 2),
    takesSeconds: 40,
  },
  {
    ...common,
    name: `${name}-revision-made-again`,
    state: 'changed-during',
    note: 'the Application is deleted and made again before the commit is pushed',
    inputs: {},
    setup: (fixture) => deployed(fixture),
    during: async (fixture) => {
      await fixture.wait(3)
      await fixture.delete('Application', 'shop')
      await fixture.until('it is gone', (informer) => informer.get('Application', 'shop') === undefined)
      repositoryOf(fixture).push(second)
      await fixture.apply(application(fixture))
    },
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 25,
  },
  {
    ...common,
    ...pushesSecond,
    name: `${name}-revision-of-applications`,
    state: 'healthy',
    note: 'the commit adds an Application, whose Deployment starts slowly',
    setup: async (fixture) => {
      const repository = new Repository()
      repositories.set(fixture.namespace, repository)
      // An empty retry is no part of what Argo CD writes: the child would be OutOfSync.
      const child = application(fixture, { automated: { prune: true } }, 'app', 'child')
      repository.add({ 'apps/notes.yaml': coreObject('ConfigMap', 'notes') })
      repository.add({ 'apps/child.yaml': child, 'app/web.yaml': web({ image: 'v2', script: slowStart(5) }) })
      repository.push(first)
      await fixture.apply(application(fixture, automated, 'apps'))
      await fixture.until('the first commit is synced', synced(first))
    },
    expect: { outcome: 'ready' },
    decidedBy: all(synced(second), deploymentRuns('web', 'v2'), (informer) => {
      const { status }: Partial<KubeObject> = informer.get('Application', 'child') ?? {}
      return status?.health?.status === 'Healthy' && status.sync?.status === 'Synced' ? Date.now() : undefined
    }),
    takesSeconds: 30,
  },
  {
    ...common,
    name: `${name}-revision-queued`,
    state: 'stale',
    note: 'a sync of the commit is queued while the controller is stopped',
    inputs: {},
    ...stopped,
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 40,
  },
  {
    ...common,
    name: `${name}-revision-other-folder`,
    state: 'stale',
    note: 'the Application names another folder of the same commit while the controller is stopped',
    inputs: {},
    ...otherFolder,
    expect: { outcome: 'ready' },
    decidedBy: running(second, 'v2'),
    takesSeconds: 40,
  },
]
