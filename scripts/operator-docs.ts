import { existsSync, readFileSync } from 'node:fs'
import type { CatalogueEntry, CatalogueGroup } from '../src/lifecycle/custom/catalogue/entry.ts'
import type { ResultRow } from '../test/operators/results.ts'
import { table } from './markdown.ts'

/**
 * `docs/operators.md`: when the kinds of popular operators are ready, from the catalogue.
 * @param resultsFile the results of `npm run test:operators`; without it the document has no table of them
 */
export function operatorDocs(groups: readonly CatalogueGroup[], resultsFile: string): string {
  const sorted = groups.toSorted((one, other) => sortKey(one).localeCompare(sortKey(other)))
  const kinds = sorted.flatMap(({ entries }) => entries)
  return [
    '# Operators',
    '',
    'Made from `src/lifecycle/custom/catalogue/` by `npm run docs`.',
    '',
    `The ${kinds.length} kinds of these ${sorted.length} API groups are judged by what their operators write, in any version. The`,
    'input `health-checks` overrides the entry of a kind, and `--for` overrides both. Kinds without an entry are judged by the',
    'general conventions for a status ([Kinds and reasons](reference.md#kinds)).',
    '',
    'The expressions are [CEL](https://cel.dev) over the object, as in `health-checks`. An expression that reads a missing field is',
    'false. They are evaluated in this order: in progress ("not while"), suspended, failed, ready; if none is true, the object is in',
    'progress. If the status is about an older generation, the object is in progress. Conditions of an older generation are ignored.',
    'If a status has none of the fields in the expressions for ready and failed, the general conventions decide: another version of the',
    'operator may have written it. A failure must last 10 s. For a suspended object, the gate waits until a clock runs out (reasons',
    '`paused` and `suspended`).',
    '',
    'Each kind links the source or documentation that its entry is based on. Additional milestones, between `observed` and `ready`,',
    'are listed below its name. The files of the catalogue contain more: which message is the cause, what stops the stall clock, and',
    'which owned objects explain the state.',
    '',
    sorted.map(({ group }) => `[${group}](#${anchorOf(group)})`).join(' · '),
    '',
    ...resultsTable(resultsFile),
    ...sorted.flatMap(({ group, entries }) => [
      `## ${group}`,
      '',
      ...table(['kind', 'ready', 'failed', 'suspended'], entries.map(cellsOf)),
      '',
    ]),
    ...adding,
  ].join('\n')
}

/** Sorts groups of one project together: `elastic.co k8s kibana`. */
function sortKey({ group }: CatalogueGroup): string {
  const parts = group.replace('*.', '').split('.')
  return [parts.slice(-2).join('.'), ...parts.slice(0, -2).reverse()].join(' ')
}

/** The anchor that GitHub gives a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-')
}

function cellsOf({
  kind,
  documentation,
  current,
  failed,
  inProgress,
  suspended,
  resume,
  awaitsWorkloads,
  awaits,
  follows,
  milestones = [],
}: CatalogueEntry): readonly string[] {
  const stages = milestones.map(({ name }) => `<br>\`${name}\``).join('')
  const progress = inProgress === undefined ? '' : `<br>not while ${expression(inProgress)}`
  const workloads = awaitsWorkloads ? '<br>and the workloads that it owns are ready' : ''
  const awaited = awaits === undefined ? '' : `<br>and the ${awaits.kind} ${expression(awaits.name)} is ready`
  const followed =
    follows === undefined ? '' : `<br>after it has compared its ${follows.kinds.map((each) => each.kind).join(' or ')}`
  const resumed = resume === undefined ? '' : `<br>resumed by ${expression(resume)}`
  return [
    `[${kind === '*' ? 'all other kinds' : kind}](${documentation})${stages}`,
    `${current === 'true' ? 'once it exists' : expression(current)}${progress}${workloads}${awaited}${followed}`,
    failed === undefined ? '' : expression(failed),
    suspended === undefined ? '' : `${expression(suspended)}${resumed}`,
  ]
}

function expression(source: string): string {
  return `\`${source.replace(/\s+/g, ' ').trim()}\``
}

function resultsTable(file: string): readonly string[] {
  if (!existsSync(file)) return []
  const rows = Object.values(JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, ResultRow>>)
  return [
    '## Measured with real operators',
    '',
    'The latest run of `npm run test:operators` ([how](../test/operators/README.md)): real controllers on a real cluster.',
    '',
    ...table(
      ['operator', 'state', 'what happens', 'expected', 'outcome', 'after', 'names the cause'],
      rows.map(({ operator, version, state, note, truth, outcome, reason, seconds, isEarly, causeNamed }) => [
        `${operator} ${version}`.trim(),
        state,
        note,
        truth.join(' or '),
        `${truth.includes(outcome) && !isEarly ? '✓' : '✗'} ${isEarly ? 'too early ' : ''}${outcome}${reason === '' ? '' : ` (\`${reason}\`)`}`,
        `${seconds} s`,
        causeNamed === undefined ? '' : causeNamed ? 'yes' : 'no',
      ]),
    ),
    '',
  ]
}

const adding = [
  '## Adding a kind',
  '',
  'An entry is data: some twenty lines in `src/lifecycle/custom/catalogue/<project>.ts`. `entry.ts` beside it describes every field.',
  '',
  '```ts',
  'export const widgets: CatalogueGroup = {',
  "  group: 'widgets.example.com',",
  '  entries: [',
  '    {',
  "      kind: 'Widget',",
  "      documentation: 'https://example.com/widgets/status',",
  "      current: `status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')`,",
  "      failed: `status.conditions.exists(c, c.type == 'Stalled' && c.status == 'True')`,",
  "      cause: [`status.conditions.filter(c, c.status == 'False').map(c, c.message)`],",
  '    },',
  '  ],',
  '}',
  '```',
  '',
  '1. Read in the source of the operator which fields its controller writes, and when: `documentation` links it. Check for',
  '   each expression which state of the controller makes it true too early.',
  '2. Add a line to `groups.ts` if the file is new, and to `milestoneNames` in `src/inputs.ts` if a milestone is.',
  '3. Test it in `test/lifecycle/custom/catalogue/<project>.test.ts` with objects as the operator writes them: healthy, progressing,',
  '   failed, of an older generation, suspended. `cert-manager.test.ts` is an example; `catalogue.test.ts` checks every entry.',
  '4. `npm run docs` writes this document.',
  '',
]
