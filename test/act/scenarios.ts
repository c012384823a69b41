import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { exampleFiles } from '../../scripts/in-examples.ts'
import { attempt, until } from '../cluster/command.ts'
import { contractViolations } from '../cluster/contract.ts'
import {
  applications,
  defineKind,
  definitionPath,
  helmReleases,
  kustomizations,
  type PlayedOperator,
  writeDeployed,
} from '../cluster/gitops.ts'
import { appImage } from '../cluster/images.ts'
import { barePod, deployment, scriptJob } from '../cluster/objects.ts'
import { documentedBlock, documentedSteps, login, type Step } from './documented.ts'
import { exampleScenarios } from './examples.ts'
import { composite, container, killed, matrix, reusable } from './github-scenarios.ts'
import { installNode, oldestNode, tooOldNode } from './node-versions.ts'
import { type Check, expression, type GateRun, type WorkflowFixture } from './workflow-fixture.ts'

type Scenario = (fixture: WorkflowFixture, check: Check) => Promise<void>

const assertPassed = (run: GateRun) => ok(run.hasPassed, `the job failed:\n${run.log}`)
const assertFailed = (run: GateRun) => ok(!run.hasPassed, `the job passed:\n${run.log}`)

/** A second Deployment. */
function worker() {
  const { metadata, ...rest } = deployment('worker')
  return { ...rest, metadata: { ...metadata, labels: { app: 'worker' } } }
}

const healthy = { 'web.yaml': [deployment('web')], 'worker.yaml': [worker()] }
const missingImage = { 'web.yaml': [deployment('web', { image: 'v9' })], 'worker.yaml': [worker()] }

async function checkContract(run: GateRun, fixture: WorkflowFixture, check: Check): Promise<void> {
  await check('exit code, outputs, report and summary agree, and no credential is printed', () => {
    deepEqual(contractViolations(run.gate, fixture.credentials), [])
    for (const credential of fixture.credentials)
      ok(!run.log.includes(credential), 'the log of the job contains a credential')
  })
  await check('the job summary is the content of summary-file', () => {
    equal(run.gate.summary, readFileSync(run.gate.outputs['summary-file'] ?? '', 'utf8'))
  })
}

