import { kubeVela } from '../../../../src/lifecycle/custom/catalogue/kubevela.ts'
import { condition } from '../../builders.ts'
import { testEntries } from './cases.ts'

const application = (phase: string, status: object = {}, observedGeneration = 2) => ({
  apiVersion: 'core.oam.dev/v1beta1',
  kind: 'Application',
  metadata: { generation: 2 },
  spec: { components: [{ name: 'web', type: 'webservice' }] },
  status: { observedGeneration, status: phase, ...status },
})

testEntries(kubeVela, [
  ['an Application that runs is ready', application('running'), { verdict: 'ready' }],
  ['an Application whose workflow runs progresses', application('runningWorkflow'), { verdict: 'progressing' }],
  ['an Application that runs its previous spec progresses', application('running', {}, 1), { verdict: 'progressing' }],
  [
    'an Application whose components start progresses, and the component is quoted',
    application('unhealthy', { services: [{ name: 'web', healthy: false, message: 'Ready:0/1' }] }),
    { verdict: 'progressing', mentions: 'web: Ready:0/1' },
  ],
  [
    'an Application that cannot be rendered progresses, and the error is quoted',
    application('rendering', { conditions: [condition('Render', 'False', { message: 'no such definition' })] }),
    { verdict: 'progressing', mentions: 'no such definition' },
  ],
  [
    'an Application whose workflow failed has failed, and the step is quoted',
    application('workflowFailed', {
      workflow: { finished: true, steps: [{ phase: 'failed', message: 'apply is denied' }] },
    }),
    { verdict: 'failed', mentions: 'apply is denied' },
  ],
  [
    'an Application whose workflow was terminated has failed',
    application('workflowTerminated', { workflow: { finished: true, terminated: true } }),
    { verdict: 'failed' },
  ],
  [
    'an Application whose steps cannot be generated yet is reconciled again',
    application('workflowFailed', { conditions: [condition('Workflow', 'False', { message: 'no such step' })] }),
    { verdict: 'progressing', mentions: 'no such step' },
  ],
  [
    'an Application whose workflow waits for an approval is suspended',
    application('workflowSuspending'),
    { verdict: 'suspended', hint: 'vela workflow resume sample -n shop' },
  ],
])
