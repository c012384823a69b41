import { didYouMean } from '../errors.ts'
import type { Timeline, Verdict } from '../gate/timeline.ts'
import { listNames, missingSubject } from '../lifecycle/custom/wait-for.ts'
import { isJobEnd } from '../lifecycle/workloads/job.ts'
import { displayName, type Target } from '../plan/target.ts'
import type { ReasonCode } from '../reasons.ts'
import { accessHint } from './hint-access.ts'
import {
  commandHint,
  crashHint,
  endedHint,
  memoryHint,
  missingHint,
  probeHint,
  readLog,
  subPathHint,
} from './hint-container.ts'
import {
  invalidNameHint,
  notFoundHint,
  platformHint,
  pullFailedHint,
  unauthorizedHint,
  unreachableHint,
} from './hint-image.ts'
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
  'image-platform-missing': platformHint,
  'image-unauthorized': unauthorizedHint,
  'image-rate-limited': (s) =>
    `The registry of ${imageOf(s)} limits pulls. Pull with credentials (an imagePullSecret), or through a mirror, then try again.`,
  'image-registry-unreachable': unreachableHint,
  'image-name-invalid': invalidNameHint,
  'image-never-pull': (s) => `Load ${imageOf(s)} onto every node, or set imagePullPolicy to IfNotPresent.`,
  'image-pull-failed': pullFailedHint,
  'crash-loop': crashHint,
  'out-of-memory': memoryHint,
  'bad-command': commandHint,
  'exec-format': platformHint,
  'config-missing': missingHint,
  'init-container-failed': (s) =>
    `The pod starts only when ${s.problem === undefined ? 'its init container' : containerOf(s)} succeeds. ${readLog(s, { isPrevious: true, isNamed: true })}`,
  'liveness-failing': (s) => probeHint('liveness', s),
  'startup-failing': (s) => probeHint('startup', s),
  'readiness-failing': (s) => probeHint('readiness', s),
  'readiness-gate-pending': (s) =>
    `Readiness gates are opened from outside the pod, most often by the controller of a load balancer: is it running, and does it know the pod? ${describedPod(s)}.`,
  'container-create-failed': (s) =>
    /\(subPath .*: not a directory/.test(s.problem?.message ?? '')
      ? subPathHint(s)
      : `The container runtime says why in the pod's events: ${describedPod(s)}.`,
  unschedulable: (s) => (s.cause?.problem?.reason === 'claim-pending' ? (causeHint(s) ?? '') : schedulingHint(s)),
  'volume-not-mounted': (s) =>
    `The volume, or what it is made from, is missing or cannot be attached. Its events: ${describedPod(s)}.`,
  'sandbox-failed': (s) =>
    `The node cannot set up the pod's network: look at the network plugin on that node. Its events: ${describedPod(s)}.`,
  evicted: () =>
    'The node evicted the pod for the pressure that the message names. Set requests that fit what it uses.',
  'pod-failed': (s) =>
    s.problem?.detail?.isReplaced
      ? `The message says why the node refuses or ends the pods; their controller makes others. Their events: ${described(s)}.`
      : endedHint(s),
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
    return `The admission webhook ${webhook === undefined ? '' : `${webhook} `}does not answer. Bring its Service back. Where pods may go unchecked meanwhile, set its failurePolicy to Ignore: ${clusterCommand('get', 'validatingwebhookconfigurations,mutatingwebhookconfigurations')}.`
  },
  'replica-failure': creationHint,
  paused: (s) => `Resume it: ${command(s, 'rollout', 'resume', name(s))}.`,
  'job-failed': (s) =>
    `${readLog(s)} A failed Job does not run again: once the cause is mended, delete the Job (${command(s, 'delete', name(s))}) and apply it anew.`,
  'job-deadline-exceeded': (s) =>
    `Raise activeDeadlineSeconds, or make the Job faster; then delete the Job (${command(s, 'delete', name(s))}) and apply it anew.`,
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
      ? `The cluster gives no figures of what pods use: is a metrics server installed, and does it run? ${command(s, 'top', 'pods')} works once it does.`
      : `Its own status says what it waits for: ${described(s)}.`,
  'reported-failed': (s) => `Its own status says what failed: ${described(s)}.`,
  'not-reconciled': (s) =>
    `No controller has written a status of ${name(s)}: is the one that serves its kind installed and running? If nothing ever writes one, gate it with \`${name(s).replaceAll('`', '')} --for=create\`.`,
  'no-progress': (s) =>
    `${s.target.kind === 'Job' ? `See what it does: ${command(s, 'logs', name(s))}` : `See its events: ${described(s)}`}. If it only needs longer, raise stall-timeout.`,
  'still-running': (s) => `See where it stands: ${described(s)}. If it only needs longer, raise the timeout.`,
  'not-found': absentHint,
  deleted: (s) =>
    s.namespaceLack === undefined
      ? `Find out who deletes ${name(s)} (another job, a clean-up, a GitOps controller that does not know it), then apply it again.`
      : `Namespace ${s.target.namespace} ${s.namespaceLack === 'missing' ? 'was' : 'is being'} deleted, with everything in it. Find out who deletes it, create it again once it is gone, then apply ${name(s)} again.`,
  terminating: (s) => {
    const { namespace } = s.target
    const around =
      namespace === undefined
        ? ''
        : ` If its whole namespace is being deleted (${clusterCommand('get', 'namespace', namespace)}), nothing can be applied there until that is gone.`
    const held = finalizerAdvice(s, name(s))
    return `Wait until ${name(s)} is gone, then apply it again.${held === '' ? '' : ` ${held}`}${around}`
  },
  'pod-stuck': (s) => {
    const about = s.problem?.subject ?? ''
    const force = about === '' ? '' : `: ${command(s, 'delete', about, '--force')}`
    if (/finalizers/.test(s.problem?.message ?? '')) return finalizerAdvice(s, about)
    const node = s.pod?.spec?.nodeName
    const gone = node === undefined ? '' : ` (${clusterCommand('delete', 'node', node)})`
    return `Bring its node back, or delete the node if it is gone for good${gone}. Only where its containers surely run no more, delete the pod by force${force}.`
  },
  superseded: () =>
    'Nothing, if the newer change is meant: the run that applied it tells how it went. If it is not, apply this one again.',
  'rolled-back': (s) =>
    `Find out who rolled back and why before you apply it again: ${command(s, 'rollout', 'history', name(s))}.`,
  'change-not-seen': (s) =>
    `Check that the change was applied, to this cluster${inNamespace(s).replace(' in', ' and')}, or raise await-change if it only comes later.`,
  'image-mismatch': ({ problem }) => {
    if (problem?.detail?.containers !== undefined)
      return 'Correct the name in expect-images: it is that of a container, as the pod template has it. Or gate the workload that runs it.'
    return /was loaded onto the node/.test(problem?.message ?? '')
      ? 'The image was not pulled, so only its ID is known, and no digest of a registry. Push it and let the node pull it, or put the ID that the build printed into expect-images.'
      : `Find out who moved the tag of ${problem?.detail?.image ?? 'the image'} after this workflow pushed it, or deploy by digest (\`image@sha256:…\`), which no one can move.`
  },
  'credentials-expired': () =>
    'Renew the credentials in the kubeconfig; short-lived ones have to be fetched in this job. The rollout itself may be fine: look before you roll back.',
  forbidden: ({ said = '' }) => accessHint(said),
  'api-unreachable': () =>
    'Check the network between this runner and the API server. The rollout itself may be fine: look before you roll back.',
  'kind-unknown': () => 'Correct the kind, or install the CustomResourceDefinition that defines it.',
  'input-invalid': () => 'Correct the inputs that the message names.',
  cancelled: () =>
    'The rollout itself was not cancelled: what was not ready may still become so. Run the job again to know.',
}

