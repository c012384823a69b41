import { clause, type HintWords, type NoDetail, type ReasonFamily } from './spec.ts'
import { clusterCommand, ifPresent } from './wording.ts'

/* The reason codes about workloads and pods that are not created, such as `job-failed`: class, sentences, hint. */

/** A controller's request that the API server refused. */
export interface Refusal {
  readonly action: 'create pods' | 'delete pods' | 'create its ReplicaSet'
  /** The API server's message without the prefix of the controller. */
  readonly message: string
}

/** A resource that a quota limits. Quantities as Kubernetes writes them: `2`, `500m`, `1Gi`. */
interface QuotaShortage {
  readonly resource: string
  readonly requested: string
  readonly used: string
  readonly limited: string
}

export interface QuotaRefusal extends Refusal {
  readonly quota?: string
  /** The resources that are used up. */
  readonly shortages?: readonly QuotaShortage[]
  /** The fields that every container must set: `limits.cpu for: app`. */
  readonly mustSpecify?: string
}

export interface AdmissionRefusal extends Refusal {
  /**
   * What refused the request, if known. `name`: the name of the policy or webhook; for Pod Security the enforced level;
   * for RBAC the user that may not create pods.
   */
  readonly by?: {
    readonly type: keyof typeof denials
    readonly name: string
  }
}

export interface WorkloadDetails {
  readonly 'progress-deadline-exceeded': {
    readonly deadlineSeconds: number
    /** The controller's message, for the case that no problem of a pod is the cause. */
    readonly message: string
  }
  readonly 'quota-exceeded': QuotaRefusal
  readonly 'admission-denied': AdmissionRefusal
  readonly 'service-account-missing': Refusal & { readonly account?: string }
  /** `claim`: the name of the PersistentVolumeClaim. */
  readonly 'claim-terminating': Refusal & { readonly claim?: string }
  readonly 'webhook-unavailable': Refusal & { readonly webhook?: string }
  readonly 'replica-failure': Refusal & {
    readonly priorityClass?: string
    readonly runtimeClass?: string
    /** The API server rejects the pods as invalid. */
    readonly isInvalid?: boolean
  }
  /** Empty for a Deployment: only a custom resource has signals. */
  readonly paused: Suspension
  readonly 'job-failed': {
    readonly message?: string
    readonly failedIndexes?: string
    readonly conditionReason?: string
  }
  readonly 'sidecar-running': NoDetail
  readonly 'job-deadline-exceeded': { readonly activeDeadlineSeconds?: number }
  /** Empty for a Job: only a custom resource has signals. */
  readonly suspended: Suspension
}

/** How a custom resource is paused or suspended. */
interface Suspension {
  /** The signals of the suspension: `spec.paused is true`. */
  readonly signals?: string
  /** The operator's command that resumes the object, with `{kind}`, `{name}` and `{namespace}`. */
  readonly resume?: string
}

