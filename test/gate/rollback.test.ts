import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { Container, KubeObject, PodTemplate } from '../../src/cluster/objects.ts'
import type { EndedRunRecord } from '../../src/gate/run-record.ts'
import { settingsForPurpose } from '../../src/gate/settings.ts'
import { rollbackOf, wayBackLines } from '../../src/report/rollback.ts'
import { singleCheckRecord } from '../../src/views/single-check.ts'
import { added, allSynced, at, createGate, createSettings, modified, progressing, run, synced } from '../kit/gate.ts'
import { complete, is, iso, make, moment, podIs } from '../kit/objects.ts'

interface Change {
  /** The containers of the version before and of the present one. */
  readonly before?: Partial<Container>
  readonly after?: Partial<Container>
  /** When the present version came, in seconds of the gate. */
  readonly came?: number
  readonly metadata?: Partial<KubeObject['metadata']>
  /** The container of the new pod that waits, why, and the message. */
  readonly fails?: readonly [container: string, reason: string, message?: string]
  readonly others?: readonly KubeObject[]
  readonly lists?: readonly ReturnType<typeof synced>[]
}

const image = (version: number) => ({ image: `acme/web:v${version}` })
const neverPulled = ['app', 'ErrImageNeverPull'] as const

/** A Deployment whose version before is available, and whose present one fails. */
function stepsOf({
  before,
  after,
  came = -20,
  metadata = {},
  fails = neverPulled,
  others = [],
  lists = [synced('Job')],
}: Change) {
  const [old, present] = [
    { ...image(1), ...before },
    { ...image(2), ...after },
  ].map((container) => make.template({ containers: [make.container(container)] })) as [PodTemplate, PodTemplate]
  const made = (number: number, seconds: number) => ({
    name: `web-${number}`,
    creationTimestamp: iso(seconds),
    annotations: { 'deployment.kubernetes.io/revision': `${number}` },
  })
  const web = make.deployment({
    metadata: { creationTimestamp: iso(-9_000_000), ...metadata },
    spec: { template: present },
    status: progressing as object,
  })
  const available = { status: { replicas: 1, availableReplicas: 1 } }
  const oldSet = make.replicaSet(
    { metadata: made(6, -900_000), spec: { replicas: 1 }, ...available },
    make.deployment({ spec: { template: old }, status: complete() as object }),
  )
  const newSet = make.replicaSet({ metadata: made(7, came) }, web)
  const oldPod = make.pod({ metadata: { name: 'web-6-a' }, status: podIs.ready(-900_000) }, oldSet)
  const [name, reason, message] = fails
  const own = make.containerStatus({ state: is.waiting('ContainerCreating') })
  const failing = { name, state: is.waiting(reason, message) }
  const status = podIs.unready(
    failing,
    name === 'app' ? {} : { containerStatuses: [own, make.containerStatus(failing)] },
  )
  const containers = [...(present.spec?.containers ?? []), ...(name === 'app' ? [] : [make.container({ name })])]
  const newPod = make.pod(
    { metadata: { name: 'web-7-a', creationTimestamp: iso(came) }, spec: { containers }, status },
    newSet,
  )
  const checked = (seconds: number) =>
    modified(
      make.event(newPod, {
        type: 'Warning',
        reason: 'Failed',
        message: `Error: ${message}`,
        count: seconds,
        lastTimestamp: iso(seconds),
      }),
    )
  return [
    at(0, added(web, oldSet, newSet, oldPod, newPod, ...others), allSynced, ...lists),
    at(2, checked(2)),
    at(80, checked(80)),
    at(150, checked(150)),
  ]
}

function rollback(change: Change) {
  const steps = stepsOf(change) as readonly (readonly FeedEvent[])[]
  const settings = { context: 'prod' }
  const { outcome, reason, record } = run(steps, { settings, live: true })
  const view = createGate(steps, { settings: settingsForPurpose('view', createSettings(settings)), live: true })
  view.handle(steps.flat())
  expect(wayBackLines(singleCheckRecord(view, moment(150)))).toEqual(wayBackLines(record))
  return { outcome, reason, ...rollbackOf(record as EndedRunRecord) }
}

const secret = { env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'token', key: 'a' } } }] }
const secretMissing = ['app', 'CreateContainerConfigError', 'secret "token" not found'] as const
const undone = 'kubectl --context prod rollout undo deployment/web -n shop --to-revision=6'
const migration = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: {
    name: 'migrate',
    namespace: 'shop',
    uid: 'migrate-uid',
    creationTimestamp: iso(-60),
    annotations: { 'helm.sh/hook': 'pre-upgrade' },
  },
  status: { startTime: iso(-60) },
} as KubeObject

test.each([
  ['whose image is not on the node', {}, 'image-never-pull'],
  ['that needs a Secret for the first time', { after: secret, fails: secretMissing }, 'config-missing'],
] as const)('the rollback command undoes a change %s', (_, change, reason) => {
  expect(rollback(change as Change)).toMatchObject({ outcome: 'failed', reason, command: undone })
})

test.each([
  ['that is 3 days old', { came: -259_200 }, 'more than an hour old'],
  [
    'that needs the same Secret as the version before',
    { before: secret, after: secret, fails: secretMissing },
    'both revisions',
  ],
  [
    'whose injected sidecar fails',
    { fails: ['istio-proxy', 'ErrImageNeverPull'] },
    'istio-proxy is not in the template',
  ],
  [
    'that Argo CD deployed with label tracking',
    {
      metadata: {
        labels: { 'app.kubernetes.io/instance': 'shop' },
        managedFields: [{ manager: 'argocd-controller', operation: 'Update', time: iso(-20) }],
      },
    },
    'argocd-controller writes it',
  ],
  [
    'of a release whose hooks are not listed yet',
    { metadata: { annotations: { 'meta.helm.sh/release-name': 'web' } }, lists: [] },
    'the hooks of its release are not listed yet',
  ],
  ['that follows a hook of the release', { others: [migration] }, 'the hook job/migrate ran'],
] as const)('there is no rollback command for a change %s', (_, change, note) => {
  const found = rollback(change as unknown as Change)
  expect(found).toMatchObject({ outcome: 'failed', command: '' })
  expect(found.note).toContain(note)
})
