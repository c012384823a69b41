import type { HintFacts, ReasonFamily } from './spec.ts'
import {
  clusterCommand,
  command,
  described,
  fromWords,
  namedIn,
  nameOf,
  type TextDetail,
  textSentence,
} from './wording.ts'

export interface StatusDetails {
  readonly 'claim-pending': TextDetail
  readonly 'claim-lost': TextDetail
  readonly 'condition-false': TextDetail
  readonly 'reported-failed': TextDetail
  readonly 'not-reconciled': TextDetail
}

export const statusReasons: ReasonFamily<StatusDetails> = {
  'claim-pending': {
    class: 'slow',
    when: 'the claim is not bound yet',
    title: 'the volume claim is not bound',
    sentence: textSentence,
    hint: claimHint,
    field: { object: ['spec', 'storageClassName'] },
  },
  'claim-lost': {
    class: 'terminal',
    when: 'the claim has been Lost for 30 s: its volume is gone',
    title: 'the volume claim lost its volume',
    sentence: textSentence,
    hint: () => 'The volume behind the claim is gone. Restore it, or create the claim anew.',
  },
  'condition-false': {
    class: 'slow',
    when: "the object's own condition says that it is not ready",
    title: 'it says itself that it is not ready',
    headline: fromWords([
      [/\(FailedGet\w*Metric\)/, 'the autoscaler cannot read its metric'],
      [/^([\w./-]+) is False\b/, 'its condition $1 is False'],
    ]),
    sentence: textSentence,
    hint: (s) =>
      /resource metrics API/.test(s.problem?.detail.text ?? '')
        ? `The cluster gives no figures of what pods use: is a metrics server installed, and does it run? ${command(s, 'top', 'pods')} works once it does.`
        : `Its own status says what it waits for: ${described(s)}.`,
  },
  'reported-failed': {
    class: 'strike',
    when: "the object's own word of failure has stood for 10 s under the observed generation",
    title: 'it reports a failure itself',
    sentence: textSentence,
    hint: (s) => `Its own status says what failed: ${described(s)}.`,
  },
  'not-reconciled': {
    class: 'slow',
    when: 'no controller has written a status yet',
    title: 'its controller has not reported a status',
    sentence: textSentence,
    hint: (s) =>
      `No controller has written a status of ${nameOf(s)}: is the one that serves its kind installed and running? If nothing ever writes one, gate it with \`${nameOf(s).replaceAll('`', '')} --for=create\`.`,
  },
}
/** What keeps a claim from its volume, by the words of the binder and of provisioners. */
function claimHint(facts: HintFacts<TextDetail>): string {
  const message = facts.problem?.detail.text ?? ''
  const missing = namedIn(message, /storageclass\S* "([^"]+)" not found/i)
  const classes = clusterCommand('get', 'storageclass')
  if (missing !== undefined)
    return `Correct storageClassName, or create the StorageClass ${missing}. ${classes} lists what is there.`
  if (/no storage class is set/i.test(message))
    return `Set storageClassName, or mark a StorageClass as default: ${classes}.`
  const about = facts.problem?.subject ?? nameOf(facts)
  return `Its storage class, size or access mode may not be had. Its events: ${command(facts, 'describe', about)}.`
}