/** What is missing where a target is not found: a match for its selector, or the object of that name. */
function absentHint(subject: HintSubject): string {
  const { kind, selector, namespace } = subject.target
  const word = kind.toLowerCase()
  if (selector)
    return `Correct the selector, or the labels of what was applied. ${command(subject, 'get', word, '--show-labels')} lists what is there.`
  const list = command(subject, 'get', word)
  if (kind === 'Job' && isJobEnd(subject.lastEvent))
    return `A Job of this name ended before the gate began, and was removed. Raise its ttlSecondsAfterFinished, so that the gate sees how it ends. ${list} lists what is there.`
  const place = inNamespace(subject).replace(' in', ' and in')
  const question = selector === '' ? `Was any ${kind} applied,${place}?` : `Was it applied, under this name${place}?`
  const other =
    namespace === undefined ? '' : ' For another namespace, set the input `namespace`, or write -n after the reference.'
  return `${question} ${list} lists what is there.${other}`
}

/** What cannot be there, and why: its namespace does not exist. */
function namespaceHint({ target, namespaceLack }: HintSubject): string | undefined {
  if (namespaceLack !== 'missing' || target.namespace === undefined) return undefined
  return `Namespace ${target.namespace} does not exist. Create it, or correct the input \`namespace\` or -n. ${clusterCommand('get', 'namespaces')} lists what is there.`
}

