import type { KubeObject } from '../../src/cluster/objects.ts'
import type { GateSettings } from '../../src/gate/settings.ts'
import { loadChecks } from '../../src/lifecycle/rules.ts'
import type { Target } from '../../src/plan/target.ts'
import { createTarget, synced } from '../kit/gate.ts'
import { iso } from '../kit/objects.ts'

/** A commit of 40 digits that begins with these. */
const commit = (start: string) => start.padEnd(40, '0')
export const [older, wanted, newer] = [commit('a0000001'), commit('b0000002'), commit('c0000003')]

const repoURL = 'http://127.0.0.1/shop.git'
const sourceAt = (targetRevision = 'main', tag?: string) => ({
  repoURL,
  path: '.',
  targetRevision,
  ...(tag && { helm: { parameters: [{ name: 'image.tag', value: tag }] } }),
})

/** A finished sync of an Application, as Argo CD appends it to the history. */
const historyEntry = (revision: string, index: number, seconds: number) => ({
  id: index,
  revision,
  deployedAt: iso(seconds),
  deployStartedAt: iso(seconds - 1),
  source: sourceAt(),
})

interface Sync {
  /** The revision that it was compared with, and the result. */
  readonly revision?: string
  readonly status?: 'Synced' | 'OutOfSync' | 'Unknown'
  readonly health?: string
  /** The revisions that were deployed, the oldest first. */
  readonly history?: readonly string[]
  /** The last operation. */
  readonly phase?: string
  readonly of?: string
  /** The revision of its result: of the operation before, until this one has a result. */
  readonly result?: string
  readonly retryCount?: number
  readonly message?: string
  readonly results?: readonly object[]
  readonly finishedAt?: number
  readonly reconciledAt?: number
  readonly resources?: readonly object[]
  readonly conditions?: readonly object[]
  readonly automated?: object | undefined
  readonly destination?: object
  readonly queued?: string
  readonly targetRevision?: string
  readonly comparedTo?: string
  /** The tag of the image in the parameters of its spec, and in those that it was compared with. */
  readonly tag?: string
  readonly comparedTag?: string
  readonly uid?: string
  /** What Argo CD has hydrated: then the source is a branch of rendered manifests. */
  readonly hydrator?: object
}

const webResource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  namespace: 'shop',
  name: 'web',
  status: 'Synced',
}

/**
 * An Application as the application controller writes it
 * (https://github.com/argoproj/argo-cd/blob/v3.5.7/pkg/apis/application/v1alpha1/types.go).
 */
export function application(sync: Sync = {}): KubeObject {
  const {
    revision = older,
    status = 'Synced',
    health = 'Healthy',
    history = [older],
    phase = 'Succeeded',
    of = history.at(-1) ?? revision,
    result = of,
    retryCount,
    message = phase === 'Succeeded' ? 'successfully synced (all tasks run)' : `sync is ${phase}`,
    results = [],
    finishedAt = -180,
    reconciledAt = -179,
    resources = [webResource],
    conditions = [],
    destination = { server: 'https://kubernetes.default.svc', namespace: 'shop' },
    queued,
    targetRevision = 'main',
    comparedTo = targetRevision,
    tag = '',
    comparedTag = tag,
    uid = 'app-uid',
    hydrator,
  } = sync
  const automated = 'automated' in sync ? sync.automated : { prune: true }
  const requested = queued ?? (phase === 'Running' ? of : undefined)
  return {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'shop', namespace: 'argocd', uid, generation: 1, creationTimestamp: iso(-3_600) },
    spec: {
      ...(hydrator
        ? { sourceHydrator: { syncSource: { targetBranch: 'main', path: '.' } } }
        : { source: sourceAt(targetRevision, tag) }),
      destination,
      ...(automated && { syncPolicy: { automated } }),
    },
    // An operation stays in the object until it is finished.
    ...(requested && { operation: { sync: { revision: requested }, initiatedBy: { automated: true } } }),
    status: {
      resources,
      sync: { status, revision, comparedTo: { source: sourceAt(comparedTo, comparedTag), destination } },
      health: { status: health },
      history: history.map((each, index) => historyEntry(each, index, -180 + index)),
      ...(conditions.length > 0 && { conditions }),
      ...(hydrator && { sourceHydrator: hydrator }),
      reconciledAt: iso(reconciledAt),
      operationState: {
        operation: { sync: { revision: of } },
        phase,
        message,
        startedAt: iso(finishedAt - 2),
        ...(phase === 'Running' ? {} : { finishedAt: iso(finishedAt) }),
        ...(retryCount === undefined ? {} : { retryCount }),
        syncResult: { revision: result, source: sourceAt(), resources: results },
      },
    },
  } as KubeObject
}

export const applicationTarget = (overrides: Partial<Target> = {}) =>
  createTarget({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    namespace: 'argocd',
    name: 'shop',
    revisions: [{ revision: wanted }],
    ...overrides,
  })

/** The first list of the Applications is complete. */
export const applicationsListed = synced('argoproj.io/v1alpha1 Application@argocd')

/** The settings of a gate with these targets, with the catalogue and the rule of revisions. */
export async function revisionSettings(targets: readonly Target[]): Promise<Partial<GateSettings>> {
  return loadChecks(targets, [])
}
