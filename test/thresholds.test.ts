import { jest } from '@jest/globals'
import { readSources } from '../scripts/imports.ts'
import * as thresholds from '../src/thresholds.ts'

/** Each number becomes another one that is whole in hours, minutes, seconds and KiB, and above 1,000 in the last three. */
const turned = Object.fromEntries(Object.keys(thresholds).map((name, index) => [name, 921_600_000 * (index + 1)]))
jest.unstable_mockModule('../src/thresholds.ts', () => turned)
const { generatedFiles, root } = await import('../scripts/generated-files.ts')
const files = await generatedFiles()

const stated = new RegExp(
  [
    '(?<![\\w,.])\\d{1,3}(?:,\\d{3})? (?:ms|s|seconds|m|min|minutes|KiB|MiB|lines|bytes|characters|restarts|events|objects)\\b',
    '\\b(?:two|ten) minutes|three times|(?:second|third) (?:attempt|crash|death|time)\\b',
  ].join('|'),
  'g',
)

/** The times, sizes and counts that a text states by hand: those of `src/thresholds.ts` are turned. */
const statedIn = (text: string) => (text.match(stated) ?? []).toSorted()
/** Without code, and without the tables of measured rollouts. */
const proseOf = (file: string) =>
  (files.get(file) ?? '')
    .replace(/^```[\s\S]*?^```$|^\|.*(?:waits >|passed \d|✓ ready).*$/gm, '')
    .replace(/`[^`\n]*`/g, '')

// What is left are facts of Kubernetes, GitHub and other tools, and measurements.
const facts: Readonly<Record<string, readonly string[]>> = {
  'CONTRIBUTING.md': ['60 lines'],
  'action.yml': ['third crash'],
  'docs/guarantees.md': ['13 s', '15 minutes', '30 minutes', '300 s', '40 minutes', '40 s', '5 minutes'],
  'docs/credentials.md': ['15 minutes'],
  'docs/inputs.md': ['third crash'],
  'docs/migrating.md': ['10 minutes', '30 s'],
  'docs/recipes.md': ['second time'],
  'docs/troubleshooting.md': ['0 s', '13 s', '15 minutes', '30 s', '40 s', '50 s', '600 s'],
  'test/operators/README.md': ['16 s'],
}
// These contain measurements, and are written by what measures them.
const measured = new Set(['scripts/performance.md', 'test/reliability/results.md'])

it.each([...files.keys()].filter((name) => /\.(?:md|yml|json)$/.test(name) && !measured.has(name)))(
  '%s contains no threshold that is written by hand',
  (file) => {
    expect(statedIn(proseOf(file))).toEqual(facts[file] ?? [])
  },
)

it('no text in src states a number that decides something by hand', () => {
  const found = [...readSources(root)].flatMap(([path, text]) =>
    text
      .replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*$/gm, '')
      .split('\n')
      .flatMap((line) => statedIn(line).map((number) => `${path}: ${number}`)),
  )
  // The lengths of names are limits of Kubernetes and GitHub; the rest are examples.
  expect(found.toSorted()).toEqual([
    'src/cli/commands.ts: 10 minutes',
    'src/cli/commands.ts: 2 minutes',
    'src/cli/commands.ts: 20 minutes',
    'src/inputs.ts: 200 characters',
    'src/inputs.ts: 255 characters',
    'src/plan/names.ts: 253 characters',
  ])
})

it('a time or size with a name stands in src/thresholds.ts', () => {
  const found = [...readSources(root)].flatMap(([path, text]) =>
    path === 'src/thresholds.ts'
      ? []
      : [...text.matchAll(/^(?:export )?const (\w+(?:Ms|Seconds|Bytes)) = [\d_ *<.]+$/gm)].map(
          ([, name]) => `${path}: ${name}`,
        ),
  )
  // Units, what is faster, and what the views draw: they decide no outcome.
  expect(found.toSorted()).toEqual([
    'src/cli/terminal-log.ts: redrawMs',
    'src/cluster/follower.ts: momentMs',
    'src/entrypoints.ts: maxYoungBytes',
    'src/lifecycle/proof.ts: timestampUnitMs',
    'src/recording/reader.ts: readBytes',
    'src/recording/recording-schema.ts: maxOffsetMs',
    'src/report/gantt.ts: shortestBarMs',
    'src/views/view.ts: drawDelayMs',
    'src/views/view.ts: tickMs',
  ])
})
