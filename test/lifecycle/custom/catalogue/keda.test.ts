import { keda } from '../../../../src/lifecycle/custom/catalogue/keda.ts'
import { type SampleObject, testEntries } from './cases.ts'

/** KEDA writes neither a generation nor times. */
const scaled = (kind: string, conditions: readonly object[], annotations = {}): SampleObject => ({
  apiVersion: 'keda.sh/v1alpha1',
  kind,
  metadata: { generation: 2, annotations },
  spec: { triggers: [{ type: 'cron' }] },
  status: { conditions },
})

const ready = { type: 'Ready', status: 'True', reason: 'ScaledObjectReady', message: 'is ready for scaling' }
const initial = ['Ready', 'Active', 'Fallback', 'Paused'].map((type) => ({ type, status: 'Unknown' }))
const paused = { type: 'Paused', status: 'True', reason: 'ScaledObjectPaused', message: 'ScaledObject is paused' }
const targetMissing = {
  type: 'Ready',
  status: 'False',
  reason: 'ScaledObjectCheckFailed',
  message: 'deployments.apps "web" not found',
}

testEntries(keda, [
  ...['ScaledObject', 'ScaledJob'].flatMap(
    (kind) =>
      [
        [`a ${kind} that KEDA accepts is ready`, scaled(kind, [ready]), { verdict: 'ready' }],
        [`a ${kind} with initial conditions progresses`, scaled(kind, initial), { verdict: 'progressing' }],
        [
          `a ${kind} without its target is checked again`,
          scaled(kind, [targetMissing]),
          { verdict: 'progressing', mentions: 'deployments.apps "web" not found' },
        ],
        [
          `a paused ${kind} is suspended`,
          scaled(kind, [ready, paused], { 'autoscaling.keda.sh/paused': 'true' }),
          { verdict: 'suspended', hint: 'autoscaling.keda.sh/paused-' },
        ],
        [
          `a ${kind} with the annotation \`false\` is not paused`,
          scaled(kind, [ready], { 'autoscaling.keda.sh/paused': 'false' }),
          { verdict: 'ready' },
        ],
      ] as const,
  ),
  [
    'a ScaledObject with a fixed number of replicas is suspended',
    scaled('ScaledObject', [ready, paused], { 'autoscaling.keda.sh/paused-replicas': '0' }),
    { verdict: 'suspended' },
  ],
  [
    'a ScaledObject that does not scale in goes on scaling out, and is ready',
    scaled('ScaledObject', [ready, paused], { 'autoscaling.keda.sh/paused-scale-in': 'true' }),
    { verdict: 'ready' },
  ],
  [
    'a ScaledObject that fell back to fixed replicas progresses',
    scaled('ScaledObject', [
      ready,
      { type: 'Fallback', status: 'True', reason: 'FallbackExists', message: 'At least one trigger is falling back' },
    ]),
    { verdict: 'progressing', mentions: 'At least one trigger is falling back' },
  ],
  ...['TriggerAuthentication', 'ClusterTriggerAuthentication'].flatMap(
    (kind) =>
      [
        [
          `a ${kind} that no ScaledObject uses is ready`,
          { apiVersion: 'keda.sh/v1alpha1', kind, spec: { secretTargetRef: [] } },
          { verdict: 'ready' },
        ],
        [
          `a ${kind} that a ScaledObject uses is ready`,
          { apiVersion: 'keda.sh/v1alpha1', kind, spec: {}, status: { scaledobjects: 'web' } },
          { verdict: 'ready' },
        ],
      ] as const,
  ),
])
