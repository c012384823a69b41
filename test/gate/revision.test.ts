import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CORE_SCHEMA, load, mergeTag } from 'js-yaml'
import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { Deployment, KubeObject } from '../../src/cluster/objects.ts'
import { parseHealthChecks } from '../../src/plan/health-checks.ts'
import type { Target } from '../../src/plan/target.ts'
import {
  added,
  allSynced,
  at,
  createRecording,
  createTarget,
  createWorkload,
  deleted,
  failed,
  modified,
  progressing,
  type Run,
  run,
  synced,
} from '../kit/gate.ts'
import { complete, condition, is, iso, make, ownedBy } from '../kit/objects.ts'
import { revive } from '../kit/rows.ts'
import { inWords } from '../kit/tape.ts'
import { type CaseOptions, endOf, expectResult } from '../kit/tape-cases.ts'
import { runCommand } from '../support/command.ts'
import { application, applicationsListed, applicationTarget, newer, older, revisionSettings, wanted } from './gitops.ts'

type Steps = readonly (readonly FeedEvent[])[]

const web = createWorkload('web')
const settings = await revisionSettings([applicationTarget()])

/** How a gate of an Application ends. */
function applicationRun(steps: Steps, target: Partial<Target> = {}, others: Partial<typeof settings> = {}): Run {
  return run(steps, { targets: [applicationTarget(target)], settings: { ...settings, ...others } })
}

/** The first lists, with the Deployment that the Application deployed. */
const begin = (object: KubeObject, ...workload: Parameters<typeof at>[1][]) =>
  at(0, added(object), applicationsListed, ...(workload.length > 0 ? workload : [web.done]), allSynced)
const then = (seconds: number, object: KubeObject) => at(seconds, modified(object))

const before = application()
const compared = application({ revision: wanted, status: 'OutOfSync' })
const syncedAt = (seconds: number) =>
  application({ revision: wanted, history: [older, wanted], finishedAt: seconds - 1, reconciledAt: seconds })
const failedSync = (overrides: object = {}) =>
  application({
    revision: wanted,
    status: 'OutOfSync',
    phase: 'Failed',
    of: wanted,
    message: 'one or more objects failed to apply',
    ...overrides,
  })
const hook = {
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  namespace: 'shop',
  name: 'migrate',
  hookType: 'PostSync',
  hookPhase: 'Failed',
  message: 'Job has reached the specified backoff limit',
}
const pulling = web.pod({
  phase: 'Pending',
  containerStatuses: [
    make.containerStatus({ state: { waiting: { reason: 'ErrImageNeverPull', message: 'image never pulled' } } }),
  ],
})

/** An Application whose last operation has neither a result nor an end (https://github.com/argoproj/argo-cd/issues/29636). */
function withoutResult(object: KubeObject): KubeObject {
  const status = object.status as Record<string, unknown>
  return { ...object, status: { ...status, operationState: { phase: 'Succeeded', startedAt: iso(-60) } } } as KubeObject
}

const readyAt = (seconds: number) => ({ outcome: 'ready', reason: '', seconds })
const failedAt = (seconds: number, reason = 'reported-failed') => ({ outcome: 'failed', reason, seconds })
const wrongRevision = { outcome: 'stalled', reason: 'wrong-revision', seconds: 600 }

/** What happens in a second: words of a tape about `web`, `gone`, `synced` at this second, or fields of the object. */
type Happening = string | object
type Case = readonly [
  steps: Readonly<Record<number, Happening | readonly Happening[]>>,
  end: string,
  options?: CaseOptions & Pick<Target, 'revisions'> & { readonly revision?: string },
]

const named = { older, wanted, newer }
const text = readFileSync(join(import.meta.dirname, 'revision.yaml'), 'utf8')
const data = load(text, { schema: CORE_SCHEMA.withTags(mergeTag) })
const cases = (kind: string) => Object.entries((data as Record<string, Record<string, Case>>)[kind] ?? {})

