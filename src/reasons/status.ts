import { subjectText } from '../cluster/objects.ts'
import { clause, type HintWords, type NoDetail, type ReasonFamily } from './spec.ts'
import { clusterCommand, ifPresent } from './wording.ts'

/* The reason codes that the status of an object shows, such as `condition-false`, and the text of signals. */

/** One signal of an object: a condition, or a field of its status or spec. */
export interface StatusSignal {
  /** The part of the object that has the signal: `listener https`. */
  readonly part?: string
  /** The type of the condition, or the path of the field. */
  readonly name: string
  /** The status of the condition, or the value of the field. Absent for an error, which has only a message. */
  readonly value?: string
  readonly reason?: string
  readonly message?: string
}

export interface StatusDetails {
  readonly 'claim-pending': {
    /** The latest event of the binder or a provisioner. */
    readonly message?: string
    /** The StorageClass that does not exist. */
    readonly missingClass?: string | undefined
  }
  readonly 'claim-lost': NoDetail
  readonly 'condition-false': {
    readonly signals: readonly StatusSignal[]
    /** The operator's sentence about the cause. It is shown in place of the signals. */
    readonly cause?: string
    /** The cluster serves no resource metrics, so the autoscaler cannot read its metric. */
    readonly needsMetricsServer?: boolean
    /** The Helm release whose revision is pending. */
    readonly release?: string
  }
  readonly 'reported-failed': {
    /** Empty if only a CEL expression shows the failure. */
    readonly signals: readonly StatusSignal[]
    /** The operator's sentence about the cause. It is shown in place of the signals. */
    readonly cause?: string
    /** The Helm release whose revision has failed. */
    readonly release?: string
    /** The failed Job of a hook of the release. */
    readonly hook?: string | undefined
    /** The expression `failed` of the user's health check is true. */
    readonly healthCheck?: 'failed'
  }
  readonly 'not-reconciled':
    | { readonly awaited: 'status' }
    /** `owners`: the objects whose controller must act, such as `GatewayClass nginx` or the parents of a route. */
    | { readonly awaited: 'controller'; readonly owners: readonly string[] }
    | { readonly awaited: 'approval' }
    | { readonly awaited: 'certificate'; readonly signer: string }
}

/** The maximum length of a text in a headline. */
const statedLimit = 80

export const statusReasons: ReasonFamily<StatusDetails> = {
  'claim-pending': {
    class: 'slow',
    title: 'the volume claim is not bound',
    sentence: ({ message }) => `is not bound${ifPresent`: ${message}`}`,
    hint: claimHint,
    field: { object: ['spec', 'storageClassName'] },
  },
  'claim-lost': {
    class: 'terminal',
    title: 'the volume claim lost its volume',
    sentence: () => 'has lost its volume',
    hint: () => 'The volume behind the claim is gone. Restore it, or create the claim again.',
  },
  'condition-false': {
    class: 'slow',
    isAnonymous: true,
    title: 'it reports that it is not ready',
    isUnaffectedByOthers: ({ needsMetricsServer }) => needsMetricsServer === true,
    headline: ({ signals, release }, _, title) => {
      if (release !== undefined) return 'Helm has not finished its revision'
      if (signals.some(({ reason = '' }) => /^FailedGet\w*Metric$/.test(reason)))
        return 'the autoscaler cannot read its metric'
      const [first] = signals
      return first?.part === undefined && first?.value === 'False' ? `its condition ${first.name} is False` : title
    },
    sentence: ({ cause, signals }) => clause(cause ?? signalsText(signals)),
    hint: (detail, words) =>
      detail.needsMetricsServer
        ? `The cluster serves no resource metrics: is a metrics server installed, and does it run? ${words.command('top', 'pods')} works once it does.`
        : (pendingHint(detail, words) ?? `Its status contains what it waits for: ${words.describeTarget}.`),
  },
  'reported-failed': {
    class: 'strike',
    yieldsTo: 'owned',
    isAnonymous: true,
    title: 'it reports a failure',
    headline: (detail, { cause }, title) => cause?.headline ?? failureHeadline(detail) ?? title,
    sentence: ({ signals, cause, healthCheck }, { cause: behind }) => {
      const own = cause ?? signalsText(signals)
      const text = [own, ifPresent`cause: ${behind?.sentence}`].filter((part) => part !== '').join('; ')
      if (healthCheck === undefined) return text === '' ? 'has failed by its status' : clause(text)
      return `has failed by its health check${ifPresent`: ${text}`}`
    },
    hint: (detail, words) =>
      words.cause?.hint ??
      releaseHint(detail, words) ??
      `Correct what its status reports, and deploy again: ${words.describeTarget}.`,
  },
  'not-reconciled': {
    class: 'slow',
    isAnonymous: true,
    title: 'it is not processed yet',
    sentence: (detail) => {
      switch (detail.awaited) {
        case 'status':
          return 'has no status yet: no controller has acted on it'
        case 'controller': {
          const controllers = detail.owners.length === 1 ? 'its controller' : 'their controllers'
          return clause(
            `no controller has acted on it yet: ${detail.owners.join(' and ')} must exist, and ${controllers} must run`,
          )
        }
        case 'approval':
          return clause('nobody has approved it yet')
        case 'certificate':
          return `is approved, but signer ${detail.signer} has not issued a certificate yet`
      }
    },
    hint: notReconciledHint,
  },
}

