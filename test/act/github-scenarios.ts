import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { deployment } from '../cluster/objects.ts'
import { createPullRequest, headSha } from '../github/action-contexts.ts'
import { loadJobImage, withDocker } from './docker.ts'
import { login, type Step } from './documented.ts'
import { type Check, createJob, expression, type WorkflowFixture } from './workflow-fixture.ts'

const event = {
  name: 'pull_request',
  payload: { action: 'opened', pull_request: createPullRequest(), repository: { full_name: 'acme/shop' } },
} as const

const manifests = { 'web.yaml': [deployment('web')], 'api.yaml': [deployment('api', { image: 'v9' })] }

/** What the extras need, as docs/merging.md lists it. */
const permissions = {
  contents: 'read',
  statuses: 'write',
  deployments: 'write',
  'pull-requests': 'write',
}

/** The gate with the extras that belong to a commit or a pull request. */
function gateStep(inputs: Readonly<Record<string, string>>): Step {
  const kubeconfig = expression('secrets.KUBECONFIG')
  const extras = { 'report-to': 'commit-status, deployment, comment' }
  return {
    id: 'gate',
    uses: 'rollout-gate/rollout-gate@v0',
    with: { kubeconfig, 'github-token': expression('github.token'), ...extras, ...inputs },
  }
}

const apply: Step = { run: 'kubectl apply -f k8s/' }
/** Parallel jobs that applied the same manifests would fail when both create an object. */
const applied = { apply: createJob([login, apply]) }
const afterwards: Step = {
  id: 'afterwards',
  if: 'always()',
  run: `echo '${expression('steps.gate.outcome')} ${expression('steps.gate.outputs.outcome')}'`,
}

/** The latest status of the commit by its name. */
function states({ written }: WorkflowFixture): Record<string, unknown> {
  return Object.fromEntries(written.statuses.map(({ context, state }) => [context, state]))
}

/** The first line of a comment is the marker of its gate. */
function markers({ written }: WorkflowFixture): string[] {
  return written.comments.map(({ body }) => String(body).split('\n', 1)[0] ?? '')
}

async function checkWrites(fixture: WorkflowFixture, check: Check, gates: number): Promise<void> {
  const { github, written } = fixture
  await check('each gate has a commit status of its own on the head of the pull request', () => {
    equal(Object.keys(states(fixture)).length, gates, JSON.stringify(states(fixture), null, 2))
    deepEqual(new Set(written.statuses.map(({ sha }) => sha)), new Set([headSha]))
  })
  await check('each gate has a comment of its own on the pull request', () => {
    equal(new Set(markers(fixture)).size, gates)
    deepEqual(new Set(written.comments.map(({ issue }) => issue)), new Set([12]))
  })
  await check('every commit status has ended', () => equal(Object.values(states(fixture)).includes('pending'), false))
  await check('each gate has a deployment of its own, and it has ended', () => {
    const ended = written.deploymentStatuses.filter(({ state }) => state !== 'in_progress')
    deepEqual(ended.map(({ deployment }) => deployment).sort(), written.deployments.map(({ id }) => id).sort())
    equal(written.deployments.length, gates)
  })
  await check("no request violates GitHub's description", () => deepEqual(github.breaches, []))
}

/** Two gates of a matrix: one is ready, the other fails. */
export async function matrix(fixture: WorkflowFixture, check: Check): Promise<void> {
  const leg = { resources: `deployment/${expression('matrix.target')}` }
  const gates = createJob([gateStep(leg), afterwards], {
    needs: 'apply',
    permissions,
    strategy: { 'fail-fast': false, matrix: { target: ['web', 'api'] } },
  })
  const run = await fixture.runJobs('matrix', { jobs: { ...applied, gates }, manifests, event })
  await check('each leg ends with the outcome of its own gate', () => {
    const results = ['gates-1', 'gates-2'].map((name) => {
      const job = run.job(name)
      return { hasPassed: job.hasPassed, afterwards: job.step('afterwards').log.trim() }
    })
    deepEqual(results, [
      { hasPassed: true, afterwards: 'success ready' },
      { hasPassed: false, afterwards: 'failure failed' },
    ])
  })
  await checkWrites(fixture, check, 2)
  await check('the commit status of each leg has its own state', () => {
    const list = Object.entries(states(fixture))
    equal(list.find(([name]) => /\bweb\b/.test(name))?.[1], 'success')
    equal(list.find(([name]) => /\bapi\b/.test(name))?.[1], 'failure')
  })
}

