#!/usr/bin/env node
import { startOnCurrentNode } from './node-version.ts'

await startOnCurrentNode(async () => (await import('./entrypoints.ts')).runCli())
