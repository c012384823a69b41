import { basename } from 'node:path'
import type { KubeObject, Pod, PodStatus } from '../../src/cluster/objects.ts'
import { waitForRule } from '../../src/lifecycle/custom/wait-for.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import type { WaitFor } from '../../src/plan/target.ts'
import { make, moment } from './objects.ts'
import { toEvent, toPodStatus } from './pods.ts'
import { readData, requireOptions } from './rows.ts'
import { assessedTarget, read, sightings } from './rule.ts'
import { toSubject } from './subject.ts'
import { expectWords, toPattern } from './words.ts'
import { type Relatives, relativesOf, toWorkload } from './workloads.ts'

/**
 * Objects and what their rules say about them, as data:
 *
 *     a group:
 *       of: the fields that its objects share
 *       cases:
 *         a title: [the status, a verdict]
 *         another: [{ spec: its other fields, status: … }, a verdict]
 *
 * A verdict is `ready`, `progressing condition-false slow: the message of the problem`, or `ready: the message of the
 * assessment`; at other seconds than 60: `{ 9: progressing until 10, 10: failed }`. In an object, `@9` is second 9 of the
 * gate, and a condition is `Ready False @9 Reason: message`, of generation 1: `Ready/1 False`. A pod is a bare one, whose status
 * may be in words (`toPodStatus`). Of a Deployment, StatefulSet or DaemonSet the status says what differs from a complete one
 * (`toWorkload`), and its pods are in words (`Relatives`).
 */
interface Group extends Relatives {
  readonly of?: Partial<KubeObject>
  /** The second at which its objects are read. */
  readonly now?: number
  readonly waitFor?: WaitFor
  readonly cases: Readonly<Record<string, readonly [fields: unknown, verdict: Verdict, options?: Options]>>
}

/** What is expected besides the verdict. */
export interface Expected {
  /** The reasons of its problems. */
  readonly problems?: readonly string[]
  /** The message of the first. */
  readonly firstMessage?: string
  readonly notes?: readonly string[]
  /** Why the stall clock stops; null if it does not. */
  readonly stallHold?: string | null
  readonly warnings?: readonly string[]
  /** The subject of its problem, `pod/a`. */
  readonly subject?: string
  /** The reason and the subject of its failure, `crash-loop pod/a`, or the reason alone; null if there is none. */
  readonly failure?: string | null
  /** `open 1 of 2 pods ready`, by its milestone. */
  readonly milestones?: Readonly<Record<string, string>>
  /** The milestones that are done. */
  readonly reached?: readonly string[]
  /** `1 of 2`, by its milestone. */
  readonly counts?: Readonly<Record<string, string>>
  /** The uids of the pods of the revision that is gated. */
  readonly pods?: readonly string[]
  /** Those of the old pods that it keeps. */
  readonly keptPods?: readonly string[]
  /** What else the assessment has: in texts `…` stands for any other words, and a moment is `@9`. */
  readonly result?: object
  /** What it has not. */
  readonly lacks?: readonly string[]
}

interface Options extends Relatives, Omit<Expected, 'pods'> {
  /** What it was at the start of the gate, if it was changed since, and the second of that change: by default 60. */
  readonly before?: unknown
  readonly changedAt?: number
  readonly waitFor?: WaitFor
  readonly now?: number
  readonly beside?: readonly KubeObject[]
  readonly unseen?: readonly string[]
  /** Events about the object, or of a container of it: `Pulling`, `app Failed x2 1-40: message`, from second 1 to 40; or of
   * others by name. */
  readonly events?: readonly string[] | Readonly<Record<string, readonly string[]>>
  readonly othersProgress?: boolean
  /** The second at which another target became ready. */
  readonly othersReadyAt?: number
  readonly maxRestarts?: number
  readonly minReadySeconds?: number
  /** The second at which a pod was first seen: by default now. */
  readonly seen?: number
}

const optionNames = (
  'before beside changedAt counts endpoints events failure firstMessage hasOldSet hasTemplate keptPods lacks maxRestarts ' +
  'milestones minReadySeconds nodes notes now othersProgress othersReadyAt pods problems reached replicaSet result seen stallHold ' +
  'subject unseen waitFor warnings'
).split(' ')

type Verdict = string | Readonly<Record<number, string>>

const fieldsOfObjects = ['status', 'spec', 'metadata', 'kind', 'apiVersion', 'data']

function objectOf(fields: unknown, of: Partial<KubeObject>): KubeObject {
  const isWhole = typeof fields === 'object' && Object.keys(fields ?? {}).some((key) => fieldsOfObjects.includes(key))
  const isWholeOnly = isWhole && Object.keys(fields ?? {}).every((key) => fieldsOfObjects.includes(key))
  const own = (isWholeOnly ? fields : { status: fields }) as Partial<KubeObject>
  const workload = toWorkload(of.kind ?? '', of, own)
  if (workload !== undefined) return workload
  const metadata = { name: 'w', namespace: 'shop', uid: 'w-uid', ...of.metadata, ...own.metadata }
  const { status, ...rest } = { ...of, ...own, metadata } as KubeObject
  if (rest.kind === 'Pod') {
    const { metadata, spec } = rest as Pod
    const pod = typeof status === 'string' ? toPodStatus(status) : (status as PodStatus | undefined)
    return make.barePod({ metadata, ...(spec && { spec }), ...(pod && { status: pod }) })
  }
  return status === undefined || status === null ? rest : { ...rest, status }
}