/**
 * The first clause of the failure that an object reports: `Helm upgrade failed for release shop/web`. Undefined if the
 * clause is a single word, or too long for a headline.
 */
function failureHeadline({ cause, signals }: StatusDetails['reported-failed']): string | undefined {
  const [stated = ''] = (cause ?? signals[0]?.message ?? '').split(': ')
  return stated.trim().includes(' ') && stated.length <= statedLimit ? stated : undefined
}

function releaseHint(
  { release, hook }: Partial<StatusDetails['reported-failed']>,
  { command, operatorCommand }: HintWords,
): string | undefined {
  if (release === undefined) return undefined
  const history = operatorCommand(`helm history ${release} -n {namespace}`)
  if (hook !== undefined)
    return `Its log may show why: ${command('logs', `job/${hook}`)}. Helm applies nothing after a hook that failed before an upgrade: ${history}.`
  return `${history} has the error of Helm, and shows which revision is deployed now.`
}

/** Hint for a pending Helm revision. Helm may still run or was killed: its status is the same. */
function pendingHint(
  { release, signals = [] }: Partial<StatusDetails['condition-false']>,
  { setting, operatorCommand }: HintWords,
): string | undefined {
  if (release === undefined) return undefined
  const undo = signals.some(({ value }) => value === 'pending-install') ? 'uninstall' : 'rollback'
  return `If Helm still runs and only needs longer, raise ${setting('stall-timeout')}. If it was killed, the revision stays pending, and Helm refuses the next upgrade until ${operatorCommand(`helm ${undo} ${release} -n {namespace}`)}.`
}

/** `Ready is False (NoQuota): no quota left`, `phase is Failed`, `listener https: Accepted is False` */
export function signalText({ part, name, value, reason, message }: StatusSignal): string {
  const is = value === undefined ? '' : ` is ${value}`
  return `${ifPresent`${part}: `}${name}${is}${ifPresent` (${reason})`}${ifPresent`: ${message}`}`
}

/** The text of several signals. A message that repeats an earlier message, in whole or in part, is left out. */
export function signalsText(signals: readonly StatusSignal[]): string {
  const quoted: string[] = []
  const texts = signals.map((signal) => {
    const message = String(signal.message ?? '')
    const isQuoted = quoted.some((text) => text.includes(message) || message.includes(text))
    if (!isQuoted && message !== '') quoted.push(message)
    return signalText(isQuoted ? { ...signal, message: undefined } : signal)
  })
  return texts.join(', ')
}

function notReconciledHint(
  detail: Partial<StatusDetails['not-reconciled']>,
  { target, name, describeTarget }: HintWords,
): string {
  if (detail.awaited === 'approval')
    return `Approve it with ${clusterCommand('certificate', 'approve', target.name)}. If it is approved later, exclude it.`
  if (detail.awaited === 'certificate')
    return `Check that the controller of signer ${detail.signer} runs: ${describeTarget}.`
  return `No controller has written a status of ${name}: check that the controller of its kind is installed and runs. If the kind has none, gate it with \`${name.replaceAll('`', '')} --for=create\`.`
}

/** Hint for a PersistentVolumeClaim without a volume. */
function claimHint(
  { missingClass }: Partial<StatusDetails['claim-pending']>,
  { name, problem, command }: HintWords,
): string {
  const classes = clusterCommand('get', 'storageclass')
  if (missingClass !== undefined)
    return `Create StorageClass ${missingClass}, or correct storageClassName. ${classes} lists what is there.`
  const about = problem === undefined ? name : subjectText(problem.subject)
  return `Check its storage class, size and access mode, and that the provisioner of the class runs (${classes}). Its events: ${command('describe', about)}.`
}
