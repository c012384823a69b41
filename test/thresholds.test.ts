import { jest } from '@jest/globals'
import * as thresholds from '../src/thresholds.ts'

/** Each number becomes another one that is whole in hours, minutes, seconds and KiB, and above 1,000 in the last three. */
const turned = Object.fromEntries(Object.keys(thresholds).map((name, index) => [name, 921_600_000 * (index + 1)]))
jest.unstable_mockModule('../src/thresholds.ts', () => turned)
const files = await (await import('../scripts/generated-files.ts')).generatedFiles()

/** The times and sizes below 1,000 that a text states outside of code. */
function statedIn(file: string): readonly string[] {
  const prose = (files.get(file) ?? '').replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, '')
  return (prose.match(/(?<![\w,])\d{1,3} ?(?:ms|s|seconds|m|minutes|KiB|lines|bytes|restarts)\b/g) ?? []).toSorted()
}

// What is left are facts of Kubernetes, GitHub and other tools, and measurements.
it.each<[string, readonly string[]]>([
  ['action.yml', []],
  ['docs/inputs.md', []],
  ['docs/reference.md', []],
  ['docs/github.md', []],
  ['SECURITY.md', []],
  ['docs/migrating.md', ['10 minutes', '13 s', '30 s']],
  [
    'docs/clocks.md',
    [
      '1 s',
      '10 s',
      '13 s',
      '13 s',
      '15 minutes',
      '30 minutes',
      '300 s',
      '40 minutes',
      '40 s',
      '5 minutes',
      '75 seconds',
    ],
  ],
  ['docs/troubleshooting.md', ['0 s', '13 s', '15 minutes', '30 s', '40 s', '50 s', '600 s']],
])('no number of src/thresholds.ts is written by hand in %s', (file, facts) => {
  expect(statedIn(file)).toEqual(facts)
})
