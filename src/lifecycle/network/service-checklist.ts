import leven from 'leven'
import type { EndpointSlice, KubeObject, Pod, Service, ServicePort } from '../../cluster/objects.ts'
import { type Check, type Problem, problemSentence, type ReasonCode } from '../../reasons/reasons.ts'
import type { RuleContext } from '../rule-context.ts'
import { condition, examinePod, isReplaced } from '../workloads/pod-state.ts'
import { byImportance } from '../workloads/pods.ts'
import { pods as podCount } from '../workloads/replicas.ts'
import {
  declaredPorts,
  isSelectedBy,
  isUndeclared,
  labelWords,
  podsMetadata,
  targetPortIn,
  type Workload,
} from './service-pods.ts'

/** All that is known found a Service without ready endpoints, of its namespace. */
export interface ServiceNamespace {
  /** Every pod that is seen, whether the Service selects it or not; undefined where pods may not be read. */
  readonly pods: readonly Pod[] | undefined
  readonly workloads: readonly Workload[]
  /** The Service's own. */
  readonly slices: readonly EndpointSlice[]
}

/** Why a Service gets no traffic through: the first thing that is wrong, and all that was looked at on the way to it. */
export interface Finding {
  readonly reason: ReasonCode
  readonly message: string
  readonly checks: readonly Check[]
  /** The problem of a pod that is behind it. */
  readonly cause?: Problem
}

/**
 * Walks the questions that people ask of a Service whose pods get no traffic, in their order
 * (https://kubernetes.io/docs/tasks/debug/debug-application/debug-service/): is it there, does its selector select
 * anything, are there pods, do they have the port, are they staying, scheduled, ready, and are there endpoints of them?
 * It ends at the first answer that explains the rest.
 */
