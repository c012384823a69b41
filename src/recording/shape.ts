import * as z from 'zod/mini'
import type { KubeObject } from '../cluster/objects.ts'
import { groupOf } from '../cluster/store.ts'

const text = z.string()
const count = z.number()
const flag = z.boolean()
const texts = z.record(z.string(), z.string())
const either = z.union([count, text])

/** An object with these fields, each of which may be absent or null, and any others. */
function fields<Shape extends Record<string, z.ZodMiniType>>(shape: Shape) {
  return z.looseObject(Object.fromEntries(Object.entries(shape).map(([name, type]) => [name, z.nullish(type)])))
}

const conditions = z.array(
  fields({ type: text, status: text, reason: text, message: text, lastTransitionTime: text, lastUpdateTime: text }),
)

const metadata = fields({
  name: text,
  namespace: text,
  uid: text,
  // Written by hand, they are often of the other type, which does no harm: they are only compared.
  resourceVersion: either,
  generation: either,
  creationTimestamp: text,
  deletionTimestamp: text,
  labels: texts,
  annotations: texts,
  ownerReferences: z.array(z.looseObject({ apiVersion: text, kind: text, name: text, uid: text })),
  finalizers: z.array(text),
  managedFields: z.array(fields({ manager: text, operation: text, subresource: text, time: text })),
})

const selector = fields({
  matchLabels: texts,
  matchExpressions: z.array(z.looseObject({ key: text, operator: text, values: z.nullish(z.array(text)) })),
})

const probe = fields({ initialDelaySeconds: count, periodSeconds: count, failureThreshold: count, httpGet: fields({}) })

const containers = z.array(
  z.looseObject({
    name: text,
    ...fields({
      image: text,
      command: z.array(text),
      args: z.array(text),
      env: z.array(z.looseObject({ name: text })),
      envFrom: z.array(fields({})),
      ports: z.array(fields({ name: text, containerPort: count })),
      volumeMounts: z.array(fields({ name: text })),
      resources: fields({}),
      readinessProbe: probe,
      livenessProbe: probe,
      startupProbe: probe,
      restartPolicy: text,
    }).shape,
  }),
)

const podSpec = fields({
  containers,
  initContainers: containers,
  volumes: z.array(fields({ name: text })),
  readinessGates: z.array(fields({})),
  restartPolicy: text,
  nodeName: text,
})

const terminated = fields({ exitCode: count, signal: count, reason: text, message: text, finishedAt: text })

const state = fields({
  waiting: fields({ reason: text, message: text }),
  running: fields({ startedAt: text }),
  terminated,
})

const containerStatuses = z.array(
  z.looseObject({
    name: text,
    ...fields({ ready: flag, started: flag, restartCount: count, image: text, imageID: text, state, lastState: state })
      .shape,
  }),
)

const template = fields({ metadata: fields({ labels: texts, annotations: texts }), spec: podSpec })

const counts = Object.fromEntries(
  ['replicas', 'updatedReplicas', 'readyReplicas', 'availableReplicas', 'currentReplicas'].map(
    (name) => [name, count] as const,
  ),
)

const workload = {
  spec: fields({ replicas: count, minReadySeconds: count, selector, template, strategy: fields({}) }),
  status: fields({ ...counts, conditions }),
}

const balanced = fields({
  loadBalancer: fields({ ingress: z.array(fields({ ip: text, hostname: text })) }),
  conditions,
})

/** Of each kind that has a rule of its own or stands behind one: the fields that are read of it. */
const kinds: Readonly<Record<string, Record<string, z.ZodMiniType>>> = {
  '/Pod': {
    spec: podSpec,
    status: fields({
      phase: text,
      reason: text,
      message: text,
      conditions,
      containerStatuses,
      initContainerStatuses: containerStatuses,
    }),
  },
  '/ReplicationController': { ...workload, spec: fields({ replicas: count, selector: texts, template }) },
  '/Service': {
    spec: fields({ selector: texts, ports: z.array(fields({ name: text, targetPort: either })) }),
    status: balanced,
  },
  '/PersistentVolumeClaim': {
    spec: fields({ storageClassName: text, volumeName: text }),
    status: fields({ phase: text, conditions }),
  },
  '/Node': {
    spec: fields({ unschedulable: flag, taints: z.array(fields({ key: text })) }),
    status: fields({ conditions }),
  },
  '/Namespace': { status: fields({ phase: text, conditions }) },
  '/Event': {
    involvedObject: fields({ kind: text, namespace: text, name: text, uid: text, fieldPath: text }),
    type: text,
    reason: text,
    message: text,
    count,
    series: fields({ count }),
    firstTimestamp: text,
    lastTimestamp: text,
    eventTime: text,
  },
  'apps/Deployment': workload,
  'apps/ReplicaSet': workload,
  'apps/StatefulSet': workload,
  'apps/DaemonSet': workload,
  'batch/Job': {
    spec: fields({ completions: count, template, selector }),
    status: fields({ active: count, succeeded: count, failed: count, conditions }),
  },
  'discovery.k8s.io/EndpointSlice': {
    endpoints: z.array(fields({ conditions: fields({}), targetRef: fields({ name: text, uid: text }) })),
    ports: z.array(fields({ name: text, port: count })),
  },
  'networking.k8s.io/Ingress': {
    spec: fields({
      rules: z.array(
        fields({ http: fields({ paths: z.array(fields({ backend: fields({ service: fields({ name: text }) }) })) }) }),
      ),
    }),
    status: balanced,
  },
}

const schemas = new Map(
  Object.entries(kinds).map(([key, shape]) => [key, z.looseObject({ metadata, ...optional(shape) })] as const),
)
const anyObject = z.looseObject({ metadata })

/** Top-level fields that lack are fine; a spec or a status that is null is none that an API server writes. */
function optional(shape: Record<string, z.ZodMiniType>) {
  const mayBeNull = (name: string) => name !== 'spec' && name !== 'status'
  return Object.fromEntries(
    Object.entries(shape).map(([name, type]) => [name, mayBeNull(name) ? z.nullish(type) : z.optional(type)]),
  )
}

/**
 * Why no API server can have served an object: the field that is of another type, by its path. Undefined where all are as
 * they should be. Rules rely on the types of what they read, and a file can hold anything; custom resources may be of any
 * shape but for their metadata, and are read with that in mind.
 */
export function whyMisshapen(object: KubeObject): string | undefined {
  const schema = schemas.get(`${groupOf(object.apiVersion)}/${object.kind}`) ?? anyObject
  const [issue] = schema.safeParse(object).error?.issues ?? []
  return issue && `no API server wrote its object: ${issue.path.join('.')} is of another type`
}
