import { type CatalogueGroup, daemonSets, deployments, pods } from './entry.ts'
import { anyOf, messageOf } from './expressions.ts'

const source = 'https://github.com/fluxcd/flagger/blob/main/pkg'

/** Flagger. */
export const flagger: CatalogueGroup = {
  group: 'flagger.app',
  entries: [
    {
      kind: 'Canary',
      documentation: `${source}/canary/status.go`,
      current: `status.phase in ['Initialized', 'Succeeded']`,
      // The workload was rolled back. The next change of the workload starts a new analysis.
      failed: `status.phase == 'Failed'`,
      suspended: anyOf('spec.suspend', `status.phase in ['Waiting', 'WaitingPromotion']`),
      // The analysis has a limit of failed checks, and the deployments have a deadline.
      stallHold: `status.phase in ['Progressing', 'Promoting', 'Finalising']`,
      cause: [messageOf('Promoted')],
      owns: [deployments, daemonSets, pods],
      // The controller compares the workload with the status once an interval (pkg/controller/scheduler.go).
      follows: {
        kinds: [deployments, daemonSets],
        kind: 'spec.targetRef.kind',
        name: 'spec.targetRef.name',
        since: 'status.lastTransitionTime',
        every: 'spec.?analysis.orValue(spec.?canaryAnalysis.orValue({})).interval',
      },
    },
  ],
}