/** What the reference waits for and the object does not have: most often a name that is misspelt. */
function waitForHint({ target, object }: HintSubject): string | undefined {
  const missing = object === undefined ? undefined : missingSubject(object, target.waitFor)
  if (missing === undefined) return undefined
  const { words, at, existing } = missing
  const others = `${at === '' ? '' : `${at} has `}${listNames(existing)}`
  return `Correct --for: ${displayName(target)} has no ${words}, but ${others}.${didYouMean(missing.name, existing)}`
}

/** Another target ended the gate while nothing was known to be wrong with this one. */
function openHint(endedBy: string): string {
  return `Nothing is known to be wrong with it: it was in progress when the gate ended, because ${endedBy}. Mend that first; with \`fail-fast: false\` every target may finish.`
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
  const port = namedIn(subject.problem?.message, /port named "([^"]+)"/)
  if (port !== undefined)
    return `Name the port "${port}" in the container’s ports, or correct targetPort in ${name(subject)}: by number it needs no name.`
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

/** Finalizers that protect what is in use, or wait for what an object owns: nothing to take off by hand. */
const ofKubernetes = /^(?:foregroundDeletion|orphan|(?:[\w.-]+\.)?kubernetes\.io\/\S+)$/

/** What keeps a deleted object in the cluster, and how it goes. */
function finalizerAdvice(subject: HintSubject, about: string): string {
  const words = subject.problem?.message ?? ''
  const [, finalizers] = /finalizers(?: hold it)?: (.+)$/.exec(words) ?? []
  if (finalizers === undefined) return ''
  if (finalizers.split(', ').every((each) => ofKubernetes.test(each)))
    return `Kubernetes takes ${finalizers} off once nothing uses it any more, and what it owns is gone.`
  const force = command(subject, 'patch', about, '--type=json', '-p', '[{"op":"remove","path":"/metadata/finalizers"}]')
  return `The controller that set ${finalizers} has to take it off: does that run? Only where it is gone for good, do so by hand: ${force}.`
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
  const about = subject.problem?.subject ?? name(subject)
  return `Its storage class, size or access mode may not be had. Its events: ${command(subject, 'describe', about)}.`
}

/** Whether the gate ended without judging what was still open. */
export function isCutShort({ outcome }: Verdict): boolean {
  return outcome === 'cancelled' || outcome === 'misconfigured' || outcome === 'unknown'
}

/**
 * What to do about a gate that ended without judging its targets: it was cancelled, or does not see the cluster. Nothing
 * where the targets' own hints say it.
 */
export function gateHint({ verdict, targets: [first] }: Timeline): string | undefined {
  if (first === undefined || verdict === undefined || !isCutShort(verdict)) return undefined
  // These hints are about the gate: any target will do.
  return hintFor(first.target, verdict.reason, { said: verdict.message })
}

/** What to do about a target that is not ready. */
export function hintFor(target: Target, reason: ReasonCode | '', details: HintDetails = {}): string {
  const { problem } = details
  if (problem?.detail?.isOld)
    return `Delete the pod of the older revision, which nothing else replaces: ${command({ target }, 'delete', problem.subject)}.`
  const subject = { target, ...details }
  const code = reason === '' ? 'still-running' : reason
  const isWaiting = code === 'no-progress' || code === 'still-running'
  if (reason === '' && details.endedBy !== undefined) return waitForHint(subject) ?? openHint(details.endedBy)
  return (
    (code === 'deleted' ? undefined : namespaceHint(subject)) ??
    (isWaiting ? waitForHint(subject) : undefined) ??
    hints[code](subject)
  )
}
