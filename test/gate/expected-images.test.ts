import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { added, allSynced, at, createRecording, createWorkload } from '../kit/gate.ts'
import { complete, make, podIs } from '../kit/objects.ts'
import { replayRecording } from '../support/recordings.ts'

const digest = (letter: string) => `sha256:${letter.repeat(64)}`
const web = createWorkload('web')

it.each([
  ['as ready if its pods run the expected digest', digest('b'), 'ready'],
  ['as stalled if its pods run another digest', digest('c'), 'stalled'],
])('a rollout with expected images that awaits its change is replayed %s', async (_, running, outcome) => {
  const folder = mkdtempSync(join(tmpdir(), 'images-'))
  const path = join(folder, 'gate.ndjson')
  const inputs = { 'expect-images': `app=${digest('b')}`, 'await-change': '1m' }
  const pod = make.pod({ status: podIs.ready(-60, { imageID: `docker.io/acme/web@${running}` }) })
  const steps = [at(0, added(web.deployment(complete()), web.replicaSet, pod), allSynced)]
  writeFileSync(path, createRecording(inputs, steps, { targets: [web.target] }))
  expect((await replayRecording(path)).runRecord.outcome).toBe(outcome)
  rmSync(folder, { recursive: true })
})
