import { isAbsolute, posix } from 'node:path'
import { clockText, duration } from '../duration.ts'
import { deletedMs } from '../thresholds.ts'
import { describeGrants } from './access.ts'
import { finalizerAdvice } from './pods.ts'
import { clause, type HintFacts, predicate, type ReasonFamily, type Sentence } from './spec.ts'
import { clusterCommand, command, describePod, filledCommand, nameOf, setting } from './wording.ts'
import { type Refusal, refusalSentence } from './workloads.ts'

/** The detail of a reason whose sentence needs no facts. */
type NoDetail = Readonly<Record<string, never>>

/** Who changed the pod template, and the generations of the object before and after the change. */
interface TemplateChange {
  readonly author?: string
  /** The object was deleted, and created again with the other template. */
  readonly isRecreated: boolean
  readonly fromGeneration?: number
  readonly toGeneration?: number
}

/** An operator deployed another revision than the awaited one. */
export interface RevisionChange {
  readonly operator: 'Argo CD' | 'Flux'
  readonly wanted: string
  readonly current: string
  /** When the present one was deployed, as the operator wrote it. */
  readonly since?: string | undefined
}

export interface GateDetails {
  /** `state`: what the target waits for, as text. */
  readonly 'no-progress': { readonly stallTimeoutMs: number; readonly state: string }
  /** `milestone`: the milestone whose own timeout passed. */
  readonly 'still-running': { readonly timeoutMs: number; readonly milestone?: string; readonly state: string }
  /** `timeoutMs`: the timeout of the milestone `created`. `hook`: the annotation that makes it a hook. */
  readonly 'not-found': { readonly isSelector?: boolean; readonly timeoutMs?: number; readonly hook?: string }
  readonly deleted: NoDetail
  /** The finalizers of a deleted object, or a refusal to create pods in a namespace that is being deleted. */
  readonly terminating: { readonly finalizers: readonly string[] } | Refusal
  /** `differences`: between the two templates. */
  readonly superseded: (TemplateChange & { readonly differences: readonly string[] }) | RevisionChange
  /** `revision`: the number of the older revision whose template the object has again. */
  readonly 'rolled-back': (TemplateChange & { readonly revision?: number }) | RevisionChange
  /** `cause`: which other image runs, if one was expected. */
  readonly 'change-not-seen': { readonly awaitChangeMs: number; readonly cause?: string | undefined }
  /** The operator of the target has not deployed the revision that the user awaits. Durations in milliseconds. */
  readonly 'wrong-revision': {
    readonly operator: 'Argo CD' | 'Flux'
    readonly wanted: string
    /** What is deployed, since when as the operator wrote it, and how long before the gate began (negative: after). */
    readonly current?: string
    readonly since?: string | undefined
    readonly beforeStartMs?: number
    /** What the operator reports about it. */
    readonly complaint?: string | undefined
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
  /** `outage`: what did not answer, and for how long. */
  readonly 'api-unreachable': { readonly outage: string; readonly message?: string }
  readonly 'kind-unknown': NoDetail
  readonly 'input-invalid': NoDetail
  /** `isPattern`: the path has wildcards, and nothing matches. */
  readonly 'report-missing': {
    readonly path: string
    readonly isPattern: boolean
    /** The file is the report of another run or commit; `found` is absent if it names none. */
    readonly foreign?: { readonly found?: RunOfReport; readonly expected: RunOfReport } | undefined
  }
  readonly cancelled: NoDetail
}

interface RunOfReport {
  readonly id: string
  readonly commit: string
}

export const gateReasons: ReasonFamily<GateDetails> = {
  'no-progress': {
    class: 'clock',
    hasNoProblem: true,
    when: 'nothing moved for the stall timeout, and no problem is known',
    title: 'no progress',
    sentence: ({ detail: { stallTimeoutMs, state } }) =>
      predicate(`made no progress for ${duration(stallTimeoutMs)}: ${state}`),
    hint: (facts) =>
      `${facts.target.kind === 'Job' && facts.problem === undefined ? `Read its log: ${command(facts, 'logs', nameOf(facts))}` : `See its events: ${describePod(facts)}`}. If it only needs longer, raise ${setting(facts, 'stall-timeout')}.`,
  },
  'still-running': {
    class: 'clock',
    hasNoProblem: true,
    when: 'the time was up, and no problem is known',
    title: 'not finished in time',
    sentence: ({ detail: { timeoutMs, milestone, state } }) =>
      predicate(
        milestone === undefined
          ? `was not ready after ${duration(timeoutMs)}: ${state}`
          : `did not reach "${milestone}" in ${duration(timeoutMs)}: ${state}`,
      ),
    hint: (facts) =>
      `See its state: ${describePod(facts)}. If it only needs longer, raise ${facts.usesFlags ? '--timeout' : 'the timeout'}.`,
  },
  'not-found': {
    class: 'clock',
    when: 'it did not exist when the time for `created` was up',
    title: 'not found in the cluster',
    sentence: ({ detail: { isSelector, timeoutMs, hook } }) => {
      if (isSelector) return predicate('matches nothing')
      const after = timeoutMs === undefined ? '' : `, ${duration(timeoutMs)} after the gate began`
      const role = hook === undefined ? '' : `: it is a hook (${hook})`
      return predicate(`does not exist${after}${role}`)
    },
    hint: notFoundHint,
    evidence: ['namespace'],
  },
  deleted: {
    class: 'clock',
    isOver: true,
    when: `it was deleted, and did not come back within ${duration(deletedMs)}`,
    title: 'deleted during the rollout',
    sentence: () => predicate('was deleted during the wait'),
    hint: deletedHint,
    evidence: ['namespace'],
  },
  terminating: {
    class: 'slow',
    awaits: 'deletion',
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
          : s.namespaceState === 'terminating'
            ? ` Its namespace ${namespace} is being deleted: nothing can be applied there until that is gone.`
            : ` If its whole namespace is being deleted (${clusterCommand('get', 'namespace', namespace)}), nothing can be applied there until that is gone.`
      const detail = s.problem?.detail
      const finalizers = detail !== undefined && 'finalizers' in detail ? detail.finalizers : []
      const held = finalizers.length === 0 ? '' : ` ${finalizerAdvice(s, nameOf(s), finalizers)}`
      return `Wait until ${nameOf(s)} is gone, then apply it again.${held}${around}`
    },
    evidence: ['namespace'],
  },
  superseded: {
    class: 'identity',
    mayPass: true,
    when: 'its template was changed by somebody else during the wait',
    title: 'replaced by a newer change',
    sentence: ({ detail }) => {
      if ('operator' in detail) return otherRevision(detail, 'a newer revision')
      const [difference, ...others] = detail.differences
      const more = others.length === 0 ? '' : `, and ${others.length} more`
      const what = difference === undefined ? '' : `: ${difference}${more}`
      return clause(`another change${byAuthor(detail)} replaced the one being gated${generations(detail)}${what}`)
    },
    hint: () =>
      'If the newer change is intended, do nothing: the run that applied it has its result. If not, apply this change again.',
  },
  'rolled-back': {
    class: 'identity',
    when: 'its template was changed to that of an older revision during the wait',
    title: 'rolled back',
    sentence: ({ detail }) => {
      if ('operator' in detail) return otherRevision(detail, 'an older revision')
      const revision = detail.revision === undefined ? 'an older revision' : `revision ${detail.revision}`
      return predicate(`was rolled back to ${revision} during the wait${byAuthor(detail)}${generations(detail)}`)
    },
    hint: (facts) => {
      const history = operatorCommand(facts, 'history') ?? command(facts, 'rollout', 'history', nameOf(facts))
      return `Find out who rolled back and why before you apply it again: ${history}.`
    },
  },
  'change-not-seen': {
    class: 'clock',
    awaits: 'change',
    when: 'the change did not arrive within `await-change`',
    title: 'the change never arrived',
    sentence: ({ detail: { awaitChangeMs, cause } }) =>
      clause(`its change did not arrive in ${duration(awaitChangeMs)}${cause === undefined ? '' : `: ${cause}`}`),
    hint: (facts) => {
      const { namespace, manifest } = facts.target
      const named = facts.usesFlags ? 'name its manifests with -f' : 'name its `manifests`'
      const place = namespace === undefined ? '' : ` and namespace ${namespace}`
      // Without a manifest, only a write after the start shows it.
      const before =
        manifest === undefined
          ? ` It may have come before the gate began: start the gate before the apply, or ${named}, by which the gate sees it whenever it came.`
          : ''
      return `Check that the change was applied, to this cluster${place}, or raise ${setting(facts, 'await-change')} if it arrives later.${before}`
    },
    evidence: ['namespace'],
  },
  'wrong-revision': {
    class: 'slow',
    awaits: 'change',
    isAnonymous: true,
    when: 'Argo CD or Flux has not deployed the revision of `--revision`',
    title: 'another revision is deployed',
    headline: ({ detail: { operator, wanted } }) => `${operator} has not deployed ${wanted}`,
    sentence: ({ detail }) => {
      const { operator, wanted, current, complaint } = detail
      const is =
        current === undefined
          ? `${operator} has deployed no revision yet; ${wanted} is awaited`
          : `${operator} is at ${current}${sinceText(detail)}, not at ${wanted}`
      return clause(`${is}${complaint === undefined ? '' : `: ${complaint}`}`)
    },
    hint: (facts) => {
      const { operator = 'Its operator', intervalMs } = facts.problem?.detail ?? {}
      const every =
        intervalMs === undefined
          ? 'looks for new revisions at the interval of the source'
          : `polls every ${duration(intervalMs)}`
      const sync = operatorCommand(facts, 'sync')
      const source = operatorCommand(facts, 'source')
      return `${operator} ${every}: ${sync === undefined ? '' : `run ${sync}, or `}add a webhook. Check that the revision is pushed, and that it is what the object follows.${source === undefined ? '' : ` ${source} shows whether Flux can fetch it.`}`
    },
  },
  'not-changed': {
    class: 'identity',
    isOver: true,
    when: 'its present version is older than `require-change`',
    title: 'nothing was deployed',
    sentence: ({ detail: { ageMs, requiredMs, applied } }) => {
      const word = applied === undefined ? '' : `; kubectl reported it as ${applied}`
      return predicate(
        `has been unchanged for ${duration(ageMs)}, and require-change is ${duration(requiredMs)}${word}`,
      )
    },
    hint: (facts) => {
      const { namespace } = facts.target
      const place = namespace === undefined ? 'context' : `context, and to namespace ${namespace}`
      return `Look at these: was the image built, under a tag that was not applied before? The same tag or digest makes no new version: ${command(facts, 'get', nameOf(facts), '-o', 'wide')} shows what runs. Did the apply go to this ${place}? Does a tool apply it later (Argo CD, Flux, an image updater)? Then set ${setting(facts, 'await-change')}. Was only a ConfigMap, a label or the number of replicas changed? That restarts no pod.`
    },
  },
  'credentials-expired': {
    class: 'api',
    when: 'the API server refused the credentials, also after they were read again',
    title: 'the cluster refused the credentials',
    sentence: ({ detail: { message } }) => clause(joined('the API server refuses the credentials', message)),
    hint: () => `Renew the credentials in the kubeconfig. Fetch short-lived ones in this job. ${rolloutMayBeFine}`,
  },
  forbidden: {
    class: 'api',
    evidence: ['access'],
    when: 'the credentials do not permit reading the resource',
    title: 'access denied by the cluster',
    sentence: ({ detail: { name, isAsked, wasReadable, message } }) =>
      clause(
        isAsked
          ? `requests to pods are no longer permitted: ${message}`
          : `${name} cannot be read${wasReadable ? ' any more' : ''}: ${message}`,
      ),
    hint: accessHint,
  },
  'api-unreachable': {
    class: 'api',
    when: 'the API server did not answer',
    title: 'the cluster could not be reached',
    sentence: ({ detail: { outage, message = '' } }) => clause(joined(outage, message)),
    hint: ({ unreadable }) =>
      `${
        unreadable === undefined
          ? 'Check the network between this runner and the API server, and the health of the API server.'
          : `The API server answers, but cannot read ${unreadable}: check the conversion webhook of their CustomResourceDefinition, or the server of their APIService.`
      } ${rolloutMayBeFine}`,
  },
  'kind-unknown': {
    class: 'input',
    when: 'the server has no such kind',
    title: 'the cluster has no such kind',
    sentence: () => clause('the cluster has no such kind'),
    hint: () => 'Correct the kind, or install the CustomResourceDefinition that defines it.',
  },
  'input-invalid': {
    class: 'input',
    when: 'an input is wrong',
    title: 'mistake in the inputs',
    sentence: () => clause('an input is wrong'),
    hint: () => 'Correct the inputs that the message names.',
  },
  'report-missing': {
    class: 'api',
    when: 'a report that is to be merged does not exist',
    title: 'did not run',
    sentence: ({ detail: { path, isPattern, foreign } }) =>
      clause(foreign === undefined ? missingReport(path, isPattern) : foreignReport(path, foreign)),
    hint: () =>
      'Open the job that writes this report: it did not run, or ended before its gate. Upload the report with `if: always()`, and compare its path with the one in `reports`.',
  },
  cancelled: {
    class: 'input',
    when: 'the job or the command was cancelled',
    title: 'cancelled',
    sentence: () => clause('the wait was cancelled'),
    hint: () => 'Only the wait was cancelled: the rollout itself continues. Wait again to find out how it ends.',
  },
}

