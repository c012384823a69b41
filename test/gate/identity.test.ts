import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { KubeObject, PodTemplate } from '../../src/cluster/objects.ts'
import { compareIdentity, identify } from '../../src/gate/identity.ts'
import {
  complete,
  condition,
  createContainer,
  createDeployment,
  createPod,
  createReplicaSet,
  createTemplate,
  iso,
  moment,
  readyStatus,
} from '../lifecycle/builders.ts'
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
} from './builders.ts'

const web = createWorkload('web')
const next = createTemplate({ containers: [createContainer({ image: 'acme/web:v2' })] })
const previous = createTemplate({ containers: [createContainer({ image: 'acme/web:v0' })] })
const annotated: PodTemplate = {
  ...createTemplate(),
  metadata: { labels: { app: 'web' }, annotations: { 'kubectl.kubernetes.io/restartedAt': 'now' } },
}
const labelled = createTemplate({}, { stage: 'b' })
const reloaded = createTemplate({ containers: [createContainer({ env: [{ name: 'HASH', value: 'x' }] })] })

describe('a later version of a target', () => {
  const identity = identify(createDeployment(), moment(0))
  const withTemplate = (template: PodTemplate) => createDeployment({ metadata: { generation: 2 }, spec: { template } })
  const oldRevision = createReplicaSet({}, createDeployment({ spec: { template: previous } }))

  it.each([
    ['that was scaled is the same', createDeployment({ metadata: { generation: 2 }, spec: { replicas: 9 } }), 'same'],
    ['of another uid is a replacement', createDeployment({ metadata: { uid: 'other' } }), 'replaced'],
    ['with an annotation is followed', withTemplate(annotated), 'followed'],
    ['with another label is followed', withTemplate(labelled), 'followed'],
    ['with an added variable is followed', withTemplate(reloaded), 'followed'],
    ['with another image is superseded', withTemplate(next), 'superseded'],
    ['with the image of an older revision is rolled back', withTemplate(previous), 'rolled-back'],
  ])('%s', (_, object, change) => {
    expect(compareIdentity(identity, object, [oldRevision])).toBe(change)
  })

  it('without a template is known by its uid alone', () => {
    const service = (spec: object) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's', uid: 's' }, spec })
    expect(compareIdentity(identify(service({ a: 1 }), 0), service({ a: 2 }), [])).toBe('same')
  })
})

const first = at(0, web.creating, allSynced)
const apply = (template: PodTemplate, generation = 2) =>
  modified(web.deployment(progressing, { metadata: { generation }, spec: { template } }))
const oldSet = createReplicaSet(
  { metadata: { name: 'web-0', creationTimestamp: iso(-3600) } },
  web.deployment(undefined, { spec: { template: previous } }),
)

describe('another change before the older revisions were listed', () => {
  it('is a rollback by the list that comes after it', () => {
    const steps = [
      at(0, added(web.deployment(progressing)), synced('Deployment')),
      at(1, apply(previous)),
      at(2, added(oldSet), synced('ReplicaSet', 'Pod', 'Event')),
    ]
    expect(run(steps)).toMatchObject({ outcome: 'superseded', reason: 'rolled-back', seconds: 2 })
  })
})