export const workloadReasons: ReasonFamily<WorkloadDetails> = {
  'progress-deadline-exceeded': {
    class: 'terminal',
    yieldsTo: 'pods',
    title: 'no progress within its deadline',
    sentence: ({ deadlineSeconds, message }, { cause }) =>
      `made no progress within its progressDeadlineSeconds of ${deadlineSeconds} s: ${cause?.sentence ?? message}`,
    hint: ({ deadlineSeconds }, { cause, describeTarget }) =>
      `${cause?.hint ?? `The events of its pods show what they wait for: ${describeTarget}.`} If it only needs longer, raise progressDeadlineSeconds${ifPresent` (now ${deadlineSeconds})`}.`,
    field: { object: ['spec', 'progressDeadlineSeconds'] },
  },
  'quota-exceeded': {
    class: 'slow',
    title: '{a quota} refuses the pods',
    sentence: quotaSentence,
    hint: quotaHint,
  },
  'admission-denied': {
    class: 'terminal',
    title: 'denied by an admission policy',
    headline: ({ by }, _, title) => (by === undefined ? title : `denied by ${denierText(by)}`),
    sentence: refusalSentence,
    hint: denialHint,
    field: { pod: ['spec'] },
  },
  'service-account-missing': {
    class: 'slow',
    title: 'the ServiceAccount is missing',
    sentence: refusalSentence,
    hint: ({ account }, { command }) =>
      account === undefined
        ? 'Create the ServiceAccount that the message names, or correct serviceAccountName.'
        : `Create it (${command('create', 'serviceaccount', account)}), or correct serviceAccountName.`,
    field: { pod: ['spec', 'serviceAccountName'] },
  },
  'claim-terminating': {
    class: 'slow',
    title: '{a volume claim} is being deleted',
    sentence: refusalSentence,
    hint: ({ claim = 'CLAIM' }, { command }) =>
      `The controller creates the claim and its pod again once the old claim is gone. ${command('describe', `pvc/${claim}`)} shows its finalizers and what uses it.`,
  },
  'webhook-unavailable': {
    class: 'slow',
    isOutsideTemplate: true,
    title: '{an admission webhook} is unavailable',
    sentence: refusalSentence,
    hint: ({ webhook }) =>
      `The admission webhook ${ifPresent`${webhook} `}does not answer. Bring its Service back. If pods may be created without its check, set its failurePolicy to Ignore: ${clusterCommand('get', 'validatingwebhookconfigurations,mutatingwebhookconfigurations')} lists the webhooks.`,
  },
  'replica-failure': {
    class: 'slow',
    classOf: ({ isInvalid }) => (isInvalid ? 'terminal' : 'slow'),
    title: 'pods could not be created',
    headline: (detail, _, title) => {
      const missing = missingClass(detail)
      return missing === undefined ? title : `${missing.kind} ${missing.name} is missing`
    },
    sentence: refusalSentence,
    hint: creationHint,
  },
  paused: {
    class: 'slow',
    awaits: 'user',
    title: 'the rollout is paused',
    sentence: ({ signals }) => (signals === undefined ? 'is paused, so its change is not rolled out' : clause(signals)),
    hint: ({ resume }, words) => resumeHint(resume, words, words.command('rollout', 'resume', words.name)),
    field: { object: ['spec', 'paused'] },
  },
  'job-failed': {
    class: 'terminal',
    yieldsTo: 'owner',
    title: 'the Job failed',
    headline: (_, { cause }, title) => `${title}${ifPresent`: ${cause?.sentence}`}`,
    sentence: ({ message, failedIndexes, conditionReason }, { cause }) => {
      const why = ifPresent`: ${message}` + ifPresent`: ${failedIndexes}`
      return clause(`the Job failed${why}${ifPresent` (${conditionReason})`}${ifPresent`: ${cause?.sentence}`}`)
    },
    hint: (_, { cause, target, name, command }) => {
      // The owner of a Job decides whether another Job runs.
      const why = cause?.hint ?? `The log of the Job may show why: ${command('logs', `job/${target.name}`)}.`
      if (target.kind !== 'Job' || target.isNotTarget) return why
      return `${why} A failed Job does not run again: once the cause is fixed, delete the Job (${command('delete', name)}) and apply it again.`
    },
  },
  'sidecar-running': {
    class: 'slow',
    awaits: 'time',
    title: '{a container} keeps the Job from completing',
    sentence: () => 'runs on after the other containers of the Job have completed, so the Job does not complete',
    hint: (_, { theContainer }) =>
      `Let ${theContainer} end with the work. If it serves the others, make it a native sidecar: an init container with \`restartPolicy: Always\` (Istio: ENABLE_NATIVE_SIDECARS). If it was injected, exclude the pods of Jobs, or let the last command of the Job end it (Istio: \`curl -X POST http://localhost:15020/quitquitquit\`).`,
  },
  'job-deadline-exceeded': {
    class: 'terminal',
    yieldsTo: 'owner',
    title: 'the Job ran out of time',
    sentence: ({ activeDeadlineSeconds: seconds }) =>
      `ran longer than its activeDeadlineSeconds${ifPresent` of ${seconds} s`}`,
    hint: (_, { command, name }) =>
      `Raise activeDeadlineSeconds, or make the Job faster; then delete the Job (${command('delete', name)}) and apply it again.`,
    field: { object: ['spec', 'activeDeadlineSeconds'] },
  },
  suspended: {
    class: 'slow',
    awaits: 'user',
    title: 'the Job is suspended',
    sentence: ({ signals }) => (signals === undefined ? 'is suspended, so it does not run' : clause(signals)),
    hint: ({ resume }, words) =>
      resumeHint(resume, words, words.command('patch', words.name, '-p', '{"spec":{"suspend":false}}')),
    field: { object: ['spec', 'suspend'] },
  },
}

