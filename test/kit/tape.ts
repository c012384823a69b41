import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { Deployment, KubeObject, PodStatus } from '../../src/cluster/objects.ts'
import type { Target } from '../../src/plan/target.ts'
import {
  added,
  alive,
  allSynced,
  at,
  createGate,
  createTarget,
  createWorkload,
  creating,
  deleted,
  failed,
  modified,
  progressing,
  type Run,
  type RunOptions,
  report,
  synced,
  unavailable,
} from './gate.ts'
import { complete, condition, is, iso, make, moment, podIs } from './objects.ts'
import { toPodStatus } from './pods.ts'

const overdue = condition('Progressing', 'False', { reason: 'ProgressDeadlineExceeded' })

/**
 * A tape in words: `0 web creating, lists; 3 web ready; 40 alive`. A step is a second and what happens then; "words" are
 * written in backquotes. `web`, or any other name in small letters, is a Deployment of one replica with its ReplicaSet and pod (`createWorkload`):
 *
 *     web new                  the Deployment alone, without a status
 *     web creating, web done   all three: the pod is being created; it is ready since a minute before the gate
 *     web ready 3 1            its pod is ready since second 3 after 1 restart, or since now; the Deployment is complete
 *     web pod ready 3          only its pod is
 *     web dead 2, web loop 2 4 its container died for the second time now; at second 4, and waits for its restart
 *     web waits R "words"      its container waits with this reason
 *     web stuck                its pod is pending, web pulled: its image is there, web falls: its container is not ready
 *     web overdue, web gone    its progress deadline is exceeded; the Deployment is deleted
 *     web tells R "words" 2 4  an event of its pod, with its count and first second; web app tells: of its container
 *
 *     web image v2             its template names `acme/web:v2`, in generation 2
 *     web older v0             its ReplicaSet of an hour ago, with this image
 *
 * `job` is the Job `migrate`, at work: `job complete`, `job failed`; `job gone`, `job gone Complete` with its last state;
 * `job tells R 49`, an event of it with its last second.
 *
 * Of the API: `lists` are complete, or `list Pod`; `alive`; `fails 403 Pod "words"`, `refuses 401 Pod "words"` for good;
 * `lost Pod 5 503`: unavailable since second 5, with this status; `cancel`.
 */
function tape(text: string): FeedEvent[][] {
  return split(text, ';').map((step) => {
    const [, second = '', things = ''] = /^([\d.]+) (.*)$/s.exec(step) ?? []
    return at(Number(second), ...split(things, ',').map((thing) => inWords(thing, Number(second))))
  })
}

/** Splits at a separator outside of quotes. */
function split(text: string, separator: ';' | ','): string[] {
  return (text.match(separator === ';' ? /(?:`[^`]*`|[^`;])+/g : /(?:`[^`]*`|[^`,])+/g) ?? []).map((part) =>
    part.trim(),
  )
}

