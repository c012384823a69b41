import { resolve } from 'node:path'
import { type StartedAction, startAction as start } from '../support/runner.ts'

export type { ActionRun } from '../support/runner.ts'

const root = resolve(import.meta.dirname, '../..')

/** What the runner starts: the built action, unless `ROLLOUT_GATE_TEST_ENTRY` names another file, say `src/index.ts`. */
export const entry = resolve(root, process.env['ROLLOUT_GATE_TEST_ENTRY'] ?? 'dist/index.js')

/** Starts that file as GitHub's runner does, in a folder of its own where its log and files stay. */
export function startAction(folder: string, inputs: Record<string, string>): StartedAction {
  return start(entry, folder, inputs)
}
