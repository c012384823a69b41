import { clockText, duration } from '../duration.ts'
import { finalizerAdvice } from './pods.ts'
import { clause, type HintWords, type NoDetail, type ReasonFamily, type Sentence } from './spec.ts'
import { describeGrants, ifPresent } from './wording.ts'
import { type Refusal, refusalSentence } from './workloads.ts'

/* The reason codes of deadlines, other changes, access and input, such as `no-progress`: class, sentences, hint. */

/** A later change of the pod template, which replaced the gated change. */
interface TemplateChange {
  readonly author?: string
  /** The object was deleted, and created again with another template. */
  readonly isRecreated: boolean
}

/** The operator deployed a revision that is not the awaited one. */
export interface RevisionChange {
  readonly operator: 'Argo CD' | 'Flux'
  readonly wanted: string
  readonly current: string
  /** When the current revision was deployed, as the operator wrote it. */
  readonly since?: string | undefined
}

export interface GateDetails {
  /** `state`: what the target waits for. */
  readonly 'no-progress': { readonly stallTimeoutMs: number; readonly state: string }
  /** `milestone`: the milestone whose timeout passed; absent for a timeout of the target or the gate. */
  readonly 'still-running': { readonly timeoutMs: number; readonly milestone?: string; readonly state: string }
  /** `timeoutMs`: the timeout of the milestone `created`. `hook`: the annotation that makes the object a hook. */
  readonly 'not-found': { readonly isSelector?: boolean; readonly timeoutMs?: number; readonly hook?: string }
  readonly deleted: NoDetail
  /** The finalizers of a deleted object, or a refusal to create pods in a namespace that is being deleted. */
  readonly terminating: { readonly finalizers: readonly string[] } | Refusal
  /** `differences`: how the present pod template differs from the gated template. */
  readonly superseded: (TemplateChange & { readonly differences: readonly string[] }) | RevisionChange
  /** `revision`: the number of the older revision whose pod template the object has again. */
  readonly 'rolled-back': (TemplateChange & { readonly revision?: number }) | RevisionChange
  /** `cause`: if images are expected, which other image runs. */
  readonly 'change-not-seen': { readonly awaitChangeMs: number; readonly cause?: string | undefined }
  /** The operator has not deployed the awaited revision. */
  readonly 'wrong-revision': {
    readonly operator: 'Argo CD' | 'Flux'
    readonly wanted: string
    /** The deployed revision; absent if none is deployed. */
    readonly current?: string
    /** When `current` was deployed, as the operator wrote it. */
    readonly since?: string | undefined
    /** The operator's report why it deploys nothing. */
    readonly complaint?: string | undefined
    /** How often the operator looks for a new revision. */
    readonly intervalMs?: number | undefined
  }
  /** `ageMs`: the age of the present version at the gate's start. `applied`: what kubectl printed about the object. */
  readonly 'not-changed': {
    readonly ageMs: number
    readonly requiredMs: number
    readonly applied?: string | undefined
  }
  readonly 'credentials-expired': { readonly message: string }
  /** `wasReadable`: the target could be read before; `isAsked`: pods may no longer be asked (`http-checks`). */
  readonly forbidden: {
    readonly name: string
    readonly isAsked?: boolean | undefined
    readonly wasReadable: boolean
    readonly message: string
  }
  /** `outage`: which API did not answer, and for how long. */
  readonly 'api-unreachable': { readonly outage: string; readonly message?: string }
  readonly 'kind-unknown': NoDetail
  readonly 'input-invalid': NoDetail
  /** `isPattern`: the path has wildcards, and nothing matches. */
  readonly 'report-missing': {
    readonly path: string
    readonly isPattern: boolean
    /** Whether the file is the report of another run or commit. */
    readonly isForeign: boolean
  }
  readonly cancelled: NoDetail
}