export function walkChecklist(service: Service, found: ServiceNamespace, context: RuleContext): Finding {
  const checks: Check[] = [
    service.metadata.deletionTimestamp === undefined
      ? passed('the Service exists')
      : failed('the Service is being deleted'),
  ]
  const endpoints = found.slices.flatMap((slice) => slice.endpoints ?? []).length
  const end = (reason: ReasonCode, message: string, last: Check, cause?: Problem): Finding => {
    return { reason, message, checks: [...checks, last], ...(cause === undefined ? {} : { cause }) }
  }
  if (found.pods === undefined) {
    const words = `has ${endpointCount(endpoints)}, none of them ready`
    checks.push({ state: 'remark', text: 'its pods cannot be seen' })
    return end('no-endpoints', words, failed(`it ${words}`))
  }

  const selector = labelWords(service.spec?.selector ?? {})
  const selected = found.pods.filter((pod) => isSelectedBy(service, pod))
  const behind = found.workloads.filter((workload) => isSelectedBy(service, podsMetadata(workload)))
  if (selected.length === 0 && behind.length === 0) {
    const words = `selector ${selector} matches no pod${nearMiss(service, found.pods, found.workloads)}`
    return end('selector-matches-nothing', `its ${words}`, failed(words))
  }
  if (selected.length === 0) {
    checks.push(passed(`selector ${selector} matches the pods of ${behind.map(nameOf).join(', ')}`))
    const words = behind.map(absenceWords).join(', ')
    return end('no-endpoints', `has no pods behind it: ${words}`, failed(words))
  }
  checks.push(passed(`selector ${selector} matches ${podCount(selected.length)}`))

  const missing = (service.spec?.ports ?? []).find((port) => selected.every((pod) => isPortMissing(pod, port)))
  const ports = (service.spec?.ports ?? []).flatMap((port) => portCheck(port, selected))
  if (missing !== undefined) {
    const words = `no container of the pods that it selects has a port named "${missing.targetPort}"`
    checks.push(...ports)
    const declared = [...new Set(selected.map(declaredPorts))].filter((words) => words !== '')
    const has = declared.length === 0 ? 'they declare none' : `they declare ${declared.join(' or ')}`
    return end('no-endpoints', words, failed(`${words}: ${has}`))
  }
  checks.push(...ports)

  const staying = selected.filter((pod) => !isReplaced(pod))
  if (staying.length === 0) {
    const words = selected.every(({ metadata }) => metadata.deletionTimestamp !== undefined)
      ? 'all of them being deleted'
      : 'all of them failed or being deleted'
    return end(
      'no-endpoints',
      `selects ${podCount(selected.length)}, ${words}`,
      failed(`${words}: none is left to serve`),
    )
  }
  if (staying.length < selected.length) {
    checks.push({ state: 'remark', text: `${selected.length - staying.length} of them failed or being deleted` })
  }

  const states = staying.map((pod) => ({ ...examinePod(pod, context), pod }))
  const fresh = staying.filter((pod) => context.isOfGatedRevision(pod) !== false)
  // In an update it is the new pods that count; of the old ones while there are no others.
  const [cause] = states
    .flatMap(({ pod, problems }) => (fresh.length === 0 || fresh.includes(pod) ? problems : []))
    .sort(byImportance)
  const why = cause === undefined ? '' : `: ${problemSentence(cause)}`
  const [none, all] = staying.length === 1 ? ['it is not', 'it is'] : ['none of them is', 'all of them are']
  const selects = `selects ${podCount(staying.length)}${ageWords(staying.length, fresh.length)}`
  const message = `${selects}${unreadiness(staying.length, fresh.length)}${why}`
  const unscheduled = states.filter(({ scheduled }) => !scheduled).length
  if (unscheduled === staying.length) {
    return end('no-endpoints', message, failed(`${none} scheduled to a node${why}`), cause)
  }
  checks.push(
    unscheduled === 0 ? passed(`${all} scheduled to a node`) : failed(`${unscheduled} of them not scheduled to a node`),
  )
  const isReady = (pod: Pod) => condition(pod, 'Ready')?.status === 'True'
  const ready = fresh.filter(isReady)
  if (ready.length > 0) {
    const words = `no endpoint takes traffic to the ${ready.length === 1 ? 'ready pod' : `${ready.length} ready pods`} yet`
    const made = endpoints === 0 ? 'none was made' : `there are ${endpointCount(endpoints)}, of other pods or ports`
    return end('no-endpoints', `${selects}; ${words}`, failed(`${words}: ${made}`))
  }
  if (staying.some(isReady)) {
    const words = `only pods of an older revision are ready${why}`
    return end('no-endpoints', message, failed(words), cause)
  }
  return end('no-endpoints', message, failed(`${none} ready${why || unreadyWords(staying)}`), cause)
}

/** How many of the pods are of an older revision than the one that is gated. */
function ageWords(all: number, fresh: number): string {
  if (fresh === all) return ''
  if (fresh > 0) return `, ${all - fresh} of them of an older revision`
  return all === 1 ? ', of an older revision' : ', all of them of an older revision'
}

/** That none of them is ready; old pods may well be, and do not count. */
function unreadiness(all: number, fresh: number): string {
  if (fresh === 0) return '; no new one is there yet'
  if (fresh < all) return fresh === 1 ? ', the new one not ready' : ', none of the new ones ready'
  return all === 1 ? ', which is not ready' : ', none of them ready'
}

/** Of pods that are not ready and have no problem of their own, what they say: `: pod/web-x has containers with unready status: [app]`. */
function unreadyWords(pods: readonly Pod[]): string {
  const [first] = pods.flatMap((pod) => {
    const words = condition(pod, 'Ready')?.message
    return words ? [`: pod/${pod.metadata.name} has ${words}`] : []
  })
  return first ?? ''
}

function passed(text: string): Check {
  return { state: 'passed', text }
}

function failed(text: string): Check {
  return { state: 'failed', text }
}

/** `1 endpoint`, `3 endpoints`. */
export function endpointCount(count: number): string {
  return `${count} ${count === 1 ? 'endpoint' : 'endpoints'}`
}

