import { duration } from '../duration.ts'
import { deniedMs, longStepMs } from '../thresholds.ts'
import { clause, type HintFacts, type ProblemFields, predicate, type ReasonFamily, type Sentence } from './spec.ts'
import {
  clusterCommand,
  command,
  containerHeadline,
  containerOf,
  describePod,
  describeTarget,
  exitCode,
  exited,
  filledCommand,
  inNamespace,
  logHint,
  nameLimit,
  nameOf,
  withoutMiddle,
} from './wording.ts'

/** A request of a controller that the API server refused. */
export interface Refusal {
  readonly action: 'create pods' | 'delete pods' | 'create its ReplicaSet'
  /** The API server's message, without the controller's prefix. */
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
   * What refused, if known; `name`: of the policy or webhook, for Pod Security the enforced level, for RBAC the user that may
   * not create pods.
   */
  readonly by?: {
    readonly type: keyof typeof denials
    readonly name: string
  }
  /** The policy's requirement, in the words of the policy. */
  readonly requirement?: string
}

export interface WorkloadDetails {
  readonly 'progress-deadline-exceeded': {
    readonly deadlineSeconds: number
    /** The controller's message; used if no problem of a pod is the cause. */
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
    /** The API server finds the pods invalid. */
    readonly isInvalid?: boolean
  }
  /** Without fields for a Deployment. */
  readonly paused: Suspension
  readonly 'job-failed': {
    /** The exit code of the container that failed last; see `Exit`. */
    readonly exitCode?: number
    readonly isOwnCode?: boolean
    /** Why the pod that failed last ended, if not by a container. */
    readonly podMessage?: string
    /** The controller's message, the failed indexes, and the reason of the Job's condition. */
    readonly message?: string
    readonly failedIndexes?: string
    readonly conditionReason?: string
  }
  /** `isAdded`: the template of the Job does not have the container. */
  readonly 'sidecar-running': { readonly isAdded: boolean }
  readonly 'job-deadline-exceeded': { readonly activeDeadlineSeconds?: number }
  /** Without fields for a Job. */
  readonly suspended: Suspension
}

/** A custom resource that is paused or suspended. */
interface Suspension {
  /** The signals of the suspension: `spec.paused is true`. */
  readonly signals?: string
  /** The operator's command that resumes it, with `{kind}`, `{name}` and `{namespace}`. */
  readonly resume?: string
}

