import { targetHint } from '../src/diagnosis/hints.ts'
import { duration } from '../src/duration.ts'
import { type ReasonCode, reasonCodes, reasons } from '../src/reasons/reasons.ts'
import {
  acknowledgedMs,
  answersProven,
  answersProvenMs,
  deathsProvenMs,
  deathsProvenWhileOthersProgressMs,
  defaultMaxRestarts,
  deletedMs,
  deniedMs,
  longStepMs,
  lostClaimMs,
  missingObjectMs,
  notFoundRefusals,
  reportedFailureMs,
  startTimeMs,
  unauthorizedRefusals,
} from '../src/thresholds.ts'
import { table } from './markdown.ts'

const requests = `${answersProven} requests in a row, the last ${duration(answersProvenMs)} or more after the first,`

/** Completes "It is raised when …". */
const raisedWhen: Readonly<Record<ReasonCode, string>> = {
  'image-not-found': `the registry answered that it has no such image, for the ${nth(notFoundRefusals)} time (a push may race the first)`,
  'image-platform-missing': `the registry has the image, but not for the platform of the pod's node, for the ${nth(notFoundRefusals)} time (a push may race the first)`,
  'image-unauthorized': `the registry refused the pull as unauthorized, or the node because of its signature, for the ${nth(unauthorizedRefusals)} time; while a pull secret is missing, ${duration(missingObjectMs)} after the first time at the earliest`,
  'image-rate-limited': 'the registry answered 429: it accepts pulls again later',
  'image-registry-unreachable': 'the registry could not be reached: network, name, certificate, or it was down',
  'image-name-invalid': "the kubelet refuses the image's name before it tries to pull",
  'image-never-pull': 'the image is not on the node, and imagePullPolicy Never forbids pulling it',
  'image-pull-failed': 'a pull failed for any other reason: the disk of the node is full, a layer cannot be unpacked',
  'image-mismatch': 'the pods are ready, and run another digest than the one that was built',
  'crash-loop': `a container died for the ${nth(defaultMaxRestarts + 1)} time, ${duration(deathsProvenMs)} after its first death at the earliest`,
  'out-of-memory': "as crash-loop, each death by the kernel's out-of-memory killer",
  'bad-command':
    'as crash-loop, or as container-create-failed where the runtime looks for it earlier (CRI-O): the program does not exist in the image or cannot be executed',
  'exec-format': 'as crash-loop: the program is for another processor architecture',
  'init-container-failed': 'as crash-loop, of an init container',
  'init-container-running': `an init container has run for ${duration(longStepMs)}: the next containers start when it has ended`,
  'post-start-hook-running': `a postStart hook has run for ${duration(longStepMs)}: the kubelet starts the next containers when it has ended`,
  'liveness-failing': 'as crash-loop, each death by the liveness probe',
  'startup-failing': 'as crash-loop, each death by the startup probe; slow until the probe ends the container',
  'readiness-failing': `a container runs, and has used up the time that its own probes allow without being ready; the log shows it once the container has run for ${duration(startTimeMs)}`,
  'config-missing': `a Secret, ConfigMap or a key in it is still missing at a check of the kubelet ${duration(missingObjectMs)} after the first one, or ${duration(deathsProvenWhileOthersProgressMs)} while another target progresses`,
  'container-create-failed': `the runtime cannot create the container, also ${duration(missingObjectMs)} after its first attempt, or cannot start it for the ${nth(defaultMaxRestarts + 1)} time`,
  unschedulable: `the scheduler found no node, or reports nothing for ${duration(acknowledgedMs)}: a node may come, or be freed`,
  'volume-not-mounted': 'the kubelet cannot mount or attach a volume, and tries again',
  'devices-not-prepared': 'the kubelet cannot prepare the devices of the ResourceClaims of a pod, and tries again',
  'sandbox-failed': "the node cannot set up the pod's sandbox, most often its network, and tries again",
  'readiness-gate-pending':
    'the containers of a pod are ready, and the condition of one of its readiness gates is not True',
  'node-unresponsive': `the kubelet has not acknowledged a pod ${duration(acknowledgedMs)} after its assignment (its node may not exist), or the node of a running pod no longer reports`,
  'pod-waiting': 'a clock ended the target, a pod is not ready, and no known problem explains it',
  evicted: 'the node evicted a pod that no controller replaces; slow where one does',
  'pod-failed':
    'a pod that no controller replaces has ended in failure; slow where one does, when the kubelet refused or ended it',
  'pod-stuck': 'a deleted pod that must end first still exists after its grace period',
  'progress-deadline-exceeded': 'the Deployment controller reports it for the present generation',
  'quota-exceeded': 'a ResourceQuota refuses the pods: it may be raised, or others may go',
  'admission-denied': `the API server denied the pods, because of a policy, an admission webhook or any other cause that does not change by itself, and again after ${duration(deniedMs)}`,
  'service-account-missing': 'the ServiceAccount does not exist yet',
  'claim-terminating': 'a claim of a StatefulSet is being deleted, so its controller does not create the pod',
  'webhook-unavailable': 'an admission webhook does not answer',
  'replica-failure':
    'the controller cannot create pods: a PriorityClass or RuntimeClass is missing, the pods are invalid, or an error of the API server may be temporary',
  paused: 'the Deployment is paused, and its change is not rolled out',
  'job-failed': 'the Job controller reports Failed',
  'sidecar-running': `the containers of a Job have completed, and one runs on: it was added to the pod, or has run on for ${duration(longStepMs)}`,
  'job-deadline-exceeded': 'the Job controller reports Failed for its activeDeadlineSeconds',
  suspended: 'the object is suspended',
  'no-endpoints': 'no endpoint behind the Service is ready',
  'selector-matches-nothing': "the Service's selector matches no pod",
  'address-pending': 'the load balancer has no address yet',
  'backend-missing': 'a Service or port that an Ingress or route names does not exist',
  'claim-pending': 'the claim is not bound yet',
  'claim-lost': `the claim has been Lost for ${duration(lostClaimMs)}: its volume is gone`,
  'condition-false': 'a condition of the object reports that it is not ready',
  'reported-failed': `the object has reported for ${duration(reportedFailureMs)} that its controller has given up`,
  'not-reconciled': 'no controller has written a status yet',
  'no-answer': `a pod of the new version left ${requests} of \`http-checks\` without an answer, or a clock ended before the first answer`,
  'wrong-answer': `a pod of the new version answered ${requests} of \`http-checks\` otherwise than expected`,
  'not-held': 'something that was ready did not stay so for the time of `hold`',
  'no-progress': 'nothing moved for the stall timeout, and no problem is known',
  'still-running': 'the time was up, and no problem is known',
  'not-found': 'it did not exist when the time for `created` was up',
  deleted: `it was deleted, and did not come back within ${duration(deletedMs)}`,
  terminating: 'it is being deleted',
  superseded: 'its template was changed by somebody else during the wait',
  'rolled-back': 'its template was changed to that of an older revision during the wait',
  'change-not-seen': 'the change did not arrive within `await-change`',
  'wrong-revision': 'Argo CD or Flux has not deployed the revision of `--revision`',
  'not-changed': 'its present version is older than `require-change`',
  'credentials-expired': 'the API server refused the credentials, also after they were read again',
  forbidden: 'the credentials do not permit reading the resource',
  'api-unreachable': 'the API server did not answer',
  'kind-unknown': 'the server has no such kind',
  'input-invalid': 'an input is wrong',
  'report-missing': 'a report that is to be merged does not exist',
  cancelled: 'the job or the command was cancelled',
}

function nth(number: number): string {
  return ['first', 'second', 'third', 'fourth', 'fifth'][number - 1] ?? `${number}th`
}

/** A table of all reasons, in their order: class, what proves the reason, and what to do. */
export function reasonTable(): readonly string[] {
  const target = { apiVersion: 'v1', kind: 'Kind', namespace: 'shop', name: 'name', clocks: {} }
  const rows = reasonCodes.map((code) => [
    `\`${code}\``,
    reasons[code].class,
    raisedWhen[code],
    targetHint(target, code),
  ])
  return table(['reason', 'class', 'what proves it', 'what to do'], rows)
}
