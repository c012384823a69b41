import type { ActionRun } from '../../support/runner.ts'
import { conditionTrue, deploymentComplete } from '../cluster-states.ts'
import { container, deployment, job } from '../objects.ts'
import type { Scenario } from '../scenario.ts'

const migration = [
  'echo step 1',
  'echo "::error::x"; echo "##[error]x"; echo "::stop-commands::x"',
  "printf '\\033[31mred\\033[0m\\n'",
  'sleep 6',
  'echo step 2',
].join('; ')

/** A suspended Job that is resumed once the action watches it. */
function resumedWhenWatched(script: string, spec: object = {}, pod: object = {}): Pick<Scenario, 'setup' | 'during'> {
  return {
    setup: (fixture) => fixture.apply(job('migrate', script, { suspend: true, ...spec }, pod)),
    during: async (fixture) => void (await fixture.patch('Job', 'migrate', { spec: { suspend: false } })),
  }
}

const init = { ...container({ script: 'echo before', readiness: 'none' }), name: 'init' }

/** Logs that are shown live: at the right time, in order, and escaped. */
export const liveLogs: Scenario[] = [
  {
    name: 'job-logs-live',
    inputs: { resources: 'job/migrate', 'stream-logs': 'job/migrate' },
    ...resumedWhenWatched(migration, {}, { initContainers: [init] }),
    expect: { outcome: 'ready', reason: '' },
    decidedBy: conditionTrue('Job', 'migrate', 'Complete'),
    takesSeconds: 11,
    check: (run) => [
      ...orderEvidence(run, [
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
        : ['the lines were not shown when they were written']),
      ...(/^\s*::(error|stop-commands)|##\[/m.test(run.log) ? ['the runner reads a line of the Job as a command'] : []),
    ],
  },
  {
    name: 'job-logs-live-of-a-failure',
    inputs: { resources: 'job/migrate', 'stream-logs': 'job/migrate' },
    ...resumedWhenWatched('echo start; sleep 2; echo no such table; exit 3', { backoffLimit: 0 }),
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 8,
    check: (run) =>
      orderEvidence(run, ['app │ start', 'app │ no such table', 'job/migrate  ✗ failed', '✗ Rollout failed']),
  },
  {
    name: 'job-logs-live-of-retries',
    inputs: { resources: 'job/migrate', 'stream-logs': 'job --all' },
    ...resumedWhenWatched(
      'echo try; sleep 2; echo lost the connection; exit 1',
      { backoffLimit: 1 },
      { restartPolicy: 'OnFailure' },
    ),
    expect: { outcome: 'failed', reason: 'job-failed' },
    decidedBy: conditionTrue('Job', 'migrate', 'FailureTarget'),
    takesSeconds: 8,
    check: (run) =>
      orderEvidence(run, [
        'app │ try',
        'app │ lost the connection',
        'app · restarted',
        'app │ try',
        '✗ Rollout failed',
      ]),
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
      ...orderEvidence(run, ['app │ of the new revision', 'app │ of the new revision', '✓ Rollout ready']),
      ...(run.log.includes('│ of the old revision') ? ['the log of an old pod is shown'] : []),
    ],
  },
]

/** Checks that lines with these texts follow one another in the log. */
function orderEvidence({ log }: ActionRun, texts: readonly string[]): string[] {
  const lines = log.replaceAll(/\x1b\[\d*m/g, '').split('\n')
  let from = 0
  for (const text of texts) {
    const found = lines.findIndex((line, index) => index >= from && line.includes(text))
    if (found === -1) return [`"${text}" is missing in the log or not in order`]
    from = found + 1
  }
  return []
}

/** The elapsed time that the log shows for a text. */
function secondsOf({ log }: ActionRun, text: string): number {
  const line = log.split('\n').find((each) => each.includes(text)) ?? ''
  const [, minutes, seconds] = /(\d+):(\d\d)/.exec(line) ?? []
  return Number(minutes) * 60 + Number(seconds)
}
