import type { ReasonCode } from '../lifecycle/reasons.ts'
import { displayName, type Target } from '../plan/target.ts'
import { commandHint, crashHint, endedHint, memoryHint, missingHint, probeHint, readLog } from './hint-container.ts'
import { invalidNameHint, notFoundHint, unauthorizedHint, unreachableHint } from './hint-image.ts'
import { creationHint, denialHint, quotaHint, schedulingHint } from './hint-placement.ts'
import {
  clusterCommand,
  command,
  containerOf,
  described,
  describedPod,
  type HintDetails,
  type HintSubject,
  imageOf,
  inNamespace,
  namedIn,
} from './hint-subject.ts'

type Hint = (subject: HintSubject) => string

const name = ({ target }: HintSubject) => displayName(target)

/** What to do about a reason: one or two sentences, as specific as the facts allow, the command to run where one helps. */
const hints: Readonly<Record<ReasonCode, Hint>> = {
  'image-not-found': notFoundHint,
  'image-unauthorized': unauthorizedHint,
  'image-rate-limited': (s) =>
    `The registry of ${imageOf(s)} limits pulls. Pull with credentials (an imagePullSecret), or through a mirror, then try again.`,
  'image-registry-unreachable': unreachableHint,
  'image-name-invalid': invalidNameHint,
  'image-never-pull': (s) => `Load ${imageOf(s)} onto every node, or set imagePullPolicy to IfNotPresent.`,
  'image-pull-failed': (s) => `The node's own words about ${imageOf(s)}: ${describedPod(s)}.`,
  'crash-loop': crashHint,
  'out-of-memory': memoryHint,
  'bad-command': commandHint,
  'exec-format': (s) =>
    `Build ${imageOf(s)} for the architecture of the cluster's nodes: \`docker buildx build --platform …\`. ${clusterCommand('get', 'nodes', '-L', 'kubernetes.io/arch')} shows it.`,
  'config-missing': missingHint,
  'init-container-failed': (s) =>
    `The pod starts only when ${containerOf(s).replace('container', 'init container')} succeeds. ${readLog(s)}`,
  'liveness-failing': (s) => probeHint('liveness', s),
  'startup-failing': (s) => probeHint('startup', s),
  'readiness-failing': (s) =>
    /readiness gate/.test(s.problem?.message ?? '')
      ? `Readiness gates are opened from outside the pod, most often by the controller of a load balancer: is it running, and does it know the pod? ${describedPod(s)}.`
      : probeHint('readiness', s),
  'container-create-failed': (s) =>
    /\(subPath .*: not a directory/.test(s.problem?.message ?? '')
      ? 'A folder is mounted where the image has a file: that is what a subPath makes that the ConfigMap or Secret has no key for. Correct the subPath, or the mountPath.'
      : `The container runtime says why in the pod's events: ${describedPod(s)}.`,
  unschedulable: schedulingHint,
  'volume-not-mounted': (s) =>
    `The volume, or what it is made from, is missing or cannot be attached. Its events: ${describedPod(s)}.`,
  'sandbox-failed': (s) =>
    `The node cannot set up the pod's network: look at the network plugin on that node. Its events: ${describedPod(s)}.`,
  evicted: () =>
    'The node evicted the pod for the pressure that the message names. Set requests that fit what it uses.',
  'pod-failed': endedHint,
  'progress-deadline-exceeded': deadlineHint,
  'quota-exceeded': quotaHint,
  'admission-denied': denialHint,
  'service-account-missing': (s) => {
    const account = namedIn(s.problem?.message, /serviceaccount "([^"]+)" not found/)
    if (account === undefined) return 'Create the ServiceAccount that the message names, or correct serviceAccountName.'
    return `Create it (${command(s, 'create', 'serviceaccount', account)}), or correct serviceAccountName.`
  },
  'webhook-unavailable': (s) => {
    const webhook = namedIn(s.problem?.message, /webhook "([^"]+)"/)
    return `The admission webhook ${webhook === undefined ? '' : `${webhook} `}does not answer. Bring its Service back, or set its failurePolicy to Ignore: ${clusterCommand('get', 'validatingwebhookconfigurations,mutatingwebhookconfigurations')}.`
  },
  'replica-failure': creationHint,
  paused: (s) => `Resume it: ${command(s, 'rollout', 'resume', name(s))}.`,
  'job-failed': (s) =>
    `${readLog(s, false)} A failed Job does not run again: once it is mended, delete it (${command(s, 'delete', name(s))}) and apply it anew.`,
  'job-deadline-exceeded': (s) =>
    `Raise activeDeadlineSeconds, or make the Job faster; then delete it (${command(s, 'delete', name(s))}) and apply it anew.`,
  suspended: (s) => `Resume it: ${command(s, 'patch', name(s), '-p', '{"spec":{"suspend":false}}')}.`,
  'no-endpoints': endpointsHint,
  'selector-matches-nothing': (s) =>
    `Correct spec.selector of the Service, or the labels in the pod template: ${command(s, 'get', 'pods', '--show-labels')}.`,
  'address-pending': (s) =>
    `No controller has given it an address yet; a cluster without one for load balancers never will. Its events: ${described(s)}.`,
  'backend-missing': () => 'Create the Service or port that the message names, or correct the reference.',
  'claim-pending': claimHint,
  'claim-lost': () => 'The volume behind the claim is gone. Restore it, or create the claim anew.',
  'condition-false': (s) =>
    /resource metrics API/.test(s.problem?.message ?? '')
      ? `Is a metrics server installed, and does it know the pods? ${command(s, 'top', 'pods')} asks it, too.`
      : `Its own status says what it waits for: ${described(s)}.`,
  'reported-failed': (s) => `Its own status says what failed: ${described(s)}.`,
  'not-reconciled': (s) =>
    `No controller has written a status of ${name(s)}: is the one that serves its kind installed and running? If nothing ever writes one, gate it with \`${name(s).replaceAll('`', '')} --for=create\`.`,
  'no-progress': (s) =>
    `${s.target.kind === 'Job' ? `See what it does: ${command(s, 'logs', name(s))}` : `See its events: ${described(s)}`}. If it only needs longer, raise stall-timeout.`,
  'still-running': (s) => `See where it stands: ${described(s)}. If it only needs longer, raise the timeout.`,
  'not-found': (s) =>
    `Was it applied, under this name${inNamespace(s).replace(' in', ' and in')}? ${command(s, 'get', name(s).replace(/\/.*$/, ''))} lists what is there.`,
  deleted: () => 'Somebody or something deleted it during the wait: find out who, then apply it again.',
  terminating: () => 'Wait until it is gone (its finalizers say for whom it waits), then apply it again.',
  'pod-stuck': (s) => {
    const about = s.problem?.subject ?? ''
    const force = about === '' ? '' : `: ${command(s, 'delete', about, '--force')}`
    if (/finalizers/.test(s.problem?.message ?? ''))
      return `Whoever set the finalizers has to take them off: ${describedPod(s)}.`
    const node = s.pod?.spec?.nodeName
    const gone = node === undefined ? '' : ` (${clusterCommand('delete', 'node', node)})`
    return `Bring its node back, or delete the node if it is gone for good${gone}. Only where its containers surely run no more, delete the pod by force${force}.`
  },
  superseded: () => 'Nothing, if the newer change is meant: the run that applied it gates it.',
  'rolled-back': (s) =>
    `Find out who rolled back and why before you apply it again: ${command(s, 'rollout', 'history', name(s))}.`,
  'change-not-seen': (s) =>
    `Check that the change was applied, to this cluster${inNamespace(s).replace(' in', ' and')}, or raise await-change if it only comes later.`,
  'image-mismatch': ({ problem }) =>
    /was loaded onto the node/.test(problem?.message ?? '')
      ? 'An image that no registry gave out has no digest of a registry. Let the node pull it, or expect the ID that the build gives it.'
      : 'Deploy by digest, or find out who moved the tag: what runs is not what was built.',
  'credentials-expired': () =>
    'Renew the credentials in the kubeconfig. The rollout itself may be fine: look before you roll back.',
  forbidden: () =>
    'Give the kubeconfig’s user get, list and watch on what is gated; SECURITY.md has the role to apply.',
  'api-unreachable': () =>
    'The gate lost sight of the cluster. The rollout itself may be fine: look before you roll back.',
  'kind-unknown': () => 'Correct the kind, or install the CustomResourceDefinition that defines it.',
  'input-invalid': () => 'Correct the inputs that the message names.',
  cancelled: (s) => `The job was cancelled before ${name(s)} was ready. It may still become so.`,
}

