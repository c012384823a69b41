import type { Answer, ApiResource, FeedEvent } from '../../src/cluster/feed.ts'
import type { Deployment, Pod, PodStatus } from '../../src/cluster/objects.ts'
import { AfterReady } from '../../src/gate/after-ready.ts'
import { readInputs } from '../../src/inputs.ts'
import { addNamespaces, parseChecks, resolveCheckKinds } from '../../src/plan/checks.ts'
import type { Target } from '../../src/plan/target.ts'
import { BUILT_IN_RESOURCES } from '../support/resources.ts'
import { at, createTarget } from './gate.ts'
import { complete, make, podIs } from './objects.ts'

/** What a gate of these targets asks for after ready. */
export function createChecks(
  raw: Parameters<typeof readInputs>[0],
  targets: readonly Target[] = [createTarget()],
  resources: readonly ApiResource[] = BUILT_IN_RESOURCES,
): AfterReady {
  const { mistakes, ...checks } = parseChecks(readInputs(raw).inputs)
  if (mistakes.length > 0) throw new Error(JSON.stringify(mistakes))
  return new AfterReady(addNamespaces(resolveCheckKinds(checks, resources), targets, 'shop'))
}

/** The answers of a pod at these seconds. */
export function answers(seconds: readonly number[], answer: Partial<Answer> = {}, pod = 'web-1-a'): FeedEvent[] {
  return seconds.flatMap((second) => at(second, { type: 'ANSWER', check: 0, pod, status: 200, ...answer }))
}

const container = make.container({
  ports: [{ name: 'http', containerPort: 8080 }],
  readinessProbe: { httpGet: { port: 'http' } },
})

/** A Deployment of some replicas that serves HTTP, with its ReplicaSet and its pods `web-1-a`, `web-1-b`, … */
export function createServer(replicas = 1, name = 'web') {
  const selector = { matchLabels: { app: name } }
  const template = make.template({ containers: [container] }, { app: name })
  const deployment = (status: Deployment['status'] = complete(replicas)) =>
    make.deployment({ metadata: { name, uid: `${name}-uid` }, spec: { replicas, selector, template }, status })
  const replicaSet = make.replicaSet({ metadata: { name: `${name}-1` }, spec: { selector, replicas } }, deployment())
  const pods = (status: PodStatus = podIs.ready(1)) =>
    Array.from({ length: replicas }, (_, index) => podNamed(`${name}-1-${'abcdefgh'[index]}`, status))
  const podNamed = (podName: string, status: PodStatus = podIs.ready(1), metadata: Pod['metadata'] | object = {}) =>
    make.pod(
      {
        metadata: { name: podName, labels: { app: name, 'pod-template-hash': `${name}-1` }, ...metadata },
        spec: { containers: [container] },
        status,
      },
      replicaSet,
    )
  return { target: createTarget({ name }), deployment, replicaSet, pod: podNamed, pods }
}
