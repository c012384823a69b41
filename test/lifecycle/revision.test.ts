import type { KubeObject } from '../../src/cluster/objects.ts'
import { Store } from '../../src/cluster/store.ts'
import { templateChangedAt } from '../../src/lifecycle/workloads/revision.ts'
import { iso, make, moment, ownedBy } from '../kit/objects.ts'

/** A ReplicaSet of `web`, created at this second, with its revision and those that it had before. */
function replicaSet(name: string, createdAt: number, revision: string | undefined, before?: string): KubeObject {
  const annotations = {
    ...(revision === undefined ? {} : { 'deployment.kubernetes.io/revision': revision }),
    ...(before === undefined ? {} : { 'deployment.kubernetes.io/revision-history': before }),
  }
  return make.replicaSet({ metadata: { name, creationTimestamp: iso(createdAt), annotations } })
}

function storeOf(objects: readonly KubeObject[]): Store {
  const store = new Store(() => false)
  for (const object of objects) store.apply({ at: moment(0), type: 'ADDED', object })
  return store
}

function ofReplicaSet(name: string, ...objects: readonly KubeObject[]) {
  const [owner] = ownedBy(make.replicaSet({ metadata: { name } }))
  if (owner === undefined) throw new Error('A pod of a ReplicaSet has an owner.')
  return templateChangedAt(owner, 'shop', storeOf([make.deployment(), ...objects]))
}

describe("the last change of a Deployment's template", () => {
  it('is the creation of its newest ReplicaSet', () => {
    expect(ofReplicaSet('web-2', replicaSet('web-1', -100, '1'), replicaSet('web-2', -50, '2'))).toBe(iso(-50))
  })

  it('is the same for the pods of an older one', () => {
    expect(ofReplicaSet('web-1', replicaSet('web-1', -100, '1'), replicaSet('web-2', -50, '2'))).toBe(iso(-50))
  })

  it('counts revisions as numbers', () => {
    expect(ofReplicaSet('web-10', replicaSet('web-9', -100, '9'), replicaSet('web-10', -50, '10'))).toBe(iso(-50))
  })

  it('is the later of two revisions that were created in the same second', () => {
    expect(ofReplicaSet('web-2', replicaSet('web-1', -50, '1'), replicaSet('web-2', -50, '2'))).toBe(iso(-50))
  })

  it.each([
    ['it went back to an older one', [replicaSet('web-1', -100, '3', '1'), replicaSet('web-2', -50, '2')]],
    ['it went back to its newest one', [replicaSet('web-1', -100, '3', '1'), replicaSet('web-2', -50, '4', '2')]],
    ['its revisions have no numbers', [replicaSet('web-1', -100, undefined), replicaSet('web-2', -50, undefined)]],
    ['its ReplicaSets cannot be seen', []],
  ])('is unknown when %s', (_, objects) => {
    expect(ofReplicaSet('web-2', ...objects)).toBeUndefined()
  })

  it('is known although an earlier change was a rollback', () => {
    const objects = [replicaSet('web-1', -100, '3', '1'), replicaSet('web-2', -90, '2'), replicaSet('web-3', -50, '4')]
    expect(ofReplicaSet('web-3', ...objects)).toBe(iso(-50))
  })
})

describe("the last change of a set's template", () => {
  const set: KubeObject = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'shop', uid: 'db-uid' },
  }
  const revision = (name: string, createdAt: number, number: number) =>
    make.revision(set, name, number, { creationTimestamp: iso(createdAt) })
  const ofSet = (...objects: readonly KubeObject[]) => {
    const [owner] = ownedBy(set)
    if (owner === undefined) throw new Error('A pod of a set has an owner.')
    return templateChangedAt(owner, 'shop', storeOf([set, ...objects]))
  }

  it('is the creation of its newest ControllerRevision', () => {
    expect(ofSet(revision('db-b', -50, 2), revision('db-a', -100, 1))).toBe(iso(-50))
  })

  it('is unknown when it was rolled back to an older one', () => {
    expect(ofSet(revision('db-b', -50, 2), revision('db-a', -100, 3))).toBeUndefined()
  })

  it('is unknown if its revisions cannot be read', () => {
    expect(ofSet()).toBeUndefined()
  })
})
