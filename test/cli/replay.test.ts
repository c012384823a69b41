import { readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import type { KubeObject } from '../../src/cluster/objects.ts'
import { runCommand } from '../support/command.ts'
import { recordingPath } from '../support/recordings.ts'
import { testWithSignals } from '../support/signals.ts'
import { rolledOut, unobserved } from './objects.ts'
import { runCli, startCli } from './process.ts'
import { useWorkFolder } from './work-folder.ts'

useWorkFolder()

interface Verdict {
  outcome: string
  reason: string
  startedAt: string
  durationSeconds: number
  targets: { target: string; namespace?: string; outcome: string; reason: string }[]
}

const header = {
  recording: 'rollout-gate/v1',
  startedAt: '2026-03-01T12:00:00Z',
  inputs: { resources: ['deployment/web'], namespace: 'shop' },
}

const at = (seconds: number) => new Date(Date.parse(header.startedAt) + seconds * 1000).toISOString()
const synced = { at: at(0), type: 'SYNCED', apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop' }
const added = (object: KubeObject, seconds = 0) => ({ at: at(seconds), type: 'ADDED', object })

/** Writes a file of lines; a value that is no text becomes JSON. */
function written(name: string, ...lines: unknown[]): string {
  writeFileSync(name, lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''))
  return name
}

async function replay(...args: string[]) {
  const run = await runCommand(['replay', '--json', ...args])
  const verdicts = run.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Verdict)
  return { ...run, verdicts }
}

describe('recordings', () => {
  test('give one report a line in the order of the files, the same bytes each time, and the worst exit code', async () => {
    const files = [
      written('ready', header, added(rolledOut()), synced),
      written('absent', header, synced),
      written('none', '{"kind":"List"}'),
    ]
    const [first, second] = await Promise.all([replay(...files), replay(...files)])
    expect(first.verdicts.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['ready', ''],
      ['failed', 'not-found'],
      ['misconfigured', 'input-invalid'],
    ])
    expect(first.code).toBe(2)
    expect(first.stderr).toMatch(/^none, line 1: This is not a recording/)
    expect(second).toEqual(first)
  })

  test('names a file that does not exist', async () => {
    expect(await runCommand(['replay', 'web.ndjson'])).toMatchObject({
      code: 2,
      stderr: 'web.ndjson: This file does not exist.\n',
    })
  })

  test('print their log, with the name of each file if there are several', async () => {
    written('ready', header, added(rolledOut()), synced)
    written('absent', header, synced)
    const one = await runCommand(['replay', 'ready'])
    expect(one.stdout).toMatch(/^Rollout Gate · 1 target in shop · timeout 10m · stall 5m\n/)
    expect(one.stdout).toMatch(/\n✓ Rollout ready in .* · deployment\/web\n$/)
    const two = await runCommand(['replay', 'ready', 'absent'])
    expect(two).toMatchObject({ code: 1, stderr: '' })
    expect(two.stdout).toMatch(/^ready:\n[\s\S]*\n\nabsent:\n[\s\S]*✗ failed after 30 s/)
  })

  test('of a live gate give its verdict', async () => {
    const { code, verdicts } = await replay(recordingPath('crash-loop'))
    expect(code).toBe(1)
    expect(verdicts).toMatchObject([{ outcome: 'failed', reason: 'crash-loop' }])
  })

  test('can be replayed with other inputs', async () => {
    const file = written('silent', header, added(unobserved()), synced)
    const [asItWas, impatient, elsewhere] = await Promise.all([
      replay(file),
      replay(file, '--stall-timeout=2m'),
      replay('--resources=deployment/api', file),
    ])
    expect(asItWas.verdicts).toMatchObject([{ outcome: 'stalled', durationSeconds: 300 }])
    expect(impatient.verdicts).toMatchObject([{ outcome: 'stalled', durationSeconds: 120 }])
    expect(elsewhere.verdicts).toMatchObject([{ reason: 'not-found', targets: [{ target: 'deployment.apps/api' }] }])
  })

  const target = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' }
  const minutes = (count: number) => count * 60_000
  test.each([
    ['--stall-timeout=2m', '--stall-timeout=4m', { stallTimeoutMs: minutes(4) }, ['stalled', 120]],
    ['--timeout=3m', '--timeout=1m', { timeoutMs: minutes(1) }, ['timed-out', 180]],
    [
      '--milestone-timeouts=observed=30s',
      '--milestone-timeouts=observed=90s',
      { milestoneTimeoutsMs: { observed: 90_000 } },
      ['timed-out', 30],
    ],
  ])('%s replaces the clock that is recorded behind a reference', async (flag, recorded, clocks, expected) => {
    const inputs = { ...header.inputs, resources: [`deployment/web ${recorded}`] }
    const { verdicts } = await replay(
      flag,
      written('lines', { ...header, inputs }, added(unobserved()), synced),
      written('targets', { ...header, inputs, targets: [{ ...target, clocks }] }, added(unobserved()), synced),
    )
    expect(verdicts.map(({ outcome, durationSeconds }) => [outcome, durationSeconds])).toEqual([expected, expected])
  })

  test("accept the stages of an operator's kind in milestone-timeouts", async () => {
    const rollout = {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Rollout',
      metadata: { name: 'web', namespace: 'shop', uid: 'web', generation: 1 },
      spec: { replicas: 2 },
      status: {
        observedGeneration: '1',
        phase: 'Progressing',
        replicas: 2,
        updatedReplicas: 2,
        message: 'more replicas',
      },
    }
    const inputs = { ...header.inputs, resources: ['rollout/web'] }
    const file = written('rollout', { ...header, inputs }, added(rollout), {
      ...synced,
      apiVersion: rollout.apiVersion,
      kind: 'Rollout',
    })
    const [staged, common] = await Promise.all([
      replay('--milestone-timeouts=promoted=40s', file),
      replay('--milestone-timeouts=bound=40s', file),
    ])
    expect(staged.verdicts).toMatchObject([{ outcome: 'timed-out', durationSeconds: 40 }])
    expect(common.stderr).toContain(
      '"bound" is not a milestone of Rollout. There are created, observed, updated, promoted, ready.',
    )
  })

  test('keep the clock behind a reference of the replay itself', async () => {
    const file = written('silent', header, added(unobserved()), synced)
    const { verdicts } = await replay('--stall-timeout=2m', '--resources=deployment/web --stall-timeout=1m', file)
    expect(verdicts).toMatchObject([{ outcome: 'stalled', durationSeconds: 60 }])
  })

  test('with every clock off end an hour later, as if a user had cancelled', async () => {
    const inputs = { ...header.inputs, timeout: '0', 'stall-timeout': '0', 'milestone-timeouts': 'created=0' }
    const { code, verdicts } = await replay(written('endless', { ...header, inputs }, synced))
    expect(code).toBe(130)
    expect(verdicts).toMatchObject([{ outcome: 'cancelled', durationSeconds: 3600 }])
  })
})

