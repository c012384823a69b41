import { headlineOf, problemSentence } from '../../src/reasons/reasons.ts'
import type { StatusDetails, StatusSignal } from '../../src/reasons/status.ts'
import { createProblem, headline, hint } from '../kit/problems.ts'
import { rows } from '../kit/rows.ts'
import { toSubject } from '../kit/subject.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

describe('a claim that is not bound', () => {
  const onClaim = { subject: toSubject('persistentvolumeclaim/data'), container: undefined }

  it.each<[StatusDetails['claim-pending'], string]>([
    [{}, 'is not bound'],
    [{ message: 'no such class' }, 'is not bound: no such class'],
    [{ volume: 'pv-7' }, 'is not bound to volume pv-7, which it names'],
  ])('%j', (detail, text) => {
    expect(problemSentence(createProblem('claim-pending', detail, onClaim))).toBe(`persistentvolumeclaim/data ${text}`)
  })

  it.each<[StatusDetails['claim-pending'], string]>([
    [{ missingClass: 'fast' }, 'Correct storageClassName, or create the StorageClass fast. '],
    [{ needsClass: true }, 'Set storageClassName, or mark a StorageClass as default: '],
    [{ provisioner: 'ebs.csi.aws.com' }, 'Does the provisioner ebs.csi.aws.com run in the cluster? '],
    [{ message: 'no volume fits' }, 'Its storage class, size or access mode may not be available. '],
  ])('%j: the hint names the missing StorageClass', (detail, text) => {
    expect(hint('claim-pending', detail)).toContain(text)
  })
})

it('a claim whose volume is gone is reported as lost, with the hint to restore it', () => {
  const problem = createProblem(
    'claim-lost',
    {},
    { subject: toSubject('persistentvolumeclaim/data'), container: undefined },
  )
  expect(problemSentence(problem)).toBe('persistentvolumeclaim/data has lost its volume')
  expect(hint('claim-lost', {})).toBe('The volume behind the claim is gone. Restore it, or create the claim again.')
})

describe('a condition that is False', () => {
  const noMetrics: StatusSignal = { name: 'ScalingActive', value: 'False', reason: 'FailedGetResourceMetric' }

  it.each(rows<[readonly StatusSignal[], string, string]>(data, 'a condition that is False'))(
    '%j',
    (signals, text, title) => {
      const problem = createProblem(
        'condition-false',
        { signals },
        { subject: toSubject('widget/w'), container: undefined },
      )
      expect(problemSentence(problem)).toBe(`widget/w: ${text}`)
      expect(headline('condition-false', { signals })).toBe(title)
    },
  )

  it('of an autoscaler without metrics: the hint mentions a metrics server', () => {
    expect(hint('condition-false', { signals: [noMetrics], needsMetricsServer: true })).toMatch(
      /is a metrics server installed, and does it run\? `kubectl top pods -n shop` works once it does\.$/,
    )
  })
})

it.each(
  rows<[StatusDetails['reported-failed'], string]>(data, 'the sentence quotes a failure that the object reports'),
)('the sentence quotes a failure that the object reports: %j', (detail, text) => {
  const problem = createProblem('reported-failed', detail, { subject: toSubject('widget/w'), container: undefined })
  expect(problemSentence(problem)).toBe(text)
})

const failedPhase: StatusSignal = { name: 'phase', value: 'Failed' }

it.each(rows<[StatusDetails['reported-failed'], string]>(data, 'a status that nobody explains'))(
  'the headline of a failure that the object reports is the clause at its beginning: %j',
  (detail, text) => {
    expect(headline('reported-failed', detail)).toBe(text)
  },
)

it.each<[StatusDetails['reported-failed'], string]>([
  [{ signals: [failedPhase], cause: 'no quota' }, 'Correct what it reports, and deploy again. Its whole status: '],
  [{ signals: [{ ...failedPhase, message: 'no' }] }, 'Correct what it reports, and deploy again. Its whole status: '],
  [{ signals: [failedPhase] }, 'Its status contains what failed: '],
])(
  'the hint of a failure that the object reports is to correct what it states, else to read its status: %j',
  (detail, text) => {
    expect(hint('reported-failed', detail)).toContain(text)
  },
)

it('the sentence names the cause behind a failure that the object reports, and the headline is that of the cause', () => {
  const about = { subject: toSubject('pod/w-1'), container: 'app' }
  const cause = createProblem('image-not-found', { image: 'acme/w:v1', answer: 'not found' }, about)
  const problem = createProblem(
    'reported-failed',
    { signals: [{ name: 'Stalled', value: 'True' }] },
    { subject: toSubject('widget/w'), container: undefined },
  )
  expect(problemSentence({ ...problem, cause })).toBe(
    'widget/w: Stalled is True; cause: container app of pod/w-1 cannot pull image "acme/w:v1": not found',
  )
  expect(headlineOf({ ...problem, cause })).toBe('image acme/w:v1 not found')
})

it.each(
  rows<[StatusDetails['not-reconciled'], string]>(data, 'the sentence says that no controller has written a status'),
)('the sentence says that no controller has written a status: %j', (detail, text) => {
  const problem = createProblem('not-reconciled', detail, { subject: toSubject('widget/w'), container: undefined })
  expect(problemSentence(problem)).toBe(text)
})

describe('a revision that is not deployed', () => {
  const detail = { operator: 'Flux' as const, wanted: 'b000000' }

  it.each([
    ['Kustomization', 'flux reconcile kustomization web -n shop --with-source'],
    ['HelmRelease', 'flux reconcile helmrelease web -n shop --with-source'],
  ])('has a hint that names how Flux fetches the source of a %s, and how to look at it', (kind, sync) => {
    expect(hint('wrong-revision', detail, { target: { kind, name: 'web', namespace: 'shop' } })).toBe(
      `Flux looks for new revisions at the interval of the source: run \`${sync}\`, or add a webhook. ` +
        'Check that the revision is pushed, and that it is what the object follows. `flux get sources all -n shop` shows whether Flux can fetch it.',
    )
  })

  it('has a hint that names the time between two polls of Argo CD', () => {
    const application = { kind: 'Application', name: 'web', namespace: 'argocd' }
    expect(
      hint('wrong-revision', { ...detail, operator: 'Argo CD', intervalMs: 180_000 }, { target: application }),
    ).toMatch(/^Argo CD polls every 3 m: run `argocd app sync argocd\/web`, or add a webhook\. .* follows\.$/)
  })
})

it.each([
  ['helm.sh/hook=pre-upgrade', 'Leave hooks out of the manifests (helm template --no-hooks), or give this one'],
  ['argocd.argoproj.io/hook=PreSync', 'Leave hooks out of the manifests, or give this one'],
])('the hint about a missing hook (%s) names how to leave it out', (annotation, text) => {
  const target = { kind: 'Job', name: 'migrate', namespace: 'shop', hook: { annotation } }
  expect(hint('not-found', { hook: annotation }, { target })).toContain(text)
})
