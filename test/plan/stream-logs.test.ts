import type { WatchRequest } from '../../src/cluster/feed.ts'
import { UserError } from '../../src/errors.ts'
import { hasPods } from '../../src/lifecycle/rules.ts'
import { parseReferences } from '../../src/plan/parse-references.ts'
import { parseStreamLogs, resolveStreamLogs, selectStreamedTargets } from '../../src/plan/stream-logs.ts'
import type { Target } from '../../src/plan/target.ts'
import { resources } from './discovery.ts'

function target(kind: string, name: string, more: Partial<Target> = {}): Target {
  const apiVersion = { Job: 'batch/v1', Pod: 'v1', Service: 'v1', Certificate: 'cert-manager.io/v1' }[kind] ?? 'apps/v1'
  return { apiVersion, kind, namespace: 'shop', name, clocks: {}, ...more }
}

const targets = [
  target('Job', 'migrate'),
  target('Deployment', 'web'),
  target('Deployment', 'api', { namespace: 'other' }),
  target('Pod', 'task', { waitFor: { type: 'jsonpath', path: '{.status.phase}', value: 'Succeeded' } }),
]

interface Around {
  readonly among?: readonly Target[]
  /** The names that a label selector matches, by namespace. */
  readonly labelled?: Readonly<Record<string, readonly string[]>>
  readonly healthChecks?: readonly { group: string; kind: string }[]
}

/** The names of the targets that are chosen, or the mistakes. */
async function choose(text: string, { among = targets, labelled = {} }: Around = {}) {
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

test('a name selects the target of that name, in any namespace', async () => {
  expect(await choose('job/migrate deploy/api')).toEqual(['migrate', 'api'])
  expect(await choose('deploy/api -n other')).toEqual(['api'])
})

test('a line that kubectl printed is a reference too', async () => {
  expect(await choose('job.batch/migrate created')).toEqual(['migrate'])
})

test('a selector selects the targets that it matches now', async () => {
  const labelled = { shop: ['web', 'not-gated'], other: ['api'] }
  expect(await choose('deploy -l app=shop', { labelled })).toEqual(['web', 'api'])
  expect(await choose('deploy -l app=shop -n shop', { labelled })).toEqual(['web'])
  expect(await choose('deploy,job --all')).toEqual(['web', 'api', 'migrate'])
})

test('excluded targets are not shown', async () => {
  expect(await choose('deploy,job --all\n!deploy/api')).toEqual(['web', 'migrate'])
})

test('a reference that is not gated is a mistake, with its line and a suggestion', async () => {
  expect(await choose('job/migrat\ndeploy/api -n shop\ndeploy -l app=shop')).toEqual([
    'stream-logs 1: job/migrat is not among the gated resources. Did you mean job/migrate?',
    'stream-logs 2: deployment/api in shop is not among the gated resources. Name it in resources, too.',
    'stream-logs 3: deployment -l app=shop is not among the gated resources. Name it in resources, too.',
  ])
})

test('a selector of several kinds is a mistake only when none of its kinds is among the gated resources', async () => {
  expect(await choose('deploy,sts -l app=shop', { labelled: { shop: ['web'] } })).toEqual(['web'])
  expect(await choose('sts,job --all')).toEqual(['migrate'])
  expect(await choose('sts,job -l app=shop')).toEqual([
    'stream-logs 1: statefulset,job -l app=shop is not among the gated resources. Name it in resources, too.',
  ])
})

test('a selector of a not-found target is no mistake here: the gate reports it', async () => {
  const among = [target('Deployment', '', { selector: 'app=shop' })]
  expect(await choose('deploy -l app=shop', { among })).toEqual([''])
})

test('a kind that is unknown, or has no pods, is a mistake', async () => {
  expect(await choose('jbo/migrate')).toEqual([expect.stringMatching(/^stream-logs 1: The server has no kind "jbo"/)])
  expect(await choose('svc/web', { among: [target('Service', 'web')] })).toEqual([
    'stream-logs 1: The gate watches no pods of a Service. Name what runs them: job/NAME, deployment/NAME.',
  ])
})

test('a target that is judged without its pods is a mistake, and a Pod is never', async () => {
  const waitFor = { type: 'condition', condition: 'Complete', status: 'True' } as const
  expect(await choose('job/migrate', { among: [target('Job', 'migrate', { waitFor })] })).toEqual([
    expect.stringMatching(/^stream-logs 1: job\/migrate has --for, .* Leave --for out/),
  ])
  expect(await choose('pod/task')).toEqual(['task'])
})

test('no target is selected without a reference', async () => {
  expect(parseStreamLogs('')).toEqual({ references: [], mistakes: [] })
  expect(await selectStreamedTargets(resolveStreamLogs([], resources, hasPods), targets, async () => [])).toEqual(
    new Set(),
  )
})

test('mistakes have the numbers of their lines, and --for and clocks are mistakes', () => {
  expect(parseStreamLogs('\njob/migrate --timeout=5m\nmigrate').mistakes).toEqual([
    { input: 'stream-logs', line: 2, message: expect.stringContaining('no --for and no clocks') },
    { input: 'stream-logs', line: 3, message: expect.stringContaining('"migrate" has no name') },
  ])
})