describe('a recording written by hand', () => {
  test('needs no more than a target and an object', async () => {
    const { stderr, verdicts } = await replay(
      written(
        'bare',
        { recording: header.recording, inputs: { resources: 'deploy/web' } },
        { object: rolledOut() },
        {
          type: 'SYNCED',
          kind: 'Deployment',
          apiVersion: 'apps/v1',
        },
      ),
      written('nowhere', header, added(rolledOut('web', undefined)), { ...synced, namespace: undefined }),
      written(
        'named',
        { ...header, inputs: {}, targets: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }] },
        {
          at: at(3),
          object: rolledOut(),
        },
      ),
    )
    expect(stderr).toBe('')
    expect(verdicts).toMatchObject([
      { outcome: 'ready', startedAt: '1970-01-01T00:00:00.000Z', targets: [{ namespace: 'shop' }] },
      { outcome: 'ready', startedAt: '2026-03-01T12:00:00.000Z', targets: [{ namespace: 'shop' }] },
      { outcome: 'ready', targets: [{ namespace: 'shop' }] },
    ])
  })

  test('names kinds that only its discovery or its objects contain', async () => {
    const gadget = {
      apiVersion: 'acme.io/v1',
      kind: 'Gadgetry',
      metadata: { name: 'x', namespace: 'shop', uid: 'x', generation: 1 },
      status: { observedGeneration: 1, conditions: [{ type: 'Ready', status: 'True' }] },
    }
    const resource = {
      group: 'acme.io',
      version: 'v1',
      kind: 'Gadgetry',
      plural: 'gadgets',
      namespaced: true,
      status: true,
    }
    const of = (word: string) => ({ ...header, inputs: { resources: [word], namespace: 'shop' } })
    const { verdicts } = await replay(
      written('discovered', of('gadgets/x'), { at: at(0), type: 'DISCOVERY', resources: [resource] }, added(gadget)),
      written('seen', of('gadgetries.acme.io/x'), added(gadget)),
      written('unheard', of('widget/x'), added(gadget)),
    )
    expect(verdicts).toMatchObject([
      { outcome: 'ready', targets: [{ target: 'gadgetry.acme.io/x' }] },
      { outcome: 'ready', targets: [{ target: 'gadgetry.acme.io/x' }] },
      { outcome: 'misconfigured', reason: 'kind-unknown' },
    ])
  })

  test('means a kind that it holds before a common one of the same name', async () => {
    const knative = {
      apiVersion: 'serving.knative.dev/v1',
      kind: 'Service',
      metadata: { name: 'x', namespace: 'shop', uid: 'x', generation: 1 },
      status: { observedGeneration: 1, conditions: [{ type: 'Ready', status: 'True' }] },
    }
    const of = { ...header, inputs: { resources: ['service/x'], namespace: 'shop' } }
    const { verdicts } = await replay(written('knative', of, added(knative)))
    expect(verdicts).toMatchObject([{ outcome: 'ready', targets: [{ target: 'service.serving.knative.dev/x' }] }])
  })

  test('takes the namespace from what cannot have one', async () => {
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'x.acme.io', namespace: 'shop', uid: 'x' },
      status: { conditions: [{ type: 'Established', status: 'True' }] },
    }
    const of = { ...header, inputs: { resources: ['crd/x.acme.io'], namespace: 'shop' } }
    const { verdicts } = await replay(written('definition', of, added(definition)))
    expect(verdicts).toMatchObject([{ outcome: 'ready' }])
  })

  test('may select its targets from the objects of its first list', async () => {
    const of = (line: string) => ({ ...header, inputs: { resources: [line], namespace: 'shop' } })
    const events = [added(rolledOut('web')), added(rolledOut('api')), synced, added(rolledOut('late'), 5)]
    const selectors = ['-l app=web', "-l 'app in (web,api),!old'", "-l 'app!=web'", '--all', '-l app=none']
    const { verdicts } = await replay(
      ...selectors.map((selector, index) => written(`s${index}`, of(`deploy ${selector}`), ...events)),
    )
    expect(verdicts.map(({ targets }) => targets.map(({ target }) => target.replace('deployment.apps', '')))).toEqual([
      ['/web'],
      ['/api', '/web'],
      ['/api'],
      ['/api', '/web'],
      [' -l app=none'],
    ])
  })

  test('with the line ends of Windows and with empty lines is replayed', async () => {
    const lines = ['', JSON.stringify(header), '', JSON.stringify(added(rolledOut())), '', JSON.stringify(synced), '']
    writeFileSync('windows', lines.join('\r\n'))
    const { code, stderr, verdicts } = await replay('windows')
    expect({ code, stderr, verdicts }).toMatchObject({ code: 0, stderr: '', verdicts: [{ outcome: 'ready' }] })
  })

  test('of a later version is replayed, with a message about what is unknown', async () => {
    const later = { ...header, inputs: { ...header.inputs, 'read-minds': 'true' } }
    const { stderr, verdicts } = await replay(
      written(
        'later',
        later,
        { at: at(0), type: 'WEATHER', sky: 'blue' },
        { type: 'WEATHER' },
        added(rolledOut()),
        synced,
      ),
    )
    expect(verdicts).toMatchObject([{ outcome: 'ready' }])
    expect(stderr.trim().split('\n')).toEqual([
      'later, line 1: the input read-minds is unknown to this version, and has no effect.',
      'later, line 2: WEATHER is unknown to this version. 2 lines like it are skipped.',
    ])
  })

  test('that is damaged is replayed up to the line that is named', async () => {
    const { code, stderr, verdicts } = await replay(written('cut', header, added(rolledOut()), synced, '{"at":"20'))
    expect({ code, verdicts }).toMatchObject({ code: 0, verdicts: [{ outcome: 'ready' }] })
    expect(stderr).toBe('cut, line 4: it is not an event of a recording. Earlier lines are replayed.\n')
  })
})

