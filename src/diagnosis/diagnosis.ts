import { parseDeniedAccess } from '../cluster/failures.ts'
import type { LogText } from '../cluster/feed.ts'
import { describePath, type PathStep } from '../cluster/field-paths.ts'
import { findErrorLine, messageOfLine } from '../cluster/logs.ts'
import { isOfKind, type Pod, shortName, subjectOf, subjectText } from '../cluster/objects.ts'
import type { Store } from '../cluster/store.ts'
import {
  type Evidence,
  type JudgedProblem,
  type JudgedRunRecord,
  type JudgedTargetRecord,
  type RunRecord,
  type TargetRecord,
  undefinedIfEmpty,
} from '../gate/run-record.ts'
import { problemRecord } from '../gate/target-record.ts'
import { problemAndCause } from '../lifecycle/evidence-snapshot.ts'
import type { Plan } from '../plan/resolve.ts'
import { displayName, type Manifest, nameKey, type Target } from '../plan/target.ts'
import type { PodReport } from '../reasons/pods.ts'
import { type Problem, type ReasonCode, reasons, traitsOf } from '../reasons/reasons.ts'
import { describeGrants } from '../reasons/wording.ts'
import { conditionEvidence, type EvidenceContext, evidenceFor, problemPlaceKey } from './evidence.ts'
import { gateHint, type HintDetails, hasUnjudgedTargets, targetHint } from './hints.ts'
import { addChanges, mayQuote, revisionChanges, TargetFacts } from './target-facts.ts'

const longestQuote = 200

const unjudgedHint =
  'An object of the cluster has a field that was not expected. Please report it, with a recording (input record), so that it can be judged. The rollout itself may be fine.'

/**
 * Adds the diagnosis to a record: for each target that is not ready, a hint and the evidence of its problems (owner
 * chain, manifest line, events and logs). For targets with a new version, also the changes of the pod template.
 * @param usesFlags hints name flags of the command line, not inputs of the action
 */
export function addDiagnosis(
  record: JudgedRunRecord,
  store: Store,
  serverOffsetMs: number,
  manifests: Plan['manifests'] = new Map(),
  usesFlags = false,
): RunRecord {
  const problemPlaces = new Set(
    record.targets.flatMap(({ problems }) => problems.map(({ basis }) => problemPlaceKey(basis))),
  )
  const denied = listDeniedAccess(record, store)
  const { startedAt, finishedAt } = record
  const context = { store, serverOffsetMs, startedAt, finishedAt, manifests, problemPlaces, denied, usesFlags }
  return {
    ...record,
    hint: gateHint(record, denied),
    targets: record.targets.map((judged) => {
      if (judged.outcome === 'ready') return addChanges(judged, store)
      if (judged.outcome === 'unknown') return { ...judged, hint: unjudgedHint }
      return diagnoseTarget(judged, record, context)
    }),
  }
}

interface Context extends EvidenceContext {
  readonly manifests: Plan['manifests']
  /** See `HintFacts`. */
  readonly usesFlags: boolean
  /** All denied access, if denied access ended the gate. */
  readonly denied: HintDetails['denied']
}

/** All denied access, if this ended the gate. Denied access to cluster-scoped kinds counts only for such targets. */
function listDeniedAccess({ basis, targets }: JudgedRunRecord, store: Store): HintDetails['denied'] {
  if (basis?.denied === undefined) return undefined
  const { wasReadable, access } = basis.denied
  const isClusterWide = targets.some(({ namespace }) => namespace === undefined)
  const others = store.deniedAccess
    .flatMap(({ message }) => parseDeniedAccess(message) ?? [])
    .filter(({ namespace }) => namespace !== undefined || isClusterWide)
  const distinct = new Map([...access, ...others].map((each) => [JSON.stringify(each), each]))
  return { wasReadable, access: [...distinct.values()] }
}

function diagnoseTarget(judged: JudgedTargetRecord, record: JudgedRunRecord, context: Context): TargetRecord {
  const {
    reason,
    basis: { target },
  } = judged
  const facts = new TargetFacts(judged, context.store)
  const manifest = context.manifests.get(nameKey(target))
  const isQuoted = mayQuote(target, context.store)
  const lost = lostNodeProblem(judged, facts, context)
  const found = lost ?? waitingPodProblem(judged, facts, context)
  const problems = [...(found === undefined ? [] : [found]), ...judged.problems].map((problem) => {
    const { basis } = problem
    const chain = ownerChain(basis, target, facts)
    const quoted = isQuoted ? [...problem.evidence, ...evidenceFor(basis, facts, context)] : []
    return {
      ...problem,
      chain: chain.length > 1 ? chain : undefined,
      evidence: [...manifestEvidence(basis, manifest), ...quoted],
    }
  })
  // The pods on a lost node cannot become ready, so its problem decides the hint.
  const deciding = ((lost === undefined && problems.find((problem) => problem.reason === reason)) || problems[0])?.basis
  const place = deciding && fieldToChange(deciding, manifest)
  const details: HintDetails = {
    usesFlags: context.usesFlags,
    object: facts.get(target),
    denied: context.denied,
    unreadable: record.basis?.unreadable,
    hasEnded: facts.hasEnded,
    namespaceState: facts.namespaceState,
    isLeftOpen: judged.outcome === 'progressing' && record.outcome !== 'progressing',
    ...(deciding && problemHintDetails(deciding, facts)),
    cause: deciding?.cause && problemHintDetails(deciding.cause, facts),
  }
  const notes = [...(judged.notes ?? []), ...unreadNotes(judged, facts, context)]
  const withHint = (shown: HintDetails) => targetHint(target, lost?.reason ?? hintReason(judged, record), shown)
  const quotesLog = details.logLine !== undefined || details.cause?.logLine !== undefined
  return {
    ...judged,
    // The line to correct is more useful than the object's first line.
    ...(place && { source: { file: place.file, line: place.line } }),
    problems,
    ...(isQuoted && revisionChanges(judged, facts)),
    notes: undefinedIfEmpty(notes),
    hint: withHint(details),
    ...(quotesLog && { hintWithoutLog: withHint(removeLogLines(details)) }),
  }
}

