import type { Container } from '../../src/cluster/objects.ts'
import type { CreateDetail, MissingObject } from '../../src/reasons/containers.ts'
import type { ProbeAnswer } from '../../src/reasons/probes.ts'
import { messageOf, type ReasonCode, type ReasonDetails } from '../../src/reasons/reasons.ts'
import { container, createPod, createProblem, headline, hint } from '../kit/problems.ts'

describe('a container that crashes', () => {
  it('is named with its exit code and the number of its deaths', () => {
    expect(messageOf(createProblem('crash-loop', { exitCode: 3 }, { count: 3 }))).toBe('exited with code 3, 3 times')
    expect(headline('crash-loop', { exitCode: 3 })).toBe('container app keeps crashing (exit code 3)')
    expect(headline('init-container-failed', { exitCode: 4 }, { container: 'migrate', isInit: true })).toBe(
      'init container migrate failed (exit code 4)',
    )
    expect(headline('out-of-memory', {})).toBe('container app ran out of memory')
  })

  it('has a hint with the last line of its log, and the command that shows the log', () => {
    expect(hint('crash-loop', { exitCode: 3 }, { logLine: { text: 'no database', isError: false } })).toBe(
      'Find out why container app exits. The last line that it logged is "no database". The whole log: `kubectl logs pod/web-1-a -c app --previous -n shop`.',
    )
  })

  it('has a hint with the line that looks like the error, if there is one', () => {
    const logLine = { text: 'panic: no database', isError: true }
    expect(hint('crash-loop', { exitCode: 3 }, { logLine })).toContain(
      'The last error that it logged is "panic: no database".',
    )
  })

  it('has a hint without a command for a log that the node no longer has', () => {
    const lostLogs = { present: true, previous: true }
    expect(hint('crash-loop', { exitCode: 3 }, { lostLogs })).toBe(
      'Find out why container app exits. Its log is gone from the node. With `stream-logs`, the job log shows it while it is written.',
    )
    const logLine = { text: 'no database', isError: false }
    expect(hint('crash-loop', { exitCode: 3 }, { lostLogs, logLine })).not.toContain('kubectl logs')
  })

  it('has a hint with the command for the run whose log the node still has', () => {
    expect(hint('crash-loop', { exitCode: 3 }, { lostLogs: { present: false, previous: true } })).toContain(
      '`kubectl logs pod/web-1-a -c app -n shop`',
    )
    expect(hint('crash-loop', { exitCode: 3 }, { lostLogs: { present: true, previous: false } })).toContain(
      '`kubectl logs pod/web-1-a -c app --previous -n shop`',
    )
  })

  it.each<[ReasonCode, ReasonDetails[ReasonCode]]>([
    ['crash-loop', { exitCode: 255 }],
    ['bad-command', { exitCode: 126, message: '', isNotExecutable: true }],
    ['init-container-failed', { exitCode: 255 }],
    ['pod-failed', { message: '', exit: { exitCode: 255, isOutOfMemory: false } }],
    ['job-failed', { exitCode: 255 }],
  ])('by a program for another architecture, as only its log shows, has a hint about that (%s)', (reason, detail) => {
    expect(hint(reason, detail, { isOfOtherArchitecture: true, spec: container })).toContain(
      'Build acme/web:v2 for the architecture of the cluster',
    )
  })

  it.each([
    [0, /ends without an error, and is started again: keep its program in the foreground/],
    [137, /Code 137 is SIGKILL/],
    [139, /Code 139 is a segmentation fault/],
    [143, /Code 143 is SIGTERM/],
  ])('with exit code %d has a hint for that code', (exitCode, words) => {
    expect(hint('crash-loop', { exitCode })).toMatch(words)
  })

  it('whose postStart hook fails has a headline and hint about the hook, not about its exit code', () => {
    expect(headline('crash-loop', { exitCode: 0, failedHook: 'PostStartHook failed' })).toBe(
      'the postStart hook of container app fails',
    )
    expect(hint('crash-loop', { exitCode: 0, failedHook: 'PostStartHook failed' })).toBe(
      'Correct `lifecycle.postStart` of container app: the kubelet ends a container whose hook fails.',
    )
  })

  it('without enough memory has a hint with its limit, and how soon it was used up', () => {
    const ended = { startedAt: '2025-01-15T12:00:00Z', finishedAt: '2025-01-15T12:00:03Z' }
    const pod = createPod({}, { containerStatuses: [{ name: 'app', lastState: { terminated: ended } }] })
    const spec = { ...container, resources: { limits: { memory: '64Mi' } } }
    expect(hint('out-of-memory', { limit: '64Mi' }, { pod, spec })).toBe(
      'Raise `resources.limits.memory` of container app (now 64Mi, used up 3 s after its start), or make it use less.',
    )
  })
})