/** The Deployment with the labels of a release. */
function labelled(status: Deployment['status'], release: string): Observation[] {
  const labels = { 'helm.toolkit.fluxcd.io/name': release, 'helm.toolkit.fluxcd.io/namespace': 'shop' }
  return added(web.deployment(status, { metadata: { labels } }))
}

/** Data in which `older`, `wanted` and `newer` are the commits. */
function withCommits<Part>(part: Part): Part {
  const toCommit = (text: string) => text.replace(/\b(?:older|wanted|newer)\b/g, (name) => named[name as 'older'])
  const commits = JSON.parse(JSON.stringify(part), (_, value) => (typeof value === 'string' ? toCommit(value) : value))
  return revive(commits) as Part
}

/** The steps of a case. */
function stepsOf(
  [steps]: Case,
  list: readonly Observation[],
  objectOf: (fields: never, second: number) => KubeObject,
): Steps {
  return Object.entries(withCommits(steps)).map(([time, step]) => {
    const second = Number(time)
    const happenings = [step].flat().map((each) => {
      if (each === 'gone') return deleted(objectOf({} as never, second))
      if (typeof each === 'object') return added(objectOf(each as never, second))
      if (each === 'synced') return added(syncedAt(second))
      const [, status, release] = /^web (creating|done) of (\w+)$/.exec(each) ?? []
      return release === undefined
        ? inWords(each, second)
        : labelled(status === 'done' ? complete() : progressing, release)
    })
    const isDone = second === 0 && !(Array.isArray(step) && step.some((each) => `${each}`.startsWith('web')))
    return at(second, ...happenings, ...(isDone ? [web.done] : []), ...(second === 0 ? [...list, ...allSynced] : []))
  })
}

function expectEnd(result: Run, [, end, options = {}]: Case): void {
  expect(endOf(result)).toBe(end)
  expectResult(result, options)
}

/** The replay of a recording with these steps. */
async function replayed(steps: Steps) {
  const inputs = { resources: [`application/shop -n argocd --revision=${wanted.slice(0, 8)}`] }
  const folder = mkdtempSync(join(tmpdir(), 'revision-'))
  writeFileSync(join(folder, 'shop.ndjson'), createRecording(inputs, steps))
  const run = await runCommand(['replay', '--json', join(folder, 'shop.ndjson')])
  rmSync(folder, { recursive: true })
  return run
}