export const gateReasons: ReasonFamily<GateDetails> = {
  'no-progress': {
    class: 'clock',
    hasNoProblem: true,
    title: 'no progress',
    sentence: ({ stallTimeoutMs, state }) => `made no progress for ${duration(stallTimeoutMs)}: ${state}`,
    hint: (_, { target, problem, name, command, describePod, setting }) =>
      `${target.kind === 'Job' && problem === undefined ? `Read its log: ${command('logs', name)}` : `See its events: ${describePod}`}. If it only needs longer, raise ${setting('stall-timeout')}.`,
  },
  'still-running': {
    class: 'clock',
    hasNoProblem: true,
    title: 'not finished in time',
    sentence: ({ timeoutMs, milestone, state }) =>
      milestone === undefined
        ? `was not ready after ${duration(timeoutMs)}: ${state}`
        : `did not reach "${milestone}" in ${duration(timeoutMs)}: ${state}`,
    hint: (_, { usesFlags, describePod }) =>
      `See its state: ${describePod}. If it only needs longer, raise ${usesFlags ? '--timeout' : 'the timeout'}.`,
  },
  'not-found': {
    class: 'clock',
    title: 'not found in the cluster',
    sentence: ({ isSelector, timeoutMs, hook }) => {
      if (isSelector) return 'matches nothing'
      const after = timeoutMs === undefined ? '' : `, ${duration(timeoutMs)} after the gate began`
      return `does not exist${after}${ifPresent`: it is a hook (${hook})`}`
    },
    hint: (_, words) => notFoundHint(words),
  },
  deleted: {
    class: 'clock',
    title: 'deleted during the rollout',
    sentence: () => 'was deleted during the wait',
    hint: (_, words) => deletedHint(words),
  },
  terminating: {
    class: 'slow',
    awaits: 'deletion',
    title: 'being deleted',
    sentence: (detail) =>
      'message' in detail
        ? refusalSentence(detail)
        : `is being deleted${ifPresent` and waits for its finalizers: ${detail.finalizers.join(', ')}`}`,
    hint: (detail, words) => {
      const { name } = words
      if ('message' in detail)
        return 'Wait until the namespace is gone. Find out who deletes it, create it again, then apply again.'
      const { finalizers = [] } = 'finalizers' in detail ? detail : {}
      const held = finalizers.length === 0 ? '' : ` ${finalizerAdvice(words, name, finalizers)}`
      return `Wait until ${name} is gone, then apply it again.${held}`
    },
  },
  superseded: {
    class: 'identity',
    mayPass: true,
    title: 'replaced by a newer change',
    sentence: (detail) => {
      if ('operator' in detail) return otherRevisionSentence(detail, 'a newer revision')
      const { author, differences } = detail
      const [difference, ...others] = differences
      const more = others.length === 0 ? '' : `, and ${others.length} more`
      const what = difference === undefined ? '' : `: ${difference}${more}`
      return clause(
        `another change${ifPresent` by ${author}`} replaced the one being gated${recreationText(detail)}${what}`,
      )
    },
    hint: () =>
      'If the newer change is intended, do nothing: the run that applied it has its result. If not, apply this change again.',
  },
  'rolled-back': {
    class: 'identity',
    title: 'rolled back',
    sentence: (detail) => {
      if ('operator' in detail) return otherRevisionSentence(detail, 'an older revision')
      const revision = ifPresent`revision ${detail.revision}` || 'an older revision'
      return `was rolled back to ${revision} during the wait${ifPresent` by ${detail.author}`}${recreationText(detail)}`
    },
    hint: (_, words) => {
      const template = operatorCommands[words.target.kind]?.history
      const history = words.operatorCommand(template) ?? words.command('rollout', 'history', words.name)
      return `Find out who rolled back and why before you apply it again: ${history}.`
    },
  },
  'change-not-seen': {
    class: 'clock',
    awaits: 'change',
    title: 'the change never arrived',
    sentence: ({ awaitChangeMs, cause }) =>
      clause(`its change did not arrive in ${duration(awaitChangeMs)}${ifPresent`: ${cause}`}`),
    hint: (_, { target: { namespace, manifest }, usesFlags, setting }) => {
      const named = usesFlags ? 'name its manifests with -f' : 'name its `manifests`'
      // Without a manifest, the gate recognises the change only by a write after its start.
      const before =
        manifest === undefined
          ? ` It may have come before the gate began: start the gate before the apply, or ${named}, by which the gate sees it whenever it came.`
          : ''
      return `Check that the change was applied, to this cluster${ifPresent` and namespace ${namespace}`}, or raise ${setting('await-change')} if it arrives later.${before}`
    },
  },
  'wrong-revision': {
    class: 'slow',
    awaits: 'change',
    isAnonymous: true,
    title: 'another revision is deployed',
    headline: ({ operator, wanted }) => `${operator} has not deployed ${wanted}`,
    sentence: ({ operator, wanted, current, since, complaint }) => {
      const is =
        current === undefined
          ? `${operator} has deployed no revision yet; ${wanted} is awaited`
          : `${operator} is at ${current}${clockText(since)}, not at ${wanted}`
      return clause(`${is}${ifPresent`: ${complaint}`}`)
    },
    hint: ({ operator = 'Its operator', intervalMs }, { target, operatorCommand }) => {
      const every =
        intervalMs === undefined
          ? 'looks for new revisions at the interval of the source'
          : `polls every ${duration(intervalMs)}`
      const sync = operatorCommand(operatorCommands[target.kind]?.sync)
      return `${operator} ${every}: ${ifPresent`run ${sync}, or `}add a webhook. Check that the revision is pushed, and that it is what the object follows.`
    },
  },
  'not-changed': {
    class: 'identity',
    title: 'nothing was deployed',
    sentence: ({ ageMs, requiredMs, applied }) =>
      `has been unchanged for ${duration(ageMs)}, and require-change is ${duration(requiredMs)}${ifPresent`; kubectl reported it as ${applied}`}`,
    hint: (_, { target: { namespace }, name, command, setting }) => {
      const place = namespace === undefined ? 'context' : `context, and to namespace ${namespace}`
      return `Look at these: was the image built, under a tag that was not applied before? The same tag or digest makes no new version: ${command('get', name, '-o', 'wide')} shows what runs. Did the apply go to this ${place}? Does a tool apply it later (Argo CD, Flux, an image updater)? Then set ${setting('await-change')}. Was only a ConfigMap, a label or the number of replicas changed? That restarts no pod.`
    },
  },
  'credentials-expired': {
    class: 'api',
    title: 'the cluster refused the credentials',
    sentence: ({ message }) => clause(`the API server refuses the credentials${ifPresent`: ${message}`}`),
    hint: () => `Renew the credentials in the kubeconfig. Fetch short-lived ones in this job. ${rolloutMayBeFine}`,
  },
  forbidden: {
    class: 'api',
    title: 'access denied by the cluster',
    sentence: ({ name, isAsked, wasReadable, message }) =>
      clause(
        isAsked
          ? `requests to pods are no longer permitted: ${message}`
          : `${name} cannot be read${wasReadable ? ' any more' : ''}: ${message}`,
      ),
    hint: (_, words) => accessHint(words),
  },
  'api-unreachable': {
    class: 'api',
    title: 'the cluster could not be reached',
    sentence: ({ outage, message }) => clause(`${outage}${ifPresent`: ${message}`}`),
    hint: (_, { unreadable }) =>
      `${
        unreadable === undefined
          ? 'Check the network between this runner and the API server, and the health of the API server.'
          : `The API server answers, but cannot read ${unreadable}: check the conversion webhook of their CustomResourceDefinition, or the server of their APIService.`
      } ${rolloutMayBeFine}`,
  },
  'kind-unknown': {
    class: 'input',
    title: 'the cluster has no such kind',
    sentence: () => clause('the cluster has no such kind'),
    hint: () => 'Correct the kind, or install the CustomResourceDefinition that defines it.',
  },
  'input-invalid': {
    class: 'input',
    title: 'mistake in the inputs',
    sentence: () => clause('an input is wrong'),
    hint: () => 'Correct the inputs that the message names.',
  },
  'report-missing': {
    class: 'api',
    title: 'did not run',
    sentence: ({ path, isPattern, isForeign }) => {
      if (path === '') return clause('the path of its report is empty')
      if (isForeign) return clause(`the report ${path} is of another run or commit`)
      return clause(isPattern ? `no report matches ${path}` : `there is no report ${path}`)
    },
    hint: () =>
      'Open the job that writes this report: it did not run, or ended before its gate. Upload the report with `if: always()`, and compare its path with the one in `reports`.',
  },
  cancelled: {
    class: 'input',
    title: 'cancelled',
    sentence: () => clause('the wait was cancelled'),
    hint: () => 'Only the wait was cancelled: the rollout itself continues. Wait again to find out how it ends.',
  },
}

