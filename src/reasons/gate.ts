import { finalizerAdvice } from './pods.ts'
import { type HintFacts, predicate, type ReasonFamily } from './spec.ts'
import { clusterCommand, command, described, inNamespace, nameOf, type TextDetail, textSentence } from './wording.ts'
import { type Refusal, refusalSentence } from './workloads.ts'

export interface GateDetails {
  readonly 'no-progress': TextDetail
  readonly 'still-running': TextDetail
  readonly 'not-found': TextDetail
  readonly deleted: TextDetail
  /** An object that is being deleted, or the refusal of pods in a namespace that is. */
  readonly terminating: { readonly finalizers: readonly string[] } | Refusal
  readonly superseded: TextDetail
  readonly 'rolled-back': TextDetail
  readonly 'change-not-seen': TextDetail
  readonly 'credentials-expired': TextDetail
  readonly forbidden: TextDetail
  readonly 'api-unreachable': TextDetail
  readonly 'kind-unknown': TextDetail
  readonly 'input-invalid': TextDetail
  readonly cancelled: TextDetail
}

export const gateReasons: ReasonFamily<GateDetails> = {
  'no-progress': {
    class: 'clock',
    when: 'nothing moved for the stall timeout, and nothing is known to be wrong',
    title: 'no progress',
    sentence: textSentence,
    hint: (s) =>
      `${s.target.kind === 'Job' ? `See what it does: ${command(s, 'logs', nameOf(s))}` : `See its events: ${described(s)}`}. If it only needs longer, raise stall-timeout.`,
  },
  'still-running': {
    class: 'clock',
    when: 'the time was up, and nothing is known to be wrong',
    title: 'not finished in time',
    sentence: textSentence,
    hint: (s) => `See where it stands: ${described(s)}. If it only needs longer, raise the timeout.`,
  },
  'not-found': {
    class: 'clock',
    when: 'it did not exist when the time for `created` was up',
    title: 'not found in the cluster',
    sentence: textSentence,
    hint: absentHint,
    readsNamespace: true,
  },
  deleted: {
    class: 'clock',
    when: 'it was deleted, and did not come back within 5 s',
    title: 'deleted during the rollout',
    sentence: textSentence,
    hint: (s) =>
      s.namespaceState === undefined
        ? `Find out who deletes ${nameOf(s)} (another job, a clean-up, a GitOps controller that does not know it), then apply it again.`
        : `Namespace ${s.target.namespace} ${s.namespaceState === 'missing' ? 'was' : 'is being'} deleted, with everything in it. Find out who deletes it, create it again once it is gone, then apply ${nameOf(s)} again.`,
    readsNamespace: true,
  },
  terminating: {
    class: 'slow',
    when: 'it is being deleted',
    title: 'being deleted',
    sentence: ({ detail, ...problem }) => {
      if ('message' in detail) return refusalSentence({ ...problem, detail })
      const waits =
        detail.finalizers.length === 0 ? '' : ` and waits for its finalizers: ${detail.finalizers.join(', ')}`
      return predicate(`is being deleted${waits}`)
    },
    hint: (s) => {
      const { namespace } = s.target
      const around =
        namespace === undefined
          ? ''
          : ` If its whole namespace is being deleted (${clusterCommand('get', 'namespace', namespace)}), nothing can be applied there until that is gone.`
      const detail = s.problem?.detail
      const finalizers = detail !== undefined && 'finalizers' in detail ? detail.finalizers : []
      const held = finalizers.length === 0 ? '' : ` ${finalizerAdvice(s, nameOf(s), finalizers)}`
      return `Wait until ${nameOf(s)} is gone, then apply it again.${held}${around}`
    },
  },
  superseded: {
    class: 'identity',
    when: 'its template was changed by somebody else during the wait',
    title: 'replaced by a newer change',
    sentence: textSentence,
    hint: () =>
      'Nothing, if the newer change is meant: the run that applied it tells how it went. If it is not, apply this one again.',
  },
  'rolled-back': {
    class: 'identity',
    when: 'its template was changed to that of an older revision during the wait',
    title: 'rolled back',
    sentence: textSentence,
    hint: (s) =>
      `Find out who rolled back and why before you apply it again: ${command(s, 'rollout', 'history', nameOf(s))}.`,
  },
  'change-not-seen': {
    class: 'clock',
    when: 'the change did not arrive within `await-change`',
    title: 'the change never arrived',
    sentence: textSentence,
    hint: (s) =>
      `Check that the change was applied, to this cluster${inNamespace(s).replace(' in', ' and')}, or raise await-change if it only comes later.`,
    readsNamespace: true,
  },
  'credentials-expired': {
    class: 'api',
    when: 'the API server refused the credentials again after they were read again',
    title: 'the cluster refused the credentials',
    sentence: textSentence,
    hint: () =>
      'Renew the credentials in the kubeconfig; short-lived ones have to be fetched in this job. The rollout itself may be fine: look before you roll back.',
  },
  forbidden: {
    class: 'api',
    when: 'the credentials may not read the target',
    title: 'access denied by the cluster',
    sentence: textSentence,
    hint: ({ gateMessage = '' }) => accessHint(gateMessage),
  },
  'api-unreachable': {
    class: 'api',
    when: 'the API server did not answer',
    title: 'the cluster could not be reached',
    sentence: textSentence,
    hint: () =>
      'Check the network between this runner and the API server. The rollout itself may be fine: look before you roll back.',
  },
  'kind-unknown': {
    class: 'input',
    when: 'the server knows no such kind',
    title: 'the cluster does not know this kind',
    sentence: textSentence,
    hint: () => 'Correct the kind, or install the CustomResourceDefinition that defines it.',
  },
  'input-invalid': {
    class: 'input',
    when: 'an input is wrong',
    title: 'mistake in the inputs',
    sentence: textSentence,
    hint: () => 'Correct the inputs that the message names.',
  },
  cancelled: {
    class: 'input',
    when: 'the job was cancelled',
    title: 'cancelled',
    sentence: textSentence,
    hint: () =>
      'The rollout itself was not cancelled: what was not ready may still become so. Run the job again to know.',
  },
}
/** What is missing where a target is not found: a match for its selector, or the object of that name. */
function absentHint(facts: HintFacts<TextDetail>): string {
  const { kind, selector, namespace } = facts.target
  const word = kind.toLowerCase()
  if (selector)
    return `Correct the selector, or the labels of what was applied. ${command(facts, 'get', word, '--show-labels')} lists what is there.`
  const list = command(facts, 'get', word)
  if (facts.hasEnded)
    return `A Job of this name ended before the gate began, and was removed. Raise its ttlSecondsAfterFinished, so that the gate sees how it ends. ${list} lists what is there.`
  const place = inNamespace(facts).replace(' in', ' and in')
  const question = selector === '' ? `Was any ${kind} applied,${place}?` : `Was it applied, under this name${place}?`
  const other =
    namespace === undefined ? '' : ' For another namespace, set the input `namespace`, or write -n after the reference.'
  return `${question} ${list} lists what is there.${other}`
}
/** The words of the RBAC authoriser (apiserver `endpoints/handlers/responsewriters/errors.go`); others put more behind them. */
const refusal =
  /User "([^"]+)" cannot (?:[a-z]+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?/

