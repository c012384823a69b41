import { dataImporter, kubeVirt, kubeVirtPools } from '../../../../src/lifecycle/custom/catalogue/kubevirt.ts'
import { type EntryCase, testEntries } from './cases.ts'

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

const replicaCases = (apiVersion: string, kind: string): readonly EntryCase[] => [
  [
    `a ${kind} with all replicas is ready`,
    object(apiVersion, kind, { replicas: 2 }, { replicas: 2, readyReplicas: 2, labelSelector: 'app=web' }),
    { verdict: 'ready' },
  ],
  [
    `a ${kind} with one unready replica progresses`,
    object(apiVersion, kind, { replicas: 2 }, { replicas: 2, readyReplicas: 1, labelSelector: 'app=web' }),
    { verdict: 'progressing' },
  ],
  [
    `a paused ${kind} is paused`,
    object(apiVersion, kind, { replicas: 2, paused: true }, { replicas: 2, labelSelector: 'app=web' }),
    { verdict: 'suspended' },
  ],
]

/** @param version the end of the names of the two fields with a version */
const installationCases = (apiVersion: string, kind: string, version: string): readonly EntryCase[] => {
  const deployed = (observed: string, ...conditions: readonly object[]) =>
    object(
      apiVersion,
      kind,
      {},
      {
        phase: 'Deployed',
        observedGeneration: 3,
        [`observed${version}`]: observed,
        [`target${version}`]: 'v1.7.0',
        conditions: [condition('Available'), ...conditions],
      },
    )
  return [
    [`a deployed ${kind} is ready`, deployed('v1.7.0'), { verdict: 'ready' }],
    [
      `an available ${kind} that is updated progresses`,
      deployed('v1.7.0', condition('Progressing', 'True', 'Transitioning to version v1.7.0')),
      { verdict: 'progressing', mentions: 'Transitioning to version v1.7.0' },
    ],
    [`an available ${kind} of the older version progresses`, deployed('v1.6.0'), { verdict: 'progressing' }],
  ]
}

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
    'an instance whose guest is ready is ready',
    object('kubevirt.io/v1', 'VirtualMachineInstance', {}, { phase: 'Running', conditions: [condition('Ready')] }),
    { verdict: 'ready' },
  ],
  ...replicaCases('kubevirt.io/v1', 'VirtualMachineInstanceReplicaSet'),
  [
    'a migration that succeeded is ready',
    object('kubevirt.io/v1', 'VirtualMachineInstanceMigration', {}, { phase: 'Succeeded' }),
    { verdict: 'ready' },
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
  ...installationCases('kubevirt.io/v1', 'KubeVirt', 'KubeVirtVersion'),
])

testEntries(kubeVirtPools, replicaCases('pool.kubevirt.io/v1beta1', 'VirtualMachinePool'))

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
  ...(
    [
      ['DataSource', 'Ready'],
      ['DataImportCron', 'UpToDate'],
    ] as const
  ).flatMap(([kind, type]): readonly EntryCase[] => [
    [
      `a ${kind} with its data is ready`,
      object('cdi.kubevirt.io/v1beta1', kind, {}, { conditions: [condition(type)] }),
      { verdict: 'ready' },
    ],
    [
      `a ${kind} whose import runs progresses`,
      object('cdi.kubevirt.io/v1beta1', kind, {}, { conditions: [condition(type, 'False', 'Import is progressing')] }),
      { verdict: 'progressing', mentions: 'Import is progressing' },
    ],
  ]),
  ...installationCases('cdi.kubevirt.io/v1beta1', 'CDI', 'Version'),
])
