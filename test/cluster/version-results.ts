import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The latest run of scenarios on each version of Kubernetes; docs/guarantees.md shows them. */
const resultsFile = join(import.meta.dirname, 'version-results.json')

/** One run of scenarios on one version. */
export interface VersionResult {
  readonly passed: number
  /** The names of the scenarios that passed only when they ran again, without the others beside them. */
  readonly passedAgain?: readonly string[]
  /** The names of the scenarios that failed both times. */
  readonly failed: readonly string[]
  readonly minutes: number
  /** The day of the run, as `2026-01-31`. */
  readonly day: string
}

/** The results by version, such as `v1.34.4`. */
export function readVersionResults(): Readonly<Record<string, VersionResult>> {
  return existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, 'utf8')) : {}
}

export function writeVersionResult(version: string, result: VersionResult): void {
  const results = Object.entries({ ...readVersionResults(), [version]: result }).sort(([one], [other]) =>
    one.localeCompare(other),
  )
  writeFileSync(resultsFile, `${JSON.stringify(Object.fromEntries(results), null, 2)}\n`)
}
