import type { KubeObject, Node, Pod, PodSpec, PodStatus } from '../../src/cluster/objects.ts'
import type { PodObservations } from '../../src/lifecycle/workloads/observe-pods.ts'
import { complete, iso, make, type Overrides } from './objects.ts'
import { toPodStatus } from './pods.ts'
import { sightings } from './rule.ts'

/** The pods of a workload, and the nodes of a DaemonSet, in words. */
export interface Relatives {
  /**
   * By names: `a`, `old a` of the revision before, `a until 30` that is being deleted; of a DaemonSet by nodes. What is
   * said of a pod: a status in words, `ready 1`, or several with their seconds, `5 loop 1; 45 loop 2`; else its fields.
   */
  readonly pods?: Readonly<Record<string, string | PodStatus | Overrides<PodSpec, PodStatus | string>>>
  /** `n1`, or with `cordoned`, `lost`, `joined`, `unreachable` (lost, with its taint), `tainted key=value:effect`. */
  readonly nodes?: readonly string[]
  /** What the new ReplicaSet of a Deployment has of its own; null if there is none. */
  readonly replicaSet?: Parameters<typeof make.replicaSet>[0] | null
  /** The slice of a Service, by the names of its pods: `a b`, `a unready`, `a at 9090`. */
  readonly endpoints?: string
  /** Whether the ReplicaSet of the revision before exists although it has no pods. */
  readonly hasOldSet?: boolean
  /** Whether the newer ControllerRevision of a DaemonSet has its template. */
  readonly hasTemplate?: boolean
}

type Fields = Overrides<object, object | null>

const statuses: Readonly<Record<string, object>> = {
  Deployment: complete() ?? {},
  StatefulSet: {
    observedGeneration: 1,
    replicas: 2,
    readyReplicas: 2,
    updatedReplicas: 2,
    currentRevision: 'db-new',
    updateRevision: 'db-new',
  },
  DaemonSet: {
    observedGeneration: 1,
    desiredNumberScheduled: 2,
    currentNumberScheduled: 2,
    updatedNumberScheduled: 2,
    numberReady: 2,
    numberAvailable: 2,
  },
  Job: {},
  Service: {},
}

/** A workload of a kind, or a Service; its status is what differs from a complete one, or from that of `of`; null for no field. */
export function toWorkload(kind: string, of: Fields, own: Fields): KubeObject | undefined {
  const create = {
    Deployment: make.deployment,
    StatefulSet: make.statefulSet,
    DaemonSet: make.daemonSet,
    Job: make.job,
    Service: make.service,
  }[kind]
  if (create === undefined) return undefined
  const base = of.status === undefined ? statuses[kind] : of.status
  const status = Object.entries({ ...base, ...own.status }).filter(([, value]) => value !== null)
  const spec = Object.entries({ ...of.spec, ...own.spec }).map(([name, value]) => [name, value ?? undefined])
  return create({
    metadata: { ...of.metadata, ...own.metadata },
    spec: Object.fromEntries(spec),
    ...(own.status !== null && { status: Object.fromEntries(status) }),
  })
}

