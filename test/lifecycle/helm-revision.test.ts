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
  ['stops the stall clock while its hook runs', hook({}), 'its hook job/migrate runs'],
  ['does not stop the stall clock if its hook is complete', hook(complete), undefined],
  ['does not stop the stall clock if its hook is older than the revision', hook({}, -10), undefined],
  [
    'does not stop the stall clock if the hook is of another release',
    hook({}, 1, { 'app.kubernetes.io/instance': 'api' }),
    undefined,
  ],
])('a pending revision of a Helm release %s', (_, job, stallHold) => {
  expect(read({ objects: [job] }, helmRevisionRule, revision(7, 'pending-upgrade')).stallHold).toBe(stallHold)
})

const failedHook = { conditions: [{ type: 'Failed', status: 'True' }] }

it.each([
  ['at once, because Helm never retries it', [], true],
  ['at once if its hook has failed', [hook(failedHook)], true],
  ['only after 10 s while its hook may still end', [hook({})], false],
])('a failed revision of a Helm release fails %s', (_, objects, isProven) => {
  const { status, problems } = read({ now: 0, objects }, helmRevisionRule, revision(7, 'failed'))
  expect(status).toBe(isProven ? 'failed' : 'progressing')
  expect(problems).toHaveLength(1)
  expect(read({ now: 10, objects }, helmRevisionRule, revision(7, 'failed')).status).toBe('failed')
})

it.each<[string, readonly KubeObject[], string, string]>([
  ['is still the same if no other revision exists', [], 'deployed', 'same'],
  ['is still the same beside an older revision', [revision(6, 'deployed')], 'pending-upgrade', 'same'],
  ['is superseded if Helm reports the status superseded', [], 'superseded', 'superseded'],
  ['is superseded if an upgrade follows', [revision(8, 'pending-upgrade')], 'pending-upgrade', 'superseded'],
  ['is superseded if a deployed revision follows', [revision(8, 'deployed')], 'pending-upgrade', 'superseded'],
  ['is rolled back if a rollback follows', [revision(8, 'pending-rollback')], 'pending-upgrade', 'rolled-back'],
  [
    'is still the same beside a revision of another release',
    [revision(8, 'deployed', 'web.v7')],
    'pending-upgrade',
    'same',
  ],
])('a revision of a Helm release %s', (_, others, status, type) => {
  const first = revision(7, 'pending-upgrade')
  const object = revision(7, status)
  const revisions = revisionsOf(object, reader({ objects: [...others, object] }))
  const change = compareVersions({ history: { first }, gated: first }, object, revisions, {}, createGateTime())
  expect(change).toEqual({ type })
})
