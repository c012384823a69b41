import type { HealthCheckEntry } from '../../src/plan/health-checks.ts'

/** The entry of a custom resource of an operator, which owns workloads and a custom resource of another kind. */
export const shopEntry: HealthCheckEntry = {
  apiVersion: 'acme.example/v1',
  kind: 'Shop',
  documentation: 'https://acme.example',
  current: "status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
  failed: "status.phase == 'Failed'",
  suspended: 'spec.?suspend.orValue(false)',
  owns: [
    ...['Deployment', 'ReplicaSet', 'StatefulSet'].map((kind) => ({ apiVersion: 'apps/v1', kind })),
    { apiVersion: 'v1', kind: 'Pod' },
    { apiVersion: 'batch/v1', kind: 'Job' },
    { apiVersion: 'acme.example/v1', kind: 'Order' },
  ],
  revision: 'status.hash',
}
