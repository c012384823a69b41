import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { ActionRun } from './runner.ts'

/** What a run of the action left behind, by its place. Its recording is `recording.ndjson.gz` in the folder of the run. */
export function shownBy({ log, summary, outputs }: ActionRun, folder: string): Record<string, string> {
  const record = join(folder, 'recording.ndjson.gz')
  return {
    log,
    summary,
    report: readFileSync(outputs['report'] ?? '', 'utf8'),
    'summary file': readFileSync(outputs['summary-file'] ?? '', 'utf8'),
    outputs: JSON.stringify(outputs),
    ...(existsSync(record) && { recording: gunzipSync(readFileSync(record)).toString() }),
  }
}

/** Which of the texts are in which places. */
export function leaksIn(shown: Readonly<Record<string, string>>, texts: readonly string[]): string[] {
  return Object.entries(shown).flatMap(([where, whole]) =>
    texts.filter((text) => whole.includes(text)).map((text) => `${text} in the ${where}`),
  )
}
