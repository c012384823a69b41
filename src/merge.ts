import { startOnCurrentNode } from './node-version.ts'

await startOnCurrentNode(async () => (await import('./entrypoints.ts')).runMerge(), true)