function toNode(text: string): Node {
  const [name = '', state, taint = ''] = text.split(' ')
  const [, key = '', value, effect] = /^(.*?)(?:=(.*))?:(.*)$/.exec(taint) ?? []
  return make.node(name, {
    ready: state !== 'lost' && state !== 'unreachable',
    cordoned: state === 'cordoned',
    ...(state === 'joined' && { createdAt: 5 }),
    ...(state === 'unreachable' && { taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' }] }),
    ...(state === 'tainted' && { taints: [{ key, ...(value && { value }), effect }] }),
  })
}

const replicaSet = make.replicaSet()
const oldSet = make.replicaSet(
  { metadata: { name: 'web-0', creationTimestamp: iso(-3600) } },
  make.deployment({ spec: { template: make.template({ serviceAccountName: 'old' }) } }),
)

/** The slice of these pods: `a b`, `a unready`, `a at 9090`. */
function toSlice(text: string, pods: readonly Pod[]): KubeObject {
  const [, names = '', unready, port] = /^(.*?)( unready)?(?: at (\d+))?$/.exec(text) ?? []
  const listed = names
    .split(' ')
    .map((name) => pods.find(({ metadata }) => metadata.name === name) ?? make.pod({ metadata: { name } }))
  return make.slice(listed, unready === undefined, Number(port ?? 8080))
}

/** A pod of a workload that has these fields; those of a Service are pods of a ReplicaSet with a port named http. */
function podOf(workload: KubeObject, key: string, { metadata, spec, status }: Overrides<PodSpec, PodStatus>): Pod {
  const [, old, name = '', until] = /^(old )?(\S+)(?: until (-?\d+))?$/.exec(key) ?? []
  const { kind } = workload
  const revision = `${kind === 'StatefulSet' ? 'db-' : ''}${old ? 'old' : 'new'}`
  const own = {
    name: kind === 'DaemonSet' ? `agent-${name}` : name,
    ...(/^(?:Stateful|Daemon)Set$/.test(kind) && {
      labels: { app: workload.metadata.name, 'controller-revision-hash': revision },
    }),
    ...(until !== undefined && { deletionTimestamp: iso(Number(until)) }),
    ...metadata,
  }
  const owner = !/^(?:Deployment|Service)$/.test(kind) ? workload : old ? oldSet : replicaSet
  const where = {
    ...(kind === 'DaemonSet' && { nodeName: name }),
    ...(kind === 'Service' && { containers: [make.container({ ports: [{ name: 'http', containerPort: 8080 }] })] }),
  }
  return make.pod({ metadata: own, spec: { ...where, ...spec }, ...(status && { status }) }, owner)
}

/** What belongs to a workload, and the observations of its pods by their uid. */
export function relativesOf(
  workload: KubeObject,
  { pods = {}, nodes = ['n1', 'n2'], hasTemplate = false, hasOldSet = false, replicaSet = {}, endpoints }: Relatives,
) {
  const observed = new Map<string, PodObservations>()
  const made = Object.entries(pods).map(([key, said]) => {
    const fields = typeof said === 'string' || !('status' in said || 'spec' in said) ? { status: said } : said
    const { status, ...others } = fields as Overrides<PodSpec, PodStatus | string>
    if (typeof status !== 'string') return podOf(workload, key, { ...others, ...(status && { status }) })
    const versions = status.split('; ').map((each) => {
      const [, second, words = ''] = /^(?:(\d+) )?(.*)$/s.exec(each) ?? []
      return [Number(second ?? 0), podOf(workload, key, { ...others, status: toPodStatus(words, Number(second ?? 0)) })]
    }) as [number, Pod][]
    const last = versions.at(-1)?.[1] as Pod
    if (/^\d/.test(status)) observed.set(last.metadata.uid ?? '', sightings(...versions))
    return last
  })
  const hasOld = hasOldSet || Object.keys(pods).some((key) => key.startsWith('old '))
  const revisions = ['old', 'new'].map((hash, nth) => {
    const labels = { app: 'agent', 'controller-revision-hash': hash }
    const template = hasTemplate && hash === 'new' ? make.template() : undefined
    return make.revision(workload, `agent-${hash}`, nth + 1, { uid: `${hash}-uid`, labels }, template)
  })
  const beside: Readonly<Record<string, readonly KubeObject[]>> = {
    Deployment: [...(hasOld ? [oldSet] : []), ...(replicaSet === null ? [] : [make.replicaSet(replicaSet)])],
    DaemonSet: [...revisions, ...nodes.map(toNode)],
    Service: endpoints === undefined ? [] : [toSlice(endpoints, made)],
  }
  return { objects: [...(beside[workload.kind] ?? []), ...made], sightings: observed }
}
