import type { TargetOutcome } from '../gate/timeline.ts'
import type { ReasonCode } from '../reasons.ts'

/** How an outcome looks and reads. */
export interface OutcomeWords {
  /** For Markdown. */
  readonly icon: string
  /** For the log. */
  readonly mark: '✓' | '✗' | '!' | '…'
  /** What happened: `failed`. */
  readonly verb: string
  /** What joins it to its duration: `failed after 42 s`. */
  readonly preposition: 'in' | 'after' | 'for'
}

export const outcomeWords: Readonly<Record<TargetOutcome, OutcomeWords>> = {
  ready: { icon: '✅', mark: '✓', verb: 'ready', preposition: 'in' },
  failed: { icon: '❌', mark: '✗', verb: 'failed', preposition: 'after' },
  stalled: { icon: '🛑', mark: '✗', verb: 'stalled', preposition: 'after' },
  'timed-out': { icon: '⌛', mark: '✗', verb: 'timed out', preposition: 'after' },
  superseded: { icon: '⏭️', mark: '!', verb: 'superseded', preposition: 'after' },
  cancelled: { icon: '🚫', mark: '!', verb: 'cancelled', preposition: 'after' },
  misconfigured: { icon: '⚠️', mark: '✗', verb: 'not judged', preposition: 'after' },
  unknown: { icon: '❓', mark: '!', verb: 'unknown', preposition: 'after' },
  progressing: { icon: '⏳', mark: '…', verb: 'in progress', preposition: 'for' },
}

/** What a reason means in a headline, for someone who has never seen the code. */
export const reasonPhrases: Readonly<Record<ReasonCode, string>> = {
  'image-not-found': 'image not found',
  'image-platform-missing': 'the image is not built for the platform of the node',
  'image-unauthorized': 'not allowed to pull the image',
  'image-rate-limited': 'the registry limits the rate of pulls',
  'image-registry-unreachable': 'image registry unreachable',
  'image-name-invalid': 'invalid image name',
  'image-never-pull': 'image not on the node, and pulling it is forbidden',
  'image-pull-failed': 'image could not be pulled',
  'crash-loop': 'a container keeps crashing',
  'out-of-memory': 'a container ran out of memory',
  'bad-command': 'the command could not be run',
  'exec-format': 'the image is built for another architecture',
  'config-missing': 'a Secret, ConfigMap or key is missing',
  'init-container-failed': 'an init container failed',
  'liveness-failing': 'the liveness probe fails',
  'startup-failing': 'the startup probe fails',
  'readiness-failing': 'the readiness probe fails',
  'readiness-gate-pending': 'a readiness gate of the pods is not open',
  'container-create-failed': 'a container could not be created',
  unschedulable: 'no node can take the pods',
  'volume-not-mounted': 'a volume could not be mounted',
  'sandbox-failed': 'the pod sandbox could not be created',
  evicted: 'pods were evicted',
  'pod-failed': 'a pod failed',
  'progress-deadline-exceeded': 'no progress within its deadline',
  'quota-exceeded': 'quota exceeded',
  'admission-denied': 'denied by an admission policy',
  'service-account-missing': 'the ServiceAccount is missing',
  'webhook-unavailable': 'an admission webhook is unavailable',
  'replica-failure': 'pods could not be created',
  paused: 'the rollout is paused',
  'job-failed': 'the Job failed',
  'job-deadline-exceeded': 'the Job ran out of time',
  suspended: 'the Job is suspended',
  'no-endpoints': 'the Service has no ready endpoints',
  'selector-matches-nothing': 'the selector matches no pods',
  'address-pending': 'no address assigned yet',
  'backend-missing': 'a backend is missing',
  'claim-pending': 'the volume claim is not bound',
  'claim-lost': 'the volume claim lost its volume',
  'condition-false': 'it says itself that it is not ready',
  'reported-failed': 'it reports a failure itself',
  'not-reconciled': 'its controller has not reported a status',
  'no-progress': 'no progress',
  'still-running': 'not finished in time',
  'not-found': 'not found in the cluster',
  deleted: 'deleted during the rollout',
  terminating: 'being deleted',
  'pod-stuck': 'a deleted pod is still there',
  superseded: 'replaced by a newer change',
  'rolled-back': 'rolled back',
  'change-not-seen': 'the change never arrived',
  'image-mismatch': 'another image runs than the one expected',
  'credentials-expired': 'the cluster refused the credentials',
  forbidden: 'access denied by the cluster',
  'api-unreachable': 'the cluster could not be reached',
  'kind-unknown': 'the cluster does not know this kind',
  'input-invalid': 'mistake in the inputs',
  cancelled: 'cancelled',
}

/** `1 target`, `3 targets`. */
export function count(n: number, singular: string, plural = `${singular}s`): string {
  return `${n} ${n === 1 ? singular : plural}`
}

/** A message as the start of a paragraph. Only words that are no names rise. */
export function capitalised(message: string): string {
  return message.replace(
    /^(?:the|an?|no|not|its?|this|all|only|still|waiting|another|init|container|pods?|image|running|exited|ran|cannot)\b(?=[ ,])/,
    (word) => {
      return word.charAt(0).toUpperCase() + word.slice(1)
    },
  )
}