it.each([
  [false, /does not exist in acme\/web:v2, or is not on its PATH\. It runs `\["serve","--fast"\]`\.$/],
  [true, /may not be run: make it executable in acme\/web:v2/],
])('the hint for a command that cannot be run (forbidden: %s) shows the command', (isNotExecutable, words) => {
  const spec = { ...container, command: ['serve'], args: ['--fast'] }
  expect(hint('bad-command', { message: 'no', isNotExecutable }, { spec })).toMatch(words)
})

it.each([
  ['hook', /^A hook of the container runtime fails on the node/],
  ['working-directory', /^Correct `workingDir` of container app/],
  ['sub-path', /cannot prepare a `subPath` of container app/],
  ['other', /^The kubelet or the container runtime of the node fails before the program of container app starts/],
] as const)('a step before the program (%s) has no hint about its command', (step, words) => {
  const text = hint('container-create-failed', { isCreated: true, message: 'no such file or directory', step })
  expect(text).toMatch(words)
  expect(text).not.toMatch(/`command`|chmod|PATH/)
})

it('the hint for a command that is a folder does not ask to make it executable', () => {
  const text = hint('bad-command', { message: 'exec: "/app": is a directory', isFolder: true })
  expect(text).toContain('the program is a folder in')
  expect(text).not.toContain('chmod')
})

describe('a container that cannot be created', () => {
  const subPath: CreateDetail = {
    isCreated: true,
    message: 'error mounting "/var/lib/kubelet/x" to rootfs at "/etc/web.conf"',
    mount: { volume: 'v', subPath: 'web.conf', path: '/etc/web.conf', error: 'not a directory' },
  }

  it('or not started: the sentence distinguishes them', () => {
    expect(messageOf(createProblem('container-create-failed', { isCreated: false, message: 'no' }))).toBe(
      'cannot be created: no',
    )
    expect(messageOf(createProblem('container-create-failed', { isCreated: true, message: 'no' }, { count: 2 }))).toBe(
      'cannot start: no, 2 times',
    )
    expect(headline('container-create-failed', { isCreated: true, message: 'no' })).toBe(
      'container app could not be created',
    )
  })

  it('because its pod forbids root has a hint that asks for another user', () => {
    const detail = { isCreated: false, message: 'container has runAsNonRoot', mayBeRoot: true }
    expect(hint('container-create-failed', detail)).toBe(
      'Set `securityContext.runAsUser` of container app to the number of a user other than root, or use an image with such a USER.',
    )
  })

  it('because a subPath is not in its volume has a message with volume, path and error', () => {
    expect(messageOf(createProblem('container-create-failed', subPath))).toBe(
      'cannot start: volume "v" (subPath web.conf) cannot be mounted at /etc/web.conf: not a directory',
    )
    expect(headline('container-create-failed', subPath)).toBe('volume v cannot be mounted')
    expect(hint('container-create-failed', subPath)).toMatch(
      /^Probably the volume has no web\.conf: .* \/etc\/web\.conf is a file in the image\. Correct the subPath, or add the key\.$/,
    )
    const pod = createPod({ volumes: [{ name: 'v', configMap: { name: 'settings' } }] })
    expect(hint('container-create-failed', subPath, { pod })).toMatch(
      /^Probably configmap\/settings has no web\.conf: .* `kubectl describe configmap\/settings -n shop` lists its keys\.$/,
    )
  })
})

