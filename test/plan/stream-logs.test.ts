import type { WatchRequest } from '../../src/cluster/feed.ts'
import { UserError } from '../../src/errors.ts'
import { hasPods } from '../../src/lifecycle/rules.ts'
import { parseReferences } from '../../src/plan/parse-references.ts'
import { parseStreamLogs, resolveStreamLogs, selectStreamedTargets } from '../../src/plan/stream-logs.ts'
import type { Target } from '../../src/plan/target.ts'
import { createPodTarget, createTarget } from '../kit/gate.ts'
import { rows } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'
import { resources } from './discovery.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const job = createTarget({ apiVersion: 'batch/v1', kind: 'Job', name: 'migrate' })
const task = createPodTarget({
  name: 'task',
  waitFor: { type: 'jsonpath', path: '{.status.phase}', value: 'Succeeded' },
})
const targets = [job, createTarget(), createTarget({ name: 'api', namespace: 'other' }), task]

/** The names that the label selector app=shop matches, by namespace. */
type Labelled = Readonly<Record<string, readonly string[]>>

/** The names of the targets that are chosen, or the mistakes. */
async function choose(text: string, labelled: Labelled = {}, among: readonly Target[] = targets) {
  try {
    const { references } = parseReferences(text, 'stream-logs')
    const list = async ({ namespace = '', labelSelector }: WatchRequest) =>
      labelSelector === 'app=shop' ? (labelled[namespace] ?? []) : []
    const chosen = await selectStreamedTargets(resolveStreamLogs(references, resources, hasPods), among, list)
    return [...chosen].map((index) => among[index]?.name)
  } catch (error) {
    if (error instanceof UserError)
      return error.mistakes.map(({ input, line, message }) => `${input} ${line}: ${message}`)
    throw error
  }
}

test.each(rows<[string, string, Labelled, readonly string[]]>(data, 'what is shown'))(
  '%s',
  async (_, text, labelled, expected) => {
    expect(await choose(text, labelled)).toEqual(expected.map((words) => expect.stringMatching(toPattern(words))))
  },
)

test('a selector of a target that is not found is accepted in stream-logs', async () => {
  const among = [createTarget({ name: '', selector: 'app=shop' })]
  expect(await choose('deploy -l app=shop', {}, among)).toEqual([''])
})

test('a target without pods is rejected in stream-logs', async () => {
  const among = [createTarget({ apiVersion: 'v1', kind: 'Service' })]
  expect(await choose('svc/web', {}, among)).toEqual([
    'stream-logs 1: The gate watches no pods of a Service. Name what runs them: job/NAME, deployment/NAME.',
  ])
})

test('a target with --for is rejected in stream-logs', async () => {
  const waitFor = { type: 'condition', condition: 'Complete', status: 'True' } as const
  expect(await choose('job/migrate', {}, [{ ...job, waitFor }])).toEqual([
    expect.stringMatching(/^stream-logs 1: job\/migrate has --for, .* Leave --for out/),
  ])
})

test('an empty stream-logs selects no target', async () => {
  expect(parseStreamLogs('')).toEqual({ references: [], mistakes: [] })
  expect(await selectStreamedTargets(resolveStreamLogs([], resources, hasPods), targets, async () => [])).toEqual(
    new Set(),
  )
})

test('mistakes in stream-logs have line numbers, and clocks and --for are rejected', () => {
  expect(parseStreamLogs('\njob/migrate --timeout=5m\nmigrate').mistakes).toEqual([
    { input: 'stream-logs', line: 3, message: expect.stringContaining('"migrate" has no name') },
    { input: 'stream-logs', line: 2, message: expect.stringContaining('no --for and no clocks') },
  ])
})
