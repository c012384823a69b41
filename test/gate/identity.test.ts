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
    expect(compareVersions(versions(make.deployment()), object, [oldRevision], {}, createGateTime())).toMatchObject({
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
    expect(compareVersions(versions(custom(before)), custom(after), [], {}, createGateTime())).toEqual({
      type: 'same',
    })
  })

  // A queue such as Kueue sets where the pods of a suspended Job run, and resumes the Job.
  it('is the same Job although a queue changed its template', () => {
    const jobWith = (spec: object) =>
      ({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'j', uid: 'j' }, spec }) as KubeObject
    const queued = jobWith({ suspend: true, template: make.template() })
    const admitted = jobWith({ suspend: false, template: make.template({ schedulingGates: [{ name: 'topology' }] }) })
    expect(compareVersions(versions(queued), admitted, [], {}, createGateTime())).toEqual({ type: 'same' })
  })

  it('without a template is compared by its uid alone', () => {
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

describe.each([deploymentKind, setKind('StatefulSet'), setKind('DaemonSet')])(
  'a $kind whose template changes during the wait',
  ({ kind, workload, revision }) => {
    const options = { targets: [createTarget({ kind })] }
    const gated = annotate({ 'checksum/config': 'b' })
    const older = annotate({ 'checksum/config': 'a' })
    const others = synced(kind === 'Deployment' ? 'ReplicaSet' : 'ControllerRevision', 'Node', 'Pod', 'Event')
    const all = [...synced(kind), ...others]
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
      if (verb === 'lists') return name === 'workload' ? synced(kind) : name === 'others' ? others : all
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
