import type { ActionRun } from '../../support/runner.ts'
import { conditionTrue, deploymentComplete } from '../cluster-states.ts'
import { container, deployment, job } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const migration = [
  'echo step 1',
  'echo "::error::x"; echo "##[error]x"; echo "::stop-commands::x"',
  "printf '\\033[31mred\\033[0m\\n'",
  'sleep 4',
  'echo step 2',
].join('; ')

/** A Job that begins when the action watches it, however long that took to start. */
function onceWatched(script: string, spec: object = {}, pod: object = {}): Pick<Scenario, 'setup' | 'during'> {
  return {
    setup: (fixture) => fixture.apply(job('migrate', script, { suspend: true, ...spec }, pod)),
    during: async (fixture) => void (await fixture.patch('Job', 'migrate', { spec: { suspend: false } })),
  }
}

const init = { ...container({ script: 'echo before', readiness: 'none' }), name: 'init' }

/** Logs that are shown live: they are there while it happens, in their place, and harmless. */
export const streamed: Scenario[] = [
  {
    name: 'job-logs-live',
    inputs: { resources: 'job/migrate', 'stream-logs': 'job/migrate' },
    ...onceWatched(migration, {}, { initContainers: [init] }),
    expect: { outcome: 'ready', reason: '' },
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 9,
    check: (run) => [
      ...inOrder(run, [
        'init │ before',
        'app │ step 1',
        'app │ : :error::x',
        'app │ ## [error]x',
        'app │ : :stop-commands::x',
        'app │ red',
        'app │ step 2',
        'job/migrate  ✓ ready',
        '✓ Rollout ready',
      ]),
      ...(secondsOf(run, 'step 2') - secondsOf(run, 'step 1') >= 3
        ? []
        : ['the lines did not come while they were written']),
      ...(/^\s*::(error|stop-commands)|##\[/m.test(run.log) ? ['a line of the Job is a command'] : []),
    ],
  },
  {
    name: 'job-logs-live-of-a-failure',
    inputs: { resources: 'job/migrate', 'stream-logs': 'job/migrate' },
    ...onceWatched('echo start; sleep 2; echo no such table; exit 3', { backoffLimit: 0 }),
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 8,
    check: (run) => inOrder(run, ['app │ start', 'app │ no such table', 'job/migrate  ✗ failed', '✗ Rollout failed']),
  },
  {
    name: 'job-logs-live-of-retries',
    inputs: { resources: 'job/migrate', 'stream-logs': 'job --all' },
    ...onceWatched(
      'echo try; sleep 2; echo lost the connection; exit 1',
      { backoffLimit: 1 },
      { restartPolicy: 'OnFailure' },
    ),
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 8,
    check: (run) =>
      inOrder(run, ['app │ try', 'app │ lost the connection', 'app · restarted', 'app │ try', '✗ Rollout failed']),
  },
  {
    name: 'deployment-logs-live',
    inputs: { resources: 'deployment/web', 'stream-logs': 'deployment/web' },
    setup: async (fixture) => {
      await fixture.rollOut(deployment('web', { script: 'echo of the old revision; exec serve' }))
      await fixture.apply(deployment('web', { image: 'v2', script: 'echo of the new revision; exec serve' }))
    },
    expect: { outcome: 'ready', reason: '' },
    decidedBy: deploymentComplete('web'),
    takesSeconds: 9,
    check: (run) => [
      ...inOrder(run, ['app │ of the new revision', 'app │ of the new revision', '✓ Rollout ready']),
      ...(run.log.includes('│ of the old revision') ? ['the log of an old pod is shown'] : []),
    ],
  },
]

/** Says which of these texts does not follow those before it, in lines of their own. */
function inOrder({ log }: ActionRun, texts: readonly string[]): string[] {
  const lines = log.replaceAll(/\x1b\[\d*m/g, '').split('\n')
  let from = 0
  for (const text of texts) {
    const found = lines.findIndex((line, index) => index >= from && line.includes(text))
    if (found === -1) return [`"${text}" is missing in the log, or in the wrong place`]
    from = found + 1
  }
  return []
}

/** The elapsed time at which a text stands in the log. */
function secondsOf({ log }: ActionRun, text: string): number {
  const line = log.split('\n').find((each) => each.includes(text)) ?? ''
  const [, minutes, seconds] = /(\d+):(\d\d)/.exec(line) ?? []
  return Number(minutes) * 60 + Number(seconds)
}