function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind.toLowerCase()}/${metadata.name}`
}

/** Why a workload that a Service selects has no pods. */
function absenceWords(workload: Workload): string {
  const { replicas } = workload.spec ?? {}
  if (replicas === 0) return `${nameOf(workload)} is scaled to zero`
  return replicas === undefined
    ? `${nameOf(workload)} has no pods`
    : `${nameOf(workload)} wants ${podCount(replicas)} and has none`
}

function isPortMissing(pod: Pod, port: ServicePort): boolean {
  return typeof port.targetPort === 'string' && targetPortIn(pod, port) === undefined
}

function portCheck(port: ServicePort, pods: readonly Pod[]): readonly Check[] {
  const { targetPort = port.port } = port
  if (typeof targetPort === 'string') {
    const numbers = new Set(pods.flatMap((pod) => targetPortIn(pod, port) ?? []))
    return numbers.size === 0 ? [] : [passed(`port "${targetPort}" is ${[...numbers].join(' or ')} of the pods`)]
  }
  if (targetPort === undefined) return []
  if (isUndeclared(port, pods)) {
    const has = [...new Set(pods.map(declaredPorts))].join(' or ')
    const text = `port ${targetPort}: no container declares it (they declare ${has}), which is no mistake if one listens there`
    return [{ state: 'remark', text }]
  }
  return pods.some((pod) => declaredPorts(pod) !== '') ? [passed(`port ${targetPort} is declared by the pods`)] : []
}

/** A longer value is none of a label (apimachinery, `LabelValueMaxLength`), and comparing costs the product of both lengths. */
const longestLabel = 63

/** 1 for the same, 0 for words that have nothing in common. */
function similarity(a: string, b: string): number {
  if (a.length > longestLabel || b.length > longestLabel) return 0
  return a === b ? 1 : 1 - leven(a, b) / Math.max(a.length, b.length, 1)
}

/** What is less like the selector was not meant: `wbe` is to `web` as 1 to 3. */
const leastLikeness = 0.3

/** What carries labels that the selector may have meant. */
interface Carrier {
  readonly labels: Readonly<Record<string, string>>
  readonly of: Pod | Workload
}

/**
 * What the selector was probably meant to match, as the end of a sentence: `; 3 pods carry app=web`. Of all labels that
 * pods carry, or that workloads give to theirs, those that agree with most of the selector, and are spelt most like the
 * rest of it.
 */
function nearMiss({ spec }: Service, pods: readonly Pod[], workloads: readonly Workload[]): string {
  const selector = Object.entries(spec?.selector ?? {})
  const carriers: readonly Carrier[] = [
    ...pods.filter((pod) => !isReplaced(pod)).map((of) => ({ labels: of.metadata.labels ?? {}, of })),
    ...workloads.map((of) => ({ labels: podsMetadata(of).metadata.labels ?? {}, of })),
  ]
  const likeness = (of: Carrier | undefined) =>
    selector.reduce((sum, [key, value]) => {
      const label = of?.labels[key]
      // In a recording written by hand, either may be a number.
      return sum + (label === undefined ? 0 : similarity(String(value), String(label)))
    }, 0)
  // Pods of one workload carry the same: of thousands of pods, few sets of labels are to be compared.
  const [best] = [...Map.groupBy(carriers, ({ labels }) => selector.map(([key]) => labels[key]).join()).values()]
    .map((group) => ({ group, likeness: likeness(group[0]) }))
    .toSorted((a, b) => b.likeness - a.likeness)
  const [first] = best?.group ?? []
  if (best === undefined || first === undefined || best.likeness < leastLikeness) return ''
  const shown = Object.fromEntries(
    selector.flatMap(([key]) => (first.labels[key] === undefined ? [] : [[key, first.labels[key]]])),
  )
  const count = best.group.filter(({ of }) => of.kind === 'Pod').length
  const words = labelWords(shown)
  if (count > 0) return `; ${podCount(count)} ${count === 1 ? 'carries' : 'carry'} ${words}`
  return `; ${nameOf(first.of)} makes pods with ${words}`
}