/** What a part of a tape says: `web ready 3`. */
export function inWords(thing: string, second: number): Observation | Observation[] {
  const words = (thing.match(/`[^`]*`|\S+/g) ?? []).map((word) => word.replaceAll('`', ''))
  const [first = '', one = '', two, three] = words
  if (first === 'lists') return [...allSynced, { type: 'SYNCED', ...jobs, namespace: 'shop' }]
  if (first === 'list') return synced(...words.slice(1))
  if (first === 'alive') return alive
  if (first === 'cancel') return { type: 'CANCEL' }
  if (first === 'fails') return failed(Number(one), two, three)
  if (first === 'refuses')
    return { ...failed(Number(one), two === '-' ? undefined : two, three), final: true } as Observation
  if (first === 'lost') return unavailable(one, Number(two), Number(three ?? 0))
  if (first === 'job') return ofJob(words.slice(1), second)
  return ofWorkload(first, words.slice(1), second)
}

const jobs = { apiVersion: 'batch/v1', kind: 'Job' }

function ofJob([verb, one = '', two = '0']: readonly string[], second: number): Observation[] {
  const job = (state = ''): KubeObject => ({
    ...jobs,
    metadata: { name: 'migrate', namespace: 'shop', uid: 'migrate-uid' },
    status: { active: 1, conditions: state === '' ? [] : [condition(state, 'True', { reason: 'Done' })] },
  })
  if (verb === undefined) return added(job())
  if (verb === 'complete' || verb === 'failed') return modified(job(verb === 'failed' ? 'Failed' : 'Complete'))
  if (verb === 'gone') return deleted(job(one))
  if (verb === 'tells') return added(make.event(job(), { reason: one, lastTimestamp: iso(Number(two)) }))
  throw new Error(`a tape cannot say "job ${verb}" in second ${second}`)
}

function ofWorkload(name: string, [verb, ...words]: readonly string[], second: number): Observation[] {
  const { deployment, replicaSet, pod, done, creating: begun } = createWorkload(name)
  const [one = '', two] = words
  const template = make.template({ containers: [make.container({ image: `acme/web:${one}` })] })
  const becomes = (pods: PodStatus, counts: Deployment['status'] = progressing) =>
    modified(pod(pods), deployment(counts))
  const tells = (
    [reason = '', message = '', count = '1', first = `${second}`]: readonly string[],
    container?: string,
  ) => {
    const times = { firstTimestamp: iso(Number(first)), lastTimestamp: iso(second) }
    const about = container === undefined ? {} : { container }
    return added(make.event(pod(), { reason, message, count: Number(count), ...times, ...about }))
  }
  if (verb === 'new') return added(deployment())
  if (verb === 'creating')
    return second === 0 ? begun : [...modified(deployment(progressing)), ...added(replicaSet, pod(creating))]
  if (verb === 'done') return done
  if (verb === 'ready') return becomes(toPodStatus(['ready', ...words].join(' '), second), complete())
  if (verb === 'pod') return modified(pod(podIs.ready(Number(two ?? second))))
  if (verb === 'dead' || verb === 'loop') return becomes(toPodStatus([verb, ...words].join(' '), second))
  if (verb === 'waits') return becomes(toPodStatus(`waits ${one}${two === undefined ? '' : `: ${two}`}`))
  if (verb === 'stuck') return modified(pod(podIs.unready({}, { phase: 'Pending' })))
  if (verb === 'pulled') return modified(pod(podIs.unready({ imageID: 'sha256:1' }, { phase: 'Pending' })))
  if (verb === 'falls') return becomes(podIs.unready({ state: is.running(-60) }))
  if (verb === 'image') return modified(deployment(progressing, { metadata: { generation: 2 }, spec: { template } }))
  if (verb === 'older') {
    const metadata = { name: `${name}-0`, creationTimestamp: iso(-3_600) }
    return added(make.replicaSet({ metadata }, deployment(undefined, { spec: { template } })))
  }
  if (verb === 'overdue') return modified(deployment({ ...progressing, conditions: [overdue] }))
  if (verb === 'gone') return deleted(deployment())
  if (verb === 'tells') return tells(words)
  if (verb === 'app' && one === 'tells') return tells(words.slice(1), 'app')
  throw new Error(`a tape cannot say "${name} ${verb} ${words.join(' ')}"`)
}

/** What a case asks besides its tape and its end. */
interface CaseOptions extends Omit<RunOptions, 'targets'>, Partial<Pick<Target, 'waitFor' | 'clocks'>> {
  /** The workloads that are gated: by default all that the tape names. */
  readonly gated?: readonly string[]
  /** The gate is looked at in this second, and not at its end. */
  readonly until?: number
  readonly message?: string
  /** How each target ends. */
  readonly targets?: readonly string[]
  /** Lines of the log. */
  readonly entries?: readonly string[]
}

type TapeCase = readonly [tape: string, end: string, options?: CaseOptions]

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

function testCase([text, end, options = {}]: TapeCase): void {
  const { gated, until, message, targets, entries, waitFor, clocks, ...rest } = options
  const steps = tape(text)
  const apiWords = /^(?:lists?|alive|cancel|fails|refuses|lost)$/
  const named = split(text.replace(/`[^`]*`/g, ''), ';').flatMap((step) =>
    split(step.replace(/^[\d.]+ /, ''), ',').map((thing) => thing.split(' ')[0] ?? ''),
  )
  const names = gated ?? [...new Set(named)].filter((name) => name !== '' && !apiWords.test(name))
  const gate = createGate(steps, {
    targets: names.map((name) =>
      createTarget({
        ...(name === 'job' ? { ...jobs, name: 'migrate' } : { name }),
        ...(waitFor && { waitFor }),
        ...(clocks && { clocks }),
      }),
    ),
    ...rest,
  })
  for (const event of steps.flat()) gate.handle(event)
  if (until !== undefined) gate.advance(moment(until))
  else for (let next = gate.nextDeadline(); next !== undefined; next = gate.nextDeadline()) gate.advance(next.at)
  const result = report(gate, until === undefined ? undefined : moment(until))
  expect(endOf(result)).toBe(end)
  if (message !== undefined) expect(result.message).toBe(message)
  if (targets !== undefined) expect(result.targets.map(endOf)).toEqual(targets)
  if (entries !== undefined) expect(result.entries).toEqual(expect.arrayContaining([...entries]))
}

/** The cases of a file: a group, its titles, and for each `[tape, end, options]`. */
export function testTapes(path: string): void {
  const groups = Object.entries(load(readFileSync(path, 'utf8')) as Record<string, Record<string, TapeCase>>)
  describe.each(groups)('%s', (_, cases) => it.each(Object.entries(cases))('%s', (_title, each) => testCase(each)))
}
