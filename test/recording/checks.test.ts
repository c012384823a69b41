import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FeedEvent } from '../../src/cluster/feed.ts'
import { readInputs } from '../../src/inputs.ts'
import { formatEvent, startRecording } from '../../src/recording/writer.ts'
import { answers, createServer } from '../kit/checks.ts'
import { added, allSynced, at, createRecording, createSettings, createTarget, type RawInputs } from '../kit/gate.ts'
import { moment } from '../kit/objects.ts'
import { runCommand } from '../support/command.ts'
import { recordedEvents } from '../support/recordings.ts'

const folder = mkdtempSync(join(tmpdir(), 'checks-'))
afterAll(() => rmSync(folder, { recursive: true }))

const server = createServer(2)
const whenReady = at(1, added(server.deployment(), server.replicaSet, ...server.pods()), allSynced)

async function replay(inputs: RawInputs, ...steps: readonly FeedEvent[][]) {
  const path = join(folder, 'recording.ndjson')
  writeFileSync(path, createRecording(inputs, steps))
  const { stdout, stderr } = await runCommand(['replay', path, '--json'])
  return { report: JSON.parse(stdout || '{}'), stdout, stderr }
}

const wrong = answers([2, 17, 32], { status: 500, body: 'boom' })

it.each<[string, RawInputs]>([
  ['a list', { 'http-checks': ['deployment/web GET /healthz --each-pod'] }],
  ['a text with lines', { 'http-checks': '# smoke\ndeployment/web GET /healthz --each-pod\n' }],
])('the input http-checks in the header of a recording may be %s', async (_, inputs) => {
  const { report } = await replay(inputs, whenReady, wrong)
  expect(report).toMatchObject({ outcome: 'failed', reason: 'wrong-answer', durationSeconds: 32 })
  expect(report.httpChecks).toMatchObject([{ asked: 3, errors: 3 }])
})

it('the replay of a passed gate has the times of the milestones answers and held', async () => {
  const inputs = { 'http-checks': ['deployment/web GET /healthz'], hold: '30s' }
  const { report } = await replay(inputs, whenReady, answers([3, 13, 23, 33]))
  expect(report).toMatchObject({ outcome: 'ready', durationSeconds: 33 })
  expect(report.targets[0].milestones.slice(-2)).toMatchObject([
    { name: 'answers', state: 'done', seconds: 3 },
    { name: 'held', state: 'done', seconds: 33 },
  ])
})

it('two replays of one recording with http-checks give the same bytes', async () => {
  const inputs = {
    'http-checks': 'deployment/web GET /healthz\ndeployment/web GET /',
    hold: '30s',
  }
  const first = await replay(inputs, whenReady, wrong)
  expect((await replay(inputs, whenReady, wrong)).stdout).toBe(first.stdout)
})

it('mistakes in the inputs of a recording are reported at once', async () => {
  const { report } = await replay({ 'http-checks': 'deployment/web get /\ndeployment/web GET healthz' }, whenReady)
  expect(report).toMatchObject({ outcome: 'misconfigured', reason: 'input-invalid' })
  expect(report.message.split('\n')).toHaveLength(2)
})

it('recorded answers are written and read as the same events', async () => {
  const events: FeedEvent[] = [
    ...answers([2], { seconds: 0.01, body: 'ok', matches: true, namespace: 'shop' }),
    ...answers([3], { status: undefined, error: 'EOF' }),
  ]
  const path = join(folder, 'events.ndjson')
  writeFileSync(path, [createRecording({}, []), ...events.map(formatEvent)].join('\n'))
  expect(await recordedEvents(path)).toEqual(JSON.parse(JSON.stringify(events)))
})

it('the header of a recording contains no value of a request header', async () => {
  const { inputs } = readInputs({
    'http-checks': "deployment/web GET / --header='Authorization: Bearer s3cret'",
    hold: '5m',
  })
  const path = join(folder, 'header.ndjson')
  const plan = { targets: [createTarget()], notices: [] }
  const writer = await startRecording(path, { ...plan, settings: createSettings() }, inputs, (text) => text)
  await writer.end(moment(1))
  const { stdout } = await runCommand(['replay', path, '--json'])
  const [header = ''] = readFileSync(path, 'utf8').split('\n')
  expect(header).not.toContain('s3cret')
  expect(JSON.parse(header).inputs).toEqual({
    'http-checks': ["deployment/web GET / '--header=Authorization: ***'"],
    hold: '5m',
  })
  expect(stdout).not.toContain('s3cret')
})
