import type { DaemonSet, KubeObject, PodStatus, PodTemplate } from '../../src/cluster/objects.ts'
import { daemonSetRule } from '../../src/lifecycle/workloads/daemonset.ts'
import { iso, make, podIs } from '../kit/objects.ts'
import { read, seenPod } from '../kit/rule.ts'

function done(nodes: number, rest: DaemonSet['status'] = {}): DaemonSet['status'] {
  return {
    observedGeneration: 1,
    desiredNumberScheduled: nodes,
    currentNumberScheduled: nodes,
    updatedNumberScheduled: nodes,
    numberReady: nodes,
    numberAvailable: nodes,
    ...rest,
  }
}

function revision(hash: string, number: number, template?: PodTemplate): KubeObject {
  const labels = { app: 'agent', 'controller-revision-hash': hash }
  return make.revision(make.daemonSet(), `agent-${hash}`, number, { uid: `${hash}-uid`, labels }, template)
}

function agent(node: string, status: PodStatus, hash = 'new') {
  const labels = { app: 'agent', 'controller-revision-hash': hash }
  return make.pod({ metadata: { name: `agent-${node}`, labels }, spec: { nodeName: node }, status }, make.daemonSet())
}

const nodes = [make.node('n1'), make.node('n2')]

describe('the present revision of a DaemonSet', () => {
  const broken = (nth: number, at: number) => agent('n1', podIs.looping(nth, at), 'old')
  const podHistories = new Map([['agent-n1-uid', seenPod([5, broken(1, 5)], [20, broken(2, 20)], [45, broken(3, 45)])]])
  const next = make.template({ serviceAccountName: 'next' })
  const look = (template: PodTemplate, status: DaemonSet['status'], ...objects: KubeObject[]) => {
    const set = make.daemonSet({ spec: { template }, status })
    return read({ podHistories, objects: [broken(3, 45), ...nodes, ...objects] }, daemonSetRule, set)
  }
  const waiting = done(2, { updatedNumberScheduled: 0, numberReady: 0, numberAvailable: 0 })

  it('is none until its ControllerRevision is seen, so that pods of the older one are not judged', () => {
    expect(look(next, waiting, revision('old', 1, make.template()))).toMatchObject({
      status: 'progressing',
      problems: [],
    })
  })

  it('is not judged by the refused pods of the older one while it is not seen', () => {
    const denied = make.event(make.daemonSet(), {
      reason: 'FailedCreate',
      message: 'Error creating: pods "x" is forbidden: violates PodSecurity "x"',
      count: 12,
      lastTimestamp: iso(5),
    })
    const none = { ...waiting, currentNumberScheduled: 0 }
    const old = revision('old', 1, make.template())
    expect(look(next, none, old, denied).problems).toEqual([])
    expect(look(next, none, old, revision('new', 2, next), denied).status).toBe('failed')
  })

  it('is the one with the present template, also with a lower number', () => {
    const revisions = [revision('old', 1, make.template()), revision('new', 2, next)]
    expect(look(make.template(), waiting, ...revisions)).toMatchObject({
      status: 'failed',
      failure: { reason: 'crash-loop' },
    })
    expect(look(next, waiting, ...revisions).problems).toEqual([])
  })

  it('is not known without revisions, so that its pods are those that the controller counts as updated', () => {
    expect(look(next, waiting).problems).toEqual([])
    expect(look(next, { ...waiting, updatedNumberScheduled: 1 })).toMatchObject({ failure: { reason: 'crash-loop' } })
  })
})