/** A reusable workflow that is called twice, for the same Deployment. */
export async function reusable(fixture: WorkflowFixture, check: Check): Promise<void> {
  const called = {
    name: 'Gate',
    on: {
      workflow_call: {
        inputs: { region: { type: 'string', required: true } },
        secrets: { KUBECONFIG: { required: true } },
        outputs: { outcome: { value: expression('jobs.gate.outputs.outcome') } },
      },
    },
    jobs: {
      gate: createJob([gateStep({ name: expression('inputs.region'), resources: 'deployment/web' })], {
        permissions,
        outputs: { outcome: expression('steps.gate.outputs.outcome') },
      }),
    },
  }
  const path = '.github/workflows/gate.yml'
  // With `secrets: inherit`, parallel calls write into one map of act, which then crashes.
  const secrets = { KUBECONFIG: expression('secrets.KUBECONFIG') }
  const call = (region: string) => ({ needs: 'apply', permissions, uses: `./${path}`, with: { region }, secrets })
  const result: Step = {
    id: 'result',
    run: `echo '${expression('needs.eu.outputs.outcome')} ${expression('needs.us.outputs.outcome')}'`,
  }
  const run = await fixture.runJobs('reusable', {
    jobs: { ...applied, eu: call('eu'), us: call('us'), after: createJob([result], { needs: ['eu', 'us'] }) },
    files: { [path]: called },
    manifests,
    event,
  })
  await check('a reusable workflow passes the outcome to its caller', () => {
    ok(run.hasPassed, run.log)
    equal(run.job('after').step('result').log.trim(), 'ready ready')
  })
  await checkWrites(fixture, check, 2)
}

/** A composite action that applies and gates. */
export async function composite(fixture: WorkflowFixture, check: Check): Promise<void> {
  const path = '.github/actions/deploy'
  const action = {
    name: 'Deploy',
    inputs: { kubeconfig: { required: true }, token: { required: true } },
    outputs: { outcome: { value: expression('steps.gate.outputs.outcome') } },
    runs: {
      using: 'composite',
      steps: [
        { ...apply, shell: 'bash' },
        gateStep({
          kubeconfig: expression('inputs.kubeconfig'),
          'github-token': expression('inputs.token'),
          resources: 'deployment/api',
        }),
      ],
    },
  }
  const deploy: Step = {
    id: 'deploy',
    uses: `./${path}`,
    with: { kubeconfig: expression('secrets.KUBECONFIG'), token: expression('github.token') },
  }
  const after = {
    ...afterwards,
    run: `echo '${expression('steps.deploy.outcome')} ${expression('steps.deploy.outputs.outcome')}'`,
  }
  const run = await fixture.runJobs('composite', {
    jobs: { deploy: createJob([login, deploy, after], { permissions }) },
    files: { [`${path}/action.yml`]: action },
    manifests,
    event,
  })
  await check('a composite action fails with its gate, and passes the outcome on', () => {
    const job = run.job('deploy')
    equal(job.hasPassed, false)
    equal(job.step('afterwards').log.trim(), 'failure failed')
    match(job.step('deploy/gate').log, /✗ failed/)
  })
  await checkWrites(fixture, check, 1)
}

/**
 * A `node` that kills the action once everything is open on GitHub, as a runner does that removes a job's container: act
 * needs Docker and an image for a job with `container:`.
 * @returns its path, in a new folder
 */
