import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'
import { knownExtras } from '../src/inputs.ts'
import { readExpectations, recordedLines, recordingPath, recordingTitle, replayOnce } from './support/recordings.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const documents = [
  ...[
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'RELEASING.md',
    'SECURITY.md',
    'test/README.md',
    'test/threats.md',
    'test/cluster/README.md',
    'test/operators/README.md',
    'examples/README.md',
    'catalogue/README.md',
  ],
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
/** A document without its code blocks, where lines may begin with `#`. */
const prose = (path: string) => read(path).replace(/^```.*?^```$/gms, '')

/** The anchors that GitHub gives to the headings of a document. */
function anchors(path: string): ReadonlySet<string> {
  const headings = [...prose(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

it.each(documents)('%s links only to files and headings that exist', (document) => {
  const text = prose(document).replace(/(?<!\[)`[^`\n]*`/g, '')
  const links = [...text.matchAll(/\]\((?!https?:)([^)\s]+)\)|srcset="([^"]+)"|src="([^"]+)"/g)]
  const broken = links
    .map(([, link, srcset, src]) => link ?? srcset ?? src ?? '')
    .filter((link) => {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? document : join(dirname(document), path)
      if (!existsSync(join(root, target))) return true
      return anchor !== undefined && !anchors(target).has(anchor)
    })
  expect(broken).toEqual([])
})

it.each(['action.yml', 'merge/action.yml'])('%s links only to headings that exist', (file) => {
  const links = [...read(file).matchAll(/blob\/main\/(docs\/[\w-]+\.md)#([\w-]+)/g)]
  expect(links).not.toEqual([])
  expect(links.filter(([, page = '', anchor = '']) => !anchors(page).has(anchor)).map(([link]) => link)).toEqual([])
})

it('README.md, action.yml and the pages of docs do not exceed their size limits', () => {
  const size = (path: string) => Buffer.byteLength(read(path))
  const pages = documents.filter((path) => path.startsWith('docs/'))
  expect(size('README.md')).toBeLessThanOrEqual(9_000)
  expect(size('action.yml')).toBeLessThanOrEqual(14_000)
  expect(pages.reduce((sum, path) => sum + size(path), 0)).toBeLessThanOrEqual(160 * 1024)
})

// Until the name on npm is ours, the package of a stranger would run with the kubeconfig of the reader.
it.each([...documents.filter((path) => path !== 'RELEASING.md'), '.github/ISSUE_TEMPLATE/wrong-verdict.yml'])(
  '%s does not run rollout-gate from npm',
  (path) => {
    expect(read(path)).not.toMatch(/np[mx] (?:exec |install )?(?:-\S+ )*rollout-gate/)
  },
)

describe('docs/merging.md', () => {
  const text = read('docs/merging.md')
  const ruleset = JSON.parse(read('examples/ruleset.json'))

  it('lists each extra with its permission in the first ten lines', () => {
    const lines = text.split('\n', 10)
    for (const [name, { permission }] of Object.entries(knownExtras)) {
      expect(
        lines.filter((line) => line.startsWith(`| \`${name}\` `) && line.includes(`\`${permission}\``)),
      ).toHaveLength(1)
    }
  })

  /** The workflows that the section links to, by name. */
  const workflows = Object.fromEntries(
    [...text.matchAll(/\]\(\.\.\/examples\/workflows\/(preview|merge-queue|required)\.yml\)/g)].map(([, name = '']) => [
      name,
      parse(read(`examples/workflows/${name}.yml`)),
    ]),
  )

  it('links to a ruleset that requires a job of its workflows from GitHub Actions', () => {
    const { required_status_checks: required } = ruleset.rules[0].parameters
    // The ID of the app "GitHub Actions" on github.com.
    expect(required).toEqual([{ context: 'Rollout', integration_id: 15_368 }])
    const names = Object.entries(workflows).map(([name, { jobs }]) => [
      name,
      Object.entries<{ name?: string }>(jobs).map(([id, job]) => job.name ?? id),
    ])
    expect(Object.fromEntries(names)).toEqual({
      preview: ['preview'],
      'merge-queue': ['Rollout'],
      required: ['decide', 'deploy', 'Rollout'],
    })
  })

  it('links to workflows that start for each pull request and share no namespace', () => {
    for (const { on, jobs, concurrency } of Object.values(workflows)) {
      expect(on).toHaveProperty('pull_request')
      expect(JSON.stringify(on)).not.toContain('paths')
      const [job] = Object.values<{ env?: { NAMESPACE?: string }; steps: { id?: string; with?: object }[] }>(
        jobs,
      ).filter(({ steps }) => steps.some(({ id }) => id === 'gate'))
      expect(job?.steps.find(({ id }) => id === 'gate')?.with).toMatchObject({ resources: 'deployment/web' })
      expect(job?.env?.NAMESPACE).toMatch(/\$\{\{ github\.(event\.number|run_id) \}\}$/)
      // Groups of a merge queue that wait for each other would be cancelled.
      if ('merge_group' in on) expect(concurrency).toBeUndefined()
    }
  })

  it('links to a required workflow whose check job always runs', () => {
    expect(workflows['required'].jobs.rollout).toMatchObject({ if: 'always()', needs: ['decide', 'deploy'] })
  })
})

