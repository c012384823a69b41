import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compile, type JSONSchema } from 'json-schema-to-typescript'
import { reportJsonSchema } from '../src/gate/report-schema.ts'
import { inputDefinitions, mergeInputDefinitions } from '../src/inputs.ts'
import type { CatalogueEntry } from '../src/lifecycle/custom/catalogue-files.ts'
import { kindsReadyOnceCreated, knownKinds } from '../src/lifecycle/rules.ts'
import { parseEntries } from '../src/plan/health-checks.ts'
import { recordingJsonSchema } from '../src/recording/recording-schema.ts'
import * as thresholds from '../src/thresholds.ts'
import { actionMetadata, actionTypes } from './action-metadata.ts'
import { architectureDiagram, readSources } from './imports.ts'
import { renderThresholds, replaceRegion, table } from './markdown.ts'
import { operatorDocs, operatorResults } from './operator-docs.ts'
import { comparisonPage, inputPage, readmeDocs, versionTable } from './readme-docs.ts'
import { reasonTable } from './reason-docs.ts'

/** The checkout. */
export const root = join(import.meta.dirname, '..')
const present = (name: string) => readFileSync(join(root, name), 'utf8')

/**
 * The files that are generated, or have marked regions or thresholds that are; each with its content:
 *
 * - `action.yml`, `action-types.yml`, those of `merge/`, `docs/inputs.md`: the inputs and outputs
 * - README, `docs/migrating.md`: the comparison with other tools; README: a log, figures
 * - `docs/reference.md`: every kind with its milestones and rule, every reason with its class, proof and fix
 * - `docs/operators.md`: the catalogue of operators; `test/operators/README.md`: the results with real ones
 * - `CONTRIBUTING.md`: the picture of the imports
 * - `docs/guarantees.md`: the runs of scenarios on each version of Kubernetes
 * - `schemas/`: the JSON Schemas of report and recording, with their TypeScript types
 * - the other documents: the thresholds in them
 */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  const names = readdirSync(join(root, 'catalogue')).filter((name) => name.endsWith('.yaml'))
  const projects = await Promise.all(
    names.map(async (name) => ({
      name: name.replace('.yaml', ''),
      entries: (await parseEntries(present(`catalogue/${name}`), name)) as readonly CatalogueEntry[],
    })),
  )
  const pictured = replaceRegion(present('CONTRIBUTING.md'), 'imports', architectureDiagram(readSources(root)))
  const documents = [
    'SECURITY.md',
    'test/threats.md',
    'CONTRIBUTING.md',
    'RELEASING.md',
    ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`),
  ]
  const files = new Map([
    ...documents.filter((name) => name.endsWith('.md')).map((name): [string, string] => [name, present(name)]),
    ['docs/reference.md', reference()],
    ['docs/operators.md', operatorDocs(projects)],
    ['CONTRIBUTING.md', pictured],
    ['docs/guarantees.md', replaceRegion(present('docs/guarantees.md'), 'kubernetes', versionTable())],
    ['docs/inputs.md', inputPage(present('docs/inputs.md'))],
    [
      'test/operators/README.md',
      replaceRegion(
        present('test/operators/README.md'),
        'results',
        operatorResults(join(root, 'test/operators/results.json')),
      ),
    ],
    ['docs/migrating.md', comparisonPage(present('docs/migrating.md'))],
    ['README.md', readmeDocs(present('README.md'), root, projects)],
    ['action.yml', actionMetadata(present('action.yml'), inputDefinitions)],
    ['action-types.yml', actionTypes(inputDefinitions)],
    ['merge/action.yml', actionMetadata(present('merge/action.yml'), mergeInputDefinitions)],
    ['merge/action-types.yml', actionTypes(mergeInputDefinitions)],
    ...(await schemaFiles('report', reportJsonSchema())),
    ...(await schemaFiles('recording', recordingJsonSchema())),
  ])
  return new Map([...files].map(([name, text]) => [name, renderThresholds(text, thresholds)]))
}

/** A JSON Schema and the types of what it describes. */
async function schemaFiles(name: string, schema: object): Promise<[string, string][]> {
  const types = await compile(schema as JSONSchema, name, {
    additionalProperties: false,
    bannerComment: '/** Made from the code by `npm run docs`. */',
    style: { semi: false, singleQuote: true, printWidth: 120 },
  })
  return [
    [`schemas/${name}.schema.json`, `${JSON.stringify(schema, null, 2)}\n`],
    [`schemas/${name}.d.ts`, types],
  ]
}

function reference(): string {
  const kinds = knownKinds.map(({ apiVersion, kind, rule, readyWhen }) => [
    `${kind} (\`${apiVersion}\`)`,
    rule.milestones.map((name) => `\`${name}\``).join(' '),
    readyWhen,
  ])
  return [
    '# Kinds and reasons',
    '',
    'Made from the code by `npm run docs`.',
    '',
    '## Kinds',
    '',
    'An object that is being deleted is never ready. Milestones are reached in this order.',
    '',
    ...table(['kind', 'milestones', 'ready when'], kinds),
    '',
    `Ready once they exist: ${[...kindsReadyOnceCreated].map((key) => key.replace(/^.*\//, '')).join(', ')}.`,
    '',
    'The kinds of popular operators have entries in a catalogue: [Operators](operators.md).',
    '',
    'Every other kind is judged by its own status: the observed generation, positive or negative conditions, and words in its',
    'phase, state, health, summary and result, also those of its parts. Ready=True decides, unless the status shows a rollout in',
    'progress (UpToDate=False, Updating=True). An object without any of them is ready once it exists, and one whose status only shows a',
    'start (JobCreated=True) or unknown states once it is unchanged for <!-- unclearSettles --><!-- / --> times the settle time; the report contains a note about',
    'this. It is not ready before the Deployments, StatefulSets and DaemonSets that it owns, if they were written since its spec, nor,',
    'without Ready=True, before its Jobs. A failure counts after <!-- reportedFailureMs --><!-- / --> if its controller has given up (Stalled=True, the end of a Job-like',
    'object). Any other failure is shown until a deadline ends the wait, since many controllers retry.',
    'Ready=False alone is never a failure.',
    'Milestones: `created` `observed` `ready`.',
    '',
    '## Reasons',
    '',
    '- **terminal**: nothing but a new apply can fix it. It fails its resource as soon as it is proven.',
    '- **strike**: only repetition or time proves it; then it fails its resource.',
    '- **slow**: it may recover. It is shown at once, and only a deadline ends it, with this reason.',
    '- **clock**, **identity**, **api**, **input**: they end the wait, and are no problems of an object.',
    '',
    'In the commands, `kind/name` in the namespace `shop` stands for the object.',
    '',
    ...reasonTable(),
    '',
  ].join('\n')
}
