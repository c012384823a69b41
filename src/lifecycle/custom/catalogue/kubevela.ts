import type { CatalogueGroup } from './entry.ts'
import { messageOf } from './expressions.ts'

/** KubeVela. */
export const kubeVela: CatalogueGroup = {
  group: 'core.oam.dev',
  entries: [
    {
      kind: 'Application',
      documentation: 'https://github.com/kubevela/kubevela/blob/master/apis/core.oam.dev/common/types.go',
      // `unhealthy` means that everything is applied and not all of it is healthy yet.
      current: `status.status == 'running'`,
      // Steps that cannot be generated have the same phase, and are generated again: the workflow has not finished.
      failed: `status.status in ['workflowFailed', 'workflowTerminated'] && status.workflow.finished`,
      suspended: `status.status == 'workflowSuspending'`,
      resume: 'vela workflow resume {name} -n {namespace}',
      cause: [
        `status.workflow.steps.filter(s, s.?phase.orValue('') == 'failed').map(s, s.?message.orValue(''))`,
        `status.services.filter(s, !s.healthy && s.?message.hasValue()).map(s, s.name + ': ' + s.message)`,
        messageOf('Workflow'),
        messageOf('Render'),
        messageOf('Parsed'),
      ],
    },
  ],
}
