// Launcher of the post step (`post` in action.yml), which closes objects on GitHub that the action left open.
import { startOnCurrentNode } from './node-version.ts'

// Most jobs leave nothing open, and load no other file.
if (process.env['STATE_open']) {
  await startOnCurrentNode(async () => (await import('./entrypoints.ts')).runPost())
}
