import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ActionRun } from '../../support/runner.ts'
import type { KubeObject } from '../api.ts'
import { installHelm } from '../build.ts'
import { all, type ClusterState, conditionTrue, deploymentComplete } from '../cluster-states.ts'
import { run, until } from '../command.ts'
import type { Fixture } from '../fixture.ts'
import { withToken } from '../kubeconfig.ts'
import { kubeconfigPath } from '../layout.ts'
import {
  appService,
  type ContainerOptions,
  coreObject,
  daemonSet,
  deployment,
  scriptJob,
  slowStart,
  statefulSet,
} from '../objects.ts'
import { schedulingGate } from '../rollouts.ts'
import type { Scenario } from '../scenario.ts'
import { accessRules, createUser, readerRules } from '../service-accounts.ts'

/** The major version of Helm. */
type Major = 3 | 4

/** Writes a chart whose templates are the objects, with subcharts, into the workspace. Returns its path there. */
function writeChart(
  fixture: Fixture,
  objects: readonly KubeObject[],
  subcharts: Readonly<Record<string, readonly KubeObject[]>> = {},
  path = 'charts/web',
): string {
  const name = path.split('/').at(-1)
  fixture.write(join(path, 'Chart.yaml'), `apiVersion: v2\nname: ${name}\nversion: 0.1.0\n`)
  fixture.write(join(path, 'templates/objects.yaml'), objects.map((each) => `---\n${JSON.stringify(each)}\n`).join(''))
  for (const [subchart, own] of Object.entries(subcharts)) writeChart(fixture, own, {}, join(path, 'charts', subchart))
  return fixture.pathOf(path)
}

async function helmCommand({ namespace }: Fixture, major: Major, args: readonly string[]) {
  const path = process.env['ROLLOUT_GATE_TEST_KUBECONFIG'] ?? kubeconfigPath
  return [await installHelm(major), [...args, '--namespace', namespace, '--kubeconfig', path]] as const
}

/** Runs Helm. Throws its error if it fails. */
async function helm(fixture: Fixture, major: Major, ...args: readonly string[]): Promise<string> {
  return run(...(await helmCommand(fixture, major, args)))
}

/** Starts Helm, and goes on once it has written a revision with this status. */
async function startHelm(fixture: Fixture, major: Major, revision: number, status: string, ...args: readonly string[]) {
  const child = spawn(...(await helmCommand(fixture, major, args)), { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('close', resolve))
  await untilRevision(fixture, revision, status)
  return { child, ended }
}

async function untilRevision(fixture: Fixture, revision: number, status: string): Promise<void> {
  const path = fixture.path('Secret', `sh.helm.release.v1.web.v${revision}`)
  const isThere = async () => (await fixture.api.find(path))?.metadata.labels?.['status'] === status
  await until(`revision ${revision} is ${status}`, 30, isThere)
}

/** A Deployment of one pod. */
const single = (name: string, options: ContainerOptions = {}) => deployment(name, options, { replicas: 1 })

/** The objects of a small release. */
const web = (options: ContainerOptions = {}): KubeObject[] => [single('web', options), appService('web')]

function hook(name: string, when: string, script: string, pod: object = {}): KubeObject {
  const { metadata, ...rest } = scriptJob(name, script, { backoffLimit: 0 }, pod)
  return { ...rest, metadata: { ...metadata, annotations: { 'helm.sh/hook': when } } }
}

/** Installs a release, and waits until it is rolled out. */
async function install(fixture: Fixture, major: Major): Promise<void> {
  await helm(fixture, major, 'install', 'web', writeChart(fixture, web()))
  await fixture.until('the release is rolled out', deploymentComplete('web'))
}

const upgrade = (fixture: Fixture, objects: readonly KubeObject[]) => ['upgrade', 'web', writeChart(fixture, objects)]

/** The Deployment is complete with this image. */
const completeWith = (tag: string): ClusterState => {
  const complete = deploymentComplete('web')
  return (informer) => {
    const image: string = informer.get('Deployment', 'web')?.['spec'].template.spec.containers[0].image ?? ''
    return image.endsWith(`:${tag}`) ? complete(informer) : undefined
  }
}

interface ReportedTarget {
  readonly target: string
  readonly hint?: string
}

function targetsOf({ outputs }: ActionRun): readonly ReportedTarget[] {
  return JSON.parse(readFileSync(outputs['report'] ?? '', 'utf8')).targets
}

/** One sentence if the targets are not these. */
const hasTargets =
  (...names: readonly string[]) =>
  (run: ActionRun): string[] => {
    const found = targetsOf(run).map(({ target }) => target)
    return found.toSorted().join() === names.toSorted().join() ? [] : [`the targets are ${found.join(', ')}`]
  }

/** The gate lists some thirty kinds, which takes long on a busy machine. */
const release = { inputs: { resources: 'helm/web' }, withinSeconds: 30, takesSeconds: 10 }
const readyOutcome = { outcome: 'ready', reason: '' }
const ofWeb = ['deployment.apps/web', 'service/web']

const user = 'ci'
const kubeconfigOfUser = (content: string, { tokens }: Fixture) => withToken(content, tokens.get(user) ?? '')

/** The kinds of objects that the umbrella chart has in each of its three charts, besides ConfigMaps. */
function partOf(name: string): KubeObject[] {
  const labels = { app: name }
  return [
    ...['a', 'b'].flatMap((suffix) => [single(`${name}-${suffix}`), appService(`${name}-${suffix}`)]),
    coreObject('ServiceAccount', name),
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name },
      spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
    },
    { ...scriptJob(`${name}-once`, 'true') },
    {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name },
      spec: { schedule: '0 0 1 1 *', jobTemplate: { spec: scriptJob(name, 'true')['spec'] } },
    },
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name },
      spec: { defaultBackend: { service: { name: `${name}-a`, port: { number: 80 } } } },
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }],
    },
  ]
}