export const workloadReasons: ReasonFamily<WorkloadDetails> = {
  'progress-deadline-exceeded': {
    class: 'terminal',
    yieldsTo: 'pods',
    when: 'the Deployment controller reports it for the present generation',
    title: 'no progress within its deadline',
    sentence: ({ detail: { deadlineSeconds, message } }, cause) =>
      predicate(`made no progress within its progressDeadlineSeconds of ${deadlineSeconds} s: ${cause ?? message}`),
    hint: deadlineHint,
    field: { object: ['spec', 'progressDeadlineSeconds'] },
  },
  'quota-exceeded': {
    class: 'slow',
    when: 'a ResourceQuota refuses the pods: it may be raised, or others may go',
    title: 'quota exceeded',
    headline: ({ detail: { quota, shortages } }) =>
      quota === undefined || shortages === undefined ? undefined : `quota ${withoutMiddle(quota, nameLimit)} exceeded`,
    sentence: quotaSentence,
    hint: quotaHint,
  },
  'admission-denied': {
    class: 'terminal',
    when: `the API server denied the pods, because of a policy, an admission webhook or any other cause that does not change by itself, and again after ${duration(deniedMs)}`,
    title: 'denied by an admission policy',
    headline: ({ detail: { by } }) => by && denials[by.type].headline(withoutMiddle(by.name, nameLimit)),
    sentence: refusalSentence,
    hint: denialHint,
    field: { pod: ['spec'] },
  },
  'service-account-missing': {
    class: 'slow',
    when: 'the ServiceAccount does not exist yet',
    title: 'the ServiceAccount is missing',
    sentence: refusalSentence,
    hint: (s) => {
      const account = s.problem?.detail.account
      if (account === undefined)
        return 'Create the ServiceAccount that the message names, or correct serviceAccountName.'
      return `Create it (${command(s, 'create', 'serviceaccount', account)}), or correct serviceAccountName.`
    },
    field: { pod: ['spec', 'serviceAccountName'] },
  },
  'claim-terminating': {
    class: 'slow',
    when: 'a claim of a StatefulSet is being deleted, so its controller does not create the pod',
    title: 'a volume claim is being deleted',
    sentence: refusalSentence,
    hint: (s) => {
      const claim = s.problem?.detail.claim ?? 'CLAIM'
      return `The controller creates the claim and its pod again once the old claim is gone. ${command(s, 'describe', `pvc/${claim}`)} shows its finalizers and what uses it.`
    },
  },
  'webhook-unavailable': {
    class: 'slow',
    isOutsideTemplate: true,
    when: 'an admission webhook does not answer',
    title: 'an admission webhook is unavailable',
    sentence: refusalSentence,
    hint: ({ problem }) => {
      const webhook = problem?.detail.webhook
      return `The admission webhook ${webhook === undefined ? '' : `${webhook} `}does not answer. Bring its Service back. If pods may be created without its check, set its failurePolicy to Ignore: ${clusterCommand('get', 'validatingwebhookconfigurations,mutatingwebhookconfigurations')} lists the webhooks.`
    },
  },
  'replica-failure': {
    class: 'slow',
    classOf: ({ detail }) => (detail.isInvalid ? 'terminal' : 'slow'),
    when: 'the controller cannot create pods: a PriorityClass or RuntimeClass is missing, the pods are invalid, or an error of the API server may be temporary',
    title: 'pods could not be created',
    headline: ({ detail }) => {
      const missing = missingClass(detail)
      return missing && `${missing.kind} ${withoutMiddle(missing.name, nameLimit)} is missing`
    },
    sentence: refusalSentence,
    hint: creationHint,
  },
  paused: {
    class: 'slow',
    awaits: 'user',
    when: 'the Deployment is paused, and its change is not rolled out',
    title: 'the rollout is paused',
    sentence: ({ detail: { signals } }) =>
      signals === undefined ? predicate('is paused, so its change is not rolled out') : clause(signals),
    hint: (s) => resumeHint(s, command(s, 'rollout', 'resume', nameOf(s))),
    field: { object: ['spec', 'paused'] },
  },
  'job-failed': {
    class: 'terminal',
    yieldsTo: 'owner',
    when: 'the Job controller reports Failed',
    title: 'the Job failed',
    headline: (problem, cause) =>
      cause === undefined ? jobFailedHeadline(problem) : `the Job failed: ${cause.headline}`,
    sentence: jobFailedSentence,
    hint: (s) => {
      // The owner of a Job decides whether another Job runs.
      const why =
        s.cause?.hint ??
        (s.problem?.detail.podMessage === undefined
          ? s.target.isBehind && s.target.kind === 'Job'
            ? `The log of the Job may show why: ${command(s, 'logs', `job/${s.target.name}`)}.`
            : logHint(s)
          : `The message contains why the node or a controller ended the pod: ${describePod(s)}.`)
      if (s.target.kind !== 'Job' || s.target.isBehind) return why
      return `${why} A failed Job does not run again: once the cause is fixed, delete the Job (${command(s, 'delete', nameOf(s))}) and apply it again.`
    },
    evidence: ['logs'],
  },
  'sidecar-running': {
    class: 'slow',
    awaits: 'time',
    when: `the containers of a Job have completed, and one runs on: it was added to the pod, or has run on for ${duration(longStepMs)}`,
    title: 'a container keeps the Job from completing',
    headline: containerHeadline((name, { detail: { isAdded } }) =>
      isAdded
        ? `${name}, which was added to the pod, keeps the Job from completing`
        : `${name} keeps the Job from completing`,
    ),
    sentence: ({ detail: { isAdded } }) =>
      predicate(
        `runs on after the ${isAdded ? '' : 'other '}containers of the Job have completed, so the Job does not complete`,
      ),
    hint: (s) =>
      s.problem?.detail.isAdded === false
        ? `The Job completes when ${containerOf(s)} ends. If it serves the others, make it a native sidecar: an init container with \`restartPolicy: Always\`.`
        : `Let ${containerOf(s)} end with the work: add it as a native sidecar (an init container with \`restartPolicy: Always\`; Istio does so with ENABLE_NATIVE_SIDECARS), exclude the pods of Jobs from its injection, or let the last command of the Job end it (Istio: \`curl -X POST http://localhost:15020/quitquitquit\`).`,
  },
  'job-deadline-exceeded': {
    class: 'terminal',
    yieldsTo: 'owner',
    when: 'the Job controller reports Failed for its activeDeadlineSeconds',
    title: 'the Job ran out of time',
    sentence: ({ detail: { activeDeadlineSeconds: seconds } }) =>
      predicate(`ran longer than its activeDeadlineSeconds${seconds === undefined ? '' : ` of ${seconds} s`}`),
    hint: (s) =>
      `Raise activeDeadlineSeconds, or make the Job faster; then delete the Job (${command(s, 'delete', nameOf(s))}) and apply it again.`,
    field: { object: ['spec', 'activeDeadlineSeconds'] },
  },
  suspended: {
    class: 'slow',
    awaits: 'user',
    when: 'the object is suspended',
    title: 'the Job is suspended',
    sentence: ({ detail: { signals } }) =>
      signals === undefined ? predicate('is suspended, so it does not run') : clause(signals),
    hint: (s) => resumeHint(s, command(s, 'patch', nameOf(s), '-p', '{"spec":{"suspend":false}}')),
    field: { object: ['spec', 'suspend'] },
  },
}

