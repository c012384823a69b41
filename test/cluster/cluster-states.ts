import type { KubeObject } from './api.ts'
import type { Informer } from './informer.ts'

/**
 * A state of the cluster, from the watched objects.
 * @returns the time since which it holds, in milliseconds since the epoch (may be in the future); undefined if not reached
 */
export type ClusterState = (informer: Informer) => number | undefined

/** All pods of the Deployment have its newest template and are available, as `kubectl rollout status` requires. */
export function deploymentComplete(name: string): ClusterState {
  return (informer) => (isComplete(informer.get('Deployment', name)) ? Date.now() : undefined)
}

/** The Deployment is complete and each container has run for 10 s, the settle time of containers without a readiness probe. */
export function deploymentSettled(name: string): ClusterState {
  return (informer) => {
    if (!isComplete(informer.get('Deployment', name))) return undefined
    const starts = statuses(informer).flatMap(({ state }) =>
      state.running ? [Date.parse(state.running.startedAt)] : [],
    )
    return Math.max(...starts) + 10_000
  }
}

/** The pulls of one pod have failed this many times with a message that contains `word`. */
export function pullRefused(word: string, times: number): ClusterState {
  return (informer) => {
    const refused = informer
      .all('Event')
      .filter((event) => event['message'].startsWith('Failed to pull image') && event['message'].includes(word))
    // A restarted kubelet counts in a new event.
    const ofEachPod = Map.groupBy(refused, (event) => event['involvedObject'].uid).values()
    const counts = [...ofEachPod].map((events) => events.reduce((sum, { count }) => sum + count, 0))
    return counts.some((count) => count >= times) ? Date.now() : undefined
  }
}

/** An event with this reason exists. */
export function eventSeen(reason: string): ClusterState {
  return (informer) => (informer.all('Event').some((event) => event['reason'] === reason) ? Date.now() : undefined)
}

/** An event of any pod whose message contains `text` has occurred again, this many seconds or more after its first occurrence. */
export function eventAgainAfter(text: string, seconds: number): ClusterState {
  return (informer) => {
    const moments = informer.all('Event').flatMap((event) => {
      const [first = NaN, last = NaN] = [event['firstTimestamp'], event['lastTimestamp']].map((at) =>
        Date.parse(at ?? ''),
      )
      return event['message'].includes(text) && last - first >= seconds * 1000 ? [last] : []
    })
    return moments.length === 0 ? undefined : Math.min(...moments)
  }
}

/** The creation of a pod was refused this many times with a message that contains `text`. */
export function creationRefused(text: string, times: number): ClusterState {
  return (informer) => {
    const events = informer.all('Event').filter(({ reason }) => reason === 'FailedCreate')
    const counts = events.map((event) => (event['message'].includes(text) ? (event['count'] ?? 1) : 0))
    return counts.reduce((sum, count) => sum + count, 0) >= times ? Date.now() : undefined
  }
}

/** A container has died this many times, and its first death was 30 s ago (29 s: the API rounds down to whole seconds). */
export function containerDied(times: number): ClusterState {
  return (informer) => {
    const died = statuses(informer).some((container) => deathsOf(container) >= times)
    return died && informer.firstDeath ? Math.max(Date.now(), informer.firstDeath + 29_000) : undefined
  }
}

/** A container has died after the start of the action (the API rounds down to whole seconds). */
export const containerDiedSinceStart: ClusterState = (informer) => {
  const { actionStarted = Infinity } = informer
  const ends = statuses(informer).map(({ state, lastState }) => (state.terminated ?? lastState.terminated)?.finishedAt)
  return ends.some((end) => end !== undefined && Date.parse(end) > actionStarted - 1000) ? Date.now() : undefined
}

/** Each restart follows a death; a container that waits for its restart has one more death. */
function deathsOf({ restartCount, state, lastState }: ContainerStatus): number {
  return restartCount + (state.terminated || (state.waiting && lastState.terminated) ? 1 : 0)
}

