import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { Deployment, KubeObject, PodStatus } from '../../src/cluster/objects.ts'
import {
  added,
  alive,
  allSynced,
  at,
  createWorkload,
  creating,
  deleted,
  failed,
  modified,
  progressing,
  requestOf,
  unavailable,
} from './gate.ts'
import { apiVersionOf, type NamedObjects, toObject } from './named-objects.ts'
import { complete, condition, is, iso, make, podIs } from './objects.ts'
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
 *     web progressing, web complete, web set   the status of the Deployment alone; its ReplicaSet alone
 *     web overdue, web gone    its progress deadline is exceeded; the Deployment is deleted
 *     web tells R "words" 2 4  an event of its pod, with its count and first second; web app tells: of its container
 *
 *     web image v2             its template names `acme/web:v2`, in generation 2
 *     web older v0             its ReplicaSet of an hour ago, with this image
 *
 * `job` is the Job `migrate`, at work: `job complete`, `job failed`; `job gone`, `job gone Complete` with its last state;
 * `job tells R 49`, an event of it with its last second.
 *
 * A name of the file's `objects` is that object as it is there; `front gone` is its deletion, `front tells …` an event about
 * it, `front app tells …` about its container, and of a pod `front loop 2` the same with this status.
 *
 * Of the API: `lists` are complete (those of a Deployment, of Jobs, and of the kinds of the file), or `list Pod`, narrowed as
 * `Pod?app=web`, `Deployment@apps`, `Deployment@apps/front`, `Node@` without a namespace; `alive` or `alive Pod`;
 * `fails 403 Pod "words"`, `refuses 401 Pod "words"` for good; `lost Pod 5 503 "words"`: unavailable since second 5, with this status;
 * `answer web-1-a 500`, `answer web-1-a "an error"`, `answer web-1-a 500 "body"` to the first request of `checks`;
 * `serves Widget`, `serves Widget plainly` without a status subresource; `unserved Deployment`, `unserved Deployment web`; `cancel`.
 *
 * `$name` is a part of a tape that is named in the file's `tapes` (`withParts`).
 */
export function tape(text: string, objects: NamedObjects = {}): FeedEvent[][] {
  return split(text, ';').map((step) => {
    const [, second = fail(`no second begins "${step}"`), things = ''] = /^(-?[\d.]+) (.*)$/s.exec(step) ?? []
    return at(Number(second), ...split(things, ',').map((thing) => inWords(thing, Number(second), objects)))
  })
}

/** A tape with the parts that it names: `$refused`, or `$refused(web-1-a)`, which is what `$1` stands for in that part. */
export function withParts(text: string, parts: Readonly<Record<string, string>>): string {
  const part = (name: string) => parts[name] ?? fail(`there is no tape "${name}"`)
  const whole = text.replace(/\$([a-z]\w*)(?:\(([\w-]+)\))?/gi, (_, name: string, of = '') =>
    part(name).replaceAll('$1', of),
  )
  return whole === text ? text : withParts(whole, parts)
}

function fail(message: string): never {
  throw new Error(message)
}

/** Splits at a separator outside of quotes. */
export function split(text: string, separator: ';' | ','): string[] {
  return (text.match(separator === ';' ? /(?:`[^`]*`|[^`;])+/g : /(?:`[^`]*`|[^`,])+/g) ?? []).map((part) =>
    part.trim(),
  )
}

