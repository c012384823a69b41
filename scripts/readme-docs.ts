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

/** Replaces the generated regions of the README: comparison, log, figures, outputs. */
export function readmeDocs(present: string, root: string, projects: readonly CatalogueProject[]): string {
  const outputs = table(
    ['output', 'meaning'],
    Object.entries(outputDefinitions).map(([name, { description }]) => [code(name), description]),
  )
  const regions = { comparison: comparison(), log: exampleLog(root), figures: figures(root, projects), outputs }
  return Object.entries(regions).reduce((document, [name, lines]) => replaceRegion(document, name, lines), present)
}

/**
 * Replaces the generated regions of `docs/inputs.md`: a table of the inputs, and every input and output with all of its
 * sentences.
 */
export function inputPage(present: string): string {
  const link = (name: string) => `[\`${name}\`](#${name})`
  const overview = inputGroups.flatMap((group) => [
    `**${group}**`,
    '',
    ...table(
      ['input', 'default', 'meaning'],
      inputsOf(group).map(({ name, default: fallback, description }) => [link(name), code(fallback), description]),
    ),
    '',
  ])
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
  const regions = { overview, inputs, outputs }
  return Object.entries(regions).reduce(
    (document, [name, lines]) => replaceRegion(document, name, lines.slice(0, -1)),
    present,
  )
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

/** The log of a recorded rollout, with plain names. */
function exampleLog(root: string): readonly string[] {
  const log = readFileSync(join(root, 'test/stories/snapshots/image-not-found.log.txt'), 'utf8')
  const plain = log
    .replaceAll('127.0.0.1:5995/app', 'acme/web')
    .replaceAll(/gate-image-not-found-[0-9a-f]+/g, 'shop')
    .replace('context rollout-gate-cluster', 'context prod')
  return ['```', ...(plain.split('\n::group::')[0] ?? '').split('\n'), '```']
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

/** The table of `npm run compare`. */
function comparison(): readonly string[] {
  const { limitSeconds, versions, rows }: Comparison = JSON.parse(readFileSync(comparisonFile, 'utf8'))
  const names = Object.keys(tools) as ToolName[]
  const cells = rows.map(({ title, right, results }) => [
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
  return [
    ...table(['the rollout', ...Object.values(tools)], cells),
    '',
    `Measured by \`npm run compare\` with kubectl ${versions.kubectl}, Helm ${versions.helm} and kubedog ${versions.kubedog}, on updates of a Deployment`,
    'with two pods. `kubectl wait` waits for the condition `Available`, for a Job `complete`. Azure/k8s-deploy runs `kubectl rollout status`, which',
    'ends after ten minutes by default (`progressDeadlineSeconds`), without a cause.',
  ]
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``
}
