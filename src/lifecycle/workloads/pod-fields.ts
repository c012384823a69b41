import type { Condition, Container, ContainerStatus, EventObject, Pod } from '../../cluster/objects.ts'
import { trueCondition } from '../conditions.ts'
import type { PodContainer } from '../pod-view.ts'

/* Reads fields of a pod's spec and status, and fields of a single Event. `pod-events.ts` reads the Events of a pod. */

/** The containers of a pod with their statuses, in start order: init containers and sidecars first. */
export function containersOf({ spec, status }: Pod): readonly PodContainer[] {
  const { containers = [], initContainers = [], restartPolicy = 'Always' } = spec ?? {}
  const statuses = new Map(
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((each) => [each.name, each]),
  )
  const isOver =
    restartPolicy !== 'Always' && containers.every(({ name }) => statuses.get(name)?.state?.terminated !== undefined)
  const withStatus = (container: Container, isInit: boolean): PodContainer => {
    const ownStatus = statuses.get(container.name)
    // The restart policy of a container overrides the policy of the pod (KEP-753 and KEP-5307).
    const runsOnce = isInit || (container.restartPolicy ?? restartPolicy) !== 'Always'
    const isDoneSidecar = isOver && container.restartPolicy === 'Always'
    const { state, lastState } = ownStatus ?? {}
    const end = state?.terminated ?? lastState?.terminated
    // While a restart is pending, the state is `waiting`, and lastState contains the death.
    const isDead = !state?.running && end !== undefined && !(end.exitCode === 0 && runsOnce)
    return { container, status: ownStatus, isInit, runsOnce, isDoneSidecar, end, isDead }
  }
  return [
    // restartPolicy Always makes an init container a sidecar (KEP-753).
    ...initContainers.map((container) => withStatus(container, container.restartPolicy !== 'Always')),
    ...containers.map((container) => withStatus(container, false)),
  ]
}

/** Whether the present instance of a container has failed. */
export function hasContainerFailed({ status, isDoneSidecar }: PodContainer): boolean {
  return !isDoneSidecar && (status?.state?.terminated?.exitCode ?? 0) !== 0
}

/** Whether a container runs, or has run. */
export function hasStarted(status: ContainerStatus | undefined): boolean {
  return (status?.state?.running ?? status?.state?.terminated ?? status?.lastState?.terminated) !== undefined
}

/** Whether the runtime could not start a container: Docker reports ContainerCannotRun, others StartError. */
export function isStartError({ reason }: { reason?: string }): boolean {
  return reason === 'StartError' || reason === 'ContainerCannotRun'
}

/** Finds a condition by its type. Only for built-in kinds, which have at most one condition of each type. */
export function findCondition(object: { status?: { conditions?: Condition[] } }, type: string): Condition | undefined {
  return object.status?.conditions?.find((each) => each.type === type)
}

/** Whether the condition Ready of a pod or a node is True. */
export function isReadyByCondition(object: Parameters<typeof trueCondition>[0]): boolean {
  return trueCondition(object, 'Ready') !== undefined
}

/**
 * Whether a pod is being deleted or has ended, so that its controller creates another. With restartPolicy Always, this
 * includes Succeeded: the node ended the pod (IsPodActive, pkg/controller).
 */
export function isReplaced({ metadata, spec, status }: Pod): boolean {
  const hasEnded =
    status?.phase === 'Failed' || (status?.phase === 'Succeeded' && (spec?.restartPolicy ?? 'Always') === 'Always')
  return metadata.deletionTimestamp !== undefined || hasEnded
}

/** The container that an event is about: `spec.containers{app}` → `app`. */
export function containerOfEvent(event: EventObject): string | undefined {
  return /\{([^{}]+)\}$/.exec(event.involvedObject?.fieldPath ?? '')?.[1]
}

/** Whether an event is about this container, or about its pod as a whole. */
export function isAboutContainer(event: EventObject, container: string): boolean {
  return [undefined, container].includes(containerOfEvent(event))
}

/** The declared ports of a pod's containers and sidecars. The containers may also listen on other ports. */
export function portsOf({ spec }: Pick<Pod, 'spec'>): NonNullable<Container['ports']> {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  return [...(spec?.containers ?? []), ...sidecars].flatMap(({ ports = [] }) => ports)
}

/** How often an Event has occurred. */
export function eventCount(event: EventObject): number {
  return Math.max(event.count ?? 1, event.series?.count ?? 1, 1)
}

/** How often these Events have occurred in total. */
export function totalEventCount(events: readonly EventObject[]): number {
  return events.reduce((sum, event) => sum + eventCount(event), 0)
}