/**
 * Who needs which rights on what, by the server's own words, and how to see that he has them.
 * @param said what the server answered
 */
export function accessHint(said: string): string {
  // What could be read before may go on well unseen.
  const care = /may no longer be read/.test(said) ? ' The rollout itself may be fine: look before you roll back.' : ''
  const [, user, resource, group, namespace] = refusal.exec(said) ?? []
  if (user === undefined || resource === undefined)
    return `Give the kubeconfig’s user get, list and watch on what is gated; SECURITY.md of Rollout Gate has the Role to apply.${care}`
  const what = group === undefined || group === '' ? resource : `${resource}.${group}`
  const [where, role, scope] =
    namespace === undefined
      ? ['in the whole cluster', 'ClusterRole', []]
      : [`in namespace ${namespace}`, 'Role', ['-n', namespace]]
  // Of these nothing but their being there is gated; nobody should be given Secrets to read for that.
  const way = /^(?:secrets|configmaps|namespaces)$/.test(what) ? ` Or leave them out: a line \`!${what} --all\`.` : ''
  const check = clusterCommand('auth', 'can-i', 'list', what, ...scope, '--as', user)
  return `Give user ${user} get, list and watch on ${what} ${where}, by a ${role} and its binding (SECURITY.md of Rollout Gate has them to apply). ${check} says yes once that is done.${way}${care}`
}