/** `: Argo CD is at a1b2c3d since 12:03, a newer revision than d4e5f6a`. */
function otherRevisionSentence({ operator, wanted, current, since }: RevisionChange, what: string): Sentence {
  return clause(`${operator} is at ${current}${clockText(since)}, ${what} than ${wanted}`)
}

/** Commands of operators and Helm. The keys are kinds. */
const operatorCommands: Readonly<Record<string, { readonly sync?: string; readonly history: string }>> = {
  Application: { sync: 'argocd app sync {namespace}/{name}', history: 'argocd app history {namespace}/{name}' },
  Kustomization: {
    sync: 'flux reconcile kustomization {name} -n {namespace} --with-source',
    history: 'flux events --for Kustomization/{name} -n {namespace}',
  },
  HelmRelease: {
    sync: 'flux reconcile helmrelease {name} -n {namespace} --with-source',
    history: 'helm history {name} -n {namespace}',
  },
  Helm: { history: 'helm history {release} -n {namespace}' },
}

const rolloutMayBeFine = 'The rollout itself may be fine: look before you roll back.'

function recreationText({ isRecreated }: TemplateChange): string {
  return isRecreated ? ' (deleted and created again)' : ''
}

/** Hint for a selector without a match, or a name without an object. */
function notFoundHint({ target, hasEnded, command, operatorCommand }: HintWords): string {
  const { kind, selector, name, namespace, hook } = target
  const word = kind.toLowerCase()
  if (selector !== undefined && name !== '')
    return `Is this the name of the Helm release, and ${namespace} its namespace? ${operatorCommand('helm list -n {namespace}')} lists the releases. Hooks and what a chart has in crds/ are not gated.`
  if (selector)
    return `Correct the selector, or the labels of what was applied. ${command('get', word, '--show-labels')} lists what is there.`
  const list = command('get', word)
  if (hasEnded)
    return `A Job of this name ended before the gate began, and was removed. Raise its ttlSecondsAfterFinished, so that the gate sees how it ends. ${list} lists what is there.`
  if (hook !== undefined) {
    const render = hook.annotation.startsWith('helm.sh/') ? ' (helm template --no-hooks)' : ''
    return `Its tool creates a hook only when it runs it. Leave hooks out of the manifests${render}, or give this one the annotation rollout-gate/skip: "true". ${list} lists what is there.`
  }
  const place = ifPresent` and in namespace ${namespace}`
  const question = selector === '' ? `Was any ${kind} applied,${place}?` : `Was it applied, under this name${place}?`
  const other = namespace === undefined ? '' : ' For another namespace, write -n after the reference.'
  return `${question} ${list} lists what is there.${other}`
}

