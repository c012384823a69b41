import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { showRollout } from './show-rollout.ts'

/**
 * Shows the action as it is shipped, on this machine alone: it gates two rollouts that were recorded on a real cluster
 * and are played back in their own time.
 *
 *     npm run demo
 */

const rollouts = [
  { name: 'update', title: 'A healthy update of two pods' },
  {
    name: 'image-not-found',
    title: 'An update to an image that nobody pushed (the registry is asked twice, 13 s apart)',
  },
]

const folder = mkdtempSync(join(tmpdir(), 'rollout-gate-demo-'))
const summaryFile = join(folder, 'summary.md')
writeFileSync(summaryFile, '')
// Who reads a file or a pipe wants no colours.
const env = process.stdout.isTTY ? {} : { NO_COLOR: '1' }

console.log(
  'Rollout Gate as GitHub runs it (dist/index.js) gates two rollouts that were recorded on a real Kubernetes.',
)
console.log('An API server in this process plays them back; nothing else is contacted.')
for (const [index, { name, title }] of rollouts.entries()) {
  console.log(`\n${index + 1}. ${title}\n`)
  const print = (line: string) => console.log(`   ${line}`)
  const { exitCode } = await showRollout({ name, entry: 'dist/index.js', folder, summaryFile, speed: 1, print, env })
  console.log(`\n   exit code ${exitCode}: the job ${exitCode === 0 ? 'goes on' : 'fails'}`)
}
console.log(`\nThe job summary of both: ${summaryFile}`)
console.log(
  'Look there at the second timeline (any Markdown preview draws it): when each pull was refused, and what to do.',
)
