import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { UserError } from '../../src/errors.ts'
import { mergeReferences, parseReferences, readTargetInputs } from '../../src/plan/parse-references.ts'
import { parseManifests } from '../../src/plan/read-manifests.ts'
import { resolveReferences } from '../../src/plan/resolve.ts'
import { type Plan, resolveTargets } from '../../src/plan/resolve-targets.ts'
import { targetId } from '../../src/plan/target.ts'
import { documentedBlock } from '../act/documented.ts'
import { rows, titled } from '../kit/rows.ts'
import { resources } from './discovery.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

const web = (more = '') => `apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n${more}`
const annotated = (name: string, value: string) => web(`  annotations: {rollout-gate/${name}: "${value}"}\n`)
const timeout = (text: string) => web(`  annotations: {rollout-gate/timeout: ${text}}\n`)

/** The plan for lines and for manifests by their file names. */
function plan(lines: string, manifests: Record<string, string> = {}, matches: string[] = []): Plan {
  let parsed = parseReferences(lines, 'resources', { alone: Object.keys(manifests).length === 0 })
  for (const [file, text] of Object.entries(manifests)) parsed = mergeReferences(parsed, parseManifests(text, file))
  const resolution = resolveReferences(parsed, resources, { namespace: 'shop', milestones: [], milestonesOf: () => [] })
  return resolveTargets(resolution, () => matches)
}

function mistakesOf(run: () => unknown): string[] {
  try {
    run()
  } catch (error) {
    if (error instanceof UserError) return [...error.message.split('\n'), error.reason]
    throw error
  }
  return []
}

it('manifests are targets at their lines, in the order of their files, in their own namespace or the default one', () => {
  const { targets, manifests } = plan('', {
    'a.yaml': `# two\n${web('  namespace: other\n')}---\napiVersion: v1\nkind: Namespace\nmetadata: {name: x}`,
    'b.yaml': 'apiVersion: v1\nkind: Service\nmetadata: {name: web}',
  })
  expect(targets).toEqual([
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      namespace: 'other',
      name: 'web',
      clocks: {},
      source: { file: 'a.yaml', line: 2 },
    },
    { apiVersion: 'v1', kind: 'Namespace', name: 'x', clocks: {}, source: { file: 'a.yaml', line: 8 } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      namespace: 'shop',
      name: 'web',
      clocks: {},
      source: { file: 'b.yaml', line: 1 },
    },
  ])
  expect([...manifests.keys()]).toEqual(targets)
})

it('manifests name their kind exactly, also when another group has that kind', () => {
  const text = 'apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: web}'
  expect(plan('', { 'a.yaml': text }).targets.map(targetId)).toEqual(['service.serving.knative.dev/web'])
})