function killingNode(): string {
  const path = join(mkdtempSync(join(tmpdir(), 'rollout-gate-node-')), 'node')
  const isOpen = ['commit-status', 'deployment', 'comment']
    .map((extra) => `grep -q '"extra":"${extra}"' "$GITHUB_STATE"`)
    .join(' && ')
  // Other shells drop variables such as INPUT_CHECK-RUN.
  const script = `#!/bin/bash
case "$*" in
  */dist/index.js) ;;
  # act looks up the program behind \`node\`.
  *process.execPath*) echo '${path}'; exit ;;
  *) exec '${process.execPath}' "$@" ;;
esac
'${process.execPath}' "$@" &
until ${isOpen} || ! kill -0 $!; do sleep 0.2; done
kill -9 $!
wait $!
`
  writeFileSync(path, script, { mode: 0o755 })
  return path
}

/** A gate that is killed in the middle of a rollout. */
export async function killed(fixture: WorkflowFixture, check: Check): Promise<void> {
  const node = killingNode()
  const stalled = { 'web.yaml': [deployment('web', { readiness: 'never' })] }
  const run = await fixture.run('killed', {
    steps: [login, apply, gateStep({ resources: 'deployment/web' }), afterwards],
    permissions,
    manifests: stalled,
    event,
    node,
  })
  rmSync(dirname(node), { recursive: true })
  await check('the job fails, and the gate has no outcome', () => {
    equal(run.hasPassed, false)
    equal(run.step('afterwards').log.trim(), 'failure')
  })
  await check('the step at the end of the job closes the status and the deployment as an error', () => {
    deepEqual(Object.values(states(fixture)), ['error'])
    equal(fixture.written.deploymentStatuses.at(-1)?.['state'], 'error')
  })
  await check('the comment states that the job ended before the rollout', () => {
    match(String(fixture.written.comments[0]?.['body']), /The job ended before/)
  })
  await check("no request violates GitHub's description", () => deepEqual(fixture.github.breaches, []))
}

/** Gates in a job with `container:`. A cancelled one gets no signal: its runner's signal ends only the client of Docker. */
export async function container(fixture: WorkflowFixture, check: Check): Promise<void> {
  await withDocker(fixture.folder, async (daemon) => {
    const image = await loadJobImage(daemon, process.execPath, fixture.folder)
    const jobs = (inputs: Readonly<Record<string, string>>) => ({
      ...applied,
      gate: createJob([gateStep({ resources: 'deployment/web', ...inputs }), afterwards], {
        needs: 'apply',
        permissions,
        container: image,
        defaults: { run: { shell: 'sh' } },
      }),
    })
    const docker = { dockerHost: daemon.host }
    const ready = await fixture.runJobs('ready', { jobs: jobs({ name: 'first' }), manifests, event, ...docker })
    await check('a healthy rollout passes a job in a container', () => {
      equal(ready.job('gate').hasPassed, true, ready.log)
      equal(ready.job('gate').step('afterwards').log.trim(), 'success ready')
      match(ready.job('gate').step('gate').summary, /Rollout ready/)
    })
    await checkWrites(fixture, check, 1)

    const stalled = { 'web.yaml': [deployment('web', { readiness: 'never' })] }
    const cancelled = await fixture.runJobs('cancelled', {
      jobs: jobs({ name: 'second' }),
      manifests: stalled,
      event: { ...event, cancelAt: 'generation 2 observed' },
      ...docker,
    })
    await check('the gate of a cancelled job in a container has no outcome', () => {
      equal(cancelled.hasPassed, false)
      equal(cancelled.job('gate').step('afterwards').log.trim(), 'failure')
    })
    await check('the step at the end of the job ends its process', async () => {
      const [left = ''] = (await daemon.docker('ps', '--quiet')).split('\n')
      const processes = await daemon.docker('top', left, '-o', 'pid,args')
      ok(!processes.includes('dist/'), processes)
    })
    await check('its status is an error, and its deployment is inactive', () => {
      deepEqual(Object.values(states(fixture)), ['success', 'error'])
      equal(fixture.written.deploymentStatuses.at(-1)?.['state'], 'inactive')
    })
  })
}
