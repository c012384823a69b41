import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import {
  complete,
  condition,
  createContainer,
  createPod,
  createReplicaSet,
  createStatus,
  createTemplate,
  iso,
  readyStatus,
  terminated,
} from '../lifecycle/builders.ts'
import { toSubject } from '../support/subject.ts'
import {
  added,
  allSynced,
  at,
  createTarget,
  createWorkload,
  deleted,
  failed,
  modified,
  run,
  synced,
} from './builders.ts'

const built = `sha256:${'b'.repeat(64)}`
const other = `sha256:${'c'.repeat(64)}`
const web = createWorkload('web')

/** A rollout that is ready, and whose container runs this image. */
function running(imageID: string, image = 'acme/web:v1') {
  const containers = [createContainer({ image })]
  const deployment = web.deployment(complete(), { spec: { template: createTemplate({ containers }) } })
  const set = createReplicaSet({ metadata: { name: 'web-1' } }, deployment)
  const pod = createPod({ spec: { containers }, status: readyStatus(-60, { imageID }) }, set)
  return [at(0, added(deployment, set, pod), allSynced)]
}

describe('a rollout with expected images', () => {
  const expecting = (expectImages: Record<string, string>) => ({ settings: { expectImages } })

  it.each([
    ['by the digest that the runtime resolved', `docker.io/acme/web@${built}`, 'acme/web:v1'],
    ['by the digest that the pod asks for, whatever the runtime writes', `acme/web@${other}`, `acme/web:v1@${built}`],
    ['by a digest alone', built, 'acme/web:v1'],
  ])('is ready when the running images are those %s', (_, imageID, image) => {
    expect(run(running(imageID, image), expecting({ app: built })).outcome).toBe('ready')
  })

  it('is unknown when its pods cannot be read', () => {
    const [, ...rest] = running(`docker.io/acme/web@${built}`)
    const deployment = web.deployment(complete())
    const steps = [
      at(0, added(deployment), failed(403, 'Pod', 'no'), synced('Deployment'), synced('ReplicaSet')),
      ...rest,
    ]
    const verdict = { outcome: 'unknown', reason: 'forbidden', message: 'Pods cannot be read: no' }
    expect(run(steps, expecting({ app: built }))).toMatchObject(verdict)
  })

  it('has failed when another image runs', () => {
    expect(run(running(`acme/web@${other}`), expecting({ app: built }))).toMatchObject({
      outcome: 'failed',
      reason: 'image-mismatch',
      message: `deployment/web: container app of pod/web-1-a runs ${other}, but ${built} was expected`,
    })
  })

  it('has failed when the node has the image under a local ID, which no registry gives out', () => {
    expect(run(running(other), expecting({ app: built })).message).toBe(
      `deployment/web: container app of pod/web-1-a runs an image that was loaded onto the node and has the ID ${other}, but ${built} was expected`,
    )
  })

  it('has failed when the runtime reports no digest', () => {
    expect(run(running(''), expecting({ app: built }))).toMatchObject({ outcome: 'failed', reason: 'image-mismatch' })
  })

  it('has failed when no pod has such a container', () => {
    expect(run(running(`acme/web@${built}`), expecting({ app: built, worker: built }))).toMatchObject({
      outcome: 'failed',
      reason: 'image-mismatch',
      message: 'deployment/web: no gated pod has a container named worker, whose image is expected',
    })
  })

  it('names the containers that no pod has as its problem', () => {
    const { timeline } = run(running(`acme/web@${built}`), expecting({ app: built, worker: built, cron: built }))
    expect(timeline.targets[0]?.problems).toMatchObject([
      {
        reason: 'image-mismatch',
        subject: toSubject('deployment/web'),
        detail: { missingContainers: ['worker', 'cron'] },
      },
    ])
  })

  it('may run any image in other containers', () => {
    expect(run(running(`acme/web@${other}`), expecting({})).outcome).toBe('ready')
  })

  it('meets await-change when its spec already contains the expected images', () => {
    const settings = { awaitChangeMs: 60_000, expectImages: { app: built } }
    expect(run(running('', `acme/web@${built}`), { settings })).toMatchObject({ outcome: 'ready', seconds: 0 })
    expect(run(running('', 'acme/web:v1'), { settings }).reason).toBe('change-not-seen')
  })

  describe('of a Job that is removed when it has completed', () => {
    const api = createWorkload('api')
    const targets = [createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' }), api.target]
    const job = (status: object, metadata: object = {}): KubeObject => ({
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'migrate', namespace: 'shop', uid: 'migrate-uid', ...metadata },
      spec: { selector: { matchLabels: { job: 'migrate' } } },
      status,
    })
    const pod = (phase: string, imageID: string, metadata: object = {}) =>
      createPod(
        {
          metadata: { name: 'migrate-a', labels: { job: 'migrate' }, ...metadata },
          spec: { restartPolicy: 'Never', containers: [createContainer({ name: 'migrate' })] },
          status: { phase, containerStatuses: [createStatus({ name: 'migrate', imageID, state: terminated(0, 5) })] },
        },
        job({}),
      )
    const done = job({ succeeded: 1, conditions: [condition('Complete', 'True')] })
    const leaving = { deletionTimestamp: iso(7) }
    const lists = { type: 'SYNCED', apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop' } as const
    const begin = (imageID: string) => [
      at(0, added(job({ active: 1 }), pod('Running', imageID)), api.creating, allSynced, lists),
      at(5, modified(pod('Succeeded', imageID))),
    ]
    const finish = at(60, modified(api.pod(readyStatus(30)), api.deployment(complete())))
    const seen = (imageID: string) => [
      at(6, modified(done)),
      at(7, modified(pod('Succeeded', imageID, leaving)), deleted(pod('Succeeded', imageID, leaving), done)),
    ]
    // The pod may be removed before the Job is seen to be complete.
    const missed = (imageID: string) => [at(6, deleted(pod('Succeeded', imageID))), at(7, deleted(done))]

    it.each<[string, object, (imageID: string) => FeedEvent[][], string]>([
      ['ready if it ran the image', { outcome: 'ready', reason: '' }, seen, built],
      ['ready if it ran the image, and its pod was removed first', { outcome: 'ready', reason: '' }, missed, built],
      ['failed if it ran another one', { outcome: 'failed', reason: 'image-mismatch' }, seen, other],
      [
        'failed if it ran another one, and its pod was removed first',
        { outcome: 'failed', reason: 'image-mismatch' },
        missed,
        other,
      ],
    ])('is %s', (_, expected, end, digest) => {
      const imageID = `acme/migrate@${digest}`
      const steps = [...begin(imageID), ...end(imageID), finish]
      expect(run(steps, { targets, settings: { expectImages: { migrate: built } } })).toMatchObject(expected)
    })
  })

  it('does not take an object with another digest in its spec for the awaited change', () => {
    const settings = { awaitChangeMs: 60_000, expectImages: { app: built } }
    const scaled = web.deployment(complete(), {
      metadata: { generation: 2 },
      spec: {
        replicas: 2,
        template: createTemplate({ containers: [createContainer({ image: `acme/web@${other}` })] }),
      },
    })
    const steps = [...running('', `acme/web@${other}`), at(10, modified(scaled))]
    expect(run(steps, { settings })).toMatchObject({ reason: 'change-not-seen', seconds: 60 })
  })

  it('is not judged by its images before it is ready', () => {
    expect(run([at(0, web.creating, allSynced)], expecting({ app: built })).reason).toBe('no-progress')
  })
})
