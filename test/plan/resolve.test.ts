import fc from 'fast-check'
import type { WatchRequest } from '../../src/cluster/feed.ts'
import { UserError } from '../../src/errors.ts'
import { milestonesOf } from '../../src/lifecycle/rules.ts'
import { parseReferences } from '../../src/plan/parse-references.ts'
import { type PlanDefaults, resolveReferences } from '../../src/plan/resolve.ts'
import { resolveTargets } from '../../src/plan/resolve-targets.ts'
import { displayName, targetId } from '../../src/plan/target.ts'
import { titled } from '../kit/rows.ts'
import { cpuMs } from '../support/cpu.ts'
import { parameters } from '../support/thorough.ts'
import { resources } from './discovery.ts'

const defaults: PlanDefaults = { namespace: 'shop', milestones: ['created'], milestonesOf }

const resolve = (text: string, overrides: Partial<PlanDefaults> = {}) =>
  resolveReferences(parseReferences(text), resources, { ...defaults, ...overrides })

/** The plan for lines, where every selection matches the names of its label selector (empty: `--all`). */
function plan(text: string, matches: Record<string, string[]> = {}) {
  return resolveTargets(resolve(text), ({ labelSelector = '' }) => matches[labelSelector] ?? [])
}

const namesOf = (text: string, matches?: Record<string, string[]>) =>
  plan(text, matches).targets.map((target) => `${target.namespace ?? ''}:${targetId(target)}`)

