import { dataImporter, kubeVirt, kubeVirtPools } from '../../../../src/lifecycle/custom/catalogue/kubevirt.ts'
import { testEntries } from './cases.ts'

const metadata = { generation: 3 }
const object = (apiVersion: string, kind: string, spec: object, status: object) => ({
  apiVersion,
  kind,
  metadata,
  spec,
  status,
})
const condition = (type: string, status = 'True', message = '', reason = type) => ({ type, status, reason, message })

const always = { runStrategy: 'Always' }
const started = { created: true, ready: true, observedGeneration: 3, desiredGeneration: 3, runStrategy: 'Always' }
const machine = (spec: object, printableStatus: string, status: object) =>
  object('kubevirt.io/v1', 'VirtualMachine', spec, { printableStatus, ...status })

testEntries(kubeVirt, [
  ['a VirtualMachine that runs is ready', machine(always, 'Running', started), { verdict: 'ready' }],
  [
    'a VirtualMachine that runs and whose change the controller has not seen progresses',
    machine(always, 'Running', { ...started, observedGeneration: 2, desiredGeneration: 2 }),
    { verdict: 'progressing' },
  ],
  [
    'a VirtualMachine that runs with a live update is ready',
    machine(always, 'Running', { ...started, observedGeneration: 2 }),
    { verdict: 'ready' },
  ],
  [
    'a VirtualMachine whose change needs a restart waits for a person, and the hint has the command',
    machine(always, 'Running', {
      ...started,
      observedGeneration: 2,
      conditions: [condition('RestartRequired', 'True', 'a non-live-updatable field was changed')],
    }),
    {
      verdict: 'suspended',
      mentions: 'a non-live-updatable field was changed',
      hint: 'virtctl restart sample -n shop',
    },
  ],
  [
    'a VirtualMachine that starts progresses',
    machine(always, 'Starting', {
      created: true,
      desiredGeneration: 3,
      conditions: [condition('Ready', 'False', 'VMI is not running')],
    }),
    { verdict: 'progressing', mentions: 'VMI is not running' },
  ],
  [
    'a VirtualMachine without its claim progresses, since the claim may be created',
    machine(always, 'ErrorPvcNotFound', { conditions: [condition('Failure', 'True', 'PVC shop/disk does not exist')] }),
    { verdict: 'progressing', mentions: 'PVC shop/disk does not exist' },
  ],
  [
    'a halted VirtualMachine is ready when it is stopped, whatever its last instance was started with',
    machine({ running: false }, 'Stopped', { observedGeneration: 1, desiredGeneration: 1 }),
    { verdict: 'ready' },
  ],
  [
    'a halted VirtualMachine that still runs progresses',
    machine({ runStrategy: 'Halted' }, 'Running', started),
    { verdict: 'progressing' },
  ],
  [
    'a VirtualMachine that must run progresses while it is stopped',
    machine({ running: true }, 'Stopped', {}),
    { verdict: 'progressing' },
  ],
  [
    'an instance whose pod is scheduled progresses',
    object(
      'kubevirt.io/v1',
      'VirtualMachineInstance',
      {},
      { phase: 'Scheduled', conditions: [condition('Ready', 'False', 'Guest VM is not reported as running')] },
    ),
    { verdict: 'progressing', mentions: 'Guest VM is not reported as running', reached: ['observed', 'scheduled'] },
  ],
  [
    'a failed instance has failed',
    object(
      'kubevirt.io/v1',
      'VirtualMachineInstance',
      {},
      {
        phase: 'Failed',
        conditions: [condition('Synchronized', 'False', 'server error: cannot start the domain')],
      },
    ),
    { verdict: 'failed', mentions: 'cannot start the domain' },
  ],
  [
    'a paused instance is paused',
    object(
      'kubevirt.io/v1',
      'VirtualMachineInstance',
      {},
      { phase: 'Running', conditions: [condition('Ready'), condition('Paused')] },
    ),
    { verdict: 'suspended', hint: 'virtctl unpause vmi sample -n shop' },
  ],
  [
    'a set of instances with one unready instance progresses',
    object(
      'kubevirt.io/v1',
      'VirtualMachineInstanceReplicaSet',
      { replicas: 2 },
      { replicas: 2, readyReplicas: 1, labelSelector: 'app=web' },
    ),
    { verdict: 'progressing' },
  ],
  [
    'a migration that failed has failed',
    object(
      'kubevirt.io/v1',
      'VirtualMachineInstanceMigration',
      {},
      { phase: 'Failed', migrationState: { failureReason: 'the target pod is unschedulable' } },
    ),
    { verdict: 'failed', mentions: 'the target pod is unschedulable' },
  ],
  [
    'an installation that is updated progresses, although it is available',
    object(
      'kubevirt.io/v1',
      'KubeVirt',
      {},
      {
        phase: 'Deployed',
        observedGeneration: 3,
        observedKubeVirtVersion: 'v1.6.0',
        targetKubeVirtVersion: 'v1.7.0',
        conditions: [
          condition('Available'),
          condition('Progressing', 'True', 'Transitioning from version v1.6.0 to v1.7.0'),
        ],
      },
    ),
    { verdict: 'progressing', mentions: 'Transitioning from version v1.6.0' },
  ],
])

testEntries(kubeVirtPools, [
  [
    'a pool with all machines is ready',
    object(
      'pool.kubevirt.io/v1beta1',
      'VirtualMachinePool',
      { replicas: 2 },
      { replicas: 2, readyReplicas: 2, labelSelector: 'app=web' },
    ),
    { verdict: 'ready' },
  ],
])

const volume = (phase: string, conditions: readonly object[] = []) =>
  object('cdi.kubevirt.io/v1beta1', 'DataVolume', {}, { phase, progress: '40.0%', conditions })

testEntries(dataImporter, [
  [
    'a DataVolume with its data is ready',
    volume('Succeeded', [condition('Bound'), condition('Ready')]),
    { verdict: 'ready' },
  ],
  ['a DataVolume that waits for its first consumer is ready', volume('WaitForFirstConsumer'), { verdict: 'ready' }],
  [
    'a DataVolume whose import is repeated progresses, and names the error',
    volume('ImportInProgress', [
      condition('Bound'),
      condition('Running', 'False', 'Unable to connect to http data source', 'Error'),
    ]),
    { verdict: 'progressing', mentions: 'Unable to connect to http data source', reached: ['observed', 'bound'] },
  ],
  ['a DataVolume that waits for an upload waits for a person', volume('UploadReady'), { verdict: 'suspended' }],
  ['a failed DataVolume has failed', volume('Failed'), { verdict: 'failed' }],
  [
    'a DataImportCron whose first import runs progresses',
    object(
      'cdi.kubevirt.io/v1beta1',
      'DataImportCron',
      {},
      { conditions: [condition('UpToDate', 'False', 'Import is progressing')] },
    ),
    { verdict: 'progressing', mentions: 'Import is progressing' },
  ],
])
