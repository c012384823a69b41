import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type InputDefinition, inputDefinitions, inputGroups, mergeInputDefinitions } from '../src/inputs.ts'
import { outputDefinitions } from '../src/outputs.ts'
import { reasonCodes } from '../src/reasons/reasons.ts'
import { type Comparison, comparisonFile, type ToolName } from '../test/cluster/comparison.ts'
import { defaultKubernetesVersion } from '../test/cluster/layout.ts'
import { readVersionResults } from '../test/cluster/version-results.ts'
import { fullText } from './action-metadata.ts'
import { replaceRegion, table } from './markdown.ts'
import type { CatalogueProject } from './operator-docs.ts'

const mergeAction = 'rollout-gate/rollout-gate/merge'
const onlyInMerge = mergeInputDefinitions.filter((definition) => !inputDefinitions.includes(definition))

function inputsOf(group: InputDefinition['group']): readonly InputDefinition[] {
  return inputDefinitions.filter((definition) => definition.group === group)
}

/** The inputs that both actions have, and that a user sets. */
function sharedWithMerge(): string {
  const shared = mergeInputDefinitions.filter(
    (definition) => inputDefinitions.includes(definition) && definition.runnerDefault === '',
  )
  return shared.map(({ name }) => code(name)).join(', ')
}

/** Replaces the generated regions of the README: comparison, log, figures. */
export function readmeDocs(present: string, root: string, projects: readonly CatalogueProject[]): string {
  const rows = [
    'the image does not exist',
    'the container crashes after 3 s, no readiness probe',
    '`kubectl rollout undo` during the wait',
  ]
  const short = comparison(['rolloutStatus', 'gate'], (title) => rows.includes(title))
  return replaceRegions(present, { comparison: short, log: exampleLog(root), figures: figures(root, projects) })
}

/** Replaces the generated region of `docs/migrating.md`: the comparison of all tools. */
export function comparisonPage(present: string): string {
  const { versions } = readComparison()
  const all = [
    ...comparison(Object.keys(tools) as ToolName[], () => true),
    '',
    `Measured by \`npm run compare\` with kubectl ${versions.kubectl}, Helm ${versions.helm} and kubedog ${versions.kubedog}, on updates of a Deployment`,
    'with two pods. `kubectl wait` waits for the condition `Available`, for a Job `complete`.',
  ]
  return replaceRegions(present, { comparison: all })
}

function replaceRegions(present: string, regions: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(regions).reduce((document, [name, lines]) => replaceRegion(document, name, lines), present)
}

/**
 * Replaces the generated regions of `docs/inputs.md`: a table of the inputs, and every input and output with all of its
 * sentences.
 */
export function inputPage(present: string): string {
  const link = (name: string) => `[\`${name}\`](#${name})`
  const overview = table(
    ['', 'inputs, and their defaults'],
    inputGroups.map((group) => [
      group,
      inputsOf(group)
        .map(({ name, default: fallback }) => link(name) + (fallback === '' ? '' : ` (${code(fallback)})`))
        .join(', '),
    ]),
  )
  const textsOf = (definitions: readonly InputDefinition[]) =>
    definitions.flatMap((definition) => [`### \`${definition.name}\``, '', fullText(definition), ''])
  const inputs = [
    ...inputGroups.flatMap((group) => [`## ${group}`, '', ...textsOf(inputsOf(group))]),
    '## Merging reports',
    '',
    `The action \`${mergeAction}\` merges the reports of several gates into one summary, report and outcome ([example](recipes.md#several-clusters)). It needs no cluster. It has the outputs of a gate, the input \`reports\`, and of the inputs above ${sharedWithMerge()}.`,
    '',
    ...textsOf(onlyInMerge),
  ]
  const outputs = Object.entries(outputDefinitions).flatMap(([name, definition]) => [
    `### \`${name}\``,
    '',
    fullText(definition),
    '',
  ])
  return replaceRegions(present, {
    overview,
    inputs: inputs.slice(0, -1),
    outputs: outputs.slice(0, -1),
  })
}

