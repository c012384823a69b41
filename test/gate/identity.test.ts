import type { Observation } from '../../src/cluster/feed.ts'
import type { KubeObject, PodTemplate } from '../../src/cluster/objects.ts'
import { compareVersions } from '../../src/lifecycle/versions.ts'
import {
  added,
  at,
  createTarget,
  createWorkload,
  deleted,
  modified,
  progressing,
  run,
  runUntil,
  synced,
} from '../kit/gate.ts'
import { iso, make } from '../kit/objects.ts'
import { readData } from '../kit/rows.ts'
import { createGateTime } from '../kit/rule.ts'
import { endOf } from '../kit/tape-cases.ts'

const web = createWorkload('web')
const next = make.template({ containers: [make.container({ image: 'acme/web:v2' })] })
const previous = make.template({ containers: [make.container({ image: 'acme/web:v0' })] })
const annotated: PodTemplate = {
  ...make.template(),
  metadata: { labels: { app: 'web' }, annotations: { 'kubectl.kubernetes.io/restartedAt': 'now' } },
}
const labelled = make.template({}, { stage: 'b' })
const reloaded = make.template({ containers: [make.container({ env: [{ name: 'HASH', value: 'x' }] })] })

/** The versions of an object whose template was not changed since it was gated first. */
const versions = (object: KubeObject) => ({ history: { first: object }, gated: object })

describe('a later version of a target', () => {
  const withTemplate = (template: PodTemplate) => make.deployment({ metadata: { generation: 2 }, spec: { template } })
  const withUid = (uid: string, template: PodTemplate) => make.deployment({ metadata: { uid }, spec: { template } })
  const oldRevision = make.replicaSet(
    { metadata: { creationTimestamp: iso(-3600) } },
    make.deployment({ spec: { template: previous } }),
  )

  it.each([
    [
      'is the same target if it was scaled',
      make.deployment({ metadata: { generation: 2 }, spec: { replicas: 9 } }),
      'same',
    ],
    ['is a replacement if it has another uid', make.deployment({ metadata: { uid: 'other' } }), 'replaced'],
    ['is a replacement if it has another uid and a new annotation', withUid('other', annotated), 'replaced'],
    ['is superseded if it has another uid and another image', withUid('other', next), 'superseded'],
    ['is followed if it has a new annotation', withTemplate(annotated), 'followed'],
    ['is followed if it has another label', withTemplate(labelled), 'followed'],
    ['is followed if it has an additional variable', withTemplate(reloaded), 'followed'],
    ['is superseded if it has another image', withTemplate(next), 'superseded'],
    ['is rolled back if it has the image of an older revision', withTemplate(previous), 'rolled-back'],
  ])('%s', (_, object, change) => {
    expect(compareVersions(versions(make.deployment()), object, [oldRevision], {}, createGateTime())).toMatchObject({
      type: change,
    })
  })

  it.each([
    ['is a text', 'a', 'b'],
    ['is a list', ['a'], ['b']],
    ['has containers that are no list', { spec: { containers: { a: 1 } } }, { spec: { containers: { a: 2 } } }],
    ['has a spec that is a text', { spec: 'a' }, { spec: 'b' }],
  ])('is compared only by its uid if its template %s', (_, before, after) => {
    const custom = (template: unknown) =>
      ({ apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x', uid: 'x' }, spec: { template } }) as KubeObject
    expect(compareVersions(versions(custom(before)), custom(after), [], {}, createGateTime())).toEqual({
      type: 'same',
    })
  })

  // A queue such as Kueue sets where the pods of a suspended Job run, and resumes the Job.
  it('is the same Job if a queue changed its template', () => {
    const jobWith = (spec: object) =>
      ({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'j', uid: 'j' }, spec }) as KubeObject
    const queued = jobWith({ suspend: true, template: make.template() })
    const admitted = jobWith({ suspend: false, template: make.template({ schedulingGates: [{ name: 'topology' }] }) })
    expect(compareVersions(versions(queued), admitted, [], {}, createGateTime())).toEqual({ type: 'same' })
  })

  it('is compared only by its uid if it has no template', () => {
    const serviceWith = (spec: object) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 's', uid: 's' },
      spec,
    })
    expect(compareVersions(versions(serviceWith({ a: 1 })), serviceWith({ a: 2 }), [], {}, createGateTime())).toEqual({
      type: 'same',
    })
  })
})