function expectVerdict(object: KubeObject, verdict: string, now: number, options: Options, before?: KubeObject) {
  const { waitFor, beside = [], unseen = [], seen, maxRestarts, othersProgress = false, othersReadyAt } = options
  const rule = waitFor === undefined ? ruleOf(object) : waitForRule(waitFor)
  const relatives = relativesOf(object, options)
  const about = (name: string) => relatives.objects.find(({ metadata }) => metadata.name === name) ?? object
  const { events: said = [] } = options
  const byName = Array.isArray(said) ? [['', said] as const] : Object.entries(said)
  const events = byName.flatMap(([name, texts]) => texts.map((each: string) => toEvent(about(name), each)))
  const context = {
    now,
    objects: [object, ...relatives.objects, ...beside, ...events],
    unseen,
    othersProgress,
    ...(othersReadyAt !== undefined && { othersReadyAt }),
    ...(before && assessedTarget(rule, [0, before], [options.changedAt ?? 60, object])),
    ...(options.minReadySeconds !== undefined && { minReadySeconds: options.minReadySeconds }),
    ...(maxRestarts !== undefined && { settings: { maxRestarts } }),
    ...(relatives.sightings.size > 0 && { sightings: relatives.sightings }),
    ...(seen !== undefined && { sightings: new Map([[object.metadata.uid ?? '', sightings([seen, object as Pod])]]) }),
  }
  expectAssessment(read(context, rule, object), verdict, options)
}

/** An expected value: its texts, and its moments under names such as `firstSeenAt`. */
function toExpected(value: unknown, key = ''): unknown {
  if (typeof value === 'string') {
    if (/(?:At|since)$/.test(key)) return Date.parse(value)
    return value.includes('…') ? expect.stringMatching(toPattern(value)) : value
  }
  if (Array.isArray(value)) return value.map((each) => toExpected(each))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, toExpected(each, name)]))
}

/** Expects what a verdict in words says of an assessment. */
export function expectAssessment(
  result: ReturnType<typeof read>,
  verdict: string,
  options: Omit<Expected, 'pods'>,
): void {
  const [, status, reason, problemClass, until, message] =
    /^(\w+)(?: ((?!slow|strike|terminal|until)[a-z-]+))?(?: (slow|strike|terminal))?(?: until ([\d.]+))?(?:: (.*))?$/s.exec(
      verdict,
    ) ?? []
  const problem = {
    ...(reason && { reason }),
    ...(problemClass && { class: problemClass }),
    ...(reason && message && { message: toExpected(message) }),
  }
  expect(result).toMatchObject({
    status,
    ...(reason !== undefined && { problems: [problem] }),
    ...(reason === undefined && message !== undefined && { message: toExpected(message) }),
    ...(until !== undefined && { recheckAt: moment(Number(until)) }),
  })
  const { problems, notes, warnings, stallHold, subject, failure, milestones = {} } = options
  expectWords(result.problems[0]?.message, options.firstMessage)
  if (subject !== undefined) expect(result.problems[0]?.subject).toEqual(toSubject(subject))
  if (failure !== undefined) {
    const [expected, of] = failure?.split(' ') ?? []
    expect(result.failure?.reason).toBe(expected)
    if (of !== undefined) expect(result.failure?.subject).toEqual(toSubject(of))
  }
  for (const [name, words] of Object.entries(milestones)) {
    const milestone = result.milestones.find((each) => each.name === name)
    expectWords(`${milestone?.state} ${milestone?.message}`, words)
  }
  for (const [name, words] of Object.entries(options.counts ?? {})) {
    const { count } = result.milestones.find((each) => each.name === name) ?? {}
    expect([name, `${count?.done} of ${count?.total}`]).toEqual([name, words])
  }
  const done = result.milestones.filter(({ state }) => state === 'done').map(({ name }) => name)
  if (options.reached !== undefined) expect(done).toEqual(options.reached)
  if (stallHold !== undefined) expect(result.stallHold ?? null).toBe(stallHold)
  if (options.result !== undefined) expect(result).toMatchObject(toExpected(options.result) as object)
  for (const name of options.lacks ?? []) expect(result).not.toHaveProperty(name)
  if (problems !== undefined) expect(result.problems.map((each) => each.reason)).toEqual(problems)
  if (notes !== undefined) expect(result.notes).toEqual(notes)
  if (warnings !== undefined) expect(result.warnings ?? []).toEqual(warnings)
}

/** The cases of a file. */
export function testObjects(path: string): void {
  const groups = Object.entries(readData(path) as Readonly<Record<string, Group>>)
  describe.each(groups)('%s', (name, { of = {}, now = 60, waitFor, cases, ...relatives }) =>
    it.each(Object.entries(cases))('%s', (title, [fields, verdict, options = {}]) => {
      requireOptions({ ...relatives, ...options }, optionNames, [basename(path), name, title])
      const verdicts = typeof verdict === 'string' ? { [options.now ?? now]: verdict } : verdict
      const before = options.before === undefined ? undefined : objectOf(options.before, of)
      const all = { ...(waitFor && { waitFor }), ...relatives, ...options }
      for (const [second, each] of Object.entries(verdicts))
        expectVerdict(objectOf(fields, of), each, Number(second), all, before)
    }),
  )
}