function deletedHint({ target, name }: HintWords): string {
  // The ownerReferences of the deleted pod are not known here, so it may have no workload.
  const rollout =
    target.kind === 'Pod'
      ? 'A rollout replaces the pods of a workload: gate the workload, not its pods. Else find'
      : 'Find'
  return `${rollout} out who deletes ${name} (another job, a clean-up, a GitOps controller), then apply it again.`
}

/** Objects of these kinds only need to exist, so the user can exclude them instead of granting access. */
const excludableKinds: readonly string[] = ['secrets', 'configmaps', 'namespaces']

/** Hint for missing access: the commands that grant it. */
function accessHint({ denied }: HintWords): string {
  // If the target could be read before, it may be ready.
  const care = denied?.wasReadable ? ` ${rolloutMayBeFine}` : ''
  const { access = [] } = denied ?? {}
  if (access.length === 0)
    return `Give the kubeconfig’s user get, list and watch on what is gated; examples/role.yaml of Rollout Gate has the Role to apply.${care}`
  const excludable = excludableKinds.filter((kind) =>
    access.some(({ resource, group }) => group === '' && resource === kind),
  )
  const lines = excludable.map((kind) => `\`!${kind} --all\``)
  const way = lines.length === 0 ? '' : ` Or exclude them: a line ${lines.join(' and a line ')}.`
  return `${describeGrants(access)}${way}${care}`
}