describe('a Secret, ConfigMap or key that is missing', () => {
  it('in another namespace, where the driver of a volume looked, is named with that namespace', () => {
    const missing = { kind: 'secret', name: 'share', namespace: 'default' } as const
    expect(hint('config-missing', { missing, volume: 'v', message: 'no' })).toMatch(
      /^Create secret\/share in namespace default, .*`kubectl get secret -n default` lists what is there\.$/,
    )
  })

  const database: MissingObject = { kind: 'secret', name: 'database' }
  const pod = createPod({
    containers: [
      {
        ...container,
        env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'database', key: 'password' } } }],
        envFrom: [{ configMapRef: { name: 'settings' } }],
      },
    ],
    volumes: [{ name: 'tls', secret: { secretName: 'cert' } }],
  })

  it('keeps the container from being created, or a volume from being mounted', () => {
    const ofPod = { container: undefined }
    const key = { ...database, key: 'password' }
    expect(messageOf(createProblem('config-missing', { message: 'no' }))).toBe('cannot be created: no')
    expect(messageOf(createProblem('config-missing', { volume: 'v', message: 'no' }, ofPod))).toBe(
      'volume "v" cannot be mounted: no',
    )
    expect(messageOf(createProblem('config-missing', { missing: database, message: 'no' }))).toBe(
      'cannot be created: secret/database does not exist',
    )
    expect(messageOf(createProblem('config-missing', { missing: { kind: 'secret' }, message: 'no' }))).toBe(
      'cannot be created: no',
    )
    expect(messageOf(createProblem('config-missing', { missing: key, message: 'no' }, ofPod))).toBe(
      'a volume cannot be mounted: secret/database has no key password',
    )
  })

  it.each<[MissingObject | undefined, string]>([
    [database, 'secret/database is missing'],
    [{ ...database, key: 'password' }, 'secret/database lacks the key password'],
    [{ kind: 'secret' }, 'a Secret, ConfigMap or key is missing'],
    [undefined, 'a Secret, ConfigMap or key is missing'],
  ])('%j is named in the headline', (missing, words) => {
    expect(headline('config-missing', { missing, message: 'no' })).toBe(words)
  })

  it.each<[MissingObject | undefined, string]>([
    [
      database,
      'Create secret/database in namespace shop, or correct the reference (env PASSWORD of container app). `kubectl get secret -n shop` lists what is there.',
    ],
    [
      { ...database, key: 'password' },
      'Add the key password to secret/database in namespace shop, or correct the reference (env PASSWORD of container app). `kubectl describe secret/database -n shop` lists its keys.',
    ],
    [
      { kind: 'configmap', name: 'settings' },
      'Create configmap/settings in namespace shop, or correct the reference (envFrom of container app). `kubectl get configmap -n shop` lists what is there.',
    ],
    [
      { kind: 'secret', name: 'cert' },
      'Create secret/cert in namespace shop, or correct the reference (volume tls). `kubectl get secret -n shop` lists what is there.',
    ],
    [
      { kind: 'secret', name: 'other' },
      'Create secret/other in namespace shop, or correct the reference. `kubectl get secret -n shop` lists what is there.',
    ],
    [
      undefined,
      'Create the Secret or ConfigMap (or the key in it) that the message names, in namespace shop, or correct the reference.',
    ],
  ])('%j: the hint names the object to create, and its references', (missing, words) => {
    expect(hint('config-missing', { missing, message: 'no' }, { pod })).toBe(words)
  })
})

