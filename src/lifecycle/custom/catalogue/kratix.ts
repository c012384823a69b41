import { type CatalogueGroup, jobs, pods } from './entry.ts'
import { allOf, hasCondition, isFalse, isTrue, messageOf } from './expressions.ts'

const source = 'https://github.com/syntasso/kratix/blob/main'

/** Conditions that a Promise may have besides Available; each is False or Unknown until it is done. */
const steps = ['RequirementsFulfilled', 'ConfigureWorkflowCompleted', 'WorksSucceeded', 'Reconciled'] as const

/** Kratix. The requests for a Promise have kinds that it defines itself. */
export const kratix: CatalogueGroup = {
  group: 'platform.kratix.io',
  entries: [
    {
      kind: 'Promise',
      documentation: `${source}/internal/controller/promise_controller.go`,
      current: allOf(
        isTrue('Available'),
        `!status.conditions.exists(c, c.type in ['${steps.join("', '")}'] && c.status != 'True')`,
      ),
      // A failed pipeline of a Promise runs again after a change of its spec, or when a user requests it
      // (lib/workflow/reconciler.go). Works that are not written are retried; those without a destination wait for one.
      failed: isFalse('ConfigureWorkflowCompleted', 'ConfigureWorkflowFailed'),
      suspended: hasCondition('Reconciled', `c.reason in ['PausedReconciliation', 'WorkflowSuspended']`),
      cause: [...steps, 'Available'].map((type) => messageOf(type)),
      owns: [jobs, pods],
    },
  ],
}
