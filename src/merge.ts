// Launcher of the action that merges reports (`main` in merge/action.yml).
import { startOnCurrentNode } from './node-version.ts'

await startOnCurrentNode(async () => (await import('./entrypoints.ts')).runMerge(), true)