/** A deadline says nothing of why: what a pod waits for does. */
function deadlineHint(subject: HintSubject): string {
  const { progressDeadlineSeconds = 600 } = (subject.object?.spec ?? {}) as { progressDeadlineSeconds?: number }
  const now = subject.object === undefined ? '' : ` (now ${progressDeadlineSeconds})`
  const why = causeHint(subject) ?? `Its pods' events say what they wait for: ${described(subject)}.`
  return `${why} If it only needs longer, raise progressDeadlineSeconds${now}.`
}

/** Why no pod behind a Service is ready: a port's name, or what is wrong with the pods. */
function endpointsHint(subject: HintSubject): string {
  if (/port named/.test(subject.problem?.message ?? ''))
    return 'Give the port its name in the container’s ports, or correct the targetPort of the Service.'
  const cause = causeHint(subject)
  if (cause !== undefined) return cause
  const { selector = {} } = (subject.object?.spec ?? {}) as { selector?: Record<string, string> }
  const labels = Object.entries(selector).map(([key, value]) => `${key}=${value}`)
  const selected = labels.length === 0 ? [] : ['-l', labels.join(',')]
  return `Look at the pods behind the Service: ${command(subject, 'describe', 'pods', ...selected)}.`
}

function causeHint({ target, cause }: HintSubject): string | undefined {
  return cause?.problem === undefined ? undefined : hints[cause.problem.reason]({ target, ...cause })
}

/** What keeps a claim from its volume, by the words of the binder and of provisioners. */
function claimHint(subject: HintSubject): string {
  const message = subject.problem?.message ?? ''
  const missing = namedIn(message, /storageclass\S* "([^"]+)" not found/i)
  const classes = clusterCommand('get', 'storageclass')
  if (missing !== undefined)
    return `Correct storageClassName, or create the StorageClass ${missing}. ${classes} lists what is there.`
  if (/no storage class is set/i.test(message))
    return `Set storageClassName, or mark a StorageClass as default: ${classes}.`
  return `Its storage class, size or access mode may not be had. Its events: ${described(subject)}.`
}

/** What to do about a target that is not ready. */
export function hintFor(target: Target, reason: ReasonCode | '', details: HintDetails = {}): string {
  const { problem } = details
  if (problem?.detail?.isOld)
    return `Delete the pod of the older revision, which nothing else replaces: ${command({ target }, 'delete', problem.subject)}.`
  return hints[reason === '' ? 'still-running' : reason]({ target, ...details })
}
