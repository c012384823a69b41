import type { Container, Probe } from '../cluster/objects.ts'
import type { Problem } from '../lifecycle/assessment.ts'
import type { ReasonCode } from '../lifecycle/reasons.ts'
import { displayName, type Target } from '../plan/target.ts'

/** What a hint may be specific about. */
interface Subject {
  readonly target: Target
  readonly problem: Problem | undefined
  /** The container that has the problem, as its pod runs it. */
  readonly spec: Container | undefined
  /** The last line that it logged. */
  readonly lastLine: string | undefined
}

type Hint = (subject: Subject) => string

const image = ({ problem }: Subject) => problem?.detail?.image ?? 'the image'
const container = ({ problem }: Subject) => problem?.container ?? 'the container'
const namespace = ({ target }: Subject) => (target.namespace === undefined ? '' : ` -n ${target.namespace}`)
const kubectl = (subject: Subject, verb: string) =>
  `kubectl ${verb} ${displayName(subject.target)}${namespace(subject)}`

/** Names what to create; without a known name, the message has it. */
function missingHint({ target, problem }: Subject): string {
  const { object, key } = problem?.detail ?? {}
  const where = target.namespace === undefined ? 'the same namespace' : `namespace ${target.namespace}`
  if (object === undefined || !object.includes('/'))
    return `Create the Secret or ConfigMap (or the key in it) that the message names, in ${where}, or correct the reference.`
  return key === undefined
    ? `Create ${object} in ${where}, or correct the reference.`
    : `Add the key ${key} to ${object} in ${where}, or correct the reference.`
}

/** What to do about a reason: one or two sentences, the command to run where one helps. */
const hints: Readonly<Record<ReasonCode, Hint>> = {
  'image-not-found': (s) => `Push ${image(s)} before deploying it, or correct the image's name or tag.`,
  'image-unauthorized': (s) =>
    `Give the cluster access to the registry of ${image(s)}: an imagePullSecret in the namespace, or on its ServiceAccount. Some registries answer the same for an image that does not exist.`,
  'image-rate-limited': () =>
    'The registry limits pulls. Pull with credentials, or through a mirror or cache, then try again.',
  'image-registry-unreachable': (s) =>
    `The node cannot reach the registry of ${image(s)}. Check the registry's name, its certificate, and the node's network.`,
  'image-name-invalid': (s) => `Correct the image's name "${image(s)}": lower case, registry/repository:tag.`,
  'image-never-pull': (s) => `Load ${image(s)} onto every node, or set imagePullPolicy to IfNotPresent.`,
  'image-pull-failed': (s) => `Read the node's message about ${image(s)} in the events below.`,
  'crash-loop': (s) => `Container ${container(s)} starts and ends again. ${lastWords(s)}`,
  'out-of-memory': (s) => `Raise the memory limit of container ${container(s)}, or make it use less.`,
  'bad-command': (s) =>
    `Correct command and args of container ${container(s)}: the program does not exist in the image, or is not executable.`,
  'exec-format': (s) =>
    `Build ${image(s)} for the architecture of the cluster's nodes (docker buildx build --platform …).`,
  'config-missing': missingHint,
  'init-container-failed': (s) => `The pod starts only when init container ${container(s)} succeeds. ${lastWords(s)}`,
  'liveness-failing': (s) =>
    `Container ${container(s)} is killed by its liveness probe.${probeHint(s.spec?.livenessProbe, s)} Give it time to start with a startupProbe.`,
  'startup-failing': (s) =>
    `Container ${container(s)} does not pass its startup probe.${probeHint(s.spec?.startupProbe, s)} Raise failureThreshold × periodSeconds if it only needs longer.`,
  'readiness-failing': (s) =>
    `Container ${container(s)} runs, but its readiness probe fails.${probeHint(s.spec?.readinessProbe, s)} Read its log for what it waits for.`,
  'container-create-failed': () => 'Read the message of the container runtime in the events below.',
  unschedulable: () =>
    'No node takes the pod. Free or add capacity, or correct its requests, node selector, affinity or tolerations.',
  'volume-not-mounted': () =>
    'Read the events below: the volume, or what it is made from, is missing or cannot be attached.',
  'sandbox-failed': () =>
    'The node cannot set up the pod’s network. Look at the network plugin on the node that the events name.',
  evicted: () => 'The node evicted the pod. Look at the pressure that the message names, and set requests that fit.',
  'pod-failed': (s) =>
    `Read the last log lines of the pod: it has ended, and nothing restarts it. ${kubectl(s, 'describe')}`,
  'progress-deadline-exceeded': (s) =>
    `Kubernetes gave up waiting. ${kubectl(s, 'describe')} shows what its pods wait for; raise progressDeadlineSeconds if they only need longer.`,
  'quota-exceeded': () => 'Raise the namespace’s ResourceQuota, or lower the pods’ requests, limits or number.',
  'admission-denied': () => 'Change the pod template so that the policy named in the message accepts it.',
  'service-account-missing': () => 'Create the ServiceAccount that the message names, or correct serviceAccountName.',
  'webhook-unavailable': () => 'An admission webhook does not answer. Bring it back, or set its failurePolicy.',
  'replica-failure': () => 'The controller cannot create pods. Its message says why.',
  paused: (s) => `Resume it: kubectl rollout resume ${displayName(s.target)}${namespace(s)}`,
  'job-failed': (s) => `The Job has used up its retries. ${lastWords(s)}`,
  'job-deadline-exceeded': () => 'Raise activeDeadlineSeconds, or make the Job faster.',
  suspended: (s) => `Resume it: set spec.suspend of ${displayName(s.target)} to false.`,
  'no-endpoints': ({ problem }) =>
    /port named/.test(problem?.message ?? '')
      ? 'Give the port its name in the container’s ports, or correct the targetPort of the Service.'
      : 'No pod behind the Service is ready. Look at the pods that its selector matches.',
  'selector-matches-nothing': () => 'Correct the Service’s selector: no pod carries these labels.',
  'address-pending': () =>
    'The load balancer has no address yet. Look at the events of the Service and at its controller.',
  'backend-missing': () => 'Create the Service or port that the message names, or correct the reference.',
  'claim-pending': () => 'Look at the claim’s events: its storage class, its size, or its provisioner.',
  'claim-lost': () => 'The volume behind the claim is gone. Restore it, or create the claim anew.',
  'condition-false': (s) => `Its own status says what it waits for: ${kubectl(s, 'describe')}`,
  'reported-failed': (s) => `Its own status says what failed: ${kubectl(s, 'describe')}`,
  'not-reconciled': (s) =>
    `No controller has acted on ${displayName(s.target)} yet. Is the one that serves its kind installed and running?`,
  'no-progress': (s) =>
    `Nothing moved. ${kubectl(s, 'describe')} shows its events; raise stall-timeout if it only needs longer.`,
  'still-running': (s) =>
    `It was still on its way. Raise the timeout if it only needs longer; ${kubectl(s, 'describe')} shows where it stands.`,
  'not-found': (s) =>
    `Was ${displayName(s.target)} applied? Check its name${s.target.namespace === undefined ? '' : `, and that it belongs to namespace ${s.target.namespace}`}.`,
  deleted: () => 'Somebody or something deleted it during the wait. Apply it again.',
  terminating: () =>
    'It is being deleted. Wait until it is gone (its finalizers say for whom it waits), then apply it again.',
  superseded: () => 'A newer change was applied while this one was rolling out. The run that applied it gates it.',
  'rolled-back': () =>
    'Somebody rolled back while this change was rolling out. Find out why before you apply it again.',
  'change-not-seen': () =>
    'Check that the change was applied, to this cluster and namespace, or raise await-change if it only comes later.',
  'image-mismatch': () =>
    'The running image is not the one that was built. Deploy by digest, or look who moved the tag.',
  'credentials-expired': () =>
    'Renew the credentials in the kubeconfig. The rollout itself may be fine: look before you roll back.',
  forbidden: () => 'Give the kubeconfig’s user get, list and watch on what is gated. The README lists the permissions.',
  'api-unreachable': () =>
    'The gate lost sight of the cluster. The rollout itself may be fine: look before you roll back.',
  'kind-unknown': () => 'Correct the kind, or install the CustomResourceDefinition that defines it.',
  'input-invalid': () => 'Correct the inputs that the message names.',
  cancelled: (s) => `The job was cancelled before ${displayName(s.target)} was ready. It may still become so.`,
}

