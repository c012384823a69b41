import { startOnCurrentNode } from './node-version.js';
await startOnCurrentNode(async () => (await import('./entrypoints.js')).runMerge(), true);
