import type { Container, PodTemplate } from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import { revisionChanges } from '../../src/diagnosis/target-facts.ts'
import { templateChanges } from '../../src/lifecycle/workloads/pod-template.ts'
import { rows } from '../kit/rows.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

function template(container: Partial<Container>, spec: object = {}): PodTemplate {
  return { spec: { containers: [{ name: 'app', image: 'web:v1', ...container }], ...spec } }
}

describe('the differences between two pod templates are', () => {
  it.each(rows<[string, PodTemplate, PodTemplate, readonly string[]]>(data, 'the differences of two templates'))(
    '%s',
    (_, before, after, changes) => {
      expect(templateChanges(before, after)).toEqual(changes)
    },
  )

  it('the names of environment variables without their values', () => {
    const before = template({
      env: [
        { name: 'KEPT', value: 'k' },
        { name: 'GONE', value: 'secret-1' },
        { name: 'TOKEN', value: 'secret-2' },
      ],
    })
    const after = template({
      env: [
        { name: 'KEPT', value: 'k' },
        { name: 'TOKEN', value: 'secret-3' },
        { name: 'NEW', value: 'secret-4' },
      ],
    })
    const changes = templateChanges(before, after)
    expect(changes).toEqual([
      'container app: env NEW added',
      'container app: env GONE removed',
      'container app: env TOKEN changed',
    ])
    expect(changes.join()).not.toContain('secret')
  })
})

describe('the reported changes of a rollout', () => {
  const target = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web', clocks: {} }
  const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'd' }
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop', uid: 'd' },
    spec: { template: template({ image: 'web:v3' }) },
  }
  const replicaSet = (revision: string, image: string) => ({
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `web-${revision}`,
      namespace: 'shop',
      uid: revision,
      ownerReferences: [owner],
      annotations: { 'deployment.kubernetes.io/revision': revision },
    },
    spec: { template: template({ image }) },
  })
  const store = (...objects: object[]) => {
    const filled = new Store(() => false)
    for (const object of objects) filled.apply({ type: 'ADDED', at: 0, object } as Parameters<Store['apply']>[0])
    return filled
  }

  const third = store(deployment, replicaSet('1', 'web:v1'), replicaSet('2', 'web:v2'), replicaSet('3', 'web:v3'))

  it.each([
    ['the previous revision', 2, 'ready', undefined],
    ['are relative to the revision that was available at the start of the gate', 1, 'ready', 1],
    ['are relative to the gated revision if another change replaced it', 2, 'superseded', 1],
  ] as const)('are relative to %s', (_, revision, outcome, availableRevision) => {
    expect(revisionChanges({ outcome, basis: { target, availableRevision } }, third)).toEqual({
      changes: [`container app: image web:v${revision} → web:v3`],
      changesSince: revision,
    })
  })

  it('are empty for a first revision', () => {
    expect(
      revisionChanges({ outcome: 'ready', basis: { target } }, store(deployment, replicaSet('1', 'web:v3'))),
    ).toEqual({})
  })
})
