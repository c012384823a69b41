import { stringify } from 'yaml'
import { reportSchema } from '../src/gate/report-schema.ts'
import type { InputDefinition } from '../src/inputs.ts'
import { outputDefinitions } from '../src/outputs.ts'

/** All sentences about an input or output, with its default. */
export function fullText(definition: Pick<InputDefinition, 'description'> & Partial<InputDefinition>): string {
  const { description, details = '', default: fallback = '' } = definition
  return [description, fallback === '' ? '' : `Default: \`${fallback}\`.`, details]
    .filter((text) => text !== '')
    .join(' ')
    .trim()
}

const page = 'https://github.com/rollout-gate/rollout-gate/blob/main/docs/inputs.md'
const maxDetails = 450

/** The text for `action.yml`: what is long, or has links, is only on the page. */
function shortText(name: string, definition: Parameters<typeof fullText>[0]): string {
  const { details = '' } = definition
  if (details.length <= maxDetails && !details.includes('](')) return fullText(definition)
  return `${fullText({ ...definition, details: '' })} In full: ${page}#${name}`
}

/** Replaces the inputs and outputs in the present `action.yml` by those of the code. */
export function actionMetadata(present: string, definitions: readonly InputDefinition[]): string {
  const start = present.indexOf('inputs:\n')
  const end = present.indexOf('runs:\n')
  const inputs = definitions.flatMap((definition) => [
    `  ${definition.name}:`,
    ...describe(shortText(definition.name, definition)),
    '    required: false',
    ...(definition.runnerDefault === '' ? [] : [`    default: '${definition.runnerDefault}'`]),
  ])
  const outputs = Object.entries(outputDefinitions).flatMap(([name, definition]) => [
    `  ${name}:`,
    ...describe(shortText(name, definition)),
  ])
  const generated = ['inputs:', ...inputs, '', 'outputs:', ...outputs, '', ''].join('\n')
  return present.slice(0, start) + generated + present.slice(end)
}

/** A folded YAML scalar. */
function describe(text: string): string[] {
  const width = 114
  const lines: string[] = []
  // A code span stays on one line.
  for (const word of text.match(/(?:`[^`]*`|[^\s`])+/g) ?? []) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return ['    description: >-', ...lines.map((line) => `      ${line}`)]
}

/** A type of https://github.com/typesafegithub/github-actions-typing */
type ActionType =
  | { readonly type: 'string' | 'boolean' | 'integer' | 'float' }
  | { readonly type: 'enum'; readonly 'allowed-values': readonly string[] }
  | { readonly type: 'list'; readonly separator: string; readonly 'list-item': ActionType }

/** The content of `action-types.yml`: the types of inputs and outputs, for tools that check or generate workflows. */
export function actionTypes(definitions: readonly InputDefinition[]): string {
  const outputs: Readonly<Partial<Record<string, ActionType>>> = {
    outcome: { type: 'enum', 'allowed-values': reportSchema.shape.outcome.options },
    'duration-seconds': { type: 'float' },
  }
  const types = {
    inputs: Object.fromEntries(definitions.map((input) => [input.name, inputType(input)])),
    outputs: Object.fromEntries(
      Object.keys(outputDefinitions).map((name) => [name, outputs[name] ?? { type: 'string' }]),
    ),
  }
  const source = 'https://github.com/typesafegithub/github-actions-typing'
  return `# Made from the code by \`npm run docs\`: ${source}\n${stringify(types, { aliasDuplicateObjects: false, blockQuote: false })}`
}

function inputType({ placeholder, isLines }: InputDefinition): ActionType {
  const listOf = (separator: string, item: ActionType = { type: 'string' }) =>
    ({ type: 'list', separator, 'list-item': item }) as const
  const enumOf = (words: readonly string[]) => ({ type: 'enum', 'allowed-values': words }) as const
  if (isLines) return listOf('\n')
  if (placeholder.includes('|')) return enumOf(placeholder.split('|'))
  if (placeholder.includes(',')) return listOf(',', enumOf(placeholder.split(',')))
  switch (placeholder) {
    case '':
      return { type: 'boolean' }
    case 'NUMBER':
      return { type: 'integer' }
    case 'LIST':
      return listOf(',')
    default:
      return { type: 'string' }
  }
}
