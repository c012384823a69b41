import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { showRollout } from './show-rollout.ts'

/**
 * Runs the built action on this machine against two rollouts that were recorded on a real cluster, at their original speed.
 *
 *     npm run demo
 */

const rollouts = [
  { name: 'update', title: 'A healthy update of two pods' },
  {
    name: 'image-not-found',
    title: 'An update to an image that does not exist (two pull attempts, 13 s apart)',
  },
]

const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-demo-'))
const summaryFile = join(folder, 'summary.md')
writeFileSync(summaryFile, '')
// No colours in files and pipes.
const env = process.stdout.isTTY ? {} : { NO_COLOR: '1' }

console.log(
  'Rollout Gate as GitHub runs it (dist/index.js) gates two rollouts that were recorded on a real Kubernetes.',
)
console.log('An API server in this process replays them; there are no other connections.')
for (const [index, { name, title }] of rollouts.entries()) {
  console.log(`\n${index + 1}. ${title}\n`)
  const print = (line: string) => console.log(`   ${line}`)
  const { exitCode } = await showRollout({ name, entry: 'dist/index.js', folder, summaryFile, speed: 1, print, env })
  console.log(`\n   exit code ${exitCode}: the job ${exitCode === 0 ? 'continues' : 'fails'}`)
}
console.log(`\nThe job summary of both: ${summaryFile}`)
console.log('Open it in a Markdown preview. For the second rollout it shows the cause, a diagram, and what to do.')