it('manifests with generated names are notices, and a mistake when nothing else is gated', () => {
  const job = { 'job.yaml': '# a migration\napiVersion: batch/v1\nkind: Job\nmetadata: {generateName: migrate-}' }
  expect(plan('deploy/web', job)).toMatchObject({
    targets: [{ name: 'web' }],
    notices: [expect.stringMatching(/^job\.yaml, line 2 is skipped \(the server generates its name/)],
  })
  expect(mistakesOf(() => plan('', job))).toEqual([
    'job.yaml, line 2: Nothing is left to gate: the server generates the name of job/migrate-…. Pass the output of kubectl create in resources.',
    'input-invalid',
  ])
})

it('manifests of a cluster-wide kind have no namespace, and a written one is reported', () => {
  const text = 'apiVersion: v1\nkind: Namespace\nmetadata: {name: x, namespace: shop}'
  expect(plan('', { 'a.yaml': text })).toMatchObject({
    targets: [{ name: 'x' }],
    notices: ['a.yaml, line 1: namespaces have no namespace, so shop is not used.'],
  })
})

it('manifests that are skipped are reported with their places', () => {
  const text = `${annotated('skip', 'true')}---\napiVersion: v1\nkind: Service\nmetadata: {name: web}`
  expect(plan('', { 'a.yaml': text })).toMatchObject({
    targets: [{ kind: 'Service' }],
    notices: ['a.yaml, line 1 is skipped (rollout-gate/skip): deployment/web'],
  })
})

it('manifests of unknown kinds are reported with file and line, all at once', () => {
  const text =
    'apiVersion: acme.io/v1\nkind: Widget\nmetadata: {name: a}\n---\napiVersion: apps/v1beta1\nkind: Deployment\nmetadata: {name: b}'
  expect(mistakesOf(() => plan('wdiget/x', { 'a.yaml': text }))).toEqual([
    expect.stringMatching(/^resources, line 1: The server has no kind "wdiget"/),
    'a.yaml, line 2: The server has no kind "Widget" in acme.io/v1. Is its CustomResourceDefinition applied? "kubectl api-resources" lists all kinds.',
    'a.yaml, line 6: The server has no kind "Deployment" in apps/v1beta1, only in apps/v1. Change the apiVersion.',
    'kind-unknown',
  ])
})

it('manifests of a kind that a CustomResourceDefinition among them defines are targets', () => {
  const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.acme.io}
spec:
  group: acme.io
  scope: Cluster
  names: {kind: Widget, plural: widgets}
  versions: [{name: v1, served: true, storage: true}, {name: v1alpha1, served: false}]`
  const known = [
    ...resources,
    {
      ...resources[0],
      group: 'apiextensions.k8s.io',
      kind: 'CustomResourceDefinition',
      plural: 'customresourcedefinitions',
      namespaced: false,
    } as (typeof resources)[0],
  ]
  const widgetText = (version: string) => `---\napiVersion: acme.io/${version}\nkind: Widget\nmetadata: {name: a}`
  const resolve = (text: string) =>
    resolveTargets(
      resolveReferences(parseManifests(text, 'a.yaml'), known, {
        namespace: 'shop',
        milestones: [],
        milestonesOf: () => [],
      }),
      () => [],
    ).targets
  expect(resolve(`${definition}\n${widgetText('v1')}`)).toMatchObject([
    { kind: 'CustomResourceDefinition' },
    { apiVersion: 'acme.io/v1', kind: 'Widget', name: 'a' },
  ])
  expect(resolve(`${definition}\n${widgetText('v1')}`).map(({ namespace }) => namespace)).toEqual([
    undefined,
    undefined,
  ])
  expect(mistakesOf(() => resolve(`${definition}\n${widgetText('v1alpha1')}`))).toContain('kind-unknown')
})

it('manifests with the same object are a mistake that names both places, also through the default namespace', () => {
  const service = 'apiVersion: v1\nkind: Service\nmetadata: {name: web}'
  expect(
    mistakesOf(() =>
      plan('', { 'a.yaml': `${web()}---\n${web()}`, 'b.yaml': `${service}\n---\n${web('  namespace: shop\n')}` }),
    ),
  ).toEqual([
    'a.yaml, line 6: deployment/web is in line 1 too. Keep one of them, or exclude a file with "!".',
    'b.yaml, line 5: deployment/web is in a.yaml, line 1 too. Keep one of them, or exclude a file with "!".',
    'input-invalid',
  ])
})

it('resources and manifests together are all gated, each once, at the line of its manifest', () => {
  const { targets, manifests } = plan('deploy/web\npod/x', { 'a.yaml': timeout('5m') })
  expect(targets).toMatchObject([
    {
      kind: 'Deployment',
      clocks: { timeoutMs: 300_000 },
      source: { file: 'a.yaml', line: 1 },
    },
    { kind: 'Pod', source: { file: 'resources', line: 2 } },
  ])
  expect(manifests.get(targets[0] as never)?.file).toBe('a.yaml')
})

it('resources and manifests together may not contradict each other', () => {
  expect(mistakesOf(() => plan('deploy/web --timeout=1m', { 'a.yaml': timeout('5m') }))).toEqual([
    'a.yaml, line 1: deployment/web is named in resources, line 1 too, with other flags. Write all of them in one line.',
    'input-invalid',
  ])
})

it('resources and manifests together prefer a manifest to a selector', () => {
  const { targets } = plan('deploy -l app=web --timeout=1m', { 'a.yaml': timeout('5m') }, ['web'])
  expect(targets).toMatchObject([{ name: 'web', clocks: { timeoutMs: 300_000 }, source: { file: 'a.yaml' } }])
})

it('resources and manifests together let a line exclude an object of a manifest', () => {
  const service = '---\napiVersion: v1\nkind: Service\nmetadata: {name: web}'
  expect(plan('!svc/web', { 'a.yaml': `${web()}${service}` }).targets.map(targetId)).toEqual(['deployment.apps/web'])
})

describe('annotations of manifests', () => {
  it.each(rows<[string, string, string]>(data, 'annotations of manifests'))(
    'that skip %s leave nothing to gate, which is a mistake at the line of each',
    (_, lines, text) => {
      const found = mistakesOf(() => plan(lines, { 'a.yaml': text }))
      expect(found[0]).toBe(
        'a.yaml, line 1: Nothing is left to gate: rollout-gate/skip excludes deployment/web. Remove the annotation, or name in resources what must be ready.',
      )
      expect(found.at(-1)).toBe('input-invalid')
    },
  )

  it.each([
    ['skip', 'true', '--timeout=1m'],
    ['for', 'create', ''],
    ['for', 'delete', '-n shop'],
    ['for', 'condition=Ready', ''],
  ])('do not change when an object is ready that resources names: rollout-gate/%s=%s', (name, value, flags) => {
    const { targets } = plan(`deployment/web ${flags}`, { 'a.yaml': annotated(name, value) })
    expect(targets.map(({ waitFor }) => waitFor)).toEqual([undefined])
  })

  it('set the clocks of an object, as docs/recipes.md shows', () => {
    const text = documentedBlock('docs/recipes.md', 'Settings on an object', 'yaml', 'shop')
    const [target] = plan('', { 'a.yaml': text }).targets
    expect(target?.clocks).toEqual({ timeoutMs: 1_200_000, stallTimeoutMs: 600_000 })
  })

  it('that are not used are reported with their places', () => {
    expect(plan('deployment/web', { 'a.yaml': annotated('for', 'create') })).toMatchObject({
      annotations: [],
      notices: ['a.yaml, line 1: rollout-gate/for is not used: deployment/web is also named without --for.'],
    })
  })

  it.each(['', 'deploy --all', 'deployment.apps/web configured'])(
    'decide when an object is ready that is only selected or printed: "%s"',
    (lines) => {
      const { targets, annotations } = plan(lines, { 'a.yaml': annotated('for', 'create') }, ['web'])
      expect(targets).toMatchObject([{ waitFor: { type: 'create' } }])
      expect(annotations).toEqual(['rollout-gate/for=create of deployment/web'])
    },
  )
})

describe('inputs', () => {
  let workspace: string
  beforeEach(() => {
    workspace = mkdtempSync(join(tmpdir(), 'workspace-'))
    for (const [name, text] of Object.entries({
      'k8s/web.yaml': web(),
      'k8s/bad.yaml': 'kind: [',
      'k8s/values.yaml': 'a: 1',
    })) {
      mkdirSync(dirname(join(workspace, name)), { recursive: true })
      writeFileSync(join(workspace, name), text)
    }
  })
  afterEach(() => rmSync(workspace, { recursive: true, force: true }))

  it.each(titled([{}, { resources: '\n# nothing\n', manifests: ' ' }]))(
    'a mistake names resources and manifests when both are empty: %s',
    async (_, raw) => {
      expect((await readTargetInputs(raw, workspace)).mistakes).toEqual([
        {
          input: 'resources',
          message:
            'resources and manifests are both empty. Write one reference per line in resources, like deployment/web, or files in manifests. If an expression fills them, such as steps.apply.outputs.applied, check the names in it.',
        },
      ])
    },
  )

  it('manifests suffice beside resources that only exclude', async () => {
    const { references, mistakes } = await readTargetInputs(
      { resources: '!pod/x', manifests: 'k8s/web.yaml' },
      workspace,
    )
    expect(mistakes).toEqual([])
    expect(references).toMatchObject([{ exclude: true }, { kind: 'Deployment', name: 'web', line: 1 }])
  })

  it('the mistakes of resources and manifests are reported at once', async () => {
    const { mistakes } = await readTargetInputs({ resources: 'web', manifests: 'k8s/\n*.json\n!x.yaml' }, workspace)
    expect(mistakes.map(({ input, line }) => `${input}:${line}`)).toEqual([
      'resources:1',
      'manifests:2',
      'k8s/bad.yaml:1',
      'k8s/values.yaml:1',
    ])
  })

  it('an exclude in manifests that excludes nothing is a skipped line', async () => {
    const { skipped } = await readTargetInputs({ manifests: 'k8s/web.yaml\n!x.yaml' }, workspace)
    expect(skipped).toEqual([{ file: 'manifests', line: 2, text: '!x.yaml', why: 'it excludes nothing' }])
  })
})
