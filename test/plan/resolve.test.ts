import fc from 'fast-check'
import type { WatchRequest } from '../../src/cluster/feed.ts'
import { UserError } from '../../src/errors.ts'
import { milestonesOf } from '../../src/lifecycle/rules.ts'
import { parseReferences } from '../../src/plan/parse-references.ts'
import { type PlanDefaults, resolveReferences, resolveTargets } from '../../src/plan/resolve.ts'
import { displayName, targetId } from '../../src/plan/target.ts'
import { rows, titled } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'
import { cpuMs } from '../support/cpu.ts'
import { parameters } from '../support/thorough.ts'
import { resources } from './discovery.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const defaults: PlanDefaults = { namespace: 'shop', milestones: ['created'], milestonesOf }

const resolve = (text: string, overrides: Partial<PlanDefaults> = {}) =>
  resolveReferences(parseReferences(text), resources, { ...defaults, ...overrides })

/**
 * The plan for lines.
 * @param matches the names that a selection matches, by its label selector (empty: `--all`), or its kind and that
 */
function plan(
  text: string,
  matches: Readonly<Record<string, readonly string[]>> = {},
  overrides?: Partial<PlanDefaults>,
) {
  return resolveTargets(
    resolve(text, overrides),
    ({ kind, labelSelector = '' }) => matches[`${kind} ${labelSelector}`] ?? matches[labelSelector] ?? [],
  )
}

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

it('a target by name has the flags and the place of its line', () => {
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

type Matches = Parameters<typeof plan>[1]

it.each(rows<[string, string, Matches, readonly string[], readonly string[]]>(data, 'what lines gate'))(
  '%s',
  (_, text, matches, expected, notices) => {
    const { targets, ...messages } = plan(text, matches)
    expect(targets.map((target) => `${target.namespace ?? ''}:${targetId(target)}`)).toEqual(expected)
    expect(messages.notices).toEqual(notices)
    for (const { name, selector } of targets) expect(selector === undefined).toBe(name !== '')
  },
)

it.each(rows<[string, string, Matches, Partial<PlanDefaults>, string]>(data, 'mistakes'))(
  '%s',
  (_, text, matches, overrides, message) => {
    expect(messageOf(() => plan(text, matches, overrides))).toMatch(toPattern(message))
  },
)

it('targets by name need no default namespace if each has its own', () => {
  expect(() => resolve('namespace/shop', { namespace: 'Not Valid' })).not.toThrow()
})

it('a selector that occurs several times is listed once, by kind, namespace and labels', () => {
  expect(resolve('deploy,deployments -l app=x\npods --all\nns -l a=b\n!deploy -l app=x -n shop').selections).toEqual([
    { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', labelSelector: 'app=x' },
    { apiVersion: 'v1', kind: 'Pod', namespace: 'shop' },
    { apiVersion: 'v1', kind: 'Namespace', labelSelector: 'a=b' },
  ])
})

it('a selector without a match is a target of its own that is not found', () => {
  const { targets } = plan('deploy -l app=x --timeout=5m\npods --all')
  expect(targets).toMatchObject([
    { kind: 'Deployment', name: '', selector: 'app=x', clocks: { timeoutMs: 300_000 } },
    { kind: 'Pod', name: '', selector: '' },
  ])
  expect(targets.map(displayName)).toEqual(['deployment -l app=x', 'pod --all'])
})

it('an exclude with --all needs no list', () => {
  expect(resolve('deploy/web\n!pods --all').selections).toEqual([])
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
])('a target on two lines has the flags of the line with flags: %j', (text) => {
  const { targets } = plan(text, { 'app=x': ['web'] })
  expect(targets.map(({ clocks, waitFor }) => ({ clocks, waitFor }))).toEqual([{ clocks: { timeoutMs: 1_200_000 } }])
})

it.each([
  "configmap/x --for=jsonpath='{.data.state}'",
  "configmap/x --for=jsonpath='{.metadata.name}'=x",
  "pod/x --for=jsonpath='{.data.state}'=ready",
])('a comparison with values that are not redacted is accepted: %s', (text) => {
  expect(() => resolve(text)).not.toThrow()
})

it('mistakes of lines and kinds are reported at once, in the order of the lines', () => {
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

it('a mistake about a kind is reported once for a line with several names', () => {
  expect(errorOf(() => resolve('deploymnt a b c\ndeploymnt d')).mistakes.map(({ line }) => line)).toEqual([1, 2])
})

it.each([
  ['pvc/x\ndeploy/y', ['bound', 'drained']],
  ['cert/x', ['observed']],
])('a milestone that one of the targets has is accepted: %j', (text, milestones) => {
  expect(() => resolve(text, { milestones })).not.toThrow()
})

it.each(titled(['Web', 'web_1', '-web', 'web-', 'web..api', '..', 'w'.repeat(254), 'wéb', 'a b']))(
  'the name "%s" is rejected',
  (_, name) => {
    expect(messageOf(() => resolve(`"deployment/${name}"`))).toContain('cannot be a name')
  },
)

it.each([
  ['two dots', '..'],
  ['an escape', 'a%2fb'],
  ['a space', 'a b'],
])('the name of an RBAC object with %s is rejected', (_, name) => {
  expect(messageOf(() => resolve(`clusterrole "${name}"`))).toContain('cannot be a name')
})

it('any text becomes a plan with valid targets or a UserError', () => {
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

it('any text of misspelt words is resolved quickly', () => {
  const text = Array.from({ length: 5_000 }, (_, i) => `deploy${i.toString(36)}x/web`).join('\n')
  const many = Array.from({ length: 20 }, () => resources).flat()
  const resolveAll = () => resolveReferences(parseReferences(text), many, defaults)
  expect(cpuMs(() => expect(resolveAll).toThrow(UserError))).toBeLessThan(5_000)
})
