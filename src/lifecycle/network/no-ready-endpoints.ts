import {
  desiredReplicasOf,
  type KubeObject,
  type Pod,
  type Service,
  type ServicePort,
  shortName,
} from '../../cluster/objects.ts'
import type { NetworkDetails } from '../../reasons/network.ts'
import type { Problem } from '../../reasons/reasons.ts'
import { labelsText } from '../../reasons/wording.ts'
import type { Reader } from '../reader.ts'
import { podRequest, podTemplateMetadata } from '../selector.ts'
import { objectProblemFields } from '../status-problems.ts'
import { isReadyByCondition, isReplaced } from '../workloads/pod-fields.ts'
import { problemsOfPod } from '../workloads/pod-state.ts'
import { compareByImportance } from '../workloads/revision-pods.ts'
import {
  declaredPortsText,
  isPodSelected,
  isPortMissing,
  type ReachedPods,
  standaloneWorkloads,
  targetPortIn,
} from './endpoints.ts'

/**
 * The problem of a Service that has no ready endpoint for some ports. Its checks are those of
 * https://kubernetes.io/docs/tasks/debug/debug-application/debug-service/ (selector, pods, ports, readiness,
 * endpoints). The first check that fails is the cause.
 * @param unserved the ports without a ready endpoint
 * @param canReadPods whether pods may be read
 */
export function noReadyEndpointsProblem(
  service: Service,
  { pods: all, endpoints }: ReachedPods,
  unserved: readonly ServicePort[],
  canReadPods: boolean,
  reader: Reader,
): Problem {
  const own = objectProblemFields(service, reader.history.firstSeenAt)
  const isPartial = unserved.length < (service.spec?.ports ?? []).length
  const noEndpoints = (finding: NetworkDetails['no-endpoints']['finding'], cause?: Problem): Problem => {
    const ports = isPartial ? unserved.map(({ name, port }) => name ?? port ?? '') : undefined
    return { ...own, reason: 'no-endpoints', detail: { finding, ports }, cause }
  }
  if (!canReadPods) return noEndpoints({ type: 'pods-unreadable', endpoints: endpoints.length })

  // If pods have different ports, only pods with an unserved port count.
  const withUnservedPort = all.filter(({ pod }) => unserved.some((port) => targetPortIn(pod, port) !== undefined))
  const selected = (isPartial && withUnservedPort.length > 0 ? withUnservedPort : all).map(({ pod }) => pod)
  if (selected.length === 0) {
    const workloads = standaloneWorkloads(service, reader)
    const behind = workloads.filter((workload) => isPodSelected(service, podTemplateMetadata(workload)))
    if (behind.length > 0) {
      const names = behind.map((each) => ({ name: shortName(each), replicas: desiredReplicasOf(each) }))
      return noEndpoints({ type: 'no-pods', workloads: names })
    }
    const selector = labelsText(service.spec?.selector ?? {})
    const present = presentLabels(service, reader.list(podRequest(service)), workloads)
    return { ...own, reason: 'selector-matches-nothing', detail: { selector, present } }
  }

  const missing = unserved.find((port) => selected.every((pod) => isPortMissing(pod, port)))
  if (missing !== undefined) {
    const declared = [...new Set(selected.map(declaredPortsText))].filter((ports) => ports !== '')
    return noEndpoints({ type: 'port-name-missing', port: String(missing.targetPort), declared })
  }

  const staying = selected.filter((pod) => !isReplaced(pod))
  if (staying.length === 0) return noEndpoints({ type: 'pods-ended', pods: selected.length })
  // During an update, only new pods count. Old pods count if there are no new ones.
  const newPods = staying.filter((pod) => reader.revisionOf(pod) !== 'other')
  const counts = { pods: staying.length, newPods: newPods.length }
  const readyPods = newPods.filter(isReadyByCondition).length
  if (readyPods > 0) return noEndpoints({ type: 'endpoints-not-made', ...counts, readyPods })
  const [cause] = (newPods.length > 0 ? newPods : staying)
    .flatMap((pod) => problemsOfPod(reader.podView(pod), reader))
    .sort(compareByImportance)
  return noEndpoints({ type: 'pods-not-ready', ...counts }, cause)
}

/** The labels that pods and pod templates have for the keys of a Service's selector, the most common first. */
function presentLabels({ spec }: Service, pods: readonly Pod[], workloads: readonly KubeObject[]): readonly string[] {
  const keys = Object.keys(spec?.selector ?? {})
  const labels = [...pods.filter((pod) => !isReplaced(pod)), ...workloads.map(podTemplateMetadata)]
    .map(({ metadata }) =>
      keys.flatMap((key) => (metadata.labels?.[key] === undefined ? [] : [[key, metadata.labels[key]]])),
    )
    .filter((present) => present.length > 0)
    .map((present) => labelsText(Object.fromEntries(present)))
  const grouped = Map.groupBy(labels, (each) => each)
  return [...grouped].sort(([, a], [, b]) => b.length - a.length).map(([each]) => each)
}
