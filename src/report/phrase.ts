import type { ProblemRecord, TargetRecord } from '../gate/timeline.ts'
import { sentence } from '../lifecycle/sentence.ts'
import type { ReasonCode } from '../reasons.ts'
import { shorten } from './escape.ts'
import { capitalised, outcomeWords, reasonPhrases } from './words.ts'

const imageLimit = 70
const nameLimit = 50

type Phrase = (problem: ProblemRecord) => string | undefined

const ofContainer =
  (words: (container: string) => string): Phrase =>
  ({ container }) =>
    container === undefined ? undefined : words(`container ${shorten(container, nameLimit)}`)

const ofImage =
  (words: (image: string) => string): Phrase =>
  ({ detail }) =>
    detail?.image === undefined ? undefined : words(shorten(detail.image, imageLimit))

/** A phrase made of the first pattern that the problem's message matches. */
function fromWords(patterns: readonly (readonly [RegExp, string])[]): Phrase {
  return ({ message }) => {
    for (const [pattern, words] of patterns) {
      const found = pattern.exec(message)
      if (found !== null) return words.replace('$1', () => shorten(found[1] ?? '', nameLimit))
    }
    return undefined
  }
}

/** What a reason means of this very container, image or object: for headlines. Undefined where it is not known. */
const phrases: Readonly<Partial<Record<ReasonCode, Phrase>>> = {
  'image-not-found': ofImage((image) => `image ${image} not found`),
  'image-platform-missing': ofImage((image) => `image ${image} is not built for the platform of the node`),
  'image-unauthorized': ofImage((image) => `not allowed to pull image ${image}`),
  'image-rate-limited': ofImage((image) => `the registry limits pulls of image ${image}`),
  'image-registry-unreachable': ofImage((image) => `the registry of image ${image} cannot be reached`),
  'image-name-invalid': ofImage((image) => `invalid image name ${image}`),
  'image-never-pull': ofImage((image) => `image ${image} is not on the node, and pulling it is forbidden`),
  'image-pull-failed': ofImage((image) => `image ${image} could not be pulled`),
  'crash-loop': (problem) => ofContainer((name) => `${name} keeps crashing${exitCode(problem)}`)(problem),
  'out-of-memory': ofContainer((name) => `${name} ran out of memory`),
  'bad-command': ofContainer((name) => `the command of ${name} could not be run`),
  'exec-format': ofContainer((name) => `the image of ${name} is built for another architecture`),
  'config-missing': ({ detail }) => {
    if (detail?.object === undefined || !detail.object.includes('/')) return undefined
    const object = shorten(detail.object, imageLimit)
    return detail.key === undefined
      ? `${object} is missing`
      : `${object} lacks the key ${shorten(detail.key, nameLimit)}`
  },
  'init-container-failed': (problem) => ofContainer((name) => `init ${name} failed${exitCode(problem)}`)(problem),
  'liveness-failing': ofContainer((name) => `${name} fails its liveness probe`),
  'startup-failing': ofContainer((name) => `${name} fails its startup probe`),
  'readiness-failing': ofContainer((name) => `${name} fails its readiness probe`),
  'container-create-failed': (problem) =>
    fromWords([[/volume "([^"]+)".* cannot be mounted/, 'volume $1 cannot be mounted']])(problem) ??
    ofContainer((name) => `${name} could not be created`)(problem),
  'quota-exceeded': fromWords([[/exceeded quota: (\S+),/, 'quota $1 exceeded']]),
  'admission-denied': fromWords([
    [/violates PodSecurity "([^":]+)/, 'denied by the Pod Security standard "$1"'],
    [/ValidatingAdmissionPolicy '([^']+)'/, 'denied by the policy $1'],
    [/admission webhook "([^"]+)"/, 'denied by the webhook $1'],
    [/per (?:Pod|Container) is/, 'denied by a LimitRange'],
  ]),
  unschedulable: ({ cause, detail }) => {
    if (detail?.schedulingGates !== undefined) return 'the scheduling gates of the pods are not removed'
    return cause?.reason === 'claim-pending'
      ? `${shorten(cause.subject, imageLimit)}, which the pods need, is not bound`
      : undefined
  },
  'image-mismatch': ({ detail }) => {
    if (detail?.containers === undefined) return undefined
    const names = detail.containers.map((name) => shorten(name, nameLimit)).join(', ')
    return `no pod has the expected container${detail.containers.length === 1 ? '' : 's'} ${names}`
  },
  'no-endpoints': fromWords([[/of an older revision/, 'the Service has no ready endpoints of the new revision']]),
  'replica-failure': fromWords([[/no PriorityClass with name (\S+) was found/, 'PriorityClass $1 is missing']]),
  'condition-false': fromWords([
    [/\(FailedGet\w*Metric\)/, 'the autoscaler cannot read its metric'],
    [/^([\w./-]+) is False\b/, 'its condition $1 is False'],
  ]),
  'job-failed': (problem) => ofContainer((name) => `the Job failed in ${name}${exitCode(problem)}`)(problem),
}

function exitCode({ detail }: ProblemRecord): string {
  return detail?.exitCode === undefined ? '' : ` (exit code ${detail.exitCode})`
}

/** Why a target is not ready, in a few words that name what they are about. Not yet escaped. */
export function phraseOf(record: TargetRecord): string {
  const { outcome, reason } = record
  if (reason === '') return outcomeWords[outcome].verb
  const problem = record.problems.find((each) => each.reason === reason)
  if (problem?.detail?.isOld) return 'an old pod holds up the update'
  return (problem && phrases[reason]?.(problem)) ?? reasonPhrases[reason]
}

/** `pod/web-x cannot …`, `init container migrate of pod/web-x exited …`: a message that says itself what it is about. */
const namesItsSubject = /^(?:(?:init )?container \S+ of )?[a-z][\w.-]*\/\S/

/** A target's message as a sentence that stands alone: `deployment/web is paused, …`, `service/web: its selector …`. */
export function statement(name: string, message: string): string {
  return namesItsSubject.test(message) ? capitalised(message) : sentence(name, message)
}

/** The same below a title that names the target: `Its selector …`. */
export function statementBelow(name: string, message: string): string {
  const whole = sentence(name, message)
  return whole.startsWith(`${name}: `) ? capitalised(message) : whole
}
