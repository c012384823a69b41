import { startOnCurrentNode } from './node-version.ts'

await startOnCurrentNode(async () => (await import('./shells.ts')).runAction())
