import type { Deployment, KubeObject, ManagedFields, ObjectMeta } from '../../src/cluster/objects.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { specWrittenAt } from '../../src/lifecycle/status-age.ts'
import { complete, condition, iso, make, start } from '../kit/objects.ts'
import { reader } from '../kit/rule.ts'

const day = 86_400
const days = (count: number) => count * -day

/** Entries of managedFields: the last write of each manager, in seconds since the gate's start; undefined: without a time. */
function writes(moments: Readonly<Record<string, number | undefined>>): ManagedFields[] {
  return Object.entries(moments).map(([name, at]) => {
    const [manager = '', subresource] = name.split(':')
    return {
      manager,
      operation: 'Update',
      ...(subresource && { subresource }),
      ...(at !== undefined && { time: iso(at) }),
    }
  })
}

const v2 = make.template({ containers: [make.container({ image: 'acme/web:v2' })] })

function deployment(
  status: Deployment['status'] = complete(),
  metadata: Partial<ObjectMeta> = {},
  spec: Deployment['spec'] = {},
): Deployment {
  const own = {
    creationTimestamp: iso(days(30)),
    annotations: { 'deployment.kubernetes.io/revision': '1' },
    ...metadata,
  }
  return make.deployment({ metadata: own, spec, status })
}

const replicaSet = (name: string, revision: string, createdAt: number, template = make.template(), former?: string) =>
  make.replicaSet(
    {
      metadata: {
        name,
        creationTimestamp: iso(createdAt),
        annotations: {
          'deployment.kubernetes.io/revision': revision,
          ...(former && { 'deployment.kubernetes.io/revision-history': former }),
        },
      },
      spec: { template },
    },
    deployment(),
  )

const finished = (at: number) => [
  condition('Progressing', 'True', { reason: 'NewReplicaSetAvailable', lastUpdateTime: iso(at) }),
]

/** An object of a kind without revisions. */
const other = (kind: string, metadata: Partial<ObjectMeta>, rest: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'web', namespace: 'shop', uid: 'web-uid', ...metadata },
  ...rest,
})

const set = (kind: 'StatefulSet' | 'DaemonSet', metadata: Partial<ObjectMeta>, updateRevision: string): KubeObject => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name: 'db', namespace: 'shop', uid: 'db-uid', generation: 4, ...metadata },
  spec: { template: make.template() },
  status: { observedGeneration: 4, updatedNumberScheduled: 1, ...(kind === 'StatefulSet' && { updateRevision }) },
})

const controllerRevision = (
  owner: KubeObject,
  name: string,
  revision: number,
  createdAt: number,
  writtenAt = createdAt,
) => {
  const metadata = {
    uid: `${name}-uid`,
    creationTimestamp: iso(createdAt),
    managedFields: writes({ 'kube-controller-manager': writtenAt }),
  }
  return make.revision(owner, name, revision, metadata, name === 'present' ? make.template() : v2)
}

/** When the present version came, in seconds since the gate's start. */
function changedAt(
  object: KubeObject,
  objects: readonly KubeObject[] = [],
  options: Parameters<typeof reader>[0] = {},
) {
  const read = ruleOf(object).versions?.changedAt ?? specWrittenAt
  const at = read(object, reader({ objects: [object, ...objects], ...options }))
  return at === undefined ? undefined : (at - start) / 1_000
}

describe('the present version of a Deployment came', () => {
  const undone = replicaSet('web-1', '3', days(9), make.template(), '1')
  const abandoned = replicaSet('web-2', '2', days(4), v2)

  it.each<[string, Deployment, KubeObject[], number | undefined]>([
    ['with its ReplicaSet', deployment(), [replicaSet('web-1', '1', days(3))], days(3)],
    [
      'with its ReplicaSet, whatever wrote it since: a label, a scale, a status',
      deployment(complete(), { managedFields: writes({ 'kubectl-label': -60, 'hpa:scale': -30, 'kcm:status': -10 }) }),
      [replicaSet('web-1', '1', days(3))],
      days(3),
    ],
    [
      'with the ReplicaSet of its template, and not with an older one',
      deployment(complete(), { annotations: {} }, { template: v2 }),
      [replicaSet('web-1', '1', days(9)), replicaSet('web-2', '2', -20, v2)],
      -20,
    ],
    [
      'with the last write of its spec while the controller has not observed that',
      deployment(complete(), { generation: 2, managedFields: writes({ kubectl: -5 }) }),
      [replicaSet('web-1', '1', days(3))],
      -5,
    ],
    [
      'with the last write of its spec while no ReplicaSet has its template',
      deployment(complete(), { managedFields: writes({ kubectl: -5 }) }, { template: v2 }),
      [replicaSet('web-1', '7', days(3))],
      -5,
    ],
    [
      'with the last write of its spec while an older ReplicaSet does not have the highest number again',
      deployment(complete(), { managedFields: writes({ kubectl: -5 }) }),
      [replicaSet('web-1', '1', days(3)), abandoned],
      -5,
    ],
    [
      'after an undo when the controller reported its rollout as complete',
      deployment(complete(1, { conditions: finished(-2 * day) }), { managedFields: writes({ kubectl: -2 * day - 9 }) }),
      [undone, abandoned],
      -2 * day,
    ],
    [
      'after an undo when its rollout was complete, although a label was written since',
      deployment(complete(1, { conditions: finished(-2 * day) }), { managedFields: writes({ 'kubectl-label': -60 }) }),
      [undone, abandoned],
      -2 * day,
    ],
    [
      'after an undo whose rollout goes on with the write of its spec, and not with the rollout before',
      deployment(complete(2, { updatedReplicas: 1, conditions: finished(-2 * day) }), {
        managedFields: writes({ kubectl: -5 }),
      }),
      [undone, abandoned],
      -5,
    ],
    [
      'after an undo at zero replicas with the write of its spec: that changes no condition',
      deployment(complete(0, { conditions: finished(-2 * day) }), { managedFields: writes({ kubectl: -5 }) }),
      [undone, abandoned],
      -5,
    ],
    [
      'at an unknown time if nothing has one',
      deployment(complete(), { managedFields: writes({ kubectl: undefined }) }),
      [],
      undefined,
    ],
  ])('%s', (_, object, objects, expected) => {
    expect(changedAt(object, objects)).toBe(expected)
  })
})

