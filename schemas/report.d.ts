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
  | 'liveness-failing'
  | 'startup-failing'
  | 'readiness-failing'
  | 'config-missing'
  | 'container-create-failed'
  | 'unschedulable'
  | 'volume-not-mounted'
  | 'sandbox-failed'
  | 'readiness-gate-pending'
  | 'evicted'
  | 'pod-failed'
  | 'pod-stuck'
  | 'progress-deadline-exceeded'
  | 'quota-exceeded'
  | 'admission-denied'
  | 'service-account-missing'
  | 'webhook-unavailable'
  | 'replica-failure'
  | 'paused'
  | 'job-failed'
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
  | 'no-progress'
  | 'still-running'
  | 'not-found'
  | 'deleted'
  | 'terminating'
  | 'superseded'
  | 'rolled-back'
  | 'change-not-seen'
  | 'credentials-expired'
  | 'forbidden'
  | 'api-unreachable'
  | 'kind-unknown'
  | 'input-invalid'
  | 'cancelled'

export interface RolloutGateReport {
  schema: 1
  outcome: 'ready' | 'failed' | 'stalled' | 'timed-out' | 'superseded' | 'cancelled' | 'misconfigured' | 'unknown'
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
  durationSeconds: number
  cluster: {
    context: string
    version: string
  }
  targets: Target[]
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
   * progressing: it was not done when the gate ended
   */
  outcome:
    | 'ready'
    | 'failed'
    | 'stalled'
    | 'timed-out'
    | 'superseded'
    | 'cancelled'
    | 'misconfigured'
    | 'unknown'
    | 'progressing'
  reason: Reason
  /**
   * One line for people
   */
  message: string
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
  milestones: Milestone[]
  problems: Problem[]
}
export interface Milestone {
  name: string
  state: 'done' | 'current' | 'pending' | 'failed' | 'skipped'
  /**
   * When it was reached; the start of the gate if it was reached before
   */
  at?: string
  /**
   * When it was reached, in seconds since the start of the gate
   */
  seconds?: number
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
    | 'liveness-failing'
    | 'startup-failing'
    | 'readiness-failing'
    | 'config-missing'
    | 'container-create-failed'
    | 'unschedulable'
    | 'volume-not-mounted'
    | 'sandbox-failed'
    | 'readiness-gate-pending'
    | 'evicted'
    | 'pod-failed'
    | 'pod-stuck'
    | 'progress-deadline-exceeded'
    | 'quota-exceeded'
    | 'admission-denied'
    | 'service-account-missing'
    | 'webhook-unavailable'
    | 'replica-failure'
    | 'paused'
    | 'job-failed'
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
    | 'no-progress'
    | 'still-running'
    | 'not-found'
    | 'deleted'
    | 'terminating'
    | 'superseded'
    | 'rolled-back'
    | 'change-not-seen'
    | 'credentials-expired'
    | 'forbidden'
    | 'api-unreachable'
    | 'kind-unknown'
    | 'input-invalid'
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
