import {
  fluxHelm,
  fluxImage,
  fluxKustomize,
  fluxNotification,
  fluxSource,
} from '../../../../src/lifecycle/custom/catalogue/flux.ts'
import { iso } from '../../builders.ts'
import { type SampleObject, testEntries } from './cases.ts'

/** Flux's controllers write the generation on each condition, and on the status once they succeed. */
const conditions = (...list: readonly object[]) =>
  list.map((each) => ({ observedGeneration: 2, lastTransitionTime: iso(0), message: '', ...each }))

const flux =
  (group: string, kind: string) =>
  (status: object, spec: object = {}): SampleObject => ({
    apiVersion: `${group}.toolkit.fluxcd.io/v1`,
    kind,
    metadata: { generation: 2 },
    spec: { interval: '5m0s', ...spec },
    status,
  })

const kustomization = flux('kustomize', 'Kustomization')
const applied = { type: 'Ready', status: 'True', reason: 'ReconciliationSucceeded', message: 'Applied revision: main' }
const inProgress = { type: 'Ready', status: 'Unknown', reason: 'Progressing', message: 'Reconciliation in progress' }
const healthChecks = 'Running health checks for revision main@sha1:5f2c with a timeout of 4m30s'
const timedOut = 'health check failed after 30s: timeout waiting for: [Deployment/shop/web status: InProgress]'

testEntries(fluxKustomize, [
  [
    'an applied Kustomization is ready',
    kustomization({ observedGeneration: 2, conditions: conditions(applied) }),
    { verdict: 'ready', mentions: 'Applied revision' },
  ],
  [
    'a Kustomization that runs its health checks progresses, for as long as its timeout allows',
    kustomization({
      observedGeneration: -1,
      conditions: conditions(inProgress, {
        type: 'Reconciling',
        status: 'True',
        reason: 'Progressing',
        message: healthChecks,
      }),
    }),
    { verdict: 'progressing', mentions: healthChecks, isHeld: true },
  ],
  [
    'a Kustomization whose health checks failed is tried again',
    kustomization({
      observedGeneration: 1,
      conditions: conditions(
        { type: 'Ready', status: 'False', reason: 'HealthCheckFailed', message: timedOut },
        { type: 'Reconciling', status: 'True', reason: 'ProgressingWithRetry', message: healthChecks },
      ),
    }),
    { verdict: 'progressing', mentions: timedOut, isHeld: false },
  ],
  [
    'a Kustomization that waits for another one progresses',
    kustomization({
      observedGeneration: -1,
      conditions: conditions({
        type: 'Ready',
        status: 'False',
        reason: 'DependencyNotReady',
        message: "dependency 'flux-system/base' is not ready",
      }),
    }),
    { verdict: 'progressing', mentions: "dependency 'flux-system/base' is not ready" },
  ],
  [
    'a Kustomization that may not read its source is not tried again, and has failed',
    kustomization({
      observedGeneration: 1,
      conditions: conditions(
        { type: 'Ready', status: 'False', reason: 'AccessDenied', message: "can't access 'GitRepository/infra/app'" },
        { type: 'Stalled', status: 'True', reason: 'AccessDenied', message: "can't access 'GitRepository/infra/app'" },
      ),
    }),
    { verdict: 'failed', mentions: "can't access 'GitRepository/infra/app'" },
  ],
  [
    'a Kustomization that was applied with its older spec progresses',
    kustomization({ observedGeneration: 1, conditions: conditions({ ...applied, observedGeneration: 1 }) }),
    { verdict: 'progressing', reached: [] },
  ],
  [
    'a Kustomization that is suspended keeps its older status',
    kustomization(
      { observedGeneration: 1, conditions: conditions({ ...applied, observedGeneration: 1 }) },
      { suspend: true },
    ),
    { verdict: 'suspended', mentions: 'spec.suspend is true', hint: 'flux resume kustomization sample -n shop' },
  ],
])

const helmRelease = flux('helm', 'HelmRelease')
const installFailed = 'Helm install failed for release shop/web with chart web@1.2.0: context deadline exceeded'

