import type { Deployment, KubeObject } from '../../src/cluster/objects.ts'
import { undoRule } from '../../src/lifecycle/workloads/undo.ts'
import type { Problem } from '../../src/reasons/reasons.ts'
import { type NamedObjects, toObject } from '../kit/named-objects.ts'
import { iso, make } from '../kit/objects.ts'
import { createProblem } from '../kit/problems.ts'
import { readData } from '../kit/rows.ts'
import { reader } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

interface Data {
  readonly objects: NamedObjects
  readonly 'available revision': readonly (readonly [title: string, names: string, revision: number | null])[]
  readonly 'what serves': readonly (readonly [title: string, names: string, serving: object | null])[]
  readonly 'what is missing': readonly (readonly [title: string, before: object, key: string | null, inBoth: boolean])[]
  readonly 'the new template needs it': object
  readonly 'no undo restores a Deployment': readonly (readonly [title: string, obstacle: string, given: Case])[]
  readonly 'an undo restores a Deployment': readonly (readonly [title: string, given: Case])[]
}

const data = readData(import.meta.filename.replace('.test.ts', '.yaml')) as Data

/** Objects of the file, or those that a case has of its own. */
function objectsOf(names: string, own: NamedObjects = {}): readonly KubeObject[] {
  return names.split(' ').map((name) => toObject(name, { ...data.objects, ...own }))
}

const crash = createProblem('crash-loop', {}, { subject: toSubject('pod/new'), count: 2 })

/** The undo of the first object to a revision. */
function undo([object, ...others]: readonly KubeObject[], problem: Problem = crash, revision = 6) {
  if (object === undefined) throw new Error('an object is undone')
  return undoRule.find(object, revision, problem, reader({ now: 60, objects: [object, ...others] }))
}

test.each(data['available revision'])('%s', (_, names, revision) => {
  const objects = objectsOf(names)
  const [object] = objects as [KubeObject]
  expect(undoRule.availableRevision(object, reader({ now: 1, objects })) ?? null).toBe(revision)
})

test('the undo of a failed change goes back to the available revision', () => {
  expect(undo(objectsOf('web web-7 new web-6 a'), createProblem('image-not-found', { image: '', answer: '' }))).toEqual(
    {
      revision: 6,
      serving: { revision: 6, images: ['acme/web:v1'], ready: 1, wanted: 2 },
    },
  )
})

test.each(data['what serves'])('after a failed change %s', (_, names, serving) => {
  expect(undo(objectsOf(names)).serving ?? null).toEqual(serving)
})

interface Case {
  readonly spec?: Deployment['spec']
  readonly metadata?: object
  readonly problem?: object
  readonly older?: 'none' | 'broken'
  /** Another field manager than `kubectl set`. */
  readonly manager?: string
  /** A Job of a hook of Helm for these events. */
  readonly hook?: { readonly events: string; readonly metadata?: object; readonly status?: object }
}

function hookJob({ events, metadata, status = { startTime: iso(-5) } }: NonNullable<Case['hook']>): KubeObject {
  return make.job({
    metadata: { creationTimestamp: iso(-5), annotations: { 'helm.sh/hook': events }, ...metadata },
    status,
  })
}

function undoOf({ spec, metadata, problem, older, manager, hook }: Case) {
  const writes = manager === undefined ? {} : { writes: ['kubectl-set', `Apply ${manager}`] }
  const names = { none: '', broken: ' web-6 a-broken', some: ' web-6' }[older ?? 'some']
  const changed = { is: 'web', ...(spec && { spec }), ...(metadata && { metadata }), ...writes }
  const objects = objectsOf(`changed web-7 new${names}`, { changed })
  const found = Object.entries({ ...crash, ...problem }).filter(([, value]) => value !== null)
  return undo([...objects, ...(hook ? [hookJob(hook)] : [])], Object.fromEntries(found) as unknown as Problem)
}

test.each(data['no undo restores a Deployment'])('no undo restores a Deployment %s', (_, obstacle, given) =>
  expect(undoOf(given).obstacle).toContain(obstacle),
)

test.each(data['an undo restores a Deployment'])('an undo restores a Deployment %s', (_, given) =>
  expect(undoOf(given).obstacle).toBeUndefined(),
)

test('an undo restores a Deployment if only the value of an environment variable changed', () => {
  const withMode = (value: string) => ({ container: { env: [{ name: 'MODE', value }] } })
  const before = { metadata: { name: 'web' }, template: withMode('a') }
  const changed = { is: 'web', template: withMode('b') }
  expect(undo(objectsOf('changed web-7 new web-6', { before, changed }))).toMatchObject({ revision: 6 })
})

test.each([
  ['an undo restores a Parallel StatefulSet', { podManagementPolicy: 'Parallel' }, undefined],
  [
    'no undo restores an ordered StatefulSet before its broken pod is deleted',
    {},
    'its broken pod must be deleted too',
  ],
  [
    'no undo restores a StatefulSet with OnDelete',
    { podManagementPolicy: 'Parallel', updateStrategy: { type: 'OnDelete' } },
    'OnDelete',
  ],
])('%s', (_, spec, obstacle) => {
  const objects = objectsOf('changed h1 h2 web-0 web-1', { changed: { is: 'set', spec } })
  expect(undo(objects, crash, 1).obstacle).toEqual(
    obstacle === undefined ? undefined : expect.stringContaining(obstacle),
  )
})

test.each(data['what is missing'])('an undo %s', (_, template, key, isInBoth) => {
  const before = { metadata: { name: 'web' }, template: { image: 'acme/web:v1', ...template } }
  const changed = { is: 'web', template: data['the new template needs it'] }
  const missing = { kind: 'secret', name: 'token', ...(key !== null && { key }) } as const
  const problem = createProblem('config-missing', { message: '', missing }, { subject: toSubject('pod/new') })
  const { obstacle = '' } = undo(objectsOf('changed web-7 new web-6', { before, changed }), problem)
  expect(obstacle).toBe(isInBoth ? 'both revisions need secret token' : '')
})

test('the undo of a Helm release has a time only if it goes back to the previous revision', () => {
  const release = { is: 'web', metadata: { annotations: { 'meta.helm.sh/release-name': 'web' } } }
  const madeAt = (seconds: number) => ({ creationTimestamp: iso(seconds) })
  const of = (seconds: number) => ({ is: 'web-6', metadata: { name: 'web-6', ...madeAt(seconds) } })
  const fifth = { is: 'web-5', metadata: { name: 'web-5', ...madeAt(-900) } }
  const latest = objectsOf('release web-7 new sixth', { release, sixth: of(-900) })
  expect(undo(latest)).toMatchObject({ since: Date.parse(iso(-900)) })
  const earlier = undo(objectsOf('release web-7 new fifth sixth', { release, fifth, sixth: of(-600) }), crash, 5)
  expect(earlier).toMatchObject({ revision: 5 })
  expect(earlier).not.toHaveProperty('since')
})
