import { awaitAtMost, type Clock, Semaphore } from '../cluster/clock.ts'
import { failureOf, isForbidden, isNotFound } from '../cluster/failures.ts'
import type { ContainerRef, Failure, FeedEvent, Observation, WatchRequest } from '../cluster/feed.ts'
import type { LogRequest, LogTail } from '../cluster/logs.ts'
import { isOfKind, isPodSubject, type KubeObject, nameOf, type ObjectName, type Pod } from '../cluster/objects.ts'
import { errorText } from '../errors.ts'
import type { Gate } from '../gate/gate.ts'
import type { JudgedTargetRecord } from '../gate/run-record.ts'
import { targetRecord } from '../gate/target-record.ts'
import type { Entry } from '../gate/timeline-entries.ts'
import { gateRequests } from '../gate/watch-requests.ts'
import { problemAndCause } from '../lifecycle/evidence-snapshot.ts'
import { containersOf } from '../lifecycle/workloads/pod-fields.ts'
import { watchRequestOf } from '../plan/target.ts'
import { maxEvidenceContainers, maxEvidenceNodes } from '../thresholds.ts'
import { mayQuote, TargetFacts } from './target-facts.ts'

/* Reads container logs, nodes and namespaces as evidence. */

interface Readable {
  readLog(request: LogRequest): Promise<LogTail>
  get(reference: ObjectName): Promise<KubeObject>
  findDeniedAccess(requests: readonly WatchRequest[]): Promise<readonly Failure[]>
}

const namespaceKind = { apiVersion: 'v1', kind: 'Namespace' } as const

/** The maximum number of parallel reads: each log may have several megabytes before it is cut. */
const maxParallelReads = 12

/**
 * Reads evidence that no watch reports, for targets that are not ready: container logs, nodes, the namespace and denied
 * access. Reads when a target ends or a pod dies, because pods may be deleted soon, and reads the rest when the gate
 * ends. Each result is an observation, so that recordings contain the evidence.
 */
export class EvidenceReader {
  readonly #gate: Gate
  readonly #cluster: Readable
  readonly #report: (observation: Observation) => void
  readonly #tailLines: number
  readonly #containers = new Set<string>()
  readonly #nodes = new Set<string>()
  /** The reads by key. A failed read is removed, so that it can be tried again. */
  readonly #reads = new Map<
    string,
    'answered' | { readonly reading: Promise<void>; readonly giveUp: (why: string) => void }
  >()
  readonly #slots = new Semaphore(maxParallelReads)
  #isLast = false
  #isClosed = false

  /** @param tailLines the number of lines to read from the end of each log; 0: no log is read */
  constructor(gate: Gate, cluster: Readable, report: (observation: Observation) => void, tailLines: number) {
    this.#gate = gate
    this.#cluster = cluster
    this.#report = report
    this.#tailLines = tailLines
  }

  /** Reads the evidence for a target that ends and is not ready. */
  onEntry({ kind, outcome, target = -1 }: Entry): void {
    const gated = kind === 'verdict' && outcome !== 'ready' ? this.#gate.targets[target] : undefined
    if (gated !== undefined) this.#readEvidence(targetRecord(gated))
  }

  /** Reads the log of a dying pod before the gate handles the event, because the log disappears with the pod. */
  observe(event: FeedEvent): void {
    if (event.type !== 'MODIFIED' || !isOfKind(event.object, 'Pod') || !isDying(event.object)) return
    const { name } = event.object.metadata
    const known = this.#gate.store.get(nameOf(event.object))
    if (known === undefined || known.metadata.deletionTimestamp !== undefined) return
    for (const judged of this.#gate.record().targets) {
      const problems = judged.problems.filter(({ basis }) =>
        problemAndCause(basis).some(({ subject }) => isPodSubject(subject) && subject.name === name),
      )
      if (problems.length > 0 && judged.outcome !== 'ready') this.#readEvidence({ ...judged, problems })
    }
  }