describe('another change during the wait', () => {
  it.each<[string, FeedEvent[][], Partial<Run>]>([
    [
      'is superseded',
      [at(5, apply(next))],
      {
        outcome: 'superseded',
        reason: 'superseded',
        seconds: 5,
        message: 'deployment/web: another change replaced the one being gated (generation 1 → 2)',
      },
    ],
    [
      'that an older ReplicaSet carries is rolled back',
      [at(1, added(oldSet)), at(5, apply(previous))],
      { outcome: 'superseded', reason: 'rolled-back', seconds: 5 },
    ],
    [
      'of a second apply is superseded although its new ReplicaSet is seen first',
      [
        at(
          5,
          added(
            createReplicaSet(
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
      [at(3, apply(reloaded)), at(5, apply(createTemplate(), 3))],
      { outcome: 'superseded', reason: 'superseded', seconds: 5 },
    ],
  ])('%s', (_, steps, expected) => {
    expect(run([first, ...steps])).toMatchObject(expected)
  })

  it.each([
    ['an annotation', annotated],
    ['a label', labelled],
    ['an added variable', reloaded],
  ])('of %s is followed to its end, and told', (_, template) => {
    const change = { metadata: { generation: 2 }, spec: { template } }
    const set = createReplicaSet(
      { metadata: { name: 'web-2', creationTimestamp: iso(5) } },
      web.deployment(undefined, change),
    )
    const pod = (status: object) => createPod({ metadata: { name: 'web-2-a' }, status }, set)
    const steps = [
      first,
      at(5, apply(template)),
      at(
        6,
        added(set, pod(creating)),
        modified(web.deployment({ ...progressing, observedGeneration: 2, replicas: 2 }, change)),
      ),
      at(8, modified(pod(readyStatus(8)), web.deployment(complete(1, { observedGeneration: 2 }), change))),
    ]
    const { outcome, seconds, entries } = run(steps)
    expect({ outcome, seconds }).toEqual({ outcome: 'ready', seconds: 18 })
    expect(entries).toContainEqual(expect.stringMatching(/^5 note its template got other annotations/))
  })

  it('of the number of replicas is neither', () => {
    const steps = [
      first,
      at(5, modified(web.deployment(progressing, { metadata: { generation: 2 }, spec: { replicas: 2 } }))),
    ]
    expect(runUntil(60, steps)).toMatchObject({ outcome: undefined, targets: [{ outcome: 'progressing' }] })
  })

  it('is not seen once its target is over', () => {
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

describe('on-superseded pass', () => {
  const api = createWorkload('api')
  const options = (onSuperseded: 'pass' | 'fail') => ({ targets: [web.target, api.target], settings: { onSuperseded } })
  const steps = [at(0, web.creating, api.creating, allSynced), at(5, apply(next))]
  const finish = at(60, modified(api.pod(readyStatus(40)), api.deployment(complete())))

  it('lets the others finish', () => {
    expect(run([...steps, finish], options('pass'))).toMatchObject({
      outcome: 'superseded',
      seconds: 60,
      targets: [{ outcome: 'superseded' }, { outcome: 'ready' }],
    })
  })

  it('is not the default: the gate ends 5 s later', () => {
    expect(run([...steps, finish], options('fail'))).toMatchObject({ outcome: 'superseded', seconds: 10 })
  })

  it('does not welcome a rollback', () => {
    const back = [at(0, web.creating, api.creating, added(oldSet), allSynced), at(5, apply(previous)), finish]
    expect(run(back, options('pass'))).toMatchObject({ outcome: 'superseded', reason: 'rolled-back', seconds: 10 })
  })

  it('does not hide that another failed', () => {
    const broken = api.pod({
      phase: 'Pending',
      containerStatuses: [{ name: 'app', state: { waiting: { reason: 'InvalidImageName' } } }],
    })
    expect(run([...steps, at(60, modified(broken))], options('pass'))).toMatchObject({
      outcome: 'failed',
      reason: 'image-name-invalid',
      seconds: 60,
    })
  })
})

describe('a target that is deleted', () => {
  const gone = at(50, deleted(web.deployment()))
  const again = (uid: string, status = progressing) => createDeployment({ metadata: { uid }, status })

  it('has failed 5 s later', () => {
    const { entries, ...ended } = run([first, gone])
    expect(ended).toMatchObject({ outcome: 'failed', reason: 'deleted', seconds: 55 })
    expect(entries).toContainEqual('50 note was deleted; it has 5 s to come back')
  })

  it('has failed although it was ready', () => {
    const api = createWorkload('api')
    const steps = [at(0, web.done, api.creating, allSynced), gone]
    expect(run(steps, { targets: [web.target, api.target] })).toMatchObject({
      outcome: 'failed',
      reason: 'deleted',
      targets: [{ seconds: 55 }, {}],
    })
  })

  it('and comes back within 5 s is gated anew from its first milestone', () => {
    const set = createReplicaSet({ metadata: { name: 'web-9' } }, again('new-uid'))
    const pod = createPod({ metadata: { name: 'web-9-a' }, status: readyStatus(60) }, set)
    const steps = [
      at(0, web.creating, allSynced),
      gone,
      at(54, added(createDeployment({ metadata: { uid: 'new-uid' } }))),
      at(60, added(set, pod), modified(again('new-uid', complete()))),
    ]
    const { outcome, seconds, entries, timeline } = run(steps)
    expect({ outcome, seconds }).toEqual({ outcome: 'ready', seconds: 70 })
    expect(entries).toContainEqual(expect.stringMatching(/^54 note was replaced by a new object of the same name/))
    expect(timeline.targets[0]?.milestones[0]).toMatchObject({ name: 'created', at: moment(54) })
  })

  it('and comes back with the same uid was never gone', () => {
    const steps = [
      first,
      gone,
      at(52, added(web.deployment(progressing))),
      at(60, modified(web.pod(readyStatus(50)), web.deployment(complete()))),
    ]
    expect(run(steps)).toMatchObject({ outcome: 'ready', seconds: 60 })
  })

  it('is not judged by the pods of its predecessor', () => {
    const steps = [
      at(0, web.done, createWorkload('api').creating, allSynced),
      at(50, added(again('new-uid', complete()))),
    ]
    const options = { targets: [web.target, createWorkload('api').target] }
    // Its own pods have the settle time to come into sight.
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
    it.each([
      ['that had completed by then is ready', job('Complete'), { outcome: 'ready', reason: '', seconds: 50 }],
      ['that had failed by then has failed', job('Failed'), { outcome: 'failed', reason: 'job-failed', seconds: 50 }],
      ['that was still at work was deleted', job(), { outcome: 'failed', reason: 'deleted', seconds: 55 }],
    ])('%s', (_, last, ended) => {
      expect(run([at(0, added(job()), list), at(50, deleted(last))], { targets: [target] })).toMatchObject(ended)
    })
  })

  it('and whose name was never there is not found', () => {
    expect(run([at(0, synced('Deployment', 'Pod', 'ReplicaSet'))])).toMatchObject({ reason: 'not-found' })
  })

  it('and gets another template with its new uid is not superseded', () => {
    const other = createDeployment({ metadata: { uid: 'new-uid' }, spec: { template: next } })
    expect(runUntil(60, [first, gone, at(52, added(other))]).outcome).toBeUndefined()
  })
})