/** The documented job with a kubeconfig in a secret, and the rollback: a healthy rollout, then failing ones. */
async function kubeconfigInSecret(fixture: WorkflowFixture, check: Check): Promise<void> {
  const { namespace } = fixture
  const page = ['docs/credentials.md', 'A kubeconfig in a secret'] as const
  await check('the documented commands make the kubeconfig of a ServiceAccount', async () => {
    await fixture.createSecret(documentedBlock(...page, 'sh', namespace).replace('gh secret set KUBECONFIG', 'cat'))
    match(fixture.secretKubeconfig, /user: deployer/)
  })
  const file = documentedBlock(...page, 'yaml', namespace)
  const whole = await fixture.runJobs('whole', { files: { '.github/workflows/deploy.yml': file }, manifests: healthy })
  await check('the documented workflow passes as it is written', () => ok(whole.hasPassed, whole.log))
  const token: Step = {
    id: 'token',
    run: "kubectl config view --raw -o jsonpath='{.users[0].user.token}'",
    if: 'always()',
  }
  const steps = [
    ...documentedSteps(...page, namespace),
    ...documentedSteps('docs/recipes.md', 'Roll back', namespace)
      .slice(-1)
      .map((step) => ({ ...step, id: 'undo' })),
    token,
  ]
  const imageOfWeb = async () => {
    const web = await fixture.api.get(`/apis/apps/v1/namespaces/${namespace}/deployments/web`)
    return web['spec'].template.spec.containers[0].image
  }

  const ready = await fixture.run('healthy', { manifests: healthy, steps })
  await check('a healthy rollout passes the job', () => {
    assertPassed(ready)
    equal(ready.gate.outputs['outcome'], 'ready')
    equal(ready.gate.outputs['failed-resources'], '[]')
    match(ready.gate.log, /✓ ready/)
  })
  await check('kubectl and the gate use the kubeconfig of the secret', () => {
    match(ready.gate.log, /^Rollout Gate · context prod · /m)
  })
  await check('a healthy rollout has no annotation', () => deepEqual(ready.step('gate').annotations, []))
  await check('a healthy rollout is not rolled back', () => equal(ready.step('undo').result, 'skipped'))
  await check('the token of the kubeconfig is masked in what later steps print', () => {
    for (const credential of fixture.credentials) ok(ready.step('gate').masks.includes(credential))
    equal(ready.step('token').result, 'success')
    equal(ready.step('token').log.trim(), '***')
  })
  await checkContract(ready, fixture, check)

  const failed = await fixture.run('missing-image', { manifests: missingImage, steps })
  await check('a missing image fails the job', () => {
    assertFailed(failed)
    equal(failed.step('gate').result, 'failure')
    equal(failed.gate.outputs['outcome'], 'failed')
    equal(failed.gate.outputs['reason'], 'image-not-found')
    match(failed.gate.outputs['message'] ?? '', /^deployment\/web: .*not found/)
  })
  await check('a failed rollout has an error annotation with cause and hint', () => {
    const errors = failed.step('gate').annotations.filter(({ level }) => level === 'error')
    match(errors[0]?.title ?? '', /deployment\/web/)
    match(errors[0]?.message ?? '', /:v9\b.*not found/)
    match(errors[0]?.message ?? '', /Push \S+:v9 before deploying it/)
  })
  await check('the summary of a failed rollout names the cause', () => {
    match(failed.gate.summary, /Rollout failed/)
    match(failed.gate.summary, /image-not-found/)
  })
  await check("`failure() && steps.gate.outputs.outcome == 'failed'` rolls a failed rollout back", async () => {
    equal(failed.step('undo').result, 'success')
    match(failed.step('undo').log, /deployment\.apps\/web rolled back/)
    match(await imageOfWeb(), /:v1$/)
  })
  await checkContract(failed, fixture, check)

  const mistaken = steps.map((step) => (step.id === 'gate' ? { ...step, with: { ...step.with, timeout: '5' } } : step))
  const misconfigured = await fixture.run('misconfigured', { manifests: missingImage, steps: mistaken })
  await check('an invalid input fails the job and rolls nothing back', () => {
    assertFailed(misconfigured)
    equal(misconfigured.gate.outputs['outcome'], 'misconfigured')
    equal(misconfigured.step('undo').result, 'skipped')
  })
  await check('an invalid input has one error annotation, which contains the fix', () => {
    deepEqual(
      misconfigured.step('gate').annotations.map(({ level, message }) => `${level}: ${message}`),
      ['error: timeout: "5" has no unit. Write 5s for seconds or 5m for minutes.'],
    )
  })
  await checkContract(misconfigured, fixture, check)
}

/** The recipe that gates the output of `kubectl apply`. */
async function applied(fixture: WorkflowFixture, check: Check): Promise<void> {
  const steps = [login, ...documentedSteps('docs/recipes.md', 'Only what kubectl applied', fixture.namespace)]
  const targetsOf = (run: GateRun) => {
    const { targets } = JSON.parse(readFileSync(run.gate.outputs['report'] ?? '', 'utf8'))
    return targets.map(({ target }: { target: string }) => target)
  }

  const created = await fixture.run('created', { manifests: healthy, steps })
  await check('objects that kubectl apply created are gated', () => {
    assertPassed(created)
    deepEqual(targetsOf(created), ['deployment.apps/web', 'deployment.apps/worker'])
  })
  await checkContract(created, fixture, check)

  const again = { ...healthy, 'web.yaml': [deployment('web', { image: 'v2' })] }
  const changed = await fixture.run('changed', { manifests: again, steps })
  await check('objects that kubectl apply configured or left unchanged are gated', () => {
    assertPassed(changed)
    match(changed.step('apply').log, /deployment\.apps\/web configured\n.*deployment\.apps\/worker unchanged/)
    deepEqual(targetsOf(changed), ['deployment.apps/web', 'deployment.apps/worker'])
  })

  const invalid = { 'a.yaml': [deployment('web')], 'b.yaml': [deployment('worker', {}, { replicas: -1 })] }
  const halfway = await fixture.run('apply-fails-half-way', { manifests: invalid, steps })
  await check('if kubectl apply fails half-way, its step fails and nothing is gated', () => {
    assertFailed(halfway)
    equal(halfway.step('apply').result, 'failure')
    equal(halfway.step('gate').result, 'skipped')
  })
}

