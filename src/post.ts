import { startOnCurrentNode } from './node-version.ts'

// Most jobs leave nothing open, and need no other file. The action has reported an old Node.
if (process.env['STATE_open']) {
  await startOnCurrentNode(async () => (await import('./entrypoints.ts')).runPost())
}
