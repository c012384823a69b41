// Launcher of the action (`main` in action.yml).
import { startOnCurrentNode } from './node-version.ts'

await startOnCurrentNode(async () => (await import('./entrypoints.ts')).runAction(), true)