/** What a part of a tape says: `web ready 3`. */
export function inWords(thing: string, second: number, objects: NamedObjects = {}): Observation | Observation[] {
  const words = (thing.match(/`[^`]*`|\S+/g) ?? []).map((word) => word.replaceAll('`', ''))
  const [first = '', one = '', two, three, four] = words
  if (objects[first] !== undefined) return ofObject(first, words.slice(1), second, objects)
  if (first === 'lists') return [...allSynced, ...[...kindsOf(objects), 'Job'].map((kind) => listOf(kind, objects))]
  if (first === 'list') return words.slice(1).map((word) => listOf(word, objects))
  if (first === 'alive') return { ...(one && { ...listOf(one, objects) }), ...alive }
  if (first === 'cancel') return { type: 'CANCEL' }
  if (first === 'answer') {
    const said = /^\d+$/.test(two ?? '') ? { status: Number(two), ...(three && { body: three }) } : { error: two ?? '' }
    return { type: 'ANSWER', check: 0, pod: one, ...said }
  }
  if (first === 'fails' || first === 'refuses') {
    const { type: _, ...of } = two === undefined || two === '-' ? { type: '' } : listOf(two, objects)
    return {
      ...failed(Number(one), undefined, three),
      ...of,
      ...(first === 'refuses' && { final: true }),
    } as Observation
  }
  if (first === 'lost') {
    const { type: _, ...of } = listOf(one, objects)
    return {
      ...unavailable(one, Number(two), Number(three ?? 0)),
      ...of,
      ...(four && { message: four }),
    } as Observation
  }
  if (first === 'serves') return served(one, apiVersionOf(one, objects), two !== 'plainly')
  if (first === 'unserved') {
    return {
      ...listOf(one, objects),
      ...(two !== undefined && { name: two }),
      type: 'ERROR',
      code: 404,
      message: `no ${one}`,
    }
  }
  if (first === 'job') return ofJob(words.slice(1), second)
  return ofWorkload(first, words.slice(1), second)
}

function kindsOf(objects: NamedObjects): readonly string[] {
  const kinds = Object.values(objects).flatMap(({ kind }) => kind ?? [])
  return [...new Set(kinds)].filter((kind) => !['Deployment', 'ReplicaSet', 'Pod', 'Event', 'Job'].includes(kind))
}

function listOf(words: string, objects: NamedObjects): Observation & { readonly type: 'SYNCED' } {
  return { type: 'SYNCED', ...requestOf(words, objects) }
}

function served(kind: string, apiVersion: string, status: boolean): Observation {
  const [group = '', version = ''] = apiVersion.split('/')
  const plural = `${kind.toLowerCase()}s`
  return { type: 'DISCOVERY', resources: [{ group, version, kind, plural, namespaced: true, status }] }
}

/** An event about an object, or a container of it, in words: its reason, message, count and first second. */
function told(
  about: KubeObject,
  [reason = '', message = '', count = '1', first]: readonly string[],
  second: number,
  container?: string,
) {
  const times = { firstTimestamp: iso(Number(first ?? second)), lastTimestamp: iso(second) }
  return make.event(about, { reason, message, count: Number(count), ...times, ...(container && { container }) })
}

function ofObject(name: string, [verb, ...words]: readonly string[], second: number, objects: NamedObjects) {
  const object = toObject(name, objects)
  if (verb === undefined) return added(object)
  if (verb === 'gone') return deleted(object)
  if (verb === 'tells') return added(told(object, words, second))
  const [one, two] = words
  if (one === 'tells') return added(told(object, words.slice(1), second, verb))
  const text = verb === 'waits' && two !== undefined ? `waits ${one}: ${two}` : [verb, ...words].join(' ')
  return added(toObject(name, objects, toPodStatus(text, second)))
}

const jobs = { apiVersion: 'batch/v1', kind: 'Job' }
export const jobTarget = { ...jobs, name: 'migrate' }

function ofJob([verb, one = '', two = '0']: readonly string[], second: number): Observation[] {
  const migration = (state = ''): KubeObject => ({
    ...jobs,
    metadata: { name: 'migrate', namespace: 'shop', uid: 'migrate-uid' },
    status: { active: 1, conditions: state === '' ? [] : [condition(state, 'True', { reason: 'Done' })] },
  })
  if (verb === undefined) return added(migration())
  if (verb === 'complete' || verb === 'failed') return modified(migration(verb === 'failed' ? 'Failed' : 'Complete'))
  if (verb === 'gone') return deleted(migration(one))
  if (verb === 'tells') return added(make.event(migration(), { reason: one, lastTimestamp: iso(Number(two)) }))
  throw new Error(`a tape cannot say "job ${verb}" in second ${second}`)
}

function ofWorkload(name: string, [verb, ...words]: readonly string[], second: number): Observation[] {
  const { deployment, replicaSet, pod, done, creating: begun } = createWorkload(name)
  const [one = '', two] = words
  const template = make.template({ containers: [make.container({ image: `acme/web:${one}` })] })
  const becomes = (pods: PodStatus, counts: Deployment['status'] = progressing) =>
    modified(pod(pods), deployment(counts))
  const tells = (said: readonly string[], container?: string) => added(told(pod(), said, second, container))
  if (verb === 'new') return added(deployment())
  if (verb === 'creating')
    return second === 0 ? begun : [...added(replicaSet, pod(creating)), ...modified(deployment(progressing))]
  if (verb === 'done') return done
  if (verb === 'ready') return becomes(toPodStatus(['ready', ...words].join(' '), second), complete())
  if (verb === 'pod') return modified(pod(podIs.ready(Number(two ?? second))))
  if (verb === 'dead' || verb === 'loop') return becomes(toPodStatus([verb, ...words].join(' '), second))
  if (verb === 'waits') return becomes(toPodStatus(`waits ${one}${two === undefined ? '' : `: ${two}`}`))
  if (verb === 'stuck') return modified(pod(podIs.unready({}, { phase: 'Pending' })))
  if (verb === 'pulled') return modified(pod(toPodStatus('pulled')))
  if (verb === 'falls') return becomes(podIs.unready({ state: is.running(-60) }))
  if (verb === 'image') return modified(deployment(progressing, { metadata: { generation: 2 }, spec: { template } }))
  if (verb === 'older') {
    const metadata = { name: `${name}-0`, creationTimestamp: iso(-3_600) }
    return added(make.replicaSet({ metadata }, deployment(undefined, { spec: { template } })))
  }
  if (verb === 'set') return added(replicaSet)
  if (verb === 'progressing') return modified(deployment(progressing))
  if (verb === 'complete') return modified(deployment(complete()))
  if (verb === 'overdue') return modified(deployment({ ...progressing, conditions: [overdue] }))
  if (verb === 'gone') return deleted(deployment())
  if (verb === 'tells') return tells(words)
  if (verb === 'app' && one === 'tells') return tells(words.slice(1), 'app')
  throw new Error(`a tape cannot say "${name} ${verb} ${words.join(' ')}"`)
}