/** `1.34, 1.37`: the versions on which scenarios were run. */
export function testedVersions(): string {
  const minors = [...new Set([defaultKubernetesVersion(), ...Object.keys(readVersionResults())])]
    .map((version) => version.split('.').slice(0, 2).join('.').slice(1))
    .sort()
  return minors.join(', ')
}

/** The table of the runs on each version of Kubernetes, for `docs/guarantees.md`. */
export function versionTable(): readonly string[] {
  const rows = Object.entries(readVersionResults()).map(
    ([version, { passed, passedAgain = [], failed, minutes, day }]) => [
      version.slice(1),
      [
        `${passed} of ${passed + passedAgain.length + failed.length}`,
        ...(passedAgain.length > 0 ? [`alone: ${passedAgain.join(', ')}`] : []),
        ...(failed.length > 0 ? [`not: ${failed.join(', ')}`] : []),
      ].join('; '),
      String(minutes),
      day,
    ],
  )
  return table(['Kubernetes', 'scenarios that passed', 'minutes', 'day'], rows)
}

function figures(root: string, projects: readonly CatalogueProject[]): readonly string[] {
  const recordings = readdirSync(join(root, 'test/recordings'), { recursive: true, encoding: 'utf8' })
  const kinds = projects.flatMap(({ entries }) => entries)
  return [
    `- **Tested on Kubernetes ${testedVersions()}** ([runs](docs/guarantees.md#kubernetes)): ${recordings.filter((name) => name.endsWith('.ndjson.gz')).length} recordings of real rollouts, each replayed by every test run`,
    `- **${kinds.length} kinds of operators** in ${new Set(kinds.map(({ group }) => group)).size} API groups ([list](docs/operators.md))`,
    `- **${reasonCodes.length} reasons**, each with what proves it and what to do ([list](docs/reference.md#reasons))`,
  ]
}

/** The log of a recorded rollout that becomes ready, with plain names. */
function exampleLog(root: string): readonly string[] {
  const args = [join(root, 'src/cli.ts'), 'replay', join(root, 'test/recordings/update.ndjson.gz')]
  const log = execFileSync(process.execPath, args, { encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } })
  const plain = log.replaceAll(/gate-update-[0-9a-f]+/g, 'shop').replace('context rollout-gate-cluster', 'context prod')
  return ['```', ...plain.trimEnd().split('\n'), '```']
}

const tools: Readonly<Record<ToolName, string>> = {
  gate: 'Rollout Gate',
  rolloutStatus: '`kubectl rollout status`',
  wait: '`kubectl wait`',
  helm: '`helm --wait`',
  kubedog: 'kubedog',
}

/** A tool that passes a rollout this much before the controller reports the end has passed it too early. */
const earlySeconds = 2

function readComparison(): Comparison {
  return JSON.parse(readFileSync(comparisonFile, 'utf8'))
}

/** The table of `npm run compare`, of these tools and rollouts. */
function comparison(names: readonly ToolName[], isShown: (title: string) => boolean): readonly string[] {
  const { limitSeconds, rows } = readComparison()
  const cells = rows
    .filter(({ title }) => isShown(title))
    .map(({ title, right, results }) => [
      title,
      ...names.map((name) => {
        const { end, seconds, reason } = results[name]
        if (end === 'unsupported') return 'cannot'
        if (end === 'waiting') return `waits > ${Math.floor(limitSeconds / 60)} min`
        const time =
          seconds < 10 ? `${seconds} s` : seconds < 120 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`
        const text = `${reason ? code(reason) : end} ${time}`
        // `kubectl rollout status` is right about a healthy update: it ends when the controller reports the end.
        const isEarly = right === 'passed' && seconds < results.rolloutStatus.seconds - earlySeconds
        return end === right && !isEarly ? text : `**${text}${isEarly ? ', too early' : ''}**`
      }),
    ])
  return table(['the rollout', ...names.map((name) => tools[name])], cells)
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``
}
