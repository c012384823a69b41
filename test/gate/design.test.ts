import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FeedEvent, Observation } from '../../src/cluster/feed.ts'
import type { KubeObject, PodStatus } from '../../src/cluster/objects.ts'
import type { Report } from '../../src/gate/report-schema.ts'
import { runCli } from '../cli/process.ts'
import {
  added,
  alive,
  allSynced,
  at,
  createRecording,
  createWorkload,
  deleted,
  failed,
  modified,
  progressing,
  type RawInputs,
  synced,
} from '../kit/gate.ts'
import { complete, condition, is, iso, make, podIs } from '../kit/objects.ts'

/**
 * Tests of the whole program: a handwritten recording goes in, the report comes out. Each case is named by what happens
 * in it, and ends with `outcome reason second`.
 */
type Case = readonly [name: string, recording: string, ends: string]

const web = createWorkload('web')
const api = createWorkload('api')
type Steps = readonly (readonly FeedEvent[])[]
const both: RawInputs = { resources: ['deployment/web', 'deployment/api'] }

/** A Deployment whose pod is being created, and what happens then. */
function rollout(steps: Steps, inputs: RawInputs = {}): string {
  return createRecording(inputs, [at(0, web.creating, api.creating, allSynced), ...steps])
}

function pod(second: number, status: PodStatus): FeedEvent[] {
  return at(second, modified(web.pod(status)))
}

function ready(second: number): FeedEvent[] {
  return at(second, modified(web.pod(podIs.ready(second - 60)), web.deployment(complete())))
}

function deaths(...seconds: readonly number[]): FeedEvent[] {
  return seconds.flatMap((second, index) => pod(second, podIs.dead(index + 1, second)))
}

/** A rollout of two replicas. `one`: the later states of the first pod. `other`: the state of the second pod. */
function pair(other: PodStatus, one: (second: number, status: PodStatus) => FeedEvent[]): string {
  const two = complete(2, { readyReplicas: 0, availableReplicas: 0 })
  const next = make.pod({ metadata: { name: 'web-1-b' }, status: other }, web.replicaSet)
  const first = at(0, added(web.deployment(two, { spec: { replicas: 2 } }), web.replicaSet, web.pod(), next), allSynced)
  return createRecording({}, [first, ...[1, 12, 40].map((second, index) => one(second, podIs.dead(index + 1, second)))])
}

const refused = (words: string) => is.waiting('ErrImagePull', `failed to resolve reference "acme/web:v1": ${words}`)
const notFound = refused('acme/web:v1: not found')
const backOff = is.waiting('ImagePullBackOff', 'Back-off pulling image "acme/web:v1": not found')
const invalidName = podIs.unready({ state: is.waiting('InvalidImageName', 'invalid reference format') })
const secretMissing = podIs.unready({ state: is.waiting('CreateContainerConfigError', 'secret "database" not found') })
const unready = (startedAt = 0) => podIs.unready({ state: is.running(startedAt), started: true })

function pulls(...states: readonly (readonly [second: number, state: typeof notFound])[]): FeedEvent[] {
  return states.flatMap(([second, state]) => pod(second, podIs.unready({ state }, { phase: 'Pending' })))
}

const deadline = (second: number, status = progressing) =>
  web.deployment({
    ...status,
    conditions: [
      condition('Progressing', 'False', { reason: 'ProgressDeadlineExceeded', lastTransitionTime: iso(second) }),
    ],
  })

function templateOf(image: string) {
  return make.template({ containers: [make.container({ image })] })
}

function changed(second: number, template: ReturnType<typeof make.template>): FeedEvent[] {
  return at(second, modified(make.deployment({ metadata: { generation: 2 }, spec: { template }, status: progressing })))
}