describe('multi-line outputs', () => {
  const texts = [
    ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`),
    ...readdirSync(join(root, 'examples/workflows')).map((name) => `examples/workflows/${name}`),
    'README.md',
  ]

  it.each(texts)('have no fixed delimiter in %s', (name) => {
    expect(read(name)).not.toMatch(/<<[\w-]+['"].*GITHUB_(?:OUTPUT|ENV)/)
  })
})

describe('the table of docs/troubleshooting.md', () => {
  /** The rows whose first cell has a message in code. */
  const rows = [...read('docs/troubleshooting.md').matchAll(/^\| ([^|]*`[^|]*) \|(.*)$/gm)].map(
    ([row, heading = '', rest = '']) => {
      const [, kind, name = ''] = /<!-- (recording|printed by): (.*?) -->/.exec(heading) ?? []
      const texts = heading.replace(/\(`[^`]+`\)/, '')
      const messages = [...texts.matchAll(/`([^`]+)`/g)].map(([, message = '']) => message)
      return { row, heading: texts, rest, kind, name, title: recordingTitle(name), messages }
    },
  )

  it('has rows from recordings and rows from messages of the gate', () => {
    expect(rows.filter(({ kind }) => kind === 'recording').length).toBeGreaterThan(15)
    expect(rows.filter(({ kind }) => kind === undefined).length).toBeGreaterThan(15)
  })

  it.each(rows.filter(({ kind }) => kind === 'recording'))(
    'has a row with the message and the reason of $title',
    async ({ row, name, messages }) => {
      const { entries } = await replayOnce(name)
      const shown = [...recordedLines(recordingPath(name)), JSON.stringify(entries)].join('\n')
      const [first = ''] = messages
      // Numbers of nodes, names and durations are of the example.
      if (!/\d|"/.test(first)) expect(shown).toContain(first)
      expect(row).toContain(`\`${readExpectations()[name]?.reason}\``)
    },
  )

  it.each(rows.filter(({ kind }) => kind === undefined))('quotes a message of the gate: $heading', ({ messages }) => {
    const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => read(join('src', name)))
      .join('\n')
    const parts = messages.flatMap((message) => message.split('…'))
    expect(parts.filter((part) => !sources.includes(part))).toEqual([])
  })
})

it('the log line that docs/architecture.md explains is in the log of its recording', async () => {
  const [, line = '', text = ''] = /^ (0:00) {2}\S+ {2}(.+)$/m.exec(read('docs/architecture.md')) ?? []
  const { entries } = await replayOnce('claim-pending')
  expect(line).toBe('0:00')
  expect(entries.map((entry) => entry.text)).toContain(text)
})
