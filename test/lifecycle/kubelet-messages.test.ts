import type { EventObject } from '../../src/cluster/objects.ts'
import {
  explainDeath,
  missingObject,
  probeFailure,
  runtimeError,
} from '../../src/lifecycle/workloads/kubelet-messages.ts'
import { containersOf } from '../../src/lifecycle/workloads/pod-fields.ts'
import { messageOf, problemOf } from '../../src/reasons/reasons.ts'
import { exitText } from '../../src/reasons/wording.ts'
import { toSubject } from '../support/subject.ts'
import { createContainer, createEvent, createPod } from './builders.ts'

const pod = createPod({ spec: { containers: [createContainer({ resources: { limits: { memory: '20Mi' } } })] } })
const [app] = containersOf(pod)
if (app === undefined) throw new Error('The pod has no container.')
const runc = (words: string) =>
  `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: ${words}: unknown`
const startError = (words: string) => ({ reason: 'StartError', exitCode: 128, message: runc(words) })

/** The reason of a death, and its sentence. */
function explained(...args: Parameters<typeof explainDeath>) {
  const death = explainDeath(...args)
  const problem = problemOf({ ...death, subject: toSubject('pod/web-1-a'), count: 1, firstSeenAt: 0, proven: false })
  return { reason: death.reason, message: messageOf(problem) }
}

describe('the death of a container', () => {
  it.each([
    [
      'its limit of memory',
      { reason: 'OOMKilled', exitCode: 137 },
      'out-of-memory',
      'was killed for using more memory than its limit of 20Mi',
    ],
    [
      'its limit of memory, before it started',
      startError('container init was OOM-killed (memory limit too low?)'),
      'out-of-memory',
      'was killed for using more memory than its limit of 20Mi',
    ],
    [
      'a program that is not there',
      startError('exec: "/no/such": stat /no/such: no such file or directory'),
      'bad-command',
      'cannot start: exec: "/no/such": stat /no/such: no such file or directory',
    ],
    [
      'a program that may not be run',
      startError('exec: "/etc/passwd": permission denied'),
      'bad-command',
      'cannot start: exec: "/etc/passwd": permission denied',
    ],
    [
      'a file where a folder is mounted',
      startError('error mounting "/var/lib/v" to rootfs at "/etc/app.conf": not a directory'),
      'container-create-failed',
      'cannot start: error mounting "/var/lib/v" to rootfs at "/etc/app.conf": not a directory',
    ],
    [
      'another architecture',
      startError('exec /app: exec format error'),
      'exec-format',
      "cannot run on this node's architecture: exec /app: exec format error",
    ],
    [
      'a shell that finds no program',
      { exitCode: 127 },
      'bad-command',
      'cannot start: exit code 127 (its command was not found)',
    ],
    ['a crash', { exitCode: 139 }, 'crash-loop', 'exited with code 139 (segmentation fault)'],
    ['a signal', { exitCode: 0, signal: 9 }, 'crash-loop', 'was ended by signal 9'],
    ['its own will', { exitCode: 0 }, 'crash-loop', 'exited with code 0'],
    [
      'its node',
      { reason: 'ContainerStatusUnknown', exitCode: 137 },
      'crash-loop',
      'was lost: its node does not report how it ended',
    ],
  ] as const)('by %s', (_, death, reason, message) => {
    expect(explained(app, death, [])).toEqual({ reason, message })
  })

  it('is explained by a folder that is mounted as a file, with the paths of the manifest', () => {
    const volumeMounts = [{ name: 'settings', mountPath: '/etc/app.conf', subPath: 'web.conf' }]
    const [mounting] = containersOf(
      createPod({ spec: { containers: [{ ...createContainer(), ...{ volumeMounts } }] } }),
    )
    const from = '/var/lib/kubelet/pods/1/volume-subpaths/settings/app/0'
    const words = `error during container init: error mounting "${from}" to rootfs at "/etc/app.conf": mount ${from}:/etc/app.conf (via /proc/self/fd/6), flags: 0x5001: not a directory`
    expect(mounting && explained(mounting, startError(words), [])).toEqual({
      reason: 'container-create-failed',
      message: 'cannot start: volume "settings" (subPath web.conf) cannot be mounted at /etc/app.conf: not a directory',
    })
  })

  it('is explained by its postStart hook, with the message of the event', () => {
    const hook = createEvent(pod, { container: 'app', reason: 'FailedPostStartHook', message: 'PostStartHook failed' })
    expect(explained(app, { exitCode: 137 }, [hook])).toEqual({
      reason: 'crash-loop',
      message: 'is killed because its postStart hook fails: PostStartHook failed',
    })
  })

  it('is not explained by the probe of a container whose name begins like its own', () => {
    const killing = createEvent(pod, {
      reason: 'Killing',
      message: 'Container app-proxy failed liveness probe, will be restarted',
    })
    expect(explainDeath(app, { exitCode: 1 }, [killing]).reason).toBe('crash-loop')
  })

  it('is not explained by the probe of another container if its name is a word of the event', () => {
    const [probe] = containersOf(createPod({ spec: { containers: [createContainer({ name: 'probe' })] } }))
    const message = 'Container app failed liveness probe, will be restarted'
    const killing = createEvent(pod, { container: 'app', reason: 'Killing', message })
    expect(probe && explainDeath(probe, { exitCode: 1 }, [killing]).reason).toBe('crash-loop')
    expect(explainDeath(app, { exitCode: 1 }, [killing]).reason).toBe('liveness-failing')
  })

  it('is explained although an event has no message', () => {
    const wordless = { ...createEvent(pod, { reason: 'Killing' }), message: null } as unknown as EventObject
    expect(explainDeath(app, { exitCode: 1 }, [wordless]).reason).toBe('crash-loop')
  })
})