const restarted = {
  ...make.template(),
  metadata: { labels: { app: 'web' }, annotations: { 'kubectl.kubernetes.io/restartedAt': iso(5) } },
}
const replacement = make.replicaSet({
  metadata: { name: 'web-2', creationTimestamp: iso(6), annotations: { 'deployment.kubernetes.io/revision': '2' } },
  spec: { template: restarted },
})
const restartedDone = make.deployment({
  metadata: { generation: 2 },
  spec: { template: restarted },
  status: complete(1, { observedGeneration: 2 }),
})

const widget = (status?: object, generation = 1): KubeObject => ({
  apiVersion: 'acme.io/v1',
  kind: 'Widget',
  metadata: { name: 'w', namespace: 'shop', uid: 'w-uid', generation },
  ...(status === undefined ? {} : { status }),
})
const widgets: readonly Observation[] = [
  {
    type: 'DISCOVERY',
    resources: [{ group: 'acme.io', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true, status: true }],
  },
  { type: 'SYNCED', apiVersion: 'acme.io/v1', kind: 'Widget', namespace: 'shop' },
]
/** A custom resource with its first state and its later states. */
function custom(first: KubeObject, steps: Steps = [], reference = 'widget/w'): string {
  return createRecording({ resources: [reference] }, [at(0, added(first), widgets), ...steps])
}

