import type { KubeObject } from './api.ts'
import type { View } from './view.ts'

/**
 * Looks for the deciding fact in what the API has shown so far.
 * @returns since when the outcome follows from it (milliseconds since 1970; may lie ahead), or nothing yet
 */
export type Fact = (view: View) => number | undefined

/** All of the Deployment's pods are of its newest template and available: what `kubectl rollout status` waits for. */
export function deploymentComplete(name: string): Fact {
  return (view) => (isComplete(view.get('Deployment', name)) ? Date.now() : undefined)
}

/** Complete, and each container has run for 10 s: the settle time of those that have no readiness probe. */
export function deploymentSettled(name: string): Fact {
  return (view) => {
    if (!isComplete(view.get('Deployment', name))) return undefined
    const starts = statuses(view).flatMap(({ state }) => (state.running ? [Date.parse(state.running.startedAt)] : []))
    return Math.max(...starts) + 10_000
  }
}

/** The first refusal of a pull that says a word has come for the given time. */
export function pullRefused(word: string, times: number): Fact {
  return (view) => {
    const refused = view
      .all('Event')
      .some(
        (event) =>
          event['message'].startsWith('Failed to pull image') &&
          event['message'].includes(word) &&
          event['count'] >= times,
      )
    return refused ? Date.now() : undefined
  }
}

/** A pod's event with this reason has come. */
export function eventSeen(reason: string): Fact {
  return (view) => (view.all('Event').some((event) => event['reason'] === reason) ? Date.now() : undefined)
}

/** So many seconds have gone by since the first event whose words contain these. */
export function secondsAfterEvent(words: string, seconds: number): Fact {
  return (view) => {
    const event = view.all('Event').find((candidate) => candidate['message'].includes(words))
    return event && Date.parse(event['firstTimestamp'] ?? event['eventTime']) + seconds * 1000
  }
}

/** A controller has been refused a pod by words that contain these for the given time. */
export function creationRefused(words: string, times: number): Fact {
  return (view) => {
    const events = view.all('Event').filter(({ reason }) => reason === 'FailedCreate')
    const counts = events.map((event) => (event['message'].includes(words) ? (event['count'] ?? 1) : 0))
    return counts.reduce((sum, count) => sum + count, 0) >= times ? Date.now() : undefined
  }
}

/** A container has died for the given time, and 30 s have gone by since its first death, whose time the API gives in whole seconds. */
export function containerDied(times: number): Fact {
  return (view) => {
    const died = statuses(view).some((container) => deathsOf(container) >= times)
    return died && view.firstDeath ? Math.max(Date.now(), view.firstDeath + 29_000) : undefined
  }
}

/** Every restart follows a death; one that waits for its restart has died once more. */
function deathsOf({ restartCount, state, lastState }: ContainerStatus): number {
  return restartCount + (state.terminated || (state.waiting && lastState.terminated) ? 1 : 0)
}

/** A condition of an object is true. */
export function conditionTrue(kind: string, name: string, type: string): Fact {
  return (view) => {
    const conditions: { type: string; status: string }[] = view.get(kind, name)?.['status']?.conditions ?? []
    return conditions.some((each) => each.type === type && each.status === 'True') ? Date.now() : undefined
  }
}

/** All pods of a StatefulSet or DaemonSet are ready, and so many of them updated. */
export function setComplete(kind: 'StatefulSet' | 'DaemonSet', name: string, updated: number): Fact {
  return (view) => {
    const set = view.get(kind, name)
    const { status = {}, spec } = set ?? ({} as Partial<KubeObject>)
    const wanted = kind === 'StatefulSet' ? spec?.replicas : status.desiredNumberScheduled
    const ready = kind === 'StatefulSet' ? status.readyReplicas : status.numberReady
    const news = kind === 'StatefulSet' ? status.updatedReplicas : status.updatedNumberScheduled
    const isObserved = set !== undefined && status.observedGeneration === set.metadata.generation
    return isObserved && (ready ?? 0) >= wanted && (news ?? 0) >= updated ? Date.now() : undefined
  }
}

/** All of these facts have come about: the last of them decides. */
export function all(...facts: Fact[]): Fact {
  return (view) => {
    const moments = facts.map((fact) => fact(view))
    return moments.includes(undefined) ? undefined : Math.max(...(moments as number[]))
  }
}

/** A condition of an object has this reason. */
export function conditionReason(kind: string, name: string, reason: string): Fact {
  return (view) => {
    const conditions: { reason?: string }[] = view.get(kind, name)?.['status'].conditions ?? []
    return conditions.some((condition) => condition.reason === reason) ? Date.now() : undefined
  }
}

/** A pod is ready. */
export function podsReady(count: number): Fact {
  return (view) => (view.all('Pod').filter(isPodReady).length >= count ? Date.now() : undefined)
}

/** Exactly these pods are there, and each is ready and runs this image. */
export function podsRun(image: string, ...names: string[]): Fact {
  const wanted = names.toSorted().join()
  return (view) => {
    const pods = view.all('Pod').filter((pod) => isPodReady(pod) && pod['spec'].containers[0].image === image)
    const isDone =
      pods.length === view.all('Pod').length &&
      pods
        .map(({ metadata }) => metadata.name)
        .toSorted()
        .join() === wanted
    return isDone ? Date.now() : undefined
  }
}

/** The last container has run for so many seconds: since then nothing moved. */
export function secondsAfterLastStart(seconds: number, containers: number): Fact {
  return (view) => {
    const starts = statuses(view).flatMap(({ state }) => (state.running ? [Date.parse(state.running.startedAt)] : []))
    return starts.length >= containers ? Math.max(...starts) + seconds * 1000 : undefined
  }
}

/** So many seconds since the action started. */
export function secondsAfterStart(seconds: number): Fact {
  return (view) => (view.actionStarted ? view.actionStarted + seconds * 1000 : undefined)
}

/** Whether every pod of a Deployment is of its newest template and available. */
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

function statuses(view: View): ContainerStatus[] {
  return view
    .all('Pod')
    .filter((pod) => !pod.metadata.deletionTimestamp)
    .flatMap(({ status }) => [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
}
