import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { exampleFiles } from '../../scripts/in-examples.ts'
import { appImage } from '../cluster/images.ts'
import { createPullRequest, headSha } from '../github/action-contexts.ts'
import type { WorkflowEvent, WorkflowRun } from './act.ts'
import type { Check, WorkflowFixture } from './workflow-fixture.ts'

/** A run of an example. */
interface ExampleRun {
  /** Texts to replace in all files: another image, a shorter clock. */
  readonly replace?: Readonly<Record<string, string>>
  /** Further files by path. */
  readonly files?: Readonly<Record<string, string>>
  readonly event?: WorkflowEvent
}

const missingImage = { 'ghcr.io/acme/web:v1': `${appImage}:v9` }

/** Runs a workflow of `examples/` in a checkout that consists of the examples, with another namespace and image. */
async function runExample(
  fixture: WorkflowFixture,
  workflow: string,
  run: string,
  { replace = {}, files: more = {}, event }: ExampleRun = {},
): Promise<WorkflowRun & { readonly checkout: string }> {
  const adapt = (text: string) =>
    Object.entries(replace)
      .reduce((changed, [from, to]) => changed.replaceAll(from, to), text)
      .replaceAll('ghcr.io/acme/web', appImage)
      .replaceAll(/\bshop\b(?!\/)/g, fixture.namespace)
  const isNeeded = (path: string) =>
    !path.startsWith('.github/workflows/') ||
    [`${workflow}.yml`, 'reusable-workflow.yml'].some((name) => path.endsWith(`/${name}`))
  const files = [...exampleFiles(), ...Object.entries(more)]
    .filter(([path]) => isNeeded(path))
    .map(([path, text]) => [path, adapt(text)])
  const finished = await fixture.runJobs(run, { files: Object.fromEntries(files), ...(event && { event }) })
  return { ...finished, checkout: join(fixture.folder, run, 'checkout') }
}

