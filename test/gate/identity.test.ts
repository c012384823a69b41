import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { KubeObject, ManagedFields, PodTemplate } from '../../src/cluster/objects.ts'
import { revisionHooks } from '../../src/lifecycle/workloads/gated-revision.ts'
import {
  added,
  allSynced,
  at,
  createTarget,
  createWorkload,
  creating,
  deleted,
  modified,
  progressing,
  type Run,
  run,
  runUntil,
  synced,
} from '../kit/gate.ts'
import { complete, condition, is, iso, make, moment, podIs } from '../kit/objects.ts'
import { createGateTime } from '../kit/rule.ts'

const web = createWorkload('web')
const next = make.template({ containers: [make.container({ image: 'acme/web:v2' })] })
const previous = make.template({ containers: [make.container({ image: 'acme/web:v0' })] })
const annotated: PodTemplate = {
  ...make.template(),
  metadata: { labels: { app: 'web' }, annotations: { 'kubectl.kubernetes.io/restartedAt': 'now' } },
}
const labelled = make.template({}, { stage: 'b' })
const reloaded = make.template({ containers: [make.container({ env: [{ name: 'HASH', value: 'x' }] })] })

const annotate = (annotations: Record<string, string>): PodTemplate => {
  const { metadata, spec } = make.template()
  return { metadata: { ...metadata, annotations }, ...(spec === undefined ? {} : { spec }) }
}
const restarted = (nth: string) => annotate({ 'checksum/config': 'b', 'kubectl.kubernetes.io/restartedAt': nth })
const withVariables = (variables: Record<string, string>) => {
  const env = Object.entries(variables).map(([name, value]) => ({ name, value }))
  return make.template({ containers: [make.container({ env })] })
}

/** The versions of an object whose template was not changed since it was gated first. */
const versions = (object: KubeObject) => ({ first: object, gated: object })