/** The input `manifests`: the annotation is on the line with the mistake. */
async function manifests(fixture: WorkflowFixture, check: Check): Promise<void> {
  const files = { 'all.yaml': [worker(), deployment('web', { image: 'v9' })], 'nightly.yaml': [deployment('nightly')] }
  const gate = {
    id: 'gate',
    uses: 'rollout-gate/rollout-gate@v0',
    with: { kubeconfig: expression('secrets.KUBECONFIG'), manifests: 'k8s/\n!k8s/nightly.yaml\n' },
  }
  const first: Step = {
    if: 'failure()',
    id: 'first',
    run: `echo '${expression('fromJSON(steps.gate.outputs.failed-resources)[0].target')}'`,
  }
  const failed = await fixture.run('missing-image', {
    manifests: files,
    steps: [login, { run: 'kubectl apply -f k8s/all.yaml' }, gate, first],
  })
  await check('the annotation of a missing image is on its line of the manifest', () => {
    equal(failed.gate.outputs['reason'], 'image-not-found')
    const [annotation] = failed.step('gate').annotations
    equal(annotation?.file, 'k8s/all.yaml')
    const lines = readFileSync(join(failed.checkout, 'k8s/all.yaml'), 'utf8').split('\n')
    match(lines[Number(annotation?.line) - 1] ?? '', /image: \S+:v9$/)
  })
  await check('later steps can read the output failed-resources as JSON', () => {
    equal(failed.step('first').log.trim(), 'deployment.apps/web')
  })
  await checkContract(failed, fixture, check)
}

/** The recipe of a migration with a live log. */
async function migration(fixture: WorkflowFixture, check: Check): Promise<void> {
  const files = {
    'all.yaml': [scriptJob('migrate', 'echo applying 0042_add_orders; sleep 2; echo done'), deployment('web')],
  }
  const run = await fixture.run('healthy', {
    manifests: files,
    steps: [
      login,
      { run: 'kubectl apply -f k8s/' },
      ...documentedSteps('docs/recipes.md', 'Jobs and migrations', fixture.namespace),
    ],
  })
  await check("a migration's log is shown live, before its verdict", () => {
    assertPassed(run)
    match(run.gate.log, /│ applying 0042_add_orders[\s\S]*│ done[\s\S]*job\/migrate +✓ ready/)
  })
  await checkContract(run, fixture, check)
}

/** The recipes of Helm, of helmfile, and of a restart. helmfile is a script that upgrades its releases as `helmfile sync` does. */
async function helmRecipes(fixture: WorkflowFixture, check: Check): Promise<void> {
  const { namespace } = fixture
  const values = { image: { repository: appImage, tag: 'v1' } }
  const chart = [...exampleFiles()].filter(([path]) => path.startsWith('charts/'))
  const releases = ['web', 'worker', 'monitoring']
  const upgrades = releases.map(
    (name) => `helm upgrade --install ${name} charts/web -n ${namespace} --values values.yaml --set image.tag=v2`,
  )
  const helmfile = [
    'mkdir "$RUNNER_TEMP/bin"',
    'cp helmfile "$RUNNER_TEMP/bin"',
    'chmod +x "$RUNNER_TEMP/bin/helmfile"',
  ]
  const files = {
    ...Object.fromEntries(chart),
    'values.yaml': values,
    helmfile: ['#!/bin/sh -e', ...upgrades, ''].join('\n'),
  }
  const onPath: Step = { run: [...helmfile, 'echo "$RUNNER_TEMP/bin" >> "$GITHUB_PATH"'].join('\n') }
  const ofHelm = (index: number) =>
    documentedSteps('docs/gitops-and-helm.md', 'Helm', namespace, index).map((step) =>
      inNamespace(step, 'monitoring', namespace),
    )
  const names = (run: GateRun) => targetsOf(run).map(({ target }) => target)

  const release = await fixture.run('release', { files, steps: [login, ...ofHelm(0)] })
  await check('the recipe of Helm gates the live objects of the release', () => {
    assertPassed(release)
    deepEqual(names(release).toSorted(), ['deployment.apps/web', 'service/web'])
  })
  const rendered = await fixture.run('rendered', { files, steps: [login, ...ofHelm(1)] })
  await check('the recipe of Helm with a rendered chart names the line of each object', () => {
    assertPassed(rendered)
    deepEqual(names(rendered).toSorted(), ['deployment.apps/web', 'service/web'])
    ok(targetsOf(rendered).every(({ source }) => source?.file === 'rendered.yaml'))
  })
  const several = await fixture.run('helmfile', { files, steps: [login, onPath, ...ofHelm(2)] })
  await check('the recipe of helmfile gates each release', () => {
    assertPassed(several)
    deepEqual(
      names(several).toSorted(),
      releases.flatMap((name) => [`deployment.apps/${name}`, `service/${name}`]).toSorted(),
    )
  })
  const restart = await fixture.run('restart', {
    steps: [login, ...documentedSteps('docs/recipes.md', 'A restart', namespace)],
  })
  await check('the recipe of a restart gates the restarted pods', () => {
    assertPassed(restart)
    match(restart.gate.outputs['changed'] ?? '', /deployment\.apps\/web/)
  })
  await checkContract(restart, fixture, check)
}