/** The image of a Deployment in the cluster. */
async function imageOf(name: string, { api, namespace }: WorkflowFixture): Promise<string> {
  const object = await api.get(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}`)
  return object['spec'].template.spec.containers[0].image
}

/** A run of an example with one gate that becomes ready. */
async function checkReady(
  fixture: WorkflowFixture,
  check: Check,
  workflow: string,
  {
    job = 'deploy',
    step = 'gate',
    run = 'ready',
    ...options
  }: ExampleRun & { job?: string; step?: string; run?: string } = {},
): Promise<WorkflowRun> {
  const finished = await runExample(fixture, workflow, run, options)
  await check(`${workflow}: a healthy rollout passes the job, with its outputs and its summary`, () => {
    ok(finished.hasPassed, `the workflow failed:\n${finished.log}`)
    const { outputs, summary, annotations } = finished.job(job).step(step)
    equal(outputs['outcome'], 'ready')
    equal(outputs['failed-resources'], '[]')
    match(summary, /^### ✅ Rollout ready /)
    deepEqual(annotations, [])
  })
  return finished
}

type Scenario = (fixture: WorkflowFixture, check: Check) => Promise<void>

const apply: Scenario = async (fixture, check) => {
  await checkReady(fixture, check, 'apply')
}

const manifests: Scenario = async (fixture, check) => {
  const run = await runExample(fixture, 'manifests', 'missing-image', { replace: missingImage })
  await check('manifests: a missing image fails the job, with an annotation on its line', () => {
    const { outputs, summary, annotations } = run.job('deploy').step('gate')
    ok(!run.hasPassed)
    deepEqual([outputs['outcome'], outputs['reason']], ['failed', 'image-not-found'])
    match(summary, /^### ❌ Rollout failed /)
    const [annotation] = annotations
    equal(annotation?.file, 'k8s/web.yaml')
    const lines = readFileSync(join(run.checkout, 'k8s/web.yaml'), 'utf8').split('\n')
    match(lines[Number(annotation?.line) - 1] ?? '', /image: \S+:v9$/)
  })
}

const rendered: Scenario = async (fixture, check) => {
  await checkReady(fixture, check, 'kustomize', { run: 'kustomize' })
  await check('kustomize: the overlay is what runs', async () => equal(await imageOf('web', fixture), `${appImage}:v2`))
  await checkReady(fixture, check, 'helm', { run: 'helm' })
  await check('helm: the chart is what runs', async () => equal(await imageOf('web', fixture), `${appImage}:v1`))
}

const serverSideApply: Scenario = async (fixture, check) => {
  const run = await checkReady(fixture, check, 'server-side-apply')
  await check('server-side-apply: all that was applied is gated', () => {
    match(run.job('deploy').step('gate').log, /✓ Rollout ready in .* · 2 targets/)
  })
}

const migration: Scenario = async (fixture, check) => {
  const run = await checkReady(fixture, check, 'migration')
  await check('migration: the log of the Job is shown live, before its verdict', () => {
    match(
      run.job('deploy').step('migration').log,
      /│ applying 0042_add_orders[\s\S]*│ done[\s\S]*job\/migrate +✓ ready/,
    )
  })
}

/** The manifest of a workload that is like the example's, in a file of this folder. */
function likeWeb(folder: string, name: string, version: string): Record<string, string> {
  const web = (exampleFiles().get('k8s/web.yaml') ?? '').replace(/---[\s\S]*/, '')
  return {
    [`${folder}/${name}.yaml`]: web.replaceAll(/(name|app): web$/gm, `$1: ${name}`).replace('web:v1', `web:${version}`),
  }
}

/** Runs a rollback of an example in which two of three workloads fail. */
function undoesTwoOfThree(workflow: string, folder: string, job: string): Scenario {
  return async (fixture, check) => {
    const others = (version: string) => ({
      ...likeWeb(folder, 'worker', version),
      ...likeWeb(folder, 'mailer', version),
    })
    const names = ['web', 'worker', 'mailer']
    const images = () => Promise.all(names.map(async (name) => (await imageOf(name, fixture)).split(':').at(-1)))
    const isOfHelm = folder.startsWith('charts/')

    const first = await runExample(fixture, workflow, 'first', { files: others('v9') })
    await check(`${workflow}: what the deploy created has no version to go back to`, async () => {
      ok(!first.hasPassed)
      equal(first.job('deploy').step('gate').outputs['rollback-command'], '')
      deepEqual(await images(), ['v1', 'v9', 'v9'])
    })
    await checkReady(fixture, check, workflow, { files: others('v1') })
    const failed = await runExample(fixture, workflow, 'two-fail', {
      replace: isOfHelm ? {} : { 'ghcr.io/acme/web:v1': `${appImage}:v2` },
      files: others('v9'),
    })
    await check(`${workflow}: of three workloads, only the two that failed are undone, and gated again`, async () => {
      ok(!failed.hasPassed)
      const { outputs } = failed.job('deploy').step('gate')
      equal(outputs['outcome'], 'failed')
      const undos = ['mailer', 'worker'].map(
        (name) => `kubectl --context prod rollout undo deployment/${name} -n ${fixture.namespace} --to-revision=2`,
      )
      equal(
        outputs['rollback-command'],
        isOfHelm ? `helm --kube-context prod rollback web 2 -n ${fixture.namespace}` : undos.join(' && '),
      )
      equal(failed.job(job).step('undo').result, 'success')
      deepEqual(await images(), [isOfHelm ? 'v1' : 'v2', 'v1', 'v1'])
      const undone = failed.job(job).step('undone')
      equal(undone.outputs['outcome'], 'ready')
      match(undone.summary, /revision 4 restores revision 2/)
    })
  }
}

const rollback = undoesTwoOfThree('rollback', 'k8s', 'deploy')
const rollbackApproval = undoesTwoOfThree('rollback-approval', 'k8s', 'undo')
const helmRollback = undoesTwoOfThree('helm-rollback', 'charts/web/templates', 'deploy')

const retry: Scenario = async (fixture, check) => {
  const results = (run: WorkflowRun) => ['first', 'gate', 'give-up'].map((id) => run.job('deploy').step(id).result)
  const ready = await checkReady(fixture, check, 'retry', { step: 'first' })
  await check('retry: a healthy rollout is gated once', () =>
    deepEqual(results(ready).slice(1), ['skipped', 'skipped']),
  )
  const lost = await runExample(fixture, 'retry', 'no-registry', {
    // Nothing listens on port 1.
    replace: { 'ghcr.io/acme/web:v1': '127.0.0.1:1/web:v1', '3m': '12s', '5m': '4s' },
  })
  await check('retry: after an unreachable registry there is a second gate', () => {
    equal(lost.job('deploy').step('first').outputs['reason'], 'image-registry-unreachable')
    equal(lost.job('deploy').step('gate').outputs['outcome'], 'stalled')
    ok(!lost.hasPassed)
  })
  const failed = await runExample(fixture, 'retry', 'missing-image', { replace: missingImage })
  await check('retry: any other failure fails the job without a second gate', () => {
    ok(!failed.hasPassed)
    equal(failed.job('deploy').step('first').outputs['outcome'], 'failed')
    deepEqual(results(failed).slice(1), ['skipped', 'failure'])
  })
}

const awaitChange: Scenario = async (fixture, check) => {
  await checkReady(fixture, check, 'apply', { run: 'before' })
  const options = { job: 'gate', replace: { 'acme/web:v1': 'acme/web:v2' } }
  const run = await checkReady(fixture, check, 'await-change', options)
  await check('await-change: the gate ends with the new version', async () => {
    equal(await imageOf('web', fixture), `${appImage}:v2`)
    match(run.job('gate').step('gate').log, /deployment\/web .*generation 2 observed/)
  })
}

const clusters = ['prod-eu', 'prod-us', 'prod-ap']

const threeClusters: Scenario = async (fixture, check) => {
  // All three are the one test cluster, where two applies at once would create the same objects.
  const inTurn = { 'fail-fast: false': 'fail-fast: false\n      max-parallel: 1' }
  for (const count of [1, 2, 3]) {
    const replace = { ...Object.fromEntries(clusters.slice(count).map((name) => [`, ${name}`, ''])), ...inTurn }
    const run = await checkReady(fixture, check, 'three-clusters', { job: 'report', run: `reports-${count}`, replace })
    await check(`three-clusters: with ${count} clusters, the summary has a row for each`, () => {
      const { summary, log } = run.job('report').step('gate')
      // Of one artifact, the download has no folder: its gate is called by its context.
      for (const name of count === 1 ? ['prod'] : clusters.slice(0, count))
        match(summary, new RegExp(`\\| ✅ \\| ${name} \\| ready \\| 2 of 2 \\|`))
      match(log, new RegExp(`✓ Rollout ready in .* · ${2 * count} targets of ${count} gates?$`, 'm'))
      equal(run.job('report').step('jobs').result, 'skipped')
    })
  }
  const staged = { 'fail-fast: false': 'fail-fast: true\n      max-parallel: 1', ...missingImage }
  const failed = await runExample(fixture, 'three-clusters', 'staged', { replace: staged })
  await check('three-clusters: the first failure of clusters in turn is the outcome', () => {
    const { outputs, summary } = failed.job('report').step('gate')
    ok(!failed.hasPassed)
    deepEqual([outputs['outcome'], outputs['reason']], ['failed', 'image-not-found'])
    match(summary, /^### ❌ Rollout failed after /)
  })
  const broken = {
    ...inTurn,
    '      - run: kubectl apply': `      - if: matrix.cluster == 'prod-ap'\n        run: exit 1\n      - run: kubectl apply`,
  }
  const lost = await runExample(fixture, 'three-clusters', 'one-lost', { replace: broken })
  await check('three-clusters: a cluster whose job did not come to its gate fails the last job', () => {
    ok(!lost.hasPassed)
    const report = lost.job('report')
    deepEqual([report.step('gate').outputs['outcome'], report.step('jobs').result], ['ready', 'failure'])
  })
}

const shared: Scenario = async (fixture, check) => {
  const called = await checkReady(fixture, check, 'call-reusable-workflow', {
    run: 'reusable',
    job: `${fixture.namespace}/Deploy and gate/deploy`,
  })
  await check('call-reusable-workflow: the outcome is an output of the called workflow', () => {
    match(called.job('notify').step('notify').log, /is ready/)
  })
  const composite = await checkReady(fixture, check, 'composite-action', { run: 'composite', step: 'deploy/gate' })
  await check('composite-action: the outcome is an output of the action', () => {
    equal(composite.job('deploy').step('deploy').outputs['outcome'], 'ready')
  })
}

const preview: Scenario = async (fixture, check) => {
  // The namespace is named after the pull request.
  const number = Number.parseInt(fixture.namespace.replace(/^act-/, ''), 16)
  const event = (action: string, head?: string): WorkflowEvent => ({
    name: 'pull_request',
    payload: {
      action,
      number,
      pull_request: { ...createPullRequest(head), number },
      repository: { full_name: 'acme/shop' },
    },
  })
  const path = `/api/v1/namespaces/preview-${number}`
  try {
    await checkReady(fixture, check, 'preview', { job: 'preview', event: event('opened') })
    await check('preview: the status of the head is pending from the first step, then success', () => {
      const statuses = fixture.written.statuses.map(({ sha, context, state }) => [sha, context, state])
      deepEqual(statuses[0], [headSha, 'Preview rollout', 'pending'])
      deepEqual(statuses.at(-1), [headSha, 'Preview rollout', 'success'])
    })
    const failed = await runExample(fixture, 'preview', 'missing-image', {
      event: event('synchronize'),
      replace: missingImage,
    })
    await check('preview: a failed rollout fails the job and the status, and the comment has the last outcome', () => {
      ok(!failed.hasPassed)
      deepEqual(fixture.written.statuses.at(-1)?.['state'], 'failure')
      equal(fixture.written.comments.length, 1)
      match(String(fixture.written.comments[0]?.['body']), /Rollout failed/)
    })
    const foreign = await runExample(fixture, 'preview', 'fork', { event: event('opened', 'jo/shop') })
    await check('preview: a pull request of a fork is not deployed, which GitHub counts as a success', () => {
      ok(foreign.hasPassed)
      throws(() => foreign.job('preview'), wasSkipped)
    })
    await check("preview: no request violates GitHub's description", () => deepEqual(fixture.github.breaches, []))
    const closed = await runExample(fixture, 'delete-preview', 'closed', { event: event('closed') })
    await check('delete-preview: the namespace is deleted with the pull request', async () => {
      ok(closed.hasPassed)
      ok((await fixture.api.get(path)).metadata['deletionTimestamp'])
    })
  } finally {
    await fixture.api.delete(path).catch(() => {})
  }
}

/** The error for a job that did not run: act logs nothing of a job that its `if:` skips. */
const wasSkipped = /^Error: no job .* was run/

/** The event of a merge group whose changes are those since a commit. */
function mergeGroup(base_sha: string): WorkflowEvent {
  const head_ref = `refs/heads/gh-readonly-queue/main/pr-12-${headSha}`
  return {
    name: 'merge_group',
    payload: { action: 'checks_requested', merge_group: { head_sha: headSha, head_ref, base_sha } },
  }
}

/** The event of a pull request, by default of the repository's own branch. */
function pullRequest(fields: object = {}, action = 'opened'): WorkflowEvent {
  const pull_request = { ...createPullRequest(), draft: false, user: { login: 'jo' }, ...fields }
  return { name: 'pull_request', payload: { action, number: 12, pull_request, repository: { full_name: 'acme/shop' } } }
}

/** The namespace of a run ends with that of the scenario: the number of a run is the same in all runs of act. */
function inNamespace(fixture: WorkflowFixture): Readonly<Record<string, string>> {
  return { [`\${{ github.run_id }}`]: fixture.namespace }
}

async function isDeleted(path: string, { api }: WorkflowFixture): Promise<boolean> {
  return api.get(path).then(
    ({ metadata }) => metadata['deletionTimestamp'] !== undefined,
    () => true,
  )
}

const mergeQueue: Scenario = async (fixture, check) => {
  const path = `/api/v1/namespaces/queue-${fixture.namespace}`
  const failing = `/api/v1/namespaces/queue-failing-${fixture.namespace}`
  const replace = inNamespace(fixture)
  try {
    const entered = await runExample(fixture, 'merge-queue', 'entered', { replace, event: pullRequest() })
    await check('merge-queue: a pull request enters the queue without a rollout', () => {
      ok(entered.hasPassed)
      throws(() => entered.job('Rollout'), wasSkipped)
    })
    await checkReady(fixture, check, 'merge-queue', { job: 'Rollout', replace, event: mergeGroup('HEAD') })
    await check('merge-queue: its namespace is deleted', async () => ok(await isDeleted(path, fixture)))
    const failed = await runExample(fixture, 'merge-queue', 'missing-image', {
      replace: { [`\${{ github.run_id }}`]: `failing-${fixture.namespace}`, ...missingImage },
      event: mergeGroup('HEAD'),
    })
    await check('merge-queue: a failed rollout fails the job, and its namespace is deleted', async () => {
      ok(!failed.hasPassed)
      equal(failed.job('Rollout').step('gate').outputs['outcome'], 'failed')
      ok(await isDeleted(failing, fixture))
    })
  } finally {
    for (const each of [path, failing]) await fixture.api.delete(each).catch(() => {})
  }
}

const required: Scenario = async (fixture, check) => {
  const path = `/api/v1/namespaces/required-${fixture.namespace}`
  const failing = `/api/v1/namespaces/required-failing-${fixture.namespace}`
  const replace = inNamespace(fixture)
  const unchanged = { 'HEAD^1': 'HEAD' }
  try {
    await checkReady(fixture, check, 'required', { replace, event: pullRequest() })
    const notApplicable: readonly [string, WorkflowEvent, Readonly<Record<string, string>>, string][] = [
      ['a fork', pullRequest(createPullRequest('jo/shop')), {}, 'the workflows of a fork get no secrets'],
      [
        'Dependabot',
        pullRequest({ user: { login: 'dependabot[bot]' } }),
        {},
        'the workflows of Dependabot get no secrets',
      ],
      ['documentation', pullRequest(), unchanged, 'no manifest differs'],
      ['documentation in the queue', mergeGroup('HEAD'), {}, 'no manifest differs'],
    ]
    for (const [run, event, texts, reason] of notApplicable) {
      const finished = await runExample(fixture, 'required', run.replaceAll(' ', '-'), { event, replace: texts })
      await check(`required: ${run} passes without a rollout, and the log contains the reason`, () => {
        ok(finished.hasPassed, finished.log)
        throws(() => finished.job('deploy'), wasSkipped)
        match(finished.job('Rollout').step('result').log, new RegExp(`Not applicable: ${reason}\\.`))
      })
    }
    const draft = await runExample(fixture, 'required', 'draft', { event: pullRequest({ draft: true }) })
    await check(
      'required: a draft is not deployed, and has no success that would remain once it is ready for review',
      () => {
        throws(() => draft.job('deploy'), wasSkipped)
        equal(draft.job('Rollout').step('result').result, 'failure')
      },
    )
    const failed = await runExample(fixture, 'required', 'missing-image', {
      replace: { [`\${{ github.run_id }}`]: `failing-${fixture.namespace}`, ...missingImage },
      // No commit has this name, so git cannot compare: the change is deployed.
      event: mergeGroup('0'.repeat(40)),
    })
    await check('required: a failed rollout in the queue fails the required job', () => {
      ok(!failed.hasPassed)
      equal(failed.job('deploy').step('gate').outputs['outcome'], 'failed')
      equal(failed.job('Rollout').step('result').result, 'failure')
    })
    const lost = await runExample(fixture, 'required', 'undecided', {
      replace: { 'reason=\n': 'exit 1\n' },
      event: pullRequest(),
    })
    await check('required: without a decision nothing is deployed, and the required job fails', () => {
      ok(!lost.hasPassed)
      throws(() => lost.job('deploy'), wasSkipped)
      equal(lost.job('Rollout').step('result').result, 'failure')
    })
  } finally {
    for (const each of [path, failing]) await fixture.api.delete(each).catch(() => {})
  }
}

/** The scenarios of the workflows in `examples/`, by name. */
export const exampleScenarios: Readonly<Record<string, Scenario>> = {
  'example-apply': apply,
  'example-manifests': manifests,
  'example-rendered': rendered,
  'example-server-side-apply': serverSideApply,
  'example-migration': migration,
  'example-rollback': rollback,
  'example-rollback-approval': rollbackApproval,
  'example-helm-rollback': helmRollback,
  'example-retry': retry,
  'example-await-change': awaitChange,
  'example-three-clusters': threeClusters,
  'example-shared': shared,
  'example-preview': preview,
  'example-merge-queue': mergeQueue,
  'example-required': required,
}