function errorOf(run: () => unknown): UserError {
  try {
    run()
  } catch (error) {
    if (error instanceof UserError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

const messageOf = (run: () => unknown) => errorOf(run).message

it('targets by name contain the flags of their line, and its place', () => {
  expect(
    plan('# shop\ncert/tls -n web --timeout=1m --milestone-timeouts=ready=5s --for=condition=Ready').targets,
  ).toEqual([
    {
      apiVersion: 'cert-manager.io/v1',
      kind: 'Certificate',
      namespace: 'web',
      name: 'tls',
      clocks: { timeoutMs: 60_000, milestoneTimeoutsMs: { ready: 5_000 } },
      waitFor: { type: 'condition', condition: 'Ready', status: 'True' },
      source: { file: 'resources', line: 2 },
    },
  ])
})

it('targets by name have the default namespace when the line has none', () => {
  expect(namesOf('deploy/web\ndeploy/web -n other')).toEqual(['shop:deployment.apps/web', 'other:deployment.apps/web'])
})

it('targets by name have no namespace when their kind has none, and a written one is reported', () => {
  expect(plan('namespace/shop\nclusterrole/system:node -n web')).toMatchObject({
    targets: [{ name: 'shop' }, { name: 'system:node' }],
    notices: ['resources, line 2: clusterroles have no namespace, so web is not used.'],
  })
  expect(plan('namespace/shop').targets.map(({ namespace }) => namespace)).toEqual([undefined])
})

it('targets by name need no valid default namespace when none of them has one', () => {
  expect(() => resolve('namespace/shop', { namespace: 'Not Valid' })).not.toThrow()
  expect(messageOf(() => resolve('pod/x', { namespace: 'Not Valid' }))).toBe(
    'namespace: "Not Valid" cannot be a namespace: at most 63 lower-case letters, digits and "-", a letter or digit at both ends.',
  )
})

it('selectors are listed once each, narrowed by kind, namespace and labels', () => {
  expect(resolve('deploy,deployments -l app=x\npods --all\nns -l a=b\n!deploy -l app=x -n shop').selections).toEqual([
    { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', labelSelector: 'app=x' },
    { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' },
    { apiVersion: 'v1', kind: 'Namespace', labelSelector: 'a=b' },
  ])
})

it('selectors become one target for each name, in alphabetical order', () => {
  expect(namesOf('deploy,sts -l app=x', { 'app=x': ['b', 'a'] })).toEqual([
    'shop:deployment.apps/a',
    'shop:deployment.apps/b',
    'shop:statefulset.apps/a',
    'shop:statefulset.apps/b',
  ])
  expect(plan('deploy -l app=x', { 'app=x': ['a'] }).targets.map(({ selector }) => selector)).toEqual([undefined])
})

/** Only Deployments carry the label `app=web`. */
const only = (text: string) =>
  resolveTargets(resolve(text), ({ kind, labelSelector = '' }) =>
    kind === 'Deployment' && ['app=web', ''].includes(labelSelector) ? ['web'] : [],
  )

it.each(['deploy,sts -l app=web', 'sts,deploy -l app=web', 'deploy,sts,pod --all'])(
  'selectors of several kinds gate what the kinds with a match have: %s',
  (text) => {
    expect(only(text).targets.map(targetId)).toEqual(['deployment.apps/web'])
  },
)

it('selectors of several kinds name the kinds without a match in a notice', () => {
  expect(only('sts,deploy,pod -l app=web').notices).toEqual([
    'resources, line 1: no statefulset and no pod matches -l app=web.',
  ])
  expect(only('deploy,sts --all').notices).toEqual(['resources, line 1: there is no statefulset.'])
  expect(only('deploy -l app=web').notices).toEqual([])
})

it('selectors of several kinds are not-found when none of the kinds has a match', () => {
  expect(only('sts,pod -l app=web')).toMatchObject({
    targets: [
      { kind: 'StatefulSet', selector: 'app=web' },
      { kind: 'Pod', selector: 'app=web' },
    ],
    notices: [],
  })
})

it('selectors of several kinds do not count as matches of another line or namespace', () => {
  expect(only('deploy -l app=web\nsts -l app=web').targets).toMatchObject([{ name: 'web' }, { name: '' }])
})

it('selectors of several kinds that wait for a deletion wait for the kinds with a match', () => {
  expect(only('deploy,sts -l app=web --for=delete')).toMatchObject({
    targets: [{ name: 'web' }],
    notices: ['resources, line 1: no statefulset matches -l app=web.'],
  })
})

it('selectors of several kinds may lose every match to an exclude', () => {
  expect(messageOf(() => only('deploy,sts -l app=web\n!deploy/web'))).toMatch(/leave nothing to gate/)
})

it('selectors that match nothing are targets of their own, to be not-found', () => {
  const { targets } = plan('deploy -l app=x --timeout=5m\npods --all')
  expect(targets).toMatchObject([
    { kind: 'Deployment', name: '', selector: 'app=x', clocks: { timeoutMs: 300_000 } },
    { kind: 'Pod', name: '', selector: '' },
  ])
  expect(targets.map(displayName)).toEqual(['deployment -l app=x', 'pod --all'])
  expect(targets.map(targetId)).toEqual(['deployment.apps -l app=x', 'pod --all'])
})

it('different selectors that match nothing are different targets', () => {
  expect(namesOf('deploy -l app=x\ndeploy -l app=y\ndeploy -l app=x')).toEqual([
    'shop:deployment.apps -l app=x',
    'shop:deployment.apps -l app=y',
  ])
})

it('selectors that match nothing are done when they wait for a deletion', () => {
  expect(plan('pods -l app=x --for=delete')).toMatchObject({
    targets: [],
    notices: ['resources, line 1: nothing matches, so nothing is left to be deleted.'],
  })
})

it('excludes of a kind with --all apply to every name without a list', () => {
  const text = 'deploy/web\npod/a\npod/a -n other\npod -l app=x\n!pods --all'
  expect(namesOf(text, { 'app=x': ['db'] })).toEqual(['shop:deployment.apps/web', 'other:pod/a'])
  expect(resolve('deploy/web\n!pods --all').selections).toEqual([])
})

it('excludes leave out what they name, in any order of lines', () => {
  expect(namesOf('!deploy/a\ndeploy -l app=x\ndeploy/c', { 'app=x': ['a', 'b'] })).toEqual([
    'shop:deployment.apps/b',
    'shop:deployment.apps/c',
  ])
  expect(namesOf('pod/a\npod/b\n!pods -l app=x', { 'app=x': ['a'] })).toEqual(['shop:pod/b'])
})

it('excludes do not apply to other namespaces or kinds', () => {
  expect(namesOf('deploy/web\n!deploy/web -n other\n!sts/web')).toEqual(['shop:deployment.apps/web'])
})

it('excludes that leave out nothing are reported', () => {
  expect(plan('deploy/web\n!deploy/wbe').notices).toEqual([
    'resources, line 2: excludes deploy/wbe, which no line names.',
  ])
})

it.each([
  ['deploy -l app=x\n!deploy/a', 2],
  ['deploy/a\n!deploy/a', 2],
  ['!deploy --all\ndeploy/a\nservice/old deleted', 1],
  ['deploy -l app=none\n!deploy --all', 2],
])('excludes that leave nothing to gate are a mistake: %j', (text, line) => {
  expect(messageOf(() => plan(text, { 'app=x': ['a'] }))).toBe(
    `resources, line ${line}: The excludes leave nothing to gate. Remove "!" before a resource to gate.`,
  )
})

it('a target that is named twice is gated once, at its first place', () => {
  const { targets } = plan('deploy/web\npod/x\ndeployment.apps/web configured\nDeployment web\ndeployments.v1.apps/web')
  expect(targets.map((target) => [target.name, target.source?.line])).toEqual([
    ['web', 1],
    ['x', 2],
  ])
})

it.each([
  ['deployment.apps/web configured\ndeploy/web --timeout=20m'],
  ['deploy/web --timeout=20m\ndeploy/web\nDeployment web --timeout=20m'],
  ['deploy/web --timeout=20m\ndeploy -l app=x --timeout=5m --for=create'],
  ['deploy -l app=x --timeout=5m --for=create\ndeploy/web --timeout=20m'],
])('a target that is named twice has the flags of the line that names it with flags: %j', (text) => {
  const { targets } = plan(text, { 'app=x': ['web'] })
  expect(targets.map(({ clocks, waitFor }) => ({ clocks, waitFor }))).toEqual([{ clocks: { timeoutMs: 1_200_000 } }])
})

it.each([
  ['deploy/web --timeout=1m', 'deploy/web --timeout=2m'],
  ['deploy/web --milestone-timeouts=ready=1m', 'deploy/web --stall-timeout=1m'],
  ['deploy/web --for=create', 'deploy/web --for=delete'],
  ['deploy -l app=x --for=create', 'deploy --all --timeout=1m'],
])('a target that is named twice with other flags is a mistake: %s, %s', (first, second) => {
  expect(messageOf(() => plan(`${first}\n${second}`, { 'app=x': ['web'], '': ['web'] }))).toBe(
    'resources, line 2: deployment/web is named in resources, line 1 too, with other flags. Write all of them in one line.',
  )
})

it('nothing to gate is an empty plan when every line was skipped, and all are reported', () => {
  expect(plan('deployment.apps "web" deleted\nWarning: x')).toMatchObject({
    targets: [],
    notices: [
      'resources, line 1 is skipped (deleted): deployment.apps "web" deleted',
      'resources, line 2 is skipped (a warning): Warning: x',
    ],
  })
})

it('nothing to gate is a mistake when nothing is named', () => {
  expect(messageOf(() => resolve(''))).toMatch(/^resources: No resource is named/)
})

it('a comparison with the values of a ConfigMap, which are redacted, is a mistake', () => {
  const message = (text: string) => messageOf(() => resolve(text))
  expect(message("configmap/x --for=jsonpath='{.data.state}'=ready")).toBe(
    'resources, line 1: Values of a ConfigMap are redacted, so --for cannot compare them. Omit the value to wait for the key.',
  )
  expect(message("configmap/x --for=jsonpath='{.binaryData.state}'=ready")).toContain('are redacted')
  expect(() => resolve("configmap/x --for=jsonpath='{.data.state}'")).not.toThrow()
  expect(() => resolve("configmap/x --for=jsonpath='{.metadata.name}'=x")).not.toThrow()
  expect(() => resolve("pod/x --for=jsonpath='{.data.state}'=ready")).not.toThrow()
})

it('mistakes of the lines and of their kinds are reported at once, in the order of the lines', () => {
  const error = errorOf(() =>
    resolve('deploymnt/web\nservice/Web\npod/x --timeout=5\njob/x --milestone-timeouts=pulled=1m\nall --all\npvc/ok'),
  )
  expect(error.message.split('\n').map((line) => line.slice(0, 60))).toEqual(
    [
      'resources, line 1: The server has no kind "deploymnt". Did yo',
      'resources, line 2: "Web" cannot be a name: at most 253 lower-',
      'resources, line 3: --timeout: "5" has no unit. Write 5s for s',
      'resources, line 4: "pulled" is not a milestone of Job. There are',
      'resources, line 5: "all" is a category of many kinds. Name the',
    ].map((line) => line.slice(0, 60)),
  )
  expect(error.reason).toBe('kind-unknown')
})

it('an error with several mistakes has the reason of the first mistake', () => {
  expect(errorOf(() => resolve('pod/X\ndeploymnt/web')).reason).toBe('input-invalid')
  expect(errorOf(() => resolve('pod/x\ndeploymnt/web')).reason).toBe('kind-unknown')
})

it('mistakes of a kind are reported once for a line with many names', () => {
  expect(errorOf(() => resolve('deploymnt a b c\ndeploymnt d')).mistakes.map(({ line }) => line)).toEqual([1, 2])
})

it('mistakes name a kind that cannot be listed', () => {
  expect(messageOf(() => resolve('tokenreview/x'))).toBe(
    'resources, line 1: Objects of kind "tokenreview" cannot be listed, so there is nothing to watch. Leave the line out.',
  )
})

it('mistakes name a milestone that no target has', () => {
  expect(messageOf(() => resolve('pvc/x\njob/y', { milestones: ['created', 'ready', 'bound'] }))).toBe(
    'milestone-timeouts: "ready" is not a milestone of PersistentVolumeClaim, Job. There are created, provisioned, bound, started, succeeded, complete.',
  )
  expect(() => resolve('pvc/x\ndeploy/y', { milestones: ['bound', 'drained'] })).not.toThrow()
  expect(() => resolve('cert/x', { milestones: ['observed'] })).not.toThrow()
})

it.each(titled(['Web', 'web_1', '-web', 'web-', 'web..api', '..', 'w'.repeat(254), 'wéb', 'a b']))(
  'the name "%s" is refused',
  (_, name) => {
    expect(messageOf(() => resolve(`"deployment/${name}"`))).toContain('cannot be a name')
  },
)

it.each([
  ['two dots', '..'],
  ['an escape', 'a%2fb'],
  ['a space', 'a b'],
])('a name with %s is refused even where names are free', (_, name) => {
  expect(messageOf(() => resolve(`clusterrole "${name}"`))).toContain('cannot be a name')
})

it('any text becomes a plan of valid targets or a UserError', () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom(
      'deploy/a',
      'deploy -l a=b',
      '!deploy/a',
      'pod a b --timeout=1m',
      'ns/x -n y',
      'pods --all',
      'pod/a deleted',
    ),
  )
  const list = (_: WatchRequest) => ['a', 'b']
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      try {
        for (const target of resolveTargets(resolve(lines.join('\n')), list).targets) {
          expect(target.name).toMatch(/^[a-z0-9.-]+$/)
        }
      } catch (error) {
        expect(error).toBeInstanceOf(UserError)
      }
    }),
    parameters,
  )
})

it('any text is resolved quickly when every word is a typo', () => {
  const text = Array.from({ length: 5_000 }, (_, i) => `deploy${i.toString(36)}x/web`).join('\n')
  const many = Array.from({ length: 20 }, () => resources).flat()
  const resolveAll = () => resolveReferences(parseReferences(text), many, defaults)
  expect(cpuMs(() => expect(resolveAll).toThrow(UserError))).toBeLessThan(5_000)
})