/** `: Argo CD is at a1b2c3d since 12:03, a newer revision than d4e5f6a`. */
function otherRevision({ operator, wanted, current, since }: RevisionChange, what: string): Sentence {
  return clause(`${operator} is at ${current}${clockText(since)}, ${what} than ${wanted}`)
}

/** ` since 12:03 UTC, 3 m before the gate began`; empty if it is unknown. */
function sinceText({ since, beforeStartMs }: GateDetails['wrong-revision']): string {
  if (beforeStartMs === undefined) return clockText(since)
  const when = beforeStartMs < 0 ? 'after' : 'before'
  return `${clockText(since)}, ${duration(Math.abs(beforeStartMs))} ${when} the gate began`
}

/** The operator's own commands; undefined for other kinds, and for names that are no plain words. */
function operatorCommand(facts: HintFacts<unknown>, what: 'sync' | 'history' | 'source'): string | undefined {
  const source = 'flux get sources all -n {namespace}'
  const commands: Readonly<Record<string, { readonly [each in typeof what]?: string }>> = {
    Application: { sync: 'argocd app sync {namespace}/{name}', history: 'argocd app history {namespace}/{name}' },
    Kustomization: {
      sync: 'flux reconcile kustomization {name} -n {namespace} --with-source',
      history: 'flux events --for Kustomization/{name} -n {namespace}',
      source,
    },
    HelmRelease: {
      sync: 'flux reconcile helmrelease {name} -n {namespace} --with-source',
      history: 'helm history {name} -n {namespace}',
      source,
    },
    // A revision is named web.v7.
    Helm: { history: 'helm history {name} -n {namespace}' },
  }
  const { kind, name } = facts.target
  const template = commands[kind]?.[what]
  const target = { ...facts.target, name: kind === 'Helm' ? name.slice(0, name.lastIndexOf('.v')) : name }
  return template === undefined ? undefined : filledCommand({ ...facts, target }, template)
}