describe.each(['StatefulSet', 'DaemonSet'] as const)('the present version of a %s came', (kind) => {
  const written = (at: number) => ({ managedFields: writes({ kubectl: at }) })

  it.each<[string, KubeObject, (owner: KubeObject) => KubeObject[], number]>([
    [
      'with its ControllerRevision, whatever wrote it since',
      set(kind, written(-60), 'present'),
      (owner) => [controllerRevision(owner, 'older', 1, days(9)), controllerRevision(owner, 'present', 2, days(3))],
      days(3),
    ],
    [
      'after an undo with the write of its spec',
      set(kind, written(-60), 'present'),
      (owner) => [controllerRevision(owner, 'present', 3, days(9)), controllerRevision(owner, 'older', 2, days(3))],
      -60,
    ],
    [
      'after an undo with the write of its spec, also if the newer revision is gone',
      set(kind, written(-60), 'present'),
      (owner) => [controllerRevision(owner, 'present', 3, days(9), -59)],
      -60,
    ],
    [
      'with the write of its spec while an older revision does not have the highest number again',
      set(kind, written(-60), 'present'),
      (owner) => [controllerRevision(owner, 'present', 1, days(3)), controllerRevision(owner, 'older', 2, days(3))],
      -60,
    ],
    [
      'with the write of its spec while the controller has not observed that',
      set(kind, { ...written(-5), generation: 5 }, 'present'),
      (owner) => [controllerRevision(owner, 'present', 2, days(3))],
      -5,
    ],
  ])('%s', (_, object, revisions, expected) => {
    expect(changedAt(object, revisions(object))).toBe(expected)
  })
})

describe('the present version of any other kind came', () => {
  it.each<[string, KubeObject, number | undefined]>([
    [
      'with the creation of a Pod, although it was written since',
      make.pod({ metadata: { creationTimestamp: iso(days(2)), managedFields: writes({ kubectl: -60 }) } }),
      days(2),
    ],
    [
      'with the creation of a Job',
      {
        ...other('Job', { creationTimestamp: iso(-600), managedFields: writes({ kubectl: -60 }) }),
        apiVersion: 'batch/v1',
      },
      -600,
    ],
    [
      'with the newest write of a ReplicaSet, but not of its status or its scale',
      make.replicaSet({
        metadata: { managedFields: writes({ a: days(2), b: days(1), 'c:status': -1, 'd:scale': -1 }) },
      }),
      days(1),
    ],
    [
      'with the newest write of a ConfigMap',
      other('ConfigMap', { managedFields: writes({ kubectl: -90, helm: -30 }) }),
      -30,
    ],
    [
      'with the newest write of a CronJob',
      {
        ...other('CronJob', { managedFields: writes({ kubectl: days(5), 'cronjob:status': -7 }) }),
        apiVersion: 'batch/v1',
      },
      days(5),
    ],
    [
      'with the newest write that has a time: an entry without one is no evidence',
      other('Service', { managedFields: writes({ kubectl: days(5), old: undefined }) }),
      days(5),
    ],
    ['at an unknown time without managedFields', other('Service', { creationTimestamp: iso(days(5)) }), undefined],
    [
      'at an unknown time if its kind has no status subresource: its controller writes the status as clients write the spec',
      {
        ...other('Application', { managedFields: writes({ kubectl: days(5), controller: -3 }) }, { status: {} }),
        apiVersion: 'a.io/v1',
      },
      undefined,
    ],
  ])('%s', (_, object, expected) => {
    const declaresStatus = !['ConfigMap', 'Application'].includes(object.kind)
    expect(changedAt(object, [], { declaresStatus })).toBe(expected)
  })

  it('at a moment that is converted to the clock of the runner', () => {
    const pod = make.pod({ metadata: { creationTimestamp: iso(-60) } })
    expect(changedAt(pod, [], { serverOffsetMs: 5_000 })).toBe(-65)
  })
})
