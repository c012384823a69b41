#!/usr/bin/env node
// Launcher of the command line (`bin` in package.json).
import { startOnCurrentNode } from './node-version.ts'

await startOnCurrentNode(async () => (await import('./entrypoints.ts')).runCli())