testEntries(fluxHelm, [
  [
    'an installed HelmRelease is ready',
    helmRelease({
      observedGeneration: 2,
      conditions: conditions(
        { type: 'Ready', status: 'True', reason: 'InstallSucceeded' },
        { type: 'Released', status: 'True', reason: 'InstallSucceeded' },
      ),
    }),
    { verdict: 'ready', reached: ['observed', 'released', 'ready'] },
  ],
  [
    'a HelmRelease that is being upgraded progresses, for as long as its timeout allows',
    helmRelease({
      observedGeneration: 1,
      conditions: conditions(
        { type: 'Reconciling', status: 'True', reason: 'Progressing', message: "Running 'upgrade' action" },
        { type: 'Ready', status: 'Unknown', reason: 'Progressing', message: "Running 'upgrade' action" },
        { type: 'Released', status: 'True', reason: 'InstallSucceeded', observedGeneration: 1 },
      ),
    }),
    { verdict: 'progressing', mentions: "Running 'upgrade' action", isHeld: true, reached: ['observed'] },
  ],
  [
    'a HelmRelease that is being upgraded again progresses, and quotes what it does and why the attempt before failed',
    helmRelease({
      observedGeneration: 1,
      conditions: conditions(
        { type: 'Reconciling', status: 'True', reason: 'Progressing', message: "Running 'upgrade' action" },
        { type: 'Ready', status: 'Unknown', reason: 'Progressing', message: "Running 'upgrade' action" },
        { type: 'Released', status: 'False', reason: 'UpgradeFailed', message: installFailed },
      ),
    }),
    { verdict: 'progressing', mentions: `Running 'upgrade' action; before: ${installFailed}`, isHeld: true },
  ],
  [
    'a HelmRelease whose chart is not there yet progresses',
    helmRelease({
      observedGeneration: -1,
      conditions: conditions(
        { type: 'Reconciling', status: 'True', reason: 'Progressing', message: 'Fulfilling prerequisites' },
        { type: 'Ready', status: 'False', reason: 'SourceNotReady', message: "HelmChart 'shop/web' is not ready" },
      ),
    }),
    { verdict: 'progressing', mentions: "HelmChart 'shop/web' is not ready", isHeld: false },
  ],
  [
    'a HelmRelease that failed and has retries left progresses',
    helmRelease({
      observedGeneration: -1,
      conditions: conditions(
        { type: 'Reconciling', status: 'True', reason: 'ProgressingWithRetry', message: installFailed },
        { type: 'Ready', status: 'False', reason: 'InstallFailed', message: installFailed },
        { type: 'Released', status: 'False', reason: 'InstallFailed', message: installFailed },
      ),
    }),
    { verdict: 'progressing', mentions: installFailed },
  ],
  [
    'a HelmRelease without retries left has failed, and quotes the failure instead of the remediation',
    helmRelease({
      observedGeneration: 2,
      conditions: conditions(
        { type: 'Stalled', status: 'True', reason: 'RetriesExceeded', message: 'Failed to install after 1 attempt(s)' },
        {
          type: 'Ready',
          status: 'False',
          reason: 'UninstallSucceeded',
          message: 'Helm uninstall remediation succeeded',
        },
        { type: 'Released', status: 'False', reason: 'InstallFailed', message: installFailed },
        { type: 'Remediated', status: 'True', reason: 'UninstallSucceeded' },
      ),
    }),
    { verdict: 'failed', mentions: installFailed },
  ],
  [
    'a suspended HelmRelease has the command that resumes it',
    helmRelease({ observedGeneration: 1 }, { suspend: true }),
    { verdict: 'suspended', hint: 'flux resume helmrelease sample -n shop' },
  ],
])

const stored = { type: 'Ready', status: 'True', reason: 'Succeeded', message: 'stored artifact' }
const fetching = { type: 'Reconciling', status: 'True', reason: 'Progressing', message: 'reconciliation in progress' }

const sources = ['GitRepository', 'OCIRepository', 'Bucket', 'HelmChart', 'HelmRepository', 'ExternalArtifact'] as const

const resumeCommands = {
  GitRepository: 'flux resume source git sample -n shop',
  OCIRepository: 'flux resume source oci sample -n shop',
  Bucket: 'flux resume source bucket sample -n shop',
  HelmChart: 'flux resume source chart sample -n shop',
  HelmRepository: 'flux resume source helm sample -n shop',
  ExternalArtifact: '',
} as const

