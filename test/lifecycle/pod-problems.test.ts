import { schedulingCauses } from '../../src/lifecycle/workloads/pod-problems.ts'
import { reasons } from '../../src/reasons/reasons.ts'
import { toSubject } from '../kit/subject.ts'

describe("the scheduler's message about a pod that no node takes", () => {
  it.each([
    ['0/3 nodes are available: 3 Insufficient cpu.', 'of 3 nodes, 3 lack cpu'],
    ['0/1 nodes are available: 1 Insufficient example.com/gpu. preemption: x', 'the only node lacks example.com/gpu'],
    [
      "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
      'of 2 nodes, 1 does not match its node selector or affinity, 1 has a taint that the pod does not tolerate',
    ],
    [
      '0/9 nodes are available: 2 Insufficient cpu, 3 Insufficient memory, 4 node(s) had untolerated taint {dedicated: database}. preemption: 0/9 nodes are available: 9 No preemption victims found for incoming pod.',
      'of 9 nodes, 2 lack cpu, 3 lack memory, 4 have a taint that the pod does not tolerate (dedicated=database)',
    ],
    [
      "0/1 nodes are available: 1 node(s) had taint {node-role.kubernetes.io/master: }, that the pod didn't tolerate.",
      'the only node has a taint that the pod does not tolerate (node-role.kubernetes.io/master)',
    ],
    [
      "0/4 nodes are available: 1 node(s) were unschedulable, 1 node(s) didn't match pod anti-affinity rules, 2 node(s) had volume node affinity conflict.",
      'of 4 nodes, 1 is cordoned, 1 does not match the anti-affinity between pods, 2 cannot reach its volume',
    ],
    [
      "0/3 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity, 1 node(s) had no available volume zone.",
      'of 3 nodes, 2 cannot reach its volume, 1 cannot reach its volume',
    ],
    [
      '0/1 nodes are available: 1 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod.',
      'the only node has its ReadWriteOncePod claim in use by another pod',
    ],
    [
      "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind.",
      "of 1 node, 1 node(s) didn't find available persistent volumes to bind",
    ],
    [
      '0/1 nodes are available: 1 cannot allocate all claims. still not schedulable, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
      'of 1 node, 1 cannot allocate all claims',
    ],
    ['0/2 nodes are available: 2 node(s) are on fire.', 'of 2 nodes, 2 node(s) are on fire'],
    ['0/1 nodes are available: 1 node(s) are on fire.', 'of 1 node, 1 node(s) are on fire'],
    [
      '0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/1 nodes are available',
      'pod has unbound immediate PersistentVolumeClaims',
    ],
    [
      '0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found',
      'pod has unbound immediate PersistentVolumeClaims',
    ],
    ['persistentvolumeclaim "data" not found', 'persistentvolumeclaim/data does not exist'],
    [
      '0/2 nodes are available: persistentvolumeclaim "data" not found. not found',
      'persistentvolumeclaim/data does not exist',
    ],
    ['persistentvolumeclaim "data" is being deleted', 'persistentvolumeclaim "data" is being deleted'],
    ['no nodes available to schedule pods', 'no nodes available to schedule pods'],
    ['', ''],
  ])('%s → %s', (message, words) => {
    const problem = { subject: toSubject('pod/web-1-a'), count: 1, firstSeenAt: 0, detail: schedulingCauses(message) }
    expect(reasons.unschedulable.sentence(problem).text).toBe(`cannot be scheduled: ${words}`)
  })
})