describe('the end of a container', () => {
  it('has no text for an exit code without a usual meaning', () => {
    expect(exitText({ exitCode: 3 })).toBe('exit code 3')
    expect(exitText({})).toBe('exit code unknown')
  })

  it.each([
    ['failed to create containerd container: no command specified', 'no command specified'],
    ['container create failed: executable file not found in $PATH', 'executable file not found in $PATH'],
    ['no layers around it', 'no layers around it'],
  ])('is the innermost error of the message of the runtime: %s', (message, words) => {
    expect(runtimeError(message)).toBe(words)
  })
})

describe('the last failure of a probe', () => {
  const unhealthy = (message: string, container = 'app') =>
    createEvent(pod, { container, reason: 'Unhealthy', message })
  const failure = (...events: EventObject[]) => probeFailure('readiness', app.container, events)

  it.each([
    ['HTTP probe failed with statuscode: 503', { type: 'http-status', status: 503 }],
    [
      'Get "http://10.0.0.1:8080/": dial tcp 10.0.0.1:8080: connect: connection refused',
      { type: 'connection-refused' },
    ],
    ['Get "http://10.0.0.1:8080/": context deadline exceeded', { type: 'timeout' }],
    ['timeout: health rpc did not complete within 1s', { type: 'timeout' }],
    [
      'timeout: failed to connect service "10.0.0.1:9090" within 1s: context deadline exceeded',
      { type: 'no-grpc-server' },
    ],
    ['error: failed to connect service at "10.0.0.1:9090": connection error', { type: 'no-grpc-server' }],
    [
      'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service',
      { type: 'no-grpc-health' },
    ],
    ['service unhealthy (responded with "NOT_SERVING")', { type: 'grpc-status', status: 'NOT_SERVING' }],
    [
      'error: health rpc probe failed: rpc error: code = NotFound desc = unknown service',
      { type: 'grpc-error', code: 'NotFound' },
    ],
    ['something else', undefined],
  ])('%j contains the answer %j', (message, answer) => {
    expect(failure(unhealthy(`Readiness probe failed: ${message}`))).toEqual({ failure: message, answer })
  })

  it('is read from the last event about this probe of this container', () => {
    const others = [unhealthy('Liveness probe failed: 2'), unhealthy('Readiness probe failed: 3', 'proxy')]
    expect(failure(unhealthy('Readiness probe failed: 1'), ...others).failure).toBe('1')
    expect(failure(...others)).toEqual({})
  })

  it('is empty if the probe printed nothing', () => {
    expect(failure(unhealthy('Readiness probe failed: ')).failure).toBe('')
    expect(failure(unhealthy('Readiness probe errored and resulted in unknown state: no')).failure).toBe('no')
  })
})

describe('the missing object in a message of the kubelet', () => {
  it.each([
    ['secret "database" not found', { kind: 'secret', name: 'database' }],
    ['configmap "settings" not found', { kind: 'configmap', name: 'settings' }],
    ["couldn't find key password in Secret shop/database", { kind: 'secret', name: 'database', key: 'password' }],
    [
      "couldn't find key log.level in ConfigMap shop/settings",
      { kind: 'configmap', name: 'settings', key: 'log.level' },
    ],
    ['MountVolume.SetUp failed for volume "v" : secret "nope" not found', { kind: 'secret', name: 'nope' }],
    [
      'MountVolume.SetUp failed for volume "v" : configmap references non-existent config key: k',
      { kind: 'configmap', key: 'k' },
    ],
    ['MountVolume.SetUp failed for volume "v" : references non-existent secret key: k', { kind: 'secret', key: 'k' }],
    ['MountVolume.SetUp failed for volume "v" : object "shop"/"settings" not registered', undefined],
    ['container has runAsNonRoot and image will run as root', undefined],
    ['persistentvolumeclaim "data" not found', undefined],
  ])('%s → %j', (message, missing) => {
    expect(missingObject(message)).toEqual(missing)
  })
})