/** The problem that a node is not ready, if this explains pods without a known cause. */
function lostNodeProblem(judged: JudgedTargetRecord, facts: TargetFacts, context: Context): JudgedProblem | undefined {
  const pods = facts.unexplainedPods.flatMap((pod) => {
    const name = pod.spec?.nodeName ?? ''
    const ready = facts.findNode(name)?.status?.conditions?.find(({ type }) => type === 'Ready')
    return ready === undefined || ready.status === 'True' ? [] : [{ pod, name, ready }]
  })
  const [first] = pods
  if (first === undefined) return undefined
  const ofNode = pods.filter(({ name }) => name === first.name)
  const found = podProblemFields(first.pod, ofNode.length, first.ready.lastTransitionTime, context)
  const detail = { node: first.name, state: 'lost' } as const
  return problemRecord({ ...found, reason: 'node-unresponsive', detail }, judged.basis.target)
}

/** The problem of a target that waits for a pod and has no other problem. */
function waitingPodProblem(
  judged: JudgedTargetRecord,
  facts: TargetFacts,
  context: Context,
): JudgedProblem | undefined {
  if (judged.problems.length > 0) return undefined
  const pods = facts.waitingPods
  const createdAt = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp ?? '') || 0
  // The newest pod has the gated revision.
  const [pod] = pods.toSorted((a, b) => createdAt(b) - createdAt(a))
  if (pod === undefined) return undefined
  const warning = facts.eventsOf(pod).findLast(({ type }) => type === 'Warning')
  const detail = {
    ...waitingContainer(pod),
    ...(warning === undefined ? {} : { warning: { reason: warning.reason ?? '', message: warning.message ?? '' } }),
  }
  const found = podProblemFields(pod, pods.length, pod.metadata.creationTimestamp, context)
  const problem = problemRecord({ ...found, reason: 'pod-waiting', detail }, judged.basis.target)
  return { ...problem, evidence: conditionEvidence(pod) }
}

/**
 * The common fields of a problem with pods that is found after the end of the gate.
 * @param pod one of the pods
 * @param since when the problem began, as a timestamp of the server; by default, at the start of the gate
 */
function podProblemFields(pod: Pod, pods: number, since: string | undefined, { serverOffsetMs, startedAt }: Context) {
  const firstSeenAt = Date.parse(since ?? '') - serverOffsetMs || startedAt
  return { subject: subjectOf(pod), count: 1, pods, firstSeenAt, proven: false } as const
}

/** The first waiting container, and why it waits. */
function waitingContainer({ status }: Pod): { readonly container?: string; readonly waiting?: PodReport } {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  const found = all.find(({ state }) => state?.waiting !== undefined)
  const { reason = '', message = '' } = found?.state?.waiting ?? {}
  return found === undefined ? {} : { container: found.name, waiting: { reason, message } }
}

/** The owner chain of a problem: `deployment/web → replicaset/web-688 → pod/web-688-x → container app`. */
function ownerChain(problem: Problem, target: Target, facts: TargetFacts): readonly string[] {
  const [deepest = problem] = problemAndCause(problem).toReversed()
  const { subject, container } = deepest
  const top = displayName(target)
  const chain: string[] = []
  let object = facts.findSubject(deepest)
  if (object === undefined && problem.cause !== undefined) {
    const { cause: _cause, ...own } = problem
    return [...ownerChain(own, target, facts), subjectText(subject)]
  }
  for (let steps = 0; object !== undefined && steps < 5; steps++) {
    chain.unshift(shortName(object))
    const owner = object.metadata.ownerReferences?.find(({ controller }) => controller !== false)
    if (chain[0] === top || owner === undefined) break
    object = facts.get({ ...owner, namespace: object.metadata.namespace }) ?? facts.get(owner)
    // If the owner was not read, the reference contains its name.
    if (object === undefined) chain.unshift(`${owner.kind.toLowerCase()}/${owner.name}`)
  }
  if (chain.length === 0 && subjectText(subject) !== top) chain.push(subjectText(subject))
  return [...(chain[0] === top ? [] : [top]), ...chain, ...(container === undefined ? [] : [`container ${container}`])]
}

