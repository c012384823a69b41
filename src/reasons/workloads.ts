import type { HintFacts, ReasonFamily } from './spec.ts'
import {
  clusterCommand,
  command,
  containerHeadline,
  described,
  describedPod,
  exitCode,
  fromWords,
  inNamespace,
  namedIn,
  nameOf,
  readLog,
  type TextDetail,
  textSentence,
} from './wording.ts'

export interface WorkloadDetails {
  readonly 'progress-deadline-exceeded': TextDetail
  readonly 'quota-exceeded': TextDetail
  readonly 'admission-denied': TextDetail
  readonly 'service-account-missing': TextDetail
  readonly 'webhook-unavailable': TextDetail
  readonly 'replica-failure': TextDetail
  readonly paused: TextDetail
  readonly 'job-failed': TextDetail
  readonly 'job-deadline-exceeded': TextDetail
  readonly suspended: TextDetail
}

export const workloadReasons: ReasonFamily<WorkloadDetails> = {
  'progress-deadline-exceeded': {
    class: 'terminal',
    when: 'the Deployment controller says so of the present generation',
    title: 'no progress within its deadline',
    sentence: textSentence,
    hint: deadlineHint,
    field: { object: ['spec', 'progressDeadlineSeconds'] },
  },
  'quota-exceeded': {
    class: 'slow',
    when: 'a ResourceQuota refuses the pods: it may be raised, or others may go',
    title: 'quota exceeded',
    headline: fromWords([[/exceeded quota: (\S+),/, 'quota $1 exceeded']]),
    sentence: textSentence,
    hint: quotaHint,
  },
  'admission-denied': {
    class: 'terminal',
    when: 'a policy or admission webhook denied the pods explicitly, for the second time',
    title: 'denied by an admission policy',
    headline: fromWords([
      [/violates PodSecurity "([^":]+)/, 'denied by the Pod Security standard "$1"'],
      [/ValidatingAdmissionPolicy '([^']+)'/, 'denied by the policy $1'],
      [/admission webhook "([^"]+)"/, 'denied by the webhook $1'],
      [/per (?:Pod|Container) is/, 'denied by a LimitRange'],
    ]),
    sentence: textSentence,
    hint: denialHint,
    field: { pod: ['spec'] },
  },
  'service-account-missing': {
    class: 'slow',
    when: 'the ServiceAccount does not exist yet',
    title: 'the ServiceAccount is missing',
    sentence: textSentence,
    hint: (s) => {
      const account = namedIn(s.problem?.detail.text, /serviceaccount "([^"]+)" not found/)
      if (account === undefined)
        return 'Create the ServiceAccount that the message names, or correct serviceAccountName.'
      return `Create it (${command(s, 'create', 'serviceaccount', account)}), or correct serviceAccountName.`
    },
    field: { pod: ['spec', 'serviceAccountName'] },
  },
  'webhook-unavailable': {
    class: 'slow',
    when: 'an admission webhook does not answer',
    title: 'an admission webhook is unavailable',
    sentence: textSentence,
    hint: (s) => {
      const webhook = namedIn(s.problem?.detail.text, /webhook "([^"]+)"/)
      return `The admission webhook ${webhook === undefined ? '' : `${webhook} `}does not answer. Bring its Service back. Where pods may go unchecked meanwhile, set its failurePolicy to Ignore: ${clusterCommand('get', 'validatingwebhookconfigurations,mutatingwebhookconfigurations')}.`
    },
  },
  'replica-failure': {
    class: 'slow',
    classOf: ({ detail }) => (detail.isInvalid ? 'terminal' : 'slow'),
    when: 'the controller cannot create pods, in words that are none of the above',
    title: 'pods could not be created',
    headline: fromWords([[/no PriorityClass with name (\S+) was found/, 'PriorityClass $1 is missing']]),
    sentence: textSentence,
    hint: creationHint,
  },
  paused: {
    class: 'slow',
    when: 'the Deployment is paused, and its change is not rolled out',
    title: 'the rollout is paused',
    sentence: textSentence,
    hint: (s) => `Resume it: ${command(s, 'rollout', 'resume', nameOf(s))}.`,
    field: { object: ['spec', 'paused'] },
  },
  'job-failed': {
    class: 'terminal',
    when: 'the Job controller says Failed',
    title: 'the Job failed',
    headline: (problem, shorten) =>
      containerHeadline((name) => `the Job failed in ${name}${exitCode(problem)}`)(problem, shorten),
    sentence: textSentence,
    hint: (s) =>
      `${readLog(s)} A failed Job does not run again: once the cause is mended, delete the Job (${command(s, 'delete', nameOf(s))}) and apply it anew.`,
    readsLogs: true,
  },
  'job-deadline-exceeded': {
    class: 'terminal',
    when: 'the Job controller says Failed for its activeDeadlineSeconds',
    title: 'the Job ran out of time',
    sentence: textSentence,
    hint: (s) =>
      `Raise activeDeadlineSeconds, or make the Job faster; then delete the Job (${command(s, 'delete', nameOf(s))}) and apply it anew.`,
    field: { object: ['spec', 'activeDeadlineSeconds'] },
  },
  suspended: {
    class: 'slow',
    when: 'the object is suspended',
    title: 'the Job is suspended',
    sentence: textSentence,
    hint: (s) => `Resume it: ${command(s, 'patch', nameOf(s), '-p', '{"spec":{"suspend":false}}')}.`,
    field: { object: ['spec', 'suspend'] },
  },
}

