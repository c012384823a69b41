import type { Deployment, KubeObject } from '../../src/cluster/objects.ts'
import { undoRule } from '../../src/lifecycle/workloads/undo.ts'
import type { Problem } from '../../src/reasons/reasons.ts'
import { complete, condition, is, iso, make, podIs } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { reader } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const template = (image: string, metadata = {}) => {
  const created = make.template({ containers: [make.container({ image })] })
  return { ...created, metadata: { ...created.metadata, ...metadata } }
}
const web = (spec: Deployment['spec'] = {}, metadata = {}, status: Deployment['status'] = complete(2)) =>
  make.deployment({ metadata, spec: { replicas: 2, template: template('acme/web:v2'), ...spec }, status })

const annotations = (revision: number) => ({ 'deployment.kubernetes.io/revision': `${revision}` })
const newSet = make.replicaSet({ metadata: { name: 'web-7', annotations: annotations(7) } }, web())
const oldOwner = make.deployment({ spec: { template: template('acme/web:v1') } })
const oldSet = (status = { replicas: 2, availableReplicas: 2 }, spec = { replicas: 2 }) =>
  make.replicaSet({ metadata: { name: 'web-6', annotations: annotations(6) }, spec, status }, oldOwner)
const settled = podIs.ready(-600)
const oldPod = (name: string, status = settled, metadata = {}) =>
  make.pod({ metadata: { name, creationTimestamp: iso(-600), ...metadata }, status }, oldSet())
const broken = podIs.unready({ state: is.waiting('ImagePullBackOff') })
const newPod = make.pod({ metadata: { name: 'new' }, status: broken }, newSet)

const imageMissing = {
  reason: 'image-not-found',
  subject: toSubject('pod/new'),
  container: 'app',
  detail: { text: '' },
  count: 2,
  firstSeenAt: 0,
  proven: true,
} as unknown as Problem
const crash = { ...imageMissing, reason: 'crash-loop' } as unknown as Problem

const hookJob = (hook: string, metadata: object = {}, status: object = { startTime: iso(-5) }) =>
  make.job({ metadata: { creationTimestamp: iso(-5), annotations: { 'helm.sh/hook': hook }, ...metadata }, status })

const availableRevision = (object: KubeObject, ...objects: KubeObject[]) =>
  undoRule.availableRevision(object, reader({ now: 1, objects: [object, ...objects] }))

test.each([
  [
    'an older revision whose pods are available is the one to go back to',
    6,
    web(),
    [oldSet(), oldPod('a'), oldPod('b')],
  ],
  ['an older revision counts before the controller has made the new one', 6, web(), [oldSet(), oldPod('a')]],
  ['the first revision has none before it', undefined, web(), [newSet, newPod]],
  [
    'an older revision without pods is not available',
    undefined,
    web(),
    [oldSet({ replicas: 0, availableReplicas: 0 }, { replicas: 0 })],
  ],
  [
    'an older revision of which one pod is not available is not available',
    undefined,
    web(),
    [oldSet({ replicas: 2, availableReplicas: 1 })],
  ],
  ['an older pod that is not ready makes its revision unavailable', undefined, web(), [oldSet(), oldPod('a', broken)]],
  ['an older pod that has just started may crash again', undefined, web(), [oldSet(), oldPod('a', podIs.ready(-2))]],
  [
    'a pod that is being deleted does not count',
    6,
    web(),
    [oldSet(), oldPod('a', broken, { deletionTimestamp: iso(0) }), oldPod('b')],
  ],
  [
    'a Deployment that is not Available has no available revision',
    undefined,
    web({}, {}, complete(2, { conditions: [condition('Available', 'False')] })),
    [oldSet(), oldPod('a')],
  ],
] as const)('%s', (_, expected, object, objects) => {
  expect(availableRevision(object, newSet, ...objects)).toBe(expected)
})

test('the newest of several available revisions is the one to go back to', () => {
  const older = make.replicaSet(
    { metadata: { name: 'web-5', annotations: annotations(5) }, status: { replicas: 1, availableReplicas: 1 } },
    make.deployment({ spec: { template: template('acme/web:v0') } }),
  )
  expect(availableRevision(web(), older, oldSet(), newSet)).toBe(6)
})

