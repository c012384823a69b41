import type { EventObject } from '../../src/cluster/objects.ts'
import {
  causeOfDeath,
  missingObject,
  probeFailure,
  runtimeError,
} from '../../src/lifecycle/workloads/kubelet-messages.ts'
import { buildProblem, messageOf } from '../../src/reasons/reasons.ts'
import { exitText } from '../../src/reasons/wording.ts'
import { make } from '../kit/objects.ts'
import { rows } from '../kit/rows.ts'
import { containerIn } from '../kit/rule.ts'
import { toSubject } from '../kit/subject.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const limitedPod = make.pod({ spec: { containers: [make.container({ resources: { limits: { memory: '20Mi' } } })] } })
const app = containerIn(limitedPod)
const appAmong = (...events: readonly EventObject[]) => containerIn(limitedPod, { objects: events })
const runc = (words: string) =>
  `failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: ${words}: unknown`
const startError = (words: string) => ({ reason: 'StartError', exitCode: 128, message: runc(words) })

/** The reason of a death, and its sentence. */
function explained(...args: Parameters<typeof causeOfDeath>) {
  const death = causeOfDeath(...args)
  const problem = buildProblem({ ...death, subject: toSubject('pod/web-1-a'), count: 1, firstSeenAt: 0, proven: false })
  return { reason: death.reason, message: messageOf(problem) }
}

describe('the death of a container', () => {
  it.each(rows<[string, object, string, string]>(data, 'the death of a container'))(
    'is explained by %s',
    (_, death, reason, message) => {
      expect(explained(app, death)).toEqual({ reason, message })
    },
  )

  it('is explained by a folder that is mounted as a file, with the paths of the manifest', () => {
    const volumeMounts = [{ name: 'settings', mountPath: '/etc/app.conf', subPath: 'web.conf' }]
    const mounting = containerIn(make.pod({ spec: { containers: [{ ...make.container(), ...{ volumeMounts } }] } }))
    const from = '/var/lib/kubelet/pods/1/volume-subpaths/settings/app/0'
    const words = `error during container init: error mounting "${from}" to rootfs at "/etc/app.conf": mount ${from}:/etc/app.conf (via /proc/self/fd/6), flags: 0x5001: not a directory`
    expect(explained(mounting, startError(words))).toEqual({
      reason: 'container-create-failed',
      message: 'cannot start: volume "settings" (subPath web.conf) cannot be mounted at /etc/app.conf: not a directory',
    })
  })

  it('is explained by its postStart hook, with the message of the event', () => {
    const hook = make.event(limitedPod, {
      container: 'app',
      reason: 'FailedPostStartHook',
      message: 'PostStartHook failed',
    })
    expect(explained(appAmong(hook), { exitCode: 137 })).toEqual({
      reason: 'crash-loop',
      message: 'is killed because its postStart hook fails: PostStartHook failed',
    })
  })

  it('is not explained by the probe of another container', () => {
    const pod = make.pod({ spec: { containers: [make.container(), make.container({ name: 'probe' })] } })
    const message = 'Container app failed liveness probe, will be restarted'
    const killing = make.event(pod, { container: 'app', reason: 'Killing', message })
    const probe = containerIn(pod, { container: 'probe', objects: [killing] })
    expect(causeOfDeath(probe, { exitCode: 1 }).reason).toBe('crash-loop')
    expect(causeOfDeath(appAmong(killing), { exitCode: 1 }).reason).toBe('liveness-failing')
  })

  it('is explained although an event has no message', () => {
    const wordless = {
      ...make.event(limitedPod, { container: 'app', reason: 'Killing' }),
      message: null,
    } as unknown as EventObject
    expect(causeOfDeath(appAmong(wordless), { exitCode: 1 }).reason).toBe('crash-loop')
  })
})

describe('the text for the end of a container', () => {
  it('contains only the code if the exit code has no usual meaning', () => {
    expect(exitText({ exitCode: 3 })).toBe('exited with code 3')
    expect(exitText({})).toBe('exited with code unknown')
  })

  it.each([
    [
      'is the innermost error in a message of containerd',
      'failed to create containerd container: no command specified',
      'no command specified',
    ],
    [
      'is the innermost error in a message of CRI-O',
      'container create failed: executable file not found in $PATH',
      'executable file not found in $PATH',
    ],
    [
      'is the whole message of the runtime if nothing is around the error',
      'no layers around it',
      'no layers around it',
    ],
  ])('%s', (_, message, words) => {
    expect(runtimeError(message).message).toBe(words)
  })
})

describe('an error of a container runtime', () => {
  it.each(rows<[string, string, string]>(data, 'the step that failed'))('%s', (_, step, message) => {
    expect(runtimeError(message).step).toBe(step)
  })

  it('is shown without the log line and the quotes around the error', () => {
    const text = 'time="2025-04-16T12:10:28Z" level=error msg="exec: \\"serve\\": permission denied"\n'
    expect(runtimeError(`container create failed: ${text}`).message).toBe('exec: "serve": permission denied')
  })

  it.each(rows<[string, string, string]>(data, 'a start that fails'))(
    '%s explains the death of its container',
    (_, words, reason) => {
      expect(explained(app, startError(words))).toEqual({ reason, message: `cannot start: ${words}` })
    },
  )
})

describe('a container that used too much memory', () => {
  it.each(rows<[string, object, object]>(data, 'too much memory'))(
    'is reported as killed for more memory than %s',
    (words, limited, podLimited) => {
      const spec = { resources: podLimited, containers: [make.container({ resources: limited })] }
      const death = { reason: 'OOMKilled', exitCode: 137 }
      const { message } = explained(containerIn(make.pod({ spec })), death)
      expect(message).toBe(`was killed for using more memory than ${words}`)
    },
  )
})

describe('the answer to a failed probe', () => {
  const unhealthy = (message: string, container = 'app') =>
    make.event(limitedPod, { container, reason: 'Unhealthy', message, metadata: { name: message } })
  const failure = (...events: EventObject[]) => probeFailure(appAmong(...events).failedProbes.readiness)

  it.each(rows<[string, string, object | null]>(data, 'the answer of a probe'))('%s', (_, message, answer) => {
    expect(failure(unhealthy(`Readiness probe failed: ${message}`))).toEqual({
      failure: message,
      answer: answer ?? undefined,
    })
  })

  it('is read from the last event about the same probe of the same container', () => {
    const others = [unhealthy('Liveness probe failed: 2'), unhealthy('Readiness probe failed: 3', 'proxy')]
    expect(failure(unhealthy('Readiness probe failed: 1'), ...others).failure).toBe('1')
    expect(failure(...others)).toEqual({})
  })

  it('is empty if the probe prints nothing', () => {
    expect(failure(unhealthy('Readiness probe failed: ')).failure).toBe('')
  })

  it.each(rows<[string, string, string | null]>(data, 'a probe that the kubelet could not run'))(
    'is missing if %s',
    (_, message, program) => {
      const { answer } = failure(unhealthy(`Readiness probe ${message}`))
      expect(answer).toEqual({ type: 'not-asked', program: program ?? undefined })
    },
  )

  it('is unknown if the output of the probe resembles an error of a runtime', () => {
    expect(failure(unhealthy('Readiness probe failed: exec: "x": not found')).answer).toBeUndefined()
  })
})

describe('the missing object in a message of the kubelet', () => {
  it.each(rows<[string, string, object | null]>(data, 'the missing object in a message'))(
    '%s',
    (_, message, missing) => {
      expect(missingObject(message)).toEqual(missing ?? undefined)
    },
  )
})