/** Which quota, and what of it. */
export function quotaHint(facts: HintFacts<TextDetail>): string {
  const message = facts.problem?.detail.text ?? ''
  const [, quota, wanted, used, limited] =
    /exceeded quota: (\S+), requested: (.+?), used: (.+?), limited: (.+?)(?:\.|$)/.exec(message) ?? []
  if (quota !== undefined) {
    const edit = command(facts, 'edit', `resourcequota/${quota}`)
    return `ResourceQuota ${quota} allows ${limited}, ${used} is used, and a new pod asks for ${wanted}: raise the quota (${edit}), or ask for less of it. An update needs room for old and new pods at once, unless maxSurge is 0.`
  }
  const [, demanding, demands] = /failed quota: (\S+): must specify (.+)$/.exec(message) ?? []
  if (demanding !== undefined)
    return `ResourceQuota ${demanding} wants every container to set ${demands}: set them under \`resources\`, or give the namespace a LimitRange with defaults.`
  return 'Raise the namespace’s ResourceQuota, or lower the pods’ requests, limits or number.'
}

/** Who denied, and what to change. */
export function denialHint(facts: HintFacts<TextDetail>): string {
  const message = facts.problem?.detail.text ?? ''
  const level = namedIn(message, /violates PodSecurity "([^":]+)/)
  if (level !== undefined)
    return `The namespace enforces the Pod Security standard "${level}": set in securityContext what the message lists, or relax the label pod-security.kubernetes.io/enforce of the namespace.`
  if (/(?:maximum|minimum|max limit to request ratio) .*per (?:Pod|Container) is/.test(message))
    return `A LimitRange${inNamespace(facts)} sets these bounds: change the pod’s \`resources\`, or the LimitRange (${command(facts, 'describe', 'limitrange')}).`
  const policy = namedIn(message, /ValidatingAdmissionPolicy '([^']+)'/)
  const webhook = namedIn(message, /admission webhook "([^"]+)"/)
  const who =
    policy !== undefined ? `the policy ${policy}` : webhook !== undefined ? `the webhook ${webhook}` : 'the policy'
  const wish = namedIn(message, /denied (?:the )?request(?: because)?: (.+?)\.?$/s)
  return `Change the pod template so that ${who} accepts it${wish === undefined ? '' : `: ${wish}`}.`
}

/** Anything else that keeps a controller from creating pods. */
export function creationHint(facts: HintFacts<TextDetail>): string {
  const message = facts.problem?.detail.text ?? ''
  const priority = namedIn(message, /no PriorityClass with name (\S+) was found/)
  if (priority !== undefined)
    return `Create PriorityClass ${priority}, or correct priorityClassName. ${clusterCommand('get', 'priorityclass')} lists what is there.`
  if (/ is invalid: /.test(message))
    return 'Correct the field of the pod template that the message names, and apply again.'
  return `The API server refuses the pods, and its message says why. ${describedPod(facts)} shows how often.`
}
/** A deadline says nothing of why: what a pod waits for does. */
function deadlineHint(facts: HintFacts<TextDetail>): string {
  const { progressDeadlineSeconds = 600 } = (facts.object?.spec ?? {}) as { progressDeadlineSeconds?: number }
  const now = facts.object === undefined ? '' : ` (now ${progressDeadlineSeconds})`
  const why = facts.cause?.hint ?? `Its pods' events say what they wait for: ${described(facts)}.`
  return `${why} If it only needs longer, raise progressDeadlineSeconds${now}.`
}
