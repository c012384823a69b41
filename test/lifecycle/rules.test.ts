import { milestonesOf } from '../../src/lifecycle/rules.ts'

describe('the milestones of a kind', () => {
  it.each([
    ['apps/v1', 'Deployment', 'created observed replicaset scheduled pulled started ready available drained'],
    ['apps/v1', 'StatefulSet', 'created observed scheduled pulled started ready updated'],
    ['apps/v1', 'DaemonSet', 'created observed scheduled pulled started ready updated'],
    ['apps/v1', 'ReplicaSet', 'created observed scheduled pulled started ready'],
    ['v1', 'ReplicationController', 'created observed scheduled pulled started ready'],
    ['v1', 'Pod', 'created scheduled initialized pulled started running ready'],
    ['batch/v1', 'Job', 'created started succeeded complete'],
    ['v1', 'Service', 'created endpoints ready address'],
    ['v1', 'PersistentVolumeClaim', 'created provisioned bound'],
    ['networking.k8s.io/v1', 'Ingress', 'created backends address'],
    ['cert-manager.io/v1', 'Certificate', 'created observed ready'],
    ['v1', 'constructor', 'created observed ready'],
  ])('are those of the contract: %s %s', (apiVersion, kind, names) => {
    expect(milestonesOf({ apiVersion, kind }).join(' ')).toBe(names)
  })

  it('are not those of the same kind in another group', () => {
    expect(milestonesOf({ apiVersion: 'serving.knative.dev/v1', kind: 'Service' })).toEqual([
      'created',
      'observed',
      'ready',
    ])
  })
})
