import { readFileSync } from 'node:fs'
import type { CatalogueEntry } from '../src/lifecycle/custom/catalogue-files.ts'
import { entrySchema } from '../src/plan/health-check-schema.ts'
import type { ResultRow } from '../test/operators/results.ts'
import { table } from './markdown.ts'

/** A file of the catalogue: the entries of a project or a field. */
export interface CatalogueProject {
  /** Without `.yaml`. */
  readonly name: string
  readonly entries: readonly CatalogueEntry[]
}

/**
 * `docs/operators.md`: which kinds of operators the catalogue has, and what an entry contains.
 */
export function operatorDocs(projects: readonly CatalogueProject[]): string {
  const kinds = projects.flatMap(({ entries }) => entries)
  const groups = new Set(kinds.map(({ group }) => group))
  return [
    '# Operators',
    '',
    'Made from [`catalogue/`](../catalogue/README.md) by `npm run docs`.',
    '',
    `The ${kinds.length} kinds of these ${groups.size} API groups are judged by what their operators write, in any version. Each file has the`,
    'expressions for ready and failed, the cause, and a link to their source.',
    'The input `health-check-exprs` overrides an entry, and `--for` overrides both. Kinds without an entry are judged',
    'by the [conventions for a status](reference.md#kinds).',
    '',
    ...table(
      ['entries', 'kinds'],
      projects.map(({ name, entries }) => [
        `[${name}](../catalogue/${name}.yaml)`,
        // Two groups may have the same kind.
        [...new Set(entries.map(({ kind, group }) => (kind === '*' ? `all others of \`${group}\`` : kind)))].join(', '),
      ]),
    ),
    '',
    'The latest run with real controllers: [results](../test/operators/README.md#results).',
    '',
    ...entryFormat,
  ].join('\n')
}

/** The table of the latest run of `npm run test:operators`, for `test/operators/README.md`. */
export function operatorResults(file: string): readonly string[] {
  const rows = Object.values(JSON.parse(readFileSync(file, 'utf8')) as Readonly<Record<string, ResultRow>>)
  const byOperator = Map.groupBy(rows, ({ operator, version }) => `${operator} ${version}`.trim())
  return table(
    ['operator', 'states', 'right', 'names the cause', 'slowest verdict of a race'],
    [...byOperator].map(([operator, states]) => {
      const delays = states.flatMap(({ verdictDelaySeconds }) => verdictDelaySeconds ?? [])
      const caused = states.filter(({ causeNamed }) => causeNamed !== undefined)
      return [
        operator,
        [...new Set(states.map(({ state }) => state))].join(', '),
        `${states.filter(({ truth, outcome, isEarly }) => truth.includes(outcome) && !isEarly).length} of ${states.length}`,
        `${caused.filter(({ causeNamed }) => causeNamed).length} of ${caused.length}`,
        delays.length === 0 ? '' : `${Math.max(...delays).toFixed(1)} s`,
      ]
    }),
  )
}

const entryFormat = [
  '## Entries',
  '',
  'A file of the input `health-check-exprs` and a file of the catalogue have the same format: a YAML list with one entry a kind.',
  '',
  '<!-- not run: there is no such operator -->',
  '',
  '```yaml',
  '- group: widgets.example.com',
  '  kind: Widget',
  '  documentation: https://example.com/widgets/status',
  "  current: isTrue('Ready')",
  "  failed: isTrue('Stalled')",
  "  cause: [messageOf('Ready')]",
  '```',
  '',
  ...table(
    ['field', 'is'],
    Object.entries(entrySchema.shape).map(([name, schema]) => [`\`${name}\``, schema.meta()?.description ?? '']),
  ),
  '',
  'The expressions are [CEL](https://cel.dev) over the object. An expression that reads a missing field is false. They are evaluated in',
  'this order: in progress, suspended, failed, ready; if none is true, the object is in progress. If the status is about an older',
  'generation, the object is in progress. Conditions of an older generation are ignored. If a status has none of the fields in the',
  'expressions for ready and failed, the general conventions decide: another version of the operator may have written it. A failure must',
  'last <!-- reportedFailureMs --><!-- / -->. For a suspended object, the gate waits until a clock runs out (reasons `paused` and `suspended`).',
  'While the status is about an older version of the object that it `follows`, the object is in progress too; with `every`, no longer than',
  'this interval and the settle time after the change, because some changes start nothing.',
  '',
  'Three functions read `status.conditions`; their arguments are texts in quotes:',
  '',
  "- `isTrue('Ready')`: the condition is True. `isTrue('Ready', 'Synced', 'Healthy')`: with one of these reasons.",
  "- `isFalse('Ready', 'InvalidConfig')`: the condition is False, with or without reasons.",
  "- `messageOf('Ready')`: the message of the condition while it is not True; `messageOf('Degraded', 'False')`: while it is not False.",
  '',
  'An entry can take the fields of another one: `<<: *widget` takes those of `- &widget`.',
  '',
]
