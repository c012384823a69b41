import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { kubernetesVersions } from './cluster/layout.ts'

interface Job {
  readonly uses?: string
  readonly needs?: readonly string[]
  readonly permissions?: Readonly<Record<string, string>>
  readonly strategy?: { readonly matrix: { readonly kubernetes?: readonly string[] } }
  readonly steps?: readonly { readonly uses?: string; readonly run?: string }[]
  readonly 'timeout-minutes'?: number
}

interface Workflow {
  readonly defaults?: { readonly run?: { readonly shell?: string } }
  readonly jobs: Readonly<Record<string, Job>>
}

const folder = join(import.meta.dirname, '../.github/workflows')
const workflows = readdirSync(folder).map(
  (name) => [name, parse(readFileSync(join(folder, name), 'utf8')) as Workflow] as const,
)
const jobs = workflows.flatMap(([file, workflow]) =>
  Object.entries(workflow.jobs).map(([name, job]) => ({ name: `${file} ${name}`, workflow, job })),
)
const stepsOf = ({ steps = [] }: Job) => steps

it.each(jobs.filter(({ job }) => stepsOf(job).some(({ run }) => run)))(
  'the scripts of the job $name fail if a variable is not set',
  ({ workflow }) => {
    expect(workflow.defaults?.run?.shell).toBe('bash --noprofile --norc -euo pipefail {0}')
  },
)

it.each(jobs.filter(({ job }) => !job.uses))('the job $name has a time limit', ({ job }) => {
  expect(job['timeout-minutes']).toBeLessThanOrEqual(60)
})

describe('a release of the workflow', () => {
  const release = workflows.find(([name]) => name === 'release.yml')?.[1].jobs ?? {}

  it('is published after all tests, the check of dist/, and the run of the image', () => {
    expect(release['publish']?.needs).toEqual(['ci', 'e2e', 'versions', 'build', 'image'])
    expect(release['npm']?.needs).toContain('publish')
    expect(release['versions']?.strategy?.matrix.kubernetes?.map((each) => `v${each}`).toSorted()).toEqual(
      kubernetesVersions().toSorted(),
    )
    expect(stepsOf(release['build'] ?? {}).map(({ run }) => run)).toContain('npm run check:dist')
  })

  it('is tested and built without write access', () => {
    for (const name of ['ci', 'e2e', 'build']) expect(release[name]?.permissions).toEqual({ contents: 'read' })
  })

  it('is published by jobs that run no code of the repository or of a dependency', () => {
    for (const name of ['publish', 'npm']) {
      const steps = stepsOf(release[name] ?? {})
      expect(steps.filter(({ uses = '' }) => uses.startsWith('actions/checkout@'))).toEqual([])
      expect(steps.filter(({ run = '' }) => /npm (ci|install|run|test)|node |npx /.test(run))).toEqual([])
    }
  })
})