describe('a replay', () => {
  test('takes the time that --speed gives it', async () => {
    const file = written('slow', header, added(unobserved()), synced, { ...added(rolledOut(), 30), type: 'MODIFIED' })
    const startedAt = performance.now()
    const { verdicts } = await replay(file, '--speed=60')
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(500)
    expect(verdicts).toMatchObject([{ outcome: 'ready', durationSeconds: 30 }])
  })

  testWithSignals('in real time ends at Ctrl-C', async () => {
    const file = written('slow', header, added(unobserved()), synced)
    const run = startCli(['replay', file, '--speed=1'])
    await run.until('1 target')
    run.interrupt()
    expect(await run.ended).toMatchObject({ code: 130, stdout: expect.stringContaining('! Rollout cancelled') })
  })

  test('of ten thousand events does not hold them in memory', async () => {
    const lines = gunzipSync(readFileSync(recordingPath('update')))
      .toString()
      .trim()
      .split('\n')
    const pod = lines.map((line) => JSON.parse(line)).find(({ object }) => object?.kind === 'Pod')
    const filler = 'x'.repeat(10_000)
    const events = Array.from({ length: 10_000 }, (_, index) => ({
      ...pod,
      object: { ...pod.object, metadata: { ...pod.object.metadata, resourceVersion: `${1e9 + index}` }, filler },
    }))
    const file = written('long', ...lines, ...events)
    const nodeOptions = ['--max-old-space-size=128']
    const { code, stdout, stderr } = await runCli(['replay', '--json', file], { nodeOptions })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout)).toMatchObject({ outcome: 'ready' })
  })

  test('refuses flags that it does not take, before it reads any file', async () => {
    const { code, stdout, stderr } = await replay('a', '--kubeconfig=x', '--speed=fast', '--stall-timeout=5')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringMatching(/^--stall-timeout: "5" has no unit/),
      expect.stringMatching(/^--kubeconfig: This command does not take it/),
      expect.stringMatching(/^--speed: Write 1 for real time/),
    ])
  })
})