interface ReportedTarget {
  readonly target: string
  readonly source?: { readonly file: string }
}

function targetsOf(run: GateRun): readonly ReportedTarget[] {
  return JSON.parse(readFileSync(run.gate.outputs['report'] ?? '', 'utf8')).targets
}

/** A step in which another namespace stands for one of the documentation. */
function inNamespace(step: Step, documented: string, namespace: string): Step {
  const resources = step.with?.['resources']?.replaceAll(`-n ${documented}`, `-n ${namespace}`)
  return resources === undefined ? step : { ...step, with: { ...step.with, resources } }
}

/** A recipe of Argo CD or Flux, whose operator deploys the revision while the workflow runs. */
interface GitOpsRecipe {
  readonly name: string
  readonly heading: 'Argo CD' | 'Flux'
  /** Which block of the section, from 0. */
  readonly block: number
  readonly operator: PlayedOperator
  /** The name of the object, if it is not the namespace; and its labels. */
  readonly object?: { readonly name?: string; readonly isLabelled?: true }
  /** Files of the checkout by path, for the namespace. */
  readonly files?: (namespace: string) => Readonly<Record<string, string>>
  /** Steps before those of the recipe. */
  readonly before?: readonly Step[]
  /** What stands for a step of the recipe. */
  readonly instead?: (step: Step) => Step
  /** The awaited revision; by default the commit of the checkout. */
  readonly revision?: string
  /** Whether the workflow has made a commit of its own, which is awaited. */
  readonly commits?: true
}

/** The push goes to the repository in `REMOTE`. `yq` is a script that knows this one expression. */
const otherRepository = [
  'git init --quiet --bare "$REMOTE"',
  'git remote set-url origin "$REMOTE"',
  'git push --quiet --set-upstream origin main',
  'mkdir -p "$RUNNER_TEMP/bin"',
  `printf '#!/bin/sh -e\nsed -i "s/tag: .*/tag: $GITHUB_SHA/" "$3"\n' > "$RUNNER_TEMP/bin/yq"`,
  'chmod +x "$RUNNER_TEMP/bin/yq"',
  'echo "$RUNNER_TEMP/bin" >> "$GITHUB_PATH"',
].join('\n')

const gitOps: readonly GitOpsRecipe[] = [
  { name: 'Argo CD', heading: 'Argo CD', block: 0, operator: applications },
  {
    name: 'Argo CD with another repository',
    heading: 'Argo CD',
    block: 1,
    operator: applications,
    files: (namespace) => ({ [`${namespace}/values.yaml`]: 'image:\n  tag: none\n' }),
    before: [{ run: otherRepository }],
    commits: true,
  },
  {
    name: 'an ApplicationSet',
    heading: 'Argo CD',
    block: 3,
    operator: applications,
    object: { isLabelled: true },
  },
  { name: 'Flux', heading: 'Flux', block: 0, operator: kustomizations },
  {
    name: 'a HelmRelease of Flux',
    heading: 'Flux',
    block: 1,
    operator: helmReleases,
    object: { name: 'web' },
    files: () => ({ 'charts/web/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 0.1.0\n' }),
    // The environment of the job.
    before: [{ run: 'echo "VERSION=1.4.1" >> "$GITHUB_ENV"' }],
    // There is no registry: the chart that is pushed must exist.
    instead: (step) =>
      step.run === undefined ? step : { ...step, run: step.run.replace(/^helm push (\S+) .*$/m, 'test -s $1') },
    revision: '1.4.1',
  },
]