/** Notes on pods and events that could not be read, with the permissions to grant. */
function unreadNotes({ problems }: JudgedTargetRecord, facts: TargetFacts, { denied }: Context): readonly string[] {
  const kinds = problems.length === 0 ? (['Pod', 'Event'] as const) : (['Event'] as const)
  const refused = kinds.flatMap((kind) => {
    const message = facts.findFailure(kind)?.message
    return message === undefined ? [] : [{ message, note: `${kind.toLowerCase()}s could not be read: ${message}` }]
  })
  const logs = problems
    .flatMap(({ basis }) => problemAndCause(basis))
    .flatMap((problem) => facts.findLog(problem, false)?.why ?? [])
  const access = [...refused.map(({ message }) => message), ...logs].flatMap(
    (message) => parseDeniedAccess(message) ?? [],
  )
  // If denied access ended the gate, the hint of the gate contains all permissions.
  const isGranted = access.length === 0 || denied !== undefined
  return [...refused.map(({ note }) => note), ...(isGranted ? [] : [describeGrants(access)])]
}

/** The reason that decides the hint of a target. If the gate ended without judging the target, the gate's reason. */
function hintReason({ outcome, reason, problems }: TargetRecord, record: RunRecord): ReasonCode | '' {
  if (traitsOf({ reason }).yieldsTo === 'problem') return problems[0]?.reason ?? reason
  const isItsReason = outcome === 'progressing' && reason === '' && hasUnjudgedTargets(record)
  return isItsReason ? record.reason : reason
}

function removeLogLines({ logLine: _, cause, ...details }: HintDetails): HintDetails {
  return { ...details, cause: cause && removeLogLines(cause) }
}

function problemHintDetails(problem: Problem, facts: TargetFacts): HintDetails {
  const [present, previous] = [facts.findLog(problem, false), facts.findLog(problem, true)]
  const object = facts.findSubject(problem)
  const pod = isOfKind(object, 'Pod') ? object : undefined
  const isOfOtherArchitecture = /exec format error/i.test(present?.text || previous?.text || '') || undefined
  return {
    problem,
    spec: facts.findContainer(problem)?.container,
    logLine: quotedLine([present?.text ?? '', previous?.text ?? '']),
    lostLogs: { present: isUnreadableLog(present), previous: isUnreadableLog(previous) },
    isOfOtherArchitecture,
    pod,
  }
}

/** The log line to quote in a hint: the last error in the first log with an error, else the last line. */
function quotedLine(runs: readonly string[]): HintDetails['logLine'] {
  const logs = runs.map((text) => text.trimEnd().split('\n'))
  const withError = logs.map((lines) => lines[findErrorLine(lines)]).find((line) => line !== undefined)
  const text = messageOfLine(withError ?? logs.map((lines) => lines.at(-1) ?? '').find((line) => line !== '') ?? '')
  if (text === '') return undefined
  const isLong = text.length > longestQuote
  return { text: isLong ? `${text.slice(0, longestQuote - 1)}…` : text, isError: withError !== undefined }
}

/** Whether a log could not be read although access is permitted. Then the user cannot read the log either. */
function isUnreadableLog(log: LogText | undefined): boolean {
  return log?.why !== undefined && log.text === '' && parseDeniedAccess(log.why) === undefined
}

/** Evidence: the field of the manifest that causes a problem. */
function manifestEvidence(problem: Problem, manifest: Manifest | undefined): readonly Evidence[] {
  const place = fieldToChange(problem, manifest)
  if (place === undefined) return []
  return [{ type: 'manifest', title: `${place.file}, line ${place.line}`, text: describePath(place.path) }]
}

/** The field to change for a problem. If the manifest does not contain the field, the line of its nearest parent. */
function fieldToChange(problem: Problem, manifest: Manifest | undefined) {
  const path = manifest && pathToChange(problem, manifest)
  return path && { path, file: manifest.file, line: manifest.lineOf(path) }
}

/** The path of the field to change for a problem. Undefined if no field causes the problem. */
function pathToChange({ reason, container }: Problem, { object }: Manifest): readonly PathStep[] | undefined {
  const { field } = reasons[reason]
  const isPod = object.kind === 'Pod'
  const template: readonly PathStep[] = isPod ? [] : ['spec', 'template']
  if (container !== undefined && field?.container !== undefined) {
    const { spec } = object as WorkloadManifest
    const pod = isPod ? spec : spec?.template?.spec
    const isInit = pod?.initContainers?.some(({ name }) => name === container)
    return [...template, 'spec', isInit ? 'initContainers' : 'containers', { name: container }, ...field.container]
  }
  return field?.pod === undefined ? field?.object : [...template, ...field.pod]
}

interface PodFields {
  readonly initContainers?: readonly { readonly name?: string }[]
}

/** The manifest of a Pod, or of a workload with a pod template. */
interface WorkloadManifest {
  readonly spec?: PodFields & { readonly template?: { readonly spec?: PodFields } }
}
