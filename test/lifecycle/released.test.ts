import { matchesSelector, withoutReleased } from '../../src/lifecycle/selector.ts'
import { added, allSynced, at, createTarget, createWorkload, modified, run } from '../gate/builders.ts'
import { complete, createDeployment, createPod, createReplicaSet, deadStatus, readyStatus } from './builders.ts'

describe('a selector', () => {
  const set = { matchLabels: { app: 'web' } }
  const among = (operator: string, values?: string[]) => ({
    matchExpressions: [{ key: 'tier', operator, ...(values === undefined ? {} : { values }) }],
  })
  it.each<[string, object, Record<string, string>, boolean]>([
    ['matches equal labels', set, { app: 'web', tier: 'x' }, true],
    ['does not match another value', set, { app: 'api' }, false],
    ['does not match an absent label', set, {}, false],
    ['may be a bare map', { app: 'web' }, { app: 'web' }, true],
    ['matches one of several values', among('In', ['a', 'b']), { tier: 'b' }, true],
    ['does not find an absent label among values', among('In', ['a']), {}, false],
    ['matches an absent label that must not be among values', among('NotIn', ['a']), {}, true],
    ['matches a label that exists', among('Exists'), { tier: '' }, true],
    ['does not match a label that must not exist', among('DoesNotExist'), { tier: '' }, false],
    ['that is empty matches everything', {}, { any: 'label' }, true],
  ])('%s', (_, selector, labels, matches) => {
    expect(matchesSelector(selector, labels)).toBe(matches)
  })
})

it('only built-in controllers release pods: the selector of a custom resource may mean anything', () => {
  const owner = { apiVersion: 'acme.io/v1', kind: 'Widget', metadata: { name: 'w' }, spec: { selector: { app: 'no' } } }
  const pod = createPod({}, createReplicaSet({}, createDeployment()))
  expect(withoutReleased(owner, [pod])).toEqual([pod])
  expect(withoutReleased({ ...owner, apiVersion: 'apps/v1' }, [pod])).toEqual([])
})

it('a ready pod whose labels no longer match does not excuse the pod that took its place', () => {
  const web = createWorkload('web')
  const first = web.pod(readyStatus(-60))
  const stray = { ...first, metadata: { ...first.metadata, labels: { app: 'stray' }, resourceVersion: '9' } }
  const next = web.pod({}, { name: 'web-1-b', uid: 'b' })
  const dying = [1, 12, 40].map((second, index) =>
    at(second, modified({ ...next, status: deadStatus(index + 1, second) })),
  )
  const short = web.deployment(complete(1, { readyReplicas: 0, availableReplicas: 0 }))
  const steps = [at(0, added(short, web.replicaSet, first, next), allSynced), at(0, modified(stray)), ...dying]
  expect(run(steps, { targets: [createTarget()] })).toMatchObject({ outcome: 'failed', reason: 'crash-loop' })
})
