import { basename } from 'node:path'
import type { ApiResource, WatchRequest } from '../../src/cluster/feed.ts'
import { subjectText } from '../../src/cluster/objects.ts'
import { causeOf } from '../../src/gate/run-record.ts'
import type { GateSettings } from '../../src/gate/settings.ts'
import type { Target } from '../../src/plan/target.ts'
import { BUILT_IN_RESOURCES, guessResource } from '../support/resources.ts'
import { createChecks } from './checks.ts'
import { createGate, createTarget, type Run, type RunOptions, report } from './gate.ts'
import { type NamedObjects, toObject } from './named-objects.ts'
import { moment, start } from './objects.ts'
import { readData, requireOptions } from './rows.ts'
import { jobTarget, split, tape, withParts } from './tape.ts'
import { expectWords, toPattern } from './words.ts'

/** A target: its name, that of an object of the file, or what it has besides that. */
type Gated = string | (Partial<Target> & { readonly of?: string })

/** What a case asks besides its tape and its end. In words, `…` stands for any others. */
export interface CaseOptions
  extends Omit<RunOptions, 'targets' | 'afterReady'>,
    Partial<Pick<Target, 'waitFor' | 'clocks'>> {
  /** What is gated: by default all workloads that the tape names. */
  readonly gated?: readonly Gated[]
  /** What is asked for after ready, as in the inputs: `http-checks`, `hold`. */
  readonly checks?: Parameters<typeof createChecks>[0]
  /** Which pods are to be asked when: `web-1-a at once`, `web-1-a at 13 s`. */
  readonly asked?: readonly string[]
  /** Further settings, by the names that the test gives them. */
  readonly with?: string
  /** The gate is looked at in this second, and not at its end. */
  readonly until?: number
  readonly message?: string
  /** How each target ends. */
  readonly targets?: readonly string[]
  readonly targetMessages?: readonly string[]
  /** Lines of the log. */
  readonly entries?: readonly string[]
  /** All lines of the log, or of those kinds. */
  readonly log?: readonly string[] | Readonly<Record<string, readonly string[]>>
  /** What no line of the log contains. */
  readonly lacks?: readonly string[]
  /** Of the first target, `pod/front-1-a image-not-found`, `shop/web reported-failed by pod/front-1-a image-not-found`. */
  readonly problems?: readonly string[]
  /** Of the first target, `done 54`, `skipped: pods cannot be read`. */
  readonly milestones?: Readonly<Record<string, string>>
  /** Of the first target, the second of each milestone that is done; in brackets if no object shows it. */
  readonly reached?: Readonly<Record<string, number | string>>
  /** What is watched: `Pod app=web`, `Deployment apps/front`; of the kinds of `watchedOf`. */
  readonly watched?: readonly string[]
  readonly watchedOf?: readonly string[]
  readonly warnings?: readonly string[]
  /** What only waits for another target: `Service/web < Deployment/web`. */
  readonly causes?: readonly string[]
  /** What the first target is, besides, null for nothing, and what the record of the run is. */
  readonly target?: object
  readonly record?: object
}

type TapeCase = readonly [tape: string, end: string, options?: CaseOptions]

interface TapeGroup extends CaseOptions {
  readonly objects?: NamedObjects
  readonly tapes?: Readonly<Record<string, string>>
  /** Stands before the tape of each case. */
  readonly begin?: string
  readonly cases: Readonly<Record<string, TapeCase>>
}

/** `failed crash-loop 33`; `open` without an outcome. */
export function endOf({
  outcome,
  reason,
  seconds,
}: Pick<Run, 'outcome' | 'reason' | 'seconds'> | Run['targets'][number]): string {
  return outcome === undefined
    ? 'open'
    : [outcome, reason, seconds].filter((part) => part !== '' && part !== undefined).join(' ')
}

function toTarget(gated: Gated, objects: NamedObjects, shared: Partial<Target>): Target {
  const { of, ...own } = typeof gated === 'string' ? { of: gated } : { of: undefined, ...gated }
  const target = createTarget({ ...(of !== undefined && placeOf(of, objects)), ...shared, ...own })
  const { apiVersion, kind, name, manifest } = target
  return manifest === undefined
    ? target
    : { ...target, manifest: Object.assign({ apiVersion, kind, metadata: { name } }, manifest) }
}