describe('an Application with an awaited revision', () => {
  it.each(cases('an Application'))('%s', (_, each) => {
    const [, , options = {}] = each
    const { revision, revisions = [{ revision: revision ?? wanted }], clocks = {}, settings: more } = options
    const target = { revisions: withCommits(revisions), clocks }
    expectEnd(applicationRun(stepsOf(each, applicationsListed, application), target, more), each)
  })

  it('is ready by its own status if its Deployment may not be read', () => {
    const steps = [
      at(0, added(application({ revision: wanted, history: [wanted] })), applicationsListed),
      at(1, { ...failed(403, 'Deployment'), namespace: 'shop', name: 'web' }),
    ]
    expect(applicationRun(steps)).toMatchObject(readyAt(0))
  })

  it('is not ready by an operation that succeeded without a result', () => {
    const steps = [begin(withoutResult(before)), then(5, withoutResult(compared))]
    expect(applicationRun(steps)).toMatchObject(wrongRevision)
  })

  it('is not ready before the health check of the user is true', async () => {
    const text = '- {apiVersion: argoproj.io/v1alpha1, kind: Application, current: status.isTested}'
    const healthChecks = await parseHealthChecks(text, 'checks.yaml')
    const steps = [begin(syncedAt(0)), then(1, syncedAt(0))]
    expect(applicationRun(steps, {}, { healthChecks })).toMatchObject({ outcome: 'stalled', seconds: 300 })
  })

  it.each([
    [
      'in the same cluster, with its container',
      {},
      'job/migrate in namespace shop: the Job failed: no more tries (BackoffLimitExceeded): container app of pod/migrate-x exited with code 3',
      'app',
    ],
    [
      'in another cluster, without a container',
      { destination: { server: 'https://prod.example.com', namespace: 'shop' } },
      'job/migrate in namespace shop: the Job failed: one or more objects failed to apply',
      undefined,
    ],
  ])('reports a failed hook Job %s', (_, where, message, container) => {
    const job: KubeObject = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'migrate', namespace: 'shop', uid: 'migrate-uid', creationTimestamp: iso(5) },
      spec: { template: { spec: { containers: [{ name: 'app' }] } } },
      status: {
        conditions: [condition('Failed', 'True', { reason: 'BackoffLimitExceeded', message: 'no more tries' })],
      },
    }
    const pod = make.pod({
      metadata: { name: 'migrate-x', ownerReferences: ownedBy(job) },
      status: { phase: 'Failed', containerStatuses: [make.containerStatus({ state: is.terminated(3, 7) })] },
    })
    const withHook = (hookPhase: string) => ({ ...where, revision: wanted, results: [{ ...hook, hookPhase }] })
    const { record, ...end } = applicationRun([
      begin(application(where)),
      then(5, application({ ...withHook('Running'), phase: 'Running', of: wanted })),
      at(7, added(job, pod)),
      then(8, failedSync(withHook('Failed'))),
    ])
    expect(end).toMatchObject(failedAt(8, 'job-failed'))
    expect(end.message).toBe(`application/shop: ${message}`)
    expect(record.targets[0]?.problems[0]?.basis.cause?.container).toBe(container)
    expect(record.targets[0]?.problems[0]?.namespace).toBe('shop')
  })

  it('has the verdict and targets of the live gate in a replay', async () => {
    const steps = [begin(before, web.creating), then(5, syncedAt(5)), at(8, modified(pulling))]
    const { code, stdout } = await replayed(steps)
    const { outcome, reason, targets } = JSON.parse(stdout)
    expect({ code, outcome, reason }).toEqual({ code: 1, outcome: 'failed', reason: 'image-never-pull' })
    expect(targets.map(({ target, namespace }: Record<string, string>) => [target, namespace])).toEqual([
      ['application.argoproj.io/shop', 'argocd'],
      ['deployment.apps/web', 'shop'],
    ])
  })

  it.each([
    ['shows', 'with', { 'argocd.argoproj.io/tracking-id': 'shop:apps/Deployment:shop/web' }],
    ['does not show', 'without', {}],
  ])(
    '%s the events of a pod in another namespace %s the tracking annotation of Argo CD',
    async (shows, _, annotations) => {
      const marked = web.deployment(progressing, { metadata: { annotations } })
      const dead = web.pod({
        containerStatuses: [
          make.containerStatus({ state: { waiting: { reason: 'ErrImageNeverPull', message: 'image never pulled' } } }),
        ],
      })
      const failure = make.event(dead, {
        type: 'Warning',
        reason: 'Failed',
        message: 'text of the event',
        lastTimestamp: iso(1),
      })
      const steps = [begin(syncedAt(0), added(marked, web.replicaSet, dead, failure))]
      const { stdout } = await replayed(steps)
      expect(JSON.parse(stdout)).toMatchObject({ reason: 'image-never-pull' })
      expect(stdout.includes('text of the event')).toBe(shows === 'shows')
    },
  )

  it('waits until an Application that it deployed is healthy', () => {
    const child = {
      ...application({ health: 'Progressing' }),
      metadata: { name: 'child', namespace: 'argocd', uid: 'child' },
    }
    const resources = [
      { group: 'argoproj.io', version: 'v1alpha1', kind: 'Application', namespace: 'argocd', name: 'child' },
    ]
    const parent = application({ revision: wanted, history: [wanted], resources })
    const healthy = { ...application(), metadata: child.metadata }
    expect(applicationRun([at(0, added(parent, child), applicationsListed), at(7, modified(healthy))])).toMatchObject(
      readyAt(7),
    )
  })

  it('is ready once each of its sources is at its revision', () => {
    const sources = [
      { repoURL: 'r', name: 'app', path: '.' },
      { repoURL: 'c', chart: 'web', targetRevision: '1.*' },
    ]
    const at2 = (revisions: readonly string[]) => {
      const one = application({ history: [] })
      const status = {
        ...(one.status as object),
        sync: { status: 'Synced', revisions, comparedTo: { sources } },
        history: [{ id: 1, revisions, sources, deployedAt: iso(-9) }],
        operationState: { phase: 'Succeeded', syncResult: { revisions, sources } },
      }
      return { ...one, spec: { sources, destination: {} }, status }
    }
    const target = {
      revisions: [
        { source: 'app', revision: wanted.slice(0, 7) },
        { source: 'web', revision: '1.4.2' },
      ],
    }
    expect(applicationRun([begin(at2([wanted, '1.4.1'])), then(5, at2([wanted, '1.4.2']))], target)).toMatchObject(
      readyAt(5),
    )
    const positions = {
      revisions: [
        { source: '1', revision: wanted },
        { source: '2', revision: '1.4.2' },
      ],
    }
    expect(applicationRun([begin(at2([wanted, '1.4.2']))], positions)).toMatchObject(readyAt(0))
  })
})

