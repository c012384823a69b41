import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** An empty folder of each test that imports it. */
export let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollout-gate-test-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))