testEntries(fluxSource, [
  ...sources.flatMap((kind) => {
    const source = flux('source', kind)
    return [
      [
        `a ${kind} with a stored artifact is ready`,
        source({ observedGeneration: 2, conditions: conditions(stored) }),
        { verdict: 'ready', isHeld: false },
      ],
      [
        `a ${kind} that is being fetched progresses`,
        source({ observedGeneration: -1, conditions: conditions(fetching, { ...stored, status: 'Unknown' }) }),
        { verdict: 'progressing', isHeld: true },
      ],
      [
        `a ${kind} whose address is invalid has failed`,
        source({
          observedGeneration: 2,
          conditions: conditions(
            { type: 'Stalled', status: 'True', reason: 'URLInvalid', message: 'first path segment contains a colon' },
            { type: 'Ready', status: 'False', reason: 'URLInvalid', message: 'first path segment contains a colon' },
          ),
        }),
        { verdict: 'failed', mentions: 'first path segment contains a colon' },
      ],
      [
        `a ${kind} with the artifact of its older spec progresses`,
        source({ observedGeneration: 1, conditions: conditions({ ...stored, observedGeneration: 1 }) }),
        { verdict: 'progressing' },
      ],
      [
        `a suspended ${kind} is suspended`,
        source({ observedGeneration: -1 }, { suspend: true }),
        { verdict: 'suspended', mentions: 'spec.suspend is true', hint: resumeCommands[kind] },
      ],
    ] as const
  }),
  [
    'a GitRepository without its branch is tried again',
    flux(
      'source',
      'GitRepository',
    )({
      observedGeneration: -1,
      conditions: conditions(
        { type: 'Reconciling', status: 'True', reason: 'ProgressingWithRetry', message: 'retrying' },
        { type: 'Ready', status: 'False', reason: 'GitOperationFailed', message: "couldn't find remote ref" },
        { type: 'FetchFailed', status: 'True', reason: 'GitOperationFailed', message: "couldn't find remote ref" },
      ),
    }),
    { verdict: 'progressing', mentions: "couldn't find remote ref" },
  ],
  [
    'a HelmRepository of type oci is static: its status stays as the definition creates it',
    flux('source', 'HelmRepository')({ observedGeneration: -1 }, { type: 'oci' }),
    { verdict: 'ready' },
  ],
  [
    'a HelmRepository of type default is not ready before its controller has observed it',
    flux('source', 'HelmRepository')({ observedGeneration: -1 }, { type: 'default' }),
    { verdict: 'progressing' },
  ],
])

testEntries(
  fluxImage,
  (['ImageRepository', 'ImagePolicy', 'ImageUpdateAutomation'] as const).flatMap((kind) => {
    const image = flux('image', kind)
    return [
      [
        `a reconciled ${kind} is ready`,
        image({
          observedGeneration: 2,
          conditions: conditions({ type: 'Ready', status: 'True', reason: 'Succeeded' }),
        }),
        { verdict: 'ready' },
      ],
      [
        `a ${kind} without access to its registry or repository is tried again`,
        image({
          observedGeneration: 2,
          conditions: conditions(
            { type: 'Ready', status: 'False', reason: 'ReadOperationFailed', message: 'UNAUTHORIZED: access denied' },
            { type: 'Reconciling', status: 'True', reason: 'ProgressingWithRetry', message: 'retrying' },
          ),
        }),
        { verdict: 'progressing', mentions: 'UNAUTHORIZED: access denied', isHeld: false },
      ],
      [
        `a ${kind} that is not tried again has failed`,
        image({
          observedGeneration: 2,
          conditions: conditions(
            { type: 'Ready', status: 'False', reason: 'ImageURLInvalid', message: 'invalid reference' },
            { type: 'Stalled', status: 'True', reason: 'ImageURLInvalid', message: 'invalid reference' },
          ),
        }),
        { verdict: 'failed', mentions: 'invalid reference' },
      ],
      [
        `a suspended ${kind} is suspended`,
        image({ observedGeneration: -1 }, { suspend: true }),
        { verdict: 'suspended', hint: 'flux resume image ' },
      ],
      [
        `a ${kind} whose status is of its older spec progresses`,
        image({
          observedGeneration: 1,
          conditions: conditions({ type: 'Ready', status: 'True', observedGeneration: 1 }),
        }),
        { verdict: 'progressing' },
      ],
    ] as const
  }),
)

const receiver = flux('notification', 'Receiver')

testEntries(fluxNotification, [
  [
    'an initialized Receiver is ready',
    receiver({ observedGeneration: 2, conditions: conditions({ type: 'Ready', status: 'True', reason: 'Succeeded' }) }),
    { verdict: 'ready' },
  ],
  [
    'a Receiver whose token is missing is tried again',
    receiver({
      observedGeneration: -1,
      conditions: conditions(
        { type: 'Ready', status: 'False', reason: 'TokenNotFound', message: 'Secret "webhook" not found' },
        { type: 'Reconciling', status: 'True', reason: 'ProgressingWithRetry', message: 'Secret "webhook" not found' },
      ),
    }),
    { verdict: 'progressing', mentions: 'Secret "webhook" not found' },
  ],
  [
    'a suspended Receiver is suspended',
    receiver({ observedGeneration: -1 }, { suspend: true }),
    { verdict: 'suspended', hint: 'flux resume receiver sample -n shop' },
  ],
  ...(['Provider', 'Alert'] as const).map(
    (kind) =>
      [
        `a ${kind} is configuration, and is ready although a status of an older version remains`,
        flux('notification', kind)({ conditions: conditions({ type: 'Ready', status: 'False' }) }),
        { verdict: 'ready' },
      ] as const,
  ),
])
