import { startOnCurrentNode } from './node-version.js';
if (process.env['STATE_open']) {
    await startOnCurrentNode(async () => (await import('./entrypoints.js')).runPost());
}