/** What the container said last: nine times in ten that is the cause. */
function lastWords({ lastLine }: Subject): string {
  return lastLine === undefined ? 'Read its last log lines below.' : `The last that it logged: "${lastLine}".`
}

/** What the probe asks, held against what the container declares. */
function probeHint(probe: Probe | undefined, { spec }: Subject): string {
  const asked = probe?.httpGet?.port ?? probe?.tcpSocket?.port ?? probe?.grpc?.port
  if (asked === undefined) {
    const command = probe?.exec?.command?.join(' ')
    return command === undefined ? ' Check what the probe asks.' : ` The probe runs "${command}".`
  }
  const path = probe?.httpGet?.path === undefined ? '' : ` for ${probe.httpGet.path}`
  const ports = spec?.ports ?? []
  if (ports.length === 0 || ports.some(({ containerPort, name }) => containerPort === asked || name === asked)) {
    return ` The probe asks port ${asked}${path}: is that where it listens?`
  }
  return ` The probe asks port ${asked}${path}, but the container declares ${ports.map(({ containerPort }) => containerPort).join(', ')}.`
}

/** What a hint may be specific about, where it is known. */
export interface HintDetails {
  readonly problem?: Problem | undefined
  /** The container that has the problem, as its pod runs it, and the last line that it logged. */
  readonly spec?: Container | undefined
  readonly lastLine?: string | undefined
}

/** What to do about a target that is not ready. */
export function hintFor(
  target: Target,
  reason: ReasonCode | '',
  { problem, spec, lastLine }: HintDetails = {},
): string {
  return hints[reason === '' ? 'still-running' : reason]({ target, problem, spec, lastLine })
}
