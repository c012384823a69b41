/** Made from the code by `npm run docs`. */

/**
 * Why; empty on ready
 */
export type Reason =
  | ''
  | 'image-not-found'
  | 'image-platform-missing'
  | 'image-unauthorized'
  | 'image-rate-limited'
  | 'image-registry-unreachable'
  | 'image-name-invalid'
  | 'image-never-pull'
  | 'image-pull-failed'
  | 'image-mismatch'
  | 'crash-loop'
  | 'out-of-memory'
  | 'bad-command'
  | 'exec-format'
  | 'init-container-failed'
  | 'init-container-running'
  | 'post-start-hook-running'
  | 'liveness-failing'
  | 'startup-failing'
  | 'readiness-failing'
  | 'config-missing'
  | 'container-create-failed'
  | 'unschedulable'
  | 'volume-not-mounted'
  | 'devices-not-prepared'
  | 'sandbox-failed'
  | 'readiness-gate-pending'
  | 'node-unresponsive'
  | 'pod-waiting'
  | 'evicted'
  | 'pod-failed'
  | 'pod-stuck'
  | 'progress-deadline-exceeded'
  | 'quota-exceeded'
  | 'admission-denied'
  | 'service-account-missing'
  | 'claim-terminating'
  | 'webhook-unavailable'
  | 'replica-failure'
  | 'paused'
  | 'job-failed'
  | 'sidecar-running'
  | 'job-deadline-exceeded'
  | 'suspended'
  | 'no-endpoints'
  | 'selector-matches-nothing'
  | 'address-pending'
  | 'backend-missing'
  | 'claim-pending'
  | 'claim-lost'
  | 'condition-false'
  | 'reported-failed'
  | 'not-reconciled'
  | 'no-answer'
  | 'wrong-answer'
  | 'not-held'
  | 'no-progress'
  | 'still-running'
  | 'not-found'
  | 'deleted'
  | 'terminating'
  | 'superseded'
  | 'rolled-back'
  | 'change-not-seen'
  | 'wrong-revision'
  | 'not-changed'
  | 'credentials-expired'
  | 'forbidden'
  | 'api-unreachable'
  | 'kind-unknown'
  | 'input-invalid'
  | 'report-missing'
  | 'cancelled'

export interface RolloutGateReport {
  schema: 1
  /**
   * progressing: only of one look (`why --json`), if something is not ready yet and nothing stands in its way
   */
  outcome:
    | 'cancelled'
    | 'unknown'
    | 'misconfigured'
    | 'failed'
    | 'superseded'
    | 'stalled'
    | 'timed-out'
    | 'progressing'
    | 'ready'
  reason: Reason
  /**
   * One line for people
   */
  message: string
  /**
   * A moment in UTC, ISO 8601
   */
  startedAt: string
  /**
   * A moment in UTC, ISO 8601
   */
  finishedAt: string
  /**
   * How long the gate took; of several gates, the longest
   */
  durationSeconds: number
  /**
   * In a merged report, empty where the gates differ
   */
  cluster: {
    context: string
    version: string
  }
  run?: Run
  /**
   * What to do, if the gate ended without judging its targets
   */
  hint?: string
  /**
   * Annotations of objects that changed what is gated: `rollout-gate/skip of deployment/db`
   */
  annotations?: string[]
  /**
   * The kinds of targets that expressions of `health-check-exprs` judged
   */
  healthCheckKinds?: string[]
  wayBack?: WayBack
  /**
   * In a merged report: the gates in the order of `merge`
   */
  gates?: Gate[]
  /**
   * The lines of the input `http-checks`, if there are any checks
   */
  httpChecks?: Request[]
  /**
   * The input `hold`
   */
  hold?: {
    seconds: number
    /**
     * When everything was ready and had answered; absent if that did not happen
     */
    since?: string
  }
  targets: Target[]
}
/**
 * The workflow run of the gate; absent outside of a workflow
 */