/** Hint for a paused or suspended object. @param defaultCommand resumes the object if there is no operator's command */
function resumeHint(template: string | undefined, { operatorCommand }: HintWords, defaultCommand: string): string {
  return `Resume it: ${operatorCommand(template) ?? defaultCommand}.`
}

/** `cannot create pods: exceeded quota: small, …`. */
export function refusalSentence({ action, message }: Refusal): string {
  return `cannot ${action}: ${message}`
}

/** `cannot create pods: quota small exceeded: 2 of 2 pods used, a new pod needs 1`. */
function quotaSentence(detail: QuotaRefusal): string {
  const { action, quota, shortages } = detail
  if (quota === undefined || shortages === undefined) return refusalSentence(detail)
  const wanted = action === 'create its ReplicaSet' ? 'the ReplicaSet' : 'a new pod'
  const list = shortages.map(
    ({ resource, requested, used, limited }) => `${used} of ${limited} ${resource} used, ${wanted} needs ${requested}`,
  )
  return `cannot ${action}: quota ${quota} exceeded: ${list.join('; ')}`
}

function quotaHint({ quota, shortages, mustSpecify }: Partial<QuotaRefusal>, { command }: HintWords): string {
  if (quota !== undefined && mustSpecify !== undefined)
    return `ResourceQuota ${quota} requires every container to set ${mustSpecify}: set them under \`resources\`, or give the namespace a LimitRange with defaults.`
  if (quota === undefined || shortages === undefined)
    return 'Raise the namespace’s ResourceQuota, or lower the pods’ requests, limits or number.'
  return `Raise ResourceQuota ${quota} (${command('edit', `resourcequota/${quota}`)}), or request less. An update needs room for old and new pods at once, unless maxSurge is 0.`
}

/** What can deny a request, with its name in texts and its hint. A webhook and a policy have the common hint. */
const denials = {
  webhook: { who: 'the webhook', hint: undefined },
  policy: { who: 'the policy', hint: undefined },
  'pod-security': {
    who: 'the Pod Security standard',
    hint: (level: string) =>
      `The namespace enforces the Pod Security standard "${level}": set in securityContext what the message lists, or relax the label pod-security.kubernetes.io/enforce of the namespace.`,
  },
  'security-context-constraints': {
    who: 'all SecurityContextConstraints',
    hint: () =>
      'Set in securityContext what the message lists, or grant the ServiceAccount of the pods SecurityContextConstraints that allow it: `oc adm policy add-scc-to-user SCC -z SERVICEACCOUNT`.',
  },
  authorization: {
    who: 'the permissions of',
    hint: (user: string) => `Allow ${user} what the message contains, in a Role or ClusterRole that is bound to it.`,
  },
  'limit-range': {
    who: 'a LimitRange',
    hint: (_: string, { inNamespace, command }: HintWords) =>
      `A LimitRange${inNamespace} sets these bounds: change the pod’s \`resources\`, or the LimitRange (${command('describe', 'limitrange')}).`,
  },
} as const

/** `the policy require-labels`, `the Pod Security standard restricted`, `a LimitRange`. */
function denierText({ type, name }: NonNullable<AdmissionRefusal['by']>): string {
  return `${denials[type].who}${ifPresent` ${name}`}`
}

function denialHint({ by }: Partial<AdmissionRefusal>, words: HintWords): string {
  const own = by && denials[by.type].hint?.(by.name, words)
  if (own !== undefined) return own
  const who = by === undefined ? 'the policy' : denierText(by)
  return `Change the pod template so that ${who} accepts it.`
}

/** The PriorityClass or RuntimeClass that a pod refers to and that does not exist. */
function missingClass({ priorityClass, runtimeClass }: Partial<WorkloadDetails['replica-failure']>) {
  if (priorityClass !== undefined) return { kind: 'PriorityClass', name: priorityClass }
  return runtimeClass === undefined ? undefined : { kind: 'RuntimeClass', name: runtimeClass }
}

function creationHint(detail: Partial<WorkloadDetails['replica-failure']>, { describePod }: HintWords): string {
  const missing = missingClass(detail)
  if (missing !== undefined)
    return `Create ${missing.kind} ${missing.name}, or correct its name in the pod template. ${clusterCommand('get', missing.kind.toLowerCase())} lists what is there.`
  if (detail.isInvalid) return 'Correct the field of the pod template that the message names, and apply again.'
  return `The API server refuses the pods; its message contains the reason. Its events: ${describePod}.`
}