const job = (status: object): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'migrate', namespace: 'shop', uid: 'migrate-uid', generation: 1 },
  spec: { template: make.template({ restartPolicy: 'Never' }) },
  status,
})
const jobs: Observation = { type: 'SYNCED', apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop' }
const jobPod = make.pod({ metadata: { name: 'migrate-x' }, status: podIs.ready(-1) }, job({}))
const working = at(0, added(job({ active: 1 }), jobPod), jobs, synced('Pod', 'Event'))
const completed = job({ succeeded: 1, conditions: [condition('Complete', 'True')] })

/** The only container has run since `startedAt`, and has no readiness probe. */
function settling(startedAt: number, inputs: RawInputs = {}, serverOffsetMs = 0): string {
  const up = added(web.deployment(complete()), web.replicaSet, web.pod(podIs.ready(startedAt)))
  return createRecording(inputs, [at(0, up, allSynced)], { serverOffsetMs })
}

const sections: Readonly<Record<string, readonly Case[]>> = {
  'A rollout is ready': [
    ['at once when it was finished long ago', settling(-60), 'ready 0'],
    ['when its container has run for 10 s', settling(-1), 'ready 9'],
    ['10 s after first sight when its container starts in the future', settling(60), 'ready 10'],
    ['by the clock of the server, which is ahead', settling(4, {}, 5_000), 'ready 9'],
    ['without settling where the user wants none', settling(-1, { 'settle-time': '0' }), 'ready 0'],
    [
      'only where its container lived for 10 s',
      createRecording({}, [
        at(0, added(web.deployment(complete()), web.replicaSet, web.pod(podIs.ready(0))), allSynced),
        at(9, modified(web.pod(podIs.dead(1, 9)), web.deployment(progressing))),
      ]),
      'stalled crash-loop 300',
    ],
    [
      'only with all others in the same moment',
      rollout(
        [
          ready(10),
          at(20, modified(web.pod(unready()), web.deployment(progressing))),
          at(25, modified(api.pod(podIs.ready(-60)), api.deployment(complete()))),
          ready(40),
        ],
        both,
      ),
      'ready 40',
    ],
    [
      'although two of its old pods are still terminating',
      createRecording({}, [
        at(
          0,
          web.done,
          allSynced,
          added(
            make.replicaSet({
              metadata: { name: 'web-0' },
              spec: {
                replicas: 0,
                template: templateOf('acme/web:v0'),
              },
            }),
            ...['web-0-a', 'web-0-b'].map((name) =>
              make.pod(
                { metadata: { name, deletionTimestamp: iso(30) }, status: podIs.ready(-900) },
                make.replicaSet({ metadata: { name: 'web-0' } }),
              ),
            ),
          ),
        ),
      ]),
      'ready 0',
    ],
    [
      'only when its controller counts no pod of an older revision',
      createRecording({}, [
        at(
          0,
          added(web.deployment(complete(1, { replicas: 2 })), web.replicaSet, web.pod(podIs.ready(-60))),
          allSynced,
        ),
      ]),
      'stalled no-progress 300',
    ],
    [
      'by a generation that is a string, read as a number',
      custom(widget({ observedGeneration: '10', phase: 'Ready' }, 9)),
      'ready 0',
    ],
    ['not by a generation that is behind', custom(widget({ observedGeneration: '9' }, 10)), 'stalled no-progress 300'],
    [
      'although its Job is gone by then, which had completed',
      createRecording({ resources: ['deployment/web', 'job/migrate'] }, [
        at(0, web.creating, allSynced),
        working,
        at(3, modified(completed)),
        at(9, deleted(completed)),
        ready(40),
      ]),
      'ready 40',
    ],
  ],
  'A strike': [
    ['is a third death, 30 s after the first at the earliest', rollout([deaths(1, 10, 29)]), 'failed crash-loop 31'],
    ['is a third death, later than that at once', rollout([deaths(1, 10, 33)]), 'failed crash-loop 33'],
    ['is not a second death', rollout([deaths(1, 40)]), 'stalled crash-loop 301'],
    [
      'is a second death where one restart is forgiven',
      rollout([deaths(1, 40)], { 'max-restarts': '1' }),
      'failed crash-loop 40',
    ],
    [
      'is seen although the watch was cut',
      rollout([
        pod(1, unready()),
        pod(50, podIs.unready({ restartCount: 2, state: is.terminated(1, 49), lastState: is.terminated(1, 20) })),
      ]),
      'failed crash-loop 50',
    ],
    [
      'is a third refusal for want of authorisation',
      rollout([1, 15, 41].map((second) => pulls([second, refused('401 Unauthorized')], [second + 1, backOff]))),
      'failed image-unauthorized 41',
    ],
    [
      'is a Secret that is missing at the retry after 60 s',
      rollout([pod(2, secretMissing)]),
      'failed config-missing 82',
    ],
    ['is none when the Secret comes 59 s later', rollout([pod(2, secretMissing), ready(61)]), 'ready 61'],
    [
      'is not counted over two pods',
      pair(podIs.dead(2, 0), (second, status) => (second < 40 ? pod(second, status) : [])),
      'stalled crash-loop 300',
    ],
    ['fails although another pod is pending', pair({ phase: 'Pending' }, pod), 'failed crash-loop 40'],
    ['does not fail while another pod is better', pair(unready(), pod), 'stalled crash-loop 300'],
    [
      'does not count on a pod that is being deleted',
      pair({ phase: 'Pending', startTime: iso(1) }, (second, status) =>
        at(second, modified(web.pod(status, { deletionTimestamp: iso(70) }))),
      ),
      'stalled no-progress 369',
    ],
    [
      'is none on a pod that is older than the gate by more than ten minutes, until it dies three times more',
      createRecording({}, [
        at(
          0,
          added(
            web.deployment(progressing),
            web.replicaSet,
            web.pod(podIs.unready({ restartCount: 7, state: is.running(-99) }), { creationTimestamp: iso(-3_600) }),
          ),
          allSynced,
        ),
        ...[8, 9].map((nth) =>
          at(nth * 5, modified(web.pod(podIs.dead(nth, nth * 5), { creationTimestamp: iso(-3_600) }))),
        ),
      ]),
      'stalled crash-loop 300',
    ],
    ['waits 90 s while another target makes progress', rollout([deaths(1, 12, 40)], both), 'failed crash-loop 96'],
    [
      'does not wait for another target that has a problem',
      rollout([at(2, modified(api.pod(secretMissing))), deaths(3, 12, 40)], both),
      'failed crash-loop 45',
    ],
  ],
  'A terminal problem': [
    ['fails at once', rollout([pod(3, invalidName)]), 'failed image-name-invalid 3'],
    [
      'is not the first refusal of an image that is not found',
      rollout([pulls([1, notFound], [2, backOff])]),
      'stalled image-not-found 300',
    ],
    [
      'is its second refusal',
      rollout([pulls([1, notFound], [2, backOff], [16, notFound])]),
      'failed image-not-found 16',
    ],
    [
      'is a deadline that passes during the wait',
      rollout([at(7, modified(deadline(7)))]),
      'failed progress-deadline-exceeded 7',
    ],
    [
      'is a deadline that had passed before, 10 s later',
      createRecording({}, [at(0, added(deadline(-60), web.replicaSet, web.pod(unready(-90))), allSynced)]),
      'failed progress-deadline-exceeded 10',
    ],
    [
      'is no deadline that had passed before a rollback which gets ready',
      createRecording({}, [at(0, added(deadline(-60), web.replicaSet, web.pod(unready(-90))), allSynced), ready(9)]),
      'ready 9',
    ],
    [
      'has the reason of the pod that explains the deadline',
      rollout([deaths(1), at(7, modified(deadline(7)))]),
      'failed crash-loop 7',
    ],
  ],
  'A clock': [
    ['ends what does not move', rollout([]), 'stalled no-progress 300'],
    ['takes no restart for progress', rollout([deaths(1, 200)]), 'stalled crash-loop 301'],
    [
      'stands still while a Job runs',
      createRecording({ resources: ['job/migrate'] }, [working]),
      'timed-out still-running 600',
    ],
    [
      'that the user wrote is taken literally, though it be the default',
      createRecording({ resources: ['job/migrate'], 'stall-timeout': '5m' }, [working]),
      'stalled no-progress 300',
    ],
    [
      'may be a reference’s own',
      createRecording({ resources: ['job/migrate --stall-timeout=60s'] }, [working]),
      'stalled no-progress 60',
    ],
    [
      'stands still while the API cannot be read',
      rollout([at(100, failed(0)), at(200, alive)]),
      'stalled no-progress 400',
    ],
    [
      'of a milestone counts from the one before it',
      rollout([pod(10, secretMissing)], { 'milestone-timeouts': 'started=40s' }),
      'timed-out config-missing 50',
    ],
    ['gives a name 30 s to exist', createRecording({}, [at(1, allSynced)]), 'failed not-found 30'],
  ],
  'An identity': [
    ['is another with another image', rollout([changed(5, templateOf('acme/web:v2'))]), 'superseded superseded 5'],
    [
      'stays the same with the annotation of a restart, whose pods are awaited',
      rollout([
        changed(5, restarted),
        at(8, added(replacement, make.pod({ metadata: { name: 'web-2-a' }, status: podIs.ready(-9) }, replacement))),
        at(9, modified(restartedDone)),
      ]),
      'ready 9',
    ],
    [
      'is that of an older ReplicaSet',
      rollout([
        at(
          1,
          added(
            make.replicaSet({
              metadata: { name: 'web-0', creationTimestamp: iso(-900) },
              spec: {
                replicas: 0,
                template: templateOf('acme/web:v0'),
              },
            }),
          ),
        ),
        changed(5, templateOf('acme/web:v0')),
      ]),
      'superseded rolled-back 5',
    ],
    ['is gone 5 s after its deletion', rollout([at(5, deleted(web.deployment()))]), 'failed deleted 10'],
    [
      'that comes back 4 s after its deletion is gated anew',
      rollout([
        at(5, deleted(web.deployment())),
        at(9, added(make.deployment({ metadata: { uid: 'again' }, spec: { replicas: 0 }, status: complete(0) }))),
      ]),
      'ready 9',
    ],
    [
      'whose change does not arrive is never ready',
      createRecording({ 'await-change': '40s' }, [at(0, web.done, allSynced)]),
      'stalled change-not-seen 40',
    ],
  ],
  'A gate without sight': [
    ['is over after two minutes', rollout([at(10, failed(0))]), 'unknown api-unreachable 130'],
    ['continues with the first answer', rollout([at(10, failed(0)), at(100, alive), ready(110)]), 'ready 110'],
    [
      'for 40 s cannot blame the rollout for its timeout',
      rollout([at(20, failed(0))], { timeout: '60s' }),
      'unknown api-unreachable 60',
    ],
    ['for 20 s waits for an answer', rollout([at(40, failed(0))], { timeout: '60s' }), 'unknown api-unreachable 70'],
    [
      'from the beginning is misconfigured',
      createRecording({}, [at(1, failed(0))]),
      'misconfigured api-unreachable 31',
    ],
    [
      'of its target is misconfigured',
      createRecording({}, [at(1, failed(403, 'Deployment'))]),
      'misconfigured forbidden 1',
    ],
    [
      'of a kind that was never listed is unknown',
      createRecording({}, [at(1, synced('Pod'))]),
      'unknown api-unreachable 30',
    ],
    [
      'of pods relies on the controller',
      createRecording({}, [
        at(1, failed(403, 'Pod')),
        at(1, added(web.deployment(progressing), web.replicaSet), synced('Deployment', 'ReplicaSet')),
        at(8, modified(web.deployment(complete()))),
      ]),
      'ready 18',
    ],
  ],
  'A custom resource': [
    ['with Ready=True is ready', custom(widget({ conditions: [condition('Ready', 'True')] })), 'ready 0'],
    [
      'with Ready=False is slow',
      custom(widget({ conditions: [condition('Ready', 'False')] })),
      'stalled condition-false 300',
    ],
    [
      'with Stalled=True fails 10 s after its transition',
      custom(
        widget({ observedGeneration: 1, conditions: [condition('Stalled', 'True', { lastTransitionTime: iso(-4) })] }),
      ),
      'failed reported-failed 6',
    ],
    ['without a status was not reconciled', custom(widget()), 'stalled not-reconciled 300'],
    [
      'may be waited for by a JSONPath',
      custom(
        widget({ phase: 'Failed' }),
        [at(20, modified(widget({ phase: 'Bound' })))],
        "widget/w --for=jsonpath='{.status.phase}'=Bound",
      ),
      'ready 20',
    ],
  ],
  'Of several targets': [
    ['the first failure ends the gate 5 s later', rollout([pod(3, invalidName)], both), 'failed image-name-invalid 8'],
    [
      'all may finish',
      rollout([pod(3, invalidName), at(50, modified(api.pod(podIs.ready(-9)), api.deployment(complete())))], {
        ...both,
        'fail-fast': 'false',
      }),
      'failed image-name-invalid 50',
    ],
    [
      'a cancelled one is cancelled, whatever failed before',
      rollout([pod(3, invalidName), at(6, { type: 'CANCEL' })], both),
      'cancelled cancelled 6',
    ],
    [
      'a failure goes before a newer change',
      rollout([changed(3, templateOf('acme/web:v2')), at(6, modified(api.pod(invalidName)))], both),
      'failed image-name-invalid 6',
    ],
  ],
}

const cases = Object.values(sections).flat()
let folder: string
const reports = new Map<string, Report>()

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'design-'))
  const files = cases.map(([, recording], index) => {
    const file = join(folder, `${index}.ndjson`)
    writeFileSync(file, recording)
    return file
  })
  const { stdout, stderr } = await runCli(['replay', '--json', ...files])
  expect(stderr).toBe('')
  stdout
    .trimEnd()
    .split('\n')
    .forEach((line, index) => {
      reports.set(cases[index]?.[1] ?? '', JSON.parse(line))
    })
})

afterAll(() => rmSync(folder, { recursive: true }))

describe.each(Object.entries(sections))('%s', (_, own) => {
  test.each(own)('%s', (_name, recording, ends) => {
    const { outcome, reason, durationSeconds } = reports.get(recording) as Report
    expect(`${outcome} ${reason} ${Math.floor(durationSeconds)}`.replace('  ', ' ')).toBe(ends)
  })
})
