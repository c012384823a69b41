import type { KubeObject } from '../../src/cluster/objects.ts'
import { helmRevisionRule } from '../../src/lifecycle/platform/helm-revision.ts'
import { compareVersions, revisionsOf } from '../../src/lifecycle/versions.ts'
import { iso, make } from '../kit/objects.ts'
import { createGateTime, read, reader } from '../kit/rule.ts'

function revision(number: number, status: string, release = 'web'): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Helm',
    metadata: {
      name: `${release}.v${number}`,
      namespace: 'shop',
      uid: `${release}-${number}`,
      creationTimestamp: iso(0),
      labels: { name: release, owner: 'helm', status, version: `${number}` },
    },
  }
}

function hook(status: object, createdAt = 1, labels = {}): KubeObject {
  const annotations = { 'helm.sh/hook': 'pre-upgrade' }
  return make.job({ metadata: { creationTimestamp: iso(createdAt), labels, annotations }, status })
}

const complete = { conditions: [{ type: 'Complete', status: 'True' }] }

it.each([
  ['deployed', 'ready', 'revision 7 is deployed'],
  ['failed', 'failed', 'Helm reports revision 7 as failed'],
  ['superseded', 'progressing', 'Helm reports revision 7 as superseded'],
  ['pending-upgrade', 'progressing', 'revision 7 is pending-upgrade since 12:00 UTC'],
  ['pending-install', 'progressing', 'revision 7 is pending-install since 12:00 UTC'],
])('a revision of a Helm release with status %s is %s', (status, expected, message) => {
  expect(read({}, helmRevisionRule, revision(7, status))).toMatchObject({
    status: expected,
    message: expect.stringContaining(message),
  })
})

it.each([
  ['runs', hook({}), 'its hook job/migrate runs'],
  ['is complete', hook(complete), undefined],
  ['is older than the revision', hook({}, -10), undefined],
  ['is of another release', hook({}, 1, { 'app.kubernetes.io/instance': 'api' }), undefined],
])('a pending revision whose hook %s holds the stall clock only while the hook runs', (_, job, stallHold) => {
  expect(read({ objects: [job] }, helmRevisionRule, revision(7, 'pending-upgrade')).stallHold).toBe(stallHold)
})

const failedHook = { conditions: [{ type: 'Failed', status: 'True' }] }

it.each([
  ['at once, because Helm never retries it', [], true],
  ['at once, if its hook has failed', [hook(failedHook)], true],
  ['later, while its hook may still end', [hook({})], false],
])('a failed revision of a Helm release fails %s', (_, objects, isProven) => {
  const { status, problems } = read({ now: 0, objects }, helmRevisionRule, revision(7, 'failed'))
  expect(status).toBe(isProven ? 'failed' : 'progressing')
  expect(problems).toHaveLength(1)
  expect(read({ now: 10, objects }, helmRevisionRule, revision(7, 'failed')).status).toBe('failed')
})

it.each<[string, readonly KubeObject[], string, string]>([
  ['has no other revision', [], 'deployed', 'same'],
  ['has older revisions', [revision(6, 'deployed')], 'pending-upgrade', 'same'],
  ['is replaced', [], 'superseded', 'superseded'],
  ['is followed by an upgrade', [revision(8, 'pending-upgrade')], 'pending-upgrade', 'superseded'],
  ['is followed by a deployed revision', [revision(8, 'deployed')], 'pending-upgrade', 'superseded'],
  ['is followed by a rollback', [revision(8, 'pending-rollback')], 'pending-upgrade', 'rolled-back'],
  ['stands beside another release', [revision(8, 'deployed', 'web.v7')], 'pending-upgrade', 'same'],
])('a revision of a Helm release that %s is compared with the other revisions', (_, others, status, type) => {
  const first = revision(7, 'pending-upgrade')
  const object = revision(7, status)
  const revisions = revisionsOf(object, reader({ objects: [...others, object] }))
  const change = compareVersions({ history: { first }, gated: first }, object, revisions, {}, createGateTime())
  expect(change).toEqual({ type })
})