function missingReport(path: string, isPattern: boolean): string {
  if (path === '') return 'the path of its report is empty'
  return isPattern ? `no report matches ${path}` : `there is no report ${path}`
}

const rolloutMayBeFine = 'The rollout itself may be fine: look before you roll back.'

function byAuthor({ author }: TemplateChange): string {
  return author === undefined ? '' : ` by ${author}`
}

function generations({ isRecreated, fromGeneration, toGeneration }: TemplateChange): string {
  if (isRecreated) return ' (deleted and created again)'
  // The revision of a Helm release has no generation.
  if (toGeneration === undefined) return ''
  return ` (generation ${fromGeneration} → ${toGeneration})`
}

function joined(start: string, message: string): string {
  return message === '' ? start : `${start}: ${message}`
}

/** Hint for a selector without a match, or a name without an object. */
function foreignReport(
  path: string,
  { found, expected }: NonNullable<GateDetails['report-missing']['foreign']>,
): string {
  const textOf = ({ id, commit }: RunOfReport) => `run ${id}, commit ${commit.slice(0, 7)}`
  const what = found === undefined ? 'names no workflow run' : `is of ${textOf(found)}`
  return `the report ${path} ${what}, not of this one (${textOf(expected)})`
}

function notFoundHint(facts: HintFacts<unknown>): string {
  const { kind, selector, name, namespace, source, hook } = facts.target
  const word = kind.toLowerCase()
  if (selector !== undefined && name !== '')
    return `Is this the name of the Helm release, and ${namespace} its namespace? ${filledCommand(facts, 'helm list -n {namespace}')} lists the releases. Hooks and what a chart has in crds/ are not gated.`
  if (selector)
    return `Correct the selector, or the labels of what was applied. ${command(facts, 'get', word, '--show-labels')} lists what is there.`
  const list = command(facts, 'get', word)
  if (facts.hasEnded)
    return `A Job of this name ended before the gate began, and was removed. Raise its ttlSecondsAfterFinished, so that the gate sees how it ends. ${list} lists what is there.`
  if (hook !== undefined) {
    const render = hook.annotation.startsWith('helm.sh/') ? ' (helm template --no-hooks)' : ''
    return `Its tool creates a hook only when it runs it. Leave hooks out of the manifests${render}, or give this one the annotation rollout-gate/skip: "true". ${list} lists what is there.`
  }
  const place = namespace === undefined ? '' : ` and in namespace ${namespace}`
  const folder = posix.dirname(source?.file ?? '')
  const recursion =
    folder.includes('/') && !isAbsolute(folder)
      ? ` Was the folder ${folder} applied? kubectl apply -f reads subfolders only with --recursive.`
      : ''
  const question = selector === '' ? `Was any ${kind} applied,${place}?` : `Was it applied, under this name${place}?`
  const other =
    namespace === undefined
      ? ''
      : ` For another namespace, ${facts.usesFlags ? 'write' : 'set the input `namespace`, or write'} -n after the reference.`
  return `${question}${recursion} ${list} lists what is there.${other}`
}

function deletedHint(facts: HintFacts<unknown>): string {
  const { target, namespaceState } = facts
  const name = nameOf(facts)
  if (namespaceState !== undefined)
    return `Namespace ${target.namespace} ${namespaceState === 'missing' ? 'was' : 'is being'} deleted, with everything in it. Find out who deletes it, create it again once it is gone, then apply ${name} again.`
  // Its ownerReferences are not known here.
  const rollout =
    target.kind === 'Pod'
      ? 'A rollout replaces the pods of a workload: gate the workload, not its pods. Else find'
      : 'Find'
  return `${rollout} out who deletes ${name} (another job, a clean-up, a GitOps controller), then apply it again.`
}

/** Of these kinds, the gate checks only that objects exist: the user can exclude them instead of granting access. */
const excludableKinds: readonly string[] = ['secrets', 'configmaps', 'namespaces']

/** Hint for missing access: the commands that grant it. */
function accessHint({ denied }: HintFacts<unknown>): string {
  // A target that could be read before may be ready.
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
