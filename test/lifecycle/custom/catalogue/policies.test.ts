import {
  gatekeeperConstraints,
  gatekeeperMutations,
  gatekeeperTemplates,
  kyverno,
  kyvernoPolicies,
} from '../../../../src/lifecycle/custom/catalogue/policies.ts'
import { type EntryCase, testEntries } from './cases.ts'

const metadata = { generation: 2, namespace: undefined }
const object = (apiVersion: string, kind: string, status?: object) => ({
  apiVersion,
  kind,
  metadata,
  spec: {},
  ...(status === undefined ? {} : { status }),
})

testEntries(kyverno, [
  ...['ClusterPolicy', 'Policy', 'GlobalContextEntry'].flatMap((kind): readonly EntryCase[] => [
    [
      `a ${kind} that is Ready is ready`,
      object('kyverno.io/v1', kind, { conditions: [{ type: 'Ready', status: 'True', reason: 'Succeeded' }] }),
      { verdict: 'ready' },
    ],
    [
      `a ${kind} that is not in use yet progresses`,
      object('kyverno.io/v1', kind, {
        conditions: [{ type: 'Ready', status: 'False', reason: 'Failed', message: 'Not ready yet' }],
      }),
      { verdict: 'progressing', mentions: 'Not ready yet' },
    ],
  ]),
  ...['CleanupPolicy', 'ClusterCleanupPolicy', 'PolicyException'].map(
    (kind): EntryCase => [`a ${kind} is ready without a status`, object('kyverno.io/v2', kind), { verdict: 'ready' }],
  ),
])

const celPolicy = (kind: string, ready: boolean, ...conditions: readonly object[]) =>
  object('policies.kyverno.io/v1', kind, { conditionStatus: { ready, conditions, message: '' } })
const configured = { type: 'WebhookConfigured', status: 'True', message: 'Webhook configured.' }

testEntries(
  kyvernoPolicies,
  ['', 'Namespaced'].flatMap((scope): readonly EntryCase[] => [
    ...['ValidatingPolicy', 'ImageValidatingPolicy', 'MutatingPolicy', 'GeneratingPolicy'].flatMap(
      (kind): readonly EntryCase[] => [
        [
          `a ${scope}${kind} in the webhook is ready`,
          celPolicy(`${scope}${kind}`, true, configured),
          { verdict: 'ready' },
        ],
        [
          `a ${scope}${kind} without permissions progresses, and names them`,
          celPolicy(`${scope}${kind}`, false, configured, {
            type: 'RBACPermissionsGranted',
            status: 'False',
            message: 'missing permissions: list widgets',
          }),
          { verdict: 'progressing', mentions: 'missing permissions: list widgets' },
        ],
      ],
    ),
    [
      `a ${scope}DeletingPolicy is ready before its first run`,
      object('policies.kyverno.io/v1', `${scope}DeletingPolicy`),
      { verdict: 'ready' },
    ],
  ]),
)

const pod = (observedGeneration: number, rest: object = {}) => ({
  id: `gatekeeper-${observedGeneration}`,
  observedGeneration,
  ...rest,
})
const template = (...byPod: readonly object[]) =>
  object('templates.gatekeeper.sh/v1', 'ConstraintTemplate', { created: true, byPod })

testEntries(gatekeeperTemplates, [
  ['a ConstraintTemplate that all pods have read is ready', template(pod(2), pod(2)), { verdict: 'ready' }],
  ['a ConstraintTemplate that one pod has not read progresses', template(pod(2), pod(1)), { verdict: 'progressing' }],
  [
    'a ConstraintTemplate with invalid Rego has failed',
    template(pod(2, { errors: [{ code: 'ingest_error', message: 'rego_parse_error: unexpected token' }] })),
    { verdict: 'failed', mentions: 'rego_parse_error: unexpected token' },
  ],
  [
    'an error of the older template does not count',
    template(pod(1, { errors: [{ code: 'ingest_error', message: 'rego_parse_error: unexpected token' }] })),
    { verdict: 'progressing' },
  ],
  [
    'a ConstraintTemplate whose definition cannot be written progresses, since it is retried',
    template(pod(2, { errors: [{ code: 'create_error', message: 'Could not create CRD: conflict' }] })),
    { verdict: 'progressing', mentions: 'Could not create CRD: conflict' },
  ],
])

const constraint = (...byPod: readonly object[]) =>
  object('constraints.gatekeeper.sh/v1beta1', 'RequiredLabels', { byPod, totalViolations: 4 })

testEntries(gatekeeperConstraints, [
  [
    'a constraint that all pods enforce is ready, whatever it finds',
    constraint(pod(2, { enforced: true }), pod(2, { enforced: true })),
    { verdict: 'ready' },
  ],
  [
    'a constraint that one pod does not enforce yet progresses',
    constraint(pod(2, { enforced: true }), pod(2, { errors: [{ message: 'the template is not ready' }] })),
    { verdict: 'progressing', mentions: 'the template is not ready' },
  ],
])

testEntries(gatekeeperMutations, [
  [
    'a mutation that all pods enforce is ready',
    object('mutations.gatekeeper.sh/v1', 'Assign', { byPod: [pod(2, { enforced: true })] }),
    { verdict: 'ready' },
  ],
  [
    'a mutation whose older generation is enforced progresses',
    object('mutations.gatekeeper.sh/v1', 'Assign', { byPod: [pod(1, { enforced: true })] }),
    { verdict: 'progressing' },
  ],
])
