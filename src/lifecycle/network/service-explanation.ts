import {
  type KubeObject,
  type Pod,
  replicasOf,
  type Service,
  type ServicePort,
  shortName,
} from '../../cluster/objects.ts'
import { describeFinding, type NetworkDetails, unmatchedSelector } from '../../reasons/network.ts'
import { type Check, type Problem, problemSentence } from '../../reasons/reasons.ts'
import { counted, labelsText } from '../../reasons/wording.ts'
import type { Reader } from '../reader.ts'
import { podRequest, podsMetadata } from '../selector.ts'
import { ownProblem } from '../status-problems.ts'
import { condition, isReady, isReplaced } from '../workloads/pod-fields.ts'
import { examinePod } from '../workloads/pod-state.ts'
import { byImportance } from '../workloads/revision-pods.ts'
import {
  declaredPorts,
  isPortMissing,
  isSelectedBy,
  type ReachedPods,
  standaloneWorkloads,
  targetPortIn,
} from './endpoints.ts'

/**
 * Why no endpoint is ready for some ports of a Service. Follows the order of
 * https://kubernetes.io/docs/tasks/debug/debug-application/debug-service/ (Service, selector, pods, ports, scheduling,
 * readiness, endpoints) to the first answer that explains the rest; each answer is a check.
 * @param unserved the ports without a ready endpoint
 * @param canReadPods whether pods may be read
 */
export function explainUnserved(
  service: Service,
  { pods: all, endpoints }: ReachedPods,
  unserved: readonly ServicePort[],
  canReadPods: boolean,
  reader: Reader,
): Problem {
  const checks: Check[] = [
    service.metadata.deletionTimestamp === undefined
      ? passed('the Service exists')
      : failed('the Service is being deleted'),
  ]
  const own = ownProblem(service, reader.history.firstSeenAt)
  const isPartial = unserved.length < (service.spec?.ports ?? []).length
  const end = (finding: NetworkDetails['no-endpoints']['finding'], cause?: Problem): Problem => {
    const ports = isPartial ? unserved.map(({ name, port }) => name ?? port ?? '') : undefined
    checks.push(failed(describeFinding(finding, cause && problemSentence(cause)).check))
    return { ...own, reason: 'no-endpoints', detail: { finding, ports }, checks, cause }
  }
  if (!canReadPods) {
    checks.push(remark('its pods cannot be read'))
    return end({ type: 'pods-unreadable', endpoints: endpoints.length })
  }

  const selector = labelsText(service.spec?.selector ?? {})
  // If pods have different ports, those with an unserved port count.
  const able = all.filter(({ pod }) => unserved.some((port) => targetPortIn(pod, port) !== undefined))
  const selected = (isPartial && able.length > 0 ? able : all).map(({ pod }) => pod)
  const workloads = selected.length > 0 ? [] : standaloneWorkloads(service, reader)
  const behind = workloads.filter((workload) => isSelectedBy(service, podsMetadata(workload)))
  if (selected.length === 0 && behind.length === 0) {
    const detail = { selector, present: presentLabels(service, reader.list(podRequest(service)), workloads) }
    checks.push(failed(unmatchedSelector(detail)))
    return { ...own, reason: 'selector-matches-nothing', detail, checks }
  }
  if (selected.length === 0) {
    const names = behind.map((each) => ({ name: shortName(each), replicas: replicasOf(each) }))
    checks.push(passed(`selector ${selector} matches the pods of ${names.map(({ name }) => name).join(', ')}`))
    return end({ type: 'no-pods', workloads: names })
  }
  checks.push(passed(`selector ${selector} matches ${counted(selected.length, 'pod')}`))

  const missing = unserved.find((port) => selected.every((pod) => isPortMissing(pod, port)))
  if (missing !== undefined) {
    const declared = [...new Set(selected.map(declaredPorts))].filter((ports) => ports !== '')
    return end({ type: 'port-name-missing', port: String(missing.targetPort), declared })
  }

  const staying = selected.filter((pod) => !isReplaced(pod))
  const ended = selected.length - staying.length
  if (staying.length === 0) {
    const areAllDeleted = selected.every(({ metadata }) => metadata.deletionTimestamp !== undefined)
    return end({ type: 'pods-ended', pods: ended, areAllDeleted })
  }
  if (ended > 0) checks.push(remark(`${ended} of them failed or being deleted`))

  const states = staying.map((pod) => examinePod(pod, reader))
  // During an update the new pods count; the old ones only if there are no others.
  const newPods = staying.filter((pod) => reader.revisionOf(pod) !== 'other')
  const [cause] = states
    .flatMap(({ pod, problems }) => (newPods.length === 0 || newPods.includes(pod) ? problems : []))
    .sort(byImportance)
  const counts = { pods: staying.length, newPods: newPods.length }
  const unscheduled = states.filter(({ scheduled }) => !scheduled).length
  if (unscheduled === staying.length) return end({ type: 'pods-not-ready', ...counts, isNoneScheduled: true }, cause)
  checks.push(
    unscheduled === 0
      ? passed(`${staying.length === 1 ? 'it is' : 'all of them are'} scheduled to a node`)
      : failed(`${unscheduled} of them not scheduled to a node`),
  )
  const readyPods = newPods.filter(isReady).length
  if (readyPods > 0) return end({ type: 'endpoints-not-made', ...counts, readyPods, endpoints: endpoints.length })
  const [podMessage] = staying.flatMap((pod) => {
    const message = condition(pod, 'Ready')?.message
    return message ? [`pod/${pod.metadata.name} has ${message}`] : []
  })
  return end({ type: 'pods-not-ready', ...counts, isOldReady: staying.some(isReady), podMessage }, cause)
}

function passed(text: string): Check {
  return { state: 'passed', text }
}

function failed(text: string): Check {
  return { state: 'failed', text }
}

function remark(text: string): Check {
  return { state: 'remark', text }
}

/** The labels that pods and pod templates have for the keys of a Service's selector, the most common first. */
function presentLabels({ spec }: Service, pods: readonly Pod[], workloads: readonly KubeObject[]): readonly string[] {
  const keys = Object.keys(spec?.selector ?? {})
  const labels = [...pods.filter((pod) => !isReplaced(pod)), ...workloads.map(podsMetadata)]
    .map(({ metadata }) =>
      keys.flatMap((key) => (metadata.labels?.[key] === undefined ? [] : [[key, metadata.labels[key]]])),
    )
    .filter((present) => present.length > 0)
    .map((present) => labelsText(Object.fromEntries(present)))
  const sets = Map.groupBy(labels, (each) => each)
  return [...sets].sort(([, a], [, b]) => b.length - a.length).map(([each]) => each)
}
