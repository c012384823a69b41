import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { reportSchema } from '../../src/gate/report-schema.ts'
import { rolledOut } from '../cli/objects.ts'
import { runCommand } from '../support/command.ts'
import { parameters } from '../support/thorough.ts'

const folder = mkdtempSync(join(tmpdir(), 'hostile-files-'))
afterAll(() => rmSync(folder, { recursive: true }))

const startedAt = '2026-11-21T12:41:25.524Z'
const at = '2026-11-21T12:41:26.524Z'
const podList = { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' }
const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop' }
const clocks = { timeoutMs: 60_000, stallTimeoutMs: 20_000, milestoneTimeoutsMs: { ready: 30_000 } }
const source = { file: 'k8s/web.yaml', line: 3 }
/** A recording with every field that a line other than an object may have. */
const lines: readonly object[] = [
  {
    recording: 'rollout-gate/v1',
    startedAt,
    server: 'v1.34.4',
    context: 'prod',
    serverOffsetMs: -83,
    inputs: { resources: ['deployment/web'], namespace: 'shop', timeout: '5m', 'max-restarts': '2' },
    targets: [
      { ...deployment, name: 'web', clocks, source, manifest: rolledOut() },
      {
        ...deployment,
        name: '',
        selector: 'app=api',
        clocks: {},
        waitFor: { type: 'condition', condition: 'Ready', status: 'True' },
      },
      {
        ...deployment,
        name: 'job',
        clocks: {},
        waitFor: { type: 'jsonpath', path: '{.status.phase}', value: 'Running' },
      },
    ],
  },
  {
    at,
    type: 'DISCOVERY',
    resources: [
      {
        group: 'apps',
        version: 'v1',
        kind: 'Deployment',
        plural: 'deployments',
        singular: 'deployment',
        shortNames: ['deploy'],
        categories: ['all'],
        namespaced: true,
        status: true,
        verbs: ['list'],
      },
    ],
  },
  { at, type: 'ADDED', object: rolledOut() },
  { at, type: 'SYNCED', ...deployment, name: 'web', labelSelector: 'app=web' },
  { at, type: 'SYNCED', ...deployment },
  { at, type: 'SYNCED', ...podList },
  { at, type: 'ERROR', code: 503, ...podList, message: 'overloaded', lastSuccessAt: at, final: false },
  { at, type: 'ALIVE', ...podList },
  { at, type: 'LOG', namespace: 'shop', pod: 'web-1', container: 'app', previous: false, text: 'panic', why: 'gone' },
  { at, type: 'END' },
]

type Path = readonly string[]

/** The paths of all fields and list elements of a JSON value, and of the value itself. */
function pathsOf(value: unknown, at: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [at]
  return [at, ...Object.entries(value).flatMap(([name, child]) => pathsOf(child, [...at, name]))]
}

const removed = Symbol()

/** A copy of a JSON value with another value at a path, or without what is there. */
function withValue(whole: unknown, [name, ...rest]: Path, value: unknown): unknown {
  if (name === undefined) return value
  const copy = (Array.isArray(whole) ? [...whole] : { ...(whole as object) }) as Record<string, unknown>
  copy[name] = withValue(copy[name], rest, value)
  if (copy[name] === removed) delete copy[name]
  return copy
}

const values: readonly unknown[] = [
  removed,
  null,
  '',
  'x',
  '__proto__',
  -1,
  7.5,
  1e300,
  true,
  {},
  { a: null },
  { __proto__: null, toString: 'x' },
  [],
  [null],
  [{}],
  [[]],
  ['x'],
  '+275760-09-13T00:00:00Z',
  '-271821-04-20T00:00:00Z',
  '2026-02-30T00:00:00Z',
  'y'.repeat(70_000),
]

/** Every line with another value at every path. */
const mutants: readonly string[] = lines.flatMap((line, index) =>
  pathsOf(line).flatMap((path) =>
    values.flatMap((value) => {
      const changed = withValue(line, path, value)
      return lines
        .map((each) => JSON.stringify(each))
        .with(index, changed === removed ? '' : JSON.stringify(changed))
        .join('\n')
    }),
  ),
)

const good = join(folder, 'good.ndjson')
writeFileSync(
  good,
  [
    { ...lines[0], inputs: { resources: ['deployment/web'] }, targets: undefined },
    ...lines.slice(1, 3),
    { at, type: 'SYNCED', ...deployment },
    { at, type: 'SYNCED', ...podList },
    { at, type: 'SYNCED', apiVersion: 'apps/v1', kind: 'ReplicaSet', namespace: 'shop' },
  ]
    .map((line) => JSON.stringify(line))
    .join('\n'),
)

/** Replays a file, and a good one after it. */
async function replayBeforeGood(content: string | Buffer, name: string): Promise<void> {
  const file = join(folder, name)
  writeFileSync(file, content)
  const { code, stdout, stderr } = await runCommand(['replay', file, good, '--json'])
  const reports = stdout.trimEnd().split('\n')
  expect(stderr).not.toContain('itself failed')
  expect(reports.map((report) => reportSchema.parse(JSON.parse(report)).outcome)).toEqual([expect.any(String), 'ready'])
  expect([0, 1, 2]).toContain(code)
}

/** Hundreds of replays take a minute. */
const thoroughMs = 200_000

test(
  'a line with a field of any type does not crash the replay or stop the next file',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...mutants), (mutant) => replayBeforeGood(mutant, 'mutant.ndjson')),
      parameters,
    )
  },
  thoroughMs,
)

test(
  'a file that is cut or has other bytes does not crash the replay or stop the next file',
  async () => {
    const whole = Buffer.from(lines.map((line) => JSON.stringify(line)).join('\n'))
    const damage = fc.record({
      isZipped: fc.boolean(),
      at: fc.nat(whole.length),
      length: fc.nat(40),
      bytes: fc.uint8Array({ maxLength: 40 }),
      isCut: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(damage, async ({ isZipped, at, length, bytes, isCut }) => {
        const file = isZipped ? gzipSync(whole) : whole
        const rest = isCut ? [] : [file.subarray(at + length)]
        const content = Buffer.concat([file.subarray(0, at), bytes, ...rest])
        await replayBeforeGood(content, isZipped ? 'mutant.ndjson.gz' : 'mutant.ndjson')
      }),
      parameters,
    )
  },
  thoroughMs,
)

const header = JSON.stringify(lines[0])

test.each([
  ['too many empty lines', '', '\n', 1_100_000, 'has more than 1,000,000 lines'],
  ['too many empty lines after the header', header, '\n', 1_100_000, 'has more than 1,000,000 lines'],
  ['a line that is too long', header, 'x', 17 << 20, 'the line is longer than 16 MiB'],
])('a file with %s is cut short, and the next one is replayed', async (_, start, filling, length, why) => {
  const file = join(folder, 'bomb.ndjson.gz')
  writeFileSync(file, gzipSync(Buffer.concat([Buffer.from(`${start}\n`), Buffer.alloc(length, filling)])))
  const { stdout, stderr } = await runCommand(['replay', file, good])
  expect(stderr).toContain(why)
  expect(stdout).toContain('✓ Rollout ready')
})

test('unreadable recordings are reported, and the others are replayed', async () => {
  const directory = mkdtempSync(join(folder, 'directory-'))
  const { code, stdout, stderr } = await runCommand([
    'replay',
    directory,
    good,
    join(folder, 'missing'),
    good,
    '--json',
  ])
  expect(code).toBe(2)
  expect(stderr.trimEnd().split('\n')).toHaveLength(2)
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).outcome),
  ).toEqual(['misconfigured', 'ready', 'misconfigured', 'ready'])
})