interface FluxStatus {
  readonly spec?: object
  readonly generation?: number
  /** A commit of main, or another revision. */
  readonly applied?: string
  readonly attempted?: string
  /** Of the applied objects, which were applied first in second `since`. */
  readonly digest?: string
  readonly since?: number
  /** `2 1.4.2 deployed`, the last one first. */
  readonly releases?: readonly string[]
}

function statusOf({ applied, digest, attempted = digest && applied, since = -90, releases, ...rest }: FluxStatus) {
  const revisionOf = (text = '') => (/^[0-9a-f]{40}$/.test(text) ? `main@sha1:${text}` : text)
  const kept = {
    digest: `sha256:${digest}`,
    metadata: { revision: revisionOf(applied) },
    lastReconciledStatus: 'ReconciliationSucceeded',
    firstReconciled: iso(since),
    lastReconciled: iso(0),
  }
  return {
    ...(applied && { lastAppliedRevision: revisionOf(applied) }),
    ...(attempted && { lastAttemptedRevision: revisionOf(attempted) }),
    ...(digest && { history: [kept] }),
    ...(releases && {
      history: releases.map((release) => {
        const [version, chartVersion, status] = release.split(' ')
        const lastDeployed = iso(-60 + Number(version))
        return { version: Number(version), chartVersion, status, chartName: 'web', lastDeployed }
      }),
    }),
    ...rest,
  }
}

/** A gate of an object of Flux at a revision. */
async function fluxGate(apiVersion: string, kind: string, revision: string, each: Case): Promise<Run> {
  const namespace = 'shop'
  const target = createTarget({ apiVersion, kind, namespace, name: 'shop', revisions: [{ revision }] })
  const object = ({ spec, generation = 1, ...status }: FluxStatus) =>
    ({
      apiVersion,
      kind,
      metadata: { name: 'shop', namespace, uid: 'flux-uid', generation, creationTimestamp: iso(-3_600) },
      spec: { interval: '10m', ...spec },
      status: {
        observedGeneration: 1,
        inventory: { entries: [{ id: 'shop_web_apps_Deployment', v: 'v1' }] },
        ...statusOf(status),
      },
    }) as unknown as KubeObject
  const steps = stepsOf(each, synced(`${apiVersion} ${kind}`), object)
  return run(steps, { targets: [target], settings: await revisionSettings([target]) })
}

it.each(cases('a Kustomization'))('a Kustomization with an awaited revision %s', async (_, each) => {
  const revision = each[2]?.revision ?? wanted
  expectEnd(await fluxGate('kustomize.toolkit.fluxcd.io/v1', 'Kustomization', revision, each), each)
})

it.each(cases('a HelmRelease'))('a HelmRelease with an awaited version %s', async (_, each) => {
  expectEnd(await fluxGate('helm.toolkit.fluxcd.io/v2', 'HelmRelease', '1.4.2', each), each)
})
