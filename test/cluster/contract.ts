import { existsSync, readFileSync } from 'node:fs'
import { outputDefinitions } from '../../src/outputs.ts'
import type { ActionRun } from '../support/runner.ts'

/**
 * Checks the rules for every run: exit code, outputs, report and summary are consistent, and no secret is printed.
 * @param secrets allowed only in `::add-mask::` commands
 * @returns a sentence for each violation
 */
export function contractViolations(run: ActionRun, secrets: readonly string[]): string[] {
  const { outputs, exitCode } = run
  const violations: string[] = []
  const check = (holds: boolean, violation: string) => {
    if (!holds) violations.push(violation)
  }
  const missing = Object.keys(outputDefinitions).filter((name) => !(name in outputs))
  check(missing.length === 0, `outputs missing: ${missing.join(', ')}`)
  const isReady = outputs['outcome'] === 'ready'
  check(exitCode === (isReady ? 0 : 1), `exit code ${exitCode} with outcome ${outputs['outcome']}`)
  check((outputs['reason'] === '') === isReady, `reason "${outputs['reason']}" with outcome ${outputs['outcome']}`)
  check(!outputs['message']?.includes('\n'), 'message has more than one line')
  check(Number.isFinite(Number.parseFloat(outputs['duration-seconds'] ?? '')), 'duration-seconds is not a number')
  check(run.summary.trim() !== '', 'the job summary is empty')

  const failed = parsed(outputs['failed-resources'])
  check(Array.isArray(failed), 'failed-resources is not a JSON array')
  const report = parsed(contentOf(outputs['report'])) as
    | { schema?: number; outcome?: string; reason?: string }
    | undefined
  check(report?.schema === 1, 'the report is missing or does not have schema 1')
  check(report?.outcome === outputs['outcome'], `the report has outcome ${report?.outcome}`)
  check((report?.reason ?? '') === outputs['reason'], `the report has reason ${report?.reason}`)
  check(contentOf(outputs['summary-file']) !== undefined, 'summary-file does not exist')

  const shown = [
    run.log.replaceAll(/^::add-mask::.*$/gm, ''),
    run.summary,
    contentOf(outputs['report']) ?? '',
    JSON.stringify(outputs),
  ]
  check(!secrets.some((secret) => shown.some((text) => text.includes(secret))), 'a credential is printed')
  return violations
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
