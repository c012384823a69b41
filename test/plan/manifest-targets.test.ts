import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { UserError } from '../../src/errors.ts'
import { mergeReferences, parseReferences, readTargetInputs } from '../../src/plan/parse-references.ts'
import { parseManifests } from '../../src/plan/read-manifests.ts'
import { type Plan, resolveReferences, resolveTargets } from '../../src/plan/resolve.ts'
import { nameKey, type Target, targetId } from '../../src/plan/target.ts'
import { documentedBlock } from '../act/documented.ts'
import { rows, titled } from '../kit/rows.ts'
import { toPattern } from '../kit/words.ts'
import { resources } from './discovery.ts'

const data = import.meta.filename.replace('.test.ts', '.yaml')

/** The plan for lines and for manifests by their file names, where every selection matches web. */
function plan(lines: string, manifests: Readonly<Record<string, string>> = {}): Plan {
  let parsed = parseReferences(lines, 'resources', { alone: Object.keys(manifests).length === 0 })
  for (const [file, text] of Object.entries(manifests)) parsed = mergeReferences(parsed, parseManifests(text, file))
  const resolution = resolveReferences(parsed, resources, { namespace: 'shop', milestones: [], milestonesOf: () => [] })
  return resolveTargets(resolution, () => ['web'])
}

/** A target with its place, and what its flags or annotations say: `shop:pod/x resources:2 --timeout=60s --for=create`. */
function textOf({ namespace = '', source, clocks, waitFor, ...target }: Target): string {
  const flags = [
    ...(clocks.timeoutMs === undefined ? [] : [`--timeout=${clocks.timeoutMs / 1_000}s`]),
    ...(waitFor === undefined ? [] : [`--for=${waitFor.type}`]),
  ]
  return [`${namespace}:${targetId(target)}`, `${source?.file}:${source?.line}`, ...flags].join(' ')
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

type Manifests = Readonly<Record<string, string>>

it.each(
  rows<[string, string, Manifests, readonly string[], readonly string[], readonly string[]]>(
    data,
    'what lines and manifests gate',
  ),
)('%s', (_, lines, files, expected, notices, annotations) => {
  const { targets, manifests, ...messages } = plan(lines, files)
  expect(targets.map(textOf)).toEqual(expected)
  expect(messages).toEqual({ notices, annotations })
  expect([...manifests.keys()]).toEqual(targets.filter(({ source }) => source?.file !== 'resources').map(nameKey))
})

it.each(rows<[string, string, Manifests, readonly string[]]>(data, 'mistakes'))('%s', (_, lines, files, expected) => {
  expect(mistakesOf(() => plan(lines, files))).toEqual(expected.map((words) => expect.stringMatching(toPattern(words))))
})

it('annotations set the clocks of an object, as docs/recipes.md shows', () => {
  const text = documentedBlock('docs/recipes.md', 'Settings on an object', 'yaml', 'shop')
  const [target] = plan('', { 'a.yaml': text }).targets
  expect(target?.clocks).toEqual({ timeoutMs: 1_200_000, stallTimeoutMs: 600_000 })
})

describe('inputs', () => {
  let workspace: string
  beforeEach(() => {
    workspace = mkdtempSync(join(tmpdir(), 'workspace-'))
    for (const [name, text] of Object.entries({
      'k8s/web.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n',
      'k8s/bad.yaml': 'kind: [',
      'k8s/values.yaml': 'a: 1',
    })) {
      mkdirSync(dirname(join(workspace, name)), { recursive: true })
      writeFileSync(join(workspace, name), text)
    }
  })
  afterEach(() => rmSync(workspace, { recursive: true, force: true }))

  it.each(titled([{}, { resources: '\n# nothing\n', manifests: ' ' }]))(
    'an error names resources and manifests if both are empty: %s',
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

  it('manifests are sufficient beside resources with only excludes', async () => {
    const { references, mistakes } = await readTargetInputs(
      { resources: '!pod/x', manifests: 'k8s/web.yaml' },
      workspace,
    )
    expect(mistakes).toEqual([])
    expect(references).toMatchObject([{ exclude: true }, { kind: 'Deployment', name: 'web', place: { line: 1 } }])
  })

  it('mistakes of resources and manifests are reported at once', async () => {
    const { mistakes } = await readTargetInputs({ resources: 'web', manifests: 'k8s/\n*.json\n!x.yaml' }, workspace)
    expect(mistakes.map(({ input, line }) => `${input}:${line}`)).toEqual([
      'resources:1',
      'manifests:2',
      'k8s/bad.yaml:1',
      'k8s/values.yaml:1',
    ])
  })

  it('an exclude in manifests that excludes nothing is reported as skipped', async () => {
    const { skipped } = await readTargetInputs({ manifests: 'k8s/web.yaml\n!x.yaml' }, workspace)
    expect(skipped).toEqual([{ place: { input: 'manifests', line: 2 }, text: '!x.yaml', why: 'it excludes nothing' }])
  })
})
