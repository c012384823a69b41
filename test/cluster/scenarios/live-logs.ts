import type { ActionRun } from '../../support/runner.ts'
import type { Scenario } from '../scenario.ts'
import { readScenarios } from '../scenario-files.ts'

/** Logs that are shown live: at the right time, in order, and escaped. */
export const liveLogs: Scenario[] = readScenarios('live-logs', {
  'job-logs-live': {
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
  'job-logs-live-of-a-failure': {
    check: (run) =>
      orderEvidence(run, ['app │ start', 'app │ no such table', 'job/migrate  ✗ failed', '✗ Rollout failed']),
  },
  'job-logs-live-of-retries': {
    check: (run) =>
      orderEvidence(run, [
        'app │ try',
        'app │ lost the connection',
        'app · restarted',
        'app │ try',
        '✗ Rollout failed',
      ]),
  },
  'deployment-logs-live': {
    check: (run) => [
      ...orderEvidence(run, ['app │ of the new revision', 'app │ of the new revision', '✓ Rollout ready']),
      ...(run.log.includes('│ of the old revision') ? ['the log of an old pod is shown'] : []),
    ],
  },
})

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