/** A kind of workload, and the form in which its controller keeps a revision. */
interface Kind {
  readonly kind: string
  workload(template: PodTemplate, generation?: number): KubeObject
  /** A revision that was made at this second, with the number that it has now and those that it had before. */
  revision(name: string, template: PodTemplate, made: number, number: number, before?: string): KubeObject
}

const deploymentKind: Kind = {
  kind: 'Deployment',
  workload: (template, generation = 1) => web.deployment(progressing, { metadata: { generation }, spec: { template } }),
  revision: (name, template, made, number, before) =>
    make.replicaSet(
      {
        metadata: {
          name,
          creationTimestamp: iso(made),
          annotations: {
            'deployment.kubernetes.io/revision': `${number}`,
            ...(before === undefined ? {} : { 'deployment.kubernetes.io/revision-history': before }),
          },
        },
      },
      web.deployment(undefined, { spec: { template } }),
    ),
}

const setKind = (kind: 'StatefulSet' | 'DaemonSet'): Kind => {
  const workload = (template: PodTemplate, generation = 1): KubeObject => ({
    ...web.deployment(undefined, { metadata: { generation }, spec: { template } }),
    status: { observedGeneration: generation, desiredNumberScheduled: 1 },
    kind,
  })
  return {
    kind,
    workload,
    revision: (name, template, made, revision) =>
      make.revision(workload(template), name, revision, { creationTimestamp: iso(made) }, template),
  }
}

type Tables = Readonly<
  Record<'is rolled back' | 'is superseded', readonly (readonly [string, string, second: number])[]>
> & {
  readonly templates: Readonly<Record<string, PodTemplate>>
  readonly 'goes on to be gated': readonly (readonly [string, string, words: string, times: number])[]
}

const data = readData(import.meta.filename.replace('.test.ts', '.yaml')) as Tables
const begun = '0 becomes gated 4, revision old older -3600 1, revision new gated -1 2, lists'

describe.each([deploymentKind, setKind('StatefulSet'), setKind('DaemonSet')])(
  'a $kind whose template changes during the gate',
  ({ kind, workload, revision }) => {
    const options = { targets: [createTarget({ kind })] }
    const others = synced(kind === 'Deployment' ? 'ReplicaSet' : 'ControllerRevision', 'Node', 'Pod', 'Event')
    const lists = { workload: synced(kind), others, all: [...synced(kind), ...others] }
    const templateOf = (name: string) => {
      const template = data.templates[name]
      if (template === undefined) throw new Error(`there is no template ${name}`)
      return template
    }
    const version = (name: string, generation = '5', trait = ''): KubeObject => {
      const { metadata, ...rest } = workload(templateOf(name), Number(generation))
      const leaving = { deletionTimestamp: iso(-1), finalizers: ['foregroundDeletion'] }
      const own = { other: { uid: 'other-uid' }, leaving, '': {} }[trait]
      return { ...rest, metadata: { ...metadata, ...own } }
    }
    /** What happens, in the words of the file. */
    const happening = (words: string): Observation[] => {
      const [verb, name = '', template = '', ...rest] = words.split(' ')
      if (verb === 'lists') return lists[(name || 'all') as keyof typeof lists]
      if (verb === 'gone') return deleted(version('gated', '4'))
      if (verb === 'becomes') return modified(version(name, template || undefined, rest[0]))
      const [made, number, before] = rest
      const object = revision(name, templateOf(template), Number(made), Number(number), before)
      return verb === 'removed' ? deleted(object) : added(object)
    }
    const tape = (text: string) =>
      text
        .replace('$begun', begun)
        .split('; ')
        .map((step) => {
          const [, second, words = ''] = /^([\d.]+) (.*)$/.exec(step) ?? []
          return at(Number(second), ...words.split(', ').map(happening))
        })

    it.each(data['is rolled back'])('is rolled back %s', (_, text, second) => {
      expect(endOf(run(tape(text), options))).toBe(`superseded rolled-back ${second}`)
    })

    it.each(data['is superseded'])('is superseded %s', (_, text, second) => {
      expect(endOf(run(tape(text), options))).toBe(`superseded superseded ${second}`)
    })

    it.each(data['goes on to be gated'])('stays gated %s', (_, text, words, times) => {
      const { outcome, entries } = runUntil(25, tape(text), options)
      expect(outcome).toBeUndefined()
      expect(entries.filter((entry) => entry.includes(words))).toHaveLength(times)
    })
  },
)
