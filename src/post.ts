// Launcher of the step at the end of the job (`post` in action.yml), which closes what the action left open on GitHub.
import { startOnCurrentNode } from './node-version.ts'

// Most jobs leave nothing open, so no other file is loaded. If Node is too old, the action has already reported it.
if (process.env['STATE_open']) {
  await startOnCurrentNode(async () => (await import('./entrypoints.ts')).runPost())
}