describe('a later version of a target', () => {
  const withTemplate = (template: PodTemplate) => make.deployment({ metadata: { generation: 2 }, spec: { template } })
  const withUid = (uid: string, template: PodTemplate) => make.deployment({ metadata: { uid }, spec: { template } })
  const oldRevision = make.replicaSet(
    { metadata: { creationTimestamp: iso(-3600) } },
    make.deployment({ spec: { template: previous } }),
  )

  it.each([
    ['that was scaled is the same', make.deployment({ metadata: { generation: 2 }, spec: { replicas: 9 } }), 'same'],
    ['of another uid is a replacement', make.deployment({ metadata: { uid: 'other' } }), 'replaced'],
    ['of another uid with an annotation is a replacement', withUid('other', annotated), 'replaced'],
    ['of another uid with another image is superseded', withUid('other', next), 'superseded'],
    ['with an annotation is followed', withTemplate(annotated), 'followed'],
    ['with another label is followed', withTemplate(labelled), 'followed'],
    ['with an added variable is followed', withTemplate(reloaded), 'followed'],
    ['with another image is superseded', withTemplate(next), 'superseded'],
    ['with the image of an older revision is rolled back', withTemplate(previous), 'rolled-back'],
  ])('%s', (_, object, change) => {
    expect(revisionHooks.compare(versions(make.deployment()), object, [oldRevision], createGateTime())).toMatchObject({
      type: change,
    })
  })

  it.each([
    ['a text', 'a', 'b'],
    ['a list', ['a'], ['b']],
    ['containers that are no list', { spec: { containers: { a: 1 } } }, { spec: { containers: { a: 2 } } }],
    ['a specification that is a text', { spec: 'a' }, { spec: 'b' }],
  ])('whose template is %s is compared by its uid alone', (_, before, after) => {
    const custom = (template: unknown) =>
      ({ apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x', uid: 'x' }, spec: { template } }) as KubeObject
    expect(revisionHooks.compare(versions(custom(before)), custom(after), [], createGateTime())).toEqual({
      type: 'same',
    })
  })

  // A queue such as Kueue sets where the pods of a suspended Job run, and resumes the Job.
  it('is the same Job although a queue changed its template', () => {
    const job = (spec: object) =>
      ({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'j', uid: 'j' }, spec }) as KubeObject
    const queued = job({ suspend: true, template: make.template() })
    const admitted = job({ suspend: false, template: make.template({ schedulingGates: [{ name: 'topology' }] }) })
    expect(revisionHooks.compare(versions(queued), admitted, [], createGateTime())).toEqual({ type: 'same' })
  })

  it('without a template is compared by its uid alone', () => {
    const service = (spec: object) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's', uid: 's' }, spec })
    expect(revisionHooks.compare(versions(service({ a: 1 })), service({ a: 2 }), [], createGateTime())).toEqual({
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

describe.each([deploymentKind, setKind('StatefulSet'), setKind('DaemonSet')])(
  'a $kind whose template changes during the wait',
  ({ kind, workload, revision }) => {
    const list = (each: string): Observation => ({
      type: 'SYNCED',
      apiVersion: 'apps/v1',
      kind: each,
      namespace: 'shop',
    })
    const options = { targets: [createTarget({ kind })] }
    const gated = annotate({ 'checksum/config': 'b' })
    const older = annotate({ 'checksum/config': 'a' })
    const others: Observation[] = [
      list(kind === 'Deployment' ? 'ReplicaSet' : 'ControllerRevision'),
      { type: 'SYNCED', apiVersion: 'v1', kind: 'Node' },
      ...synced('Pod', 'Event'),
    ]
    const all = [list(kind), ...others]
    const templates: Readonly<Record<string, PodTemplate>> = {
      gated,
      older,
      'restart-1': restarted('1'),
      'restart-2': restarted('2'),
    }
    const templateOf = (name: string) => {
      const template = templates[name]
      if (template === undefined) throw new Error(`there is no template ${name}`)
      return template
    }
    /** `becomes older 6`: its template, in this generation; `revision new gated -1 2 1`: name, template, second, numbers. */
    const happening = (words: string): Observation[] => {
      const [verb, name = '', ...rest] = words.split(' ')
      if (verb === 'lists') return name === 'workload' ? [list(kind)] : name === 'others' ? others : all
      if (verb === 'becomes') return modified(workload(templateOf(name), Number(rest[0] ?? 5)))
      const [template = '', made, number, before] = rest
      return added(revision(name, templateOf(template), Number(made), Number(number), before))
    }
    const tape = (text: string) =>
      text.split('; ').map((step) => {
        const [, second, words = ''] = /^([\d.]+) (.*)$/.exec(step) ?? []
        return at(Number(second), ...words.split(', ').map(happening))
      })
    const begun = '0 becomes gated 4, revision old older -3600 1, revision new gated -1 2, lists'
    const begin = tape(begun).flat()
    const changed = (seconds: number, template: PodTemplate, generation = 5) =>
      at(seconds, modified(workload(template, generation)))

    it.each<[string, PodTemplate, PodTemplate]>([
      ['an annotation', gated, older],
      ['a label', make.template({}, { stage: 'b' }), make.template({}, { stage: 'a' })],
      ['an added variable', withVariables({ A: '1', B: '2' }), withVariables({ A: '1' })],
      ['a removed variable', withVariables({ A: '1' }), withVariables({ A: '1', B: '2' })],
      ['the value of a variable of Reloader', withVariables({ STAKATER_X: '2' }), withVariables({ STAKATER_X: '1' })],
    ])('is rolled back when the change of %s is undone', (_, present, past) => {
      const objects = [workload(present, 4), revision('old', past, -3600, 1), revision('new', present, -1, 2)]
      const steps = [at(0, added(...objects), all), changed(5, past)]
      expect(run(steps, options)).toMatchObject({ outcome: 'superseded', reason: 'rolled-back', seconds: 5 })
    })

    it.each([
      ['by the revision as it was', `${begun}; 5 becomes older`],
      [
        'although its revision got its next number first',
        `${begun}; 4.9 revision old older -3600 3 1; 5 becomes older`,
      ],
      [
        'to a revision made in the second in which the gated one was made',
        '0 becomes gated 4, revision old older -1 1, revision new gated -1 2, lists; 5 becomes older',
      ],
      [
        'from a revision that was itself gone back to',
        '0 becomes gated 4, revision new gated -7200 3 1, revision old older -3600 2, lists; 5 becomes older',
      ],
      [
        'before the revisions were listed',
        '0 becomes gated 4, lists workload; 1 becomes older; 2 revision old older -3600 3 1, revision new gated -1 2, lists others',
      ],
      [
        'before the controller made the gated revision',
        '0 becomes gated 4, revision old older -3600 1, lists; 5 becomes older',
      ],
      [
        'after a restart, to a revision that is older than the one gated first',
        `${begun}; 5 becomes restart-1; 5.1 revision restart restart-1 5 3; 8 becomes older 6`,
      ],
    ])('is rolled back %s', (_, text) => {
      expect(run(tape(text), options)).toMatchObject({ outcome: 'superseded', reason: 'rolled-back' })
    })

    it.each([
      ['once', `${begun}; 5 becomes restart-1`],
      ['twice', `${begun}; 5 becomes restart-1; 6 becomes restart-2 6`],
      [
        'twice, and the new revisions are seen first',
        `${begun}; 4.9 revision restart-1 restart-1 4 3; 5 becomes restart-1; 5.9 revision restart-2 restart-2 5 4; 6 becomes restart-2 6`,
      ],
      [
        'twice, and its watch is late by seconds',
        `${begun}; 5 revision restart-1 restart-1 5 3, revision restart-2 restart-2 9 4; 20 becomes restart-1; 20.1 becomes restart-2 6`,
      ],
      [
        'before the revisions were listed',
        '0 becomes gated 4, lists workload; 1 becomes restart-1; 2 revision old older -3600 1, revision new gated -1 2, revision restart restart-1 1 3, lists others',
      ],
    ])('goes on to be gated when it is restarted %s', (_, text) => {
      const { outcome, entries } = runUntil(25, tape(text), options)
      expect(outcome).toBeUndefined()
      expect(entries).toContainEqual(expect.stringMatching(/note its template changed only in annotations/))
    })

    // An operator that owns the template, such as Flux or Argo CD with self-heal, removes the annotation of a restart.
    it.each([
      ['by its revision as it was', ''],
      ['although its revision got its next number first', '7.9 revision new gated -1 4 2; '],
    ])('goes on to be gated when a restart is undone %s', (_, text) => {
      const undone = `${begun}; 5 becomes restart-1; 5.1 revision restart restart-1 5 3; ${text}8 becomes gated 6`
      const { outcome, entries } = runUntil(25, tape(undone), options)
      expect(outcome).toBeUndefined()
      expect(entries).toContainEqual(
        expect.stringMatching(/^8 note its template is again the one that was gated first/),
      )
    })

    it('is superseded when it is deleted and created again with another image', () => {
      const again = { ...workload(next), metadata: { ...workload(next).metadata, uid: 'other-uid' } }
      expect(run([begin, at(5, deleted(workload(gated, 4))), at(6, added(again))], options)).toMatchObject({
        outcome: 'superseded',
        reason: 'superseded',
        seconds: 6,
      })
    })

    it('is gated again when it is deleted and created again with the same template', () => {
      const again = { ...workload(gated), metadata: { ...workload(gated).metadata, uid: 'other-uid' } }
      const { outcome, entries } = runUntil(
        25,
        [begin, at(5, deleted(workload(gated, 4))), at(6, added(again))],
        options,
      )
      expect(outcome).toBeUndefined()
      expect(entries).toContainEqual(expect.stringMatching(/^6 note was replaced by a new object of the same name/))
    })

    // A script may delete the old object and begin the gate before the new one is applied.
    it('is gated again with another image if it was being deleted when the gate began', () => {
      const { metadata, ...rest } = workload(gated, 4)
      const leaving = {
        ...rest,
        metadata: { ...metadata, deletionTimestamp: iso(-1), finalizers: ['foregroundDeletion'] },
      }
      const again = { ...workload(next), metadata: { ...workload(next).metadata, uid: 'other-uid' } }
      const steps = [at(0, added(leaving), all), at(5, deleted(leaving)), at(6, added(again))]
      expect(runUntil(25, steps, options).outcome).toBeUndefined()
    })

    // A controller removes the older revision as soon as it has completed the rollout (cleanupDeployment, truncateHistory).
    it('is rolled back to a revision that was removed since, with a revisionHistoryLimit of 0', () => {
      const steps = [begin, at(3, deleted(revision('old', older, -3600, 1))), changed(5, older)]
      expect(run(steps, options)).toMatchObject({ outcome: 'superseded', reason: 'rolled-back', seconds: 5 })
    })

    it('is followed each time that Reloader changes its variable', () => {
      const reloads = ['2', '3', '4'].map((value, nth) =>
        changed(5 + nth, withVariables({ A: '1', STAKATER_SECRET: value }), 5 + nth),
      )
      const steps = [at(0, added(workload(withVariables({ A: '1', STAKATER_SECRET: '1' }), 4)), all), ...reloads]
      const { outcome, entries } = runUntil(25, steps, options)
      expect(outcome).toBeUndefined()
      expect(entries.filter((entry) => entry.includes('the gate follows it'))).toHaveLength(3)
    })

    it('is superseded by a change that no revision carries', () => {
      expect(run([begin, changed(5, next)], options)).toMatchObject({ reason: 'superseded', seconds: 5 })
    })
  },
)

const first = at(0, web.creating, allSynced)
const apply = (template: PodTemplate, generation = 2) =>
  modified(web.deployment(progressing, { metadata: { generation }, spec: { template } }))
describe('another change during the wait', () => {
  it.each<[string, FeedEvent[][], Partial<Run>]>([
    [
      'of a second apply is superseded although its new ReplicaSet is seen first',
      [
        at(
          5,
          added(
            make.replicaSet(
              { metadata: { name: 'web-2', creationTimestamp: iso(5) } },
              web.deployment(undefined, { spec: { template: next } }),
            ),
          ),
        ),
        at(5.1, apply(next)),
      ],
      { outcome: 'superseded', reason: 'superseded' },
    ],
    [
      'after one that was followed is compared with that one',
      [at(3, apply(reloaded)), at(5, apply(annotated, 3))],
      { outcome: 'superseded', reason: 'superseded', seconds: 5 },
    ],
  ])('%s', (_, steps, expected) => {
    expect(run([first, ...steps])).toMatchObject(expected)
  })

  it.each([
    ['an annotation', annotated],
    ['a label', labelled],
    ['an added variable', reloaded],
  ])('of %s is followed until ready, and logged', (_, template) => {
    const change = { metadata: { generation: 2 }, spec: { template } }
    const set = make.replicaSet(
      { metadata: { name: 'web-2', creationTimestamp: iso(5) } },
      web.deployment(undefined, change),
    )
    const pod = (status: object) => make.pod({ metadata: { name: 'web-2-a' }, status }, set)
    const steps = [
      first,
      at(5, apply(template)),
      at(
        6,
        added(set, pod(creating)),
        modified(web.deployment({ ...progressing, observedGeneration: 2, replicas: 2 }, change)),
      ),
      at(8, modified(pod(podIs.ready(8)), web.deployment(complete(1, { observedGeneration: 2 }), change))),
    ]
    const { outcome, seconds, entries } = run(steps)
    expect({ outcome, seconds }).toEqual({ outcome: 'ready', seconds: 18 })
    expect(entries).toContainEqual(expect.stringMatching(/^5 note its template changed only in annotations/))
  })

  it('of the number of replicas neither supersedes nor rolls back', () => {
    const steps = [
      first,
      at(5, modified(web.deployment(progressing, { metadata: { generation: 2 }, spec: { replicas: 2 } }))),
    ]
    expect(runUntil(60, steps)).toMatchObject({ outcome: undefined, targets: [{ outcome: 'progressing' }] })
  })

  it('of the number of replicas is logged, with its manager', () => {
    const scaled = (generation: number, replicas: number, managedFields: ManagedFields[] = []) =>
      modified(web.deployment(progressing, { metadata: { generation, managedFields }, spec: { replicas } }))
    const autoscaler = { manager: 'kube-controller-manager', operation: 'Update', subresource: 'scale' }
    const steps = [first, at(5, scaled(2, 3)), at(6, scaled(2, 3)), at(7, scaled(3, 0, [autoscaler]))]
    const { entries } = runUntil(10, steps)
    expect(entries.filter((entry) => entry.includes('scaled'))).toEqual([
      '5 note scaled from 1 to 3 replicas',
      '7 note scaled from 3 to 0 replicas by kube-controller-manager (scale)',
    ])
  })

  it('is ignored once its target has ended', () => {
    const api = createWorkload('api')
    const broken = {
      phase: 'Pending',
      containerStatuses: [{ name: 'app', state: { waiting: { reason: 'InvalidImageName' } } }],
    }
    const steps = [
      at(0, added(web.deployment(progressing), web.replicaSet, web.pod(broken)), api.creating, allSynced),
      at(3, apply(next)),
    ]
    expect(run(steps, { targets: [web.target, api.target] }).targets[0]).toMatchObject({
      outcome: 'failed',
      seconds: 0,
    })
  })
})

describe('the message of a target that was changed', () => {
  const entry = (manager: string, second: number, rest: object = {}) => ({
    manager,
    operation: 'Update',
    time: iso(second),
    ...rest,
  })
  const version = (generation: number, template: PodTemplate, managedFields: ManagedFields[]) =>
    web.deployment(progressing, { metadata: { generation, managedFields }, spec: { template } })
  const helm = entry('helm', -5)
  const controller = entry('kube-controller-manager', 2, { subresource: 'status' })
  const setOf = (template: PodTemplate, name: string, number: string) =>
    make.replicaSet(
      { metadata: { name, annotations: { 'deployment.kubernetes.io/revision': number } } },
      web.deployment(undefined, { spec: { template } }),
    )
  const begin = at(
    0,
    added(version(3, make.template(), [helm]), setOf(previous, 'web-0', '6'), setOf(make.template(), 'web-1', '7')),
    allSynced,
  )

  it.each<[string, KubeObject, string]>([
    [
      'names the changes and their manager',
      version(4, next, [helm, entry('kubectl-edit', 5), controller]),
      'another change by kubectl-edit replaced the one being gated (generation 3 → 4): container app: image acme/web:v1 → acme/web:v2',
    ],
    [
      'names one of many changes',
      version(
        4,
        make.template({
          containers: [make.container({ image: 'acme/web:v2', args: ['x'], command: ['y'], env: [{ name: 'A' }] })],
        }),
        [entry('helm', 5)],
      ),
      'another change by helm replaced the one being gated (generation 3 → 4): container app: image acme/web:v1 → acme/web:v2, and 3 more',
    ],
    [
      'is without a manager where managedFields show none',
      version(4, make.template({ serviceAccountName: 'other' }), [helm, entry('unknown', 5), controller]),
      'another change replaced the one being gated (generation 3 → 4): serviceAccountName (none) → other',
    ],
    [
      'names the revision of a rollback',
      version(4, previous, [helm, entry('kubectl-rollout', 5)]),
      'was rolled back to revision 6 during the wait by kubectl-rollout (generation 3 → 4)',
    ],
  ])('%s', (_, changed, message) => {
    expect(run([begin, at(5, modified(changed))]).targets[0]?.message).toBe(message)
  })
})

describe('a target that is deleted', () => {
  const gone = at(50, deleted(web.deployment()))
  const again = (uid: string, status = progressing) => make.deployment({ metadata: { uid }, status })

  it('and is created again within 5 s is gated from its first milestone', () => {
    const set = make.replicaSet({ metadata: { name: 'web-9' } }, again('new-uid'))
    const pod = make.pod({ metadata: { name: 'web-9-a' }, status: podIs.ready(60) }, set)
    const steps = [
      at(0, web.creating, allSynced),
      gone,
      at(54, added(make.deployment({ metadata: { uid: 'new-uid' } }))),
      at(60, added(set, pod), modified(again('new-uid', complete()))),
    ]
    const { outcome, seconds, entries, record } = run(steps)
    expect({ outcome, seconds }).toEqual({ outcome: 'ready', seconds: 70 })
    expect(entries).toContainEqual(expect.stringMatching(/^54 note was replaced by a new object of the same name/))
    expect(record.targets[0]?.milestones[0]).toMatchObject({ name: 'created', at: moment(54) })
  })

  it('and is created again has its problems logged again', () => {
    const invalid = {
      phase: 'Pending',
      containerStatuses: [make.containerStatus({ state: is.waiting('ErrImagePull', 'refused') })],
    }
    const next = make.deployment({ metadata: { uid: 'new-uid' }, status: progressing })
    const set = make.replicaSet({ metadata: { name: 'web-9' } }, next)
    const steps = [
      first,
      at(1, modified(web.pod(invalid))),
      gone,
      at(51, deleted(web.pod(), web.replicaSet)),
      at(54, added(next, set, make.pod({ metadata: { name: 'web-9-a' }, status: invalid }, set))),
    ]
    const { entries } = runUntil(60, steps)
    expect(entries.filter((entry) => entry.includes(' problem '))).toHaveLength(2)
  })

  it('is not judged by the pods of its predecessor', () => {
    const steps = [
      at(0, web.done, createWorkload('api').creating, allSynced),
      at(50, added(again('new-uid', complete()))),
    ]
    const options = { targets: [web.target, createWorkload('api').target] }
    // Its own pods have the settle time to appear.
    expect(runUntil(59, steps, options).targets[0]?.outcome).toBe('progressing')
  })

  describe('and is a Job', () => {
    const target = createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' })
    const job = (...types: string[]): KubeObject => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'migrate', namespace: 'shop', uid: 'migrate-uid' },
      status: { active: 1, conditions: types.map((type) => condition(type, 'True', { reason: 'Done' })) },
    })
    const list: Observation = { type: 'SYNCED', apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop' }
    // The TTL controller removes a Job in the foreground: it is still there, being deleted, until its pods are gone.
    describe('that is removed in the foreground after it had completed', () => {
      const leaving = (uid: string) => {
        const metadata = { ...job().metadata, uid, deletionTimestamp: iso(1), finalizers: ['foregroundDeletion'] }
        return { ...job('Complete'), metadata }
      }
      const before = at(2, added(leaving('migrate-uid')), list, synced('Event', 'Pod'))

      it('is ready after its deletion, although it was never seen', () => {
        const steps = [before, at(5, deleted(leaving('migrate-uid')))]
        expect(run(steps, { targets: [target] })).toMatchObject({ outcome: 'ready', seconds: 5 })
      })

      it('is replaced by the next object of its name', () => {
        const next = (...types: string[]) => ({ ...job(...types), metadata: { ...job().metadata, uid: 'next-uid' } })
        const api = createWorkload('api')
        const steps = [
          [...before, ...at(2, api.creating, allSynced)],
          at(5, deleted(leaving('migrate-uid')), added(next())),
          at(50, modified(next('Failed'))),
        ]
        const [migrate] = run(steps, { targets: [target, api.target] }).targets
        expect(migrate).toMatchObject({ outcome: 'failed', reason: 'job-failed', seconds: 50 })
      })
    })

    describe('with --for=condition', () => {
      const waitFor = { type: 'condition', condition: 'complete', status: 'True' } as const
      const targets = [createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate', waitFor })]

      it('stays ready when it is removed', () => {
        const api = createWorkload('api')
        const steps = [
          at(0, added(job('Complete')), list, api.creating, allSynced),
          at(10, deleted(job('Complete'))),
          at(60, modified(api.pod(podIs.ready(40)), api.deployment(complete()))),
        ]
        expect(run(steps, { targets: [...targets, api.target] })).toMatchObject({ outcome: 'ready', seconds: 60 })
      })
    })

    it('that was deleted at work is not ready by the event of an earlier one', () => {
      const metadata = { name: 'migrate', namespace: 'shop', uid: 'other-uid' }
      const earlier = make.event({ ...job(), metadata }, { reason: 'Completed', lastTimestamp: iso(-60) })
      const steps = [at(0, added(job(), earlier), list, synced('Event', 'Pod')), at(50, deleted(job()))]
      expect(run(steps, { targets: [target] })).toMatchObject({ outcome: 'failed', reason: 'deleted' })
    })
  })

  describe('and had completed', () => {
    const other = createWorkload('api')
    const done = (kind: string, uid: string, status: object): KubeObject => ({
      apiVersion: kind === 'Job' ? 'batch/v1' : 'v1',
      kind,
      metadata: { name: 'migrate', namespace: 'shop', uid },
      spec: { containers: [{ name: 'app' }] },
      status,
    })
    const finished = {
      Job: { succeeded: 1, conditions: [condition('Complete', 'True')] },
      Pod: { phase: 'Succeeded' },
    }
    const broken = {
      Job: { failed: 1, conditions: [condition('Failed', 'True', { reason: 'BackoffLimitExceeded' })] },
      Pod: { phase: 'Failed' },
    }
    const working = { Job: { active: 1 }, Pod: { phase: 'Pending' } }

    describe.each(['Job', 'Pod'] as const)('(%s)', (kind) => {
      const apiVersion = kind === 'Job' ? 'batch/v1' : 'v1'
      const targets = [createTarget({ apiVersion, kind, name: 'migrate' }), other.target]
      const begin = at(
        0,
        added(done(kind, 'one', finished[kind])),
        { type: 'SYNCED', apiVersion, kind, namespace: 'shop' },
        other.creating,
        allSynced,
      )
      const finish = at(60, modified(other.pod(podIs.ready(50)), other.deployment(complete())))

      it('is gated again when another object takes its name', () => {
        const steps = [
          begin,
          at(10, deleted(done(kind, 'one', finished[kind]))),
          at(20, added(done(kind, 'two', working[kind]))),
          at(30, modified(done(kind, 'two', broken[kind]))),
          finish,
        ]
        const { outcome, targets: records, entries } = run(steps, { targets })
        expect(outcome).toBe('failed')
        expect(records[0]).toMatchObject({ outcome: 'failed', seconds: 30 })
        expect(entries).toContainEqual(expect.stringMatching(/^20 note was replaced by a new object of the same name/))
      })

      it('is gated again when its deletion was not seen', () => {
        const steps = [begin, at(20, added(done(kind, 'two', working[kind]))), finish]
        expect(runUntil(70, steps, { targets })).toMatchObject({ outcome: undefined })
      })

      it('stays ready when it is removed', () => {
        const steps = [begin, at(10, deleted(done(kind, 'one', finished[kind]))), finish]
        expect(run(steps, { targets })).toMatchObject({ outcome: 'ready', seconds: 60 })
      })

      it('is ready again when its replacement has completed too', () => {
        const steps = [begin, at(20, added(done(kind, 'two', finished[kind]))), finish]
        expect(run(steps, { targets }).outcome).toBe('ready')
      })
    })
  })

  it('and gets another template with its new uid is superseded', () => {
    const other = make.deployment({ metadata: { uid: 'new-uid' }, spec: { template: next } })
    expect(run([first, gone, at(52, added(other))])).toMatchObject({
      outcome: 'superseded',
      reason: 'superseded',
      seconds: 52,
      message:
        'deployment/web: another change replaced the one being gated (deleted and created again): container app: image acme/web:v1 → acme/web:v2',
    })
  })
})