const undo = (object: KubeObject, problem: Problem, ...objects: KubeObject[]) =>
  undoRule.find(object, 6, problem, reader({ now: 60, objects: [object, newSet, newPod, ...objects] }))

test('a failed change is undone to the revision that was available', () => {
  expect(undo(web(), imageMissing, oldSet(), oldPod('a'))).toEqual({
    revision: 6,
    serving: { revision: 6, images: ['acme/web:v1'], ready: 1, wanted: 2 },
  })
})

test.each<[string, object | undefined, readonly KubeObject[]]>([
  ['nothing serves where no pod is ready', { images: [], ready: 0, wanted: 2 }, [oldSet(), oldPod('a', broken)]],
  [
    'an older pod that is being deleted does not serve',
    { images: [], ready: 0, wanted: 2 },
    [oldSet(), oldPod('a', podIs.ready(-60), { deletionTimestamp: iso(0) })],
  ],
  [
    'ready pods of the new revision serve',
    { images: [], ready: 1, wanted: 2 },
    [oldSet(), make.pod({ metadata: { name: 'web-new-b' }, status: podIs.ready(-60) }, newSet)],
  ],
  [
    'what serves is unknown where a pod of the new revision has just become ready',
    undefined,
    [oldSet(), make.pod({ metadata: { name: 'web-new-b' }, status: podIs.ready(59) }, newSet)],
  ],
  ['a first revision replaces nothing that served', { images: [], ready: 0, wanted: 2, isFirst: true }, []],
])('%s', (_, serving, objects) => expect(undo(web(), crash, ...objects).serving).toEqual(serving))

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

function undoOf({ spec, metadata, problem, older, manager, hook }: Case) {
  const managers = { manager: 'kubectl-set', operation: 'Update' }
  const managed = manager === undefined ? {} : { managedFields: [managers, { manager, operation: 'Apply' }] }
  const found = Object.entries({ ...crash, ...problem }).filter(([, value]) => value !== null)
  const objects = [
    ...(older === 'none' ? [] : [oldSet()]),
    ...(older === 'broken' ? [oldPod('a', broken)] : []),
    ...(hook === undefined ? [] : [hookJob(hook.events, hook.metadata, hook.status)]),
  ]
  return undo(web(spec, { ...metadata, ...managed }), Object.fromEntries(found) as unknown as Problem, ...objects)
}

test.each(rows<[string, obstacle: string, Case]>(data, 'no undo restores a Deployment'))(
  'no undo restores a Deployment %s',
  (_, obstacle, given) => expect(undoOf(given).obstacle).toContain(obstacle),
)

test.each(rows<[string, Case]>(data, 'an undo restores a Deployment'))('an undo restores a Deployment %s', (_, given) =>
  expect(undoOf(given).obstacle).toBeUndefined(),
)

test('a changed environment variable is a change, although its name was there before', () => {
  const before = make.deployment({
    spec: { template: make.template({ containers: [make.container({ env: [{ name: 'MODE', value: 'a' }] })] }) },
  })
  const set = make.replicaSet({ metadata: { name: 'web-6', annotations: annotations(6) } }, before)
  const after = web({
    template: make.template({ containers: [make.container({ env: [{ name: 'MODE', value: 'b' }] })] }),
  })
  expect(undo(after, crash, set)).toMatchObject({ revision: 6 })
})

/** A StatefulSet at its second revision, with `web-1` of the new one. */
function statefulSet(spec: object, hash: (number: number) => Partial<KubeObject['metadata']>) {
  const set = make.statefulSet({
    metadata: { name: 'web', uid: 'web-uid', generation: 2 },
    spec: { selector: { matchLabels: { app: 'web' } }, template: template('acme/web:v2'), ...spec },
  })
  const revision = (number: number) =>
    make.revision(
      set,
      `web-h${number}`,
      number,
      { uid: `r${number}`, ...hash(number) },
      template(`acme/web:v${number}`),
    )
  const setPod = (name: string, label: string, status: ReturnType<typeof podIs.ready>) =>
    make.pod({ metadata: { name, labels: { 'controller-revision-hash': label } }, status }, set)
  return { set, revisions: [revision(1), revision(2)], setPod }
}

