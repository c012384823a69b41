import { secondsAfterStart } from '../facts.ts'
import { deployment, imageName, slowStart } from '../objects.ts'
import type { Scenario } from '../scenario.ts'
import type { Stage } from '../stage.ts'

const web = { inputs: { resources: 'deployment/web' }, kubectl: 'deployment/web', takesSeconds: 6 }

async function slowUpdate(stage: Stage): Promise<void> {
  await stage.rollOut(deployment('web'))
  await stage.apply(deployment('web', { image: 'v2', script: slowStart(8) }))
}

/** Rollouts that end because somebody wanted something else meanwhile, and changes that come late or not at all. */
export const overtaken: Scenario[] = [
  {
    ...web,
    name: 'second-apply',
    setup: slowUpdate,
    during: async (stage) => {
      await stage.runningPod(imageName('v2'))
      await stage.apply(deployment('web', { image: 'v3' }))
      stage.decide()
    },
    expect: { outcome: 'superseded', reason: 'superseded' },
  },
  {
    ...web,
    name: 'rollout-undo',
    setup: slowUpdate,
    during: async (stage) => {
      await stage.runningPod(imageName('v2'))
      await undo(stage, 'web', '1')
      stage.decide()
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
  },
  {
    ...web,
    name: 'change-awaited',
    inputs: { ...web.inputs, 'await-change': '30s' },
    setup: (stage) => stage.rollOut(deployment('web')),
    during: async (stage) => {
      await stage.rollOut(deployment('web', { image: 'v2', script: slowStart(2) }))
      stage.decide()
    },
    expect: { outcome: 'ready', reason: '' },
    takesSeconds: 10,
  },
  {
    ...web,
    name: 'change-not-seen',
    inputs: { ...web.inputs, 'await-change': '6s' },
    setup: (stage) => stage.rollOut(deployment('web')),
    expect: { outcome: 'stalled', reason: 'change-not-seen' },
    decidedBy: secondsAfterStart(6),
    takesSeconds: 9,
  },
  {
    ...web,
    name: 'namespace-terminating',
    // The namespace's controller begins 5 s after the deletion, and takes the pods first.
    inputs: { ...web.inputs, 'stall-timeout': '10s' },
    setup: async (stage) => {
      const { metadata, ...rest } = deployment('web', { readiness: 'never' })
      await stage.apply({ ...rest, metadata: { ...metadata, finalizers: ['tests/hold'] } })
    },
    during: async (stage) => {
      await stage.runningPod(imageName('v1'))
      await stage.api.delete(`/api/v1/namespaces/${stage.namespace}`)
    },
    after: async (stage) => {
      await stage.patch('Deployment', 'web', { metadata: { finalizers: null } })
    },
    expect: { outcome: 'stalled', reason: 'terminating' },
    decidedBy: secondsAfterStart(10),
    takesSeconds: 13,
  },
]

/** What `kubectl rollout undo` sends: the template of the revision's ReplicaSet without its hash. */
async function undo(stage: Stage, name: string, revision: string): Promise<void> {
  const annotation = 'deployment.kubernetes.io/revision'
  const replicaSet = stage.view
    .all('ReplicaSet')
    .find(({ metadata }) => metadata.annotations?.[annotation] === revision)
  const template = structuredClone(replicaSet?.['spec'].template)
  delete template.metadata.labels['pod-template-hash']
  await stage.patch('Deployment', name, [{ op: 'replace', path: '/spec/template', value: template }])
}