export interface Run {
  /**
   * The number of the workflow run
   */
  id: string
  attempt: number
  /**
   * The commit that the gate belongs to
   */
  commit: string
}
/**
 * What serves in place of what is not ready, and the way back to it
 */
export interface WayBack {
  /**
   * `Revision 6 (acme/web:v1) still serves with 2 of 2 pods.`
   */
  sentences: string[]
  /**
   * `kubectl rollout undo …`; empty if none is known
   */
  command: string
}
export interface Gate {
  /**
   * The name in `merge`, else the context of its cluster or the path of its report
   */
  name: string
  /**
   * The path of its report
   */
  path: string
  outcome: 'cancelled' | 'unknown' | 'misconfigured' | 'failed' | 'superseded' | 'stalled' | 'timed-out' | 'ready'
  reason: Reason
  /**
   * One line for people
   */
  message: string
  hint?: string
  /**
   * Absent, as the next ones, if its report is missing
   */
  startedAt?: string
  /**
   * A moment in UTC, ISO 8601
   */
  finishedAt?: string
  durationSeconds?: number
  cluster?: {
    context: string
    version: string
  }
  wayBack?: WayBack
}
export interface Request {
  /**
   * The line as written, with `***` for the values of headers
   */
  request: string
  /**
   * How many answers came or were missing
   */
  asked: number
  /**
   * How many of them were wrong or missing
   */
  errors: number
  /**
   * The latest ones
   */
  answers: {
    /**
     * A moment in UTC, ISO 8601
     */
    at: string
    pod?: string
    status?: number
    seconds?: number
    /**
     * Its beginning: not escaped for any use
     */
    body?: string
    error?: string
    right: boolean
  }[]
}
export interface Target {
  /**
   * `deployment.apps/web`
   */
  target: string
  apiVersion: string
  kind: string
  /**
   * Absent for cluster-wide objects
   */
  namespace?: string
  /**
   * Empty when a selector matched nothing
   */
  name: string
  /**
   * The selector that matched nothing; empty for `--all`
   */
  selector?: string
  /**
   * In a merged report: the name of its gate
   */
  gate?: string
  /**
   * In a merged report: the context of its cluster
   */
  context?: string
  /**
   * progressing: it was not done when the gate ended
   */
  outcome:
    | 'cancelled'
    | 'unknown'
    | 'misconfigured'
    | 'failed'
    | 'superseded'
    | 'stalled'
    | 'timed-out'
    | 'progressing'
    | 'ready'
  reason: Reason
  /**
   * One line for people
   */
  message: string
  /**
   * How the message follows the name: `web is paused`, `web: its selector …`, or it contains the name
   */
  form?: 'predicate' | 'clause' | 'complete'
  /**
   * The target that this one only waits for, so it is no failure of its own: `deployment.apps/web`
   */
  causedBy?: string
  /**
   * The namespace of `causedBy`, if it is not that of the target
   */
  causedByNamespace?: string
  /**
   * What to do; present on every target that is not ready
   */
  hint?: string
  /**
   * The place that names it: a manifest, or the input `resources`
   */
  source?: {
    file: string
    line: number
  }
  /**
   * When it became ready or ended; absent while it is progressing
   */
  endedAt?: string
  /**
   * When its present version came; absent if unknown
   */
  changedAt?: string
  /**
   * recent: that version came within `require-change` before the gate, else within an hour; none: it is older, and was ready when the gate began, or `require-change` did not accept it
   */
  change?: 'recent' | 'none'
  milestones: Milestone[]
  problems: Problem[]
  /**
   * What differs from an older revision
   */
  changes?: string[]
  /**
   * That revision: the one that was available when the gate began, else the latest one before
   */
  changesSince?: number
  /**
   * Remarks without effect on the outcome
   */
  notes?: string[]
  /**
   * What was logged about it, in its order
   */
  log?: LogLine[]
}
export interface Milestone {
  name: string
  state: 'done' | 'current' | 'pending' | 'failed' | 'skipped'
  /**
   * When it was reached; the start of the gate if it was reached before, and no object shows when
   */
  at?: string
  /**
   * When it was reached, in seconds since the start of the gate; negative if before
   */
  seconds?: number
  /**
   * Present if an object shows when it was reached
   */
  source?: 'object'
  message: string
}
export interface Problem {
  reason:
    | 'image-not-found'
    | 'image-platform-missing'
    | 'image-unauthorized'
    | 'image-rate-limited'
    | 'image-registry-unreachable'
    | 'image-name-invalid'
    | 'image-never-pull'
    | 'image-pull-failed'
    | 'image-mismatch'
    | 'crash-loop'
    | 'out-of-memory'
    | 'bad-command'
    | 'exec-format'
    | 'init-container-failed'
    | 'init-container-running'
    | 'post-start-hook-running'
    | 'liveness-failing'
    | 'startup-failing'
    | 'readiness-failing'
    | 'config-missing'
    | 'container-create-failed'
    | 'unschedulable'
    | 'volume-not-mounted'
    | 'devices-not-prepared'
    | 'sandbox-failed'
    | 'readiness-gate-pending'
    | 'node-unresponsive'
    | 'pod-waiting'
    | 'evicted'
    | 'pod-failed'
    | 'pod-stuck'
    | 'progress-deadline-exceeded'
    | 'quota-exceeded'
    | 'admission-denied'
    | 'service-account-missing'
    | 'claim-terminating'
    | 'webhook-unavailable'
    | 'replica-failure'
    | 'paused'
    | 'job-failed'
    | 'sidecar-running'
    | 'job-deadline-exceeded'
    | 'suspended'
    | 'no-endpoints'
    | 'selector-matches-nothing'
    | 'address-pending'
    | 'backend-missing'
    | 'claim-pending'
    | 'claim-lost'
    | 'condition-false'
    | 'reported-failed'
    | 'not-reconciled'
    | 'no-answer'
    | 'wrong-answer'
    | 'not-held'
    | 'no-progress'
    | 'still-running'
    | 'not-found'
    | 'deleted'
    | 'terminating'
    | 'superseded'
    | 'rolled-back'
    | 'change-not-seen'
    | 'wrong-revision'
    | 'not-changed'
    | 'credentials-expired'
    | 'forbidden'
    | 'api-unreachable'
    | 'kind-unknown'
    | 'input-invalid'
    | 'report-missing'
    | 'cancelled'
  /**
   * terminal: only a new apply can fix it; strike: repetition proves it; slow: only a clock ends it
   */
  class: 'terminal' | 'strike' | 'slow'
  /**
   * The object that has the problem: `pod/web-fc8b-8xkbh`
   */
  subject: string
  /**
   * The namespace of the subject, if it is not that of the target
   */
  namespace?: string
  container?: string
  /**
   * The objects from the target to the problem: `rollout/web`, `replicaset/web-688`, `pod/web-688-x`
   */
  chain?: string[]
  /**
   * One line for people
   */
  message: string
  /**
   * A few words: `image acme/web:v9 not found`
   */
  headline?: string
  /**
   * A moment in UTC, ISO 8601
   */
  firstSeen: string
  /**
   * How often it was seen
   */
  count: number
  evidence: Evidence[]
}
export interface Evidence {
  type: 'event' | 'log' | 'condition' | 'manifest'
  /**
   * What the text is: `Log of pod/web-x, container app (previous)`
   */
  title: string
  /**
   * Text as the cluster reported it: not escaped for any use
   */
  text: string
}
export interface LogLine {
  /**
   * A moment in UTC, ISO 8601
   */
  at: string
  kind: 'progress' | 'problem' | 'note' | 'verdict'
  /**
   * Of a verdict
   */
  outcome?:
    | 'cancelled'
    | 'unknown'
    | 'misconfigured'
    | 'failed'
    | 'superseded'
    | 'stalled'
    | 'timed-out'
    | 'progressing'
    | 'ready'
  text: string
}