test.each([
  ['a Parallel StatefulSet', { podManagementPolicy: 'Parallel' }, undefined],
  ['an ordered StatefulSet, which waits for its broken pod', {}, 'its broken pod must be deleted too'],
  [
    'a StatefulSet with OnDelete',
    { podManagementPolicy: 'Parallel', updateStrategy: { type: 'OnDelete' } },
    'OnDelete',
  ],
])('%s is undone unless its controller would not replace the pod', (_, spec, obstacle) => {
  const { set, revisions, setPod } = statefulSet(spec, () => ({}))
  const objects = [set, ...revisions, setPod('web-0', 'web-h1', settled), setPod('web-1', 'web-h2', broken)]
  expect(undoRule.availableRevision(set, reader({ now: 1, objects }))).toBe(1)
  expect(undoRule.find(set, 1, crash, reader({ now: 60, objects })).obstacle ?? '').toContain(obstacle ?? '')
  expect(undoRule.find(set, 1, crash, reader({ now: 60, objects })).obstacle === undefined).toBe(obstacle === undefined)
})

test('the pods of a DaemonSet belong to a revision by its hash, not by its name', () => {
  const { set, revisions, setPod } = statefulSet({ podManagementPolicy: 'Parallel' }, (number) => ({
    name: `web-${number}`,
    labels: { 'controller-revision-hash': `h${number}` },
  }))
  const objects = [set, ...revisions, setPod('a', 'h1', settled), setPod('b', 'h2', broken)]
  expect(undoRule.availableRevision(set, reader({ now: 1, objects }))).toBe(1)
})

const env = (name: string, key: string) => ({ name: 'TOKEN', valueFrom: { secretKeyRef: { name, key } } })
const needing = (container: object, volumes: readonly object[] = []) =>
  make.template({ containers: [make.container({ image: 'acme/web:v1', ...container })], volumes } as object)
const token = { env: [env('token', 'a')] }
const mounted = [{ name: 'token', secret: { secretName: 'token' } }]
const projected = [{ name: 'all', projected: { sources: [{ secret: { name: 'token' } }] } }]
const missing = (key?: string) =>
  ({
    ...crash,
    reason: 'config-missing',
    detail: { message: '', missing: { kind: 'secret', name: 'token', key } },
  }) as Problem

test.each([
  ['an env variable of both revisions', needing(token), missing(), true],
  ['a key that an env variable of both needs', needing(token), missing('a'), true],
  ['a key that only the new revision needs', needing({ env: [env('token', 'b')] }), missing('a'), false],
  ['an envFrom of both', needing({ envFrom: [{ secretRef: { name: 'token' } }] }), missing(), true],
  ['a volume of both', needing({}, mounted), missing(), true],
  ['a projected volume of both', needing({}, projected), missing(), true],
  ['a Secret that only the new revision needs', needing({ env: [env('other', 'a')] }), missing(), false],
  ['a ConfigMap of this name', needing({ envFrom: [{ configMapRef: { name: 'token' } }] }), missing(), false],
] as const)('an undo restores nothing if what is missing is %s: %#', (_, before, problem, isInBoth) => {
  const set = make.replicaSet(
    { metadata: { name: 'web-6', annotations: annotations(6) } },
    make.deployment({ spec: { template: before } }),
  )
  const after = web({ template: needing({ image: 'acme/web:v2', ...token }, [...mounted, ...projected]) })
  const { obstacle = '' } = undo(after, problem, set)
  expect(obstacle).toBe(isInBoth ? 'both revisions need secret token' : '')
})

test('the undo of an object of a Helm release has the time of its revision, if that is the one before', () => {
  const release = web({}, { annotations: { 'meta.helm.sh/release-name': 'web' } })
  const set = (number: number, created: number) =>
    make.replicaSet(
      { metadata: { name: `web-${number}`, annotations: annotations(number), creationTimestamp: iso(created) } },
      make.deployment({ spec: { template: template(`acme/web:of-${number}`) } }),
    )
  expect(undo(release, crash, set(6, -900))).toMatchObject({ since: Date.parse(iso(-900)) })
  expect(
    undoRule.find(release, 5, crash, reader({ now: 60, objects: [release, newSet, set(5, -900), set(6, -600)] })),
  ).toMatchObject({
    revision: 5,
  })
})