/** The recipes of Argo CD and Flux: the operator deploys the revision while the workflow runs. */
async function gitOpsRecipes(fixture: WorkflowFixture, check: Check): Promise<void> {
  const played = [...new Set(gitOps.map(({ operator }) => operator))]
  for (const operator of played) await defineKind(fixture.api, operator, fixture.namespace)
  try {
    for (const recipe of gitOps) await gitOpsRecipe(recipe, fixture, check)
    await imageUpdaterRecipe(fixture, check)
  } finally {
    for (const operator of played) await fixture.api.delete(definitionPath(operator))
  }
}

async function gitOpsRecipe(recipe: GitOpsRecipe, fixture: WorkflowFixture, check: Check): Promise<void> {
  const { api, namespace } = fixture
  const { heading, block, operator, object = {}, files, before = [], instead = (step: Step) => step } = recipe
  const documented = heading === 'Flux' ? 'flux-system' : 'argocd'
  const { name = namespace, isLabelled } = object
  const named = { namespace, name, ...(isLabelled && { labels: { app: namespace } }) }
  const deploy = async (revision: string, image: string) => {
    await api.apply(deploymentPath(namespace), deployment('web', { image }))
    await writeDeployed(api, operator, named, revision)
  }
  await deploy(recipe.revision === undefined ? '1'.repeat(40) : '1.4.0', 'v1')
  const run = recipe.name.toLowerCase().replaceAll(' ', '-')
  const steps = recipeSteps(heading, namespace, block).map((step) =>
    step.run?.startsWith('./login') ? login : instead(inNamespace(step, documented, namespace)),
  )
  const remote = join(fixture.folder, run, 'remote.git')
  const prepared = before.map((step) => ({ ...step, env: { REMOTE: remote } }))
  const running = fixture.run(run, { steps: [...prepared, ...steps], files: files?.(namespace) ?? {} })
  const repository = recipe.commits ? remote : join(fixture.folder, run, 'checkout')
  const git = async (...args: string[]) => (await attempt('git', ['-C', repository, ...args])).trim()
  const isThere = async () => {
    const subject = await git('log', '-1', '--format=%s', 'main')
    return recipe.commits ? subject.startsWith(`${namespace}: `) : subject !== ''
  }
  await until('the commit exists', 60, isThere)
  await deploy(recipe.revision ?? (await git('rev-parse', 'main')), 'v2')
  const finished = await running
  await check(`the recipe of ${recipe.name} passes once the revision and what it deployed are ready`, () => {
    assertPassed(finished)
    const [group = ''] = operator.apiVersion.split('/')
    deepEqual(
      targetsOf(finished).map(({ target }) => target),
      [`${operator.kind.toLowerCase()}.${group}/${name}`, 'deployment.apps/web'],
    )
  })
}

/** The recipe of the image updater, which writes the tag of the image that the workflow built: after the gate began, then before. */
async function imageUpdaterRecipe(fixture: WorkflowFixture, check: Check): Promise<void> {
  const { api, namespace } = fixture
  const built = `/api/v1/namespaces/${namespace}/pods/built`
  const imageID = async (): Promise<string> => (await api.get(built))['status'].containerStatuses?.[0].imageID ?? ''
  await api.apply(built, barePod('built', { image: 'v3', readiness: 'none' }))
  await until('the image runs', 60, async () => (await imageID()) !== '')
  const digest = (await imageID()).split('@').at(-1)
  const recording = join(fixture.folder, 'gate.ndjson')
  const steps = recipeSteps('Argo CD', namespace, 2).map((step): Step => {
    if (step.uses?.startsWith('docker/build-push-action@'))
      return { id: 'build', run: `echo "digest=${digest}" >> "$GITHUB_OUTPUT"` }
    if (step.id === 'gate') return { ...step, with: { ...step.with, record: recording } }
    return step.run?.startsWith('./login') ? login : step
  })
  const update = (image: string) => api.apply(deploymentPath(namespace), deployment('web', { image }))
  await update('v2')
  const running = fixture.run('updater-is-late', { steps })
  await until('the gate has found the Deployment', 60, () => {
    return existsSync(recording) && readFileSync(recording, 'utf8').includes('"kind":"Deployment"')
  })
  await update('v3')
  const late = await running
  await check('the recipe of an image updater passes once its tag runs what was built', () => {
    assertPassed(late)
    match(late.gate.log, /waiting for its change to arrive[\s\S]*its change has arrived[\s\S]*✓ ready/)
  })
  const early = await fixture.run('updater-was-early', { steps })
  await check('the recipe of an image updater passes if the tag was written before the gate began', () => {
    assertPassed(early)
    match(early.gate.log, /its change has arrived[\s\S]*✓ ready in \d(?:\.\d)? s:/)
  })
}