/** What names an object of the file, or a workload of the tape. */
function placeOf(of: string, objects: NamedObjects): Partial<Target> {
  if (of === 'job') return jobTarget
  if (objects[of] === undefined) return { name: of }
  const { apiVersion, kind, metadata } = toObject(of, objects)
  return { apiVersion, kind, name: metadata.name, namespace: metadata.namespace as string }
}

function namesIn(text: string): readonly string[] {
  const apiWords = /^(?:lists?|alive|answer|cancel|fails|refuses|lost|serves|unserved)$/
  const named = split(text.replace(/`[^`]*`/g, ''), ';').flatMap((step) =>
    split(step.replace(/^[\d.]+ /, ''), ',').map((thing) => thing.split(' ')[0] ?? ''),
  )
  return [...new Set(named)].filter((name) => name !== '' && !apiWords.test(name))
}

const optionNames = (
  'asked begin causes checks clocks entries gated lacks live log message milestones objects problems reached settings tapes target ' +
  'record targetMessages targets until waitFor warnings watched watchedOf with'
).split(' ')

function testCase(
  [text, end, own = {}, ...more]: TapeCase,
  group: Omit<TapeGroup, 'cases'>,
  named: NamedSettings,
  place: readonly string[],
) {
  if (more.length > 0 || typeof own !== 'object') throw new Error(`quote the tape, which has commas: ${text}`)
  requireOptions({ ...group, ...own }, optionNames, place)
  const { objects = {}, tapes = {}, begin, ...shared } = group
  const options = { ...shared, ...own, settings: { ...shared.settings, ...own.settings } }
  const { gated, until, waitFor, clocks, checks, with: withSettings, settings } = options
  const whole = withParts([begin, text].filter(Boolean).join('; '), tapes)
  const steps = tape(whole, objects)
  const ofTargets = { ...(waitFor && { waitFor }), ...(clocks && { clocks }) }
  const targets = (gated ?? namesIn(whole)).map((each) => toTarget(each, objects, ofTargets))
  const gate = createGate(steps, {
    ...options,
    targets,
    ...(checks && { afterReady: createChecks(checks, targets, resourcesOf(targets)) }),
    settings: { ...(withSettings && named[withSettings]), ...settings },
  })
  gate.handle(steps.flat())
  if (until !== undefined) gate.advance(moment(until))
  else for (let next = gate.nextDeadline(); next !== undefined; next = gate.nextDeadline()) gate.advance(next)
  const result = report(gate, until === undefined ? undefined : moment(until))
  expect(endOf(result)).toBe(end)
  expectResult(result, options)
  if (options.watched !== undefined) {
    const watched = gate.requests.filter(({ kind }) => options.watchedOf?.includes(kind) ?? true)
    expect(watched.map(requestText)).toEqual(options.watched)
  }
  const when = (at: number) => (at === 0 ? 'once' : `${(at - start) / 1_000} s`)
  if (options.asked !== undefined)
    expect(gate.questions.map(({ pod, at }) => `${pod} at ${when(at)}`)).toEqual(options.asked)
}

/** What the cluster serves: the built-in kinds, and those of the targets. */
function resourcesOf(targets: readonly Target[]): readonly ApiResource[] {
  const isBuiltIn = ({ kind }: Target) => BUILT_IN_RESOURCES.some((each) => each.kind === kind)
  const others = targets.filter((target) => !isBuiltIn(target))
  return [...BUILT_IN_RESOURCES, ...others.map(({ apiVersion, kind }) => guessResource(apiVersion, kind))]
}

function requestText({ kind, namespace = '', name, labelSelector }: WatchRequest): string {
  const place = namespace === 'shop' ? name : name === undefined ? `${namespace}/` : `${namespace}/${name}`
  return [kind, place, labelSelector].filter(Boolean).join(' ')
}

function causesIn({ record: { targets } }: Run): readonly string[] {
  return targets.flatMap((target) => {
    const cause = causeOf(target, targets)
    return cause === undefined ? [] : [`${target.kind}/${target.name} < ${cause.kind}/${cause.name}`]
  })
}

/** Expects what a case asks of a run besides its end. */
export function expectResult(result: Run, expected: CaseOptions): void {
  const { message, targets, targetMessages, entries = [], log, lacks = [], problems, milestones, reached } = expected
  const like = (words: readonly string[]) => words.map((each) => expect.stringMatching(toPattern(each)))
  expectWords(result.message, message)
  if (targets !== undefined) expect(result.targets.map(endOf)).toEqual(targets)
  if (targetMessages !== undefined) expect(result.targets.map((each) => each.message)).toEqual(like(targetMessages))
  expect(result.entries).toEqual(expect.arrayContaining(like(entries)))
  if (Array.isArray(log)) expect(result.entries).toEqual(like(log))
  else
    for (const [kind, lines] of Object.entries(log ?? {}))
      expect(result.entries.filter((each) => each.split(' ')[1] === kind)).toEqual(like(lines))
  for (const words of lacks) expect(result.entries.join('\n')).not.toContain(words)
  const [first] = result.record.targets
  for (const [field, value] of Object.entries(expected.target ?? {}))
    if (value === null) expect(first).not.toMatchObject({ [field]: expect.anything() })
    else expect(first).toMatchObject({ [field]: value })
  if (expected.warnings !== undefined) expect(first?.warnings ?? []).toEqual(expected.warnings)
  if (expected.causes !== undefined) expect(causesIn(result)).toEqual(expected.causes)
  if (expected.record !== undefined) expect(result.record).toMatchObject(expected.record)
  if (problems !== undefined)
    expect(
      first?.problems.map(({ subject, reason, basis: { cause } }) =>
        [subject, reason, ...(cause ? ['by', subjectText(cause.subject), cause.reason] : [])].join(' '),
      ),
    ).toEqual(problems)
  const since = (at: number) => (at - start) / 1_000
  for (const [name, words] of Object.entries(milestones ?? {})) {
    const milestone = first?.milestones.find((each) => each.name === name)
    const [, state, second, text] = /^(\w+)(?: (\S+))?(?:: (.*))?$/.exec(words) ?? []
    expect(milestone).toMatchObject({
      state,
      ...(second && { at: moment(Number(second)) }),
      ...(text && { message: text }),
    })
  }
  const done = (first?.milestones ?? []).filter(({ state }) => state === 'done')
  for (const [name, second] of Object.entries(reached ?? {})) {
    const milestone = done.find((each) => each.name === name)
    const { at = start, source } = milestone ?? { at: Number.NaN, source: undefined }
    expect([name, source === 'object' ? since(at) : `(${since(at)})`]).toEqual([name, second])
  }
}

/** Settings by the names that cases use. */
type NamedSettings = Readonly<Record<string, Partial<GateSettings>>>

type TapeFile = Pick<TapeGroup, 'objects' | 'tapes'> & Readonly<Record<string, TapeGroup | TapeGroup['cases']>>

function isGroup(group: TapeGroup | TapeGroup['cases']): group is TapeGroup {
  return 'cases' in group && !Array.isArray(group.cases)
}

/** The cases of a file: a group, its titles, and for each `[tape, end, options]`; or a group with its own objects. */
export function testTapes(path: string, named: NamedSettings = {}): void {
  const { objects = {}, tapes = {}, ...groups } = readData(path) as TapeFile
  describe.each(Object.entries(groups as Record<string, TapeGroup | TapeGroup['cases']>))('%s', (name, group) => {
    const { cases, ...own }: TapeGroup = isGroup(group) ? group : { cases: group }
    const shared = { ...own, objects: { ...objects, ...own.objects }, tapes: { ...tapes, ...own.tapes } }
    it.each(Object.entries(cases))('%s', (title, each) => testCase(each, shared, named, [basename(path), name, title]))
  })
}
