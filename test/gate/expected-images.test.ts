import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FeedEvent } from '../../src/cluster/feed.ts'
import type { KubeObject } from '../../src/cluster/objects.ts'
import {
  added,
  allSynced,
  at,
  createRecording,
  createTarget,
  createWorkload,
  deleted,
  failed,
  modified,
  run,
  synced,
} from '../kit/gate.ts'
import { complete, condition, is, iso, make, podIs } from '../kit/objects.ts'
import { replayRecording } from '../support/recordings.ts'

const built = `sha256:${'b'.repeat(64)}`
const other = `sha256:${'c'.repeat(64)}`
const web = createWorkload('web')

/** A rollout that is ready, and whose container runs this image. */
function running(imageID: string, image = 'acme/web:v1') {
  const containers = [make.container({ image })]
  const deployment = web.deployment(complete(), { spec: { template: make.template({ containers }) } })
  const set = make.replicaSet({ metadata: { name: 'web-1' } }, deployment)
  const pod = make.pod({ spec: { containers }, status: podIs.ready(-60, { imageID }) }, set)
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
    const { record } = run(running(`acme/web@${built}`), expecting({ app: built, worker: built, cron: built }))
    expect(record.targets[0]?.problems).toMatchObject([
      {
        reason: 'image-mismatch',
        subject: 'deployment/web',
        basis: { detail: { missingContainers: ['worker', 'cron'] } },
      },
    ])
  })

  it('may run any image in other containers', () => {
    expect(run(running(`acme/web@${other}`), expecting({})).outcome).toBe('ready')
  })

  describe('that awaits its change', () => {
    const settings = { awaitChangeMs: 60_000, expectImages: { app: built } }
    const folder = mkdtempSync(join(tmpdir(), 'images-'))
    afterAll(() => rmSync(folder, { recursive: true }))
    const notArrived = { outcome: 'stalled', reason: 'change-not-seen', seconds: 60 }
    const moved = `docker.io/acme/web@${other}`
    const latest = `docker.io/acme/web@${built}`
    const template = (image: string, rest: object = {}) =>
      make.template({ containers: [make.container({ image })], ...rest })
    const written = (image: string, generation = 2, rest: object = {}) =>
      web.deployment(complete(1, { observedGeneration: generation }), {
        metadata: { generation },
        spec: { template: template(image), ...rest },
      })
    const setOf = (name: string, deployment: KubeObject) =>
      make.replicaSet({ metadata: { name, creationTimestamp: iso(20) } }, deployment)
    const podOf = (set: KubeObject, image: string, imageID: string, name = 'a') =>
      make.pod(
        {
          metadata: { name: `${set.metadata.name}-${name}`, creationTimestamp: iso(20) },
          spec: { containers: [make.container({ image })] },
          status: podIs.ready(21, { imageID }),
        },
        set,
      )

    it.each<[string, FeedEvent[][], object]>([
      ['is ready at once when its spec contains the expected digest', running('', `acme/web@${built}`), { seconds: 0 }],
      ['is ready at once when its pods run the expected digest behind a tag', running(latest), { seconds: 0 }],
    ])('%s', (_, steps, expected) => {
      expect(run(steps, { settings })).toMatchObject({ outcome: 'ready', ...expected })
    })

    it.each<[string, FeedEvent[][], string]>([
      ['as ready if its pods run the expected digest', running(latest), 'ready'],
      ['as stalled if they run another one', running(moved), 'stalled'],
    ])('replays %s', async (_, steps, outcome) => {
      const path = join(folder, 'gate.ndjson')
      const inputs = { 'expect-images': `app=${built}`, 'await-change': '1m' }
      writeFileSync(path, createRecording(inputs, steps, { targets: [web.target] }))
      expect((await replayRecording(path)).runRecord.outcome).toBe(outcome)
    })

    it('dates what was reached before the gate when the change came before the gate', () => {
      const { record, entries } = run(running(latest), { settings })
      expect(entries).toContain('0 note its change has arrived')
      expect(record.targets[0]?.milestones.find(({ name }) => name === 'ready')).toMatchObject({ source: 'object' })
    })

    it('is ready whichever list comes first', () => {
      const [first = []] = running(latest)
      const steps = [
        at(
          0,
          first.filter(({ type }) => type === 'SYNCED'),
        ),
        at(1, first.filter(({ type }) => type !== 'SYNCED').toReversed()),
      ]
      expect(run(steps, { settings, live: true })).toMatchObject({ outcome: 'ready' })
    })

    it.each<[string, FeedEvent[][]]>([
      ['its pods run the digest to which the tag pointed before', running(moved)],
      ['its pods report no digest', running('')],
      [
        'only some of its pods run the expected digest, because one was evicted',
        [
          ...running(moved),
          at(10, added(podOf(make.replicaSet({ metadata: { name: 'web-1' } }), 'acme/web:v1', latest, 'b'))),
        ],
      ],
      [
        'only an older revision runs the expected digest',
        (() => {
          const set = setOf('web-2', written('acme/web:v2'))
          return [
            at(
              0,
              added(written('acme/web:v2'), make.replicaSet({ metadata: { name: 'web-1' } }), set),
              added(podOf(make.replicaSet({ metadata: { name: 'web-1' } }), 'acme/web:v1', latest)),
              added(podOf(set, 'acme/web:v2', moved)),
              allSynced,
            ),
          ]
        })(),
      ],
      ['it was only scaled', [...running(moved), at(10, modified(written('acme/web:v1', 2, { replicas: 2 })))]],
      [
        'another image was only restarted by a reloader',
        [
          ...running(moved),
          at(
            10,
            modified(
              web.deployment(complete(), {
                metadata: { generation: 2 },
                spec: {
                  template: {
                    ...template('acme/web:v1'),
                    metadata: { labels: { app: 'web' }, annotations: { restarted: 'now' } },
                  },
                },
              }),
            ),
          ),
        ],
      ],
      ['its spec contains another digest', running('', `acme/web@${other}`)],
      [
        'its spec contains another digest and it was scaled',
        [...running('', `acme/web@${other}`), at(10, modified(written(`acme/web@${other}`, 2, { replicas: 2 })))],
      ],
    ])('waits when %s', (_, steps) => {
      expect(run(steps, { settings })).toMatchObject(notArrived)
    })

    it('names at the end of the clock which image runs instead', () => {
      expect(run(running(moved), { settings }).message).toBe(
        `deployment/web: its change did not arrive in 1 m: container app of pod/web-1-a runs ${other}, but ${built} was expected`,
      )
    })

    it('is judged from the moment at which another tag is written', () => {
      const deployment = written('acme/web:v2')
      const set = setOf('web-2', deployment)
      const begin = [...running(moved), at(20, modified(deployment))]
      const end = (imageID: string) => [...begin, at(21, added(set, podOf(set, 'acme/web:v2', imageID)))]
      expect(run(end(latest), { settings })).toMatchObject({ outcome: 'ready', seconds: 31 })
      expect(run(end(moved), { settings })).toMatchObject({ outcome: 'failed', reason: 'image-mismatch', seconds: 31 })
      expect(run(begin, { settings }).entries).toContain('20 note its change has arrived')
    })

    it('is judged once the pods of a restart run what a moved tag points to now', () => {
      const deployment = web.deployment(complete(1, { observedGeneration: 2 }), {
        metadata: { generation: 2 },
        spec: {
          template: {
            ...template('acme/web:v1'),
            metadata: { labels: { app: 'web' }, annotations: { restarted: 'now' } },
          },
        },
      })
      const set = setOf('web-2', deployment)
      const steps = [
        ...running(moved),
        at(20, modified(deployment)),
        at(21, added(set, podOf(set, 'acme/web:v1', latest))),
      ]
      const { outcome, entries } = run(steps, { settings })
      expect(outcome).toBe('ready')
      expect(entries).toContain('21 note its change has arrived')
    })

    it('is judged when an object of the same name replaces it', () => {
      const again = web.deployment(complete(), { metadata: { uid: 'other-uid' } })
      const steps = [...running(moved), at(10, deleted(web.deployment())), at(11, added(again))]
      expect(run(steps, { settings }).entries).toContain('11 note its change has arrived')
    })

    it('is judged when its manifest has arrived, whatever its pods run', () => {
      const manifest = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: {} }
      const targets = [createTarget({ manifest })]
      expect(run(running(moved), { settings, targets })).toMatchObject({ outcome: 'failed', reason: 'image-mismatch' })
    })
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
      make.pod(
        {
          metadata: { name: 'migrate-a', labels: { job: 'migrate' }, ...metadata },
          spec: { restartPolicy: 'Never', containers: [make.container({ name: 'migrate' })] },
          status: {
            phase,
            containerStatuses: [make.containerStatus({ name: 'migrate', imageID, state: is.terminated(0, 5) })],
          },
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
    const finish = at(60, modified(api.pod(podIs.ready(30)), api.deployment(complete())))
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

  it('is not judged by its images before it is ready', () => {
    expect(run([at(0, web.creating, allSynced)], expecting({ app: built })).reason).toBe('no-progress')
  })
})
