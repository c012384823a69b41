import { basename } from 'node:path'
import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { KubeObject, Pod } from '../../src/cluster/objects.ts'
import { gatedPods as ofRevision } from '../../src/lifecycle/pods.ts'
import { ruleOf } from '../../src/lifecycle/rules.ts'
import { type Expected, expectAssessment } from './cases.ts'
import type { NamedObjects } from './named-objects.ts'
import { start } from './objects.ts'
import { readData, requireOptions } from './rows.ts'
import { assessedTarget, type ReaderOptions, read, sightings } from './rule.ts'
import { tape, withParts } from './tape.ts'

/** What is known besides the objects of a tape, and what is expected besides the verdict. */
interface Options extends Omit<ReaderOptions, 'objects' | 'history' | 'sightings' | 'revisionOf'>, Expected {
  /** Whether a pod of second 0 was seen then, and not only now. */
  readonly isSeen?: boolean
  /** The names of the pods of the revision that is gated; others are of another revision. */
  readonly gatedPods?: readonly string[]
}

type RuleCase = readonly [tape: string, verdict: string | Readonly<Record<number, string>>, options?: Options]

interface Group extends Options {
  readonly objects?: NamedObjects
  readonly tapes?: Readonly<Record<string, string>>
  /** Stands before the tape of each case. */
  readonly begin?: string
  readonly cases: Readonly<Record<string, RuleCase>>
}

const optionNames = (
  'begin counts declaresStatus failure firstMessage gatedPods isSeen keptPods lacks milestones minReadySeconds notes now objects ' +
  'othersProgress othersReadyAt pods problems reached result serverOffsetMs settings stallHold subject tapes unseen warnings'
).split(' ')
const settingNames = ['settleTimeMs', 'maxRestarts', 'isSingleCheck']

type Version = readonly [second: number, object: KubeObject]

/** The versions of each object, in the order of their first ones; without those that were deleted. */
function versionsOf(events: readonly FeedEvent[]): readonly (readonly Version[])[] {
  const versions = new Map<string, Version[]>()
  for (const event of events) {
    if (!('object' in event)) continue
    const { kind, metadata } = event.object
    const key = `${kind}/${metadata.namespace}/${metadata.name}`
    if (event.type === 'DELETED') versions.delete(key)
    else versions.set(key, [...(versions.get(key) ?? []), [(event.at - start) / 1_000, event.object]])
  }
  return [...versions.values()]
}

function uidsOf(pods: readonly Pod[] = []) {
  return pods.map(({ metadata }) => metadata.uid)
}

function testCase([text, verdict, own = {}]: RuleCase, group: Omit<Group, 'cases'>, place: readonly string[]): void {
  requireOptions({ ...group, ...own }, optionNames, place)
  requireOptions({ ...group.settings, ...own.settings }, settingNames, [...place, 'settings'])
  const { objects = {}, tapes = {}, begin, ...shared } = group
  const { isSeen = false, gatedPods, ...options } = { ...shared, ...own }
  const steps = tape(withParts([begin, text].filter(Boolean).join('; '), tapes), objects)
  const versions = versionsOf(steps.flat())
  const [judged = []] = versions
  const object = judged.at(-1)?.[1]
  if (object === undefined) throw new Error(`a tape begins with the object that is judged: "${text}"`)
  const present = versions.flatMap((each) => each.at(-1)?.[1] ?? [])
  const pods = versions.filter(
    ([first, ...later]) => first?.[1].kind === 'Pod' && (later.length > 0 || first[0] > 0 || isSeen),
  )
  const observed = pods.map((seen) => {
    const { uid = '' } = seen.at(-1)?.[1].metadata ?? {}
    return [uid, sightings(...(seen as readonly (readonly [number, Pod])[]))] as const
  })
  const verdicts = typeof verdict === 'string' ? { [options.now ?? 60]: verdict } : verdict
  for (const [second, each] of Object.entries(verdicts)) {
    const now = Number(second)
    const given: ReaderOptions = {
      ...options,
      now,
      objects: present,
      ...assessedTarget(ruleOf(object), ...judged),
      sightings: new Map(observed),
      ...(gatedPods && { revisionOf: ({ metadata }: Pod) => (gatedPods.includes(metadata.name) ? 'gated' : 'other') }),
    }
    const result = read(given, ruleOf(object), object)
    expectAssessment(result, each, options)
    if (options.keptPods !== undefined) expect(uidsOf(result.pods?.kept)).toEqual(options.keptPods)
    if (options.pods !== undefined) expect(uidsOf(result.pods && ofRevision(result.pods))).toEqual(options.pods)
  }
}

/**
 * The cases of a file: what the rule of the first object of a tape says of it at second 60, or `now`, or at several:
 * `[0 web; web-1; 5 a loop 1; 45 a loop 3, failed crash-loop, options]`. Verdicts are those of `cases.ts`.
 */
export function testRules(path: string): void {
  const { objects, tapes, ...groups } = readData(path) as Pick<Group, 'objects' | 'tapes'> & Record<string, Group>
  describe.each(Object.entries(groups as Record<string, Group>))('%s', (name, { cases, ...group }) => {
    const shared = { ...group, objects: { ...objects, ...group.objects }, tapes: { ...tapes, ...group.tapes } }
    it.each(Object.entries(cases))('%s', (title, each) => testCase(each, shared, [basename(path), name, title]))
  })
}