/** The steps of a recipe but the login to a registry: there is none. */
function recipeSteps(heading: string, namespace: string, block: number): Step[] {
  const steps = documentedSteps('docs/gitops-and-helm.md', heading, namespace, block)
  return steps.filter(({ uses }) => !uses?.startsWith('docker/login-action@'))
}

const deploymentPath = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/deployments/web`

/** Node releases that the built programs support, and one that they do not. */
async function nodes(fixture: WorkflowFixture, check: Check): Promise<void> {
  const oldest = await installNode(oldestNode())
  const tooOld = await installNode(tooOldNode)
  const [major, minor] = oldestNode().split('.')
  const refusal = `Rollout Gate needs Node ${major}.${minor} or newer (this is v${tooOldNode}). `
  const gate = {
    id: 'gate',
    uses: 'rollout-gate/rollout-gate@v0',
    with: {
      kubeconfig: expression('secrets.KUBECONFIG'),
      resources: 'deployment/web',
      'github-token': expression('github.token'),
    },
  }
  const steps = [login, { run: 'kubectl apply -f k8s/web.yaml' }, gate]

  const run = await fixture.run(`node-${oldestNode()}`, { manifests: healthy, node: oldest, steps })
  await check(`the action runs on Node ${oldestNode()}, the oldest that the command line supports`, () => {
    assertPassed(run)
    equal(run.gate.outputs['outcome'], 'ready')
  })
  await check('the token of GitHub is masked', () => {
    const masks = new Set(run.step('gate').masks)
    ok(fixture.tokens.some(({ token }) => masks.has(token)))
  })
  await checkContract(run, fixture, check)

  const refused = await fixture.run(`node-${tooOldNode}`, { manifests: healthy, node: tooOld, steps })
  await check(`on Node ${tooOldNode} the action fails with one annotation that names the Node it needs`, () => {
    assertFailed(refused)
    const { result, annotations } = refused.step('gate')
    equal(result, 'failure')
    deepEqual(
      annotations.map(({ message }) => message.startsWith(refusal)),
      [true],
    )
    equal(refused.gate.log.trim(), '')
  })

  const recording = resolve(import.meta.dirname, '../recordings/update.ndjson.gz')
  const cli = resolve(import.meta.dirname, '../../dist/cli.js')
  const replay = (node: string) => spawnSync(node, [cli, 'replay', recording], { encoding: 'utf8' })
  await check(`the command line replays a recording on Node ${oldestNode()}`, () => {
    const { status, stdout, stderr } = replay(oldest)
    equal(stderr, '')
    match(stdout, /✓ ready/)
    equal(status, 0)
  })
  await check(`on Node ${tooOldNode} the command line fails with one line that names the Node it needs`, () => {
    const { status, stdout, stderr } = replay(tooOld)
    ok(stderr.startsWith(refusal), stderr)
    deepEqual({ status, stdout, lines: stderr.split('\n').length }, { status: 1, stdout: '', lines: 2 })
  })
}

/** The scenarios of `npm run test:act`, by name. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  'kubeconfig-in-secret': kubeconfigInSecret,
  'kubectl-output': applied,
  manifests,
  migration,
  'recipes-helm': helmRecipes,
  'recipes-gitops': gitOpsRecipes,
  nodes,
  matrix,
  reusable,
  composite,
  killed,
  container,
  ...exampleScenarios,
}
