import { existsSync, readFileSync } from 'node:fs'
import type { ActionRun } from '../support/runner.ts'

const outputNames = [
  'outcome',
  'reason',
  'message',
  'failed-resources',
  'duration-seconds',
  'slowest-milestone',
  'report',
  'summary-file',
]

/**
 * What holds for every run, whatever happened: exit code, outputs, report and summary agree, and no secret is shown.
 * @param secrets texts that may not appear anywhere, masks apart
 * @returns a sentence for each breach
 */
export function contractViolations(run: ActionRun, secrets: readonly string[]): string[] {
  const { outputs, exitCode } = run
  const breaches: string[] = []
  const demand = (holds: boolean, breach: string) => {
    if (!holds) breaches.push(breach)
  }
  const missing = outputNames.filter((name) => !(name in outputs))
  demand(missing.length === 0, `outputs missing: ${missing.join(', ')}`)
  const isReady = outputs['outcome'] === 'ready'
  demand(exitCode === (isReady ? 0 : 1), `exit code ${exitCode} with outcome ${outputs['outcome']}`)
  demand((outputs['reason'] === '') === isReady, `reason "${outputs['reason']}" with outcome ${outputs['outcome']}`)
  demand(!outputs['message']?.includes('\n'), 'message has more than one line')
  demand(Number.isFinite(Number.parseFloat(outputs['duration-seconds'] ?? '')), 'duration-seconds is no number')
  demand(run.summary.trim() !== '', 'the job summary is empty')

  const failed = parsed(outputs['failed-resources'])
  demand(Array.isArray(failed), 'failed-resources is no JSON array')
  const report = parsed(contentOf(outputs['report'])) as
    | { schema?: number; outcome?: string; reason?: string }
    | undefined
  demand(report?.schema === 1, 'the report is missing or has not schema 1')
  demand(report?.outcome === outputs['outcome'], `the report has outcome ${report?.outcome}`)
  demand((report?.reason ?? '') === outputs['reason'], `the report has reason ${report?.reason}`)
  demand(contentOf(outputs['summary-file']) !== undefined, 'summary-file does not exist')

  const shown = [
    run.log.replaceAll(/^::add-mask::.*$/gm, ''),
    run.summary,
    contentOf(outputs['report']) ?? '',
    JSON.stringify(outputs),
  ]
  demand(!secrets.some((secret) => shown.some((text) => text.includes(secret))), 'a credential is shown')
  return breaches
}

function contentOf(path: string | undefined): string | undefined {
  return path && existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

function parsed(json: string | undefined): unknown {
  try {
    return JSON.parse(json ?? '')
  } catch {
    return undefined
  }
}
