import { type CatalogueGroup, daemonSets, deployments, jobs, pods, statefulSets } from './entry.ts'
import { allOf, anyOf, isAnnotated, isTrue, messageOf } from './expressions.ts'

const source = 'https://github.com/kubernetes-sigs/kro/blob/main/pkg/controller'

/** kro repeats the reconciliation after every error. */
export const kro: CatalogueGroup = {
  group: 'kro.run',
  entries: [
    {
      kind: 'ResourceGraphDefinition',
      documentation: `${source}/resourcegraphdefinition/controller_status.go`,
      // `state` may be older than the conditions, which contain their generation.
      current: allOf(isTrue('Ready'), `status.state == 'Active'`),
      cause: ['GraphAccepted', 'GraphRevisionsResolved', 'KindReady', 'ControllerReady', 'Ready'].map((type) =>
        messageOf(type),
      ),
    },
    {
      // The instances of the definitions that name no other group. A definition may replace the conditions.
      kind: '*',
      documentation: `${source}/instance/status.go`,
      current: `status.state == 'ACTIVE' && status.?conditions.orValue([]).all(c, c.type != 'Ready' || c.status == 'True')`,
      suspended: anyOf(isAnnotated('kro.run/reconcile', 'suspended'), isAnnotated('kro.run/reconcile', 'disabled')),
      resume: `kubectl annotate {kind} {name} -n {namespace} kro.run/reconcile-`,
      cause: ['ResourcesReady', 'GraphResolved', 'InstanceManaged', 'Ready'].map((type) => messageOf(type)),
      owns: [deployments, statefulSets, daemonSets, jobs, pods],
      isWorkload: true,
    },
  ],
}
