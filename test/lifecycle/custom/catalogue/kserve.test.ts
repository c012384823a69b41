import { kserve, kubeflow } from '../../../../src/lifecycle/custom/catalogue/kserve.ts'
import { condition } from '../../builders.ts'
import { testEntries } from './cases.ts'

/** The status of its generation 3; the generation in it is that of the Knative Service or Deployment. */
const service = (ready: 'True' | 'False' | 'Unknown', status: object = {}, conditions: readonly object[] = []) => ({
  apiVersion: 'serving.kserve.io/v1beta1',
  kind: 'InferenceService',
  metadata: { generation: 3 },
  spec: { predictor: { model: { modelFormat: { name: 'sklearn' } } } },
  status: {
    observedGeneration: 1,
    conditions: [condition('Ready', ready, { message: ready === 'True' ? '' : 'the pods start' }), ...conditions],
    ...status,
  },
})
const model = (transitionStatus: string, reason = '', message = '') => ({
  modelStatus: { transitionStatus, lastFailureInfo: { reason, message } },
})
const revisions = (latestCreatedRevision: string, latestReadyRevision: string) => ({
  components: { predictor: { latestCreatedRevision, latestReadyRevision } },
})

testEntries(kserve, [
  [
    'an InferenceService whose model is loaded is ready, whatever generation its Deployment has',
    service('True', model('UpToDate')),
    { verdict: 'ready' },
  ],
  [
    'an InferenceService that is scaled to zero is ready: no model is loaded',
    service('True', { ...model('InProgress'), ...revisions('web-00002', 'web-00002') }),
    { verdict: 'ready' },
  ],
  [
    'an InferenceService whose new revision starts progresses, while the one before serves',
    service('True', { ...model('InProgress'), ...revisions('web-00002', 'web-00001') }),
    { verdict: 'progressing' },
  ],
  [
    'an InferenceService whose new revision is not ready progresses, while the one before serves',
    service('True', model('InProgress'), [condition('LatestDeploymentReady', 'Unknown')]),
    { verdict: 'progressing' },
  ],
  [
    'an InferenceService that is not ready progresses',
    service('Unknown', model('InProgress')),
    { verdict: 'progressing', mentions: 'the pods start' },
  ],
  [
    'an InferenceService whose model cannot be loaded progresses: its container starts again',
    service('True', model('BlockedByFailedLoad', 'ModelLoadFailed', 'no such file: model.bst')),
    { verdict: 'progressing', mentions: 'no such file: model.bst' },
  ],
  [
    'an InferenceService whose runtime does not exist progresses: it may be created',
    service('False', model('InvalidSpec', 'RuntimeNotRecognized', 'waiting for runtime triton')),
    { verdict: 'progressing', mentions: 'waiting for runtime triton' },
  ],
  [
    'an InferenceService that does not fit its runtime progresses: the runtime may change',
    service('False', model('InvalidSpec', 'InvalidPredictorSpec', 'the predictor has no container')),
    { verdict: 'progressing', mentions: 'the predictor has no container' },
  ],
  [
    'an InferenceService that was stopped is suspended, and the hint has the command that resumes it',
    service('False', {}, [condition('Stopped', 'True')]),
    { verdict: 'suspended', hint: 'kubectl annotate inferenceservice sample -n shop serving.kserve.io/stop-' },
  ],
  [
    'an InferenceGraph that is Ready is ready, whatever generation its Deployment has',
    { ...service('True'), apiVersion: 'serving.kserve.io/v1alpha1', kind: 'InferenceGraph' },
    { verdict: 'ready' },
  ],
  [
    'an InferenceGraph that is not Ready progresses',
    { ...service('False'), apiVersion: 'serving.kserve.io/v1alpha1', kind: 'InferenceGraph' },
    { verdict: 'progressing', mentions: 'the pods start' },
  ],
])

const notebook = (readyReplicas: number, status: object = {}, annotations: Readonly<Record<string, string>> = {}) => ({
  apiVersion: 'kubeflow.org/v1',
  kind: 'Notebook',
  metadata: { annotations },
  spec: { template: {} },
  status: { readyReplicas, conditions: [], containerState: {}, ...status },
})

testEntries(kubeflow, [
  ['a Notebook whose pod is ready is ready', notebook(1), { verdict: 'ready' }],
  [
    'a Notebook whose pod starts progresses, and the container is quoted',
    notebook(0, { containerState: { waiting: { reason: 'ImagePullBackOff', message: 'back-off pulling the image' } } }),
    { verdict: 'progressing', mentions: 'back-off pulling the image' },
  ],
  [
    'a Notebook whose pod is not ready progresses, and its condition is quoted',
    notebook(0, { conditions: [condition('Ready', 'False', { message: 'containers with unready status' })] }),
    { verdict: 'progressing', mentions: 'containers with unready status' },
  ],
  [
    'a Notebook that is stopped is ready without a pod',
    notebook(0, {}, { 'kubeflow-resource-stopped': '2026-01-01T00:00:00Z' }),
    { verdict: 'ready' },
  ],
])