describe('a probe that fails', () => {
  const asking = (readinessProbe: object, containerPort = 8080): Container => ({
    ...container,
    ports: [{ containerPort }],
    readinessProbe,
  })
  const http = asking({ httpGet: { port: 8080, path: '/healthz' } })

  it.each([
    [{ isRunning: true }, 1, 'runs, but its readiness probe has not succeeded'],
    [{ isRunning: true, failure: '' }, 1, 'fails its readiness probe'],
    [{ isRunning: true, failure: 'no' }, 1, 'fails its readiness probe: no'],
    [{ isRunning: true, wasReady: true, failure: 'no' }, 1, 'was ready, and then not ready: no'],
    [{ isRunning: true, wasReady: true }, 2, 'was ready, and then not ready, 2 times'],
    [{ isRunning: false }, 3, 'is killed because its readiness probe fails, 3 times'],
  ])('%j, seen %d times', (detail, count, words) => {
    expect(messageOf(createProblem('readiness-failing', detail, { count }))).toBe(words)
    expect(headline('readiness-failing', detail)).toBe('container app fails its readiness probe')
  })

  it('at another port than the container declares has a hint with both ports', () => {
    const spec = asking({ httpGet: { port: 8081 } })
    expect(hint('readiness-failing', { isRunning: true }, { spec })).toMatch(
      /^The probe asks port 8081 for \/, but the container declares 8080\. /,
    )
  })

  it('at a port that is not declared, and that speaks another protocol, has a hint with the protocol', () => {
    const spec = asking({ httpGet: { port: 8443 } })
    const detail = { isRunning: true, answer: { type: 'expects-tls' } } as const
    expect(hint('readiness-failing', detail, { spec })).toContain('the app expects HTTPS there')
  })

  it.each([
    ['wget', /has no program wget that may be executed\. Add it to the image, or let the probe ask with `httpGet`/],
    [undefined, /^The kubelet cannot run the probe\. Its error is in the message\.$/],
  ])(
    'because the kubelet cannot run it (%s) has a hint about the program, and none about its exit code',
    (program, words) => {
      const spec = { ...container, readinessProbe: { exec: { command: ['wget'] } } }
      const text = hint('readiness-failing', { isRunning: true, answer: { type: 'not-asked', program } }, { spec })
      expect(text).toMatch(words)
      expect(text).not.toContain('code 0')
    },
  )

  it.each<[ProbeAnswer | undefined, string]>([
    [{ type: 'http-status', status: 404 }, 'the app answers, but has no such path (404).'],
    [{ type: 'http-status', status: 503 }, 'the app answers 503, and any of 200 to 399 would do.'],
    [{ type: 'http-status', status: 401 }, 'the app answers, but requires authentication (401).'],
    [
      { type: 'http-status', status: 400 },
      'the app answers 400, and any of 200 to 399 would do. Many HTTPS ports answer HTTP so: if it is one, set `scheme: HTTPS`.',
    ],
    [{ type: 'expects-tls' }, 'the app expects HTTPS there: set `scheme: HTTPS`'],
    [{ type: 'expects-http2' }, 'the app expects HTTP/2 there, as a gRPC server does'],
    [{ type: 'expects-plain-http' }, 'the app expects HTTP there, not HTTPS: remove `scheme: HTTPS`'],
    [{ type: 'connection-refused' }, 'nothing listens there. It has to listen on that port,'],
    [{ type: 'timeout' }, 'no answer within its timeoutSeconds of 1.'],
    [undefined, 'does the app listen there?'],
  ])('is explained by the answer %j', (answer, words) => {
    expect(hint('readiness-failing', { isRunning: true, answer }, { spec: http })).toContain(
      `The probe asks port 8080 for /healthz: ${words}`,
    )
  })

  it.each<[ProbeAnswer, string]>([
    [{ type: 'no-grpc-server' }, 'no gRPC server answers there. It has to listen on that port,'],
    [{ type: 'no-grpc-health' }, 'the app answers, but does not implement the gRPC health protocol'],
    [{ type: 'grpc-status', status: 'NOT_SERVING' }, 'the app answers NOT_SERVING, and only SERVING would do.'],
    [{ type: 'grpc-error', code: 'NotFound' }, 'the app answers with the gRPC code NotFound.'],
    [{ type: 'timeout' }, 'no answer within its timeoutSeconds of 1.'],
  ])('over gRPC is explained by the answer %j', (answer, words) => {
    const spec = asking({ grpc: { port: 9090 } }, 9090)
    expect(hint('readiness-failing', { isRunning: true, answer }, { spec })).toContain(
      `The probe asks port 9090: ${words}`,
    )
  })

  it('by a command has a hint with the command and the time that a container may take to start', () => {
    const spec = { ...container, startupProbe: { exec: { command: ['cat', '/up'] }, failureThreshold: 30 } }
    expect(hint('startup-failing', { isRunning: true }, { spec })).toBe(
      "The probe runs `cat /up`, which has to end with code 0. If the container only needs longer, raise the probe's failureThreshold (now 30, every 10 s).",
    )
  })
})