  /**
   * Reads the missing evidence for at most `limitMs`. Then reports reads without an answer, and ignores late answers.
   */
  async finish(clock: Clock, limitMs: number): Promise<void> {
    this.#isLast = true
    const { basis, targets } = this.#gate.record()
    if (basis?.denied !== undefined) this.#startRead('access', () => this.#findDeniedAccess())
    for (const judged of targets) if (judged.outcome !== 'ready') this.#readEvidence(judged)
    await awaitAtMost(clock, limitMs, Promise.all(this.#pendingReads.map(({ reading }) => reading)))
    for (const { giveUp } of this.#pendingReads) giveUp(`no answer within ${limitMs / 1000} s`)
    this.#isClosed = true
  }

  get #pendingReads() {
    return [...this.#reads.values()].filter((read) => read !== 'answered')
  }

  #readEvidence(judged: JudgedTargetRecord): void {
    const facts = new TargetFacts(judged, this.#gate.store)
    if (this.#tailLines > 0 && mayQuote(judged.basis.target, this.#gate.store))
      for (const container of facts.loggedContainers) this.#readLogs(container, facts)
    const nodes = [
      ...judged.problems
        .flatMap(({ basis }) => problemAndCause(basis))
        .flatMap((problem) => facts.explainingNode(problem) ?? []),
      ...facts.unexplainedPods.flatMap(({ spec }) => spec?.nodeName ?? []),
    ]
    for (const node of nodes)
      if (facts.findNode(node) === undefined && facts.findFailure('Node', node) === undefined) this.#readNode(node)
    const { explainingNamespace } = facts
    if (explainingNamespace !== undefined) this.#readNamespace(explainingNamespace)
  }

  /** Reads the logs of the present and the previous run of a container. */
  #readLogs(container: ContainerRef, facts: TargetFacts): void {
    const { namespace, pod } = container
    const { uid = '' } = facts.get({ apiVersion: 'v1', kind: 'Pod', name: pod, namespace })?.metadata ?? {}
    const key = `${namespace}/${pod}/${uid}/${container.container}`
    if (!addWithinLimit(this.#containers, key, maxEvidenceContainers)) return
    for (const previous of [false, true]) {
      const log = { type: 'LOG', ...container, previous } as const
      const read = async () => {
        const tail = await this.#cluster.readLog({ ...container, previous, tailLines: this.#tailLines })
        if (tail.text !== undefined) return [{ ...log, text: tail.text }]
        return tail.neverStarted ? [] : [{ ...log, text: '', why: tail.why }]
      }
      this.#startRead(`${key}/${previous}`, read, (error) => ({ ...log, text: '', why: errorText(error) }))
    }
  }

  #readNode(name: string): void {
    if (!addWithinLimit(this.#nodes, name, maxEvidenceNodes)) return
    const reference = { apiVersion: 'v1', kind: 'Node', name } as const
    const read = async () => [{ type: 'ADDED', object: await this.#cluster.get(reference) } as const]
    this.#startRead(`node/${name}`, read, (error) => failureOf(error, reference))
  }

  /** Reports a missing or deleted namespace. Denied access is not reported: many users may not read namespaces. */
  #readNamespace(name: string): void {
    const reference = { ...namespaceKind, name }
    const read = async () => {
      const object = await this.#cluster.get(reference)
      return object.metadata.deletionTimestamp === undefined ? [] : [{ type: 'ADDED', object } as const]
    }
    this.#startRead(`namespace/${name}`, read, (error) => (isNotFound(error) ? failureOf(error, reference) : undefined))
  }

  /** Reports the denied access to the targets. */
  async #findDeniedAccess(): Promise<readonly Observation[]> {
    const targets = this.#gate.record().targets.map(({ basis }) => watchRequestOf(basis.target))
    return this.#cluster.findDeniedAccess(gateRequests(targets)).catch(() => [])
  }

  /**
   * Starts a read unless it has been started. If the server does not answer, the read can be started again.
   * @param read returns what to report
   * @param describeError returns what to report if the read fails; undefined for nothing
   */
  #startRead(
    key: string,
    read: () => Promise<readonly Observation[]>,
    describeError: (error: unknown) => Observation | undefined = () => undefined,
  ): void {
    if (this.#reads.has(key)) return
    const reportError = (error: unknown) => {
      const observation = describeError(error)
      if (observation !== undefined) this.#observe(observation)
    }
    const reading = this.#slots.run(async () => {
      try {
        for (const observation of await read()) this.#observe(observation)
        this.#reads.set(key, 'answered')
      } catch (error) {
        const isAnswered = isForbidden(error) || isNotFound(error)
        if (isAnswered || this.#isLast) reportError(error)
        if (isAnswered) this.#reads.set(key, 'answered')
        else this.#reads.delete(key)
      }
    })
    this.#reads.set(key, { reading, giveUp: (why) => reportError(new Error(why)) })
  }

  #observe(observation: Observation): void {
    if (!this.#isClosed) this.#report(observation)
  }
}

/** Adds a key to a set that has at most `limit` keys. Returns whether the set contains the key. */
function addWithinLimit(keys: Set<string>, key: string, limit: number): boolean {
  if (!keys.has(key) && keys.size >= limit) return false
  keys.add(key)
  return true
}

/** Whether a pod is being deleted, and one of its containers has ended or was restarted before. */
function isDying(pod: Pod): boolean {
  return (
    pod.metadata.deletionTimestamp !== undefined &&
    containersOf(pod).some(({ status }) => (status?.restartCount ?? 0) > 0 || status?.state?.terminated !== undefined)
  )
}