/** A condition of an object is true. */
export function conditionTrue(kind: string, name: string, type: string): ClusterState {
  return (informer) => {
    const conditions: { type: string; status: string }[] = informer.get(kind, name)?.['status']?.conditions ?? []
    return conditions.some((each) => each.type === type && each.status === 'True') ? Date.now() : undefined
  }
}

/** All pods of a StatefulSet or DaemonSet are ready, and at least `updated` of them have the new template. */
export function setComplete(kind: 'StatefulSet' | 'DaemonSet', name: string, updated: number): ClusterState {
  return (informer) => {
    const set = informer.get(kind, name)
    const { status = {}, spec } = set ?? ({} as Partial<KubeObject>)
    const wanted = kind === 'StatefulSet' ? spec?.replicas : status.desiredNumberScheduled
    const ready = kind === 'StatefulSet' ? status.readyReplicas : status.numberReady
    const updatedNow = kind === 'StatefulSet' ? status.updatedReplicas : status.updatedNumberScheduled
    const isObserved = set !== undefined && status.observedGeneration === set.metadata.generation
    return isObserved && (ready ?? 0) >= wanted && (updatedNow ?? 0) >= updated ? Date.now() : undefined
  }
}

/** All of these states hold; since the latest of their times. */
export function all(...states: ClusterState[]): ClusterState {
  return (informer) => {
    const times = states.map((state) => state(informer))
    return times.includes(undefined) ? undefined : Math.max(...(times as number[]))
  }
}

/** A condition of an object has this reason. */
export function conditionReason(kind: string, name: string, reason: string): ClusterState {
  return (informer) => {
    const conditions: { reason?: string }[] = informer.get(kind, name)?.['status'].conditions ?? []
    return conditions.some((condition) => condition.reason === reason) ? Date.now() : undefined
  }
}

/** At least `count` pods are ready. */
export function podsReady(count: number): ClusterState {
  return (informer) => (informer.all('Pod').filter(isPodReady).length >= count ? Date.now() : undefined)
}

/** Exactly these pods exist, and each is ready and runs this image. */
export function podsRun(image: string, ...names: string[]): ClusterState {
  const wanted = names.toSorted().join()
  return (informer) => {
    const pods = informer.all('Pod').filter((pod) => isPodReady(pod) && pod['spec'].containers[0].image === image)
    const isDone =
      pods.length === informer.all('Pod').length &&
      pods
        .map(({ metadata }) => metadata.name)
        .toSorted()
        .join() === wanted
    return isDone ? Date.now() : undefined
  }
}

/** This many seconds after the start of the last container. */
export function secondsAfterLastStart(seconds: number, containers: number): ClusterState {
  return (informer) => {
    const starts = statuses(informer).flatMap(({ state }) =>
      state.running ? [Date.parse(state.running.startedAt)] : [],
    )
    return starts.length >= containers ? Math.max(...starts) + seconds * 1000 : undefined
  }
}

/** This many seconds after the start of the action. */
export function secondsAfterStart(seconds: number): ClusterState {
  return (informer) => (informer.actionStarted ? informer.actionStarted + seconds * 1000 : undefined)
}

/** Whether every pod of a Deployment has its newest template and is available. */
export function isComplete(deployment: KubeObject | undefined): boolean {
  const status = deployment?.['status'] ?? {}
  const replicas = deployment?.['spec'].replicas
  return (
    status.observedGeneration === deployment?.metadata.generation &&
    (status.replicas ?? 0) === replicas &&
    (status.updatedReplicas ?? 0) === replicas &&
    (status.availableReplicas ?? 0) === replicas
  )
}

function isPodReady(pod: KubeObject): boolean {
  const conditions: { type: string; status: string }[] = pod['status'].conditions ?? []
  return !pod.metadata.deletionTimestamp && conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}

interface ContainerStatus {
  restartCount: number
  state: { running?: { startedAt: string }; terminated?: { finishedAt: string }; waiting?: { reason: string } }
  lastState: { terminated?: { finishedAt: string } }
}

function statuses(informer: Informer): ContainerStatus[] {
  return informer
    .all('Pod')
    .filter((pod) => !pod.metadata.deletionTimestamp)
    .flatMap(({ status }) => [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
}