const parts = ['shop', 'cart', 'pay'] as const
const umbrellaWorkloads = parts.flatMap((name) => [`${name}-a`, `${name}-b`])
const umbrella = parts.map((name) => [
  ...partOf(name),
  ...Array.from({ length: 9 }, (_, index) => coreObject('ConfigMap', `${name}-${index}`, { data: { part: name } })),
])
const umbrellaTargets = [
  ...umbrellaWorkloads.flatMap((name) => [`deployment.apps/${name}`, `service/${name}`]),
  ...parts.flatMap((name) => [
    `poddisruptionbudget.policy/${name}`,
    `job.batch/${name}-once`,
    `cronjob.batch/${name}`,
    `ingress.networking.k8s.io/${name}`,
  ]),
  'statefulset.apps/db',
  'service/db',
  'daemonset.apps/agent',
]

/** Releases of one version of Helm as references (`helm/NAME`). */
const releasesOf = (major: Major): Scenario[] => [
  {
    ...release,
    name: `helm-${major}-install`,
    setup: async (fixture) => {
      await helm(
        fixture,
        major,
        'install',
        'web',
        writeChart(fixture, [...web(), hook('prepare', 'pre-install', 'true')]),
      )
    },
    expect: readyOutcome,
    decidedBy: deploymentComplete('web'),
    check: hasTargets(...ofWeb),
  },
  {
    ...release,
    name: `helm-${major}-upgrade`,
    setup: async (fixture) => {
      await install(fixture, major)
      await helm(fixture, major, ...upgrade(fixture, web({ image: 'v2', script: slowStart(3) })))
    },
    expect: readyOutcome,
    decidedBy: completeWith('v2'),
    check: hasTargets(...ofWeb),
  },
  {
    ...release,
    name: `helm-${major}-hook-fails`,
    setup: async (fixture) => {
      await install(fixture, major)
      const objects = [...web({ image: 'v2' }), hook('migrate', 'pre-upgrade', 'echo "no such table" >&2; exit 1')]
      await helm(fixture, major, ...upgrade(fixture, objects)).catch(() => {})
      fixture.markDecided()
    },
    expect: { outcome: 'failed', reason: 'reported-failed' },
    contains: {
      message: [/Helm reports revision 2 as failed: its hook job\/migrate failed/],
      summary: ['kubectl logs job/migrate'],
    },
    check: hasTargets('helm/web.v2', ...ofWeb),
  },
  {
    ...release,
    name: `helm-${major}-rollback-during-the-wait`,
    setup: async (fixture) => {
      await install(fixture, major)
      await helm(fixture, major, ...upgrade(fixture, web({ image: 'v2', script: slowStart(30) })))
    },
    during: async (fixture) => {
      await helm(fixture, major, 'rollback', 'web')
      fixture.markDecided()
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
  },
  {
    ...release,
    name: `helm-${major}-second-upgrade-during-the-wait`,
    setup: async (fixture) => {
      await install(fixture, major)
      await helm(fixture, major, ...upgrade(fixture, web({ image: 'v2', script: slowStart(30) })))
    },
    during: async (fixture) => {
      await helm(fixture, major, ...upgrade(fixture, web({ image: 'v3' })))
      fixture.markDecided()
    },
    expect: { outcome: 'superseded', reason: 'superseded' },
  },
  {
    ...release,
    name: `helm-${major}-rolls-back-what-fails`,
    setup: async (fixture) => {
      await install(fixture, major)
      const flags = [major === 3 ? '--atomic' : '--rollback-on-failure', '--timeout', '8s']
      await startHelm(
        fixture,
        major,
        2,
        'pending-upgrade',
        ...upgrade(fixture, web({ image: 'missing/app:v9' })),
        ...flags,
      )
    },
    during: async (fixture) => {
      await untilRevision(fixture, 2, 'failed')
      fixture.markDecided()
    },
    expect: { outcome: 'failed', reason: 'reported-failed' },
    contains: { message: [/Helm reports revision 2 as failed; revision 3 is (pending-rollback|deployed)/] },
    check: hasTargets('helm/web.v2', ...ofWeb),
  },
  {
    ...release,
    name: `helm-${major}-pending-upgrade`,
    setup: async (fixture) => {
      await createUser(fixture, user, [...readerRules(), ...accessRules(0)])
      await install(fixture, major)
      const objects = [
        ...web({ image: 'v2' }),
        single('worker'),
        hook('migrate', 'pre-upgrade', 'true', schedulingGate),
      ]
      await startHelm(fixture, major, 2, 'pending-upgrade', ...upgrade(fixture, objects))
    },
    during: async (fixture) => {
      const isOfHook = ({ metadata }: KubeObject) => metadata.name.startsWith('migrate-')
      const pod = await fixture.until('the pod of the hook exists', (informer) => informer.all('Pod').find(isOfHook))
      await fixture.patch('Pod', pod.metadata.name, [{ op: 'remove', path: '/spec/schedulingGates' }])
    },
    expect: readyOutcome,
    decidedBy: all(completeWith('v2'), deploymentComplete('worker')),
    kubeconfig: kubeconfigOfUser,
    contains: { log: [/revision 2 is pending-upgrade since/, 'revision 2 is deployed'] },
    check: hasTargets('deployment.apps/worker', ...ofWeb),
  },
  {
    ...release,
    name: `helm-${major}-killed-while-pending`,
    inputs: { ...release.inputs, 'stall-timeout': '5s' },
    setup: async (fixture) => {
      await install(fixture, major)
      const objects = [...web({ image: 'v2' }), hook('migrate', 'pre-upgrade', 'sleep 60')]
      const { child, ended } = await startHelm(fixture, major, 2, 'pending-upgrade', ...upgrade(fixture, objects))
      child.kill('SIGKILL')
      await ended
      fixture.markDecided(5)
    },
    expect: { outcome: 'stalled', reason: 'condition-false' },
    contains: { message: [/revision 2 is pending-upgrade since/], summary: ['helm rollback web -n'] },
    check: async (_, fixture) => {
      const refused = await helm(fixture, major, ...upgrade(fixture, web({ image: 'v2' }))).then(
        () => ['Helm upgrades although a revision is pending'],
        () => [],
      )
      await helm(fixture, major, 'rollback', 'web')
      await helm(fixture, major, ...upgrade(fixture, web({ image: 'v2' })))
      return refused
    },
  },
  {
    ...release,
    name: `helm-${major}-rollback-of-a-pending-upgrade`,
    setup: async (fixture) => {
      await install(fixture, major)
      const objects = [...web({ image: 'v2' }), hook('migrate', 'pre-upgrade', 'sleep 60')]
      const { child } = await startHelm(fixture, major, 2, 'pending-upgrade', ...upgrade(fixture, objects))
      child.kill('SIGKILL')
    },
    during: async (fixture) => {
      await helm(fixture, major, 'rollback', 'web')
      fixture.markDecided()
    },
    expect: { outcome: 'superseded', reason: 'rolled-back' },
  },
  {
    ...release,
    name: `helm-${major}-without-secrets`,
    setup: async (fixture) => {
      await createUser(fixture, user, readerRules())
      await helm(fixture, major, 'install', 'web', writeChart(fixture, web()))
    },
    kubeconfig: kubeconfigOfUser,
    expect: readyOutcome,
    decidedBy: deploymentComplete('web'),
    contains: { log: ['objects of these kinds are not gated, because they may not be listed'] },
    check: hasTargets(...ofWeb),
  },
  {
    ...release,
    name: `helm-${major}-umbrella-of-60-objects`,
    setup: async (fixture) => {
      const [own = [], ...others] = umbrella
      const more = [
        statefulSet('db', {}, { replicas: 1 }),
        appService('db', { clusterIP: 'None' }),
        daemonSet('agent'),
        hook('prepare', 'pre-install', 'true'),
        hook('greet', 'post-install', 'true'),
      ]
      const subcharts = Object.fromEntries(others.map((objects, index) => [`part-${index}`, objects]))
      await helm(fixture, major, 'install', 'web', writeChart(fixture, [...own, ...more], subcharts))
    },
    expect: readyOutcome,
    decidedBy: all(
      ...umbrellaWorkloads.map(deploymentComplete),
      ...parts.map((name) => conditionTrue('Job', `${name}-once`, 'Complete')),
    ),
    takesSeconds: 25,
    check: hasTargets(...umbrellaTargets),
  },
]

/** The releases of Helm 4. */
export const helmReleases = releasesOf(4).map((scenario) => ({ ...scenario, helm: 4 }) as const)

/** The same with Helm 3, whose build takes minutes more: they run only by name. */
export const helm3Releases = releasesOf(3).map((scenario) => ({ ...scenario, helm: 3 }) as const)