/** @param usual the command if the operator has no command of its own */
function resumeHint(s: HintFacts<Suspension>, usual: string): string {
  const template = s.problem?.detail.resume
  return `Resume it: ${(template === undefined ? undefined : filledCommand(s, template)) ?? usual}.`
}

/** `cannot create pods: exceeded quota: small, …`. */
export function refusalSentence({ detail: { action, message } }: ProblemFields<Refusal>): Sentence {
  return predicate(`cannot ${action}: ${message}`)
}

/** `cannot create pods: quota small exceeded: 2 of 2 pods used, a new pod needs 1`. */
function quotaSentence(problem: ProblemFields<QuotaRefusal>): Sentence {
  const { action, quota, shortages } = problem.detail
  if (quota === undefined || shortages === undefined) return refusalSentence(problem)
  const wanted = action === 'create its ReplicaSet' ? 'the ReplicaSet' : 'a new pod'
  const list = shortages.map(
    ({ resource, requested, used, limited }) => `${used} of ${limited} ${resource} used, ${wanted} needs ${requested}`,
  )
  return predicate(`cannot ${action}: quota ${quota} exceeded: ${list.join('; ')}`)
}

const jobFailedHeadline = containerHeadline<WorkloadDetails['job-failed']>(
  (name, problem) => `the Job failed in ${name}${exitCode(problem)}`,
)

function jobFailedSentence({ detail }: ProblemFields<WorkloadDetails['job-failed']>, cause?: string): Sentence {
  const { message, failedIndexes, conditionReason, exitCode, isOwnCode, podMessage } = detail
  const why = [message, failedIndexes].map((each) => (each ? `: ${each}` : '')).join('')
  const failed = `the Job failed${why}${conditionReason ? ` (${conditionReason})` : ''}`
  if (cause !== undefined) return clause(`${failed}: ${cause}`)
  if (podMessage !== undefined) return predicate(`failed: ${podMessage}; ${failed}`)
  return exitCode === undefined ? clause(failed) : predicate(`${exited({ exitCode, isOwnCode })}; ${failed}`)
}

