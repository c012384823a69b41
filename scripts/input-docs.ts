import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { inputDefinitions, inputGroups } from '../src/inputs.ts'
import type { CatalogueGroup } from '../src/lifecycle/custom/catalogue/entry.ts'
import { outputDefinitions } from '../src/outputs.ts'
import { reasonCodes } from '../src/reasons/reasons.ts'
import { kubernetesVersion } from '../test/cluster/layout.ts'
import { fullText } from './action-metadata.ts'
import { alignedTable, replaceRegion } from './markdown.ts'

const page = 'docs/inputs.md'

/** Replaces the generated regions of the README: figures, inputs by group, outputs. */
export function readmeDocs(present: string, root: string, groups: readonly CatalogueGroup[]): string {
  const link = (name: string, target = page) => `[\`${name}\`](${target}#${name})`
  const inputs = inputGroups.flatMap((group) => [
    `**${group}**`,
    '',
    ...alignedTable(
      ['input', 'default', 'meaning'],
      inputDefinitions
        .filter((definition) => definition.group === group)
        .map(({ name, default: fallback, description }) => [link(name), code(fallback), description]),
    ),
    '',
  ])
  const outputs = alignedTable(
    ['output', 'meaning'],
    Object.entries(outputDefinitions).map(([name, { description }]) => [link(name), description]),
  )
  const withFigures = replaceRegion(present, 'figures', [figures(root, groups)])
  return replaceRegion(replaceRegion(withFigures, 'inputs', inputs.slice(0, -1)), 'outputs', outputs)
}

/** Replaces the generated regions of `docs/inputs.md`: every input and output with all of its sentences. */
export function inputPage(present: string): string {
  const inputs = inputGroups.flatMap((group) => [
    `## ${group}`,
    '',
    ...inputDefinitions
      .filter((definition) => definition.group === group)
      .flatMap((definition) => [`### \`${definition.name}\``, '', fullText(definition), '']),
  ])
  const outputs = Object.entries(outputDefinitions).flatMap(([name, definition]) => [
    `### \`${name}\``,
    '',
    fullText(definition),
    '',
  ])
  return replaceRegion(replaceRegion(present, 'inputs', inputs.slice(0, -1)), 'outputs', outputs.slice(0, -1))
}

function figures(root: string, groups: readonly CatalogueGroup[]): string {
  const recordings = readdirSync(join(root, 'test/recordings'), { recursive: true, encoding: 'utf8' })
  const version = /^v(.*)$/.exec(kubernetesVersion())?.[1]
  return [
    `- **Tested on Kubernetes ${version}**: ${recordings.filter((name) => name.endsWith('.ndjson.gz')).length} recordings of real rollouts, each replayed by every test run`,
    `- **${groups.flatMap(({ entries }) => entries).length} kinds of operators** in ${groups.length} API groups ([list](docs/operators.md))`,
    `- **${reasonCodes.length} reasons**, each with what proves it and what to do ([list](docs/reference.md#reasons))`,
  ].join('\n')
}

function code(text: string): string {
  return text === '' ? '' : `\`${text}\``
}
