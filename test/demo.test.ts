import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { showRollout } from '../scripts/show-rollout.ts'
import { folder } from './support/fresh-folder.ts'
import { programPath } from './support/program.ts'

test('the demo shows a ready rollout, a rollout with a missing image and no runner command', async () => {
  const lines: string[] = []
  const show = (name: string) =>
    showRollout({
      name,
      entry: programPath('index.js'),
      folder,
      summaryFile: join(folder, 'summary.md'),
      speed: 10,
      print: (line) => lines.push(line),
      env: { NO_COLOR: '1' },
    })
  expect((await show('update')).exitCode).toBe(0)
  expect((await show('image-not-found')).exitCode).toBe(1)
  const log = lines.join('\n')
  expect(log).toMatch(/deployment\/web {2}✓ ready in/)
  expect(log).toMatch(/deployment\/web {2}✗ failed after .*image-not-found/)
  expect(log).toContain('▾ ✗ deployment/web: evidence')
  expect(log).not.toMatch(/^::/m)
  const summary = readFileSync(join(folder, 'summary.md'), 'utf8')
  expect(summary).toContain('Rollout ready')
  expect(summary).toContain('Rollout failed')
}, 30_000)
