/**
 * What stands behind a reason. `terminal`, `strike` and `slow` are the classes of problems (DESIGN §2); a `clock` ran out;
 * another change took the target's `identity`; the `api` could not be read; or the user's own `input` decided.
 */
export interface ReasonFacts {
  readonly class: 'terminal' | 'strike' | 'slow' | 'clock' | 'identity' | 'api' | 'input'
  /** What proves it, as the end of "It is raised when …". */
  readonly proof: string
}

/**
 * Reason codes: the contract of DESIGN §5. Workflows branch on them, so a code is never renamed. The documentation's table
 * is made from this one; the rules that raise a reason say more.
 */
export const reasons = {
  'image-not-found': {
    class: 'terminal',
    proof: 'the registry answered that it has no such image, for the second time (a push may race the first)',
  },
  'image-platform-missing': {
    class: 'terminal',
    proof:
      "the registry has the image, but not for the platform of the pod's node, for the second time (a push may race the first)",
  },
  'image-unauthorized': { class: 'strike', proof: 'the registry refused for lack of credentials, for the third time' },
  'image-rate-limited': { class: 'slow', proof: 'the registry answered 429: it lets pulls through later' },
  'image-registry-unreachable': {
    class: 'slow',
    proof: 'the registry could not be reached: network, name, certificate, or it was down',
  },
  'image-name-invalid': { class: 'terminal', proof: "the kubelet refuses the image's name before it tries to pull" },
  'image-never-pull': {
    class: 'terminal',
    proof: 'the image is not on the node, and imagePullPolicy Never forbids pulling it',
  },
  'image-pull-failed': {
    class: 'slow',
    proof: 'a pull failed for any other reason: the disk of the node is full, a layer cannot be unpacked',
  },
  'crash-loop': {
    class: 'strike',
    proof: 'a container died for the third time, 30 s after its first death at the earliest',
  },
  'out-of-memory': { class: 'strike', proof: "as crash-loop, each death by the kernel's out-of-memory killer" },
  'bad-command': {
    class: 'strike',
    proof: 'as crash-loop: the program does not exist in the image or cannot be executed',
  },
  'exec-format': { class: 'strike', proof: 'as crash-loop: the program is for another processor architecture' },
  'config-missing': { class: 'strike', proof: 'a Secret, ConfigMap or a key in it has been missing for 60 s' },
  'init-container-failed': { class: 'strike', proof: 'as crash-loop, of an init container' },
  'liveness-failing': { class: 'strike', proof: 'as crash-loop, each death by the liveness probe' },
  'startup-failing': {
    class: 'strike',
    proof: 'as crash-loop, each death by the startup probe; slow while it only does not succeed',
  },
  'readiness-failing': {
    class: 'slow',
    proof: 'a container runs, and has used up the time that its own probes allow without being ready',
  },
  'readiness-gate-pending': {
    class: 'slow',
    proof: 'the containers of a pod are ready, and the condition of one of its readiness gates is not True',
  },
  'container-create-failed': {
    class: 'strike',
    proof: 'the runtime has not been able to create the container for 60 s, or to start it for the third time',
  },
  unschedulable: { class: 'slow', proof: 'the scheduler found no node: one may come, or be freed' },
  'volume-not-mounted': { class: 'slow', proof: 'the kubelet cannot mount or attach a volume, and tries again' },
  'sandbox-failed': { class: 'slow', proof: "the node cannot set up the pod's network, and tries again" },
  evicted: { class: 'terminal', proof: 'the node evicted a pod that no controller replaces; slow where one does' },
  'pod-failed': {
    class: 'terminal',
    proof:
      'a pod that no controller replaces has ended in failure; slow where one does, when the kubelet refused or ended it',
  },
  'progress-deadline-exceeded': {
    class: 'terminal',
    proof: 'the Deployment controller says so of the present generation',
  },
  'quota-exceeded': { class: 'slow', proof: 'a ResourceQuota refuses the pods: it may be raised, or others may go' },
  'admission-denied': {
    class: 'terminal',
    proof: 'a policy or admission webhook denied the pods explicitly, for the second time',
  },
  'service-account-missing': { class: 'slow', proof: 'the ServiceAccount does not exist yet' },
  'webhook-unavailable': { class: 'slow', proof: 'an admission webhook does not answer' },
  'replica-failure': { class: 'slow', proof: 'the controller cannot create pods, in words that are none of the above' },
  paused: { class: 'slow', proof: 'the Deployment is paused, and its change is not rolled out' },
  'job-failed': { class: 'terminal', proof: 'the Job controller says Failed' },
  'job-deadline-exceeded': { class: 'terminal', proof: 'the Job controller says Failed for its activeDeadlineSeconds' },
  suspended: { class: 'slow', proof: 'the object is suspended' },
  'no-endpoints': { class: 'slow', proof: 'no endpoint behind the Service is ready' },
  'selector-matches-nothing': { class: 'slow', proof: "the Service's selector matches no pod" },
  'address-pending': { class: 'slow', proof: 'the load balancer has no address yet' },
  'backend-missing': { class: 'slow', proof: 'a Service or port that an Ingress or route names does not exist' },
  'claim-pending': { class: 'slow', proof: 'the claim is not bound yet' },
  'claim-lost': { class: 'terminal', proof: 'the claim has been Lost for 30 s: its volume is gone' },
  'condition-false': { class: 'slow', proof: "the object's own condition says that it is not ready" },
  'reported-failed': {
    class: 'strike',
    proof: "the object's own word of failure has stood for 10 s under the observed generation",
  },
  'not-reconciled': { class: 'slow', proof: 'no controller has written a status yet' },
  'no-progress': { class: 'clock', proof: 'nothing moved for the stall timeout, and nothing is known to be wrong' },
  'still-running': { class: 'clock', proof: 'the time was up, and nothing is known to be wrong' },
  'not-found': { class: 'clock', proof: 'it did not exist when the time for `created` was up' },
  deleted: { class: 'clock', proof: 'it was deleted, and did not come back within 5 s' },
  terminating: { class: 'slow', proof: 'it is being deleted' },
  'pod-stuck': {
    class: 'slow',
    proof: 'a pod that has to go first is still there after its grace period: its node may come back',
  },
  superseded: { class: 'identity', proof: 'its template was changed by somebody else during the wait' },
  'rolled-back': { class: 'identity', proof: 'its template was changed to that of an older revision during the wait' },
  'change-not-seen': { class: 'clock', proof: 'the change did not arrive within `await-change`' },
  'image-mismatch': {
    class: 'terminal',
    proof: 'the pods are ready, and run another digest than the one that was built',
  },
  'credentials-expired': {
    class: 'api',
    proof: 'the API server refused the credentials again after they were read again',
  },
  forbidden: { class: 'api', proof: 'the credentials may not read the target' },
  'api-unreachable': { class: 'api', proof: 'the API server did not answer' },
  'kind-unknown': { class: 'input', proof: 'the server knows no such kind' },
  'input-invalid': { class: 'input', proof: 'an input is wrong' },
  cancelled: { class: 'input', proof: 'the job was cancelled' },
} as const satisfies Readonly<Record<string, ReasonFacts>>

export type ReasonCode = keyof typeof reasons

export const reasonCodes = Object.keys(reasons) as readonly ReasonCode[]