function quotaHint(facts: HintFacts<QuotaRefusal>): string {
  const { quota, shortages, mustSpecify } = facts.problem?.detail ?? {}
  if (quota !== undefined && mustSpecify !== undefined)
    return `ResourceQuota ${quota} requires every container to set ${mustSpecify}: set them under \`resources\`, or give the namespace a LimitRange with defaults.`
  if (quota === undefined || shortages === undefined)
    return 'Raise the namespace’s ResourceQuota, or lower the pods’ requests, limits or number.'
  const edit = command(facts, 'edit', `resourcequota/${quota}`)
  return `Raise ResourceQuota ${quota} (${edit}), or request less. An update needs room for old and new pods at once, unless maxSurge is 0.`
}

/** The headline and the hint for each known kind of denial; a webhook and a policy have the common hint. */
const denials = {
  webhook: { headline: (name: string) => `denied by the webhook ${name}`, hint: undefined },
  policy: { headline: (name: string) => `denied by the policy ${name}`, hint: undefined },
  'pod-security': {
    headline: (level: string) => `denied by the Pod Security standard "${level}"`,
    hint: (level: string) =>
      `The namespace enforces the Pod Security standard "${level}": set in securityContext what the message lists, or relax the label pod-security.kubernetes.io/enforce of the namespace.`,
  },
  'security-context-constraints': {
    headline: () => 'denied by all SecurityContextConstraints',
    hint: () =>
      'Set in securityContext what the message lists, or grant the ServiceAccount of the pods SecurityContextConstraints that allow it: `oc adm policy add-scc-to-user SCC -z SERVICEACCOUNT`.',
  },
  authorization: {
    headline: () => 'the controller may not create pods',
    hint: (user: string) => `Allow ${user} what the message contains, in a Role or ClusterRole that is bound to it.`,
  },
  'limit-range': {
    headline: () => 'denied by a LimitRange',
    hint: (_: string, facts: HintFacts<AdmissionRefusal>) =>
      `A LimitRange${inNamespace(facts)} sets these bounds: change the pod’s \`resources\`, or the LimitRange (${command(facts, 'describe', 'limitrange')}).`,
  },
} as const

function denialHint(facts: HintFacts<AdmissionRefusal>): string {
  const { by, requirement } = facts.problem?.detail ?? {}
  const own = by && denials[by.type].hint?.(by.name, facts)
  if (own !== undefined) return own
  const who = by === undefined ? 'the policy' : `the ${by.type} ${by.name}`
  return `Change the pod template so that ${who} accepts it${requirement === undefined ? '' : `: ${requirement}`}.`
}

/** The class that the pods name and that does not exist. */
function missingClass({ priorityClass, runtimeClass }: Partial<WorkloadDetails['replica-failure']>) {
  if (priorityClass !== undefined) return { kind: 'PriorityClass', field: 'priorityClassName', name: priorityClass }
  return runtimeClass === undefined
    ? undefined
    : { kind: 'RuntimeClass', field: 'runtimeClassName', name: runtimeClass }
}

/** The hint for a refused creation of pods. */
function creationHint(facts: HintFacts<WorkloadDetails['replica-failure']>): string {
  const { isInvalid, ...detail } = facts.problem?.detail ?? {}
  const missing = missingClass(detail)
  if (missing !== undefined)
    return `Create ${missing.kind} ${missing.name}, or correct ${missing.field}. ${clusterCommand('get', missing.kind.toLowerCase())} lists what is there.`
  if (isInvalid) return 'Correct the field of the pod template that the message names, and apply again.'
  return `The API server refuses the pods; its message contains the reason. Its events: ${describePod(facts)}.`
}

/** Hint for a Deployment past its deadline: the hint for the pod that it waits for, and how to extend the deadline. */
function deadlineHint(facts: HintFacts<WorkloadDetails['progress-deadline-exceeded']>): string {
  const seconds = facts.problem?.detail.deadlineSeconds
  const why = facts.cause?.hint ?? `The events of its pods show what they wait for: ${describeTarget(facts)}.`
  return `${why} If it only needs longer, raise progressDeadlineSeconds${seconds === undefined ? '' : ` (now ${seconds})`}.`
}
